"""A picture of results with their spread: a row for each series, a mark for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import mean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from prefixlm_teach.pictures import (
    FAINT,
    INK,
    LEAKED,
    LOST_LINES,
    MUTED,
    PAST,
    PX,
    SCORED,
    Picture,
    canvas,
    fill,
    finish,
    plain_settings,
    width_of,
    write,
)
from prefixlm_teach.result_arguments import check_groups, check_label
from prefixlm_teach.results import decimals, standard_error

ROW, GAP, TRACK = 24, 14, 330
MARKS = (
    ("o", PAST, "#d5e3f0"),
    ("s", LEAKED, "#f7dfcc"),
    ("^", SCORED, "#cce3dc"),
    ("D", LOST_LINES, "#e5d8ec"),
)
Groups = Mapping[str, Mapping[str, Sequence[float]]]


def plot_spread(groups: Groups, *, label: str) -> Picture:
    """Draw each run as a mark, its series' mean as a line, and two standard errors on either side as a band.

    Args:
        groups: group -> series -> one number per run. Series of one name bear one mark in all groups.
        label: what the numbers are, with their unit.

    Returns:
        The picture, with each series' mean and range as its alternative text.

    Raises:
        TypeError, ValueError: `groups` is no dict of dicts of lists of finite numbers, one is empty, or
            `label` is no text.
    """
    check_groups(groups)
    check_label(label)
    values = list(chain.from_iterable(chain.from_iterable(each.values() for each in groups.values())))
    low, *_, high = ticks = _ticks([*values, *_band_ends(groups)])
    digits = decimals(ticks[1] - ticks[0])
    kinds = list(dict.fromkeys(chain.from_iterable(groups.values())))
    first = 1.12 * max(width_of(name, 13) for name in groups) + 16  # bold letters are wider
    left = first + max(width_of(name, 13) for name in kinds) + 18
    height = sum(ROW * len(each) + GAP for each in groups.values())
    with plain_settings():
        figure = Figure(figsize=((left + TRACK + 120) * PX, (height + 70) * PX))
        axes = canvas(figure, 0, 10, left + TRACK + 100, height)
        for tick in ticks:
            x = left + _place(tick, low, high)
            axes.plot(
                [x, x], [0, height], color=INK if tick == 0 and low < 0 else FAINT, linewidth=0.6, zorder=0
            )
            write(axes, x, height + 12, f"{tick:g}", 11, color=MUTED)
        write(axes, left, height + 34, label, 12, ha="left")
        y = GAP / 2
        for group, each in groups.items():
            write(axes, 0, y + ROW / 2, group, 13, ha="left", bold=True)
            for name, found in each.items():
                write(axes, first, y + ROW / 2, name, 13, ha="left")
                places = [left + _place(value, low, high) for value in found]
                _draw_series(axes, places, y, MARKS[kinds.index(name) % len(MARKS)])
                write(axes, left + TRACK + 14, y + ROW / 2, f"{mean(found):.{digits}f}", 12, ha="left")
                y += ROW
            y += GAP
        return finish(figure, caption_spread(groups, label, digits))


def _draw_series(axes: Axes, places: Sequence[float], y: float, mark: tuple[str, str, str]) -> None:
    shape, color, pale = mark
    middle, error = mean(places), standard_error(places)
    fill(axes, [(middle - 2 * error, y + 3, 4 * error, ROW - 6)], pale, zorder=1)
    axes.plot([middle, middle], [y + 3, y + ROW - 3], color=color, linewidth=2, zorder=2)
    axes.plot(
        places, [y + ROW / 2] * len(places), shape, color=color, markersize=4.5, fillstyle="none", zorder=3
    )


def _band_ends(groups: Groups) -> list[float]:
    series = list(chain.from_iterable(each.values() for each in groups.values()))
    return [mean(found) + side * standard_error(found) for found in series for side in (-2, 2)]


def _ticks(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    room = (high - low) * 0.05 or 1.0  # one value alone still needs a scale
    return [float(tick) for tick in MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(low - room, high + room)]


def _place(value: float, low: float, high: float) -> float:
    return TRACK * (value - low) / (high - low)


def caption_spread(groups: Groups, label: str, digits: int) -> str:
    """Say of each series how many runs it has, their mean and their range, to so many decimals."""
    said = []
    for group, each in groups.items():
        for name, found in each.items():
            lowest, highest, middle = (f"{f(found):.{digits}f}" for f in (min, max, mean))
            runs = "1 run" if len(found) == 1 else f"{len(found)} runs from {lowest} to {highest}"
            said.append(f"{group}, {name}: mean {middle}, {runs}")
    return f"{label}. {'; '.join(said)}."
