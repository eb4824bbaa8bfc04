"""The glossary and the references: complete, in order, and every link between the pages has its target."""

import re
from functools import cache
from pathlib import Path

import make_references
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

CHAPTERS = Path(make_references.CHAPTERS)
PAGES = sorted(CHAPTERS.glob("*.md"))
WITHOUT_AUTHOR_OR_DATE = {"prefix-lm-fr"}  # a source that names none; its note has to say so


@cache
def parsed(page: Path) -> list[Token]:
    """Parse as a code host does, with its anchors (and the front matter of paired notebooks)."""
    markdown = MarkdownIt("commonmark").enable("table").use(front_matter_plugin)
    return markdown.use(anchors_plugin, max_level=3).parse(page.read_text(encoding="utf-8"))


def headings(page: Path) -> list[tuple[str, str, str]]:
    """List (tag, anchor, text) of every heading."""
    tokens = parsed(page)
    return [
        (token.tag, str(token.attrs["id"]), tokens[i + 1].content)
        for i, token in enumerate(tokens)
        if token.type == "heading_open"
    ]


def links(page: Path) -> list[str]:
    """List the addresses of all links."""
    inline = [child for token in parsed(page) for child in token.children or ()]
    return [str(child.attrs["href"]) for child in inline if child.type == "link_open"]


def bib() -> str:
    return (CHAPTERS / "references.bib").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["glossary", "notation", "references"])
def test_a_reference_page_begins_with_its_only_title(name: str) -> None:
    page = CHAPTERS / f"{name}.md"
    titles = [text for tag, _, text in headings(page) if tag == "h1"]
    assert titles == [name.capitalize()]
    assert page.read_text(encoding="utf-8").startswith(f"# {name.capitalize()}\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_to_a_page_or_to_a_place_on_it_has_its_target(page: Path) -> None:
    wrong = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = page if path == "" else page.parent / path
        if "://" in link or target.suffix != ".md":
            continue
        if not target.is_file() or (anchor and anchor not in {place for _, place, _ in headings(target)}):
            wrong.append(link)
    assert not wrong, f"{page.name} links to what is not there: {wrong}"


def test_the_references_page_is_what_the_bib_file_makes() -> None:
    page = (CHAPTERS / "references.md").read_text(encoding="utf-8")
    assert page == make_references.references_page(bib()), "run: python tools/make_references.py"


def test_the_anchor_of_an_entry_is_its_key() -> None:
    places = [place for tag, place, _ in headings(CHAPTERS / "references.md") if tag == "h3"]
    assert sorted(places) == sorted(make_references.read_bib(bib()))


@pytest.mark.parametrize("key", make_references.read_bib(bib()))
def test_an_entry_says_what_who_when_and_where(key: str) -> None:
    entry = make_references.read_bib(bib())[key]
    assert entry.fields.get("title")
    if key in WITHOUT_AUTHOR_OR_DATE:
        assert "names no author, date or address" in entry.fields["note"]
        return
    assert entry.persons.get("author") or entry.fields.get("organization")
    assert re.fullmatch(r"(19|20)\d\d", entry.fields["year"])
    assert {"url", "doi", "eprint"} & set(entry.fields)
    assert entry.fields.get("url", "https://").startswith("https://")


def test_a_key_that_would_not_be_its_own_anchor_is_refused() -> None:
    with pytest.raises(ValueError, match="'Raffel:2020'"):
        make_references.read_bib("@misc{Raffel:2020, title = {T5}}")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("@misc{k, author = {A, B}, year = {2020}}", "the entry k lacks its title"),
        ("@misc{k, author = {A, B}, title = {T}}", "the entry k lacks its year"),
        ("@article{k, author = {A, B}, title = {T}, year = {2020}}", "the entry k lacks its journal"),
        ("@papr{k, author = {A, B}, title = {T}, year = {2020}}", "the entry k is of a type .* @papr"),
    ],
)
def test_an_entry_that_cannot_be_worded_is_named(entry: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        make_references.references_page(entry)


def test_an_entry_of_many_authors_names_three_and_loses_none_in_the_bib() -> None:
    names = "A, A and B, B and C, C and D, D and E, E and F, F and G, G"
    entry = make_references.read_bib(f"@misc{{k, author = {{{names}}}, title = {{T}}, year = {{2020}}}}")["k"]
    assert "A A, B B, C C, and others" in make_references.section("k", entry).replace("\\", "")
    assert len(entry.persons["author"]) == 7


def test_two_sources_that_would_be_cited_alike_are_told_apart() -> None:
    alike = "".join(
        f"@misc{{{key}, author = {{Zhang, B and Y, Y and Z, Z}}, title = {{T}}, year = {{2025}}}}\n"
        for key in ("one", "two")
    )
    index = make_references.index(make_references.read_bib(alike))
    assert index == "[Zhang et al. 2025, one](#one) · [Zhang et al. 2025, two](#two)"


def terms() -> list[str]:
    return [text for tag, _, text in headings(CHAPTERS / "glossary.md") if tag == "h2"]


def test_the_glossary_is_in_alphabetical_order_and_defines_each_term_once() -> None:
    assert terms() == sorted(set(terms()), key=str.casefold)


def test_the_glossary_index_lists_every_term() -> None:
    places = [f"#{place}" for tag, place, _ in headings(CHAPTERS / "glossary.md") if tag == "h2"]
    listed = [link for link in links(CHAPTERS / "glossary.md") if link.startswith("#")]
    assert listed[: len(places)] == places


def test_each_term_has_its_french_name_and_a_short_definition() -> None:
    text = (CHAPTERS / "glossary.md").read_text(encoding="utf-8")
    for section in text.split("\n## ")[1:]:
        term, french, *definition = section.strip().split("\n\n")
        assert re.fullmatch(r"\*French: .+\.\*", french), term
        assert len(definition) == 1, f"{term}: one paragraph, please"
        assert 20 < len(definition[0]) < 330, term
