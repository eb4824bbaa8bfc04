"""Checks on results: every `check_...` raises in the reader's words before anything is read or drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prefixlm_teach.arguments import check_number, kind_of
from prefixlm_teach.word_arguments import check_known

LARGEST = 1e100  # beyond it a square is no float any more


def check_folder(results: Path) -> None:
    """Raise unless the folder of the results is there."""
    if not results.is_dir():
        raise FileNotFoundError(
            f"there is no {results}: the results come with the handbook's folder, not with the package alone"
        )


def check_experiment(experiment: Any, known: Sequence[str], name: str = "experiment") -> None:
    """Raise unless `experiment`, or what `name` calls it, is one of the names that are `known`."""
    if not isinstance(experiment, str):
        raise TypeError(f"{name} must be a name, not {kind_of(experiment)}")
    check_known(name, [experiment], known, f"there are: {', '.join(known)}")


def check_values(name: str, values: Any, least: int = 1) -> None:
    """Raise unless `values`, known as `name`, is a sequence of finite numbers, `least` of them or more."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        fix = f": use {name}.tolist()" if hasattr(values, "tolist") else ""
        raise TypeError(f"{name} must be a list of numbers, one per run, not {kind_of(values)}{fix}")
    if len(values) < least:
        why = "a spread needs two" if least > 1 else "there is nothing to show"
        raise ValueError(f"{name} has {len(values)} numbers: {why}")
    for i, value in enumerate(values):
        check_number(f"{name}[{i}]", value)
        check_finite(f"{name}[{i}]", value)


def check_finite(name: str, value: float) -> None:
    """Raise unless `value` is a number that a scale can hold."""
    if abs(value) > LARGEST or math.isnan(value):
        raise ValueError(f"{name} is {_short(value)}: it has no place among the others")


def check_groups(groups: Any) -> None:
    """Raise unless `groups` is a dict of dicts of lists of numbers, none of them empty, named by strings."""
    check_named("groups", groups, "a dict from group to a dict from series to its numbers")
    for name, series in groups.items():
        check_named(f"groups[{name!r}]", series, "a dict from series to its numbers")
        for each, values in series.items():
            check_values(f"groups[{name!r}][{each!r}]", values)


def check_named(name: str, named: Any, form: str, keys: tuple[type, ...] = (str,)) -> None:
    """Raise unless `named` is a dict of this form, not empty, its names of these kinds."""
    if not isinstance(named, Mapping):
        raise TypeError(f"{name} must be {form}, not {kind_of(named)}")
    if not named:
        raise ValueError(f"{name} is empty: there is nothing to show")
    for key in named:
        if not isinstance(key, keys) or isinstance(key, bool):
            what = "strings as names" if keys == (str,) else "numbers as places"
            raise TypeError(f"{name} must have {what}, but one is {kind_of(key)}")


def check_label(label: Any, name: str = "label") -> None:
    """Raise unless `label`, known as `name`, says what the numbers are."""
    if not isinstance(label, str):
        raise TypeError(f"{name} must be a string, not {kind_of(label)}")
    if not label.strip():
        raise ValueError(f"{name} is empty: a scale needs its unit")


def _short(value: float) -> str:
    """A number in a message; one with hundreds of digits is not written out."""
    return f"{value:g}" if isinstance(value, float) else "a whole number of over 100 digits"
