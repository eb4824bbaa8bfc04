"""Checks on curves: every `check_...` raises in the reader's words before anything is drawn."""

from __future__ import annotations

from typing import Any

from prefixlm_teach.arguments import check_number, kind_of
from prefixlm_teach.result_arguments import check_finite, check_named, check_values

LOGS = ("", "x", "y", "xy")


def check_log(log: Any) -> None:
    """Raise unless `log` says which scales are logarithmic."""
    if not isinstance(log, str):
        raise TypeError(f"log must be a string, not {kind_of(log)}")
    if log not in LOGS:
        raise ValueError(f"log is {log!r}: it must be one of {', '.join(map(repr, LOGS))}")


def check_curves(curves: Any, log: str) -> None:
    """Raise unless `curves` is a dict of dicts from numbers to lists of numbers, each fit for its scale."""
    check_named("curves", curves, "a dict from series to a dict from place to its numbers")
    for name, places in curves.items():
        known = f"curves[{name!r}]"
        check_named(known, places, "a dict from place to its numbers", keys=(int, float))
        for place, values in places.items():
            check_number(f"a place of {known}", place)
            check_finite(f"a place of {known}", place)
            check_values(f"{known}[{place!r}]", values)
            if "x" in log and place <= 0:
                raise ValueError(f"{known} has a place at {place:g}, which no logarithmic scale has")
            if "y" in log and min(values) <= 0:
                raise ValueError(f"{known}[{place!r}] holds {min(values):g}, which no logarithmic scale has")
