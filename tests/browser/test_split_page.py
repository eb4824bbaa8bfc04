"""The split explorer's module on a bare page: no kernel, no network, every value."""

from itertools import pairwise, product

import pytest
import torch
from bare import mount, open_bare
from drawn import read
from playwright.sync_api import Page
from shown_split import assert_split

from prefixlm_teach import SplitExplorer, causal_mask, describe_mask

QUESTION = ["Quelle", "est", "la", "capitale", "de", "la", "France"]
HARD = ["<script>alert(1)</script>", '"quoted"', "🙂👩‍👩‍👧", "שלום עולם"]
HARD += ["Donau" * 30, "a\nb", "", "&lt;", "' onload='x"]


def words(seq_len: int) -> list[str]:
    return [f"w{t}" for t in range(seq_len)]


@pytest.mark.parametrize("seq_len", [1, 2, 3, 7, 24, 33])
def test_every_value_by_arrow_keys_shows_what_python_computes(page: Page, seq_len: int) -> None:
    open_bare(page, SplitExplorer(words(seq_len), 0))
    root, slider = page.locator(".plx-root"), page.get_by_role("slider")
    slider.focus()
    for p in range(seq_len + 1):
        assert_split(root, words(seq_len), p)
        assert page.evaluate("model.get('prefix_len')") == p
        slider.press("ArrowRight")
    for p in reversed(range(seq_len + 1)):
        assert_split(root, words(seq_len), p)
        slider.press("ArrowLeft")


@pytest.mark.parametrize("p", [0, 1, 2, 63, 64, 127, 128])
def test_128_tokens_show_what_python_computes(page: Page, p: int) -> None:
    open_bare(page, SplitExplorer(words(128), 64))
    page.evaluate("(p) => model.set('prefix_len', p)", p)
    assert_split(page.locator(".plx-root"), words(128), p)


def test_every_value_by_mouse(page: Page) -> None:
    open_bare(page, SplitExplorer(QUESTION, 0))
    drag_through_every_value(page, page.locator(".plx-root"), QUESTION)


def drag_through_every_value(page: Page, root: object, tokens: list[str]) -> None:
    box = page.get_by_role("slider").bounding_box()
    assert box
    thumb = 16
    places = [box["x"] + thumb / 2 + p / len(tokens) * (box["width"] - thumb) for p in range(len(tokens) + 1)]
    middle = box["y"] + box["height"] / 2
    page.mouse.move(places[0], middle)
    page.mouse.down()
    for p, x in enumerate(places):
        page.mouse.move(x, middle)
        assert_split(root, tokens, p)
    page.mouse.up()


def test_any_mask_is_described_as_python_describes_it(page: Page) -> None:
    """The base's sentence serves every explorer, so it is held against Python on masks of all kinds."""
    source = SplitExplorer._esm.replace("export default", "export { describeMask }; export default")
    random = torch.Generator().manual_seed(0)
    masks = [torch.rand(n, n, generator=random) < share for n in range(4, 9) for share in (0.3, 0.6, 0.9)]
    masks += [torch.tensor(cells).view(3, 3) for cells in product([False, True], repeat=9)]
    masks += [torch.block_diag(*[causal_mask(n).int() for n in (2, 3, 1)]).bool()]
    page.set_content("<title>Masks</title>")
    said = page.evaluate(
        """async ([source, masks]) => {
          const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
          const { describeMask } = await import(url);
          return masks.map((mask) => describeMask(mask.length, (q, k) => mask[q][k]));
        }""",
        [source, [mask.tolist() for mask in masks]],
    )
    assert said == [describe_mask(mask) for mask in masks]


def test_presets(page: Page) -> None:
    open_bare(page, SplitExplorer(QUESTION, 2))
    for name, p in {"Causal": 0, "Half": 3, "Bidirectional": 7}.items():
        page.get_by_role("button", name=name).click()
        assert_split(page.locator(".plx-root"), QUESTION, p)


@pytest.mark.parametrize("value", [-3, 99, 2.4, None, "x"])
def test_a_value_from_elsewhere_never_breaks_the_picture(page: Page, value: object) -> None:
    open_bare(page, SplitExplorer(QUESTION, 5))
    page.evaluate("(value) => model.set('prefix_len', value)", value)
    assert_split(page.locator(".plx-root"), QUESTION, {-3: 0, 99: 7, 2.4: 2}.get(value, 0))


