"""Checks on what the state explorer is to show: every `check_...` raises in the reader's words."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from prefixlm_teach.arguments import check_has_values, check_int, kind_of
from prefixlm_teach.explorer_arguments import FLOATS, LONGEST
from prefixlm_teach.picture_arguments import check_tokens

WIDEST = 6  # numbers per head whose products find room, with their figures, on a phone
LARGEST = 10  # a number beyond it would make sums that no cell has room for


def check_one_head(tokens: Any, q: Any, k: Any, v: Any) -> None:
    """Raise unless `q`, `k` and `v` are one head of one example, (T, d) each, for T `tokens`."""
    check_tokens(tokens)
    if len(tokens) > LONGEST:
        raise ValueError(f"there are {len(tokens)} tokens, and an explorer shows at most {LONGEST}")
    for name, x in (("q", q), ("k", k), ("v", v)):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} must be a (T, d) tensor, not {kind_of(x)}")
        if x.dtype not in FLOATS:
            raise TypeError(f"{name} must be float16, bfloat16, float32 or float64, not {x.dtype}")
        if x.ndim != 2:
            fix = f": choose one head of one example, {name}[0, 0]" if x.ndim == 4 else ""
            raise ValueError(f"{name} must be (T, d), not {tuple(x.shape)}{fix}")
        if len(x) != len(tokens):
            raise ValueError(f"{name} has {len(x)} rows, but there are {len(tokens)} tokens")
        if not 1 <= x.size(1) <= WIDEST:
            raise ValueError(f"{name} has {x.size(1)} numbers per token: this explorer shows 1 to {WIDEST}")
        if x.size(1) != q.size(1):
            raise ValueError(f"{name} has {x.size(1)} numbers per token, but q has {q.size(1)}")
        check_has_values(name, x)
        if not bool((x.abs() <= LARGEST).all()):  # NaN is not below anything
            raise ValueError(f"{name} must hold numbers from -{LARGEST} to {LARGEST}, and none may be NaN")


def check_row(row: Any, seq_len: int) -> None:
    """Raise unless `row` is the number of one of `seq_len` rows."""
    check_int("row", row, minimum=0)
    if row >= seq_len:
        there = f"the rows are 0 to {seq_len - 1}" if seq_len > 1 else "the only one is row 0"
        raise ValueError(f"there is no row {row}: {there}")
