"""What is special to the batch explorer: several grids, one chosen row; grids that are built anew."""

from bare import open_bare
from drawn import read
from playwright.sync_api import Locator, Page

from prefixlm_teach import BatchExplorer

EXAMPLES = [list("abcdefgh"), list("stuv")]


def cell_of(grid: Locator, q: int) -> tuple[float, float]:
    box = grid.locator(".plx-svg").bounding_box()
    assert box
    return box["x"] + 10, box["y"] + (q + 0.5) * box["height"] / 8


def test_the_keyboard_goes_on_where_it_was_after_the_pointer_has_crossed_another_grid(page: Page) -> None:
    open_bare(page, BatchExplorer(EXAMPLES, [2, 1]))
    root = page.locator(".plx-root")
    first, second = page.locator(".plx-grid").all()
    second.get_by_role("option").nth(5).focus()
    page.mouse.move(*cell_of(first, 2))
    assert read(root)["readout"].startswith("Example 0, row 2, “c”, ")
    page.mouse.move(1, 1)
    assert read(root)["readout"].startswith("Example 1, row 5, “<pad>”, ")
    page.keyboard.press("ArrowUp")
    assert read(root)["readout"].startswith("Example 1, row 4, “<pad>”, ")
    page.keyboard.press("ArrowUp")
    assert read(root)["readout"].startswith("Example 1, row 3, “v”, ")


def test_one_row_is_kept_the_last_one(page: Page) -> None:
    open_bare(page, BatchExplorer(EXAMPLES, [2, 1], borrowed=0))
    root = page.locator(".plx-root")
    first, second = page.locator(".plx-grid").all()
    second.get_by_role("option").nth(1).focus()
    assert read(root)["readout"] == ("Example 1, row 1, “t”, may see columns 0 to 1.")
    first.get_by_role("option").nth(7).focus()
    page.get_by_role("slider").first.press("Home")
    assert read(root)["readout"].startswith("Example 0, row 7, ")
    assert page.locator(".plx-row[aria-selected=true]").count() == 1
    second.get_by_role("option").nth(0).focus()
    page.get_by_role("slider").first.press("End")
    assert read(root)["readout"] == (
        "Example 1, row 0, “s”, may see column 0. The int shows it columns 1 to 3 as well."
    )


def test_the_same_token_stays_chosen_and_focused_when_the_padding_moves(page: Page) -> None:
    open_bare(page, BatchExplorer(EXAMPLES, [2, 1]))
    root = page.locator(".plx-root")
    page.locator(".plx-grid").nth(1).get_by_role("option").nth(2).focus()
    page.evaluate("model.set('side', 'left')")
    assert read(root)["readout"].startswith("Example 1, row 6, “u”, ")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Row 6, u"
    page.get_by_role("button", name="Padding right").click()
    assert read(root)["readout"].startswith("Example 1, row 2, “u”, ")
    assert page.evaluate("document.activeElement.textContent") == "Padding right"
