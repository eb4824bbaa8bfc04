"""The parts of a picture: a grid of cells, its labels, a legend.

Sizes and places are in CSS pixels. What is told by colour is told by a hatch, a mark or a place as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import torch
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from torch import Tensor

from prefixlm_teach.pictures import (
    BLOCKED,
    DONE,
    DONE_LINES,
    GREY_LINES,
    INK,
    KEPT,
    KEPT_LINES,
    LEAKED,
    LOST_LINES,
    MUTED,
    OPENED,
    OPENED_LINES,
    PAPER,
    PAST,
    PX,
    fill,
    outline,
    shown,
    width_of,
    write,
)

SHADES = LinearSegmentedColormap.from_list("shades", ["#ffffff", "#9cc4e4", "#2f6fab", "#0b2545"])
LABELLED = 32  # up to so many tokens, each row and column is labelled with its own
HATCHED = {"hatch": "////", "edgecolors": OPENED_LINES}
NO_WEIGHT, CROSSED = "#e9ebee", {"hatch": "xxxx", "edgecolors": GREY_LINES}
KEY = {
    "may attend": (PAST, {}),
    "past": (PAST, {}),
    "opened by the prefix": (OPENED, HATCHED),
    "key after the query": (OPENED, HATCHED),
    "blocked": (BLOCKED, {}),
    "padding": (BLOCKED, {"hatch": "---", "edgecolors": GREY_LINES}),
    "leaked": (LEAKED, {"hatch": "xxx", "edgecolors": PAPER}),
    "lost": (PAPER, {"hatch": "\\\\\\\\", "edgecolors": LOST_LINES}),
    "noise": (PAPER, {"hatch": "\\\\\\\\", "edgecolors": LOST_LINES}),
    "key made in this step": (PAST, {}),
    "key from the cache": (KEPT, {"hatch": "|||", "edgecolors": KEPT_LINES}),
    "done in an earlier step": (DONE, {"hatch": "\\\\\\\\", "edgecolors": DONE_LINES}),
    "not read yet": (BLOCKED, {"hatch": "---", "edgecolors": GREY_LINES}),
    "computed twice": (KEPT, {"hatch": "|||", "edgecolors": KEPT_LINES}),
    "computed, thrown away": (PAPER, {"hatch": "\\\\\\\\", "edgecolors": LOST_LINES}),
    "visible, not computed": (BLOCKED, {"hatch": "---", "edgecolors": GREY_LINES}),
    "not computed": (BLOCKED, {}),
}


def kinds_of(mask: Tensor, *, split: bool) -> dict[str, Tensor]:
    """Tell the cells of a (T, T) mask apart; with `split`, also those the prefix opened from the past."""
    if not split:
        return {"may attend": mask, "blocked": ~mask}
    past = mask & torch.ones_like(mask).tril()  # key <= query
    return {"past": past, "opened by the prefix": mask & ~past, "blocked": ~mask}


def draw_cells(axes: Axes, cells: Tensor, side: float, color: str, **style: object) -> None:
    """Fill the True cells of a (T, T) grid `side` pixels wide: one box for each run in a row."""
    cell = side / len(cells)
    boxes = []
    for q, row in enumerate(cells.tolist()):
        start = 0
        for filled, run in groupby(row):
            length = len(list(run))
            if filled:
                boxes.append((start * cell, q * cell, length * cell, cell))
            start += length
    fill(axes, boxes, color, **style)


def draw_lines(axes: Axes, n_cells: int, side: float) -> None:
    """Part the cells of a grid by fine lines, while there is room for them, and frame it."""
    if n_cells <= 64:
        edges = [side * i / n_cells for i in range(1, n_cells)]
        width = 1.0 if n_cells <= LABELLED else 0.4
        axes.hlines(edges, 0, side, color=PAPER, linewidth=width)
        axes.vlines(edges, 0, side, color=PAPER, linewidth=width)
    outline(axes, 0, 0, side, side)


class Labels:
    """The names of a grid's rows and columns: each one's, or of many every 16th or so by its number.

    Args:
        names: T names.
        side: how wide the grid is.
    """

    def __init__(self, names: Sequence[str], side: float) -> None:
        few = len(names) <= LABELLED
        every = 1 if few else 2 ** ((len(names) - 1).bit_length() - 3)
        self.cell = side / len(names)
        self.size = min(12.0, max(8.0, self.cell * 0.75))
        self.names = {i: shown(names[i]) if few else str(i) for i in range(0, len(names), every)}
        widest = max(width_of(name, self.size) for name in self.names.values())
        self.upright = widest <= self.cell * every - 4
        self.left = 8 + widest  # how far they stick out
        self.up = 8 + (self.size if self.upright else widest)

    def draw(self, axes: Axes, *, rows: bool) -> None:
        """Write the names on top, and with `rows` at the left too."""
        for i, name in self.names.items():
            turn = {} if self.upright else {"rotation": 90}
            write(axes, (i + 0.5) * self.cell, -6, name, self.size, va="bottom", **turn)
            if rows:
                write(axes, -6, (i + 0.5) * self.cell, name, self.size, ha="right")


def side_of(seq_len: int, how_many: int) -> float:
    """How wide a grid is, alone or beside others."""
    widest = {1: 360, 2: 260, 3: 190}.get(min(how_many, 4), 250)
    return float(min(widest, max(44 * seq_len, 90))) if how_many == 1 else float(widest)


def lay_out(how_many: int, side: float, labels: Labels) -> tuple[Figure, list[tuple[float, float]]]:
    """A figure with room for some grids, two or three in a line, and the left upper corner of each."""
    per_line = 3 if how_many == 3 else 2
    left, top, down = labels.left + 30, labels.up + 70, side + labels.up + 66
    places = [(left + (i % per_line) * (side + 28), top + (i // per_line) * down) for i in range(how_many)]
    width, height = left + per_line * (side + 28) + 200, places[-1][1] + side + 110
    return Figure(figsize=(width * PX, height * PX)), places


def draw_head(axes: Axes, side: float, labels: Labels, name: str, *, first: bool) -> None:
    """Write the name of a grid above it, and beside the first one what rows and columns are."""
    if name:
        write(axes, side / 2, -labels.up - 32, name, 14, bold=True)
    if first:
        write(axes, side / 2, -labels.up - 12, "keys: who is seen", 11, color=MUTED)
        write(axes, -labels.left - 14, side / 2, "queries: who looks", 11, color=MUTED, rotation=90)


def draw_weights(axes: Axes, weights: Tensor, side: float, highest: float, *, numbers: bool) -> None:
    """Shade a (T, T) map from 0 to `highest`; `numbers` writes the weights into cells that have room."""
    axes.imshow(weights.numpy(), cmap=SHADES, vmin=0, vmax=highest, extent=(0, side, side, 0), aspect="auto")
    cell = side / len(weights)
    if not numbers or cell < 40:
        return
    for q, row in enumerate(weights.tolist()):
        for k, weight in enumerate(row):
            if weight:
                color = PAPER if weight > 0.5 * highest else INK
                write(axes, (k + 0.5) * cell, (q + 0.5) * cell, f"{weight:.2f}", 11, color=color)


def draw_color_bar(axes: Axes, highest: float, *, blocked: bool) -> None:
    """Say which shade is which weight, and how a blocked cell looks."""
    steps = 64
    for i in range(steps):
        fill(axes, [(i * 2.5, 5, 2.6, 14)], SHADES(i / (steps - 1)))
    outline(axes, 0, 5, 160, 14)
    write(axes, 0, 28, "0", 11, ha="left")
    write(axes, 160, 28, f"{highest:.2f}", 11, ha="right")
    write(axes, 80, 28, "weight", 11, color=MUTED)
    if blocked:
        fill(axes, [(184, 5, 14, 14)], NO_WEIGHT, **CROSSED)
        outline(axes, 184, 5, 14, 14)
        write(axes, 204, 12, "blocked", 12, ha="left")


def draw_legend(axes: Axes, x: float, y: float, kinds: Sequence[str]) -> None:
    """Name the kinds of cell in a row."""
    for kind in kinds:
        color, style = KEY[kind]
        fill(axes, [(x, y - 7, 14, 14)], color, **style)
        outline(axes, x, y - 7, 14, 14)
        write(axes, x + 20, y, kind, 12, ha="left")
        x += 20 + width_of(kind, 12) + 18
