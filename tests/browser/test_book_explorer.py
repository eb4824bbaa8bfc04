"""The explorer on the built page: every value, by keys, pointer and touch, equals what Python computes."""

from pathlib import Path

import pytest
from drawn import assert_shows, read
from explorers import script_json
from playwright.sync_api import Browser, Page

from book import open_page
from prefixlm_teach import SplitExplorer

TOKENS = ["What", "is", "the", "capital", "of", "France", "?", "Paris", "."]
START = 7
HARD = ["<script>alert(1)</script>", '"quoted"', "&lt;", "</SCRIPT >", "<!--", "🙂", "שלום", "w" * 300]
VALUES = range(len(TOKENS) + 1)
THUMB = 16


def place_of(page: Page, p: int) -> tuple[float, float]:
    """Where on the page the slider's thumb stands for prefix length `p`."""
    box = page.get_by_role("slider").bounding_box()
    assert box
    return box["x"] + THUMB / 2 + p / len(TOKENS) * (box["width"] - THUMB), box["y"] + box["height"] / 2


def test_by_keys(reader: Page, book: Path) -> None:
    open_page(reader, book, "01_mask")
    root, slider = reader.locator(".plx-root"), reader.get_by_role("slider")
    assert_shows(root, TOKENS, START)
    slider.press("Home")
    for p in VALUES:
        assert_shows(root, TOKENS, p)
        slider.press("ArrowRight")
    for p in reversed(VALUES):
        assert_shows(root, TOKENS, p)
        slider.press("ArrowLeft")


def test_by_pointer(reader: Page, book: Path) -> None:
    open_page(reader, book, "01_mask")
    root = reader.locator(".plx-root")
    reader.get_by_role("slider").scroll_into_view_if_needed()
    reader.mouse.move(*place_of(reader, START))
    reader.mouse.down()
    for p in VALUES:
        reader.mouse.move(*place_of(reader, p))
        assert_shows(root, TOKENS, p)
    reader.mouse.up()


def test_by_touch(chromium: Browser, book: Path) -> None:
    context = chromium.new_context(has_touch=True, viewport={"width": 390, "height": 844})
    page = context.new_page()
    open_page(page, book, "01_mask")
    page.get_by_role("slider").scroll_into_view_if_needed()
    for p in VALUES:
        page.touchscreen.tap(*place_of(page, p))
        assert_shows(page.locator(".plx-root"), TOKENS, p)
    context.close()


def test_hard_tokens_are_shown_as_text(reader: Page, book: Path) -> None:
    page = (book / "01_mask.html").read_text(encoding="utf-8")
    state = script_json(SplitExplorer(HARD, 4).state())
    before, tag, rest = page.partition('data-explorer="split">')
    (book / "hard.html").write_text(before + tag + state + rest[rest.index("</script>") :], encoding="utf-8")
    reader.on("dialog", lambda dialog: pytest.fail(f"a token ran as a script: {dialog.message}"))
    open_page(reader, book, "hard")
    assert_shows(reader.locator(".plx-root"), HARD, 4)
    assert read(reader.locator(".plx-root"))["tokens"] == HARD
    assert reader.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_focus_goes_through_it_in_order(reader: Page, book: Path) -> None:
    open_page(reader, book, "01_mask")
    reader.get_by_role("slider", name="Prefix length p").focus()
    order = []
    for _ in range(4):
        reader.keyboard.press("Tab")
        order.append(
            reader.evaluate("document.activeElement.textContent || document.activeElement.className")
        )
    assert order == ["Causal", "Half", "Bidirectional", TOKENS[0]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_pages_colours(reader: Page, book: Path, scheme: str) -> None:
    other = "dark" if scheme == "light" else "light"
    reader.emulate_media(color_scheme=other)
    open_page(reader, book, "01_mask")
    reader.get_by_role("button", name="Color mode").click()
    reader.get_by_role("button", name=scheme.title(), exact=True).click()
    ink = reader.locator(".plx-root").evaluate("(root) => getComputedStyle(root).color")
    assert ink == ("rgb(230, 232, 234)" if scheme == "dark" else "rgb(31, 35, 40)")
