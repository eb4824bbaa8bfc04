"""Checks on texts and on what an objective asks of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.arguments import check_int, check_prefix_len, kind_of

LARGEST = 2**63 - 1  # of an int64


def check_vocab_size(vocab_size: Any) -> None:
    """Raise unless `vocab_size` is a whole number of at least 1 whose ids fit into an int64."""
    check_int("vocab_size", vocab_size, minimum=1)
    if vocab_size > LARGEST:
        raise ValueError(f"vocab_size {vocab_size} has ids that no int64 can hold")


def check_pad_id(pad_id: Any) -> None:
    """Raise unless `pad_id` is an id, which need not be known to a vocabulary."""
    check_int("pad_id", pad_id, minimum=0)
    if pad_id > LARGEST:
        raise ValueError(f"pad_id {pad_id} is more than an int64 can hold")


def check_rows(rows: Any, vocab_size: int | None = None, shortest: int = 1) -> None:
    """Raise unless `rows` is a list of lists of ids, each of at least `shortest`, below `vocab_size`."""
    if isinstance(rows, Tensor):
        raise TypeError("rows must be a list of lists of ids, not a tensor: use rows.tolist()")
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        raise TypeError(f"rows must be a list of lists of ids, not {kind_of(rows)}")
    if not rows:
        raise ValueError("rows is empty: there is no text")
    for i, row in enumerate(rows):
        if not isinstance(row, Sequence) or isinstance(row, str | bytes):
            raise TypeError(f"rows[{i}] must be a list of ids, not {kind_of(row)}")
        if len(row) < shortest:
            raise ValueError(f"rows[{i}] has {len(row)} tokens, but this needs at least {shortest}")
        if set(map(type, row)) != {int}:  # quick; only what is unusual is looked at one by one
            for t, id_ in enumerate(row):
                check_int(f"rows[{i}][{t}]", id_, minimum=0)
        if min(row) < 0:
            raise ValueError(f"rows[{i}] holds the id {min(row)}, but ids begin at 0")
        last = LARGEST if vocab_size is None else vocab_size - 1
        if max(row) > last:
            raise ValueError(f"rows[{i}] holds the id {max(row)}, but ids go from 0 to {last}")


def check_id(name: str, value: Any, vocab_size: int) -> None:
    """Raise unless `value` is an id of the vocabulary."""
    check_int(name, value, minimum=0)
    if value >= vocab_size:
        raise ValueError(f"{name} is {value}, but ids go from 0 to {vocab_size - 1}")


def check_special_ids(special_ids: Any, rows: Sequence[Sequence[int]]) -> None:
    """Raise unless `special_ids` is a collection of ids that leaves each of the `rows` another one."""
    if isinstance(special_ids, str | bytes | Tensor) or not isinstance(special_ids, Collection):
        raise TypeError(f"special_ids must be a list or a set of ids, not {kind_of(special_ids)}")
    for id_ in special_ids:
        check_int("each of special_ids", id_, minimum=0)
    for i, row in enumerate(rows):
        if set(row) <= set(special_ids):
            raise ValueError(f"rows[{i}] holds nothing but special_ids: there is no token to ask for")


def check_share(name: str, value: Any) -> None:
    """Raise unless `value` is a number between 0 and 1, neither of them included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {kind_of(value)}")
    if not 0 < value < 1:
        raise ValueError(f"{name} must be above 0 and below 1, not {value}")


def check_mean_span(mean_span: Any) -> None:
    """Raise unless `mean_span` is a finite number of tokens, at least 1."""
    if isinstance(mean_span, bool) or not isinstance(mean_span, int | float):
        raise TypeError(f"mean_span must be a number, not {kind_of(mean_span)}")
    if not 1 <= mean_span < math.inf:
        raise ValueError(f"mean_span must be at least 1 token, not {mean_span}")


def check_flag(name: str, value: Any) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {kind_of(value)}")


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
        check_int("seed", seed, minimum=0)
        return
    lengths = torch.tensor([len(row) for row in rows])
    check_prefix_len(prefix_len, int(lengths.max()), batch=len(rows))
    too_long = torch.as_tensor(prefix_len).cpu() >= lengths
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
    if not isinstance(denoisers, Sequence) or isinstance(denoisers, str):
        raise TypeError(f"denoisers must be a list of denoisers, not {kind_of(denoisers)}")
    if not denoisers:
        raise ValueError("denoisers is empty: there is nothing to draw from")
    for i, denoiser in enumerate(denoisers):
        if not isinstance(denoiser, kind):
            raise TypeError(f"denoisers[{i}] must be a Denoiser, not {kind_of(denoiser)}")


def check_mode_ids(mode_ids: Any, modes: Collection[str], vocab_size: int) -> None:
    """Raise unless `mode_ids` is None or has an id of the vocabulary for each of the `modes`."""
    if mode_ids is None:
        return
    if not isinstance(mode_ids, Mapping):
        raise TypeError(f"mode_ids must be a dict from mode to id, not {kind_of(mode_ids)}")
    found: dict[int, str] = {}
    for mode in sorted(modes):
        if mode not in mode_ids:
            raise ValueError(f"mode_ids lacks the mode {mode!r}: give each an id, or pass None for no modes")
        check_id(f"mode_ids[{mode!r}]", mode_ids[mode], vocab_size)
        if mode_ids[mode] in found:
            both = f"both {found[mode_ids[mode]]!r} and {mode!r}"
            raise ValueError(f"mode_ids has the id {mode_ids[mode]} for {both}: give each its own")
        found[mode_ids[mode]] = mode


def check_packing(lengths: Any, max_len: Any) -> None:
    """Raise unless each of the `lengths`, whole numbers of at least 1, fits into a row of `max_len`."""
    check_int("max_len", max_len, minimum=1)
    if not isinstance(lengths, Sequence) or isinstance(lengths, str | bytes):
        raise TypeError(f"lengths must be a list of whole numbers, not {kind_of(lengths)}")
    if not lengths:
        raise ValueError("lengths is empty: there is no document")
    for d, length in enumerate(lengths):
        check_int(f"lengths[{d}]", length, minimum=1)
        if operator.index(length) > max_len:
            raise ValueError(
                f"lengths[{d}] is {length}, longer than max_len {max_len}: cut the text, or raise max_len"
            )


def check_kind(name: str, value: Any, kind: type) -> None:
    """Raise unless `value` is a `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {kind.__name__}, not {kind_of(value)}")
