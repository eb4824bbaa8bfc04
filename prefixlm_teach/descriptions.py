"""Words for what a picture shows, made from the data: what a screen reader speaks."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from prefixlm_teach.arguments import check_has_values
from prefixlm_teach.mask_arguments import check_bool_mask

OWN = -1  # stands for "the row's own column" as the end of a run


def describe_mask(mask: Tensor) -> str:
    """Say in a sentence which rows (queries) of a mask see which columns (keys).

    Neighbouring rows that see the same columns are spoken of together, and so are neighbouring rows that
    each see up to their own column.

    Args:
        mask: booleans, (T, T) or (B, 1, T, T), True = may attend.

    Returns:
        One or more sentences; for a batch, each begins with "Example b: ".

    Raises:
        TypeError: `mask` is not boolean.
        ValueError: `mask` is neither (T, T) nor (B, 1, T, T).
    """
    check_bool_mask(mask)
    check_has_values("mask", mask)
    if mask.ndim == 2:
        return _describe_one(mask)
    if len(mask) == 1:
        return _describe_one(mask[0, 0])
    return " ".join(f"Example {b}: {_describe_one(one[0])}" for b, one in enumerate(mask))


def _describe_one(mask: Tensor) -> str:
    rows = [_runs(row, own) for own, row in enumerate(mask.tolist())]
    groups: list[tuple[int, int, list[tuple[int, int]]]] = []
    for q, (exact, relative) in enumerate(rows):
        if groups:
            first, last, runs = groups[-1]
            if runs in (exact, relative):
                groups[-1] = (first, q, runs)
                continue
            if first == last and rows[first][1] == relative and relative:
                groups[-1] = (first, q, relative)
                continue
        groups.append((q, q, exact))
    said = "; ".join(_say(*group) for group in groups)
    return f"{mask.shape[0]} rows (queries) by {mask.shape[1]} columns (keys): {said}."


def _runs(row: Sequence[bool], own: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The runs of True in a row, first to last column; once as they are, once with the own column as OWN."""
    edges = [i for i, (a, b) in enumerate(zip([False, *row], [*row, False], strict=True)) if a != b]
    exact = [(start, end - 1) for start, end in zip(edges[::2], edges[1::2], strict=True)]
    relative = [(start, OWN) if end == own else (start, end) for start, end in exact]
    return exact, relative


def _say(first: int, last: int, runs: list[tuple[int, int]]) -> str:
    many = first != last
    who = f"rows {first} to {last}" if many else f"row {first}"
    if not runs:
        return f"{who} see{'' if many else 's'} nothing"
    if runs == [(0, OWN)]:
        return f"{who} each see column 0 up to their own"
    what = [
        f"{start} up to their own" if end == OWN else (f"{start}" if start == end else f"{start} to {end}")
        for start, end in runs
    ]
    column = "column" if len(runs) == 1 and runs[0][0] == runs[0][1] else "columns"
    return f"{who} see{'' if many else 's'} {column} {' and '.join(what)}"
