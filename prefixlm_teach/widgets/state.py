"""The state explorer: what linear attention has summed up when a row reads it, with or without a prefix."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import traitlets
from torch import Tensor

from prefixlm_teach.linear_state import LinearState
from prefixlm_teach.picture_arguments import check_split_of
from prefixlm_teach.pictures import Picture
from prefixlm_teach.widgets.base import Checked, Explorer, prefix_len_trait
from prefixlm_teach.widgets.state_arguments import check_one_head, check_row
from prefixlm_teach.widgets.state_numbers import (
    count_work,
    features_of,
    grid_of,
    seen_by,
    sum_up,
    table_of,
    write_number,
)
from prefixlm_teach.widgets.state_picture import Filling, draw_state


class StateExplorer(Explorer):
    """Sliders for the row and the prefix length, with the state of linear attention that the row reads.

    The whole prefix is summed up before its first row is read, so that all its rows read one state; each
    later row adds its own key and reads another. With p = 0 or 1 each row does: that is the causal form.

    Args:
        tokens: T tokens, shown as they are; at most 64.
        q: (T, d) queries of one head, of any float dtype; d from 1 to 6, each number from -10 to 10. The
            explorer carries them rounded to hundredths, and so it does keys and values.
        k: (T, d) keys.
        v: (T, d) values.
        prefix_len: p, 0 to T; half of the tokens when left out.
        row: the row to begin with, from 0.

    Attributes:
        row, prefix_len: the sliders' values, to read, set, observe or link.
        tokens: the tokens, read only.
        table: queries, keys and values, read only: T rows of d numbers each.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, shape, number or range; what the explorer
            showed before stays.
    """

    name = "state"
    parts = ("strip",)
    tokens = traitlets.Tuple(read_only=True).tag(sync=True)
    table = traitlets.Tuple(read_only=True).tag(sync=True)
    start = traitlets.Int(read_only=True).tag(sync=True)  # the prefix length that the explorer began with
    row = Checked(lambda explorer, row: check_row(row, len(explorer.tokens)), operator.index).tag(sync=True)
    prefix_len = prefix_len_trait()

    def __init__(
        self,
        tokens: Sequence[str],
        q: Tensor,
        k: Tensor,
        v: Tensor,
        prefix_len: int | None = None,
        *,
        row: int = 0,
    ) -> None:
        check_one_head(tokens, q, k, v)
        p = len(tokens) // 2 if prefix_len is None else prefix_len
        check_split_of(tokens, p)
        check_row(row, len(tokens))
        self.set_trait("tokens", tuple(tokens))
        self.set_trait("table", table_of(q, k, v))
        self.set_trait("start", operator.index(p))
        super().__init__(row=row, prefix_len=p)

    @property
    def seen(self) -> int:
        """How many tokens are in the state that the row reads: always the first ones."""
        return seen_by(self.row, self.prefix_len)

    @property
    def linear_state(self) -> LinearState:
        """The state that the row reads, (1, 1, d, d) and (1, 1, d) float64."""
        _, k, v = features_of(self.table)
        return sum_up(k, v, 0, self.seen)

    @property
    def added(self) -> LinearState:
        """What has come to the state since the row before: the whole prefix, one token, or nothing."""
        _, k, v = features_of(self.table)
        return sum_up(k, v, seen_by(self.row - 1, self.prefix_len) if self.row else 0, self.seen)

    @property
    def out(self) -> Tensor:
        """The (d,) numbers that the row reads out of the state."""
        q, _, _ = features_of(self.table)
        return self.linear_state.read(q[:, :, self.row : self.row + 1]).flatten()

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """States, multiplications and numbers kept, up to this row."""
        return count_work(self.row, self.prefix_len, len(self.table[0][0]))

    @property
    def words(self) -> str:
        """What the row does to the state, and what it reads."""
        row, p = self.row, self.prefix_len
        begin = f"Row {row}, “{self.tokens[row]}”,"
        states = self.counts["States made so far"]
        if row >= p or p == 1:
            done = f"adds its key to the state, and reads it: {_tokens(self.seen)}."
        elif row == 0:
            done = f"reads the state of the whole prefix, which was added first, at once: {_tokens(p)}."
        else:
            done = f"adds nothing, and reads the same state as row 0: {_tokens(p)}."
        made, causal = states["prefix form"], states["causal form"]
        return f"{begin} {done} States made so far: {made}; by the causal form: {causal}."

    @property
    def description(self) -> str:
        """What the row does, the numbers of the state, what is read out of it, and what it has cost."""
        lines = "; ".join(_numbers(line[:-1]) for line in grid_of(self.linear_state).tolist())
        z = " ".join(write_number(x, signed=False) for x in self.linear_state.normaliser.flatten().tolist())
        work = " ".join(
            f"{heading}: {', '.join(f'{name} {figure:,}' for name, figure in figures.items())}."
            for heading, figures in list(self.counts.items())[1:]  # the words have said the states
        )
        return (
            f"{self.words} S, a line for each feature of the key: {lines}. z: {z}. "
            f"The row reads {_numbers(self.out.tolist())}. {work}"
        )

    def __repr__(self) -> str:
        return f"StateExplorer({len(self.tokens)} tokens, row={self.row}, prefix_len={self.prefix_len})"

    def picture(self) -> Picture:
        """Draw the tokens, the state that the row reads and the counts as they stand."""
        _, k, v = features_of(self.table)
        every = [grid_of(sum_up(k, v, 0, n + 1)) for n in range(len(self.tokens))]
        filling = Filling(grid_of(self.linear_state), grid_of(self.added), self.out, every, self.counts)
        return draw_state(self.tokens, self.row, self.prefix_len, filling, self.description)


def _tokens(n: int) -> str:
    return "token 0" if n == 1 else f"tokens 0 to {n - 1}"


def _numbers(numbers: Sequence[float]) -> str:
    return " ".join(map(write_number, numbers))
