"""Exercise 2.3: attention with one place more to look, and what goes wrong with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach.attention import attention_weights
from prefixlm_teach.masks import create_prefix_lm_mask


def scores_of(q: Tensor, k: Tensor) -> Tensor:
    """(..., T, T) scores."""
    return q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))


def closed(scores: Tensor, mask: Tensor) -> Tensor:
    """The scores, minus infinity where a query may not attend."""
    return scores.masked_fill(~mask, float("-inf"))


def with_way_out(scores: Tensor, score: float = 0.0) -> Tensor:
    """(T, T + 1) weights, the last of them for the way out."""
    return F.pad(scores, (0, 1), value=score).softmax(-1)


def way_out(q: Tensor, k: Tensor, mask: Tensor) -> Tensor:
    """What is expected of exercise 2.3."""
    return with_way_out(closed(scores_of(q, k), mask))[:, :-1]


def plus_one(scores: Tensor, largest: Tensor, mask: Tensor) -> Tensor:
    """The largest score taken off, and the way out still counted as 1."""
    e = (closed(scores, mask) - largest).exp()
    return e / (1 + e.sum(-1, keepdim=True))


def overflowing(q: Tensor, k: Tensor, mask: Tensor) -> Tensor:
    """The exponential of each score, as it is."""
    e = closed(scores_of(q, k), mask).exp()
    return e / (1 + e.sum(-1, keepdim=True))


def overflowing_and_zeroed(q: Tensor, k: Tensor, mask: Tensor) -> Tensor:
    """The exponential of each score, as it is, and then the mask."""
    e = scores_of(q, k).exp() * mask
    return e / (1 + e.sum(-1, keepdim=True))


def down_the_columns(q: Tensor, k: Tensor, mask: Tensor) -> Tensor:
    """Shares of each key, and not of each query."""
    return F.pad(closed(scores_of(q, k), mask), (0, 0, 0, 1)).softmax(0)[:-1]


def way_out_inputs(seed: int) -> list[dict[str, Any]]:
    """Prefix masks, one token, blind rows, no prefix, no target, masks at random; some with large scores."""
    draw = torch.Generator().manual_seed(seed)
    masks = [
        create_prefix_lm_mask(4, 2),
        create_prefix_lm_mask(1, 0),
        torch.ones(5, 5, dtype=torch.bool).tril(-1),  # row 0 is blind
        create_prefix_lm_mask(5, 0),
        create_prefix_lm_mask(5, 5),
        *(torch.rand(6, 6, generator=draw) < 0.5 for _ in range(8)),
    ]
    cases = []
    for number, mask in enumerate(masks):
        size = 12.0 if number % 2 and number > 5 else 1.0
        q, k = torch.randn(2, len(mask), 3, generator=draw) * size
        cases.append({"q": q, "k": k, "mask": mask})
    return cases


def taken_back(q: Tensor, k: Tensor, mask: Tensor) -> Tensor:
    """The weights that remain, made to sum to 1 again."""
    weights = way_out(q, k, mask)
    return weights / weights.sum(-1, keepdim=True)


FORGOTTEN_LARGEST = (
    "a row's largest score is taken off the others, but not off that of the way out: its share is no longer 1"
)
TAKEN_BACK = "dividing by the row's sum afterwards takes back what had gone the way out"
OVERFLOW = "e to the power of a large score is infinite: take each row's largest score off first"
WRONG_WAYS_OUT: list[tuple[str, Callable[[Tensor, Tensor, Tensor], Tensor]]] = [
    ("there is no way out: each row that sees a token still sums to 1", attention_weights),
    (
        "this is the softmax as it was: no way out, and NaN where a row may see nothing",
        lambda q, k, mask: closed(scores_of(q, k), mask).softmax(-1),
    ),
    (TAKEN_BACK, taken_back),
    (TAKEN_BACK, lambda q, k, mask: taken_back(q, k, mask).nan_to_num(0.0)),
    (
        "the column of the way out is still there: only the weights of the tokens are wanted",
        lambda q, k, mask: with_way_out(closed(scores_of(q, k), mask)),
    ),
    (
        "the way out has score 1: its score is 0, and e to the power of 0 is its share of 1",
        lambda q, k, mask: with_way_out(closed(scores_of(q, k), mask), 1.0)[:, :-1],
    ),
    (OVERFLOW, overflowing),
    (OVERFLOW, overflowing_and_zeroed),
    (
        FORGOTTEN_LARGEST,
        lambda q, k, mask: plus_one(
            scores_of(q, k), closed(scores_of(q, k), mask).amax(-1, keepdim=True), mask
        ),
    ),
    (
        FORGOTTEN_LARGEST,
        lambda q, k, mask: plus_one(
            scores_of(q, k),
            closed(scores_of(q, k), mask).amax(-1, keepdim=True).clamp(min=torch.finfo(q.dtype).min),
            mask,
        ),
    ),
    (
        FORGOTTEN_LARGEST,
        lambda q, k, mask: plus_one(scores_of(q, k), scores_of(q, k).amax(-1, keepdim=True), mask),
    ),
    (
        "the mask comes after the softmax: hidden tokens still take a share, and it is thrown away",
        lambda q, k, mask: with_way_out(scores_of(q, k))[:, :-1] * mask,
    ),
    ("nothing is masked", lambda q, k, mask: with_way_out(scores_of(q, k))[:, :-1]),
    ("True and False are exchanged: True means may attend", lambda q, k, mask: way_out(q, k, ~mask)),
    (
        "a hidden score is set to 0, and e to the power of 0 is 1: make it minus infinity",
        lambda q, k, mask: with_way_out(scores_of(q, k) * mask)[:, :-1],
    ),
    (
        "the scores aren't divided by the square root of d_head",
        lambda q, k, mask: way_out(q * math.sqrt(q.size(-1)), k, mask),
    ),
    ("the shares are taken down the columns: each row, a query, divides its own", down_the_columns),
    ("rows and columns are exchanged: a row is a query", lambda q, k, mask: way_out(q, k, mask).T),
]
