"""The losses of exercise 4.5, right and wrong ones, and what tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

Loss = Callable[[Tensor, Tensor, int], Tensor]

KINDS = ("right", "no shift", "late", "prefix scored", "shifted twice")
SURE = 20.0  # a logit that is as good as certain
T, P = 12, 4  # of the bench


def sliced(kind: str, mean: str, logits: Tensor, tokens: Tensor, p: int) -> Tensor:
    """A loss.

    Args:
        kind: one of `KINDS`.
        mean: "token" for the mean over tokens, "row" for a mean of means, "" for the sum.
        logits: (B, T, V).
        tokens: (B, T) ids.
        p: the prefix length of all rows.
    """
    shift = {"no shift": 0, "shifted twice": 2}.get(kind, 1)
    first = {"late": max(p, 1) + 1, "prefix scored": 1, "shifted twice": max(p, 1) + 1}.get(
        kind, max(p, shift)
    )
    rows = logits[:, first - shift : logits.size(1) - shift]
    costs = F.cross_entropy(rows.transpose(1, 2), tokens[:, first:], reduction="none")
    if mean == "row":
        return costs.mean(1).mean()
    return costs.mean() if mean == "token" else costs.sum()


def loss_inputs(seed: int) -> list[dict[str, Any]]:
    """Every kind of loss as a mean, a sum and a mean of means: the plain ones first, then in drawn order."""
    draw = torch.Generator().manual_seed(seed)
    others = [(kind, mean) for kind in KINDS for mean in ("", "row")]
    order = torch.randperm(len(others), generator=draw).tolist()
    made = [(kind, "token") for kind in KINDS] + [others[i] for i in order]
    return [{"loss": partial(sliced, kind, mean)} for kind, mean in made]


def diagnose_loss(loss: Loss) -> str:
    """What is expected of exercise 4.5."""
    tokens = torch.arange(2 * T).view(2, T)

    def minds(ahead: int, spoilt: int | None = None) -> bool:
        """Whether a model costs anything that says token t + ahead at row t, and nothing at a spoilt row."""
        logits = SURE * F.one_hot(tokens.roll(-ahead, dims=1)).float()
        if spoilt is not None:
            logits[:, spoilt] = 0.0
        return bool(loss(logits, tokens, P) > 0.01)

    if not minds(0):
        return "no shift"
    if not minds(2):
        return "shifted twice"
    if not minds(1, spoilt=P - 1):
        return "late"
    return "prefix scored" if minds(1, spoilt=0) else "right"


def confused(words: Mapping[str, str], loss: Loss) -> str:
    """A diagnosis in which some words stand for others."""
    word = diagnose_loss(loss)
    return words.get(word, word)


CONFUSED: dict[str, Mapping[str, str]] = {
    "a late loss passes for right: it doesn't mind a model that has no idea of the first target token": {
        "late": "right"
    },
    "a loss that scores the prefix passes for right: it minds a model that has no idea in a prefix row": {
        "prefix scored": "right"
    },
    "you find out how far a loss shifts, but not where it begins to score": {
        "late": "right",
        "prefix scored": "right",
    },
    "a loss that shifts twice passes for right: it minds the perfect model": {"shifted twice": "right"},
    "a loss that shifts twice is taken for one that doesn't shift: neither likes the perfect model, but each"
    " likes another": {"shifted twice": "no shift"},
    "a loss that shifts twice is taken for a late one": {"shifted twice": "late"},
    "a loss that scores the prefix is taken for a late one": {"prefix scored": "late"},
    "a right loss is said to score the prefix: row p - 1 is in the prefix, but it guesses the first target"
    " token": {"right": "prefix scored"},
    "right and no shift are exchanged: a right loss is high for a model that copies": {
        "right": "no shift",
        "no shift": "right",
    },
    "right and late are exchanged: the late one is the one that doesn't mind": {
        "right": "late",
        "late": "right",
    },
    "every loss passes for right": dict.fromkeys(KINDS, "right"),
}
