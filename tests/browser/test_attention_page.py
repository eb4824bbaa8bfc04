"""What is special to the attention explorer, on a bare page: three sliders at once, and one row in focus."""

from itertools import pairwise, product

import pytest
import torch
from bare import open_bare
from drawn import read
from playwright.sync_api import Page
from shown_attention import NONE, SYMBOLS, make, make_model, make_tokens, shows

from prefixlm_teach import AttentionExplorer, create_prefix_lm_mask
from prefixlm_teach.widgets.table import pack


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 1, 2), (5, 2, 2), (7, 3, 1)])
def test_every_combination_of_the_sliders_shows_what_python_computes(
    page: Page, sizes: tuple[int, int, int]
) -> None:
    seq_len, n_layers, n_heads = sizes
    symbols = [f"w{t}" for t in range(seq_len)]
    explorer = AttentionExplorer(make_model(n_layers, n_heads), make_tokens(seq_len), symbols)
    open_bare(page, explorer)
    root = page.locator(".plx-root")
    for p, layer, head in product(range(seq_len + 1), range(n_layers), range(n_heads)):
        for trait, value in {"prefix_len": p, "layer": layer, "head": head}.items():
            setattr(explorer, trait, value)
            page.evaluate("([trait, value]) => model.set(trait, value)", [trait, value])
        shows(root, explorer)
        assert read(root)["readout"].startswith(f"Row {max(p - 1, 0)}, ")  # the one that guesses first


@pytest.mark.parametrize("seq_len", [17, 33])
def test_long_sequences_are_described_as_python_does(page: Page, seq_len: int) -> None:
    symbols = [f"w{t}" for t in range(seq_len)]
    explorer = AttentionExplorer(make_model(1, 1), make_tokens(seq_len), symbols, 9)
    open_bare(page, explorer)
    shows(page.locator(".plx-root"), explorer)


def test_of_equal_weights_the_first_is_named(page: Page) -> None:
    model = make_model(1, 1)
    torch.nn.init.zeros_(model.blocks[0].attn.q_proj.weight)
    torch.nn.init.zeros_(model.blocks[0].attn.q_proj.bias)
    explorer = AttentionExplorer(model, make_tokens(3), ["a", "b", "c"], 3)
    assert "row 2 (c) looks most at column 0 (a), 0.33" in explorer.description
    open_bare(page, explorer)
    shows(page.locator(".plx-root"), explorer)


def test_a_row_is_chosen_by_keyboard(page: Page) -> None:
    open_bare(page, explorer := make())
    root = page.locator(".plx-root")
    before = read(root)["readout"]
    assert before.startswith("Row 2, “<sep>”, looks most at column ")
    assert before.endswith("Its 3 weights sum to 1; 2 cells are blocked. It makes the first guess.")
    page.get_by_role("option").nth(0).focus()
    for q in range(5):
        shows(root, explorer)
        readout = read(root)["readout"]
        assert readout.startswith(f"Row {q}, “{SYMBOLS[q]}”, looks most at column ")
        assert ("It makes the first guess." in readout) == (q == 2)
        assert (
            page.get_by_role("option", selected=True).get_attribute("aria-label") == f"Row {q}, {SYMBOLS[q]}"
        )
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Home")
    root.get_by_role("slider", name="Layer", exact=True).press("Home")
    assert read(root)["readout"].startswith("Row 0, ")  # it stays while other controls are used


def test_a_row_is_chosen_by_pointer(page: Page) -> None:
    open_bare(page, explorer := make())
    root, box = page.locator(".plx-root"), page.locator(".plx-svg").bounding_box()
    assert box
    for q in range(5):
        page.mouse.move(box["x"] + 20, box["y"] + (q + 0.5) * box["height"] / 5)
        assert read(root)["readout"].startswith(f"Row {q}, ")
        shows(root, explorer)
    page.mouse.move(1, 1)
    assert read(root)["readout"].startswith("Row 2, ")


def test_the_chosen_row_follows_the_sliders(page: Page) -> None:
    open_bare(page, explorer := make())
    page.get_by_role("option").nth(4).focus()
    for trait, value in (("layer", 0), ("head", 1), ("prefix_len", 5)):
        setattr(explorer, trait, value)
        page.evaluate("([trait, value]) => model.set(trait, value)", [trait, value])
        shows(page.locator(".plx-root"), explorer)
        assert read(page.locator(".plx-root"))["readout"].startswith("Row 4, ")


