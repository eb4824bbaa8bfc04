"""UniLM: four masks against a plain rule, its mix, what is covered and how, fine-tuning on the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from bad_values import VALID, Wrong, count
from hypothesis import given
from hypothesis import strategies as st
from objectives import (
    assert_a_model_can_learn_from,
    assert_refused,
    chi_square,
    refusals,
    seen_by_a_model,
    wrong_shares,
)
from strategies import Padded, padded_batches
from torch import Tensor

from prefixlm_teach import (
    UniLMIds,
    causal_mask,
    draw_unilm_kinds,
    right_to_left_mask,
    unilm_cloze,
    unilm_finetuning,
)
from prefixlm_teach.examples import Examples
from prefixlm_teach.rows import row_draws
from prefixlm_teach.unilm import KINDS, Kind, choose_places

SOS, EOS, MASK, PAD = 20, 21, 22, 23
IDS = UniLMIds(start=SOS, end=EOS, mask=MASK, pad=PAD)
V = 24

seeds = st.integers(0, 2**20)
segments = st.lists(st.integers(0, 19), min_size=1, max_size=7)
Batch = tuple[list[tuple[list[int], list[int]]], list[Kind]]
pairs = st.lists(st.tuples(segments, segments), min_size=1, max_size=5)
rates = st.floats(0.01, 1)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    given_pairs = draw(pairs)
    return given_pairs, [draw(st.sampled_from(KINDS)) for _ in given_pairs]


def row_of(pair: tuple[list[int], list[int]], kind: Kind) -> list[int]:
    first, second = pair
    one = kind in ("left-to-right", "right-to-left")
    return [SOS, *first, *second, EOS] if one else [SOS, *first, EOS, *second, EOS]


def may_see(kind: Kind, source: int, q: int, k: int) -> bool:
    """The four masks in words; `source` counts [SOS], the first segment and its [EOS]."""
    if kind == "bidirectional":
        return True
    if kind == "left-to-right":
        return k <= q
    if kind == "right-to-left":
        return k >= q
    return k < source if q < source else k <= q


def originals(examples: Examples) -> Tensor:
    """The tokens before they were covered."""
    return torch.where(examples.labels == -100, examples.tokens, examples.labels)


@given(batches(), seeds, rates)
def test_rows_and_masks_are_those_of_their_kinds(batch: Batch, seed: int, rate: float) -> None:
    examples = unilm_cloze(*batch, IDS, vocab_size=V, seed=seed, rate=rate)
    T = examples.tokens.size(1)
    assert examples.cloze
    assert examples.prefix_len is None
    assert examples.mask is not None
    assert examples.mask.dtype == torch.bool
    assert examples.mask.shape == (len(batch[0]), 1, T, T)
    for b, (pair, kind) in enumerate(zip(*batch, strict=True)):
        row = row_of(pair, kind)
        n = len(row)
        assert originals(examples)[b].tolist() == row + [PAD] * (T - n)
        assert examples.valid[b].tolist() == [True] * n + [False] * (T - n)
        wanted = [[may_see(kind, len(pair[0]) + 2, q, k) for k in range(n)] for q in range(n)]
        assert examples.mask[b, 0, :n, :n].tolist() == wanted
        assert not examples.mask[b, 0, :, n:].any()


def test_who_sees_whom_in_the_papers_example() -> None:
    """Section 2.3: [SOS] t1 t2 [EOS] t3 t4 t5 [EOS]; t1 and t2 see the first four, t4 the first six."""
    examples = unilm_cloze([([1, 2], [3, 4, 5])], ["sequence-to-sequence"], IDS, vocab_size=V, seed=0)
    assert examples.mask is not None
    sees = [row.nonzero().flatten().tolist() for row in examples.mask[0, 0]]
    assert sees[1] == sees[2] == [0, 1, 2, 3]
    assert sees[5] == [0, 1, 2, 3, 4, 5]


@given(padded_batches())
def test_right_to_left_is_a_loop_over_what_comes_after(batch: Padded) -> None:
    T = len(batch.real[0])
    mask = right_to_left_mask(T, valid=batch.valid)
    for found, real in zip(mask[:, 0].tolist(), batch.real, strict=True):
        assert found == [[k >= q and real[k] for k in range(T)] for q in range(T)]
    alone = right_to_left_mask(T)
    assert torch.equal(alone, causal_mask(T).mT)
    assert torch.equal(alone, causal_mask(T).flip(0, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_learns_from_it_and_sees_what_the_mask_says(kind: Kind) -> None:
    examples = unilm_cloze(
        [([1, 2, 3], [4, 5]), ([6], [7])], [kind, "left-to-right"], IDS, vocab_size=V, seed=0, rate=0.4
    )
    assert_a_model_can_learn_from(examples, V)
    assert examples.mask is not None
    seen = seen_by_a_model(examples, 0, V)
    n = len(seen)
    assert torch.equal(seen, examples.mask[0, 0, :n, :n])


def test_a_label_is_predicted_in_its_own_row() -> None:
    examples = unilm_cloze([([1, 2, 3], [4, 5])], ["bidirectional"], IDS, vocab_size=V, seed=0, rate=0.5)
    logits = torch.randn(*examples.tokens.shape, V, generator=torch.Generator().manual_seed(0))
    scored = examples.labels[0] != -100
    terms = -logits[0].log_softmax(-1).gather(-1, examples.labels[0].clamp(min=0)[:, None])[:, 0][scored]
    torch.testing.assert_close(examples.loss(logits), terms.mean())


@given(batches(), seeds, rates)
def test_as_many_tokens_are_covered_as_the_rate_says_and_no_special_one(
    batch: Batch, seed: int, rate: float
) -> None:
    examples = unilm_cloze(*batch, IDS, vocab_size=V, seed=seed, rate=rate)
    covered = examples.labels != -100
    words = [len(first) + len(second) for first, second in batch[0]]
    assert covered.sum(-1).tolist() == [max(1, round(n * rate)) for n in words]
    assert (examples.labels[covered] < SOS).all()


def test_of_the_covered_tokens_80_percent_become_the_mask_10_percent_any_id_10_percent_stay() -> None:
    n = 2000
    examples = unilm_cloze(
        [([1] * 5, [1] * 5)] * n, ["left-to-right"] * n, IDS, vocab_size=V, seed=1, rate=0.5
    )
    covered = examples.labels != -100
    now = examples.tokens[covered].tolist()
    assert len(now) == 5 * n
    others = [id_ for id_ in range(V) if id_ not in (1, MASK)]
    found = Counter(now)
    counts = [found[MASK], found[1], *[found[id_] for id_ in others]]
    random = 0.1 / V  # the share of each id, the mask and the token itself too
    shares = [0.8 + random, 0.1 + random, *[random] * len(others)]
    assert chi_square(counts, shares) < 44.2  # 0.5 % at 23 degrees of freedom


def test_n_grams_are_as_frequent_as_in_the_paper() -> None:
    """Two of 1,000 places: how often they are neighbours, counted by hand.

    The first choice is a bigram (0.1: neighbours), a trigram (0.1: of three, two are kept, neighbours with
    2/3), or one place (0.8). Then the second is one place (no neighbour), a bigram (0.1: of three places two
    are kept, neighbours with 1/3) or a trigram (0.1: of four places two are kept, neighbours with 2/6).
    """
    share = 0.1 + 0.1 * 2 / 3 + 0.8 * (0.1 / 3 + 0.1 * 2 / 6)
    places, n = list(range(1000)), 5000
    neighbours = 0
    for i in range(n):
        a, b = sorted(choose_places(places, 2, 0.2, row_draws(0, i)))
        neighbours += b == a + 1
    assert abs(neighbours - n * share) < 4 * (n * share * (1 - share)) ** 0.5 + n * 0.002


def test_bigrams_and_trigrams_are_as_frequent_and_nothing_is_longer() -> None:
    """Of 1,000 places, by n-grams alone: how often three are in a row, and four.

    Three are if the first is a trigram (0.5), or a bigram, then a trigram (0.25), and of these five places
    the trigram's are kept (1/10).
    """
    places, n = list(range(1000)), 3000

    def in_a_row(k: int) -> int:
        drawn = [sorted(choose_places(places, k, 1.0, row_draws(1, i))) for i in range(n)]
        return sum(chosen[-1] - chosen[0] == k - 1 for chosen in drawn)

    share = 0.5 + 0.25 / 10
    assert abs(in_a_row(3) - n * share) < 4 * (n * share * (1 - share)) ** 0.5
    assert in_a_row(4) < n * 0.01


@given(st.sets(st.integers(0, 30), min_size=1), st.integers(1, 40), st.sampled_from([0.0, 0.2, 1.0]), seeds)
def test_chosen_places_are_some_of_those_that_may_be(may: set[int], n: int, rate: float, seed: int) -> None:
    chosen = choose_places(sorted(may), n, rate, row_draws(seed, 0))
    assert len(set(chosen)) == len(chosen) == min(n, len(may))
    assert set(chosen) <= may


def test_an_n_gram_ends_where_its_segment_does() -> None:
    """Of places 0 | 2 | 4, none next to another, n-grams are single places: each pair is as likely."""
    found = Counter(tuple(sorted(choose_places([0, 2, 4], 2, 1.0, row_draws(0, i)))) for i in range(3000))
    assert set(found) == {(0, 2), (0, 4), (2, 4)}
    assert chi_square(found.values(), [1 / 3] * 3) < 10.6  # 0.5 % at 2 degrees of freedom


def test_pre_training_covers_n_grams_and_fine_tuning_does_not() -> None:
    n, segment = 1500, list(range(1, 13))
    shares = []
    for examples in (
        unilm_cloze([(segment, [1])] * n, ["left-to-right"] * n, IDS, vocab_size=V, seed=0, rate=0.15),
        unilm_finetuning([([1], segment)] * n, IDS, vocab_size=V, seed=0, rate=0.15),
    ):
        covered = (examples.labels != -100).int()
        assert set(covered.sum(-1).tolist()) == {2}
        shares.append(float((covered[:, 1:] * covered[:, :-1]).sum() / n))
    assert shares[0] > 0.25  # 0.22 and what neighbours by chance
    assert shares[1] == pytest.approx(2 / 13, abs=0.03)  # two of 13 places, neighbours by chance


def test_the_mix_is_a_third_a_third_a_sixth_a_sixth() -> None:
    kinds = draw_unilm_kinds(6000, seed=0)
    found = Counter(kinds)
    assert chi_square([found[kind] for kind in KINDS], [1 / 3, 1 / 3, 1 / 6, 1 / 6]) < 12.8  # 0.5 % at 3
    assert KINDS == ("bidirectional", "sequence-to-sequence", "left-to-right", "right-to-left")


@given(st.integers(1, 20), st.integers(1, 20), seeds)
def test_the_kind_of_an_example_does_not_depend_on_the_others(few: int, more: int, seed: int) -> None:
    assert draw_unilm_kinds(few + more, seed=seed)[:few] == draw_unilm_kinds(few, seed=seed)


@given(batches(), batches(), seeds)
def test_the_draws_of_an_example_do_not_depend_on_the_others(
    few: Batch,
    more: Batch,
    seed: int,
) -> None:
    alone = unilm_cloze(*few, IDS, vocab_size=V, seed=seed)
    both = unilm_cloze([*few[0], *more[0]], [*few[1], *more[1]], IDS, vocab_size=V, seed=seed)
    B, T = alone.tokens.shape
    assert torch.equal(both.tokens[:B, :T], alone.tokens)
    assert torch.equal(both.labels[:B, :T], alone.labels)
    assert both.mask is not None
    assert alone.mask is not None
    real = alone.valid[:, None, :, None]
    assert torch.equal(both.mask[:B, :, :T, :T] & real, alone.mask & real)
    longer = [([*few[0][0][0], 1, 2, 3], few[0][0][1]), *few[0][1:]]
    other = unilm_cloze(longer, few[1], IDS, vocab_size=V, seed=seed)
    assert torch.equal(other.tokens[1:, :T], alone.tokens[1:])
    assert torch.equal(other.labels[1:, :T], alone.labels[1:])


def test_one_sentence_under_four_masks_is_covered_by_the_same_seed_otherwise_by_another() -> None:
    one = [([1, 2, 3, 4], [5, 6, 7, 8])] * 8
    made = [unilm_cloze(one, ["bidirectional"] * 8, IDS, vocab_size=V, seed=s).tokens for s in (0, 0, 1)]
    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])
    assert len({tuple(row) for row in made[0].tolist()}) > 3


@given(pairs, seeds, rates)
def test_fine_tuning_covers_the_target_and_its_end_alone(
    given_pairs: list[tuple[list[int], list[int]]], seed: int, rate: float
) -> None:
    examples = unilm_finetuning(given_pairs, IDS, vocab_size=V, seed=seed, rate=rate)
    assert examples.cloze
    assert examples.mask is not None
    for b, (source, target) in enumerate(given_pairs):
        row = row_of((source, target), "sequence-to-sequence")
        n, p = len(row), len(source) + 2
        assert originals(examples)[b, :n].tolist() == row
        covered = examples.labels[b] != -100
        assert not covered[:p].any()
        assert not covered[n:].any()
        assert int(covered.sum()) == max(1, round(len(target) * rate))
        wanted = [[may_see("sequence-to-sequence", p, q, k) for k in range(n)] for q in range(n)]
        assert examples.mask[b, 0, :n, :n].tolist() == wanted


def test_fine_tuning_covers_the_end_as_often_as_any_other_place_of_the_target() -> None:
    n = 3000
    examples = unilm_finetuning([([1], [2, 3, 4])] * n, IDS, vocab_size=V, seed=0)
    covered = (examples.labels != -100).sum(0).tolist()
    assert covered[:3] == [0, 0, 0]
    assert all(abs(c - n / 2) < 4 * (n / 4) ** 0.5 for c in covered[3:])  # round(3 * 0.7) = 2 of 4 places


def test_a_model_is_fine_tuned_on_it() -> None:
    examples = unilm_finetuning([([1, 2], [3, 4, 5]), ([6], [7])], IDS, vocab_size=V, seed=0)
    assert_a_model_can_learn_from(examples, V)


OTHER_IDS = [Wrong(str(x), x, "must be UniLMIds") for x in (None, 3, {"start": 1})]
PAIRS = [
    Wrong("None", None, "must be a list of pairs of lists of ids"),
    Wrong("one string", "abc", "must be a list of pairs of lists of ids"),
    Wrong("tensor", torch.tensor([[1, 2]]), r"use pairs.tolist\(\)"),
    Wrong("no pair", [], "pairs is empty: it needs at least one"),
    Wrong("one pair", ([1], [2]), r"pairs\[0\] must be a tuple of two lists of ids, not list"),
    Wrong("lists", [[[1], [2]]], r"pairs\[0\] must be a tuple of two lists of ids, not list"),
    Wrong("one segment", [([1],)], r"pairs\[0\] must be a tuple of two lists of ids"),
    Wrong("texts", [("ab", "c")], r"pairs\[0\]\[0\] must be a list of ids, not str"),
    Wrong("an empty segment", [([1], [])], r"pairs\[0\]\[1\] has 0 tokens"),
    Wrong("a float", [([1.0], [2])], r"pairs\[0\]\[0\]\[0\] must be a whole number"),
    Wrong("negative", [([1], [-2])], r"pairs\[0\]\[1\] holds the id -2, but ids begin at 0"),
    Wrong("the mask", [([1], [MASK])], r"pairs\[0\]\[1\] holds the id 22, which is that of ids.mask"),
    Wrong("beyond", [([1], [2, 24])], r"pairs\[0\]\[1\] holds the id 24, but ids go from 0 to 23"),
]
VOCAB_SIZE = [
    *count(1),
    Wrong("too small", 23, "vocab_size is 23, but ids.pad has the id 23"),
    Wrong("large", 2**63, "no int64 can hold"),
]
GOOD = {"pairs": [([1], [2])], "ids": IDS, "vocab_size": V, "seed": 0, "rate": 0.5}
RATE = wrong_shares(whole=True)
WRONGS = {"pairs": PAIRS, "ids": OTHER_IDS, "vocab_size": VOCAB_SIZE, "seed": count(0), "rate": RATE}
TABLE: list[tuple[str, Callable[..., Any], dict[str, Any], dict[str, list[Wrong]]]] = [
    (
        "UniLMIds",
        UniLMIds,
        {"start": 1, "end": 2, "mask": 3, "pad": 4},
        {
            name: [
                *count(0),
                Wrong("large", 2**63, "but ids go from 0"),
                Wrong("twice", 1 if name == "pad" else 4, "each special token needs its own"),
            ]
            for name in ("start", "end", "mask", "pad")
        },
    ),
    (
        "unilm_cloze",
        unilm_cloze,
        GOOD | {"kinds": ["bidirectional"]},
        WRONGS
        | {
            "kinds": [
                Wrong("None", None, "must be a list of names"),
                Wrong("one name", "bidirectional", "must be a list of names"),
                Wrong("none", [], "is empty"),
                Wrong("unknown", ["seq2seq"], r"kinds\[0\] is 'seq2seq', but it must be one of bidirectio"),
                Wrong("a number", [0], r"kinds\[0\] is 0, but it must be one of"),
                Wrong("too many", ["bidirectional"] * 2, "is for 2 examples, but there are 1"),
            ]
        },
    ),
    ("unilm_finetuning", unilm_finetuning, GOOD, WRONGS),
    (
        "draw_unilm_kinds",
        draw_unilm_kinds,
        {"examples": 2, "seed": 0},
        {"examples": count(1), "seed": count(0)},
    ),
    (
        "right_to_left_mask",
        right_to_left_mask,
        {"seq_len": 5, "valid": torch.ones(2, 5, dtype=torch.bool)},
        {"seq_len": count(1), "valid": VALID},
    ),
]


@pytest.mark.parametrize(("call", "good", "argument", "wrong"), refusals(TABLE))
def test_wrong_arguments_are_refused_beforehand(
    call: Callable[..., Any], good: dict[str, Any], argument: str, wrong: Wrong
) -> None:
    assert_refused(call, good, argument, wrong)
