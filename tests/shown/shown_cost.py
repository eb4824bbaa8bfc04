"""What the cost explorer must show: pairs told apart by a rule for one cell, figures from the formulas."""

from __future__ import annotations

from typing import Any

from drawn import read
from pixels import cells_of, framed_in, kind_of
from playwright.sync_api import Locator
from shown import Choice, Kind, Slider

from prefixlm_teach import CostExplorer

PLACES = 16  # the square is looked at in so many places a side, none on the diagonal
WAYS = ["dense mask", "cut on a CPU", "mend", "cut on a GPU", "causal call"]


class About(float):
    """A number that equals another if they are as close as pixels can tell."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | float) and abs(float(self) - float(other)) < 1.5

    __hash__ = None


def calls_of(way: str, seq_len: int, p: int, q: int, k: int) -> int:
    """How often a way computes the pair of query `q` and key `k`: once for each call that does."""
    causal = int(k <= q)
    if way == "dense mask":
        return 1
    if way == "causal call" or p < 2:
        return causal
    if way == "mend":
        return causal + int(q < p - 1 and k < p)
    if q < p:
        return int(k < p)
    return 1 if way == "cut on a CPU" else causal


def kind_at(way: str, seq_len: int, p: int, q: int, k: int) -> str:
    """The kind of one pair."""
    visible, calls = k <= max(q, p - 1), calls_of(way, seq_len, p, q, k)
    if not visible:
        return "lost" if calls else "blocked"
    return "padding" if not calls else "kept" if calls > 1 else "past" if k <= q else "opened"


def expected_kinds(explorer: CostExplorer) -> list[list[str]]:
    """The kind of the pair that stands in each place; none on the diagonal, where two areas meet."""
    seq_len, p = explorer.sizes
    at = [int((i + 0.3) * seq_len / PLACES) for i in range(PLACES)]
    return [[kind_at(explorer.way, seq_len, p, q, k) if q != k else "" for k in at] for q in at]


def shows(root: Locator, explorer: CostExplorer) -> None:
    """Assert that the page shows `explorer` as it stands."""
    drawn, (seq_len, p), d = read(root), explorer.sizes, explorer.d_model
    (square,) = drawn["squares"]
    assert square["kinds"] == expected_kinds(explorer)
    assert square["words"] == explorer.area_words
    whole, causal, opened = seq_len**2, seq_len * (seq_len + 1) // 2, p * (p - 1) // 2
    target = (seq_len - p) * seq_len if p > 1 else causal - p * p
    pairs = [whole, p * p + target, causal + 2 * opened, causal + opened, causal]
    assert list(explorer.pairs.values()) == pairs
    (table,) = drawn["bars"]
    assert table["heads"] == ["Way", "Pairs", "Attention"]
    for row, way, n in zip(table["rows"], WAYS, pairs, strict=True):
        shares = [n / whole, 4 * d * n / (4 * d * n + 24 * d**2 * seq_len)]
        assert row["name"] == f"{way}{n:,} pairs"
        assert [float(figure.removesuffix("%")) for figure in row["figures"]] == [
            round(1000 * share + 1e-9) / 10 for share in shares
        ]
        assert row["lengths"] == [About(100 * shares[0] / 1.5), About(100 * shares[1])]
        assert row["state"] == ("chosen" if way == explorer.way else "other")
    assert drawn["readout"] == explorer.description
    tokens, prefix = drawn["sliders"]["Tokens T"], drawn["sliders"]["Prefix length p"]
    assert (tokens["words"], tokens["figures"]) == (f"{seq_len:,} tokens", f"{seq_len:,}")
    assert (prefix["words"], prefix["figures"]) == (
        f"prefix length {p:,} of {seq_len:,}",
        f"{p:,} of {seq_len:,}",
    )
    widths = [f"d = {d:,}"] if d in (128, 768, 4096) else []
    assert drawn["pressed"] == [*widths, explorer.way]


def move_tokens(explorer: CostExplorer, step: int) -> None:
    """Set T, and let p keep its share."""
    (seq_len, p), longer = explorer.sizes, 16 * 2**step
    explorer.sizes = (longer, (2 * p * longer + seq_len) // (2 * seq_len))


def move_prefix(explorer: CostExplorer, part: int) -> None:
    """Set p to so many sixteenths of T."""
    explorer.sizes = (explorer.seq_len, part * explorer.seq_len // PLACES)


def png_kinds(explorer: CostExplorer) -> Any:
    """The kinds of pair in the PNG, each place read in the upper left quarter of its part of the square."""
    cells = cells_of(framed_in(explorer.picture()), 2 * PLACES)
    return [[kind_of(cells[2 * q][2 * k]) if q != k else "" for k in range(PLACES)] for q in range(PLACES)]


KIND = Kind(
    make=lambda: CostExplorer(64, 24),
    make_hard=None,
    shows=shows,
    sliders=lambda _: [
        Slider(
            "Tokens T",
            last=lambda _: 13,
            value=lambda explorer: explorer.seq_len.bit_length() - 5,
            move=move_tokens,
        ),
        Slider(
            "Prefix length p",
            last=lambda _: PLACES,
            value=lambda explorer: explorer.prefix_len * PLACES // explorer.seq_len,
            move=move_prefix,
        ),
    ],
    cells=lambda drawn: drawn["squares"][0]["kinds"],
    png_cells=png_kinds,
    choices=[
        Choice("d = 128", lambda explorer: setattr(explorer, "d_model", 128)),
        Choice("d = 4,096", lambda explorer: setattr(explorer, "d_model", 4096)),
        *[Choice(way, lambda explorer, way=way: setattr(explorer, "way", way)) for way in WAYS],
        Choice("d = 768", lambda explorer: setattr(explorer, "d_model", 768)),
    ],
)
