"""The decode explorer: read a prompt at once and answer it token by token, with a cache and without."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import torch
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from prefixlm_teach.arguments import check_flag
from prefixlm_teach.descriptions import describe_mask
from prefixlm_teach.drawing import (
    KEY,
    Labels,
    draw_cells,
    draw_head,
    draw_legend,
    draw_lines,
    side_of,
)
from prefixlm_teach.explorer_arguments import check_conversation, check_step
from prefixlm_teach.masks import create_prefix_lm_mask
from prefixlm_teach.pictures import MUTED, PX, Picture, canvas, fill, finish, outline, plain_settings, write
from prefixlm_teach.widgets.base import Checked, Explorer
from prefixlm_teach.work import Work, count_work

CELLS = {"past": "key made in this step", "kept": "key from the cache", "done": "done in an earlier step"}
CELLS |= {"blocked": "blocked", "padding": "not read yet"}
NOTHING = Work(0, 0)


class DecodeExplorer(Explorer):
    """A slider for the steps of an answer, with the pairs each one works out and the keys it finds kept.

    Step 1 reads the prompt, all of it prefix; each later step reads the token that the one before it chose.
    Nothing reads the last token of the answer, so it has no row.

    Args:
        prompt: the tokens of the prompt, shown as they are.
        answer: N tokens, the answer; with the prompt at most 65 tokens.
        step: how many steps are done, 0 to N.
        cached: whether keys and values are kept from step to step.

    Attributes:
        step: the slider's value, to read, set, observe or link.
        cached: whether there is a cache, likewise.
        prompt, answer: the tokens, read only.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, number or range.
    """

    name = "decode"
    parts = ("grid",)
    prompt = traitlets.Tuple(read_only=True).tag(sync=True)
    answer = traitlets.Tuple(read_only=True).tag(sync=True)
    step = Checked(lambda explorer, step: check_step(step, len(explorer.answer)), operator.index).tag(
        sync=True
    )
    cached = Checked(lambda _, cached: check_flag("cached", cached), bool).tag(sync=True)

    def __init__(
        self, prompt: Sequence[str], answer: Sequence[str], step: int = 1, *, cached: bool = True
    ) -> None:
        check_conversation(prompt, answer)
        self.set_trait("prompt", tuple(prompt))
        self.set_trait("answer", tuple(answer))
        super().__init__(step=step, cached=cached)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The n tokens that are read in the end."""
        return (*self.prompt, *self.answer[:-1])

    @property
    def total(self) -> Work:
        """The work of all steps so far."""
        return self._work(self.step)

    @property
    def work(self) -> Work:
        """The work of this step."""
        before = self._work(max(self.step - 1, 0))
        return Work(self.total.tokens - before.tokens, self.total.pairs - before.pairs)

    def _work(self, steps: int) -> Work:
        p = len(self.prompt)
        return count_work(p, p, steps, cached=self.cached) if steps else NOTHING

    def _rows(self) -> tuple[int, int]:
        """The first row that this step works out, and the one after its last: all tokens read so far."""
        read = len(self.prompt) + self.step - 1 if self.step else 0
        return (read - 1 if self.cached and self.step > 1 else 0), read

    def kinds(self) -> dict[str, Tensor]:
        """For each kind of cell the (n, n) booleans where it is on show."""
        first, read = self._rows()
        place = torch.arange(len(self.tokens), device="cpu")
        with torch.device("cpu"):  # whatever the reader's default device is
            mask = create_prefix_lm_mask(len(place), len(self.prompt))
        there, now = place < read, (place < read) & (place >= first)
        pairs = mask & now[:, None]
        return {
            "past": pairs & now,
            "kept": pairs & ~now,
            "done": mask & (there & ~now)[:, None],
            "blocked": ~mask & there[:, None] & there,
            "padding": ~(there[:, None] & there),
        }

    @property
    def pairs(self) -> Tensor:
        """(n, n) booleans, the pairs of query and key that this step works out."""
        kinds = self.kinds()
        return kinds["past"] | kinds["kept"]

    def slots(self) -> list[str]:
        """For each of the n tokens what is there of its key: "past" (new), "kept" or "padding" (nothing)."""
        first, read = self._rows()
        return ["padding" if t >= read else "past" if t >= first else "kept" for t in range(len(self.tokens))]

    @property
    def words(self) -> str:
        """What happens in this step."""
        step, last, read = self.step, len(self.answer), self._rows()[1]
        if step == 0:
            return f"Step 0 of {last}: nothing has been read."
        if step == 1:
            done = f"prefill: the prompt is read at once, {_count(read, 'token')}"
        elif self.cached:
            done = (
                f"decode: “{self.tokens[read - 1]}” is read; it sees {_count(read - 1, 'key')} "
                "from the cache, and its own"
            )
        else:
            done = f"no cache: everything so far is read again, {_count(read, 'token')}"
        end = " That ends the answer, and nothing reads it." if step == last else ""
        return f"Step {step} of {last}, {done}. The last row chooses “{self.answer[step - 1]}”.{end}"

    @property
    def description(self) -> str:
        """What happens in this step, and the work it takes."""
        said = [f"{_count(work.tokens, 'token')}, {_count(work.pairs, 'pair')}" for work in self._works()]
        return f"{self.words} Work of this step: {said[0]}; of all so far: {said[1]}."

    def _works(self) -> tuple[Work, Work]:
        return self.work, self.total

    def __repr__(self) -> str:
        kept = "" if self.cached else ", cached=False"
        return f"DecodeExplorer({len(self.prompt)} + {len(self.answer)} tokens, step={self.step}{kept})"

    def picture(self) -> Picture:
        """Draw the pairs of this step, the slots of the cache and the counts as they stand."""
        n = len(self.tokens)
        side = side_of(n, 1)
        labels = Labels(self.tokens, side)
        with plain_settings():
            figure = Figure(figsize=((side + labels.left + 420) * PX, (side + labels.up + 150) * PX))
            axes = canvas(figure, 60 + labels.left, labels.up + 90, side, side)
            for kind, cells in self.kinds().items():
                color, style = KEY[CELLS[kind]]
                draw_cells(axes, cells, side, color, **style)
            draw_lines(axes, n, side)
            labels.draw(axes, rows=True)
            draw_head(axes, side, labels, self._title(), first=True)
            self._draw_slots(axes, side)
            self._draw_side(axes, side + 36)
            return finish(figure, f"{self.description} In this step: {describe_mask(self.pairs)}")

    def _title(self) -> str:
        return (
            f"step {self.step} of {len(self.answer)}, {'with a cache' if self.cached else 'without a cache'}"
        )

    def _draw_slots(self, axes: Axes, side: float) -> None:
        """Below each column draw what is there of its key."""
        cell = side / len(self.tokens)
        for k, kind in enumerate(self.slots()):
            color, style = KEY[CELLS[kind]]
            fill(axes, [(k * cell, side + 10, cell, 14)], color, **style)
            outline(axes, k * cell, side + 10, cell, 14)
        write(axes, side / 2, side + 38, "the keys that are there, column by column", 11, color=MUTED)

    def _draw_side(self, axes: Axes, left: float) -> None:
        """Write the counts and the legend beside the grid."""
        for i, (name, count) in enumerate(self.counts().items()):
            write(axes, left, 10 + 26 * i, name, 13, ha="left", color=MUTED)
            write(axes, left + 250, 10 + 26 * i, count, 13, ha="right", bold=True)
        for i, kind in enumerate(CELLS.values()):
            draw_legend(axes, left, 160 + 24 * i, [kind])

    def counts(self) -> dict[str, str]:
        """The figures beside the grid."""
        now, total = self._works()
        return {
            "Tokens read in this step": str(now.tokens),
            "Tokens read in total": str(total.tokens),
            "Pairs in this step": str(now.pairs),
            "Pairs in total": str(total.pairs),
            "In the cache after this step": str(self._rows()[1] if self.cached else 0),
        }


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"
