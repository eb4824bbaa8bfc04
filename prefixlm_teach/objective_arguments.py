"""Checks on texts and on what an objective asks of them."""

from __future__ import annotations

import operator
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from prefixlm_teach.arguments import check_int, check_number, check_prefix_len, check_share, kind_of
from prefixlm_teach.row_arguments import check_kind, check_list, check_own_ids, check_row_seed


def check_special_ids(special_ids: Any, rows: Sequence[Sequence[int]]) -> None:
    """Raise unless `special_ids` is a collection of ids that leaves each of the `rows` another one."""
    if isinstance(special_ids, str | bytes | Tensor | np.ndarray) or not isinstance(special_ids, Collection):
        fix = ": use special_ids.tolist()" if hasattr(special_ids, "tolist") else ""
        raise TypeError(f"special_ids must be a list or a set of ids, not {kind_of(special_ids)}{fix}")
    for id_ in special_ids:
        check_int("each of special_ids", id_, minimum=0)
    special = set(special_ids)
    for i, row in enumerate(rows):
        if special.issuperset(row):
            raise ValueError(f"rows[{i}] holds nothing but special_ids: there is no token to ask for")


def check_mean_span(mean_span: Any) -> None:
    """Raise unless `mean_span` is a finite number of tokens, at least 1."""
    check_number("mean_span", mean_span)
    if not 1 <= mean_span <= sys.float_info.max:
        raise ValueError(f"mean_span must be at least 1 token, and finite, not {mean_span}")


def check_raw_length(prefix_len: int, rate: float, shown: int, longest: int) -> None:
    """Raise if a text of the `longest` length, of which `shown` tokens are prefix, does not overfill one."""
    if shown <= prefix_len:
        raise ValueError(
            f"prefix_len {prefix_len} takes a text of {longest} tokens or more at a rate of {rate}: lower "
            "the rate, or prefix_len"
        )


def check_room_between(length: int, noise: int, spans: int) -> None:
    """Raise if `spans` spans of noise cannot be kept apart by the tokens that stay."""
    if spans > length - noise:
        raise ValueError(
            f"rate and mean_span ask for {spans} spans in {length} tokens, but only {length - noise} stay "
            "to keep them apart: lower the rate, or make mean_span longer"
        )


def check_sentinels(
    rows: Sequence[Sequence[int]], vocab_size: int, spans: int, named: Mapping[str, int]
) -> None:
    """Raise unless the top `spans` ids are free to be sentinels: not in `rows`, none of the `named` ids."""
    lowest = vocab_size - spans
    if lowest < 1:
        raise ValueError(
            f"vocab_size {vocab_size} has no room for {spans} sentinels: use a larger one, or longer spans"
        )
    for name, id_ in named.items():
        if id_ >= lowest:
            raise ValueError(_taken(name, id_, vocab_size, spans))
    for i, row in enumerate(rows):
        if max(row) >= lowest:
            raise ValueError(_taken(f"rows[{i}]", max(row), vocab_size, spans))


def _taken(name: str, id_: int, vocab_size: int, spans: int) -> str:
    return (
        f"{name} holds the id {id_}, but the ids from {vocab_size - spans} to {vocab_size - 1} have to be "
        f"free for {spans} sentinels: use a larger vocab_size"
    )


def check_one_split(prefix_len: Any, seed: Any, rows: Sequence[Sequence[int]]) -> None:
    """Raise unless either `seed` draws the prefixes, or `prefix_len` says them and leaves each a target."""
    if prefix_len is None and seed is None:
        raise TypeError("say how the rows are split: pass a seed to draw the prefix, or a prefix_len")
    if prefix_len is not None and seed is not None:
        raise TypeError("pass prefix_len or seed, not both: a prefix_len leaves nothing to draw")
    if prefix_len is None:
        check_row_seed(seed)
        return
    lengths = torch.tensor([len(row) for row in rows], device="cpu")
    check_prefix_len(prefix_len, int(lengths.max()), batch=len(rows))
    too_long = torch.as_tensor(prefix_len, device="cpu") >= lengths
    if bool(too_long.any()):
        i = int(too_long.int().argmax())
        raise ValueError(f"prefix_len leaves no target to rows[{i}], which has {int(lengths[i])} tokens")


def check_denoiser(mode: Any, rate: Any, mean_span: Any, modes: Collection[str]) -> None:
    """Raise unless these make a denoiser of one of the `modes`."""
    if not isinstance(mode, str):
        raise TypeError(f"mode must be a string, not {kind_of(mode)}")
    if mode not in modes:
        raise ValueError(f"mode must be one of {', '.join(modes)}, not {mode!r}")
    if rate is not None:
        check_share("rate", rate)
    if mean_span is not None:
        check_mean_span(mean_span)
        if rate is None:
            raise ValueError(
                "rate is None, but only without a mean_span, as a prefix LM, is the noise drawn uniformly"
            )


def check_denoisers(denoisers: Any, kind: type) -> None:
    """Raise unless `denoisers` is a sequence of denoisers, at least one."""
    check_list("denoisers", denoisers, "denoisers")
    for i, denoiser in enumerate(denoisers):
        check_kind(f"denoisers[{i}]", denoiser, kind)


def check_mode_ids(mode_ids: Any, modes: Collection[str], end_id: int, vocab_size: int) -> None:
    """Raise unless `mode_ids` is None or has an id of its own, not `end_id`, for each of the `modes`."""
    if mode_ids is None:
        return
    if not isinstance(mode_ids, Mapping):
        raise TypeError(f"mode_ids must be a dict from mode to id, not {kind_of(mode_ids)}")
    for mode in sorted(modes):
        if mode not in mode_ids:
            raise ValueError(f"mode_ids lacks the mode {mode!r}: give each an id, or pass None for no modes")
    own = {f"mode_ids[{mode!r}]": mode_ids[mode] for mode in sorted(modes)}
    check_own_ids({**own, "end_id": end_id}, vocab_size)


def check_packing(lengths: Any, max_len: Any) -> None:
    """Raise unless each of the `lengths`, whole numbers of at least 1, fits into a row of `max_len`."""
    check_int("max_len", max_len, minimum=1)
    check_list("lengths", lengths, "whole numbers")
    for d, length in enumerate(lengths):
        check_int(f"lengths[{d}]", length, minimum=1)
        if operator.index(length) > max_len:
            raise ValueError(
                f"lengths[{d}] is {length}, longer than max_len {max_len}: cut the text, or raise max_len"
            )
