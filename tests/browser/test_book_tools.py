"""The reading tools of the built book: definitions, the level switch, chapters marked as read."""

from pathlib import Path

import pytest
import toc
from playwright.sync_api import Page, expect

from book import open_page

MEANING = (
    "token: A unit of text that the model sees as one: here a word, a letter or a phoneme. "
    "To the model it is an id."
)


def test_a_definition_shows_on_hover_and_stays_while_the_pointer_is_on_it(reader: Page, book: Path) -> None:
    open_page(reader, book, "01_mask")
    box = reader.locator(".definition")
    expect(box).to_be_hidden()
    reader.get_by_role("link", name="token", exact=True).hover()
    expect(box).to_have_text(MEANING)
    box.hover()
    reader.wait_for_timeout(400)
    expect(box).to_be_visible()
    reader.mouse.move(1, 1)
    expect(box).to_be_hidden()


def test_a_definition_shows_on_focus_and_escape_closes_it(reader: Page, book: Path) -> None:
    open_page(reader, book, "01_mask")
    box, link = reader.locator(".definition"), reader.get_by_role("link", name="token", exact=True)
    while not link.evaluate("(link) => link === document.activeElement"):
        reader.keyboard.press("Tab")
    expect(box).to_have_text(MEANING)
    reader.keyboard.press("Escape")
    expect(box).to_be_hidden()
    assert link.evaluate("(link) => link === document.activeElement")
    reader.keyboard.press("Tab")
    expect(box).to_contain_text("attention mask: The table that says who may look at whom")
    reader.keyboard.press("Enter")
    reader.wait_for_url("**/glossary.html#attention-mask")


def test_a_source_says_what_it_is(reader: Page, book: Path) -> None:
    open_page(reader, book, "01_mask")
    reader.get_by_role("link", name="Dong et al. 2019").hover()
    expect(reader.locator(".definition")).to_contain_text("Unified language model pre-training")


def test_a_screen_reader_hears_the_definition_with_the_link(reader: Page, book: Path) -> None:
    open_page(reader, book, "01_mask")
    expect(reader.get_by_role("link", name="token", exact=True)).to_have_accessible_description(MEANING)


@pytest.mark.parametrize("width", [390, 1280])
def test_every_definition_stays_on_the_screen(reader: Page, book: Path, width: int) -> None:
    reader.set_viewport_size({"width": width, "height": 700})
    open_page(reader, book, "02_attention")
    for link in reader.locator("a.explained").all():
        link.scroll_into_view_if_needed()
        reader.mouse.move(1, 1)
        link.hover()
        box = reader.locator(".definition").bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 700


def test_the_more_a_reader_knows_the_fewer_terms_are_explained(reader: Page, book: Path) -> None:
    open_page(reader, book, "01_mask")
    counts = []
    for level in ("is new to this", "knows transformers", "knows the field"):
        reader.get_by_label("Explain terms to a reader who").select_option(level)
        counts.append(reader.locator("a.explained[href*=glossary]:not(.known)").count())
        assert reader.locator("a.explained.known[aria-describedby]").count() == 0
        assert reader.locator("a.explained[href*=references].known").count() == 0
    assert counts[0] > counts[1] > counts[2] > 0
    reader.get_by_role("link", name="token", exact=True).hover()
    expect(reader.locator(".definition")).to_be_hidden()

    open_page(reader, book, "02_attention")  # the choice is kept
    assert reader.get_by_label("Explain terms to a reader who").input_value() == "knows-the-field"
    assert reader.locator("a.explained.known").count() > 0


def test_on_a_phone_the_tools_are_in_the_drawer(reader: Page, book: Path) -> None:
    reader.set_viewport_size({"width": 390, "height": 844})
    open_page(reader, book, "01_mask")
    tools = reader.get_by_label("Explain terms to a reader who")
    expect(tools).to_be_hidden()
    reader.get_by_role("button", name="Toggle primary sidebar").click()
    tools.select_option("knows the field")
    expect(reader.get_by_role("link", name="2. Attention").first).to_be_visible()
    reader.keyboard.press("Escape")
    expect(tools).to_be_hidden()
    assert reader.locator("a.explained.known").count() > 0


def test_a_chapter_marked_as_read_is_marked_everywhere_until_unmarked(reader: Page, book: Path) -> None:
    open_page(reader, book, "02_attention")
    button = reader.get_by_role("button", name="I have read this chapter")
    expect(button).to_have_attribute("aria-pressed", "false")
    button.press("Space")
    expect(button).to_have_attribute("aria-pressed", "true")
    open_page(reader, book, "glossary")
    expect(reader.locator("#reading-progress")).to_have_text(f"Read: 1 of {len(toc.chapters())} chapters")
    marked = reader.locator(".bd-docs-nav a", has=reader.get_by_role("img", name="read"))
    expect(marked).to_have_text(["2. Attention✓"])
    open_page(reader, book, "02_attention")
    expect(marked).to_have_text(["2. Attention✓"])
    button.click()
    expect(reader.locator("#reading-progress")).to_have_text(f"Read: 0 of {len(toc.chapters())} chapters")
    expect(marked).to_have_count(0)


@pytest.mark.parametrize("kept", ["not JSON", "null", "7", '{"a": 1}', '["05_nothing"]'])
def test_whatever_a_browser_kept_never_breaks_a_page(reader: Page, book: Path, kept: str) -> None:
    reader.add_init_script(
        f"localStorage.setItem('prefixlm.read', {kept!r}); localStorage.setItem('prefixlm.level', 'x')"
    )
    open_page(reader, book, "01_mask")
    expect(reader.locator("#reading-progress")).to_have_text(f"Read: 0 of {len(toc.chapters())} chapters")
    assert reader.get_by_label("Explain terms to a reader who").input_value() == "new"
