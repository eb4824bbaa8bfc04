"""The cost explorer on a bare page: each way against each T and p, and what only this explorer has."""

import pytest
from bare import mount, open_bare
from playwright.sync_api import Page
from shown_cost import WAYS, shows

from prefixlm_teach import CostExplorer


@pytest.mark.parametrize("way", WAYS)
def test_every_way_at_the_ends_and_between_stops(page: Page, way: str) -> None:
    open_bare(page, explorer := CostExplorer(16, 0, way=way))
    root = page.locator(".plx-root")
    sizes = [(16, p) for p in (0, 1, 2, 7, 15, 16)] + [(64, 24), (512, 512), (1024, 1), (1024, 768)]
    for explorer.sizes in [*sizes, (2**17, 0), (2**17, 2**17)]:
        page.evaluate("(sizes) => model.set('sizes', sizes)", list(explorer.sizes))
        shows(root, explorer)


@pytest.mark.parametrize(("seq_len", "p", "d"), [(3000, 1234, 77), (100, 99, 1), (131_071, 92_681, 65_536)])
def test_sizes_from_python_that_no_slider_reaches(page: Page, seq_len: int, p: int, d: int) -> None:
    open_bare(page, explorer := CostExplorer(seq_len, p, d, "dense mask"))
    root = page.locator(".plx-root")
    for explorer.way in WAYS:
        page.evaluate("(way) => model.set('way', way)", explorer.way)
        drawn = root.locator(".plx-readout").text_content()
        assert drawn == explorer.description
        assert root.locator(".plx-svg").get_attribute("aria-label") == explorer.area_words
        figures = root.locator(".plx-bar-figure").all_text_contents()
        tenths = [round(float(figure.removesuffix("%")) * 10) for figure in figures]
        assert tenths == [share for bar in explorer.bars for share in bar[2:]]
    page.get_by_role("slider", name="Tokens T").press("ArrowRight")
    assert page.evaluate("model.get('sizes')[1]") <= page.evaluate("model.get('sizes')[0]")


@pytest.mark.parametrize(
    ("sent", "held"),
    [
        ([16, 99], [16, 16]),
        ([999_999, 5], [131_072, 5]),
        ([3, 2], [16, 2]),
        ([64.4, -1], [64, 0]),
        ([None, "x"], [16, 0]),
        ("64", [16, 0]),
        ([], [16, 0]),
    ],
)
def test_sizes_that_cannot_be_shown_are_told_to_the_model(page: Page, sent: object, held: list[int]) -> None:
    open_bare(page, explorer := CostExplorer(64, 24))
    page.evaluate("(sizes) => model.set('sizes', sizes)", sent)
    assert page.evaluate("model.get('sizes')") == held
    explorer.set_state({"sizes": held})
    shows(page.locator(".plx-root"), explorer)


def test_p_keeps_its_share_when_t_is_moved(page: Page) -> None:
    open_bare(page, explorer := CostExplorer(2048, 512))
    slider = page.get_by_role("slider", name="Tokens T")
    for key, sizes in {"End": (131_072, 32_768), "Home": (16, 4), "ArrowRight": (32, 8)}.items():
        slider.press(key)
        explorer.sizes = sizes
        shows(page.locator(".plx-root"), explorer)


def test_names_for_a_screen_reader(page: Page) -> None:
    open_bare(page, CostExplorer(2048, 512))
    tree = page.locator(".plx-root").aria_snapshot()
    for line in (
        'group "Prefix LM cost explorer"',
        'slider "Tokens T"',
        'slider "Prefix length p"',
        'group "Which way is drawn"',
        'button "mend" [pressed]',
        'img "All pairs as a square, queries down, keys across, by mend: past 1,967,360 (46.9%);',
        'table "Pairs that each way computes"',
        'rowheader "dense mask 4,194,304 pairs"',
        'cell "56.3%"',
    ):
        assert line in tree
    assert page.locator("[aria-live=polite]").count() == 1


def test_forced_colours_keep_the_areas_apart(page: Page) -> None:
    page.emulate_media(forced_colors="active")
    open_bare(page, CostExplorer(64, 24))
    for kind in ("opened", "kept", "lost", "padding"):
        line, paper = (
            page.locator(f".plx-hatch-{kind} .plx-hatch-{part}").first.evaluate(
                "(e) => getComputedStyle(e).fill"
            )
            for part in ("line", "paper")
        )
        assert line != paper, kind


def test_the_longest_text_is_drawn_as_quickly_as_the_shortest(page: Page) -> None:
    """By what is drawn, not by the clock: no more corners, however many pairs there are."""
    corners = {}
    for seq_len in (16, 2**17):
        explorer = CostExplorer(seq_len, seq_len // 2)
        (mount if corners else open_bare)(page, explorer)
        paths = page.locator(".plx-cells").evaluate_all("(all) => all.map((e) => e.getAttribute('d'))")
        corners[seq_len] = sum(path.count("L") for path in paths)
    assert corners[2**17] < corners[16]
