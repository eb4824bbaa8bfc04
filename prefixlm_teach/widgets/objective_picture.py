"""The PNG of the objective explorer: the sentence, what the model reads, what it is asked for, the mask."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from prefixlm_teach.captions import caption_mask
from prefixlm_teach.drawing import (
    KEY,
    Labels,
    draw_cells,
    draw_head,
    draw_legend,
    draw_lines,
    kinds_of,
    side_of,
)
from prefixlm_teach.drawing_strip import TALL, draw_noise, draw_strip, strip_places
from prefixlm_teach.pictures import MUTED, PX, SCORED, Picture, canvas, finish, plain_settings, write
from prefixlm_teach.widgets.objective_table import Made

WIDE = 860  # pixels that the strips have


def draw_objective(
    tokens: Sequence[str],
    setting: str,
    made: Made | None,
    row: Sequence[str],
    labels: Sequence[str | None],
    mask: Tensor | None,
    description: str,
) -> Picture:
    """Draw what an objective makes of the sentence `tokens`, or say that nothing can come of it."""
    noise = made.noise if made else ()
    places, reads = strip_places(tokens, WIDE), strip_places(row, WIDE)
    heads = textwrap.wrap(setting if made else description, 96)
    first = 24 * len(heads) + 70
    second = first + places[-1][1] + TALL + 100
    with plain_settings():
        if made is None or mask is None:
            figure = Figure(figsize=(980 * PX, (second - 60) * PX))
        else:
            side = side_of(len(row), 1)
            grid_labels = Labels(row, side)
            third = second + reads[-1][1] + TALL + grid_labels.up + 84
            figure = Figure(figsize=(980 * PX, (third + side + 60) * PX))
            strip = canvas(figure, 30, second, WIDE, 100)
            write(strip, 0, -48, "What the model reads", 12, ha="left", bold=True)
            draw_strip(strip, row, made.prefix_len, reads, labels=labels, cloze=made.cloze)
            _draw_mask(
                canvas(figure, 60 + grid_labels.left, third, side, side), mask, grid_labels, made.cloze
            )
        sentence = canvas(figure, 30, first, WIDE, 100)
        for i, line in enumerate(heads):
            write(sentence, 0, 24 * (i - len(heads)) - 40, line, 14, ha="left", bold=True)
        write(sentence, 0, -28, "The sentence, with its noise", 12, ha="left", bold=True)
        draw_noise(sentence, tokens, noise, places)
        return finish(figure, " ".join([description, _say_noise(tokens, noise), *_say_mask(mask)]))


def _draw_mask(axes: Axes, mask: Tensor, labels: Labels, cloze: bool) -> None:
    """Draw the mask, and beside it the legend."""
    side = labels.cell * len(mask)
    for kind, cells in kinds_of(mask, split=True).items():
        color, style = KEY[kind]
        draw_cells(axes, cells, side, color, **style)
    draw_lines(axes, len(mask), side)
    labels.draw(axes, rows=True)
    draw_head(axes, side, labels, "", first=True)
    left = side + 36
    write(axes, left, 10, "Pairs that may attend", 13, ha="left", color=MUTED)
    write(axes, left + 230, 10, f"{int(mask.sum())} of {mask.numel()}", 13, ha="right", bold=True)
    for i, kind in enumerate(("past", "key after the query", "blocked", "noise")):
        draw_legend(axes, left, 46 + 24 * i, [kind])
    axes.plot([left + 7], [142], "o", color=SCORED, markersize=5, clip_on=False)
    how = "asked for in its own row" if cloze else "asked for: the row before it predicts it"
    write(axes, left + 20, 142, how, 12, ha="left")


def _say_noise(tokens: Sequence[str], noise: Sequence[int]) -> str:
    sentence = f"The sentence: “{' '.join(tokens)}”;"
    if not noise:
        return f"{sentence} nothing of it is noise."
    return f"{sentence} noise: {', '.join(f'{i} {tokens[i]}' for i in noise)}."


def _say_mask(mask: Tensor | None) -> list[str]:
    return [] if mask is None else [caption_mask("Mask", mask, None)]
