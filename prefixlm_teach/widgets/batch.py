"""The batch explorer: each example with its own p and padding, and what one int for all would have made."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import torch
import traitlets
from matplotlib.figure import Figure
from torch import Tensor

from prefixlm_teach.data import PAD
from prefixlm_teach.descriptions import describe_mask
from prefixlm_teach.drawing import KEY, Labels, draw_cells, draw_head, draw_legend, draw_lines, side_of
from prefixlm_teach.explorer_arguments import (
    check_choice,
    check_example_number,
    check_examples,
)
from prefixlm_teach.masks import create_prefix_lm_mask
from prefixlm_teach.picture_arguments import check_prefix_lens
from prefixlm_teach.pictures import MUTED, PX, Picture, canvas, finish, plain_settings, write
from prefixlm_teach.widgets.base import Checked, Explorer

SIDES = ("right", "left")
CELLS = {"past": "past", "opened": "opened by the prefix", "blocked": "blocked"}
CELLS |= {kind: kind for kind in ("padding", "leaked", "lost")}


class BatchExplorer(Explorer):
    """A slider for the prefix length of each example of a padded batch, with the masks that follow.

    With `borrowed`, all examples get the p of one of them, as a single int would give it to them, and the
    cells that go wrong are marked. An int that is longer than an example counts as the whole of it.

    Args:
        examples: B lists of tokens, shown as they are; B at most 8.
        prefix_lens: B prefix lengths, each from 0 to its example's number of tokens.
        side: "right" or "left", where the padding stands.
        borrowed: None, or the number of the example whose p all get.

    Attributes:
        prefix_lens: the sliders' values, to read, set, observe or link.
        side: where the padding stands, likewise.
        borrowed: whose p all get, likewise.
        examples: the tokens, read only.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, number or range.
    """

    name = "batch"
    parts = ("grid",)
    examples = traitlets.Tuple(read_only=True).tag(sync=True)
    prefix_lens = Checked(
        lambda explorer, ps: check_prefix_lens(ps, [len(tokens) for tokens in explorer.examples], "example"),
        lambda ps: tuple(map(operator.index, ps)),
    ).tag(sync=True)
    side = Checked(lambda _, side: check_choice("side", side, SIDES, ", ".join(SIDES)), str).tag(sync=True)
    borrowed = Checked(
        lambda explorer, b: check_example_number(explorer.examples, b),
        lambda b: None if b is None else operator.index(b),
    ).tag(sync=True)

    def __init__(
        self,
        examples: Sequence[Sequence[str]],
        prefix_lens: Sequence[int],
        *,
        side: str = "right",
        borrowed: int | None = None,
    ) -> None:
        check_examples(examples)
        self.set_trait("examples", tuple(tuple(tokens) for tokens in examples))
        super().__init__(prefix_lens=prefix_lens, side=side, borrowed=borrowed)

    @property
    def valid(self) -> Tensor:
        """(B, T) booleans, False at padding."""
        lengths = torch.tensor([len(tokens) for tokens in self.examples], device="cpu")
        column = torch.arange(int(lengths.max()), device="cpu")
        place = column if self.side == "right" else column.flip(0)
        return place < lengths[:, None]

    @property
    def mask(self) -> Tensor:
        """The (B, 1, T, T) mask in which each example has its own p."""
        return self._mask_of(self.prefix_lens)

    @property
    def borrowed_mask(self) -> Tensor:
        """The (B, 1, T, T) mask on show: `mask` if nothing is borrowed."""
        return self._mask_of(self._given())

    def _mask_of(self, prefix_lens: Sequence[int]) -> Tensor:
        valid = self.valid
        with torch.device("cpu"):  # whatever the reader's default device is
            return create_prefix_lm_mask(valid.size(1), torch.tensor(prefix_lens), valid=valid)

    def _given(self) -> list[int]:
        if self.borrowed is None:
            return list(self.prefix_lens)
        p = self.prefix_lens[self.borrowed]
        return [min(p, len(tokens)) for tokens in self.examples]

    def padded(self, example: int) -> list[str]:
        """The T tokens of an example, its pads among them."""
        tokens = list(self.examples[example])
        pads = [PAD] * (self.valid.size(1) - len(tokens))
        return [*tokens, *pads] if self.side == "right" else [*pads, *tokens]

    def kinds(self, example: int) -> dict[str, Tensor]:
        """For each kind of cell the (T, T) booleans where it is on show; the row of a pad never leaks."""
        right, shown = self.mask[example, 0], self.borrowed_mask[example, 0]
        past = torch.ones_like(right).tril()
        real = self.valid[example].expand_as(right)
        leaked = shown & ~right & real.T  # nobody reads the row of a pad
        lost = right & ~shown & real.T
        return {
            "past": shown & ~leaked & past,
            "opened": shown & ~leaked & ~past,
            "blocked": ~shown & ~lost & real,
            "padding": ~shown & ~lost & ~real,
            "leaked": leaked,
            "lost": lost,
        }

    @property
    def description(self) -> str:
        """What the masks on show say, and what is wrong with them."""
        said = [self._summary()]
        for b, mask in enumerate(self.borrowed_mask):
            kinds = self.kinds(b)
            leaked, lost = int(kinds["leaked"].sum()), int(kinds["lost"].sum())
            wrong = f" {leaked} cells leaked, {lost} lost." if leaked or lost else ""
            said.append(f"Example {b}: {describe_mask(mask[0])}{wrong}")
        return " ".join(said)

    def _summary(self) -> str:
        tokens = "; ".join(f"{b}: {' '.join(self.padded(b))}" for b in range(len(self.examples)))
        begin = f"{len(self.examples)} examples, padded on the {self.side} ({tokens})."
        if self.borrowed is None:
            return f"{begin} Each has its own p: {', '.join(map(str, self.prefix_lens))}."
        p = self.prefix_lens[self.borrowed]
        return f"{begin} One int for all: p = {p}, which is right for example {self.borrowed}."

    def __repr__(self) -> str:
        lent = "" if self.borrowed is None else f", borrowed={self.borrowed}"
        return f"BatchExplorer({len(self.examples)} examples, prefix_lens={list(self.prefix_lens)}{lent})"

    def picture(self) -> Picture:
        """Draw the masks side by side as they stand."""
        seq_len, per_line = self.valid.size(1), 3
        side = min(side_of(seq_len, 2), 240.0)
        labels = [Labels(self.padded(b), side) for b in range(len(self.examples))]
        left, up = max(one.left for one in labels), max(one.up for one in labels)
        across, down = left + side + 30, up + side + 80
        height = down * -(-len(labels) // per_line)
        with plain_settings():
            figure = Figure(figsize=((120 + across * per_line) * PX, (height + 90) * PX))
            for b, one in enumerate(labels):
                one.up = up  # so that the heads of a line stand at one height
                x, y = 30 + left + across * (b % per_line), up + 60 + down * (b // per_line)
                axes = canvas(figure, x, y, side, side)
                kinds = self.kinds(b)
                for kind, cells in kinds.items():
                    color, style = KEY[CELLS[kind]]
                    draw_cells(axes, cells, side, color, **style)
                draw_lines(axes, seq_len, side)
                one.draw(axes, rows=True)
                draw_head(axes, side, one, self._title(b), first=b == 0)
                wrong = f"leaked {int(kinds['leaked'].sum())}, lost {int(kinds['lost'].sum())}"
                write(axes, side / 2, side + 16, wrong, 12, color=MUTED)
            legend = canvas(figure, 30 + left, height + 20, 600, 24)
            draw_legend(legend, 0, 12, list(CELLS.values()))
            return finish(figure, self.description)

    def _title(self, example: int) -> str:
        given, right = self._given()[example], self.prefix_lens[example]
        return f"example {example}: p = {right}" + (f", given {given}" if given != right else "")
