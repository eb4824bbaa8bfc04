"""Span corruption: the published counts and lengths, uniform spans, sentinels, and nothing lost."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from objectives import parts, spread

from prefixlm_teach import (
    Examples,
    TinyEncoderDecoder,
    TinyPrefixLM,
    create_prefix_lm_mask,
    raw_lengths,
    span_corruption,
    span_counts,
    visibility,
)
from prefixlm_teach.rows import row_draws
from prefixlm_teach.spans import cut_out, noise_mask, random_composition

V, END, PAD = 100, 40, 41
seeds = st.integers(0, 2**32 - 1)
rates = st.floats(0.01, 0.6)
means = st.floats(1.0, 20.0)
texts = st.lists(st.lists(st.integers(0, 39), min_size=2, max_size=40), min_size=1, max_size=4)


def pairs_of(examples: Examples) -> list[tuple[list[int], list[int]]]:
    """Prefix and target of each example, both without the token that ends them."""
    assert examples.prefix_len is not None
    pairs = []
    for i, p in enumerate(examples.prefix_len.tolist()):
        tokens, labels = parts(examples, i)
        assert labels == [-100] * p + tokens[p:]
        assert tokens[p - 1] == tokens[-1] == END
        pairs.append((tokens[: p - 1], tokens[p:-1]))
    return pairs


def fill_in(prefix: list[int], target: list[int]) -> list[int]:
    """The text, from a prefix whose sentinels stand for what follows them in the target."""
    missing: dict[int, list[int]] = {}
    for id_ in target:
        if id_ > PAD:
            last = id_
            assert last not in missing
            missing[last] = []
        else:
            missing[last].append(id_)
    text = []
    for id_ in prefix:
        text += missing.pop(id_) if id_ > PAD else [id_]
    assert not missing
    return text


def possible(rows: list[list[int]], rate: float, mean_span: float) -> bool:
    """Whether the spans of each row can be kept apart."""
    for row in rows:
        noise = min(max(round(len(row) * rate), 1), len(row) - 1)
        if max(round(noise / mean_span), 1) > len(row) - noise:
            return False
    return True


@pytest.mark.parametrize(
    ("length", "rate", "mean_span", "noise", "spans"),
    [
        (568, 0.15, 3.0, 85, 28),
        (600, 0.15, 64.0, 90, 1),
        (766, 0.5, 3.0, 383, 128),
        (512, 0.15, 3.0, 77, 26),
        (512, 0.5, 64.0, 256, 4),
        (2, 0.15, 3.0, 1, 1),  # at least one
        (2, 0.99, 3.0, 1, 1),  # at most all but one
        (10, 0.01, 64.0, 1, 1),
        (10, 0.25, 1.0, 2, 2),  # 2.5 is rounded to the even number
    ],
)
def test_counts_are_the_published_ones(
    length: int, rate: float, mean_span: float, noise: int, spans: int
) -> None:
    assert span_counts(length, rate, mean_span) == (noise, spans)


def test_float32_rounds_a_half_the_other_way_at_the_length_named() -> None:
    in_float32 = int(np.round(np.float32(190) * np.float32(0.15)))
    assert (span_counts(190, 0.15, 3.0)[0], in_float32) == (28, 29)


@given(st.integers(2, 2000), rates, means)
def test_counts_are_as_near_as_whole_numbers_come(length: int, rate: float, mean_span: float) -> None:
    assume(possible([[0] * length], rate, mean_span))
    noise, spans = span_counts(length, rate, mean_span)
    assert 1 <= noise <= length - 1
    assert abs(noise - length * rate) <= 0.5 or noise in (1, length - 1)
    assert spans >= 1
    assert abs(spans - noise / mean_span) <= 0.5 or spans == 1


@given(texts, seeds, rates, means)
def test_each_span_follows_its_own_sentinel_and_the_text_comes_back(
    rows: list[list[int]], seed: int, rate: float, mean_span: float
) -> None:
    assume(possible(rows, rate, mean_span))
    known = {"vocab_size": V, "end_id": END, "pad_id": PAD, "seed": seed}
    examples = span_corruption(rows, rate=rate, mean_span=mean_span, **known)
    for row, (prefix, target) in zip(rows, pairs_of(examples), strict=True):
        noise, spans = span_counts(len(row), rate, mean_span)
        assert fill_in(prefix, target) == row
        assert [id_ for id_ in prefix if id_ > PAD] == [V - 1 - s for s in range(spans)]
        assert [id_ for id_ in target if id_ > PAD] == [V - 1 - s for s in range(spans)]
        assert len(prefix) == len(row) - noise + spans
        assert len(target) == noise + spans
        assert prefix[0] == row[0]  # a text begins clean
        assert prefix[-1] == V - spans  # and ends on noise
    assert (examples.tokens[~examples.valid] == PAD).all()


@given(st.integers(2, 60), seeds, rates, means, st.booleans())
def test_a_mask_has_exactly_as_much_noise_as_it_should(
    length: int, seed: int, rate: float, mean_span: float, wrap: bool
) -> None:
    assume(possible([[0] * length], rate, mean_span))
    noise, spans = span_counts(length, rate, mean_span)
    mask = noise_mask(length, rate, mean_span, row_draws(seed, 0), wrap=wrap)
    assert mask.shape == (length,)
    assert mask.sum() == noise
    runs = int((mask & ~np.roll(mask, 1)).sum())  # around the end
    assert runs == spans
    if not wrap:
        assert not mask[0]
        assert mask[-1]


def test_each_composition_is_as_likely_as_any_other() -> None:
    count, draws = 6000, np.random.default_rng(0)
    times = Counter(tuple(random_composition(6, 3, draws).tolist()) for _ in range(count))
    assert set(times) == {(a, b, 6 - a - b) for a in range(1, 5) for b in range(1, 6 - a)}
    assert all(abs(times[lengths] - count / 10) < spread(count, 1 / 10) for lengths in times)


@pytest.mark.parametrize(("total", "parts", "lengths"), [(1, 1, [1]), (5, 1, [5]), (4, 4, [1, 1, 1, 1])])
def test_a_composition_without_a_choice(total: int, parts: int, lengths: list[int]) -> None:
    assert random_composition(total, parts, np.random.default_rng(0)).tolist() == lengths


def all_masks(length: int, noise: int, spans: int) -> list[tuple[bool, ...]]:
    """Every mask that begins clean, ends on noise, and has this much noise in so many spans."""
    masks = []
    for places in combinations(range(length), noise):
        mask = tuple(t in places for t in range(length))
        starts = sum(mask[t] and not (t and mask[t - 1]) for t in range(length))
        if starts == spans and not mask[0] and mask[-1]:
            masks.append(mask)
    return masks


def test_each_mask_is_as_likely_as_any_other() -> None:
    masks = all_masks(10, 3, 2)
    assert len(masks) == 12
    assert span_counts(10, 0.3, 1.5) == (3, 2)
    count, draws = 6000, np.random.default_rng(1)
    times = Counter(tuple(noise_mask(10, 0.3, 1.5, draws).tolist()) for _ in range(count))
    assert set(times) == set(masks)
    assert all(abs(times[mask] - count / 12) < spread(count, 1 / 12) for mask in masks)


def test_noise_is_likelier_the_later_a_place_and_with_wrap_equally_likely_everywhere() -> None:
    count, draws = 4000, np.random.default_rng(2)
    masks = np.array(all_masks(10, 3, 2))
    plain = sum(noise_mask(10, 0.3, 1.5, draws).astype(int) for _ in range(count))
    for times, share in zip(plain, masks.mean(0), strict=True):
        assert abs(times - count * share) <= spread(count, share)
    assert plain[0] == 0
    assert plain[-1] == count
    wrapped = sum(noise_mask(10, 0.3, 1.5, draws, wrap=True).astype(int) for _ in range(count))
    assert (np.abs(wrapped - count * 0.3) < spread(count, 0.3)).all()


def test_one_span_stands_at_the_end_unless_it_wraps() -> None:
    known = {"rate": 0.25, "mean_span": 64.0}
    assert noise_mask(8, draws=row_draws(0, 0), **known).tolist() == [False] * 6 + [True] * 2
    drawn = {tuple(noise_mask(8, draws=row_draws(s, 0), wrap=True, **known).tolist()) for s in range(200)}
    assert len(drawn) == 8
    assert (True, *[False] * 6, True) in drawn  # cut in two


@pytest.mark.parametrize(
    ("where", "prefix", "target"),
    [
        ("..##.#", [1, 2, 99, 5, 98], [99, 3, 4, 98, 6]),
        ("..##..", [1, 2, 99, 5, 6], [99, 3, 4, 98]),
        ("#..##.", [99, 2, 3, 98, 6], [1, 99, 4, 5, 98]),  # the target's sentinels are one behind
        ("##...#", [99, 3, 4, 5, 98], [1, 2, 99, 6]),
    ],
)
def test_each_run_is_one_sentinel_in_the_prefix_as_in_the_target(
    where: str, prefix: list[int], target: list[int]
) -> None:
    mask = np.array([sign == "#" for sign in where])
    assert cut_out([1, 2, 3, 4, 5, 6], mask, V) == (prefix, target)


@given(texts, seeds, rates, means)
def test_with_wrap_nothing_is_lost_either(
    rows: list[list[int]], seed: int, rate: float, mean_span: float
) -> None:
    assume(possible(rows, rate, mean_span))
    known = {"vocab_size": V, "end_id": END, "pad_id": PAD, "seed": seed, "wrap": True}
    examples = span_corruption(rows, rate=rate, mean_span=mean_span, **known)
    for row, (prefix, target) in zip(rows, pairs_of(examples), strict=True):
        asked = [id_ for id_ in target if id_ <= PAD]
        shown = [id_ for id_ in prefix if id_ <= PAD]
        assert len(asked) == span_counts(len(row), rate, mean_span)[0]
        assert Counter(asked + shown) == Counter(row)
        for side in (prefix, target):
            sentinels = [id_ for id_ in side if id_ > PAD]
            assert sentinels == [V - 1 - s for s in range(len(sentinels))]
        if target[0] > PAD:
            assert fill_in(prefix, target if target[-1] <= PAD else target[:-1]) == row


@given(texts, seeds, st.data())
def test_what_is_drawn_for_a_row_does_not_depend_on_the_others(
    rows: list[list[int]], seed: int, data: st.DataObject
) -> None:
    i = data.draw(st.integers(0, len(rows) - 1))
    others = data.draw(st.lists(st.lists(st.integers(0, 39), min_size=2, max_size=9), max_size=3))
    known = {"vocab_size": V, "end_id": END, "seed": seed, "wrap": data.draw(st.booleans())}
    before = span_corruption(rows, **known)
    after = span_corruption([[9, 9]] * i + [rows[i]] + others, **known)
    assert parts(before, i) == parts(after, i)


def test_another_seed_draws_anew_and_the_same_seed_again() -> None:
    rows = [list(range(40))] * 20
    known = {"vocab_size": V, "end_id": END}
    first, again, other = (span_corruption(rows, seed=seed, **known).tokens for seed in (5, 5, 6))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len({tuple(row) for row in first.tolist()}) > 15  # equal rows are not drawn alike


@pytest.mark.parametrize(
    ("prefix_len", "rate", "mean_span", "raw", "target"),
    [(512, 0.15, 3.0, 568, 114), (512, 0.15, 64.0, 600, 92), (512, 0.5, 3.0, 766, 512)],
)
def test_lengths_are_the_published_ones(
    prefix_len: int, rate: float, mean_span: float, raw: int, target: int
) -> None:
    assert raw_lengths(prefix_len, rate=rate, mean_span=mean_span) == (raw, target)


def published_lengths(prefix_len: int, rate: float, mean_span: float) -> tuple[int, int]:
    """What T5's helper says, which lets a text have no noise and no span."""

    def of(length: int) -> tuple[int, int]:
        noise = round(length * rate)
        spans = round(noise / mean_span)
        return length - noise + spans + 1, noise + spans + 1

    fitting = [n for n in range(prefix_len - 1, 10 * prefix_len) if of(n)[0] <= prefix_len]
    raw = fitting[-1]
    shown, asked = of(raw)
    return (raw - 1, asked - 1) if rate == 0.5 and asked > shown else (raw, asked)


