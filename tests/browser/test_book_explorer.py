"""The explorers on the built pages: every value, by keys, pointer and touch, equals what Python computes."""

import json
import re
from pathlib import Path

import pytest
import toc
from bare_book import put_on_a_page
from playwright.sync_api import Browser, Locator, Page
from shown import NAMES, Explorer, kind_of, names_with_tokens, restore
from sliders import by_keys, by_pointer, by_touch

from book import open_page

VIEW = "application/vnd.jupyter.widget-view+json"


def explorers_in(notebook: Path) -> list[tuple[str, int, str]]:
    """The explorers of a chapter: its name, their places on the page, their names."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    views = [output.get("data", {}).get(VIEW) for cell in cells for output in cell.get("outputs", [])]
    return [(notebook.stem, i, view["explorer"]) for i, view in enumerate(filter(None, views))]


PLACES = [
    place for text in toc.chapters() for place in explorers_in(toc.PROJECT / text.with_suffix(".ipynb"))
]


def open_explorer(page: Page, book: Path, chapter: str, i: int, name: str) -> tuple[Locator, Explorer]:
    """Open a page; return its i-th explorer, and the same in Python, restored from what the page carries."""
    source = (book / f"{chapter}.html").read_text(encoding="utf-8")
    states = re.findall(r'data-explorer="(\w+)">(.*?)</script>', source, re.DOTALL)
    assert states[i][0] == name
    open_page(page, book, chapter)
    root = page.locator(".plx-root").nth(i)
    root.wait_for()
    return root, restore(name, json.loads(states[i][1]))


def test_every_kind_of_explorer_is_on_a_page() -> None:
    assert sorted({name for _, _, name in PLACES}) == NAMES


@pytest.mark.parametrize(("chapter", "i", "name"), PLACES)
def test_by_keys(reader: Page, book: Path, chapter: str, i: int, name: str) -> None:
    root, explorer = open_explorer(reader, book, chapter, i, name)
    by_keys(root, explorer, kind_of(name))


@pytest.mark.parametrize(("chapter", "i", "name"), PLACES)
def test_by_pointer(reader: Page, book: Path, chapter: str, i: int, name: str) -> None:
    root, explorer = open_explorer(reader, book, chapter, i, name)
    by_pointer(reader, root, explorer, kind_of(name))


@pytest.mark.parametrize(("chapter", "i", "name"), PLACES)
def test_by_touch(chromium: Browser, book: Path, chapter: str, i: int, name: str) -> None:
    context = chromium.new_context(has_touch=True, viewport={"width": 390, "height": 844})
    page = context.new_page()
    root, explorer = open_explorer(page, book, chapter, i, name)
    by_touch(page, root, explorer, kind_of(name))
    context.close()


HARD = ["<script>alert(1)</script>", '"quoted"', "&lt;", "</SCRIPT >", "<!--", "🙂", "שלום", "w" * 300]


@pytest.mark.parametrize("name", names_with_tokens())
def test_hard_tokens_are_shown_as_text(reader: Page, book: Path, name: str) -> None:
    explorer = kind_of(name).make_hard(HARD)
    reader.on("dialog", lambda dialog: pytest.fail(f"a token ran as a script: {dialog.message}"))
    root = put_on_a_page(reader, book, explorer)
    kind_of(name).shows(root, explorer)
    assert reader.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_it_follows_the_pages_colours(reader: Page, book: Path, name: str, scheme: str) -> None:
    other = "dark" if scheme == "light" else "light"
    reader.emulate_media(color_scheme=other)
    root = put_on_a_page(reader, book, kind_of(name).make())
    reader.get_by_role("button", name="Color mode").click()
    reader.get_by_role("button", name=scheme.title(), exact=True).click()
    ink = root.evaluate("(root) => getComputedStyle(root).color")
    assert ink == ("rgb(230, 232, 234)" if scheme == "dark" else "rgb(31, 35, 40)")
