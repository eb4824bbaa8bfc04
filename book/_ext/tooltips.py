"""Links to a term or a source carry its definition, for hover, focus and screen readers.

The definitions are those of the glossary and of the references. `levels.yml` says from which level of
knowledge on a term goes without. `_static/tooltips.js` shows them; a link stays a link without it.
"""

import html
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from numbering import definition_numbers
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)
LEVELS = Path(__file__).parent.parent / "levels.yml"
PAGES = ("glossary", "references")


class explained(nodes.reference):  # noqa: N801 (a docutils node)
    """A link with a definition: `definition` is the id of the text, `until` the last level that needs it."""


def visit_explained(translator: HTML5Translator, node: explained) -> None:
    """Write the link."""
    attributes = {
        "href": node["refuri"],
        "data-until": node["until"],
        "aria-describedby": node["definition"],
    }
    translator.body.append(
        translator.starttag(node, "a", "", CLASS="reference internal explained", **attributes)
    )


def depart_explained(translator: HTML5Translator, node: explained) -> None:
    """End the link."""
    translator.body.append("</a>")


def sections(env: BuildEnvironment, page: str) -> dict[str, tuple[str, str]]:
    """Return anchor -> (heading, definition) for the entries of the glossary or of the references."""
    found = {}
    for section in env.get_doctree(page).findall(nodes.section):
        heading = section.next_node(nodes.title).astext()
        said = [child.astext() for child in section.children if isinstance(child, nodes.paragraph)]
        text = " ".join(" ".join(words.split()) for words in said if not words.startswith("French: "))
        found |= dict.fromkeys(section["ids"], (heading, text))
    return found


@cache
def levels() -> dict[str, str]:
    """Return term -> the last level that needs its definition."""
    known = yaml.safe_load(LEVELS.read_text(encoding="utf-8"))
    last = {"knows-transformers": "new", "knows-the-field": "knows-transformers"}
    return {term: last[level] for level, terms in known.items() for term in terms}


class Explain(SphinxPostTransform):
    """Give the links of a page their definitions, and write each definition on the page once."""

    default_priority = 900  # when links are resolved
    formats = ("html",)

    def run(self, **_: Any) -> None:
        if self.env.docname in PAGES:
            return
        needed: dict[str, str] = {}
        for page in PAGES:
            entries = sections(self.env, page)
            start = self.app.builder.get_relative_uri(self.env.docname, page) + "#"
            for link in list(self.document.findall(nodes.reference)):
                anchor = link.get("refuri", "").removeprefix(start)
                if not link.get("refuri", "").startswith(start) or anchor not in entries:
                    continue
                heading, text = entries[anchor]
                definition = f"definition-{page}-{anchor}"
                shown = f"{heading}: {text}" if page == "glossary" else text
                needed[definition] = shown
                until = levels().get(heading, "knows-the-field")
                link.replace_self(
                    explained(
                        "", "", *link.children, refuri=link["refuri"], definition=definition, until=until
                    )
                )
        self.list_definitions(needed)
        if needed:
            spans = "".join(f'<span id="{id_}">{html.escape(text)}</span>\n' for id_, text in needed.items())
            self.document += nodes.raw("", f'<div hidden="">\n{spans}</div>\n', format="html")

    def list_definitions(self, needed: dict[str, str]) -> None:
        """Move the definitions of the terms that are new in this chapter into a list that all can read."""
        numbers = definition_numbers(self.env, self.env.docname)
        known = [term for term in numbers if f"definition-glossary-{term}" in needed]
        for section in [
            node for node in self.document.findall(nodes.section) if node["ids"] == ["definitions"]
        ]:
            for count, term in enumerate(known, start=1):
                id_ = f"definition-glossary-{term}"
                number = nodes.strong("", f"Definition {numbers[term]}")
                text = nodes.inline("", needed.pop(id_), ids=[id_])
                section.append(
                    nodes.paragraph("", "", number, nodes.Text(" "), text, ids=[f"definition-{count}"])
                )
            if not known:
                section.append(nodes.paragraph("", "This chapter brings no new terms."))


def check_levels(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn, which fails the build, of a term in `levels.yml` that the glossary does not know."""
    terms = {heading for heading, _ in sections(env, "glossary").values()}
    for term in levels().keys() - terms:
        logger.warning("levels.yml names %r, which is no term of the glossary", term)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_node(explained, html=(visit_explained, depart_explained))
    app.add_post_transform(Explain)
    app.connect("env-check-consistency", check_levels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