def test_hard_tokens_are_shown_as_text(page: Page) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a token ran as a script: {dialog.message}"))
    open_bare(page, SplitExplorer(HARD, 4))
    shown = [token.replace("\n", "↵") for token in HARD]
    assert [item["token"] for item in read(page.locator(".plx-root"))["items"]] == shown
    assert page.locator(".plx-row-name").all_text_contents() == shown
    assert page.locator(".plx-column-name").all_text_contents() == shown
    assert page.locator(".plx-root script, .plx-root [onload]").count() == 0
    for q in range(len(HARD)):
        page.get_by_role("option").nth(q).focus()
        said = read(page.locator(".plx-root"))["readout"]
        assert f"Row {q}, “{shown[q]}”" in said.replace("\u2068", "").replace("\u2069", "")


@pytest.mark.parametrize("width", [280, 390, 700, 1200])
@pytest.mark.parametrize(
    "tokens",
    [QUESTION, HARD, words(1), words(12), words(32), words(128)],
    ids=["7", "hard", "1", "12", "32", "128"],
)
def test_it_fits_the_page(page: Page, width: int, tokens: list[str]) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    open_bare(page, SplitExplorer(tokens, len(tokens) // 2))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    slider = page.get_by_role("slider").bounding_box()
    svg = page.locator(".plx-svg").bounding_box()
    assert slider
    assert svg
    assert slider["width"] >= 60
    assert svg["width"] >= 100
    assert abs(svg["width"] - svg["height"]) <= 1
    rows = [page.get_by_role("option").nth(q).bounding_box() for q in (0, len(tokens) - 1)]
    assert rows[0]
    assert rows[1]
    cell = svg["height"] / len(tokens)
    assert abs(rows[0]["y"] - svg["y"]) <= 2
    assert abs(rows[1]["y"] + rows[1]["height"] - svg["y"] - svg["height"]) <= 2
    assert abs(rows[0]["height"] - cell) <= 1
    names = page.locator(".plx-row-name").evaluate_all(
        """(names) => names.filter((name) => getComputedStyle(name).color !== "rgba(0, 0, 0, 0)")
          .map((name) => name.getBoundingClientRect()).map((box) => (box.top + box.bottom) / 2)"""
    )
    assert all(below - above >= 10 for above, below in pairwise(names))  # no label on top of another


def test_rows_by_keyboard(page: Page) -> None:
    open_bare(page, SplitExplorer(QUESTION, 3))
    root = page.locator(".plx-root")
    order = []
    for _ in range(5):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.className"))
    assert order == ["plx-range", "plx-button", "plx-button", "plx-button", "plx-row"]
    said = []
    for q in range(7):
        said.append(read(root)["readout"])
        chosen = page.get_by_role("option", selected=True)
        assert chosen.get_attribute("aria-label") == f"Row {q}, {QUESTION[q]}"
        assert page.locator(".plx-row-frame").get_attribute("y") == str(q)
        assert page.locator(".plx-seen").count() == max(q + 1, 3)
        page.keyboard.press("ArrowDown")
    assert said[0] == (
        "Row 0, “Quelle”, sees columns 0 to 2: 1 cell of the past, 2 opened by the prefix. "
        "It predicts token 1, “est”: not scored, it is prefix."
    )
    assert said[2].endswith("3 cells of the past. It predicts token 3, “capitale”: scored.")
    assert said[6] == "Row 6, “France”, sees columns 0 to 6: 7 cells of the past. No token follows it."
    page.keyboard.press("Home")
    assert read(root)["readout"] == said[0]
    page.keyboard.press("End")
    assert read(root)["readout"] == said[6]
    page.get_by_role("slider").focus()
    page.get_by_role("slider").press("ArrowLeft")
    assert read(root)["readout"] == said[6]  # a row stays chosen while other controls are used
    page.get_by_role("option").nth(6).press("Home")
    assert read(root)["readout"].startswith("Row 0, “Quelle”, sees columns 0 to 1:")


def test_rows_by_pointer(page: Page) -> None:
    open_bare(page, SplitExplorer(QUESTION, 3))
    root, box = page.locator(".plx-root"), page.locator(".plx-svg").bounding_box()
    assert box
    for q in range(7):
        page.mouse.move(box["x"] + 20, box["y"] + (q + 0.5) * box["height"] / 7)
        assert read(root)["readout"].startswith(f"Row {q}, ")
    page.mouse.move(1, 1)
    assert not read(root)["readout"].startswith("Row")
    page.mouse.click(box["x"] + 20, box["y"] + 4.5 * box["height"] / 7)
    page.mouse.move(1, 1)
    assert read(root)["readout"].startswith("Row 4, ")  # a tap stays


def test_the_readout_follows_the_slider(page: Page) -> None:
    open_bare(page, SplitExplorer(QUESTION, 0))
    page.get_by_role("option").nth(0).focus()
    assert (
        "column 0: 1 cell of the past. It predicts token 1, “est”: scored."
        in read(page.locator(".plx-root"))["readout"]
    )
    page.evaluate("model.set('prefix_len', 7)")
    assert "columns 0 to 6: 1 cell of the past, 6 opened" in read(page.locator(".plx-root"))["readout"]


def test_names_for_a_screen_reader(page: Page) -> None:
    open_bare(page, SplitExplorer(QUESTION, 3))
    assert page.get_by_role("slider", name="Prefix length p").get_attribute("aria-valuetext") == (
        "prefix length 3 of 7: 'Quelle est la'"
    )
    tree = page.locator(".plx-root").aria_snapshot()
    for line in (
        'group "Prefix LM split explorer"',
        'slider "Prefix length p"',
        'group "Presets"',
        'button "Half" [pressed]',
        'list "Tokens"',
        'listbox "Rows of the mask: what each token sees"',
        'option "Row 3, capitale"',
        'list "Legend"',
        'img "7 rows (queries) by 7 columns (keys): rows 0 to 2 see columns 0 to 2;',
    ):
        assert line in tree
    assert page.locator("[aria-live=polite]").count() == 1


def test_long_prefixes_are_not_read_out_whole(page: Page) -> None:
    open_bare(page, SplitExplorer(words(40), 20))
    slider = read(page.locator(".plx-root"))["sliders"]["Prefix length p"]
    assert slider["words"] == "prefix length 20 of 40: 'w0 w1 w2 … w17 w18 w19'"


def test_unmounting_stops_listening(page: Page) -> None:
    open_bare(page, SplitExplorer(QUESTION, 3))
    page.evaluate("unmount()")
    page.evaluate("model.set('prefix_len', 5)")
    assert read(page.locator(".plx-root"))["sliders"]["Prefix length p"]["value"] == 3
    mount(page, SplitExplorer(QUESTION, 1))
    assert_split(page.locator(".plx-root"), QUESTION, 1)


def relative_luminance(color: str) -> float:
    channels = [float(part) / 255 for part in color[color.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("how", ["system", "page", "jupyterlab"])
def test_text_is_readable_in_both_themes(page: Page, theme: str, how: str) -> None:
    other = "dark" if theme == "light" else "light"
    page.emulate_media(color_scheme=theme if how == "system" else other)
    open_bare(page, SplitExplorer(QUESTION, 3))
    if how == "page":
        page.evaluate("(theme) => document.documentElement.dataset.theme = theme", theme)
    if how == "jupyterlab":
        page.evaluate("(light) => document.body.dataset.jpThemeLight = light", str(theme == "light").lower())
    paper = 1.0 if theme == "light" else relative_luminance("rgb(20,24,29)")
    for part in (".plx-label", ".plx-value", ".plx-name", ".plx-axis-keys", ".plx-index", ".plx-readout"):
        ink = relative_luminance(page.locator(part).first.evaluate("(e) => getComputedStyle(e).color"))
        assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) >= 4.5, part


def test_forced_colours_keep_the_kinds_of_cell_apart(page: Page) -> None:
    page.emulate_media(forced_colors="active")
    open_bare(page, SplitExplorer(QUESTION, 3))
    fills = [
        page.locator(f".plx-{part}").evaluate("(e) => getComputedStyle(e).fill")
        for part in (
            "cell-past",
            "cell-blocked",
            "hatch-opened .plx-hatch-line",
            "hatch-opened .plx-hatch-paper",
        )
    ]
    assert fills[0] != fills[1]
    assert fills[2] != fills[3]
