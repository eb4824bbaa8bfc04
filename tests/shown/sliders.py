"""Move every slider of an explorer through every value, and hold each picture against Python."""

from typing import Any

from playwright.sync_api import Locator, Page
from shown import Kind, Slider

THUMB = 16  # how wide Chromium draws the thumb of a slider


def range_of(root: Locator, slider: Slider) -> Locator:
    """The slider's element."""
    return root.get_by_role("slider", name=slider.label, exact=True)


def by_keys(root: Locator, explorer: Any, kind: Kind) -> None:
    """With the arrow keys, up and down again."""
    kind.shows(root, explorer)
    for slider in kind.sliders(explorer):
        element, start, last = range_of(root, slider), slider.value(explorer), slider.last(explorer)
        first = slider.first
        element.press("Home")
        for value in range(first, last + 1):
            slider.move(explorer, value)
            kind.shows(root, explorer)
            element.press("ArrowRight")
        for value in reversed(range(first, last + 1)):
            slider.move(explorer, value)
            kind.shows(root, explorer)
            element.press("ArrowLeft")
        slider.move(explorer, start)
        for _ in range(start - first):
            element.press("ArrowRight")
        kind.shows(root, explorer)


def place_of(element: Locator, value: int, first: int, last: int) -> tuple[float, float]:
    """Where on the page the slider's thumb stands at a value."""
    box = element.bounding_box()
    assert box
    share = (value - first) / max(last - first, 1)
    return box["x"] + THUMB / 2 + share * (box["width"] - THUMB), box["y"] + box["height"] / 2


def by_pointer(page: Page, root: Locator, explorer: Any, kind: Kind) -> None:
    """With the mouse, dragging."""
    for slider in kind.sliders(explorer):
        element, first, last = range_of(root, slider), slider.first, slider.last(explorer)
        element.scroll_into_view_if_needed()
        page.mouse.move(*place_of(element, slider.value(explorer), first, last))
        page.mouse.down()
        for value in range(first, last + 1):
            page.mouse.move(*place_of(element, value, first, last))
            slider.move(explorer, value)
            kind.shows(root, explorer)
        page.mouse.up()


def by_touch(page: Page, root: Locator, explorer: Any, kind: Kind) -> None:
    """With a finger, tapping."""
    for slider in kind.sliders(explorer):
        element, first, last = range_of(root, slider), slider.first, slider.last(explorer)
        for value in range(first, last + 1):
            element.scroll_into_view_if_needed()
            page.touchscreen.tap(*place_of(element, value, first, last))
            slider.move(explorer, value)
            kind.shows(root, explorer)