@pytest.mark.parametrize("rate", [0.15, 0.25, 0.3, 0.5])
@pytest.mark.parametrize("mean_span", [2.0, 3.0, 8.0, 64.0])
def test_lengths_are_those_of_the_published_helper_from_some_length_on(rate: float, mean_span: float) -> None:
    for prefix_len in (200, 256, 511, 512, 513, 1024):
        ours = raw_lengths(prefix_len, rate=rate, mean_span=mean_span)
        raw, target = published_lengths(prefix_len, rate, mean_span)
        noise, spans = span_counts(raw, rate, mean_span)
        if noise + spans + 1 == target:  # at 50 % the helper may take a token too few off the target
            assert ours == (raw, target)
        else:
            assert (rate, ours) == (0.5, (raw, target - 1))


def test_the_published_helper_forgets_the_one_span_of_a_short_text() -> None:
    assert published_lengths(6, 0.15, 3.0) == (6, 2)
    short = span_corruption([[1] * 6], vocab_size=V, end_id=END, seed=0)
    assert short.prefix_len is not None
    assert short.prefix_len.tolist() == [7]  # longer than the 6 that it should fill
    assert raw_lengths(6) == (5, 3)


@given(st.integers(3, 300), st.floats(0.01, 0.4), st.floats(2.0, 20.0))
def test_a_text_of_the_raw_length_fills_the_prefix_and_a_longer_one_overflows(
    prefix_len: int, rate: float, mean_span: float
) -> None:
    raw, target_len = raw_lengths(prefix_len, rate=rate, mean_span=mean_span)
    known = {"vocab_size": 1000, "end_id": END, "rate": rate, "mean_span": mean_span, "seed": 0}
    fitting = span_corruption([[1] * raw], **known)
    assert fitting.prefix_len is not None
    p = int(fitting.prefix_len)
    assert p <= prefix_len
    assert fitting.tokens.size(1) - p == target_len == fitting.label_count
    longer = span_corruption([[1] * (raw + 1)], **known)
    assert longer.prefix_len is not None
    assert int(longer.prefix_len) > prefix_len


