"""Exercise 11.3: linear attention to a prompt in pieces. What is expected, and what else people write."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

Summed = Callable[[Tensor, Tensor, Tensor, Sequence[int]], Tensor]
Map = Callable[[Tensor], Tensor]


def phi(x: Tensor) -> Tensor:
    """The feature map of the chapter."""
    return F.elu(x) + 1


def seen_in(lengths: Sequence[int]) -> Tensor:
    """(T, T) booleans: a piece sees itself and those before it; the last one is causal."""
    piece = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    place = torch.arange(len(piece))
    prompt = piece < len(lengths) - 1
    return (place <= place[:, None]) | (prompt & (piece <= piece[:, None]))


def by_pairs(
    of_query: Map = phi,
    of_key: Map = phi,
    seen: Callable[[Sequence[int]], Tensor] = seen_in,
    weighed_by: Callable[[Sequence[int]], Tensor] | None = None,
    *,
    divided: bool = True,
) -> Summed:
    """Linear attention by all pairs, with a fault or without."""

    def attend(q: Tensor, k: Tensor, v: Tensor, lengths: Sequence[int]) -> Tensor:
        scores = of_query(q) @ of_key(k).T
        total = (scores * seen(lengths)) @ v
        weight = (scores * (weighed_by or seen)(lengths)).sum(-1, keepdim=True)
        return total / weight if divided else total

    return attend


piecewise = by_pairs()


def causal(lengths: Sequence[int]) -> Tensor:
    """Every token sees itself and what is before it."""
    return torch.ones(sum(lengths), sum(lengths), dtype=torch.bool).tril()


def one_prefix(lengths: Sequence[int]) -> Tensor:
    """The pieces of the prompt as one prefix."""
    return causal(lengths) | (torch.arange(sum(lengths)) < sum(lengths[:-1]))


def forgotten(lengths: Sequence[int]) -> Tensor:
    """Each piece sees itself alone."""
    piece = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    return seen_in(lengths) & (piece == piece[:, None])


def target_open(lengths: Sequence[int]) -> Tensor:
    """The last piece like the others."""
    return seen_in([*lengths, 0])


def read_first(lengths: Sequence[int]) -> Tensor:
    """A target token is read before it is added."""
    place = torch.arange(sum(lengths))
    itself = (place == place[:, None]) & (place >= sum(lengths[:-1]))
    return seen_in(lengths) & ~itself


def softmaxed(q: Tensor, k: Tensor, v: Tensor, lengths: Sequence[int]) -> Tensor:
    """Softmax attention under the same mask."""
    scores = q @ k.T / math.sqrt(k.size(-1))
    return scores.masked_fill(~seen_in(lengths), -torch.inf).softmax(-1) @ v


WRONG_SUMS: list[tuple[str, Summed]] = [
    (
        "this is causal throughout: a piece is summed up whole before any of its rows reads",
        by_pairs(seen=causal),
    ),
    ("the prompt is one prefix: a piece reads from one that hasn't arrived", by_pairs(seen=one_prefix)),
    ("the state begins anew with each piece", by_pairs(seen=forgotten)),
    ("the target is summed up whole: its rows read their own future", by_pairs(seen=target_open)),
    ("a target row reads before its own key is added", by_pairs(seen=read_first)),
    ("z is missing: what is read isn't divided", by_pairs(divided=False)),
    (
        "z begins anew with each piece, and S goes on",
        by_pairs(weighed_by=forgotten),
    ),
    ("the keys go in without the feature map", by_pairs(of_key=lambda x: x)),
    ("the queries read without the feature map", by_pairs(of_query=lambda x: x)),
    ("the map is elu(x) + 1: the 1 is missing", by_pairs(F.elu, F.elu)),
    ("this is softmax attention", softmaxed),
]


def sum_inputs(seed: int) -> list[dict[str, Any]]:
    """Two pieces and a target, one piece, no prompt, one token each, three pieces; six drawn."""
    draw = torch.Generator().manual_seed(seed)
    lengths = [[2, 3, 2], [3, 2], [4], [1, 1], [1], [2, 1, 3, 1]]
    for i in range(6):
        lengths.append(torch.randint(1, 5, (2 + i % 3,), generator=draw).tolist())
    cases = []
    for each in lengths:
        q, k, v = torch.randn(3, sum(each), 3, generator=draw, dtype=torch.float64)
        cases.append({"q": q, "k": k, "v": v, "lengths": each})
    return cases
