"""Each picture of a notebook gets its alternative text, and a page without it fails the build.

A picture of the package carries its words as text/plain. myst-nb keeps every form of an output until a page
is written; before it picks one, the words go to the PNG, and the <img> that JupyterLab needs is left out.
"""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

logger = logging.getLogger(__name__)


def bundles(document: nodes.document) -> Iterator[nodes.container]:
    """Yield the outputs of a page, each of which holds its forms (MIME types) as children."""
    yield from [node for node in document.findall(nodes.container) if node.get("nb_element") == "mime_bundle"]


def form(bundle: nodes.container, mime_type: str) -> nodes.Element | None:
    """Return what myst-nb made of one form of an output; None if the output has no such form."""
    for child in bundle.children:
        if child["mime_type"] == mime_type:
            return child.children[0]
    return None


def described_png(bundle: nodes.container) -> nodes.Element | None:
    """Return the output's PNG with its words as alternative text; None if there is no PNG."""
    image, words = form(bundle, "image/png"), form(bundle, "text/plain")
    # matplotlib's own figures say how large they are and not what they show
    if image is not None and words is not None and not words.astext().startswith("<Figure "):
        image["alt"] = words.astext()
    return image


def with_caption(bundle: nodes.container, shown: nodes.Element) -> nodes.Element:
    """Return what is shown of a picture as a figure with its number, if it has one."""
    if "number" not in bundle:
        return shown
    return nodes.figure("", shown, nodes.caption("", f"Figure {bundle['number']}"), ids=bundle["ids"])


class DescribePictures(SphinxPostTransform):
    """Keep of each picture the PNG with its alternative text."""

    default_priority = 3  # myst-nb picks a form at 4

    def run(self, **_: Any) -> None:
        for bundle in bundles(self.document):
            if (image := described_png(bundle)) is not None:
                bundle.replace_self(with_caption(bundle, image))


class _Images(HTMLParser):
    """Collects the sources of the images that have no alternative text."""

    def __init__(self) -> None:
        super().__init__()
        self.silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        # where there are no words, docutils gives the address of the picture
        if tag == "img" and (found.get("alt") or "").strip() in ("", found.get("src")):
            self.silent.append(str(found.get("src"))[:80])


def refuse_silent_pictures(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Warn, which fails the build, of each picture on the page that a screen reader could not speak of."""
    images = _Images()
    images.feed(context.get("body", ""))
    for source in images.silent:
        logger.warning("a picture has no alternative text: %s", source, location=page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_post_transform(DescribePictures)
    app.connect("html-page-context", refuse_silent_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
