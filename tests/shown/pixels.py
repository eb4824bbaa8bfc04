"""Read a picture's pixels back: where which colour is, and which kind of cell stands where in a grid."""

from __future__ import annotations

import io
from itertools import pairwise

import numpy as np
from PIL import Image

from prefixlm_teach.drawing_bars import ROOM, TRACK
from prefixlm_teach.pictures import (
    BLOCKED,
    DONE,
    GREY_LINES,
    KEPT,
    LEAKED,
    LOST_LINES,
    MUTED,
    OPENED,
    OPENED_LINES,
    PAST,
    Picture,
)

KINDS = {"past": PAST, "opened": OPENED, "blocked": BLOCKED, "leaked": LEAKED, "kept": KEPT, "done": DONE}
TOLD_BY_LINES = {"lost": LOST_LINES, "padding": GREY_LINES}
SMALLEST = 80  # pixels; nothing but a grid is that high and wide


def pixels(picture: Picture) -> np.ndarray:
    """Return the (height, width, 3) colours of a picture."""
    return np.asarray(Image.open(io.BytesIO(picture.png)).convert("RGB")).astype(int)


def near(image: np.ndarray, color: str) -> np.ndarray:
    """Where `image` has `color`, give or take what a palette of few colours changes."""
    wanted = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return (abs(image - wanted).max(-1) <= 6).astype(bool)


def _bands(filled: np.ndarray) -> list[tuple[int, int]]:
    """The stretches of True, first and one past the last, that are long enough for a grid; gaps as thin as
    the lines between cells don't part them."""
    places = np.flatnonzero(filled)
    if not len(places):
        return []
    breaks = np.flatnonzero(np.diff(places) > 8)
    starts, ends = [places[0], *places[breaks + 1]], [*places[breaks], places[-1]]
    return [(a, b + 1) for a, b in zip(starts, ends, strict=True) if b - a >= SMALLEST]


def grids_in(picture: Picture) -> list[np.ndarray]:
    """Cut the grids of cells out of a picture, in reading order."""
    image = pixels(picture)
    colors = (*KINDS.values(), *TOLD_BY_LINES.values(), OPENED_LINES)
    colored = np.logical_or.reduce([near(image, color) for color in colors])
    found = []
    for top, bottom in _bands(colored.sum(1) > SMALLEST / 2):
        columns = colored[top:bottom].sum(0) > 0.15 * (bottom - top)
        for left, right in _bands(columns):
            found.append(image[top:bottom, left:right])
    return found


def framed_in(picture: Picture) -> np.ndarray:
    """Cut out what stands in the highest frame of a picture: a grid whose cells have any colour."""
    image = pixels(picture)
    frame = near(image, MUTED)
    edges = np.flatnonzero(frame.sum(0) > 2 * SMALLEST)
    left, right = edges[0], edges[-1]
    lines = np.flatnonzero(frame[:, left : right + 1].mean(1) > 0.9)
    return np.asarray(image[lines[0] : lines[-1] + 1, left : right + 1])


def cells_of(grid: np.ndarray, n: int) -> list[list[np.ndarray]]:
    """Cut a grid into its n x n cells."""
    rows = np.linspace(0, len(grid), n + 1).round().astype(int)
    columns = np.linspace(0, grid.shape[1], n + 1).round().astype(int)
    return [[grid[a:b, c:d] for c, d in pairwise(columns)] for a, b in pairwise(rows)]


def kind_of(cell: np.ndarray) -> str:
    """Name the kind of a cell: "past", "opened", "blocked", "padding", "leaked", "lost", "kept" or "done"."""
    for kind, lines in TOLD_BY_LINES.items():
        if near(cell, lines).mean() > 0.05:
            return kind
    return max(KINDS, key=lambda kind: near(cell, KINDS[kind]).sum())


def kinds_in(picture: Picture, n: int) -> list[list[list[str]]]:
    """Name the kinds of the cells of each (n, n) grid of a picture, row by row."""
    return [[[kind_of(cell) for cell in row] for row in cells_of(grid, n)] for grid in grids_in(picture)]


def bars_in(picture: Picture, columns: int) -> list[list[float | None]]:
    """How long the bars of a table are, in percent of their tracks, line by line; None where there is no bar.

    Lines without any bar are left out. The tracks of the first column always stand furthest to the left.
    """
    image = pixels(picture)
    blue, filled = near(image, PAST), near(image, PAST) | near(image, BLOCKED)
    lines = np.flatnonzero(filled.sum(1) > 100)
    if not len(lines):
        return []
    left = int(np.flatnonzero(filled.sum(0) > 10)[0])
    found = []
    for line in np.split(lines, np.flatnonzero(np.diff(lines) > 1) + 1):
        y = line[len(line) // 4]
        tracks = [slice(left + 2 * ROOM * c, left + 2 * ROOM * c + 2 * TRACK) for c in range(columns)]
        ends = [np.flatnonzero(blue[y, at]).max(initial=-1) + 1 for at in tracks]
        found.append(
            [
                100 * float(end) / (2 * TRACK) if filled[y, at].mean() > 0.8 else None
                for end, at in zip(ends, tracks, strict=True)
            ]
        )
    return found
