"""The PNG of the state explorer: the tokens that are in the state, its numbers, and what they have cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from torch import Tensor

from prefixlm_teach.drawing_strip import TALL, draw_brackets, strip_places
from prefixlm_teach.pictures import (
    BLOCKED,
    INK,
    KEPT,
    KEPT_LINES,
    LEAKED,
    MUTED,
    PAPER,
    PAST,
    PX,
    Picture,
    canvas,
    fill,
    finish,
    outline,
    plain_settings,
    shown,
    write,
)
from prefixlm_teach.widgets.state_numbers import highest_work, seen_by, share_of, write_number

WIDE, CELL, HIGH = 760, 68.0, 46.0  # the strip; a cell of the state
FULL = 0.6  # how much colour the highest number has: what is written on it must be read
CORNER = 8.0  # the mark of a number below 0
TRACK = 150.0  # the longest bar


class Filling(NamedTuple):
    """What a row finds.

    Attributes:
        state: the (d, d + 1) numbers that the row reads, S and z.
        added: what has come to them since the row before.
        out: the (d,) numbers read out of them.
        every: the states of 1 to T tokens, as `state`: they say what the darkest shade stands for.
        counts: for each heading the figures, by name.
    """

    state: Tensor
    added: Tensor
    out: Tensor
    every: Sequence[Tensor]
    counts: Mapping[str, Mapping[str, int]]


def draw_state(
    tokens: Sequence[str], row: int, prefix_len: int, filling: Filling, description: str
) -> Picture:
    """Draw what a row finds; `description` becomes the alternative text."""
    places = strip_places(tokens, WIDE)
    below = places[-1][1] + TALL
    d = len(filling.state)
    top = below + 150
    wide = 70 + CELL * (d + 1)
    with plain_settings():
        figure = Figure(figsize=((wide + 520) * PX, (top + max(HIGH * d + 130, 330)) * PX))
        _draw_tokens(canvas(figure, 30, 50, WIDE, below), tokens, row, prefix_len, places)
        title = f"The state that row {row}, “{shown(tokens[row])}”, reads"
        axes = canvas(figure, 90, top, CELL * (d + 1), HIGH * d)
        write(axes, -60, -44, title, 14, ha="left", bold=True)
        _draw_cells(axes, filling)
        _draw_legend(axes, HIGH * (d + 1) + 26)
        _draw_work(canvas(figure, 60 + wide + 40, top - 44, 400, 300), filling.counts, len(tokens), d)
        return finish(figure, description)


def _draw_tokens(
    axes: Axes,
    tokens: Sequence[str],
    row: int,
    prefix_len: int,
    places: list[tuple[float, float, float]],
) -> None:
    """Draw the tokens; those in the state have a hatched bar, and the row that reads it has an arrow."""
    for t, (token, (x, y, wide)) in enumerate(zip(tokens, places, strict=True)):
        held, reads = t < seen_by(row, prefix_len), t == row
        write(axes, x + wide / 2, y - 8, str(t), 9, color=MUTED)
        outline(axes, x, y, wide, TALL, *((INK, 2.0) if reads else (KEPT_LINES if held else MUTED, 1.0)))
        write(axes, x + wide / 2, y + TALL / 2, shown(token), 13, bold=reads, color=INK if held else MUTED)
        if held:
            fill(axes, [(x, y + TALL + 4, wide, 8)], KEPT, hatch="||||", edgecolors=KEPT_LINES)
        if reads:
            write(axes, x + wide / 2, y + TALL + 21, "▲", 10)
    for first, last, name in ((0, prefix_len, "prefix"), (prefix_len, len(tokens), "target")):
        if first < last:
            draw_brackets(axes, places[first:last], f"{name} ({last - first})")


def _draw_cells(axes: Axes, filling: Filling) -> None:
    """Draw S and z, each number with what this row has added to it, and below them what the row reads."""
    d = len(filling.state)
    highest = max(float(each[:, :-1].abs().max()) for each in filling.every)
    highest_z = float(filling.every[-1][:, -1].max())
    added_any = bool(filling.added.any())
    for i, line in enumerate(filling.state.tolist()):
        y = HIGH * i
        write(axes, -8, y + HIGH / 2, f"φ(k) {i}", 12, ha="right", color=MUTED)
        for j, number in enumerate(line):
            in_z = j == d
            share = share_of(number, highest_z if in_z else highest) / 100
            color = KEPT if in_z else LEAKED if number < 0 else PAST
            fill(axes, [(CELL * j, y, CELL, HIGH)], _tint(color, share))
            if number < 0:
                corner = ([CELL * j, CELL * j, CELL * j + CORNER], [y + HIGH, y + HIGH - CORNER, y + HIGH])
                axes.fill(*corner, color=LEAKED, linewidth=0, clip_on=False)
            middle = CELL * (j + 0.5)
            write(axes, middle, y + 17, write_number(number, signed=not in_z), 13, bold=True)
            more = write_number(float(filling.added[i, j])) if added_any else "same"
            write(axes, middle, y + 35, more, 10)
    for j in range(d + 1):
        name = "z" if j == d else f"v {j}"
        write(axes, CELL * (j + 0.5), -10, name, 12, color=MUTED)
        if j:
            axes.plot([CELL * j] * 2, [0, HIGH * d], color=MUTED if j == d else PAPER, linewidth=1)
    axes.hlines([HIGH * i for i in range(1, d)], 0, CELL * (d + 1), color=PAPER, linewidth=1)
    outline(axes, 0, 0, CELL * (d + 1), HIGH * d)
    write(axes, -8, HIGH * d + 22, "out", 12, ha="right", color=MUTED)
    for j, number in enumerate(filling.out.tolist()):
        write(axes, CELL * (j + 0.5), HIGH * d + 22, write_number(number), 13, bold=True)


def _tint(color: str, share: float) -> tuple[float, ...]:
    """Mix a colour with the paper's."""
    return tuple(
        FULL * share * ink + (1 - FULL * share) * paper
        for ink, paper in zip(to_rgb(color), to_rgb(PAPER), strict=True)
    )


def _draw_legend(axes: Axes, y: float) -> None:
    """Say what the colours and the small figures are."""
    for x, color, said in (
        (0, PAST, "above 0"),
        (100, LEAKED, "below 0"),
        (200, KEPT, "z, by a scale of its own"),
    ):
        fill(axes, [(x, y - 7, 14, 14)], _tint(color, 1.0))
        outline(axes, x, y - 7, 14, 14)
        if color == LEAKED:
            axes.fill([x, x, x + 7], [y + 7, y, y + 7], color=LEAKED, linewidth=0, clip_on=False)
        write(axes, x + 20, y, said, 12, ha="left")
    write(
        axes,
        0,
        y + 22,
        "small figures: what this row has added; last line: what its query reads",
        12,
        ha="left",
        color=MUTED,
    )


def _draw_work(axes: Axes, counts: Mapping[str, Mapping[str, int]], seq_len: int, d: int) -> None:
    """Draw the counts as bars; under each heading the longest stands for the most that can come."""
    y, highest = 0.0, highest_work(seq_len, d)
    for heading, figures in counts.items():
        write(axes, 0, y, heading, 13, ha="left", bold=True)
        for name, figure in figures.items():
            y += 24
            write(axes, 0, y, name, 12, ha="left", color=MUTED)
            fill(axes, [(130, y - 6, TRACK, 12)], BLOCKED)
            fill(axes, [(130, y - 6, TRACK * figure / highest[heading], 12)], PAST)
            write(axes, 130 + TRACK + 10, y, f"{figure:,}", 12, ha="left", bold=True)
        y += 40
