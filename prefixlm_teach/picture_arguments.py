"""Checks on what is to be drawn: every `check_...` raises in the reader's words before anything is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.arguments import check_has_values, check_int, check_prefix_len, kind_of
from prefixlm_teach.mask_arguments import check_bool_mask


def check_tokens(tokens: Any, expected: int | None = None) -> None:
    """Raise unless `tokens` is a sequence of strings, at least one, and `expected` of them if given."""
    if isinstance(tokens, str):
        raise TypeError(f"tokens must be a list of strings, one per token: use {tokens!r}.split()")
    if not isinstance(tokens, Sequence):
        raise TypeError(f"tokens must be a list of strings, not {kind_of(tokens)}")
    for i, token in enumerate(tokens):
        if not isinstance(token, str):
            raise TypeError(f"token {i} must be a string, not {kind_of(token)}")
    if not tokens:
        raise ValueError("tokens is empty: there is nothing to show")
    if expected is not None and len(tokens) != expected:
        raise ValueError(f"there are {len(tokens)} tokens, but {expected} rows and columns to name")


def check_split_of(tokens: Any, prefix_len: Any) -> None:
    """Raise unless `tokens` are strings and `prefix_len` is a whole number from 0 to their number."""
    check_tokens(tokens)
    if isinstance(prefix_len, Tensor):
        raise TypeError("prefix_len must be one whole number here, not a tensor: use int(prefix_len)")
    check_int("prefix_len", prefix_len, minimum=0)
    check_prefix_len(prefix_len, len(tokens))


def check_strings(name: str, strings: Any, one: str = "token", fix: str = "") -> None:
    """Raise unless `strings`, known as `name`, is a sequence of strings; `fix` helps who passed only one."""
    if isinstance(strings, str) or not isinstance(strings, Sequence):
        hint = fix if isinstance(strings, str) else ""
        raise TypeError(f"{name} must be a list of strings, one per token, not {kind_of(strings)}{hint}")
    for i, string in enumerate(strings):
        if not isinstance(string, str):
            raise TypeError(f"{name} must be strings, but {one} {i} is {kind_of(string)}")


def check_token_lists(name: str, lists: Any) -> None:
    """Raise unless `lists`, known as `name`, holds one or more lists of one or more strings."""
    if not isinstance(lists, Sequence) or isinstance(lists, str):
        raise TypeError(f"{name} must be a list of lists of tokens, not {kind_of(lists)}")
    if not lists:
        raise ValueError(f"{name} is empty: there is nothing to show")
    for d, tokens in enumerate(lists):
        check_strings(f"{name}[{d}]", tokens, fix=": one list alone still needs a list around it, [tokens]")
        if not tokens:
            raise ValueError(f"{name}[{d}] is empty: it needs at least one token")


def check_list(name: str, numbers: Any, one: str) -> None:
    """Raise unless `numbers`, known as `name`, is a list: of one number for each `one`."""
    if isinstance(numbers, Tensor):
        raise TypeError(f"{name} must be a list here, not a tensor: use {name}.tolist()")
    if not isinstance(numbers, Sequence) or isinstance(numbers, str):
        fix = f": use [{numbers}]" if isinstance(numbers, int) else ""
        raise TypeError(f"{name} must be a list of whole numbers, one per {one}, not {kind_of(numbers)}{fix}")


def check_prefix_lens(prefix_lens: Any, lengths: Sequence[int], one: str) -> None:
    """Raise unless `prefix_lens` has a whole number for each `one` of these lengths, from 0 to its length."""
    check_list("prefix_lens", prefix_lens, one)
    if len(prefix_lens) != len(lengths):
        raise ValueError(f"prefix_lens is for {len(prefix_lens)} {one}s, but there are {len(lengths)}")
    for d, (prefix_len, length) in enumerate(zip(prefix_lens, lengths, strict=True)):
        check_int(f"prefix_lens[{d}]", prefix_len, minimum=0)
        if prefix_len > length:
            raise ValueError(f"prefix_lens[{d}] is {prefix_len}, longer than {one} {d} ({length} tokens)")


def check_masks(masks: Any, tokens: Any, prefix_len: Any) -> None:
    """Raise unless `masks` names at least one mask, all of one size, which `tokens` and `prefix_len` fit."""
    if not isinstance(masks, Mapping):
        raise TypeError(f"masks must be a dict from name to mask, not {kind_of(masks)}")
    if not masks:
        raise ValueError("masks is empty: there is nothing to show")
    seq_len = 0
    for name, mask in masks.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a mask must be a string, not {kind_of(name)}")
        check_one_mask_picture(mask, seq_len or None)
        seq_len = mask.shape[-1]
    if tokens is not None:
        check_tokens(tokens, seq_len)
    if prefix_len is not None:
        check_split_of([""] * seq_len, prefix_len)
        for mask in masks.values():
            check_opened_by_prefix(mask.reshape(mask.shape[-2:]), prefix_len)


def check_one_mask_picture(mask: Any, seq_len: int | None = None) -> None:
    """Raise unless `mask` is one boolean mask, (T, T) or (1, 1, T, T), of `seq_len` tokens if given."""
    check_bool_mask(mask)
    if mask.ndim == 4 and mask.shape[0] != 1:
        raise ValueError(f"a picture shows one mask, not a batch of {mask.shape[0]}: choose one, mask[0, 0]")
    if mask.shape[-1] != mask.shape[-2]:
        raise ValueError(f"mask must have as many rows as columns, not {tuple(mask.shape[-2:])}")
    if seq_len is not None and mask.shape[-1] != seq_len:
        raise ValueError(f"mask is for {mask.shape[-1]} tokens, but there are {seq_len}")
    check_has_values("mask", mask)


def check_opened_by_prefix(mask: Tensor, prefix_len: int) -> None:
    """Raise if a row of the (T, T) `mask` sees a later column that is not among the `prefix_len` first."""
    stray = (mask.triu(1) & (torch.arange(mask.shape[-1], device=mask.device) >= prefix_len)).nonzero()
    if len(stray):
        q, k = stray[0].tolist()
        raise ValueError(
            f"row {q} sees column {k}, which is neither past nor in the prefix (prefix_len {prefix_len}): "
            "leave prefix_len out to draw any mask"
        )


def check_weights(weights: Any) -> None:
    """Raise unless `weights` is a floating (T, T) or (H, T, T) tensor of numbers from 0 to 1."""
    if not isinstance(weights, Tensor):
        raise TypeError(f"weights must be a (T, T) or (H, T, T) tensor, not {kind_of(weights)}")
    if not weights.is_floating_point():
        raise TypeError(f"weights must be floating point, not {weights.dtype}")
    if weights.ndim not in (2, 3) or weights.shape[-1] != weights.shape[-2]:
        fix = ": choose one example, weights[0]" if weights.ndim == 4 else ""
        raise ValueError(f"weights must be (T, T) or (H, T, T), not {tuple(weights.shape)}{fix}")
    if weights.numel() == 0:
        raise ValueError(f"weights are empty: their shape is {tuple(weights.shape)}")
    check_has_values("weights", weights)
    if not bool(((weights >= 0) & (weights <= 1.001)).all()):  # rounding may put a sum of shares above 1
        raise ValueError("weights must be from 0 to 1, as softmax gives them, and none may be NaN")


def check_nothing_blocked(weights: Tensor, mask: Tensor) -> None:
    """Raise if `weights`, (T, T) or (H, T, T), look where the (T, T) `mask` blocks."""
    leaks = ((weights > 1e-6) & ~mask).nonzero()
    if len(leaks):
        *_, q, k = leaks[0].tolist()
        raise ValueError(
            f"row {q} looks at column {k}, which mask blocks: the model works under another mask. "
            "Leave mask out to see where it looks"
        )


def check_losses(losses: Any) -> None:
    """Raise unless `losses` is a sequence of finite numbers, at least one."""
    if not isinstance(losses, Sequence) or isinstance(losses, str):
        raise TypeError(f"losses must be a list of numbers, not {kind_of(losses)}")
    if not losses:
        raise ValueError("losses is empty: there is no step to draw")
    for step, loss in enumerate(losses, start=1):
        if isinstance(loss, bool) or not isinstance(loss, int | float):
            raise TypeError(f"the loss of step {step} must be a number, not {kind_of(loss)}")
        if not math.isfinite(loss):
            raise ValueError(f"the loss of step {step} is {loss}: there is no curve through it")
