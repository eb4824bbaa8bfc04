"""What every page says about itself: where nothing may be fetched from, which chapters there are, its card.

With a base URL (`PREFIXLM_BOOK_URL`) the book also gets a sitemap, and each page a social card.
"""

import html
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

# `file:` is the page's own origin when it is opened from a disk. Explorers load from a Blob.
POLICY = (
    "default-src 'none'; script-src 'self' file: blob: 'unsafe-inline'; "
    "style-src 'self' file: 'unsafe-inline'; img-src 'self' file: data:; font-src 'self' file:; "
    "base-uri 'self'; form-action 'self' file:"
)
OF_SCRIPTS = re.compile("mystnb|copybutton")  # stylesheets
CARD = "images/explorer.png"  # of the chapters


def is_chapter(env: BuildEnvironment, page: str) -> bool:
    """Whether a page is made from a notebook, and is no solution: these have a folder of their own."""
    return env.doc2path(page).suffix == ".ipynb" and "/" not in page


def chapters(env: BuildEnvironment) -> list[str]:
    """Return the chapters, in order."""
    return [page for page in env.toctree_includes[env.config.root_doc] if is_chapter(env, page)]


def describe(doctree: nodes.document) -> str:
    """Return the first paragraph of a page, as one line."""
    paragraph = doctree.next_node(nodes.paragraph)
    return " ".join(paragraph.astext().split()) if paragraph else ""


def add_to_page(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Put the policy first, before anything that could fetch; then what reading.js and the card need."""
    if app.builder.name != "html":  # no policy and no tools in an e-book, nor the styles of what it lacks
        styles = context["css_files"]
        context["css_files"] = [style for style in styles if not OF_SCRIPTS.search(str(style.filename))]
        return
    context["chapters"] = chapters(app.env)
    head = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
    if app.config.html_baseurl and page == "404":  # a server answers with it at any depth
        head += f'<base href="{html.escape(app.config.html_baseurl)}">\n'
    if app.config.html_baseurl and doctree:
        base = app.config.html_baseurl.rstrip("/")
        card = {
            "og:type": "article",
            "og:title": context["title"],
            "og:description": describe(doctree),
            "og:url": f"{base}/{page}.html",
            "og:image": f"{base}/_static/card.png",
        }
        head += "".join(
            f'<meta property="{name}" content="{html.escape(value)}">\n' for name, value in card.items()
        )
    storage = context["pathto"]("_static/storage.js", resource=True)
    head += f'<script src="{storage}"></script>\n'
    context["metatags"] = head + context.get("metatags", "")


def write_site_files(app: Sphinx, error: Exception | None) -> None:
    """Write the sitemap and the card's picture, if the book knows where it will stand."""
    if error or app.builder.name != "html" or not app.config.html_baseurl:
        return
    base = app.config.html_baseurl.rstrip("/")
    places = "".join(f"<url><loc>{base}/{page}.html</loc></url>\n" for page in sorted(app.env.found_docs))
    sitemap = f'<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{places}</urlset>\n'
    (Path(app.outdir) / "sitemap.xml").write_text(sitemap, encoding="utf-8", newline="\n")
    (Path(app.outdir) / "_static/card.png").write_bytes((Path(app.srcdir) / CARD).read_bytes())


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("html-page-context", add_to_page)
    app.connect("build-finished", write_site_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
