"""How Sphinx makes the book from the executed chapters. `tools/build_book.py` runs it.

The order is that of `_toc.yml` in the project's root, which JupyterLab's navigation reads too. The chapters
are never executed here: what a page shows is what its notebook holds.
"""

import os
import sys
from pathlib import Path

BOOK = Path(__file__).resolve().parent
PROJECT = BOOK.parent
sys.path[:0] = [str(PROJECT), str(BOOK / "_ext")]

project = "The Prefix LM Handbook"
author = "The Prefix LM Handbook authors"
copyright = "the Prefix LM Handbook authors. Text and pictures: CC BY 4.0. Code: MIT"  # noqa: A001 (Sphinx's name)

extensions = [
    "myst_nb",
    "sphinx_external_toc",
    "sphinx_copybutton",
    "explorers",
    "mathml",
    "numbering",
    "pages",
    "pictures",
    "tooltips",
]
# A chapter's page is made from its notebook; the text beside it holds no outputs. Solutions are pages only
# when they are asked for, with SOLUTIONS=1.
solutions = os.environ.get("SOLUTIONS") == "1"
exclude_patterns = [
    "**.ipynb_checkpoints",
    *(f"{notebook.stem}.md" for notebook in PROJECT.glob("chapters/*.ipynb")),
    "solutions/*.md" if solutions else "solutions",
]
suppress_warnings = ["myst.header"] if solutions else []  # exercises stand a level lower in the chapters
nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nitpicky = True

html_baseurl = os.environ.get("PREFIXLM_BOOK_URL", "")
html_math_renderer = "mathml"
html_context = {"default_mode": "auto"}
html_title = project
html_theme = "sphinx_book_theme"
html_theme_options = {
    "article_footer_items": ["chapter-end.html"],
    "footer_content_items": ["copyright.html"],
    "home_page_in_toc": True,
    "navbar_persistent": [],
    "primary_sidebar_end": ["reading-tools.html"],
    "use_download_button": False,  # chapter-end.html has the notebook
    "shorten_urls": False,  # a link is called what the page calls it
    "use_fullscreen_button": False,
}
html_additional_pages = {"404": "404.html"}
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["book.css"]
html_js_files = [(name, {"defer": "defer"}) for name in ("tooltips.js", "reading.js")]
html_sidebars = {"**": ["search-button-field.html", "sbt-sidebar-nav.html"]}
html_show_search_summary = False  # it would be fetched, and no page opened as a file may fetch
html_use_index = False

# The e-book: the same pages, with pictures for explorers. Its format wants a version, which the book has not.
version = release = "1"
epub_basename = "prefix-lm-handbook"
epub_description = (
    "Prefix language modelling, taught by executed notebooks: the mask, attention, the model, the loss."
)
epub_css_files = ["book.css", "ebook.css"]
epub_exclude_files = [
    "404.xhtml",
    "_static/copybutton.css",
    "_static/copy-button.svg",
    "_static/check-solid.svg",
]
epub_identifier = epub_uid = "prefix-lm-handbook"
epub_show_urls = "no"
epub_tocscope = "includehidden"

copybutton_exclude = ".linenos, .gp, .go"
