"""A table of bars in a picture: a row for each token, a column for each series, a bar in each cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from prefixlm_teach.pictures import BLOCKED, FAINT, INK, MUTED, PAST, fill, shown, width_of, write

LINE, HEAD, TRACK, ROOM = 26, 54, 132, 220  # heights of a row and of the head, width of a bar, of a column


class Column(NamedTuple):
    """A series: its name, a line that explains it, a value for each token (or None), and their mean."""

    name: str
    note: str
    values: Sequence[float | None]
    mean: float | None


def highest_of(no_idea: int) -> float:
    """The loss that a bar of full length stands for: twice that of a model with no idea among V tokens."""
    return max(2 * math.log(no_idea), 0.01)


def _left(tokens: Sequence[str]) -> float:
    return 50 + max(width_of(shown(token), 13) for token in [*tokens, "mean"])


def bars_size(tokens: Sequence[str], columns: Sequence[Column]) -> tuple[float, float]:
    """The width and height of the table."""
    return _left(tokens) + ROOM * len(columns), HEAD + LINE * (len(tokens) + 1) + 40


def draw_bars(
    axes: Axes, tokens: Sequence[str], columns: Sequence[Column], *, prefix_len: int, no_idea: int
) -> None:
    """Draw the table; a longer bar than `highest_of` is cut, its figure stands beside it as ever."""
    left, highest = _left(tokens), highest_of(no_idea)
    bottom = HEAD + LINE * len(tokens)
    for t, token in enumerate(tokens):
        y = HEAD + LINE * (t + 0.5)
        write(axes, 0, y, str(t), 9, ha="left", color=MUTED)
        write(axes, 24, y, shown(token), 13, ha="left", color=MUTED if t < prefix_len else INK)
    write(axes, 24, bottom + LINE * 0.5 + 4, "mean", 13, ha="left", bold=True)
    axes.plot([0, left + ROOM * len(columns) - 20], [bottom + 2] * 2, color=FAINT, linewidth=1)
    for c, (name, note, values, mean) in enumerate(columns):
        x = left + ROOM * c
        write(axes, x, 10, name, 13, ha="left", bold=True)
        write(axes, x, 30, note, 10, ha="left", color=MUTED)
        for row, value in enumerate([*values, mean]):
            y = HEAD + LINE * row + (6 if row < len(values) else 10)
            if value is not None:
                _draw_bar(axes, x, y, value / highest)
            figure = "–" if value is None else f"{value:.2f}"
            write(axes, x + TRACK + 6, y + 7, figure, 12, ha="left", bold=row == len(values))
        write(axes, x + TRACK / 2, bottom + LINE + 22, f"log {no_idea}: no idea", 10, color=MUTED)


def _draw_bar(axes: Axes, x: float, y: float, share: float) -> None:
    """Draw a bar on its track, with a line in the middle; a bar that is cut ends in stripes."""
    fill(axes, [(x, y, TRACK, 14)], BLOCKED)
    fill(axes, [(x, y, TRACK * min(1.0, share), 14)], PAST)
    if share > 1:
        fill(axes, [(x + TRACK - stripe, y, 2, 14) for stripe in (4, 8, 12)], BLOCKED)
    axes.plot([x + TRACK / 2] * 2, [y, y + 14], color=INK, linewidth=0.8, linestyle=(0, (3, 3)))
