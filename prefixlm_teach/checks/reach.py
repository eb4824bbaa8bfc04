"""Exercises 3.2 and 3.3: who influences whom after several blocks, and what goes wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.masks import causal_mask, create_prefix_lm_mask


def then(first: Tensor, second: Tensor) -> Tensor:
    """Whom a second block reaches through a first one, (T, T) booleans each."""
    return (second.float() @ first.float()) > 0


def with_itself(mask: Tensor) -> Tensor:
    """A mask that lets every token see itself too."""
    return mask | torch.eye(len(mask), dtype=torch.bool)


def reach(masks: Sequence[Tensor]) -> Tensor:
    """What is expected of exercises 3.2 and 3.3."""
    reached = with_itself(masks[0])
    for mask in masks[1:]:
        reached = then(reached, with_itself(mask))
    return reached


def without_keeping(masks: Sequence[Tensor]) -> Tensor:
    """The masks alone: a token that a mask hides from itself is lost."""
    reached = masks[0]
    for mask in masks[1:]:
        reached = then(reached, mask)
    return reached


def in_the_end(masks: Sequence[Tensor]) -> Tensor:
    """As if there were blocks without end."""
    return reach([mask for _ in range(len(masks[0])) for mask in masks])


def slipped() -> Tensor:
    """The mask of exercise 3.2."""
    mask = causal_mask(6)
    mask[2, 4] = True
    return mask


def slipped_and(*cells: tuple[int, int]) -> Tensor:
    """That mask with other cells opened."""
    mask = slipped()
    for cell in cells:
        mask[cell] = True
    return mask


def reach_inputs(seed: int) -> list[dict[str, Any]]:
    """A prefix mask, windows, one token, the slip, masks without the diagonal, and masks drawn at random."""
    draw = torch.Generator().manual_seed(seed)
    window = causal_mask(6).triu(-1)  # a token and the one before
    star = with_itself(torch.zeros(6, 6, dtype=torch.bool).index_fill(1, torch.tensor([0]), True))
    by_hand = [
        [window, window],
        [create_prefix_lm_mask(5, 3)],
        [window],
        [torch.ones(1, 1, dtype=torch.bool)],
        [slipped()] * 2,
        [window, window, star],
        [star, window],
        [causal_mask(5).tril(-1)] * 3,
    ]
    drawn = [
        [torch.rand(6, 6, generator=draw) < 0.25 for _ in range(int(torch.randint(1, 5, (), generator=draw)))]
        for _ in range(10)
    ]
    return [{"masks": [mask.clone() for mask in masks]} for masks in by_hand + drawn]


WRONG_REACHES: list[tuple[str, Callable[[Sequence[Tensor]], Tensor]]] = [
    (
        "a token that a mask hides from itself is not lost: a block adds to what came in",
        without_keeping,
    ),
    (
        "the blocks are in the wrong order: the first mask is that of the first block",
        lambda m: reach(m[::-1]),
    ),
    (
        "this joins what the masks show: influence also goes by way of tokens in between",
        lambda m: with_itself(torch.stack(list(m)).any(0)),
    ),
    (
        "this joins what the masks show: influence also goes by way of tokens in between",
        lambda m: torch.stack(list(m)).any(0),
    ),
    (
        "this keeps what all masks show; a single block is enough to bring a token in",
        lambda m: torch.stack(list(m)).all(0),
    ),
    ("the first mask is used in every block", lambda m: reach([m[0]] * len(m))),
    ("the last mask is used in every block", lambda m: reach([m[-1]] * len(m))),
    ("this is one block: the others are missing", lambda m: with_itself(m[0])),
    ("this is one block: the others are missing", lambda m: with_itself(m[-1])),
    ("this is a block too many: the last counts twice", lambda m: reach([*m, m[-1]])),
    ("this is a block too many: the first counts twice", lambda m: reach([m[0], *m])),
    (
        "this is a block too few: the last is missing",
        lambda m: reach([torch.zeros_like(m[0]), *m[:-1]]),
    ),
    ("this is where it ends after blocks without end; there are only as many as masks", in_the_end),
    (
        "rows and columns are exchanged: a row is an output, a column the token that moves it",
        lambda m: reach(m).T,
    ),
    ("True and False are exchanged: True means that it moves", lambda m: ~reach(m)),
    ("every token reaches every output here, whatever the masks", lambda m: torch.ones_like(m[0])),
]
