"""The gradient of a batch in pieces: exercise 5.4, and ways to get another one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from prefixlm_teach.checks.functions import Mistake
from prefixlm_teach.loss import IGNORE, label_loss

V, D = 7, 3
Piece = tuple[Tensor, Tensor]
# For each piece its rows, T, and the share of its labels that is scored; whether the weights are large.
BATCHES = (
    ([(1, 6, 0.9), (4, 5, 0.3)], True),
    ([(2, 5, 0.2), (2, 5, 0.9)], False),
    ([(3, 4, 1.0)], True),
    ([(1, 2, 1.0), (2, 6, 1.0), (1, 6, 0.5)], False),
    ([(1, 3, 0.0), (2, 6, 0.7), (1, 5, 0.7)], True),
    ([(2, 6, 0.5), (2, 3, 0.0), (5, 3, 0.8)], False),
)


def gradient_inputs(seed: int) -> list[dict[str, Any]]:
    """A model and pieces: of unlike sizes, one alone, and with a piece of which nothing is scored."""
    draw = torch.Generator().manual_seed(seed)
    made = []
    for shapes, large in BATCHES:
        model = nn.Sequential(nn.Embedding(V, D), nn.Linear(D, V, bias=False)).double()
        with torch.no_grad():
            for weight in model.parameters():
                weight.copy_((4.0 if large else 0.1) * torch.randn(weight.shape, generator=draw))
        pieces = []
        for B, T, scored in shapes:
            tokens = torch.randint(V, (B, T), generator=draw)
            hidden = torch.rand(B, T, generator=draw) >= scored
            if scored:
                hidden[0, -1] = False
            pieces.append((tokens, tokens.masked_fill(hidden, IGNORE)))
        made.append({"model": model, "pieces": pieces})
    return made


def targets(piece: Piece) -> int:
    """How many tokens of a piece are scored."""
    return int((piece[1][:, 1:] != IGNORE).sum())


WEIGHS: dict[str, Callable[[Piece, list[Piece]], float]] = {
    "targets": lambda piece, pieces: targets(piece) / sum(map(targets, pieces)),
    "each": lambda _, pieces: 1 / len(pieces),
    "sum": lambda _piece, _pieces: 1.0,
    "rows": lambda piece, pieces: len(piece[0]) / sum(len(tokens) for tokens, _ in pieces),
    "cells": lambda piece, pieces: piece[0].numel() / sum(tokens.numel() for tokens, _ in pieces),
    "column 0": lambda piece, pieces: (
        int((piece[1] != IGNORE).sum()) / sum(int((labels != IGNORE).sum()) for _, labels in pieces)
    ),
    "scored pieces": lambda _, pieces: 1 / sum(targets(piece) > 0 for piece in pieces),
    "whole sums": lambda piece, _: targets(piece),
}


def gradient_in_pieces(
    model: nn.Module,
    pieces: list[Piece],
    *,
    weigh: str = "targets",
    clips: str = "once",
    skips: bool = True,
    only_last: bool = False,
) -> Tensor:
    """What is expected of exercise 5.4, or with faults.

    Args:
        model: called with (B, T) tokens, returns (B, T, V) logits.
        pieces: tokens and labels, (B, T) each.
        weigh: by what a piece counts, one of `WEIGHS`.
        clips: "once", "each" after every piece, "never", or "stretches" short gradients too.
        skips: leave out pieces of which nothing is scored; with False, an error.
        only_last: forget the gradient before each piece.
    """
    model.zero_grad()
    for piece in pieces:
        if skips and targets(piece) == 0:
            continue
        if only_last:
            model.zero_grad()
        tokens, labels = piece
        (label_loss(model(tokens), labels) * WEIGHS[weigh](piece, pieces)).backward()
        if clips == "each":
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if clips == "once":
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    flat = torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None])
    return flat / flat.norm() if clips == "stretches" else flat


def either(says: str, **faults: Any) -> list[Mistake]:
    """A mistake that leaves empty pieces out, and the same one that stops at them."""
    return [Mistake(says, partial(gradient_in_pieces, skips=skips, **faults)) for skips in (False, True)]


WRONG_WEIGHTS = {
    "rows": "each piece counts by its rows; what is wanted is a mean over target tokens",
    "cells": "each piece counts by all its cells, the ones that aren't scored too",
    "column 0": "the labels in column 0 are counted, and no row guesses those",
    "sum": "the means of the pieces are added up and divided by nothing",
    "whole sums": "the gradients of all tokens are added up, and not divided by how many there are",
}

GRADIENT_FAULTS = (
    Mistake(
        "the code is as it was handed out",
        partial(gradient_in_pieces, weigh="each", clips="each", skips=False),
        as_given=True,
    ),
    Mistake(
        "empty pieces are left out now, and the rest is as it was handed out",
        partial(gradient_in_pieces, weigh="each", clips="each"),
    ),
    *either("each piece counts the same, whether it has few targets or many", weigh="each"),
    *(
        Mistake(
            "each piece that has targets counts the same now, few or many",
            partial(gradient_in_pieces, weigh="scored pieces", clips=clips),
        )
        for clips in ("once", "each")
    ),
    *either("each piece is clipped by itself: clip the whole sum, once", clips="each"),
    *(
        mistake
        for weigh, says in WRONG_WEIGHTS.items()
        for clips in ("once", "each")
        for mistake in either(
            says + (", and the clipping is as it was" if clips == "each" else ""), weigh=weigh, clips=clips
        )
    ),
    *either("the gradient isn't clipped at all: it may be 1 long at most", clips="never"),
    *either("short gradients are stretched: only one that is longer than 1 is to be cut", clips="stretches"),
    *either("only the last piece is in it: the others' gradients were set to zero", only_last=True),
    Mistake(
        "a piece without a target has no mean loss: leave it out", partial(gradient_in_pieces, skips=False)
    ),
)
