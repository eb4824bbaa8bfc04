"""The split explorer: move the end of the prefix, and see the mask and the scored tokens follow."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from prefixlm_teach.captions import caption_mask, caption_split
from prefixlm_teach.descriptions import describe_mask
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
from prefixlm_teach.drawing_strip import TALL, draw_strip, strip_places
from prefixlm_teach.masks import create_prefix_lm_mask
from prefixlm_teach.picture_arguments import check_tokens
from prefixlm_teach.pictures import MUTED, PX, SCORED, Picture, canvas, finish, plain_settings, write
from prefixlm_teach.widgets.base import Explorer, prefix_len_trait


class SplitExplorer(Explorer):
    """A slider for the prefix length, with the mask, the loss region and the counts that follow from it.

    Args:
        tokens: T tokens, shown as they are.
        prefix_len: p, 0 to T; half of the tokens when left out.

    Attributes:
        prefix_len: the slider's value: read it, set it, `observe` it, `jslink` it.
        tokens: the tokens, read only.

    Raises:
        TypeError: a token is not a string, or `prefix_len` is not a whole number.
        ValueError: there is no token, or `prefix_len` is negative or longer than the sequence; what the
            explorer showed before stays.
    """

    name = "split"
    parts = ("grid", "strip")
    tokens = traitlets.Tuple(read_only=True).tag(sync=True)
    prefix_len = prefix_len_trait()

    def __init__(self, tokens: Sequence[str], prefix_len: int | None = None) -> None:
        check_tokens(tokens)
        self.set_trait("tokens", tuple(tokens))
        super().__init__(prefix_len=len(tokens) // 2 if prefix_len is None else prefix_len)

    @property
    def mask(self) -> Tensor:
        """The (T, T) boolean mask on show."""
        with torch.device("cpu"):  # whatever the reader's default device is
            return create_prefix_lm_mask(len(self.tokens), self.prefix_len)

    @property
    def description(self) -> str:
        """What a screen reader says of the mask."""
        return describe_mask(self.mask)

    def __repr__(self) -> str:
        return f"SplitExplorer({len(self.tokens)} tokens, prefix_len={self.prefix_len})"

    def picture(self) -> Picture:
        """Draw the mask, the strip of tokens and the counts as they stand."""
        mask, p, seq_len = self.mask, self.prefix_len, len(self.tokens)
        places = strip_places(self.tokens, 640)
        below = places[-1][1] + TALL
        side = side_of(seq_len, 1)
        labels = Labels(self.tokens, side)
        with plain_settings():
            figure = Figure(figsize=(980 * PX, (below + side + labels.up + 180) * PX))
            draw_strip(canvas(figure, 30, 50, 640, below), self.tokens, p, places)
            axes = canvas(figure, 60 + labels.left, below + labels.up + 120, side, side)
            for kind, cells in kinds_of(mask, split=True).items():
                color, style = KEY[kind]
                draw_cells(axes, cells, side, color, **style)
            draw_lines(axes, seq_len, side)
            labels.draw(axes, rows=True)
            draw_head(axes, side, labels, "", first=True)
            _draw_side(axes, side + 36, mask, p)
            return finish(figure, f"{caption_split(self.tokens, p)} Mask: {caption_mask('', mask, p)}")


def _draw_side(axes: Axes, left: float, mask: Tensor, prefix_len: int) -> None:
    """Write the counts and the legend beside the mask."""
    seq_len = len(mask)
    counts = {
        "Pairs that may attend": f"{int(mask.sum())} of {mask.numel()}",
        "Opened by the prefix": f"{int(mask.triu(1).sum())}",
        "Scored tokens": f"{seq_len - min(seq_len, max(prefix_len, 1))}",
    }
    for i, (name, count) in enumerate(counts.items()):
        write(axes, left, 10 + 26 * i, name, 13, ha="left", color=MUTED)
        write(axes, left + 230, 10 + 26 * i, count, 13, ha="right", bold=True)
    for i, kind in enumerate(("past", "opened by the prefix", "blocked")):
        draw_legend(axes, left, 106 + 24 * i, [kind])
    axes.plot([left + 7], [178], "o", color=SCORED, markersize=5, clip_on=False)
    write(axes, left + 20, 178, "scored: the row before it predicts it", 12, ha="left")
