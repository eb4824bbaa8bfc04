"""Exercise 5b.3: a causal mask in which some tokens are seen by all, and see nothing but themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Mask
from prefixlm_teach.checks.functions import FunctionExercise, Mistake


def parts(T: int, opened: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Return (T, T) causal, (T, T) the diagonal, and (T,) whether a place is opened."""
    is_opened = torch.zeros(T, dtype=torch.bool)
    is_opened[list(opened)] = True
    return torch.ones(T, T, dtype=torch.bool).tril(), torch.eye(T, dtype=torch.bool), is_opened


def alone_mask(T: int, opened: Sequence[int]) -> Tensor:
    """What is expected of exercise 5b.3."""
    causal, diagonal, is_opened = parts(T, opened)
    return torch.where(is_opened[:, None], diagonal, causal | is_opened)


def chapters_own(T: int, opened: Sequence[int]) -> Tensor:
    """The chapter's mask *key opened*: the tokens still see what stands before them."""
    causal, _, is_opened = parts(T, opened)
    return causal | is_opened


def each_other(T: int, opened: Sequence[int]) -> Tensor:
    """The opened tokens see each other."""
    causal, _, is_opened = parts(T, opened)
    return torch.where(is_opened[:, None], is_opened, causal | is_opened)


def earlier_opened(T: int, opened: Sequence[int]) -> Tensor:
    """The opened tokens see those of them that stand before."""
    causal, _, is_opened = parts(T, opened)
    return torch.where(is_opened[:, None], is_opened & causal, causal | is_opened)


def not_themselves(T: int, opened: Sequence[int]) -> Tensor:
    """The opened tokens see nothing at all."""
    causal, _, is_opened = parts(T, opened)
    return (causal | is_opened) & ~is_opened[:, None]


def not_opened(T: int, opened: Sequence[int]) -> Tensor:
    """The rows are closed, but no row sees the columns before they come."""
    causal, diagonal, is_opened = parts(T, opened)
    return torch.where(is_opened[:, None], diagonal, causal)


def closed_columns(T: int, opened: Sequence[int]) -> Tensor:
    """The columns are closed where they should be opened."""
    causal, diagonal, is_opened = parts(T, opened)
    return causal & (~is_opened | diagonal)


def open_rows(T: int, opened: Sequence[int]) -> Tensor:
    """The tokens see everything, instead of being seen."""
    causal, _, is_opened = parts(T, opened)
    return causal | is_opened[:, None]


def open_prefix(T: int, opened: Sequence[int]) -> Tensor:
    """All up to the last opened place is opened."""
    causal, diagonal, is_opened = parts(T, opened)
    before = torch.arange(T) < max(opened, default=-1) + 1
    return torch.where(is_opened[:, None], diagonal, causal | before)


def mask_inputs(seed: int) -> list[dict[str, Any]]:
    """The chapter's prompt, two places, the first, the last, none, all, one token, and eight drawn."""
    draw = torch.Generator().manual_seed(seed)
    drawn = []
    for _ in range(8):
        T = int(torch.randint(3, 9, (), generator=draw))
        places = torch.randperm(T, generator=draw)[: int(torch.randint(1, 4, (), generator=draw))]
        drawn.append((T, places.tolist()))
    by_hand = [(9, [5]), (7, [2, 4]), (5, [0]), (5, [4]), (4, []), (3, [0, 1, 2]), (1, [0])]
    return [{"T": T, "opened": opened} for T, opened in (*by_hand, *drawn)]


KEY_ALONE = FunctionExercise(
    "5b.3",
    "alone_mask",
    inputs=mask_inputs,
    truth=alone_mask,
    form=Mask(),
    mistakes=[
        Mistake(
            "the opened tokens still see what stands before them, so that their columns bring more than "
            "themselves",
            chapters_own,
        ),
        Mistake(
            "rows and columns are exchanged: a row is a query, a column is a key",
            lambda *case: alone_mask(*case).T,
        ),
        Mistake("True and False are exchanged: True means may attend", lambda *case: ~alone_mask(*case)),
        Mistake("the opened tokens see one another: each is to see itself alone", each_other),
        Mistake("an opened token sees those that were opened before it", earlier_opened),
        Mistake("the opened tokens see nothing, not even themselves", not_themselves),
        Mistake("the rows are closed, but nobody sees the columns ahead of their place", not_opened),
        Mistake("you closed the columns: all rows are to see them", closed_columns),
        Mistake("you opened the rows: these tokens see all, when all are to see them", open_rows),
        Mistake("this is an open prefix: only the columns in `opened` are to be seen ahead", open_prefix),
        Mistake("this is the causal mask, with nothing opened", lambda T, opened: parts(T, opened)[0]),
        Mistake("everything is open, the future of the target too", lambda T, opened: torch.ones(T, T)),
    ],
    hints=(
        "Begin with the causal mask. Which columns have to be opened in it, and which rows closed?",
        "`mask[:, opened] = True` opens the columns. Then close the rows, but for one place in each.",
        "First `mask[opened] = False`; what must then be True again in each of these rows?",
    ),
)
