"""Open a page of the built book, as a reader does who has it on a disk."""

from pathlib import Path

from playwright.sync_api import Page


def open_page(page: Page, book: Path, name: str) -> None:
    """Open a page and wait until its tools and its explorers are alive."""
    page.goto((book / f"{name}.html").as_uri())
    page.wait_for_function("document.documentElement.dataset.level !== undefined")
    # Each is mounted as soon as its module is there, in any order.
    page.locator("script[data-explorer]").first.wait_for(state="detached")
