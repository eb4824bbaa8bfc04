"""What is special to the objective explorer: rows that come and go, sliders not used, what a row says."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from bare import open_bare
from drawn import read
from playwright.sync_api import Locator, Page
from shown_objective import make, shows

from prefixlm_teach import ObjectiveExplorer, Vocabulary, prefix_lm
from prefixlm_teach.widgets.objective_table import Made


def row_words(page: Page) -> str:
    """What is said of the chosen row."""
    return page.locator(".plx-side .plx-readout").inner_text()


def option(page: Page, q: int) -> Locator:
    """A row of the grid."""
    return page.locator(".plx-grid").get_by_role("option").nth(q)


def said_of(explorer: ObjectiveExplorer, q: int) -> str:
    """What has to be said of a row that sees the first columns, from the explorer in Python."""
    made, row, labels = explorer.made, explorer.row, explorer.labels
    assert isinstance(made, Made)
    assert explorer.mask is not None
    last = int(explorer.mask[q].sum()) - 1
    sees = f"columns 0 to {last}" if last else "column 0"
    t = q if made.cloze else q + 1
    label = labels[t] if t < len(labels) else None
    if label is None:
        what = "It is asked for nothing."
    else:
        what = f"It predicts {'what belongs here:' if made.cloze else f'token {t},'} “{label}”."
    return f"Row {q}, “{row[q]}”, sees {sees}. {what}"


@pytest.mark.parametrize("objective", ["Causal LM", "Prefix LM", "Masked LM", "Span corruption"])
def test_each_row_says_what_it_sees_and_what_it_is_asked_for(page: Page, objective: str) -> None:
    open_bare(page, explorer := make(objective=objective, rate=0.4, draw=1))
    for q in range(len(explorer.row)):
        option(page, q).focus()
        assert row_words(page) == said_of(explorer, q)
        seen = [k for k, is_seen in enumerate(read(page.locator(".plx-root"))["grids"][0]["seen"]) if is_seen]
        assert seen == [k for k, may in enumerate(explorer.mask[q].tolist()) if may]


def test_a_row_of_another_mask_says_what_it_sees(page: Page) -> None:
    open_bare(page, make(objective="From the right", draw=1))
    option(page, 1).focus()
    assert row_words(page) == "Row 1, “[M]”, sees columns 1 to 5. It predicts what belongs here: “cat”."


def test_the_chosen_row_stays_through_another_draw_and_keeps_the_focus(page: Page) -> None:
    open_bare(page, explorer := make(rate=0.4))
    option(page, 3).focus()
    page.evaluate("model.set('draw', 2)")
    explorer.draw = 2
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == f"Row 3, {explorer.row[3]}"
    assert row_words(page) == said_of(explorer, 3)
    page.keyboard.press("ArrowDown")
    assert row_words(page) == said_of(explorer, 4)


def test_a_row_that_is_gone_leaves_the_last_one_chosen(page: Page) -> None:
    open_bare(page, explorer := make())
    option(page, len(explorer.row) - 1).focus()
    page.get_by_role("button", name="Causal LM").click()
    explorer.objective = "Causal LM"
    assert (
        row_words(page)
        == said_of(explorer, 5)
        == "Row 5, “mat”, sees columns 0 to 5. It is asked for nothing."
    )
    assert page.evaluate("document.activeElement.textContent") == "Causal LM"


def test_an_impossible_setting_is_said_and_the_picture_comes_back_after_it(page: Page) -> None:
    open_bare(page, explorer := make(rate=0.4))
    root = page.locator(".plx-root")
    option(page, 2).focus()
    page.get_by_role("slider", name="Rate").press("End")
    explorer.rate = 0.7
    shows(root, explorer)
    assert read(root)["readout"].startswith("Span corruption, rate 0.7, mean span 1, draw 0: impossible. ")
    assert row_words(page) == "There is no row to read."
    assert page.locator(".plx-svg").count() == 0
    page.get_by_role("slider", name="Mean span").press("End")
    explorer.mean_span = 2
    shows(root, explorer)
    assert row_words(page) == said_of(explorer, 2)


def test_a_slider_that_is_not_used_is_passed_over_and_says_so(page: Page) -> None:
    open_bare(page, make(objective="Masked LM"))
    page.get_by_role("slider", name="Rate").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.labels[0].textContent") == "Draw"
    unused = page.get_by_role("slider", name="Mean span")
    assert unused.is_disabled()
    assert unused.get_attribute("aria-valuetext") == "mean span 1, not used by Masked LM"
    assert page.locator(".plx-slider").nth(1).inner_text().split("\n")[-1] == "not used"


def test_a_slider_that_no_objective_uses_is_left_out(page: Page) -> None:
    open_bare(page, ObjectiveExplorer({"one": prefix_lm}, ["a", "b"], Vocabulary(["a", "b"])))
    assert [each.get_attribute("max") for each in page.get_by_role("slider").all()] == ["7"]


def test_what_is_asked_for_in_its_own_row_is_read_out_with_its_token(page: Page) -> None:
    open_bare(page, explorer := make(objective="Masked LM", rate=0.4))
    strip = page.get_by_role("list", name="What the model reads")
    t = next(t for t, label in enumerate(explorer.labels) if label)
    assert strip.get_by_role("listitem").nth(t).text_content() == (
        f"{t}{explorer.row[t]}, prefix, asked for: {explorer.labels[t]}"
    )
    noise = page.get_by_role("list", name="The sentence").get_by_role("listitem").nth(t)
    assert noise.text_content() == f"{t}{explorer.tokens[t]}, noise"


def test_the_sentence_is_spoken_once_a_slider_has_come_to_rest(page: Page) -> None:
    open_bare(page, explorer := make(rate=0.4))
    option(page, 3).focus()  # a row is chosen: its words change as well
    page.wait_for_timeout(700)
    page.get_by_role("slider", name="Draw").press("End")
    explorer.draw = 2
    page.wait_for_timeout(900)
    assert page.locator("[aria-live]").inner_text() == explorer.description


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("chosen", [{"objective": "Masked LM", "rate": 0.7}, {"rate": 0.7, "mean_span": 1}])
def test_a_cloze_and_an_impossible_setting_are_accessible(
    page: Page, scheme: str, chosen: dict[str, Any]
) -> None:
    page.emulate_media(color_scheme=scheme)
    open_bare(page, make(**chosen))
    found = Axe().run(page).response["violations"]
    assert [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found] == []


@pytest.mark.parametrize("width", [280, 390, 700, 1200])
def test_an_impossible_setting_fits_the_page(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    open_bare(page, make(rate=0.7))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
