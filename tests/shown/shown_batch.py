"""What the batch explorer must show, as Python computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from drawn import read
from pixels import kinds_in
from playwright.sync_api import Locator
from shown import Choice, Kind, Slider

from prefixlm_teach import BatchExplorer, create_prefix_lm_mask, describe_mask

EXAMPLES = [["Quelle", "heure", "?", "Midi", "."], ["Qui", "?", "Moi"]]


def expected_kinds(explorer: BatchExplorer, b: int) -> list[list[str]]:
    """The kind of each cell, cell by cell, from the two masks of example `b`."""
    tokens, seq_len = explorer.examples[b], max(map(len, explorer.examples))
    pads = seq_len - len(tokens)
    real = (
        [True] * len(tokens) + [False] * pads
        if explorer.side == "right"
        else [False] * pads + [True] * len(tokens)
    )
    lent = explorer.prefix_lens[b if explorer.borrowed is None else explorer.borrowed]
    valid = torch.tensor([real])
    right, shown = (
        create_prefix_lm_mask(seq_len, torch.tensor([min(p, len(tokens))]), valid=valid)[0, 0].tolist()
        for p in (explorer.prefix_lens[b], lent)
    )

    def kind(q: int, k: int) -> str:
        if right[q][k] != shown[q][k] and real[q]:
            return "lost" if right[q][k] else "leaked"
        if shown[q][k]:
            return "past" if k <= q else "opened"
        return "blocked" if real[k] else "padding"

    return [[kind(q, k) for k in range(seq_len)] for q in range(seq_len)]


def shows(root: Locator, explorer: BatchExplorer) -> None:
    """Assert that the page shows `explorer` as it stands."""
    drawn = read(root)
    lent = None if explorer.borrowed is None else explorer.prefix_lens[explorer.borrowed]
    assert len(drawn["grids"]) == len(explorer.examples)
    counts = []
    for b, (tokens, p, grid) in enumerate(
        zip(explorer.examples, explorer.prefix_lens, drawn["grids"], strict=True)
    ):
        kinds = expected_kinds(explorer, b)
        assert grid["cells"] == kinds
        assert grid["words"] == describe_mask(explorer.borrowed_mask[b, 0])
        assert grid["rows"] == [f"Row {q}, {token}" for q, token in enumerate(explorer.padded(b))]
        slider = drawn["sliders"][f"Example {b}: p"]
        assert (slider["value"], slider["last"]) == (p, len(tokens))
        assert slider["words"].startswith(f"prefix length {p} of {len(tokens)}: ")
        given = p if lent is None else min(lent, len(tokens))
        right, scored = (max(0, len(tokens) - max(each, 1)) for each in (p, given))
        flat = [kind for row in kinds for kind in row]
        counts += [
            str(right) if right == scored else f"{scored} instead of {right}",
            str(flat.count("leaked")),
            str(flat.count("lost")),
        ]
    assert drawn["figures"] == counts
    whose = "Each its own p" if explorer.borrowed is None else f"Example {explorer.borrowed}’s p for all"
    assert drawn["pressed"] == [whose, f"Padding {explorer.side}"]


def moves(b: int) -> Callable[[BatchExplorer, int], None]:
    """Set the prefix length of example `b`."""

    def move(explorer: BatchExplorer, p: int) -> None:
        ps = list(explorer.prefix_lens)
        ps[b] = p
        explorer.prefix_lens = ps

    return move


def sets(trait: str, value: Any) -> Callable[[BatchExplorer], None]:
    """Set a trait."""
    return lambda explorer: setattr(explorer, trait, value)


def make_hard(tokens: Sequence[str]) -> BatchExplorer:
    """Two examples, the second without the first token."""
    return BatchExplorer([tokens, tokens[1:]], [4, 1], side="left", borrowed=0)


KIND = Kind(
    make=lambda: BatchExplorer(EXAMPLES, [3, 2], borrowed=0),
    make_hard=make_hard,
    shows=shows,
    sliders=lambda explorer: [
        Slider(
            f"Example {b}: p",
            last=lambda explorer, b=b: len(explorer.examples[b]),
            value=lambda explorer, b=b: explorer.prefix_lens[b],
            move=moves(b),
        )
        for b in range(len(explorer.examples))
    ],
    cells=lambda drawn: [grid["cells"] for grid in drawn["grids"]],
    png_cells=lambda explorer: kinds_in(explorer.picture(), explorer.valid.size(1)),
    choices=[
        Choice("Example 1’s p for all", sets("borrowed", 1)),
        Choice("Padding left", sets("side", "left")),
        Choice("Example 0’s p for all", sets("borrowed", 0)),
        Choice("Padding right", sets("side", "right")),
        Choice("Each its own p", sets("borrowed", None)),
    ],
)
