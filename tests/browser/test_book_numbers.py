"""In the built book formulas, pictures and definitions have numbers, and references show and reach them."""

import re
from pathlib import Path

import pytest
import toc
from playwright.sync_api import Page, expect

from book import open_page

CHAPTERS = [page.stem for page in toc.chapters()]
REFERENCE = re.compile(r" \((equation|figure)\N{NO-BREAK SPACE}(\d+[a-z]?)\.(\d+)\)$")


def number_of(name: str) -> str:
    """The number by which a chapter is called: "1" of 01_mask, "5b" of 05b_when_it_helps."""
    return name.partition("_")[0].lstrip("0")


def shown_numbers(page: Page, where: str) -> list[str]:
    return [text.strip(" ()#¶\n") for text in page.locator(where).all_inner_texts()]


@pytest.mark.parametrize("name", CHAPTERS)
def test_numbers_count_through_a_chapter_and_none_is_left_out(reader: Page, book: Path, name: str) -> None:
    open_page(reader, book, name)
    chapter = number_of(name)
    counts = {
        "equation": reader.locator("math[display=block]").count(),
        "figure": reader.locator("article :is(.plx-root, .cell_output img)").count(),
        "definition": reader.locator("#definitions p:has(> strong)").count(),
    }
    for kind, where, words in (
        ("equation", ".equation-number", ""),
        ("figure", "figcaption .caption-text", "Figure "),
        ("definition", "#definitions p > strong", "Definition "),
    ):
        every = range(1, counts[kind] + 1)
        assert shown_numbers(reader, where) == [f"{words}{chapter}.{i}" for i in every], kind
        assert reader.locator(f"[id^={kind}-]:not(span)").evaluate_all("all => all.map((one) => one.id)") == [
            f"{kind}-{i}" for i in every
        ]


def test_every_reference_shows_the_number_of_the_place_it_leads_to(reader: Page, book: Path) -> None:
    found = set()
    for name in CHAPTERS:
        open_page(reader, book, name)
        links = reader.locator("article a.reference.internal").evaluate_all(
            "all => all.map((link) => [link.textContent, link.href])"
        )
        for text, address in links:
            if not (match := REFERENCE.search(text)):
                assert not re.search(r"#(equation|figure)-", address)
                continue
            kind, chapter, count = match.groups()
            assert number_of(Path(address).name) == chapter, text
            assert address.endswith(f".html#{kind}-{count}"), text
            assert f'id="{kind}-{count}"' in (book / Path(address).name.partition("#")[0]).read_text("utf-8")
            found.add((kind, name == Path(address).stem))
    both = {(kind, here) for kind in ("equation", "figure") for here in (True, False)}
    assert found == both, "the chapters refer to both kinds, on the same page and on others"


def test_a_reference_leads_there(reader: Page, book: Path) -> None:
    open_page(reader, book, "03_model")
    reader.get_by_role("link", name="the L (figure\N{NO-BREAK SPACE}1.2)").click()
    reader.wait_for_url("**/01_mask.html#figure-2")
    expect(reader.locator("#figure-2 img")).to_be_in_viewport()
    assert reader.locator("#figure-2 img").get_attribute("alt").startswith("causal: 9 rows")


def test_a_screen_reader_hears_the_number(reader: Page, book: Path) -> None:
    open_page(reader, book, "01_mask")
    expect(reader.get_by_role("group", name="Equation 1.1")).to_have_text(re.compile("allow"))
    expect(reader.get_by_role("figure", name="Figure 1.3").get_by_role("slider")).to_be_visible()


def test_a_term_is_defined_once_in_the_book_and_listed_where_it_first_appears(
    reader: Page, book: Path
) -> None:
    listed: list[str] = []
    for name in CHAPTERS:
        open_page(reader, book, name)
        here = reader.locator("#definitions p > span").evaluate_all("all => all.map((one) => one.id)")
        linked = reader.locator("a.explained[href*=glossary]").evaluate_all(
            "all => all.map((link) => link.getAttribute('aria-describedby'))"
        )
        assert here == [term for term in dict.fromkeys(linked) if term not in listed]
        listed += here
    assert len(listed) > 20


def test_paper_has_the_numbers_and_the_definitions(reader: Page, book: Path) -> None:
    reader.emulate_media(media="print")
    open_page(reader, book, "01_mask")
    for where in ("#equation-1", "#figure-3 figcaption", "#definition-1"):
        assert reader.locator(where).is_visible()
    assert shown_numbers(reader, "#equation-2 .equation-number") == ["1.2"]


def test_a_page_that_is_no_chapter_has_no_numbers(reader: Page, book: Path) -> None:
    open_page(reader, book, "notation")
    assert reader.locator(".equation-number, figcaption, #definitions").count() == 0
