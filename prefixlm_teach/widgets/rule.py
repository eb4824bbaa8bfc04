"""The mask algebra explorer: type or pick a rule, and see the mask, with what it must not show marked."""

from __future__ import annotations

import operator
import textwrap
from collections.abc import Sequence
from itertools import accumulate

import torch
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from prefixlm_teach.arguments import check_int
from prefixlm_teach.captions import caption_documents, caption_leaks, caption_mask
from prefixlm_teach.data import PAD
from prefixlm_teach.descriptions import describe_mask
from prefixlm_teach.drawing import KEY, Labels, draw_cells, draw_head, draw_legend, draw_lines, side_of
from prefixlm_teach.picture_arguments import check_prefix_lens, check_token_lists
from prefixlm_teach.pictures import MUTED, PX, Picture, canvas, finish, plain_settings, write
from prefixlm_teach.rule_arguments import check_window
from prefixlm_teach.rule_language import check_rule, parse_rule
from prefixlm_teach.rules import find_leaks, mask_from_rule, mask_parts
from prefixlm_teach.widgets.base import Checked, Explorer


class RuleExplorer(Explorer):
    """A field for a rule made of parts, with the mask that it stands for and the cells that leak.

    Args:
        documents: the tokens of each document, packed in a row; a list of one list for a single document.
        prefix_lens: p of each document, 0 to its length.
        pads: how many pads stand before the first document.
        window: how many tokens wide the window is, 1 to T; 3, or T if that is less, when left out.
        rule: parts (causal, prefix, window, document, valid) joined by and, or, not and parentheses; see
            `parse_rule` and `mask_parts`.

    Attributes:
        rule, prefix_lens, window: what is on show: read it, set it, `observe` it, `jslink` it.
        tokens, lengths, pads: all T tokens, the pads first, and how many each document has; read only.

    Raises:
        TypeError: an argument is of the wrong type.
        ValueError: a document is empty, a number does not fit, or `rule` is not a rule; what the explorer
            showed before stays.
    """

    name = "rule"
    parts = ("grid", "language")
    tokens = traitlets.Tuple(read_only=True).tag(sync=True)
    lengths = traitlets.Tuple(read_only=True).tag(sync=True)
    pads = traitlets.Int(read_only=True).tag(sync=True)
    rule = Checked(lambda _, rule: check_rule(rule), str).tag(sync=True)
    prefix_lens = Checked(
        lambda explorer, prefix_lens: check_prefix_lens(prefix_lens, explorer.lengths, "document"),
        lambda prefix_lens: tuple(map(operator.index, prefix_lens)),
    ).tag(sync=True)
    window = Checked(lambda explorer, window: check_window(window, len(explorer.tokens)), operator.index).tag(
        sync=True
    )

    def __init__(
        self,
        documents: Sequence[Sequence[str]],
        prefix_lens: Sequence[int],
        *,
        pads: int = 0,
        window: int | None = None,
        rule: str = "(causal or prefix) and document and valid",
    ) -> None:
        check_token_lists("documents", documents)
        check_int("pads", pads, minimum=0)
        tokens = [PAD] * operator.index(pads) + [token for document in documents for token in document]
        self.set_trait("tokens", tuple(tokens))
        self.set_trait("lengths", tuple(map(len, documents)))
        self.set_trait("pads", operator.index(pads))
        window = min(3, len(tokens)) if window is None else window
        super().__init__(prefix_lens=prefix_lens, window=window, rule=rule)

    @property
    def documents(self) -> tuple[tuple[str, ...], ...]:
        """The tokens of each document, without the pads."""
        ends = accumulate(self.lengths, initial=self.pads)
        return tuple(
            self.tokens[start : start + length] for start, length in zip(ends, self.lengths, strict=False)
        )

    @property
    def mask(self) -> Tensor:
        """The (T, T) boolean mask on show."""
        return mask_from_rule(self.rule, self._parts())

    @property
    def faults(self) -> dict[str, int]:
        """How many cells are open and must not be, for each law that the rule breaks."""
        leaks = find_leaks(self.rule, self._parts())
        return {law: int(cells.sum()) for law, cells in leaks.items()}

    @property
    def description(self) -> str:
        """What a screen reader says of the mask."""
        return describe_mask(self.mask)

    def __repr__(self) -> str:
        return (
            f"RuleExplorer({self.rule!r}, {len(self.tokens)} tokens, prefix_lens={list(self.prefix_lens)}, "
            f"window={self.window})"
        )

    def _parts(self) -> dict[str, Tensor]:
        return mask_parts(self.lengths, self.prefix_lens, window=self.window, pads=self.pads)

    def _leaked(self) -> Tensor:
        leaks = find_leaks(self.rule, self._parts()).values()
        return torch.stack([torch.zeros_like(self.mask), *leaks]).any(0)

    def _kinds(self) -> dict[str, Tensor]:
        mask, leaked, parts = self.mask, self._leaked(), self._parts()
        return {
            "past": mask & parts["causal"] & ~leaked,
            "opened by the prefix": mask & ~parts["causal"] & ~leaked,
            "leaked": leaked,
            "blocked": ~mask & parts["valid"],
            "padding": ~mask & ~parts["valid"],
        }

    def picture(self) -> Picture:
        """Draw the rule, the documents, the mask, the counts and what leaks as they stand."""
        rule = " ".join(self.rule.split())
        about = caption_documents(self.documents, self.prefix_lens, self.pads)
        about.append(f"Window {self.window}{'' if 'window' in parse_rule(rule) else ', not in the rule'}.")
        verdict = caption_leaks(self.faults)
        title = textwrap.wrap(rule, 72)
        small = [line for text in about for line in textwrap.wrap(text, 100)]
        side = side_of(len(self.tokens), 1)
        labels = Labels(self.tokens, side)
        top = 22 * (len(title) + len(small)) + labels.up + 56
        with plain_settings():
            figure = Figure(figsize=(980 * PX, (top + side + 140) * PX))
            axes = canvas(figure, 60 + labels.left, top, side, side)
            left = -labels.left - 20
            for i, line in enumerate([*title, *small]):
                large = i < len(title)
                write(axes, left, 30 + 22 * i - top, line, 15 if large else 12, ha="left", bold=large)
            for kind, cells in self._kinds().items():
                color, style = KEY[kind]
                draw_cells(axes, cells, side, color, **style)
            draw_lines(axes, len(self.tokens), side)
            labels.draw(axes, rows=True)
            draw_head(axes, side, labels, "", first=True)
            self._draw_side(axes, side + 36)
            for i, line in enumerate(textwrap.wrap(verdict, 84)):
                write(axes, left, side + 26 + 20 * i, line, 13, ha="left", bold=bool(self.faults))
            words = f"Rule: {rule}. {' '.join(about)} {caption_mask('Mask', self.mask, None)} {verdict}"
            return finish(figure, words)

    def _draw_side(self, axes: Axes, left: float) -> None:
        """Write the counts and the legend beside the mask."""
        kinds = {kind: int(cells.sum()) for kind, cells in self._kinds().items()}
        counts = {
            "Pairs that may attend": f"{int(self.mask.sum())} of {self.mask.numel()}",
            "Opened by the prefix": f"{kinds['opened by the prefix']}",
            "Leaked": f"{kinds['leaked']}",
        }
        for i, (name, count) in enumerate(counts.items()):
            write(axes, left, 10 + 26 * i, name, 13, ha="left", color=MUTED)
            write(axes, left + 230, 10 + 26 * i, count, 13, ha="right", bold=True)
        for i, kind in enumerate(kinds):
            if kind != "padding" or self.pads:
                draw_legend(axes, left, 106 + 24 * i, [kind])
