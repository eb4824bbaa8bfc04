"""Checks on rules, and on the documents whose tokens a rule is about."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.arguments import check_has_values, check_int, kind_of
from prefixlm_teach.picture_arguments import check_list

LONGEST = 200  # characters of a rule
MOST = 4096  # tokens of a mask: five parts of T x T cells each


def check_rule_text(rule: Any) -> None:
    """Raise unless `rule` is a string that is not too long."""
    if not isinstance(rule, str):
        raise TypeError(f"rule must be a string, not {kind_of(rule)}")
    if len(rule) > LONGEST:
        raise ValueError(f"the rule has {len(rule)} characters: {LONGEST} are the most")


def check_lengths(lengths: Any) -> None:
    """Raise unless `lengths` holds a whole number of at least 1 for each document."""
    check_list("lengths", lengths, "document")
    if not lengths:
        raise ValueError("lengths is empty: there is no document")
    for d, length in enumerate(lengths):
        check_int(f"lengths[{d}]", length, minimum=1)


def check_total(lengths: Sequence[int], pads: int) -> None:
    """Raise if `lengths` and `pads`, all whole numbers, come to too many tokens for a mask."""
    if sum(map(operator.index, [*lengths, pads])) > MOST:
        raise ValueError(f"lengths and pads come to more than {MOST:,} tokens: a mask of rules has no more")


def check_window(window: Any, seq_len: int) -> None:
    """Raise unless `window` is a whole number from 1 to the number of tokens, pads included."""
    check_int("window", window, minimum=1)
    if window > seq_len:
        raise ValueError(f"window {window} is longer than the sequence ({seq_len} tokens)")


def check_parts(parts: Any, names: Sequence[str]) -> None:
    """Raise unless `parts` holds a boolean (T, T) tensor under each of the `names`, all of one size."""
    if not isinstance(parts, Mapping):
        raise TypeError(
            f"parts must be a dict from name to mask, as mask_parts makes it, not {kind_of(parts)}"
        )
    size = None
    for name in names:
        if name not in parts:
            raise ValueError(f"parts lacks {name!r}: it needs {', '.join(names)}, as mask_parts makes them")
        part = parts[name]
        if not isinstance(part, Tensor):
            raise TypeError(f"parts[{name!r}] must be a tensor of booleans, not {kind_of(part)}")
        if part.dtype != torch.bool:
            raise TypeError(f"parts[{name!r}] must be boolean (True = may attend), not {part.dtype}")
        if part.ndim != 2 or part.shape[0] != part.shape[1] or not part.numel():
            raise ValueError(f"parts[{name!r}] must be (T, T), not {tuple(part.shape)}")
        check_has_values(f"parts[{name!r}]", part)
        size = size or part.shape
        if part.shape != size:
            raise ValueError(f"parts[{name!r}] is {tuple(part.shape)}, but the others are {tuple(size)}")
