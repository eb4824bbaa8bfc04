"""Checks on ids, on rows of them, and on other lists."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from prefixlm_teach.arguments import check_int, kind_of

INT64 = 2**63  # so many ids an int64 can hold, where the size of the vocabulary is not known


def check_kind(name: str, value: Any, kind: type) -> None:
    """Raise unless `value` is a `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {kind.__name__}, not {kind_of(value)}")


def check_list(name: str, value: Any, of_what: str) -> None:
    """Raise unless `value` is a list or another sequence, but no string, and not empty."""
    _check_sequence(name, value, of_what)
    if not value:
        raise ValueError(f"{name} is empty: it needs at least one")


def _check_sequence(name: str, value: Any, of_what: str) -> None:
    if isinstance(value, str | bytes | deque) or not isinstance(value, Sequence):
        fix = f": use {name}.tolist()" if hasattr(value, "tolist") else ""
        if isinstance(value, deque):  # a sequence that cannot be cut
            fix = f": use list({name})"
        raise TypeError(f"{name} must be a list of {of_what}, not {kind_of(value)}{fix}")


def check_row_seed(seed: Any) -> None:
    """Raise unless `seed` is a number from which the draws of a row can be made.

    From 2 ** 32 on, a seed and a row would have the draws of another seed and another row.
    """
    check_int("seed", seed, minimum=0)
    if operator.index(seed) >= 2**32:
        raise ValueError(f"seed must be below 2 ** 32, not {seed}")


def check_vocab_size(vocab_size: Any, special: Mapping[int, str] | None = None) -> None:
    """Raise unless `vocab_size` fits into an int64 and has room for the `special` ids, each with its name."""
    check_int("vocab_size", vocab_size, minimum=1)
    if vocab_size >= INT64:
        raise ValueError(f"vocab_size {vocab_size} has ids that no int64 can hold")
    for id_, name in (special or {}).items():
        if id_ >= vocab_size:
            raise ValueError(f"vocab_size is {vocab_size}, but {name} has the id {id_}")


def check_id(name: str, value: Any, vocab_size: int = INT64) -> None:
    """Raise unless `value` is an id of the vocabulary."""
    check_int(name, value, minimum=0)
    if value >= vocab_size:
        raise ValueError(f"{name} is {value}, but ids go from 0 to {vocab_size - 1}")


def check_own_ids(named: Mapping[str, Any], vocab_size: int = INT64) -> None:
    """Raise unless each of the `named` special tokens has an id of the vocabulary that no other has."""
    owner: dict[int, str] = {}
    for name, id_ in named.items():
        check_id(name, id_, vocab_size)
        if id_ in owner:
            raise ValueError(f"{owner[id_]} and {name} are both {id_}: each special token needs its own id")
        owner[id_] = name


def check_row(
    name: str,
    row: Any,
    vocab_size: int = INT64,
    *,
    shortest: int = 0,
    special: Mapping[int, str] | None = None,
) -> None:
    """Raise unless `row` is a list of ids of the vocabulary, none of them `special`, each with its name."""
    _check_sequence(name, row, "ids")
    if len(row) < shortest:
        raise ValueError(f"{name} has {len(row)} tokens, but this needs at least {shortest}")
    if set(map(type, row)) - {int}:  # quick; only what is unusual is looked at one by one
        for t, id_ in enumerate(row):
            check_int(f"{name}[{t}]", id_, minimum=0)
    if min(row, default=0) < 0:
        raise ValueError(f"{name} holds the id {min(row)}, but ids begin at 0")
    if max(row, default=0) >= vocab_size:
        raise ValueError(f"{name} holds the id {max(row)}, but ids go from 0 to {vocab_size - 1}")
    if special is not None:
        for id_ in row:
            if id_ in special:
                raise ValueError(f"{name} holds the id {id_}, which is that of {special[id_]}")


def check_rows(
    rows: Any,
    vocab_size: int = INT64,
    *,
    shortest: int = 1,
    special: Mapping[int, str] | None = None,
    name: str = "rows",
) -> None:
    """Raise unless `rows` is a list of at least one row, each as `check_row` wants it."""
    check_list(name, rows, "lists of ids")
    for i, row in enumerate(rows):
        check_row(f"{name}[{i}]", row, vocab_size, shortest=shortest, special=special)
