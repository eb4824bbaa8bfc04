"""Mixtures of denoisers: UL2's, and the one with which PaLM was trained on into U-PaLM.

A denoiser is span corruption with its own rate and mean span (R: regular, X: extreme), or a prefix LM (S:
sequential). Each example says by its first token, the mode token, which kind it is.

Sources: Tay et al. 2022 (UL2, arXiv:2205.05131), Table 1, and the code in its appendix 9.2; Tay et al. 2022
(U-PaLM, arXiv:2210.11399), section 3.3.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prefixlm_teach.arguments import check_rate
from prefixlm_teach.examples import Examples, examples_of_pairs
from prefixlm_teach.objective_arguments import (
    check_denoiser,
    check_denoisers,
    check_mode_ids,
    check_sentinels,
)
from prefixlm_teach.row_arguments import check_id, check_row_seed, check_rows, check_vocab_size
from prefixlm_teach.rows import draw_int, row_draws
from prefixlm_teach.spans import Pair, cut_out, noise_mask, span_counts

# The tokens that UL2's release prepends.
MODE_TOKENS: Mapping[str, str] = {"R": "[NLU]", "S": "[S2S]", "X": "[NLG]"}


@dataclass(frozen=True)
class Denoiser:
    """One way to take tokens out of a text.

    Attributes:
        mode: "R", "S" or "X", which chooses the mode token.
        rate: which share of the tokens is noise; None for a prefix LM whose p is uniform over 1 to L - 1.
        mean_span: how many tokens a span has on average; None for a prefix LM, where the noise is one span
            at the end, with no sentinel.
        share: how often it is drawn, in proportion to the shares of the others.

    Raises:
        TypeError, ValueError: an attribute has the wrong kind or range.
    """

    mode: str
    rate: float | None
    mean_span: float | None
    share: float = 1.0

    def __post_init__(self) -> None:
        check_denoiser(self.mode, self.rate, self.mean_span, MODE_TOKENS)
        check_rate("share", self.share)

    @property
    def name(self) -> str:
        """Such as "R: spans of 3, 15 %"."""
        spans = "the end" if self.mean_span is None else f"spans of {self.mean_span:g}"
        share = "uniform" if self.rate is None else f"{100 * self.rate:g} %"
        return f"{self.mode}: {spans}, {share}"

    def most_spans(self, length: int) -> int:
        """Return how many sentinels a text of `length` tokens needs."""
        if self.rate is None or self.mean_span is None:
            return 0
        return span_counts(length, self.rate, self.mean_span)[1]

    def split(self, row: Sequence[int], vocab_size: int, draws: np.random.Generator) -> Pair:
        """Return what is shown of a row and what is asked for."""
        if self.mean_span is not None and self.rate is not None:
            return cut_out(row, noise_mask(len(row), self.rate, self.mean_span, draws), vocab_size)
        if self.rate is None:
            p = draw_int(1, len(row) - 1, draws)
        else:
            p = len(row) - span_counts(len(row), self.rate, len(row))[0]
        return list(row[:p]), list(row[p:])


_R_AND_X = (
    Denoiser("R", 0.15, 3.0),
    Denoiser("R", 0.15, 8.0),
    Denoiser("X", 0.5, 3.0),
    Denoiser("X", 0.5, 8.0),
    Denoiser("X", 0.15, 64.0),
    Denoiser("X", 0.5, 64.0),
)

# Table 1: S takes the last quarter. The shares are those of the appendix when it is given none: equal.
UL2_TABLE = (*_R_AND_X, Denoiser("S", 0.25, None))

# The appendix calls T5's prefix LM for S, which draws the prefix length uniformly.
UL2_CODE = (*_R_AND_X, Denoiser("S", None, None))

# R, X and the shares, half S and a quarter each R and X, are the paper's (sections 2.3 and 3.3). Reported by
# others is the quarter of the text that S takes; that the two X share theirs equally is our choice.
UL2R = (
    Denoiser("S", 0.25, None, share=4.0),
    Denoiser("R", 0.15, 3.0, share=2.0),
    Denoiser("X", 0.15, 32.0, share=1.0),
    Denoiser("X", 0.5, 3.0, share=1.0),
)


def mix_denoisers(
    rows: Sequence[Sequence[int]],
    denoisers: Sequence[Denoiser],
    *,
    vocab_size: int,
    end_id: int,
    seed: int,
    mode_ids: Mapping[str, int] | None,
    pad_id: int = 0,
) -> Examples:
    """Return examples each of which one of the denoisers has made, drawn by their shares.

    The prefix is the mode token, what is shown of the text, and `end_id`; the target is what is asked for,
    and `end_id`. The draws of row i depend on the seed, on i and on the row's length alone.

    Args:
        rows: texts as lists of ids, of any lengths from 2 on, without `end_id`, mode tokens and the ids that
            serve as sentinels.
        denoisers: what to draw from, such as `UL2_TABLE`, `UL2_CODE` or `UL2R`.
        vocab_size: V, the number of ids; the highest ones are the sentinels.
        end_id: the id at the end of prefix and target.
        seed: draws denoisers and spans.
        mode_ids: the id of the mode token for each of the modes, "R", "S" and "X"; None for no mode tokens.
        pad_id: the id that fills up the shorter rows.

    Returns:
        Examples with `prefix_len`, whose `kinds` are the names of the denoisers that made them.

    Raises:
        TypeError, ValueError: an argument has the wrong kind or range, a row is too short, one of the
            denoisers cannot be applied to one of the rows, a row holds `end_id` or a mode token, two of these
            are equal, or an id that has to serve as sentinel is taken.
    """
    check_vocab_size(vocab_size)
    vocab_size = operator.index(vocab_size)
    check_denoisers(denoisers, Denoiser)
    check_id("end_id", end_id, vocab_size)
    check_row_seed(seed)
    modes = {denoiser.mode for denoiser in denoisers}
    check_mode_ids(mode_ids, modes, end_id, vocab_size)
    check_id("pad_id", pad_id, vocab_size)
    named = {} if mode_ids is None else {f"mode_ids[{mode!r}]": mode_ids[mode] for mode in modes}
    special = {end_id: "end_id", **{id_: name for name, id_ in named.items()}}
    check_rows(rows, vocab_size, shortest=2, special=special)
    lengths = {len(row) for row in rows}
    most = max(denoiser.most_spans(length) for denoiser in denoisers for length in lengths)
    check_sentinels(rows, vocab_size, most, {"end_id": end_id, "pad_id": pad_id, **named})

    shares = np.array([float(denoiser.share) for denoiser in denoisers])
    shares /= shares.max()  # so that large ones have a finite sum
    pairs, kinds = [], []
    for i, row in enumerate(rows):
        draws = row_draws(seed, i)
        denoiser = denoisers[int(draws.choice(len(denoisers), p=shares / shares.sum()))]
        shown, asked = denoiser.split(row, vocab_size, draws)
        mode = [] if mode_ids is None else [mode_ids[denoiser.mode]]
        pairs.append(([*mode, *shown, end_id], [*asked, end_id]))
        kinds.append(denoiser.name)
    return examples_of_pairs(pairs, pad_id, kinds)
