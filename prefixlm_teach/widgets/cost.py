"""The cost explorer: what an open prefix costs, in pairs and beside a layer's weights, against T and p."""

from __future__ import annotations

import operator

from prefixlm_teach.explorer_arguments import check_choice, check_sizes, check_width
from prefixlm_teach.pictures import Picture
from prefixlm_teach.widgets.base import Checked, Explorer
from prefixlm_teach.widgets.cost_pairs import (
    AREAS,
    WAYS,
    attention_share,
    count_areas,
    count_computed,
    percent,
    tenths,
)
from prefixlm_teach.widgets.cost_picture import Bar, draw_cost
from prefixlm_teach.work import visible_pairs


class CostExplorer(Explorer):
    """Sliders for T and p, with the pairs that each way to compute an open prefix works out.

    On the page T goes through the powers of two from 16 to 131,072, and p through the sixteenths of T; where
    T is moved, p keeps its share. From Python both can be any whole numbers that fit.

    Args:
        seq_len: T, 16 to 131,072 tokens.
        prefix_len: p, 0 to T; half of the tokens when left out.
        d_model: d, the width of a layer, 1 to 65,536.
        way: the way whose pairs are drawn: "dense mask", "cut on a CPU", "mend", "cut on a GPU" or
            "causal call".

    Attributes:
        sizes: the pair (T, p) of the two sliders, to read, set, observe or link.
        d_model, way: likewise.

    Raises:
        TypeError, ValueError: a number is not whole or out of range, p is longer than T, or there is no such
            way; what the explorer showed before stays.
    """

    name = "cost"
    parts = ("grid", "bars")
    sizes = Checked(lambda _, sizes: check_sizes(sizes), lambda sizes: tuple(map(operator.index, sizes))).tag(
        sync=True
    )
    d_model = Checked(lambda _, width: check_width(width), operator.index).tag(sync=True)
    way = Checked(lambda _, way: check_choice("way", way, WAYS, ", ".join(WAYS)), str).tag(sync=True)

    def __init__(
        self, seq_len: int = 2048, prefix_len: int | None = None, d_model: int = 768, way: str = "mend"
    ) -> None:
        if prefix_len is None:
            check_sizes((seq_len, 0))
            prefix_len = seq_len // 2
        super().__init__(sizes=(seq_len, prefix_len), d_model=d_model, way=way)

    @property
    def seq_len(self) -> int:
        """T, the number of tokens."""
        return int(self.sizes[0])

    @property
    def prefix_len(self) -> int:
        """p, how many of them are prefix."""
        return int(self.sizes[1])

    @property
    def pairs(self) -> dict[str, int]:
        """For each way how many pairs it computes; one that it computes twice counts twice."""
        return {way: count_computed(way, *self.sizes) for way in WAYS}

    @property
    def areas(self) -> dict[str, int]:
        """For each kind of pair, in words, how many there are under the way that is drawn."""
        counts = count_areas(self.way, *self.sizes)
        return {words: counts[kind] for kind, words in AREAS.items() if kind in counts}

    @property
    def bars(self) -> list[Bar]:
        """For each way its pairs, and in tenths of a percent their share of the square and of a layer."""
        whole = self.seq_len**2
        return [
            Bar(way, n, tenths(n, whole), attention_share(n, self.seq_len, self.d_model))
            for way, n in self.pairs.items()
        ]

    @property
    def area_words(self) -> str:
        """What a screen reader says of the square."""
        whole = self.seq_len**2
        said = [f"{words} {n:,} ({percent(tenths(n, whole))})" for words, n in self.areas.items() if n]
        return f"All pairs as a square, queries down, keys across, by {self.way}: {'; '.join(said)}."

    @property
    def description(self) -> str:
        """What is visible, what the way on show makes of it, and how much of a layer that is."""
        seq_len, p = self.sizes
        visible, opened, whole = visible_pairs(seq_len, p), p * (p - 1) // 2, seq_len**2
        added = percent(tenths(opened, visible - opened))
        opens = f"{opened:,} of them, {added} more than a causal mask has" if opened else "none"
        share = percent(attention_share(self.pairs[self.way], seq_len, self.d_model))
        return (
            f"T = {seq_len:,}, p = {p:,}: {visible:,} of {whole:,} pairs are visible, "
            f"{percent(tenths(visible, whole))}; the prefix opens {opens}. {self._say_way()} "
            f"With d = {self.d_model:,}, attention is then {share} of a layer’s operations."
        )

    def _say_way(self) -> str:
        computed, whole = self.pairs[self.way], self.seq_len**2
        counts = count_areas(self.way, *self.sizes)
        begin = f"“{self.way}” computes {computed:,}, {percent(tenths(computed, whole))} of the square"
        if counts.get("kept"):
            more = ", more than a dense mask" if computed > whole else ""
            return f"{begin}{more}: {counts['kept']:,} of them twice."
        if counts.get("lost"):
            return f"{begin}, and throws {counts['lost']:,} of them away."
        if counts.get("padding"):
            return f"{begin}, and leaves out the {counts['padding']:,} that the prefix opens."
        return f"{begin}: the visible ones and no other."

    def __repr__(self) -> str:
        seq_len, p = self.sizes
        return f"CostExplorer(seq_len={seq_len}, prefix_len={p}, d_model={self.d_model}, way={self.way!r})"

    def picture(self) -> Picture:
        """Draw the square of the way on show, and the bars of all ways, as they stand."""
        said = "; ".join(
            f"{bar.way}: {bar.pairs:,}, {percent(bar.of_square)}, {percent(bar.of_layer)}"
            for bar in self.bars
        )
        alt = (
            f"{self.description} {self.area_words} Pairs computed, share of the square, share of attention "
            f"in a layer: {said}."
        )
        return draw_cost(self.seq_len, self.prefix_len, self.d_model, self.way, self.bars, alt)
