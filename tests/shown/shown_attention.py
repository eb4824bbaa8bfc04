"""What the attention explorer must show, as Python computes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from drawn import read
from pixels import cells_of, framed_in, near
from playwright.sync_api import Locator
from shown import Choice, Kind, trait_slider
from torch import Tensor

from prefixlm_teach import AttentionExplorer, TinyPrefixLM, create_prefix_lm_mask
from prefixlm_teach.drawing import SHADES
from prefixlm_teach.pictures import GREY_LINES

SYMBOLS = ["k", "n", "<sep>", "N", "<end>"]
NONE = "\N{EN DASH}"


def make_model(n_layers: int = 2, n_heads: int = 2) -> TinyPrefixLM:
    """A small model whose random weights differ enough to be told apart."""
    torch.manual_seed(0)
    model = TinyPrefixLM(7, d_model=8, n_heads=n_heads, n_layers=n_layers, max_len=64).eval()
    for block in model.blocks:
        torch.nn.init.normal_(block.attn.q_proj.weight, std=1.5)
    return model


def make_tokens(seq_len: int) -> Tensor:
    """Ids of one example, (1, T)."""
    return torch.arange(seq_len)[None] * 3 % 7


def make(symbols: Sequence[str] = SYMBOLS, prefix_len: int | None = 3, **place: int) -> AttentionExplorer:
    """An explorer of that model."""
    return AttentionExplorer(make_model(), make_tokens(len(symbols)), symbols, prefix_len, **place)


def mask_of(explorer: AttentionExplorer) -> Tensor:
    """The mask on show."""
    return create_prefix_lm_mask(len(explorer.tokens), explorer.prefix_len)


def kinds_of(explorer: AttentionExplorer) -> list[list[str]]:
    """The kinds of the cells on show."""
    return [
        [
            f"shade-{5 * round(20 * weight)}" if may else "crossed"
            for weight, may in zip(weights, row, strict=True)
        ]
        for weights, row in zip(explorer.weights.tolist(), mask_of(explorer).tolist(), strict=True)
    ]


def ahead_of(explorer: AttentionExplorer, q: int) -> tuple[str, str]:
    """What row q, and the prefix rows together, look ahead, as the counts say it."""
    p, ahead = explorer.prefix_len, explorer.weights.double().triu(1).sum(-1)
    row = f"{float(ahead[q]):.2f}" if q < p - 1 else NONE
    return row, f"{float(ahead[: p - 1].mean()):.2f}" if p > 1 else NONE


def shows(root: Locator, explorer: AttentionExplorer) -> None:
    """Assert that the page shows `explorer` as it stands."""
    drawn, p, seq_len = read(root), explorer.prefix_len, len(explorer.tokens)
    weights, mask = explorer.weights, mask_of(explorer)
    (grid,) = drawn["grids"]
    assert grid["cells"] == kinds_of(explorer)
    assert grid["words"] == explorer.description
    sliders = drawn["sliders"]
    layer, head = sliders["Layer"], sliders["Head"]
    assert (layer["value"], layer["last"]) == (explorer.layer, explorer.n_layers - 1)
    assert layer["words"] == f"layer {explorer.layer} of 0 to {explorer.n_layers - 1}"
    assert (head["value"], head["last"]) == (explorer.head, explorer.n_heads - 1)
    assert head["words"] == f"head {explorer.head} of 0 to {explorer.n_heads - 1}"
    prefix = sliders["Prefix length p"]
    assert (prefix["value"], prefix["last"], prefix["figures"]) == (p, seq_len, f"{p} of {seq_len}")
    experiment = p != explorer.start
    assert ("an experiment" in prefix["words"]) == experiment
    assert ("an experiment" in drawn["notes"][0]) == experiment
    assert f"The explorer began with p = {explorer.start}" in drawn["notes"][0]
    presets = [
        ("Causal", 0),
        (f"At the start: {explorer.start}", explorer.start),
        ("Bidirectional", seq_len),
    ]
    assert drawn["pressed"] == [name for name, value in presets if value == p]
    assert_row(drawn, explorer, weights, mask)


def assert_row(drawn: dict[str, Any], explorer: AttentionExplorer, weights: Tensor, mask: Tensor) -> None:
    """Assert that bars, counts and readout are those of the row that the readout names."""
    q = int(re.match(r"Row (\d+), ", drawn["readout"])[1])
    row = [weight if may else None for weight, may in zip(weights[q].tolist(), mask[q].tolist(), strict=True)]
    most = int(weights[q].argmax())
    assert f"looks most at column {most}, " in drawn["readout"]
    assert f": {float(weights[q, most]):.2f}. It" in drawn["readout"]
    blocked = row.count(None)
    assert re.search(
        rf"; {blocked} cells? (is|are) blocked\." if blocked else "; no cell is blocked", drawn["readout"]
    )
    (bars,) = drawn["bars"]
    assert [each["figures"] for each in bars["rows"]] == [
        [NONE if weight is None else f"{weight:.2f}"] for weight in row
    ]
    for each, weight in zip(bars["rows"], row, strict=True):
        assert each["lengths"] == [None if weight is None else pytest.approx(100 * weight, abs=1.5)]
    this, all_rows = ahead_of(explorer, q)
    assert drawn["counts"] == {
        "Sum of the row": "1.00",
        "Row looks ahead": this,
        "Prefix rows look ahead": all_rows,
    }
    assert drawn["grids"][0]["seen"] == mask[q].tolist()


def weight_in(cell: np.ndarray) -> Any:
    """The weight of a drawn cell, about, or "crossed"."""
    if near(cell, GREY_LINES).mean() > 0.05:
        return "crossed"
    shades = 255 * SHADES(np.linspace(0, 1, 256))[:, :3]
    color = np.median(cell.reshape(-1, 3), axis=0)
    weight = int(abs(shades - color).sum(-1).argmin()) / 255
    return pytest.approx(weight, abs=0.06)  # the page rounds to 0.05, the PNG has few colours


KIND = Kind(
    make=make,
    make_hard=lambda tokens: make(tokens, 4),
    shows=shows,
    sliders=lambda _: [
        trait_slider("Layer", "layer", lambda explorer: explorer.n_layers - 1),
        trait_slider("Head", "head", lambda explorer: explorer.n_heads - 1),
        trait_slider("Prefix length p", "prefix_len", lambda explorer: len(explorer.tokens)),
    ],
    cells=lambda drawn: [
        [kind if kind == "crossed" else int(kind.removeprefix("shade-")) / 100 for kind in row]
        for row in drawn["grids"][0]["cells"]
    ],
    png_cells=lambda explorer: [
        [weight_in(cell) for cell in row]
        for row in cells_of(framed_in(explorer.picture()), len(explorer.tokens))
    ],
    choices=[
        Choice("Causal", lambda explorer: setattr(explorer, "prefix_len", 0)),
        Choice("At the start: 3", lambda explorer: setattr(explorer, "prefix_len", 3)),
        Choice("Bidirectional", lambda explorer: setattr(explorer, "prefix_len", len(explorer.tokens))),
    ],
)
