"""What is special to the decode explorer, on a bare page: both caches at every step, its rows, its words."""

import pytest
from bare import open_bare
from drawn import read
from playwright.sync_api import Page
from shown_decode import ANSWER, PROMPT, shows

from prefixlm_teach import DecodeExplorer


@pytest.mark.parametrize(("prompt", "new"), [(1, 1), (1, 3), (3, 4), (11, 9), (40, 25)])
def test_every_step_with_and_without_a_cache_shows_what_python_computes(
    page: Page, prompt: int, new: int
) -> None:
    explorer = DecodeExplorer([f"p{t}" for t in range(prompt)], [f"n{t}" for t in range(new)])
    open_bare(page, explorer)
    root = page.locator(".plx-root")
    for explorer.cached in (True, False):
        page.evaluate("(cached) => model.set('cached', cached)", explorer.cached)
        for explorer.step in range(new + 1):
            page.evaluate("(step) => model.set('step', step)", explorer.step)
            shows(root, explorer)
            assert read(root)["readout"] == explorer.words


def test_back_and_next_stop_at_the_ends(page: Page) -> None:
    open_bare(page, explorer := DecodeExplorer(PROMPT, ANSWER, 0))
    root = page.locator(".plx-root")
    for name, steps in {"Back": [0], "Next": [1, 2, 3, 4, 4]}.items():
        for explorer.step in steps:
            root.get_by_role("button", name=name, exact=True).click()
            shows(root, explorer)


def test_rows_by_keyboard(page: Page) -> None:
    open_bare(page, explorer := DecodeExplorer(PROMPT, ANSWER, 3))
    root, said = page.locator(".plx-root"), []
    page.get_by_role("option").nth(0).focus()
    for _ in range(6):
        readout = read(root)["readout"]
        assert readout.startswith(f"{explorer.words} ")
        said.append(readout.removeprefix(f"{explorer.words} "))
        page.keyboard.press("ArrowDown")
    assert said[0] == ("Row 0, “o”, was worked out in an earlier step; its keys and values are kept.")
    assert said[4] == "Row 4, “K”, sees 1 key made in this step and 4 from the cache."
    assert said[5] == "Row 5, “S”, is not read yet."
    page.keyboard.press("Home")
    page.get_by_role("slider").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert read(root)["readout"].endswith("Row 0, “o”, sees 3 keys made in this step and 0 from the cache.")


def test_names_for_a_screen_reader(page: Page) -> None:
    open_bare(page, DecodeExplorer(PROMPT, ANSWER, 2))
    tree = page.locator(".plx-root").aria_snapshot()
    for line in (
        'group "Prefix LM decode explorer"',
        'slider "Step"',
        'group "One step"',
        'button "With a cache" [pressed]',
        'list "The keys that are there"',
        'listbox "Rows: what each token does in this step"',
        'img "6 rows (queries) by 6 columns (keys): rows 0 to 2 see nothing; row 3 sees columns 0 to 3;',
        "AA , key made in this step",
        "<sep> , key from the cache",
        "K , no key yet",
    ):
        assert line in tree
    assert page.locator("[aria-live=polite]").count() == 1


def test_unmounting_stops_listening(page: Page) -> None:
    open_bare(page, DecodeExplorer(PROMPT, ANSWER, 2))
    page.evaluate("unmount()")
    page.evaluate("model.set('step', 4)")
    page.evaluate("model.set('cached', false)")
    assert read(page.locator(".plx-root"))["sliders"]["Step"]["value"] == 2


def test_forced_colours_keep_the_kinds_of_cell_apart(page: Page) -> None:
    page.emulate_media(forced_colors="active")
    open_bare(page, DecodeExplorer(PROMPT, ANSWER, 3))
    for kind in ("kept", "done", "padding"):
        line, paper = (
            page.locator(f".plx-hatch-{kind} .plx-hatch-{part}").first.evaluate(
                "(e) => getComputedStyle(e).fill"
            )
            for part in ("line", "paper")
        )
        assert line != paper, kind
