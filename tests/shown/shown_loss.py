"""What the loss explorer must show, as Python computes it from the model itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from drawn import read
from pixels import bars_in
from playwright.sync_api import Locator
from shown import Choice, Kind, trait_slider
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach import LossExplorer, TinyPrefixLM
from prefixlm_teach.drawing_bars import highest_of

V = 30
WORDS = ["Quelle", "est", "la", "capitale", "de"]


def copying(tokens: Tensor, _: int) -> Tensor:
    """The logits of a model that repeats the token it stands on."""
    return 20.0 * F.one_hot(tokens.long(), V).float()


def make(symbols: Sequence[str] = WORDS, prefix_len: int = 3) -> LossExplorer:
    """An explorer of a small random model and of one that copies."""
    torch.manual_seed(0)
    model = TinyPrefixLM(V, d_model=16, n_heads=2, max_len=16).eval()
    torch.nn.init.normal_(model.output.weight, std=0.5)  # so that the losses differ
    tokens = torch.arange(len(symbols))[None] * 7 % V
    return LossExplorer({"random": model, "copies": copying}, tokens, symbols, prefix_len)


class About(float):
    """A number that equals another if they are as close as pixels can tell."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | float) and abs(float(self) - float(other)) < 1.5

    __hash__ = None


def shows(root: Locator, explorer: LossExplorer) -> None:
    """Assert that the page shows `explorer` as it stands."""
    drawn, p, n = read(root), explorer.prefix_len, len(explorer.tokens)
    slider = drawn["sliders"]["Prefix length p"]
    assert (slider["value"], slider["last"], slider["words"]) == (p, n, f"prefix length {p} of {n}")
    assert drawn["pressed"] == ([explorer.model] if len(explorer.names) > 1 else [])
    assert drawn["readout"] == explorer.description
    (table,) = drawn["bars"]
    assert table["heads"] == ["Token", "right", "no shift", "late"]
    columns = [[*values, explorer.means[name]] for name, values in explorer.losses.items()]
    for r, row in enumerate(table["rows"]):
        values = [column[r] for column in columns]
        assert row["figures"] == ["–" if value is None else f"{value:.2f}" for value in values]
        highest = highest_of(explorer.vocab_sizes[explorer.names.index(explorer.model)])
        wanted = [None if value is None else About(min(100.0, 100 * value / highest)) for value in values]
        assert row["lengths"] == wanted
        assert row["state"] == (None if r == n else "prefix" if r < p else "target")


def cells(drawn: dict[str, Any]) -> Any:
    """How long the bars are, line by line, without the lines that have none."""
    lengths = [row["lengths"] for row in drawn["bars"][0]["rows"]]
    return [
        [None if length is None else About(length) for length in line]
        for line in lengths
        if any(length is not None for length in line)
    ] or "no bar"


KIND = Kind(
    make=make,
    make_hard=lambda tokens: make(tokens, 4),
    shows=shows,
    sliders=lambda _: [trait_slider("Prefix length p", "prefix_len", lambda explorer: len(explorer.tokens))],
    cells=cells,
    png_cells=lambda explorer: bars_in(explorer.picture(), 3) or "no bar",
    choices=[
        Choice("copies", lambda explorer: setattr(explorer, "model", "copies")),
        Choice("random", lambda explorer: setattr(explorer, "model", "random")),
    ],
)
