"""The strip of a picture: tokens in lines, prefix and target told apart, the scored and the noise marked.

Sizes and places are in CSS pixels. What is told by colour is told by a mark or a place as well.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from matplotlib.axes import Axes

from prefixlm_teach.drawing import KEY
from prefixlm_teach.pictures import (
    FAINT,
    INK,
    LOST_LINES,
    MUTED,
    OPENED_LINES,
    PAPER,
    PREFIX,
    SCORED,
    fill,
    outline,
    shown,
    width_of,
    write,
)

GAP, TALL = 26, 30  # between two tokens; how tall one is


def strip_places(tokens: Sequence[str], width: float) -> list[tuple[float, float, float]]:
    """Set tokens in lines no wider than `width`: left, top and width of each."""
    places, x, y = [], 0.0, 0.0
    for token in tokens:
        wide = max(TALL, width_of(shown(token), 13) + 18)
        if x and x + wide > width:
            x, y = float(GAP), y + TALL + 50  # room for the arrow that comes from the line above
        places.append((x, y, wide))
        x += wide + GAP
    return places


def draw_strip(
    axes: Axes,
    tokens: Sequence[str],
    prefix_len: int | None,
    places: list[tuple[float, float, float]],
    *,
    labels: Sequence[str | None] | None = None,
    cloze: bool = False,
) -> None:
    """Draw the tokens, the prefix shaded; an arrow from each row that scores, a dot under its label.

    `labels` has what is asked for at each place, None for nothing; when left out, each target token is, but
    the first of all. In a cloze there are no arrows: a place is asked in its own row, for what stands under
    it. A prefix length of None tells no parts apart.
    """
    p = prefix_len or 0
    for t, (token, (x, y, wide)) in enumerate(zip(tokens, places, strict=True)):
        in_prefix, scored = t < p, t >= max(p, 1) if labels is None else labels[t] is not None
        fill(axes, [(x, y, wide, TALL)], PREFIX if in_prefix else PAPER)
        edge = (SCORED, 1.75) if scored else (OPENED_LINES, 1.0) if in_prefix else (MUTED, 1.0)
        outline(axes, x, y, wide, TALL, *edge)
        write(axes, x + wide / 2, y + TALL / 2, shown(token), 13, bold=scored)
        write(axes, x + wide / 2, y - 8, str(t), 9, color=MUTED)
        if scored:
            axes.plot([x + wide / 2], [y + TALL + 9], "o", color=SCORED, markersize=5, clip_on=False)
        if scored and cloze and labels is not None:
            write(axes, x + wide / 2, y + TALL + 21, shown(str(labels[t])), 11, color=SCORED, bold=True)
        elif scored:
            axes.annotate(
                "",
                (x - 3, y + TALL / 2),
                (x - GAP + 3, y + TALL / 2),
                arrowprops={"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0},
                annotation_clip=False,
            )
    if prefix_len is None:
        return
    for first, last, name in ((0, p - 1, "prefix"), (p, len(tokens) - 1, "target")):
        if first <= last:
            draw_brackets(axes, places[first : last + 1], f"{name} ({last + 1 - first})")


def draw_noise(
    axes: Axes, tokens: Sequence[str], noise: Collection[int], places: list[tuple[float, float, float]]
) -> None:
    """Draw the tokens of a sentence; those whose numbers are in `noise` bear a hatched bar."""
    color, style = KEY["noise"]
    for t, (token, (x, y, wide)) in enumerate(zip(tokens, places, strict=True)):
        outline(axes, x, y, wide, TALL, *((LOST_LINES, 1.75) if t in noise else (MUTED, 1.0)))
        write(axes, x + wide / 2, y + TALL / 2, shown(token), 13)
        write(axes, x + wide / 2, y - 8, str(t), 9, color=MUTED)
        if t in noise:
            fill(axes, [(x, y + TALL + 3, wide, 7)], color, **style)


def draw_brackets(axes: Axes, places: list[tuple[float, float, float]], name: str) -> None:
    """Draw a line over a part of the strip, on each line of it; the first bears its name."""
    for i, (top, line) in enumerate(groupby(places, key=lambda place: place[1])):
        boxes = list(line)
        left, right = boxes[0][0], boxes[-1][0] + boxes[-1][2]
        axes.plot([left, right], [top - 17, top - 17], color=FAINT, linewidth=1.5, clip_on=False)
        if i == 0:
            write(axes, left, top - 28, name, 12, ha="left", color=MUTED)
