"""Checks on what goes into linear attention: every `check_...` raises in the reader's words beforehand."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.arguments import (
    check_has_values,
    check_int,
    check_prefix_len,
    check_same_device,
    check_valid,
    kind_of,
)
from prefixlm_teach.linear_state import LinearState

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def check_linear_input(q: Any, k: Any, v: Any, chunk: Any) -> None:
    """Raise unless `q`, `k` (B, H, T, d_k) and `v` (B, H, T, d_v) fit each other, and `chunk` is a count."""
    for name, x, last in (("q", q, "d_k"), ("k", k, "d_k"), ("v", v, "d_v")):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} must be a (B, H, T, {last}) tensor, not {kind_of(x)}")
        if x.dtype not in FLOATS:
            raise TypeError(f"{name} must be float16, bfloat16, float32 or float64, not {x.dtype}")
        if x.ndim != 4:
            raise ValueError(f"{name} must be (B, H, T, {last}), not {tuple(x.shape)}")
        if x.numel() == 0:
            raise ValueError(f"{name} is empty: its shape is {tuple(x.shape)}")
        check_has_values(name, x)
    for name, x, shared in (("k", k, 4), ("v", v, 3)):
        check_same_device(name, x, "q", q)
        if x.dtype != q.dtype:
            raise TypeError(f"{name} is {x.dtype}, but q is {q.dtype}")
        if x.shape[:shared] != q.shape[:shared]:
            raise ValueError(f"{name} is {tuple(x.shape)}, which does not fit q, {tuple(q.shape)}")
    check_int("chunk", chunk, minimum=1)


def check_linear_valid(valid: Any, name: str, x: Tensor, batch: int, seq_len: int) -> None:
    """Raise unless `valid` is None or (B, T) booleans on the device of `x`, which is known as `name`."""
    if valid is not None:
        check_valid(valid, seq_len, batch)
        check_same_device("valid", valid, name, x)


def check_linear_split(prefix_len: Any, valid: Any, name: str, x: Tensor, batch: int, seq_len: int) -> None:
    """Raise unless `prefix_len` and `valid` fit B examples of T tokens that come in `x`, known as `name`."""
    check_linear_valid(valid, name, x, batch, seq_len)
    if isinstance(prefix_len, Tensor):
        check_has_values("prefix_len", prefix_len)
        check_same_device("prefix_len", prefix_len, name, x)
    check_prefix_len(prefix_len, seq_len, valid=valid, batch=batch)


def check_linear_state(state: Any, like: Tensor, batch: int, heads: int, d_k: int, d_v: int) -> None:
    """Raise unless `state` is a `LinearState` of these sizes, of the device of `like` and its sums' dtype."""
    if not isinstance(state, LinearState):
        raise TypeError(f"state must be the LinearState that came second before, not {kind_of(state)}")
    wanted = (batch, heads, d_k, d_v)
    if state.memory.shape != wanted or state.normaliser.shape != wanted[:3]:
        raise ValueError(
            f"state is {tuple(state.memory.shape)} and {tuple(state.normaliser.shape)}, but these tokens "
            f"need {wanted} and {wanted[:3]}: was it made by another layer, or for another batch?"
        )
    exact = torch.promote_types(like.dtype, torch.float32)
    for part in (state.memory, state.normaliser):
        check_same_device("state", part, "the tokens", like)
        if part.dtype != exact:
            raise TypeError(f"state is {part.dtype}, but tokens in {like.dtype} are summed in {exact}")
