"""The PNG of the cost explorer: the square of all pairs by areas, and the bars of each way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prefixlm_teach.drawing import KEY, draw_legend
from prefixlm_teach.pictures import (
    BLOCKED,
    FAINT,
    INK,
    MUTED,
    PAPER,
    PAST,
    PREFIX,
    PX,
    Picture,
    canvas,
    fill,
    fill_shapes,
    finish,
    outline,
    plain_settings,
    width_of,
    write,
)
from prefixlm_teach.widgets.cost_pairs import AREAS, count_areas, outline_areas, percent

SIDE, LINE, TRACK = 360, 52, 150  # the square, a way's line and its bar, in pixels
MOST = (1500, 1000)  # what the full length of a bar stands for, in tenths of a percent


class Bar(NamedTuple):
    """A way, the pairs that it computes, and in tenths of a percent two shares: of the square, of a layer."""

    way: str
    pairs: int
    of_square: int
    of_layer: int


def draw_cost(
    seq_len: int, prefix_len: int, d_model: int, way: str, bars: Sequence[Bar], alt: str
) -> Picture:
    """Draw the areas of one way, and a line for each."""
    kinds = [AREAS[kind] for kind in count_areas(way, seq_len, prefix_len)]
    with plain_settings():
        figure = Figure(figsize=(1060 * PX, (SIDE + 150 + 24 * len(kinds)) * PX))
        axes = canvas(figure, 70, 90, SIDE, SIDE)
        fill(axes, [(0, 0, SIDE, SIDE)], BLOCKED)
        cell = SIDE / seq_len
        for kind, corners in outline_areas(way, seq_len, prefix_len).items():
            color, style = KEY[AREAS[kind]]
            fill_shapes(axes, [[(k * cell, q * cell) for k, q in corners]], color, **style)
        outline(axes, 0, 0, SIDE, SIDE)
        _draw_edges(axes, prefix_len / seq_len)
        for i, kind in enumerate(kinds):
            draw_legend(axes, 0, SIDE + 26 + 24 * i, [kind])
        head = f"T = {seq_len:,}, p = {prefix_len:,}, d = {d_model:,}: “{way}” is drawn"
        write(axes, -50, -70, head, 14, ha="left", bold=True)
        _draw_bars(canvas(figure, 490, 90, 560, SIDE), way, bars)
        return finish(figure, alt)


def _draw_edges(axes: Axes, share: float) -> None:
    """Say above the square and at its left which tokens are prefix and which are target."""
    for name, start, part in (("prefix", 0.0, share), ("target", share, 1 - share)):
        a, wide = start * SIDE, part * SIDE
        if not part:
            continue
        for left, top, width, height in ((a, -24, wide, 18), (-24, a, 18, wide)):
            fill(axes, [(left, top, width, height)], PREFIX if name == "prefix" else PAPER)
            outline(axes, left, top, width, height, FAINT)
        if wide >= width_of(name, 11) + 6:
            write(axes, a + wide / 2, -15, name, 11)
            write(axes, -15, a + wide / 2, name, 11, rotation=90)
    write(axes, SIDE / 2, -38, "keys: who is seen", 11, color=MUTED)
    write(axes, -40, SIDE / 2, "queries: who looks", 11, color=MUTED, rotation=90)


def _draw_bars(axes: Axes, way: str, bars: Sequence[Bar]) -> None:
    """Draw a table: the ways down, two shares across."""
    columns = {150: "Pairs, share of the square", 365: "Attention in a layer, its share"}
    for left, name in columns.items():
        write(axes, left, 0, name, 12, ha="left", bold=True)
    for i, bar in enumerate(bars):
        y = 20 + LINE * i
        write(axes, 0, y + 7, bar.way, 13, ha="left", bold=bar.way == way)
        write(axes, 0, y + 25, f"{bar.pairs:,} pairs", 11, ha="left", color=MUTED)
        for (left, _), share, most in zip(columns.items(), bar[2:], MOST, strict=True):
            fill(axes, [(left, y, TRACK, 14)], BLOCKED)
            fill(axes, [(left, y, TRACK * min(share / most, 1), 14)], PAST)
            write(axes, left + TRACK + 6, y + 7, percent(share), 12, ha="left")
        dense = 150 + TRACK * 1000 / MOST[0]
        axes.plot([dense, dense], [y - 3, y + 17], color=INK, linewidth=0.8, linestyle=(0, (3, 3)))
    write(axes, 150, 30 + LINE * len(bars), "dashed: every pair once", 11, ha="left", color=MUTED)
