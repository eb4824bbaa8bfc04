"""Curves: a line through the means, a band of two standard errors, names that don't lie on each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pixels import near, pixels

from prefixlm_teach import plot_curves
from prefixlm_teach.curves import _apart
from prefixlm_teach.pictures import LEAKED, PAST
from prefixlm_teach.spread import MARKS

LABELS = {"across": "steps", "up": "words wrong, %"}


def box(image: np.ndarray, color: str) -> tuple[int, int, int, int]:
    """The first and last column and the first and last row where a colour is."""
    rows, columns = np.nonzero(near(image, color))
    return columns.min(), columns.max(), rows.min(), rows.max()


def test_a_line_goes_through_the_means_on_the_scale_of_the_other() -> None:
    """The other line gives the scale: it goes from corner to corner."""
    curves = {"": {0: [0.0], 10: [100.0]}, " ": {0: [20.0, 30.0], 10: [70.0, 80.0]}}
    image = pixels(plot_curves(curves, **LABELS))
    left, right, top, bottom = box(image, PAST)
    found = near(image, LEAKED)
    for x, y in ((0, 25), (10, 75), (5, 50)):
        column, row = left + (right - left) * x / 10, bottom - (bottom - top) * y / 100
        near_by = found[round(row) - 12 : round(row) + 13, round(column) - 12 : round(column) + 13]
        assert near_by.any(), (x, y)
    assert right > left + 300


def test_the_band_is_two_standard_errors_on_either_side() -> None:
    curves = {"": {0: [0.0], 10: [100.0]}, " ": {5: [40.0, 60.0], 6: [40.0, 60.0]}}
    image = pixels(plot_curves(curves, **LABELS))
    *_, top, bottom = box(image, PAST)
    *_, high, low = box(image, MARKS[1][2])
    ends = [(bottom - row) / (bottom - top) * 100 for row in (low, high)]
    assert ends == pytest.approx([30.0, 70.0], abs=2.5)


def test_a_logarithmic_scale_gives_each_power_the_same_room() -> None:
    curves = {"": {1: [1.0], 10: [10.0], 100: [100.0]}}
    straight = pixels(plot_curves(curves, **LABELS, log="xy"))
    rows, columns = np.nonzero(near(straight, PAST))
    left, right = columns.min(), columns.max()
    for share in (0.25, 0.5, 0.75):
        at = abs(columns - (left + share * (right - left))) < 2
        height = (rows.max() - rows[at].mean()) / (rows.max() - rows.min())
        assert height == pytest.approx(share, abs=0.03)


def test_a_band_does_not_leave_a_logarithmic_scale() -> None:
    plot_curves({"a": {1: [0.01, 5.0], 2: [0.02, 6.0]}}, **LABELS, log="y")


@given(st.lists(st.floats(0, 300), min_size=1, max_size=8))
def test_names_are_a_line_apart_in_the_order_of_their_lines(heights: list[float]) -> None:
    moved = _apart(heights, 17)
    order = sorted(range(len(heights)), key=heights.__getitem__)
    assert all(moved[b] - moved[a] >= 17 - 1e-9 for a, b in pairwise(order))
    assert all(new >= old for new, old in zip(moved, heights, strict=True))
    if all(b - a >= 17 for a, b in pairwise(sorted(heights))):
        assert moved == heights


def test_the_words_say_where_each_line_begins_ends_and_turns() -> None:
    picture = plot_curves({"a": {1: [4.0, 6.0], 2: [1.0], 4: [3.0]}, "b": {2: [7.0]}}, **LABELS)
    assert picture.alt == (
        "words wrong, %, over steps. a: from 5 at 1 to 3 at 4, lowest 1 at 2, highest 5 at 1; b: 7 at 2."
    )


@pytest.mark.parametrize(
    "values", [{1: [5.0]}, {0: [0.0], 1: [0.0]}, {-3: [-1e9], 3: [1e9]}, {1: [1e-9], 2: [2e-9]}]
)
def test_any_curve_can_be_drawn(values: dict[float, list[float]]) -> None:
    assert near(pixels(plot_curves({"a": values}, **LABELS)), PAST).any()


def test_a_name_is_written_as_it_stands() -> None:
    odd = "$\\foo$ <b>"
    assert odd in plot_curves({odd: {1: [1.0]}}, across=odd, up=odd).alt


def draw(curves: Any, **changed: Any) -> Callable[[], Any]:
    return lambda: plot_curves(curves, **LABELS | changed)


GOOD = {"a": {1: [1.0]}}
BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (draw({}), ValueError, "curves is empty: there is nothing to show"),
    (
        draw([1.0]),
        TypeError,
        "curves must be a dict from series to a dict from place to its numbers, not list",
    ),
    (draw({1: {1: [1.0]}}), TypeError, "curves must have strings as names, but one is int"),
    (draw({"a": {}}), ValueError, "curves['a'] is empty"),
    (draw({"a": [1.0]}), TypeError, "curves['a'] must be a dict from place to its numbers, not list"),
    (draw({"a": {"1": [1.0]}}), TypeError, "curves['a'] must have numbers as places, but one is str"),
    (draw({"a": {True: [1.0]}}), TypeError, "curves['a'] must have numbers as places, but one is bool"),
    (draw({"a": {math.inf: [1.0]}}), ValueError, "a place of curves['a'] is inf"),
    (draw({"a": {1: 1.0}}), TypeError, "curves['a'][1] must be a list of numbers, one per run, not float"),
    (draw({"a": {1: []}}), ValueError, "curves['a'][1] has 0 numbers"),
    (draw({"a": {1: [math.nan]}}), ValueError, "curves['a'][1][0] is nan"),
    (
        draw({"a": {0: [1.0]}}, log="x"),
        ValueError,
        "curves['a'] has a place at 0, which no logarithmic scale has",
    ),
    (draw({"a": {1: [1.0, -2.0]}}, log="y"), ValueError, "curves['a'][1] holds -2, which no logarithmic"),
    (draw(GOOD, log="yx"), ValueError, "log is 'yx': it must be one of '', 'x', 'y', 'xy'"),
    (draw(GOOD, log=True), TypeError, "log must be a string, not bool"),
    (draw(GOOD, across=""), ValueError, "across is empty: a scale needs its unit"),
    (draw(GOOD, up=3), TypeError, "up must be a string, not int"),
]


@pytest.mark.parametrize(("call", "error", "said"), BAD)
def test_what_cannot_be_drawn_is_refused(call: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(said) or said in str(caught.value)
