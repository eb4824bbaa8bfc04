"""What is special to the state explorer, on a bare page: every row of every split, its words, its figures."""

import pytest
import torch
from bare import open_bare
from drawn import read
from playwright.sync_api import Page
from shown_state import TOKENS, draw_heads, make, shows

from prefixlm_teach import StateExplorer


@pytest.mark.parametrize(("seq_len", "d"), [(1, 1), (2, 6), (7, 4)])
def test_every_row_of_every_split_shows_what_python_computes(page: Page, seq_len: int, d: int) -> None:
    explorer = StateExplorer([f"w{t}" for t in range(seq_len)], *draw_heads(seq_len, d, seed=d))
    open_bare(page, explorer)
    root = page.locator(".plx-root")
    for explorer.prefix_len in range(seq_len + 1):
        page.evaluate("(p) => model.set('prefix_len', p)", explorer.prefix_len)
        for explorer.row in range(seq_len):
            page.evaluate("(row) => model.set('row', row)", explorer.row)
            shows(root, explorer)
            assert read(root)["readout"] == explorer.words


def test_all_rows_of_the_prefix_show_one_state(page: Page) -> None:
    open_bare(page, make(p=4))
    numbers = []
    for row in range(len(TOKENS)):
        page.evaluate("(row) => model.set('row', row)", row)
        numbers.append(read(page.locator(".plx-root"))["state"][0]["numbers"])
    assert numbers[0] == numbers[1] == numbers[2] == numbers[3]
    assert len({str(each) for each in numbers[3:]}) == 3


def test_back_and_next_stop_at_the_ends(page: Page) -> None:
    open_bare(page, explorer := make(row=1))
    root = page.locator(".plx-root")
    for name, rows in {"Back": [0, 0], "Next": [1, 2, 3, 4, 5, 5]}.items():
        for explorer.row in rows:
            root.get_by_role("button", name=name, exact=True).click()
            shows(root, explorer)


def test_names_for_a_screen_reader(page: Page) -> None:
    open_bare(page, make(row=3))
    tree = page.locator(".plx-root").aria_snapshot()
    for line in (
        'group "Linear attention state explorer"',
        'slider "Row"',
        'group "One row"',
        'slider "Prefix length p"',
        'button "At the start: 3" [pressed]',
        'list "Tokens, and whether they are in the state"',
        'table "The state that row 3, “AA”, reads"',
        'columnheader "v 2"',
        'columnheader "z"',
        'rowheader "φ(k) 0"',
        'rowheader "out"',
        'group "States made so far"',
        'group "Numbers kept for what follows"',
    ):
        assert line in tree
    cell = page.locator(".plx-matrix-cell").first.text_content()
    number, _, added = cell.partition(", this row: ")
    (table,) = read(page.locator(".plx-root"))["state"]
    assert (number, added) == (table["numbers"][0][0], table["added"][0][0])
    current = page.locator(".plx-item[aria-current=true]")
    assert current.count() == 1
    assert current.text_content() == "3AA, in the state"
    assert page.locator(".plx-item").nth(5).text_content() == "5S, not in the state yet"


@pytest.mark.parametrize("width", [280, 390, 660, 1000])
@pytest.mark.parametrize("d", [1, 4, 6])
def test_each_number_finds_room_in_its_cell(page: Page, width: int, d: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    q, k, v = draw_heads(6, d)
    open_bare(page, StateExplorer(TOKENS, q, k.abs(), -4 * torch.ones_like(v), 6))
    cells = page.locator(".plx-matrix-cell, .plx-matrix-out")
    too_wide = cells.evaluate_all(
        """(cells) => cells.filter((cell) => {
          const range = document.createRange();
          range.selectNodeContents(cell.querySelector("b") ?? cell);
          return range.getBoundingClientRect().width > cell.getBoundingClientRect().width;
        }).map((cell) => cell.textContent)"""
    )
    assert cells.count() == (d + 1) ** 2
    assert too_wide == []


def test_forced_colours_leave_the_signs_and_the_bars(page: Page) -> None:
    page.emulate_media(forced_colors="active")
    open_bare(page, explorer := make(row=3))
    shows(page.locator(".plx-root"), explorer)
    bar, track = (
        page.locator(f".plx-meter-{part}").first.evaluate("(e) => getComputedStyle(e).backgroundColor")
        for part in ("bar", "track")
    )
    assert bar != track
