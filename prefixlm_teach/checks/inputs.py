"""The inputs of an exercise: whether a function has changed them, and how they are named to a learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

Inputs = Mapping[str, Any]


def changed(given: Sequence[Inputs], before: Sequence[Inputs]) -> str:
    """Name the first input that isn't what it was; nothing if all are."""
    pairs = zip(given, before, strict=True)
    names = (name for case, was in pairs for name in was if not _still(case[name], was[name]))
    return next(names, "")


def _still(value: Any, before: Any) -> bool:
    try:
        return same(value, before)
    except Exception:  # noqa: BLE001 - what can't even be compared isn't what it was
        return False


def same(value: Any, before: Any) -> bool:
    """Whether an input is what it was: values, shapes, dtypes, and the weights of a model."""
    if isinstance(before, Tensor):
        return (
            isinstance(value, Tensor)
            and (value.shape, value.dtype, value.device) == (before.shape, before.dtype, before.device)
            and torch.equal(value.nan_to_num(7.0), before.nan_to_num(7.0))
        )
    if isinstance(before, nn.Module):
        return same(dict(value.state_dict()), dict(before.state_dict()))
    if isinstance(before, dict):
        return value.keys() == before.keys() and all(same(value[name], before[name]) for name in before)
    if isinstance(before, list | tuple):
        return type(value) is type(before) and len(value) == len(before) and all(map(same, value, before))
    return callable(before) or (type(value) is type(before) and bool(value == before))


def describe(case: Inputs) -> str:
    """Say what an input was: short values as they are, long tensors by their shape."""
    parts = []
    for name, value in case.items():
        if isinstance(value, Tensor):
            short = value.ndim < 2 and value.numel() <= 12 and not value.is_floating_point()
            parts.append(f"{name} = {value.tolist()}" if short else f"{name} of shape {tuple(value.shape)}")
        elif isinstance(value, list) and value and all(isinstance(each, Tensor) for each in value):
            parts.append(f"{len(value)} {name} of shape {tuple(value[0].shape)}")
        elif isinstance(value, bool | int | float | str) or (
            isinstance(value, list) and len(repr(value)) <= 60
        ):
            parts.append(f"{name} = {value!r}")
    return ", ".join(parts) or "the input"