@given(st.integers(3, 60), st.floats(0.01, 0.99), st.floats(1.0, 20.0))
def test_the_raw_length_is_that_of_a_search_token_by_token(
    prefix_len: int, rate: float, mean_span: float
) -> None:
    length = prefix_len - 1
    while lengths_by_formula(length + 1, rate, mean_span)[0] <= prefix_len:
        length += 1
    if rate == 0.5 and lengths_by_formula(length, rate, mean_span)[1] > prefix_len:
        length -= 1
    try:
        raw = raw_lengths(prefix_len, rate=rate, mean_span=mean_span)
    except ValueError as error:
        assert "to keep them apart" in str(error)  # noqa: PT017 - one of two outcomes
    else:
        assert raw == (length, lengths_by_formula(length, rate, mean_span)[1])


def lengths_by_formula(length: int, rate: float, mean_span: float) -> tuple[int, int]:
    """How long prefix and target of a text are, each with its end."""
    noise = min(max(round(length * rate), 1), length - 1)
    spans = max(round(noise / mean_span), 1)
    return length - noise + spans + 1, noise + spans + 1


@given(st.integers(2, 2**41), st.floats(0.01, 0.999), st.floats(1.0, 1e6))
def test_a_longer_text_never_has_a_shorter_prefix(length: int, rate: float, mean_span: float) -> None:
    shown = [lengths_by_formula(length + more, rate, mean_span)[0] for more in range(20)]
    assert shown == sorted(shown)


