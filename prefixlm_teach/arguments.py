"""Checks on arguments: every `check_...` raises in the reader's words before anything is computed.

They return nothing, so that a chapter can show a function without them and still show the same code.
"""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np
import torch
from torch import Tensor

COUNTS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)  # what PyTorch can add to int64


def check_int(name: str, value: Any, minimum: int) -> None:
    """Raise unless `value` is a whole number of at least `minimum` (a bool is not a number here)."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not isinstance(value, int | np.integer):
        fix = "" if number is None else f": use int({name})"  # an array or a tensor of one number
        raise TypeError(f"{name} must be a whole number, not {kind_of(value)}{fix}")
    if number < minimum:
        raise ValueError(f"{name} must be at least {minimum}, not {value}")


def check_valid(valid: Any, seq_len: int | None = None, batch: int | None = None) -> None:
    """Raise unless `valid` is a (B, T) boolean tensor whose real tokens stand in one run in each row."""
    if not isinstance(valid, Tensor):
        raise TypeError(f"valid must be a (B, T) tensor of booleans, not {kind_of(valid)}")
    if valid.dtype != torch.bool:
        raise TypeError(f"valid must be boolean (True = a real token), not {valid.dtype}: use valid.bool()")
    if valid.ndim != 2:
        raise ValueError(f"valid must be (B, T), not {tuple(valid.shape)}")
    check_has_values("valid", valid)
    _check_size("valid", valid.shape[0], batch, "examples")
    _check_size("valid", valid.shape[1], seq_len, "tokens")
    if valid.shape[0] == 0 or valid.shape[1] == 0:
        raise ValueError(f"valid is empty: its shape is {tuple(valid.shape)}")
    starts = valid[:, 0].int() + (valid[:, 1:] & ~valid[:, :-1]).sum(-1)  # runs of True in each row
    if bool((starts > 1).any()):
        row = int((starts > 1).int().argmax())
        raise ValueError(
            f"valid has a hole in example {row}: padding may stand before or after the tokens, not among them"
        )


def check_prefix_len(
    prefix_len: Any, seq_len: int, *, valid: Tensor | None = None, batch: int | None = None
) -> None:
    """Raise unless `prefix_len` (an int, a 0-d or a (B,) tensor) fits into every example's real tokens.

    Args:
        prefix_len: what the caller passed.
        seq_len: T.
        valid: (B, T) booleans that have passed `check_valid`, or None when every token is real.
        batch: B, where the caller knows it.
    """
    if isinstance(prefix_len, Tensor):
        _check_prefix_tensor(prefix_len, valid, batch)
    elif isinstance(prefix_len, list | tuple):
        raise TypeError(f"prefix_len must be an int or a tensor: use torch.tensor({list(prefix_len)})")
    else:
        check_int("prefix_len", prefix_len, minimum=0)
        if operator.index(prefix_len) > seq_len:
            raise ValueError(f"prefix_len {prefix_len} is longer than the sequence ({seq_len} tokens)")
        if str(getattr(prefix_len, "dtype", "")) in ("uint16", "uint32", "uint64"):
            # NumPy numbers that PyTorch does not mix with its own
            raise TypeError(f"prefix_len must be an int, not {kind_of(prefix_len)}: use int(...)")
    values = torch.as_tensor(prefix_len, device=getattr(prefix_len, "device", "cpu")).long()
    if bool((values < 0).any()):
        raise ValueError(f"prefix_len must be at least 0, not {int(values.min())}")
    room = torch.tensor(int(seq_len), device=values.device) if valid is None else valid.sum(-1)
    too_long = (values.to(room.device) > room).reshape(-1)
    if not bool(too_long.any()):
        return
    row = int(too_long.int().argmax())
    if valid is None and values.ndim == 0:
        raise ValueError(f"prefix_len {int(values)} is longer than the sequence ({seq_len} tokens)")
    value, real = int(values.expand(too_long.shape)[row]), int(room.expand(too_long.shape)[row])
    raise ValueError(f"prefix_len {value} is longer than example {row} ({real} real tokens)")


def _check_prefix_tensor(prefix_len: Tensor, valid: Tensor | None, batch: int | None) -> None:
    if prefix_len.dtype not in COUNTS:
        raise TypeError(f"prefix_len counts tokens, so it must be an integer tensor, not {prefix_len.dtype}")
    if prefix_len.ndim > 1:
        raise ValueError(
            f"prefix_len must have one number per example, shape (B,), not {tuple(prefix_len.shape)}"
        )
    if prefix_len.numel() == 0:
        raise ValueError("prefix_len is empty: there is no example to mask")
    check_has_values("prefix_len", prefix_len)
    if valid is not None:
        check_same_device("prefix_len", prefix_len, "valid", valid)
        batch = valid.shape[0]
    if prefix_len.ndim == 1:
        _check_size("prefix_len", prefix_len.shape[0], batch, "examples")


def check_has_values(name: str, value: Tensor) -> None:
    """Raise if `value` is on the meta device, where tensors have a shape and no values to check."""
    if value.is_meta:
        raise ValueError(f"{name} is on the meta device, which holds no values")


def check_same_device(name: str, value: Tensor, other_name: str, other: Tensor) -> None:
    """Raise unless the two tensors live on the same device."""
    if value.device != other.device:
        raise ValueError(
            f"{name} is on {value.device} and {other_name} is on {other.device}: "
            f"use {name}.to({str(other.device)!r})"
        )


def check_ids(name: str, ids: Any, vocab_size: int | None = None) -> None:
    """Raise unless `ids` is a (B, T) int64 or int32 tensor, not empty, of ids from 0 to `vocab_size` - 1."""
    if not isinstance(ids, Tensor):
        raise TypeError(f"{name} must be a (B, T) tensor of ids, not {kind_of(ids)}")
    if ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"{name} must be int64 or int32 ids, not {ids.dtype}")
    if ids.ndim != 2:
        fix = f": add the batch dimension, {name}[None]" if ids.ndim == 1 else ""
        raise ValueError(f"{name} must be (B, T), not {tuple(ids.shape)}{fix}")
    if ids.numel() == 0:
        raise ValueError(f"{name} is empty: its shape is {tuple(ids.shape)}")
    check_has_values(name, ids)
    low, high = (int(end) for end in ids.aminmax())
    if low < 0:
        raise ValueError(
            f"{name} holds the id {low}, but ids begin at 0: mark padding with valid, not with an id"
        )
    if vocab_size is not None and high >= vocab_size:
        raise ValueError(f"{name} holds the id {high}, but ids go from 0 to {vocab_size - 1}")


def check_split(tokens: Tensor, prefix_len: Any, valid: Tensor | None) -> None:
    """Raise unless `prefix_len` and `valid` fit `tokens` (B, T), which has passed `check_ids`."""
    batch, seq_len = tokens.shape
    if valid is not None:
        check_valid(valid, seq_len, batch)
        check_same_device("valid", valid, "tokens", tokens)
    if isinstance(prefix_len, Tensor):
        check_same_device("prefix_len", prefix_len, "tokens", tokens)
    check_prefix_len(prefix_len, seq_len, valid=valid, batch=batch)


def check_positions(positions: Any, tokens: Tensor, max_len: int) -> None:
    """Raise unless `positions` is a (T,) or (B, T) integer tensor of positions from 0 to `max_len` - 1."""
    if not isinstance(positions, Tensor):
        raise TypeError(f"positions must be a tensor, not {kind_of(positions)}")
    if positions.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"positions must be int64 or int32, not {positions.dtype}")
    if positions.shape not in (tokens.shape, tokens.shape[1:]):
        raise ValueError(
            f"positions is {tuple(positions.shape)}, but tokens is {tuple(tokens.shape)}: "
            f"give {tuple(tokens.shape[1:])} or {tuple(tokens.shape)}"
        )
    check_same_device("positions", positions, "tokens", tokens)
    low, high = (int(end) for end in positions.aminmax())
    if low < 0 or high >= max_len:
        raise ValueError(f"positions go from {low} to {high}, but this model has 0 to {max_len - 1}")


def check_logits(logits: Any, name: str, labels: Any) -> None:
    """Raise unless `logits` is a floating (B, T, V) tensor that fits the (B, T) `labels`, known as `name`."""
    if not isinstance(logits, Tensor):
        raise TypeError(f"logits must be a (B, T, V) tensor, not {kind_of(logits)}")
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating point, not {logits.dtype}")
    if logits.ndim != 3:
        raise ValueError(f"logits must be (B, T, V), not {tuple(logits.shape)}")
    if not isinstance(labels, Tensor):
        raise TypeError(f"{name} must be a (B, T) tensor, not {kind_of(labels)}")
    if 0 in logits.shape:
        raise ValueError(f"logits are empty: their shape is {tuple(logits.shape)}")
    if logits.shape[:2] != labels.shape:
        raise ValueError(
            f"logits are for {tuple(logits.shape[:2])} (B, T), but {name} is {tuple(labels.shape)}: "
            "pass both unshifted, the loss shifts once inside"
        )
    check_same_device("logits", logits, name, labels)
    check_has_values("logits", logits)


def check_label_ids(labels: Any, vocab_size: int, ignore: int) -> None:
    """Raise unless `labels` holds ids from 0 to `vocab_size` - 1, or `ignore` where nothing is scored."""
    if labels.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"labels must be int64 or int32 ids, not {labels.dtype}")
    wrong = ((labels < 0) | (labels >= vocab_size)) & (labels != ignore)
    if bool(wrong.any()):
        raise ValueError(
            f"labels hold {int(labels[wrong][0])}, but ids go from 0 to {vocab_size - 1} "
            f"and {ignore} marks what is not scored"
        )


def check_some_label(labels: Tensor, ignore: int) -> None:
    """Raise if every label is ignored: the mean over nothing would be NaN."""
    if not bool((labels != ignore).any()):
        raise ValueError(
            "nothing to score: no example has a target token with a token before it. "
            "Make prefix_len smaller than the number of real tokens in at least one example"
        )


def check_length(longest: int, max_len: int) -> None:
    """Raise if an example has more tokens than the model has positions."""
    if longest > max_len:
        raise ValueError(f"an example has {longest} tokens, but this model has {max_len} positions (max_len)")


def check_flag(name: str, value: Any) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {kind_of(value)}")


def check_number(name: str, value: Any) -> None:
    """Raise unless `value` is a number (a bool is none here)."""
    if not isinstance(value, bool) and isinstance(value, int | float):
        return
    one = hasattr(value, "__float__") and getattr(value, "ndim", 0) == 0 and not isinstance(value, bool)
    fix = f": use float({name})" if one else ""
    raise TypeError(f"{name} must be a number, not {kind_of(value)}{fix}")


def check_share(name: str, value: Any, *, none: bool = False, whole: bool = False) -> None:
    """Raise unless `value` is a number between 0 and 1; 0 is allowed with `none`, 1 with `whole`."""
    check_number(name, value)
    if not 0 <= value <= 1 or (value == 0 and not none) or (value == 1 and not whole):
        low, high = "at least 0" if none else "above 0", "at most 1" if whole else "below 1"
        raise ValueError(f"{name} must be {low} and {high}, not {value}")


def check_rate(name: str, value: Any) -> None:
    """Raise unless `value` is a number above 0 that a float can hold, infinity excluded."""
    check_number(name, value)
    if not 0 < value <= sys.float_info.max:
        raise ValueError(f"{name} must be above 0 and finite, not {value}")


def _check_size(name: str, size: int, expected: int | None, unit: str) -> None:
    if expected is not None and size != expected:
        raise ValueError(f"{name} is for {size} {unit}, but there are {expected}")


def kind_of(value: Any) -> str:
    """Say what `value` is, with the value itself where it is short."""
    return (
        f"{type(value).__name__} ({value!r})"
        if isinstance(value, int | float | str)
        else type(value).__name__
    )
