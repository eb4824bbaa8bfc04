"""Explorers live on a page without a kernel, and stay a picture and a sentence where no script runs.

The notebook's widget-view holds the explorer's name and its state. The page gets both as JSON beside the
PNG, and once per page the ES module and the style as they are in the package now, not as they were when the
notebook ran. `_static/explorers.js` mounts them.
"""

import json
from typing import Any

from docutils import nodes
from pictures import bundles, described_png, form, with_caption
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from prefixlm_teach.widgets.base import VIEW, Explorer, join

logger = logging.getLogger(__name__)
EXPLORERS: dict[str, type[Explorer]] = {kind.name: kind for kind in Explorer.__subclasses__()}
SENTENCE = "This picture is alive where scripts run: in JupyterLab, and on this page with JavaScript."


def script_json(value: Any) -> str:
    """Return JSON that can stand in a <script>, whatever its strings hold."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True).replace("<", "\\u003c")


class KeepExplorers(SphinxPostTransform):
    """Put the state beside the picture, where myst-nb would have kept only one of the two."""

    default_priority = 2  # before the pictures of `pictures`, and before myst-nb picks a form
    formats = ("html",)

    def run(self, **_: Any) -> None:
        if self.app.builder.name != "html":  # an e-book has the pictures alone
            return
        for bundle in bundles(self.document):
            shown = form(bundle, VIEW)
            if shown is None:
                continue
            view = json.loads(shown.astext().partition(">")[2].rpartition("<")[0])
            image = described_png(bundle)
            if view.get("explorer") not in EXPLORERS or image is None:
                logger.warning("a widget that is no explorer, or has no picture: %s", view, location=bundle)
                continue
            if sorted(view["state"]) != EXPLORERS[view["explorer"]].state_names():
                logger.warning("the explorer has changed: run the chapter again", location=bundle)
            tag = f'<script type="application/json" data-explorer="{view["explorer"]}">'
            state = nodes.raw("", f"{tag}{script_json(view['state'])}</script>", format="html")
            state["explorer"] = view["explorer"]
            note = nodes.paragraph("", SENTENCE, classes=["explorer-note"])
            explorer = nodes.container("", state, image, note, classes=["explorer"])
            bundle.replace_self(with_caption(bundle, explorer))


def add_modules(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Inline the module and the style of each kind of explorer on the page, and load what mounts them."""
    raw = doctree.findall(nodes.raw) if doctree else ()
    names = sorted({node["explorer"] for node in raw if "explorer" in node})
    if not names:
        return
    for name in names:
        module = EXPLORERS[name]._esm
        if "</script" in module.lower():
            raise ValueError(f"the module of the explorer {name!r} would end its own <script>.")
        context["body"] += f'<script type="text/plain" data-explorer-module="{name}">\n{module}</script>\n'
    style = join((file for name in names for file in EXPLORERS[name].files()), "css")
    context["metatags"] = context.get("metatags", "") + f"<style>\n{style}</style>\n"
    app.add_js_file("explorers.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_post_transform(KeepExplorers)
    app.connect("html-page-context", add_modules)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