def test_a_text_of_any_length_is_found_and_one_without_end_refused() -> None:
    """A search that went up token by token would not come back."""
    assert raw_lengths(512, rate=1 - 1e-7, mean_span=1e300)[0] > 5e9
    assert raw_lengths(10**11)[0] > 10**11
    for prefix_len, rate in ((512, 1 - 2**-53), (10**30, 0.15)):
        with pytest.raises(ValueError, match=rf"prefix_len {prefix_len} takes a text of {2**40} tokens"):
            raw_lengths(prefix_len, rate=rate, mean_span=1e300)


def test_sentinels_stop_above_the_ids_of_the_text() -> None:
    known = {"end_id": 1, "seed": 0, "rate": 0.5, "mean_span": 1.0}
    row = [0, 0, 2, 3, 4, 5, 6, 7]  # four spans
    assert span_corruption([row], vocab_size=12, **known).tokens.max() == 11
    with pytest.raises(
        ValueError, match=r"rows\[0\] holds the id 7, but the ids from 7 to 10 have to be free"
    ):
        span_corruption([row], vocab_size=11, **known)
    span_corruption([row], vocab_size=13, wrap=True, **known)
    with pytest.raises(ValueError, match="from 7 to 11 have to be free for 5 sentinels"):
        span_corruption([row], vocab_size=12, wrap=True, **known)


