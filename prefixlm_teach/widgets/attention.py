"""The attention explorer: where each token of a trained model looks, layer by layer and head by head."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import torch
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from prefixlm_teach.captions import caption_weights
from prefixlm_teach.drawing import (
    CROSSED,
    LABELLED,
    NO_WEIGHT,
    Labels,
    draw_cells,
    draw_color_bar,
    draw_head,
    draw_lines,
    draw_weights,
    side_of,
)
from prefixlm_teach.model import TinyPrefixLM
from prefixlm_teach.picture_arguments import check_weights
from prefixlm_teach.pictures import (
    BLOCKED,
    MUTED,
    PAST,
    PX,
    Picture,
    canvas,
    fill,
    finish,
    plain_settings,
    shown,
    width_of,
    write,
)
from prefixlm_teach.widgets.attention_arguments import check_explorable, check_place, sizes_of
from prefixlm_teach.widgets.base import Checked, Explorer, prefix_len_trait
from prefixlm_teach.widgets.table import pack, unpack

BAR = 120.0  # how long a bar of weight 1 is


class AttentionExplorer(Explorer):
    """Sliders for layer, head and prefix length, with the attention weights of one sequence.

    The model is run once for each prefix length, here; the explorer carries the weights, in steps of
    1/65,535, and needs the model no more.

    Args:
        model: the model, in eval mode.
        tokens: (1, T) ids.
        symbols: T strings that name the tokens, shown as they are.
        prefix_len: p of the sequence, 0 to T; half of the tokens when left out. Other values of the slider
            are marked as an experiment.
        layer: the layer to begin with, from 0; the last when left out.
        head: the head to begin with, from 0.

    Attributes:
        layer, head, prefix_len: the sliders' values: read, set, `observe` or `jslink` them.
        tokens: the symbols, read only.

    Raises:
        TypeError: an argument is of the wrong kind, or the model holds several dtypes.
        ValueError: the model is in training mode, has no blocks or uneven ones, or no values; there is more
            than one example, symbols and tokens differ in number, there are so many tokens that the page
            would carry more than 131,072 weights, or there is no such layer, head or prefix length; what the
            explorer showed before stays.
    """

    name = "attention"
    parts = ("grid", "bars")
    tokens = traitlets.Tuple(read_only=True).tag(sync=True)
    n_layers = traitlets.Int(read_only=True).tag(sync=True)
    n_heads = traitlets.Int(read_only=True).tag(sync=True)
    start = traitlets.Int(read_only=True).tag(sync=True)  # the prefix length that the explorer began with
    table = traitlets.Unicode(read_only=True).tag(sync=True)
    layer = Checked(lambda self, value: check_place("layer", value, self.n_layers), operator.index).tag(
        sync=True
    )
    head = Checked(lambda self, value: check_place("head", value, self.n_heads), operator.index).tag(
        sync=True
    )
    prefix_len = prefix_len_trait()

    def __init__(
        self,
        model: TinyPrefixLM,
        tokens: Tensor,
        symbols: Sequence[str],
        prefix_len: int | None = None,
        *,
        layer: int | None = None,
        head: int = 0,
    ) -> None:
        check_explorable(model, tokens, symbols, prefix_len)
        n_layers, n_heads = sizes_of(model)
        seq_len = tokens.size(1)
        p = seq_len // 2 if prefix_len is None else prefix_len
        layer = n_layers - 1 if layer is None else layer
        check_place("layer", layer, n_layers)
        check_place("head", head, n_heads)
        self.set_trait("tokens", tuple(symbols))
        self.set_trait("n_layers", n_layers)
        self.set_trait("n_heads", n_heads)
        self.set_trait("start", operator.index(p))
        self.set_trait("table", pack(every_map(model, tokens)))
        super().__init__(layer=layer, head=head, prefix_len=p)

    def _map(self) -> tuple[Tensor, Tensor]:
        place = (self.prefix_len, self.layer, self.head)
        return unpack(self.table, len(self.tokens), self.n_layers, self.n_heads, place)

    @property
    def weights(self) -> Tensor:
        """The (T, T) float32 weights on show; each row sums to 1."""
        return self._map()[0]

    @property
    def title(self) -> str:
        """Which weights are on show."""
        return f"layer {self.layer}, head {self.head}, prefix length {self.prefix_len}"

    @property
    def description(self) -> str:
        """What a screen reader says of the weights."""
        return caption_weights(self.title, self.weights, self.tokens)

    def __repr__(self) -> str:
        return (
            f"AttentionExplorer({len(self.tokens)} tokens, layer={self.layer}, head={self.head}, "
            f"prefix_len={self.prefix_len})"
        )

    def picture(self) -> Picture:
        """Draw the weights as they stand, and the row that makes the first guess in bars."""
        weights, mask = self._map()
        seq_len, row = len(self.tokens), max(self.prefix_len - 1, 0)
        side = side_of(seq_len, 1)
        labels = Labels(self.tokens, side)
        bars = seq_len <= LABELLED
        with plain_settings():
            tall = max(side + 60, 30 + 26 * seq_len if bars else 0)
            figure = Figure(figsize=((labels.left + side + 480) * PX, (labels.up + tall + 90) * PX))
            axes = canvas(figure, labels.left + 40, labels.up + 70, side, side)
            draw_weights(axes, weights, side, 1.0, numbers=True)
            draw_cells(axes, ~mask, side, NO_WEIGHT, **CROSSED)
            draw_lines(axes, seq_len, side)
            labels.draw(axes, rows=True)
            draw_head(axes, side, labels, self.title, first=True)
            draw_color_bar(
                canvas(figure, labels.left + 40, labels.up + side + 82, side, 40), 1.0, blocked=True
            )
            if bars:
                _draw_row(axes, side + 60, self.tokens, row, weights[row].tolist(), mask[row].tolist())
            experiment = (
                "" if self.prefix_len == self.start else f" The explorer began with p = {self.start}."
            )
            return finish(figure, f"{self.description}{_say_blocked(mask)}{experiment}")


def every_map(model: TinyPrefixLM, tokens: Tensor) -> Tensor:
    """Run a model on one sequence under every prefix length from 1 to T.

    Args:
        model: the model, in eval mode.
        tokens: (1, T) ids.

    Returns:
        (T, layers, H, T, T) weights.

    Raises:
        ValueError: a weight is not from 0 to 1, or NaN.
    """
    seq_len = tokens.size(1)
    with torch.no_grad(), tokens.device:  # whatever the reader's default device is
        maps = model.attention_weights(
            tokens.expand(seq_len, -1), torch.arange(1, seq_len + 1, device=tokens.device)
        )
    check_weights(maps.flatten(0, 2))
    return maps.transpose(0, 1)


def _say_blocked(mask: Tensor) -> str:
    blocked = int((~mask).sum())
    return f" {blocked} of {mask.numel()} cells are blocked; each row sums to 1."


def _draw_row(
    axes: Axes, left: float, tokens: Sequence[str], row: int, weights: list[float], visible: list[bool]
) -> None:
    """Draw the weights of a row as bars, with their figures."""
    write(
        axes, left, -6, f"Row {row}, “{shown(tokens[row])}”, looks at", 13, ha="left", va="bottom", bold=True
    )
    start = left + 46 + max(width_of(shown(token), 13) for token in tokens)
    for k, (token, weight, seen) in enumerate(zip(tokens, weights, visible, strict=True)):
        y = 16 + 26.0 * k
        write(axes, left, y, str(k), 9, ha="left", color=MUTED)
        write(axes, left + 22, y, shown(token), 13, ha="left")
        if seen:
            fill(axes, [(start, y - 7, BAR, 14)], BLOCKED)
            fill(axes, [(start, y - 7, BAR * weight, 14)], PAST)
        write(axes, start + BAR + 8, y, f"{weight:.2f}" if seen else "blocked", 12, ha="left")
