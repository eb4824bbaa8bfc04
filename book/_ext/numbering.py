"""Formulas, pictures and definitions of a chapter get numbers, from their order on the page; links show them.

In a page's text nothing is numbered. A link whose title is "equation" or "figure" leads to a heading, as it
does wherever the text is read, `[the rule](01_mask.ipynb#the-rule "equation")`. In the book it becomes
"the rule (equation 1.1)" and leads to the one formula below that heading; none, or a second one, fails the
build.
"""

import re
from typing import Any

from docutils import nodes
from pages import chapters, is_chapter
from pictures import bundles, form
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

logger = logging.getLogger(__name__)
KINDS = ("equation", "figure")
NO_BREAK = "\N{NO-BREAK SPACE}"


def number_page(app: Sphinx, document: nodes.document) -> None:
    """Number a chapter's formulas and pictures, note their headings, and make room for its definitions."""
    page = app.env.current_document.docname
    title = document.next_node(nodes.title)
    match = re.match(r"(\d+[a-z]?)\. ", title.astext()) if title else None
    found: dict[str, dict[str, list[str]]] = {kind: {} for kind in KINDS}  # kind -> heading -> numbers
    app.env.metadata[page] |= {"chapter": None, "numbered": found, "terms": []}
    if match is None or not is_chapter(app.env, page):
        return
    chapter = match[1]
    app.env.metadata[page] |= {"chapter": chapter, "terms": terms(document)}
    shown = {
        "equation": list(document.findall(nodes.math_block)),
        "figure": [bundle for bundle in bundles(document) if form(bundle, "image/png") is not None],
    }
    for kind, things in shown.items():
        for count, node in enumerate(things, start=1):
            node["number"] = f"{chapter}.{count}"
            node["ids"].append(f"{kind}-{count}")
            for heading in headings_above(node):
                found[kind].setdefault(heading, []).append(node["number"])
    if app.env.metadata[page]["terms"]:
        add_definitions(document)


def headings_above(node: nodes.Element) -> list[str]:
    """Return the anchors of the sections that a node stands in."""
    above, found = node.parent, []
    while above is not None:
        if isinstance(above, nodes.section):
            found += above["ids"]
        above = above.parent
    return found


def terms(document: nodes.document) -> list[str]:
    """Return the anchors of the glossary's entries that a page links to, each once, in order."""
    links = [node for node in document.findall() if getattr(node, "attributes", {}).get("reftargetid")]
    return list(dict.fromkeys(link["reftargetid"] for link in links if link["reftarget"] == "glossary"))


def add_definitions(document: nodes.document) -> None:
    """Put an empty section before the references of a chapter (or at its end); `tooltips` fills it."""
    title = nodes.title("", "Definitions")
    section = nodes.section("", title, ids=["definitions"], names=[])
    ends = [node for node in document.findall(nodes.section) if "references" in node["ids"]]
    if ends:
        ends[0].parent.insert(ends[0].parent.index(ends[0]), section)
    else:
        document.next_node(nodes.section).append(section)


def definition_numbers(env: BuildEnvironment, page: str) -> dict[str, str]:
    """Return term -> number for the terms that appear first in this chapter."""
    notes, order = env.metadata[page], chapters(env)
    if notes["chapter"] is None:
        return {}
    before = {term for earlier in order[: order.index(page)] for term in env.metadata[earlier]["terms"]}
    new = [term for term in notes["terms"] if term not in before]
    return {term: f"{notes['chapter']}.{count}" for count, term in enumerate(new, start=1)}


class Refer(SphinxPostTransform):
    """Let links to a formula or a picture show its number, and lead to it."""

    default_priority = 800  # when links are resolved

    def run(self, **_: Any) -> None:
        for link in list(self.document.findall(nodes.reference)):
            if "reftitle" in link and "://" not in link.get("refuri", ""):
                self.refer(link)

    def refer(self, link: nodes.reference) -> None:
        """Make one link show the number of what stands below the heading that it leads to."""
        kind = link.attributes.pop("reftitle")
        if kind not in KINDS:
            logger.warning('the title of a link can be "equation" or "figure", not %r', kind, location=link)
            return
        place, _, heading = link.get("refuri", "#" + link.get("refid", "")).partition("#")
        pages = {
            self.app.builder.get_relative_uri(self.env.docname, page): page for page in self.env.found_docs
        }
        page = pages.get(place, self.env.docname)
        numbers = self.env.metadata[page]["numbered"][kind].get(heading, [])
        if len(numbers) != 1:
            logger.warning(
                "a link leads to the %s below #%s of %s, where there is %s; it needs a heading of its own",
                kind,
                heading,
                page,
                " and ".join(numbers) or "none",
                location=link,
            )
            return
        anchor = f"{kind}-{numbers[0].partition('.')[2]}"
        link += nodes.Text(f" ({kind}{NO_BREAK}{numbers[0]})")
        if "refid" in link:
            link["refid"] = anchor
        else:
            link["refuri"] = f"{place}#{anchor}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("doctree-read", number_page, priority=400)  # before the table of contents is collected
    app.add_post_transform(Refer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