def corrupted() -> Examples:
    rows = [[3, 7, 1, 9, 4, 2, 8], [5, 6, 2]]
    return span_corruption(rows, vocab_size=20, end_id=10, pad_id=11, seed=0, rate=0.4, mean_span=2.0)


def test_a_prefix_lm_sees_the_whole_prefix_and_no_later_target() -> None:
    examples, model = corrupted(), TinyPrefixLM(20, 8, 2, 2).double().eval()
    assert examples.prefix_len is not None
    seen = visibility(model, examples.tokens, examples.prefix_len, valid=examples.valid)
    mask = create_prefix_lm_mask(examples.tokens.size(1), examples.prefix_len, valid=examples.valid)
    for b in range(2):
        assert torch.equal(seen[b, b][examples.valid[b]], mask[b, 0][examples.valid[b]])
        assert not seen[b, 1 - b].any()


@pytest.mark.parametrize("how", ["change", "gradient"])
def test_as_encoder_decoder_pair_it_runs_and_shows_no_later_target(how: str) -> None:
    torch.manual_seed(0)
    examples, model = corrupted(), TinyEncoderDecoder(20, 8, 2, 2, 2).double().eval()
    assert examples.loss(examples.logits(model)).isfinite()
    assert examples.prefix_len is not None
    seen = visibility(model, examples.tokens, examples.prefix_len, valid=examples.valid, how=how)
    mask = create_prefix_lm_mask(examples.tokens.size(1), examples.prefix_len, valid=examples.valid)
    for b, p in enumerate(examples.prefix_len.tolist()):
        rows = torch.arange(examples.tokens.size(1)) >= p - 1  # the decoder's
        rows &= examples.valid[b]
        assert torch.equal(seen[b, b][rows], mask[b, 0][rows])
        assert not seen[b, 1 - b].any()


@pytest.mark.parametrize("kind", [TinyPrefixLM, TinyEncoderDecoder])
def test_the_token_that_ends_the_prefix_predicts_the_first_of_the_target(
    kind: type[TinyPrefixLM] | type[TinyEncoderDecoder],
) -> None:
    examples = corrupted()
    assert examples.prefix_len is not None
    logits = examples.logits(kind(20, 8, 2).eval()).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(examples.loss(logits), logits)
    for b, p in enumerate(examples.prefix_len.tolist()):
        assert examples.tokens[b, p - 1 : p + 1].tolist() == [10, 19]
        assert (gradient[b, p - 1] < 0).nonzero().tolist() == [[19]]  # pushed up, all else down
        assert (gradient[b, : p - 1] == 0).all()
