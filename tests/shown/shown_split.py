"""What the split explorer must show, as Python computes it."""

from collections.abc import Sequence

from drawn import read
from pixels import kinds_in
from playwright.sync_api import Locator
from shown import Choice, Kind, trait_slider

from prefixlm_teach import SplitExplorer, create_prefix_lm_mask, describe_mask

TOKENS = ["Quelle", "est", "la", "capitale", "de", "la", "France"]


def assert_split(root: Locator, tokens: Sequence[str], p: int) -> None:
    """Assert that the split explorer shows prefix length `p`, everywhere, and as Python computes it."""
    drawn, seq_len = read(root), len(tokens)
    mask = create_prefix_lm_mask(seq_len, p)
    kinds = [
        ["past" if k <= q else "opened" if may else "blocked" for k, may in enumerate(row)]
        for q, row in enumerate(mask.tolist())
    ]
    first = max(p, 1)
    states = ["prefix" if t < p else "scored" if t >= first else "target" for t in range(seq_len)]
    (grid,) = drawn["grids"]
    assert grid["cells"] == kinds
    assert [[kind != "blocked" for kind in row] for row in grid["cells"]] == mask.tolist()
    assert grid["words"] == describe_mask(mask)
    slider = drawn["sliders"]["Prefix length p"]
    assert (slider["value"], slider["last"]) == (p, seq_len)
    assert slider["words"].startswith(f"prefix length {p} of {seq_len}: ")
    assert [item["state"] for item in drawn["items"]] == states
    assert [item["arrow"] for item in drawn["items"]] == [
        '"→"' if t >= first else "none" for t in range(seq_len)
    ]
    assert drawn["counts"] == {
        "Pairs that may attend": f"{int(mask.sum())} of {seq_len**2}",
        "Opened by the prefix": str(p * (p - 1) // 2),
        "Scored tokens": str(max(0, seq_len - first)),
    }
    presets = {"Causal": 0, "Half": seq_len // 2, "Bidirectional": seq_len}
    assert drawn["pressed"] == [name for name, value in presets.items() if value == p]


def shows(root: Locator, explorer: SplitExplorer) -> None:
    """Assert that the page shows `explorer` as it stands."""
    assert_split(root, explorer.tokens, explorer.prefix_len)


KIND = Kind(
    make=lambda: SplitExplorer(TOKENS, prefix_len=3),
    make_hard=lambda tokens: SplitExplorer(tokens, prefix_len=4),
    shows=shows,
    sliders=lambda _: [trait_slider("Prefix length p", "prefix_len", lambda explorer: len(explorer.tokens))],
    cells=lambda drawn: [grid["cells"] for grid in drawn["grids"]],
    png_cells=lambda explorer: kinds_in(explorer.picture(), len(explorer.tokens)),
    choices=[
        Choice("Causal", lambda explorer: setattr(explorer, "prefix_len", 0)),
        Choice("Half", lambda explorer: setattr(explorer, "prefix_len", len(explorer.tokens) // 2)),
        Choice("Bidirectional", lambda explorer: setattr(explorer, "prefix_len", len(explorer.tokens))),
    ],
)
