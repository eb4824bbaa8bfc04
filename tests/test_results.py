"""Results: what was written down comes back, differences are held against seeds, pictures show each run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pixels import near, pixels

from prefixlm_teach import compare, load_benchmark, load_results, plot_spread
from prefixlm_teach.pictures import LEAKED, PAST
from prefixlm_teach.results import BENCHMARKS, RESULTS
from prefixlm_teach.spread import MARKS

SAMPLES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8)


def test_every_run_comes_back_as_it_was_written() -> None:
    names = sorted((RESULTS / "g2p").glob("*.json"))
    found = load_results("g2p")
    assert found == [json.loads(path.read_text(encoding="utf-8")) for path in names]
    assert found


def test_a_name_that_is_unknown_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"experiment .*'words'.*there are: .*g2p"):
        load_results("words")
    with pytest.raises(ValueError, match="experiment"):
        load_results("../results/g2p")
    with pytest.raises(TypeError, match="experiment must be a name, not int"):
        load_results(3)  # type: ignore[arg-type]


def test_a_package_without_the_folder_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("prefixlm_teach.results.RESULTS", tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="the results come with the handbook's folder"):
        load_results("g2p")


def test_a_benchmark_comes_back_as_it_was_written() -> None:
    written = json.loads((BENCHMARKS / "mask.json").read_text(encoding="utf-8"))
    assert load_benchmark("mask") == written
    with pytest.raises(ValueError, match=r"benchmark .*'masks'.*there are: .*mask"):
        load_benchmark("masks")
    with pytest.raises(TypeError, match="benchmark must be a name, not int"):
        load_benchmark(3)  # type: ignore[arg-type]


@given(SAMPLES, SAMPLES)
def test_a_difference_and_its_error_are_those_of_numpy(first: list[float], second: list[float]) -> None:
    found = compare(first, second)
    a, b = np.array(first), np.array(second)
    assert math.isclose(found.mean, a.mean() - b.mean(), abs_tol=1e-6)
    assert math.isclose(found.error, math.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)), abs_tol=1e-6)
    back = compare(second, first)
    assert math.isclose(back.mean, -found.mean, abs_tol=1e-9)
    assert back.error == pytest.approx(found.error)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ([40.0, 42.0], [30.0, 32.0], "+10.0 ± 1.4, clear"),
        ([30.0, 32.0], [40.0, 42.0], "-10.0 ± 1.4, clear"),
        ([40.0, 42.0], [39.0, 41.0], "+1.0 ± 1.4, not clear"),
        ([1.0, 1.0], [1.0, 1.0], "+0.0 ± 0.0, not clear"),
        ([3.0, 1.0], [0.0, -2.0, -1.0, -1.0], "+3.0 ± 1.1, clear"),
        ([0.031, 0.032, 0.033], [0.011, 0.012, 0.013], "+0.02000 ± 0.00082, clear"),
        ([0.02, 0.02], [0.01, 0.01], "+0.010 ± 0.000, clear"),
    ],
)
def test_a_difference_is_clear_beyond_twice_its_error(
    first: list[float], second: list[float], said: str
) -> None:
    assert str(compare(first, second)) == said


def places_of(image: np.ndarray, color: str) -> list[float]:
    """The middles of the marks of a colour, from left to right; marks must not touch."""
    columns = np.flatnonzero(near(image, color).any(0))
    return [float(run.mean()) for run in np.split(columns, np.flatnonzero(np.diff(columns) > 2) + 1)]


def test_marks_stand_where_their_numbers_are_and_the_line_at_their_mean() -> None:
    """The other series give the scale: their runs are alike, so that marks and mean are in one place."""
    scale = {"b": [-5.0, -5.0], "c": [15.0, 15.0]}
    image = pixels(plot_spread({"g": {"a": [0.0, 1.0, 2.0, 9.0], **scale}}, label="seconds"))
    (left,) = places_of(image, LEAKED)
    (right,) = places_of(image, MARKS[2][1])
    found = [(x - left) / (right - left) * 20 - 5 for x in places_of(image, PAST)]
    assert found == pytest.approx([0.0, 1.0, 2.0, 3.0, 9.0], abs=0.1)


def test_the_band_is_two_standard_errors_on_either_side() -> None:
    scale = {"b": [-5.0, -5.0], "c": [15.0, 15.0]}
    image = pixels(plot_spread({"g": {"a": [0.0, 1.0, 2.0, 9.0], **scale}}, label="seconds"))
    (left,) = places_of(image, LEAKED)
    (right,) = places_of(image, MARKS[2][1])
    band = np.flatnonzero(near(image, MARKS[0][2]).any(0))
    ends = [(x - left) / (right - left) * 20 - 5 for x in (band[0], band[-1])]
    error = math.sqrt(sum((x - 3) ** 2 for x in (0, 1, 2, 9)) / 3) / 2
    assert ends == pytest.approx([3 - 2 * error, 3 + 2 * error], abs=0.15)


def test_a_series_bears_one_mark_in_all_groups_told_apart_by_shape_too() -> None:
    picture = plot_spread({"x": {"a": [1.0], "b": [2.0]}, "y": {"b": [3.0], "a": [4.0]}}, label="%")
    image = pixels(picture)
    assert len(places_of(image, PAST)) == len(places_of(image, LEAKED)) == 2
    assert len({shape for shape, *_ in MARKS}) == len(MARKS)


@pytest.mark.parametrize("values", [[5.0], [5.0, 5.0], [0.0], [-3.0, 3.0], [1e-9, 2e-9], [1e9, 1e9 + 1]])
def test_any_spread_can_be_drawn(values: list[float]) -> None:
    assert places_of(pixels(plot_spread({"g": {"a": values}}, label="%")), PAST)


def test_the_words_name_every_series() -> None:
    picture = plot_spread({"rotary": {"causal": [1.0, 2.0], "prefix": [4.0]}}, label="words wrong, %")
    assert picture.alt == (
        "words wrong, %. rotary, causal: mean 1.5, 2 runs from 1.0 to 2.0; rotary, prefix: mean 4.0, 1 run."
    )


def test_small_numbers_are_not_rounded_away() -> None:
    picture = plot_spread({"g": {"a": [0.011, 0.012], "b": [0.031, 0.033]}}, label="nats")
    assert "a: mean 0.0115, 2 runs from 0.0110 to 0.0120; g, b: mean 0.0320" in picture.alt


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: compare([1.0], [1.0, 2.0]), ValueError, "first has 1 numbers: a spread needs two"),
    (lambda: compare([1.0, 2.0], []), ValueError, "second has 0 numbers"),
    (lambda: compare("12", [1.0, 2.0]), TypeError, "first must be a list of numbers"),
    (lambda: compare([1.0, 2.0], 3.0), TypeError, "second must be a list of numbers"),
    (lambda: compare([1.0, float("nan")], [1.0, 2.0]), ValueError, "first[1] is nan"),
    (lambda: compare([1.0, True], [1.0, 2.0]), TypeError, "first[1] must be a number, not bool"),
    (lambda: compare([1.0, 2.0], [1.0, "2"]), TypeError, "second[1] must be a number, not str"),
    (lambda: compare([1e200, -1e200], [1.0, 2.0]), ValueError, "first[0] is 1e+200"),
    (lambda: compare([10**400, 1], [1.0, 2.0]), ValueError, "first[0] is a whole number of over 100 digits"),
    (lambda: compare(np.ones(3), [1.0, 2.0]), TypeError, "use first.tolist()"),
    (lambda: compare([1.0, np.float32(1)], [1.0, 2.0]), TypeError, "use float(first[1])"),
    (lambda: plot_spread({}, label="%"), ValueError, "groups is empty"),
    (lambda: plot_spread([1.0], label="%"), TypeError, "groups must be a dict from group to a dict"),
    (lambda: plot_spread({"g": [1.0]}, label="%"), TypeError, "groups['g'] must be a dict from series"),
    (lambda: plot_spread({"g": {}}, label="%"), ValueError, "groups['g'] is empty"),
    (lambda: plot_spread({1: {"a": [1.0]}}, label="%"), TypeError, "strings as names, but one is int (1)"),
    (lambda: plot_spread({"g": {2: [1.0]}}, label="%"), TypeError, "strings as names, but one is int (2)"),
    (lambda: plot_spread({"g": {"a": []}}, label="%"), ValueError, "groups['g']['a'] has 0 numbers"),
    (lambda: plot_spread({"g": {"a": 1.0}}, label="%"), TypeError, "groups['g']['a'] must be a list"),
    (lambda: plot_spread({"g": {"a": [math.inf]}}, label="%"), ValueError, "groups['g']['a'][0] is inf"),
    (lambda: plot_spread({"g": {"a": [1.0]}}, label=3), TypeError, "label must be a string, not int (3)"),
    (lambda: plot_spread({"g": {"a": [1.0]}}, label=" "), ValueError, "label is empty"),
]


@pytest.mark.parametrize(("call", "error", "says"), BAD)
def test_what_cannot_be_shown_is_refused_in_words(
    call: Callable[[], Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error) as caught:
        call()
    assert says in str(caught.value)