def test_blocked_cells_are_told_from_weights_of_zero(page: Page) -> None:
    explorer = make()
    explorer.layer, explorer.head = 0, 1
    open_bare(page, explorer)
    (grid,) = read(page.locator(".plx-root"))["grids"]
    crossed = [[kind == "crossed" for kind in row] for row in grid["cells"]]
    assert crossed == (~create_prefix_lm_mask(5, 3)).tolist()
    assert any("shade-0" in row for row in grid["cells"])
    fills = {
        kind: page.locator(f"[data-kind={kind}]").evaluate("(path) => getComputedStyle(path).fill")
        for kind in ("crossed", "shade-0")
    }
    assert fills["crossed"].startswith("url(")
    assert not fills["shade-0"].startswith("url(")
    page.get_by_role("option").nth(0).focus()
    figures = [row["figures"][0] for row in read(page.locator(".plx-root"))["bars"][0]["rows"]]
    assert figures[3:] == [NONE, NONE]
    assert NONE not in figures[:3]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_larger_weights_stand_out_more(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    open_bare(page, make())
    fills = page.evaluate("""() => Array.from({ length: 21 }, (_, i) => {
      const box = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      box.fillStyle = getComputedStyle(document.querySelector(`[data-kind=shade-${5 * i}]`)).fill;
      box.fillRect(0, 0, 1, 1);
      const [r, g, b] = box.getImageData(0, 0, 1, 1).data;
      return 0.3 * r + 0.59 * g + 0.11 * b;
    })""")
    assert fills == sorted(fills, reverse=scheme == "light")
    assert abs(fills[0] - fills[-1]) > 150
    assert min(abs(a - b) for a, b in pairwise(fills)) > 4


def test_names_for_a_screen_reader(page: Page) -> None:
    open_bare(page, explorer := make())
    tree = page.locator(".plx-root").aria_snapshot()
    for line in (
        'group "Attention explorer"',
        'slider "Layer"',
        'slider "Head"',
        'slider "Prefix length p"',
        'group "Presets"',
        'button "At the start: 3" [pressed]',
        'listbox "Rows of the weights: where each token looks"',
        'option "Row 2, <sep>"',
        f'img "{explorer.description}"',
        'list "Legend"',
        'table "Weights of the row"',
        'rowheader "2 <sep>"',
    ):
        assert line in tree, tree
    slider = page.get_by_role("slider", name="Prefix length p")
    assert slider.get_attribute("aria-valuetext") == "prefix length 3 of 5: 'k n <sep>', as at the start"
    slider.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == (
        "prefix length 2 of 5: 'k n', an experiment: it was 3 at the start"
    )
    assert page.get_by_text("what the model does at p = 2 is an experiment.").count() == 1
    assert page.locator("[aria-live=polite]").count() == 1


@pytest.mark.parametrize("prefix_len", [None, 2])
def test_nothing_is_said_to_be_given_that_was_not(page: Page, prefix_len: int | None) -> None:
    open_bare(page, make(prefix_len=prefix_len))
    for p in range(6):
        page.get_by_role("slider", name="Prefix length p").fill(str(p))
        words = page.locator(".plx-root").aria_snapshot()
        assert "given" not in words
        assert words.count("The explorer began with p = 2") == 1


def test_a_close_second_is_not_named_before_the_strongest(page: Page) -> None:
    explorer = make(["a", "b", "c"])
    masks = torch.stack([create_prefix_lm_mask(3, p) for p in (1, 2, 3)])
    close = torch.tensor([0.3703, 0.37033, 0.25937])
    explorer.set_trait("table", pack((close * masks)[:, None, None].expand(3, 2, 2, 3, 3)))
    assert explorer.description.endswith("row 2 (c) looks most at column 1 (b), 0.37.")
    open_bare(page, explorer)
    shows(page.locator(".plx-root"), explorer)


@pytest.mark.parametrize("width", [280, 390])
def test_on_a_phone_bars_stay_long_enough_and_names_whole(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    open_bare(page, make())
    for track in page.locator(".plx-track:not([hidden])").all():
        assert track.bounding_box()["width"] >= 60
    cut = page.locator(".plx-bar-name").evaluate_all(
        "(all) => all.filter((e) => e.scrollWidth > e.clientWidth).length"
    )
    assert cut == 0
    heights = page.locator(".plx-bar-row").evaluate_all(
        "(all) => all.map((e) => e.getBoundingClientRect().height)"
    )
    assert max(heights) - min(heights) <= 1  # nothing jumps when a cell is blocked


@pytest.mark.parametrize("width", [390, 660, 760, 1000])
def test_nothing_jumps_when_a_slider_moves_or_a_row_is_chosen(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    open_bare(page, make())
    parts = page.locator(".plx-root :is(.plx-svg, .plx-bars, .plx-counts)")
    places = set()
    for p, layer, q in product(range(6), range(2), [None, 0, 2, 4]):
        page.evaluate(
            "([p, layer]) => { model.set('prefix_len', p); model.set('layer', layer); }", [p, layer]
        )
        if q is None:
            page.get_by_role("slider", name="Head").focus()
        else:
            page.get_by_role("option").nth(q).focus()
        tops = parts.evaluate_all(
            "(all) => all.map((e) => Math.round(e.getBoundingClientRect().top + scrollY))"
        )
        places.add(tuple(tops))
    assert len(places) == 1
