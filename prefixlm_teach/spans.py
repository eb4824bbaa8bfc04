"""Span corruption, as T5 published it: sentinels in the place of some spans, and the spans as the target.

Source: Raffel et al. 2020 (T5, arXiv:1910.10683), sections 3.1.4 and 3.3.4, and the released preprocessors
`random_spans_noise_mask`, `noise_span_to_unique_sentinel` and `random_spans_helper`.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prefixlm_teach.arguments import check_flag, check_int, check_share
from prefixlm_teach.examples import Examples, examples_of_pairs
from prefixlm_teach.objective_arguments import (
    check_mean_span,
    check_raw_length,
    check_room_between,
    check_sentinels,
)
from prefixlm_teach.row_arguments import check_id, check_row_seed, check_rows, check_vocab_size
from prefixlm_teach.rows import draw_int, row_draws

Pair = tuple[list[int], list[int]]  # prefix and target

LONGEST = 2**40  # tokens of a text that `raw_lengths` looks at


def span_corruption(
    rows: Sequence[Sequence[int]],
    *,
    vocab_size: int,
    end_id: int,
    seed: int,
    rate: float = 0.15,
    mean_span: float = 3.0,
    wrap: bool = False,
    pad_id: int = 0,
) -> Examples:
    """Return examples whose prefix is a text with holes, and whose target is what belongs into them.

    In the prefix each span of noise is one sentinel: the highest id for the first, the next lower for the
    second. In the target each stretch between the spans is one sentinel, counted alike, so that a span
    follows the sentinel that stands for it. Both end with `end_id`, which as last token of the prefix also
    starts the decoder of an encoder-decoder. See `span_counts` for how many tokens and spans are noise; the
    lengths of the spans, and of the stretches between, are drawn uniformly from all that add up.
    The draws of row i depend on the seed, on i and on the row's length alone.

    Args:
        rows: texts as lists of ids, of any lengths from 2 on, without `end_id` and the ids that serve as
            sentinels.
        vocab_size: V, the number of ids; the highest ones are the sentinels.
        end_id: the id at the end of prefix and target.
        seed: draws the spans.
        rate: which share of the tokens is noise.
        mean_span: how many tokens a span has on average.
        wrap: False: a text begins clean and ends on noise. True: the spans are then shifted along the text
            by a uniform draw from 0 to L - 1, what leaves at the end coming in again at the beginning, which
            may cut a span in two. Where a text then begins with noise, its target begins with that noise,
            and the sentinels of the target are one behind those of the prefix: so it was published.
        pad_id: the id that fills up the shorter rows.

    Returns:
        Examples with `prefix_len`, for a `TinyPrefixLM` as for a `TinyEncoderDecoder`.

    Raises:
        TypeError, ValueError: an argument has the wrong kind or range, a row is too short, the spans do not
            fit into a row, a row holds `end_id`, or an id that has to serve as sentinel is taken.
    """
    check_vocab_size(vocab_size)
    vocab_size = operator.index(vocab_size)
    check_id("end_id", end_id, vocab_size)
    check_rows(rows, vocab_size, shortest=2, special={end_id: "end_id"})
    check_row_seed(seed)
    check_share("rate", rate)
    check_mean_span(mean_span)
    check_flag("wrap", wrap)
    check_id("pad_id", pad_id, vocab_size)
    most = max(span_counts(length, rate, mean_span)[1] for length in {len(row) for row in rows})
    check_sentinels(rows, vocab_size, most + wrap, {"end_id": end_id, "pad_id": pad_id})
    pairs = []
    for i, row in enumerate(rows):
        where = noise_mask(len(row), rate, mean_span, row_draws(seed, i), wrap=wrap)
        prefix, target = cut_out(row, where, vocab_size)
        pairs.append(([*prefix, end_id], [*target, end_id]))
    return examples_of_pairs(pairs, pad_id)


def span_counts(length: int, rate: float, mean_span: float) -> tuple[int, int]:
    """Return how many tokens of a text are noise, and in how many spans.

    round(length * rate) tokens, at least 1 and at most all but one, in round(tokens / mean_span) spans, at
    least 1; a half is rounded to the even number. (T5's code multiplies in float32, whose rounding decides a
    few of these halves the other way, as at 190 tokens and 15 %.)

    Args:
        length: L, the number of tokens, at least 2.
        rate: which share of them is noise, above 0 and below 1.
        mean_span: how many tokens a span has on average, at least 1.

    Returns:
        The number of noise tokens and the number of spans.

    Raises:
        TypeError, ValueError: a number is none or out of range, or there are more spans than tokens that
            could keep them apart.
    """
    check_int("length", length, minimum=2)
    check_share("rate", rate)
    check_mean_span(mean_span)
    length = operator.index(length)
    noise, spans = _counts(length, rate, mean_span)
    check_room_between(length, noise, spans)
    return noise, spans


def _counts(length: int, rate: float, mean_span: float) -> tuple[int, int]:
    noise = min(max(round(length * rate), 1), length - 1)
    return noise, max(round(noise / mean_span), 1)


def raw_lengths(prefix_len: int, *, rate: float = 0.15, mean_span: float = 3.0) -> tuple[int, int]:
    """Return how long a text has to be to fill a prefix of `prefix_len` tokens, and how long its target is.

    It is the longest text whose prefix fits: `prefix_len` 512 takes 568 tokens at a rate of 15 % and spans
    of 3, and makes a target of 114. At a rate of exactly 50 % the target may not be longer than the prefix,
    as in T5's helper. Unlike that helper, it counts the one span that a very short text has at least.

    Args:
        prefix_len: p, with the token that ends the prefix, at least 3.
        rate: which share of the tokens is noise.
        mean_span: how many tokens a span has on average.

    Returns:
        The number of tokens of the text, and of its target with the token that ends it.

    Raises:
        TypeError, ValueError: a number is none or out of range, the spans do not fit into the text, or it is
            longer than 2 ** 40 tokens.
    """
    check_int("prefix_len", prefix_len, minimum=3)
    check_share("rate", rate)
    check_mean_span(mean_span)
    check_raw_length(prefix_len, rate, _lengths_of(LONGEST, rate, mean_span)[0], LONGEST)
    lengths = range(prefix_len - 1, LONGEST)  # one token more shows as many or more: it is noise, or shown
    too_long = bisect_right(lengths, prefix_len, key=lambda L: _lengths_of(L, rate, mean_span)[0])
    length = lengths[too_long - 1]
    p, target_len = _lengths_of(length, rate, mean_span)
    if rate == 0.5 and target_len > p:
        length -= 1
        p, target_len = _lengths_of(length, rate, mean_span)
    check_room_between(length, *_counts(length, rate, mean_span))
    return length, target_len


def _lengths_of(length: int, rate: float, mean_span: float) -> tuple[int, int]:
    """Return how long prefix and target are that a text of `length` tokens makes."""
    noise, spans = _counts(length, rate, mean_span)
    return length - noise + spans + 1, noise + spans + 1


def noise_mask(
    length: int, rate: float, mean_span: float, draws: np.random.Generator, *, wrap: bool = False
) -> NDArray[np.bool_]:
    """Return (length,) booleans, True = noise; arguments as in `span_corruption`."""
    noise, spans = span_counts(length, rate, mean_span)
    lengths = np.empty(2 * spans, dtype=np.int64)
    lengths[0::2] = random_composition(length - noise, spans, draws)  # clean
    lengths[1::2] = random_composition(noise, spans, draws)
    mask = np.repeat(np.arange(2 * spans) % 2 == 1, lengths)
    return np.roll(mask, draw_int(0, length - 1, draws)) if wrap else mask


def random_composition(total: int, parts: int, draws: np.random.Generator) -> NDArray[np.int64]:
    """Return `parts` whole numbers of at least 1 that add up to `total`, each way to do so equally likely."""
    cuts = np.sort(draws.choice(total - 1, parts - 1, replace=False)) + 1
    return np.diff(cuts, prepend=0, append=total)


def cut_out(row: Sequence[int], where: NDArray[np.bool_], vocab_size: int) -> Pair:
    """Return a row without the tokens `where` it is True, and one without the others, sentinels for both."""
    ids = np.asarray(row, dtype=np.int64)
    return _replace_runs(ids, where, vocab_size), _replace_runs(ids, ~where, vocab_size)


def _replace_runs(ids: NDArray[Any], where: NDArray[np.bool_], vocab_size: int) -> list[int]:
    """Return the ids with one sentinel in the place of each run of True."""
    first = where.copy()
    first[1:] &= ~where[:-1]
    sentinels = vocab_size - np.cumsum(first)
    kept: list[int] = np.where(first, sentinels, ids)[first | ~where].tolist()
    return kept
