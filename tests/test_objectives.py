"""Causal, masked and prefix LM: what they ask for, by their formulas; what they draw, by frequency."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from objectives import parts, spread

from prefixlm_teach import (
    TinyPrefixLM,
    causal_lm,
    causal_mask,
    masked_lm,
    prefix_lm,
    visibility,
)

V = 50
MASK_ID = 44  # not the last id, which has to be drawn too
seeds = st.integers(0, 2**32 - 1)
texts = st.lists(st.lists(st.integers(0, 40), min_size=2, max_size=30), min_size=1, max_size=5)


@given(texts)
def test_a_causal_lm_asks_for_all_but_the_first(rows: list[list[int]]) -> None:
    examples = causal_lm(rows, pad_id=45)
    assert examples.prefix_len is not None
    assert examples.prefix_len.tolist() == [0] * len(rows)
    assert examples.label_count == sum(len(row) - 1 for row in rows)
    for i, row in enumerate(rows):
        assert parts(examples, i) == (row, [-100, *row[1:]])
    assert (examples.tokens[~examples.valid] == 45).all()


def test_what_a_causal_lm_shows_is_the_causal_mask() -> None:
    examples, model = causal_lm([[1, 2, 3, 4]]), TinyPrefixLM(V, 8, 2, 2).double().eval()
    assert examples.prefix_len is not None
    assert torch.equal(visibility(model, examples.tokens, examples.prefix_len), causal_mask(4))


@given(texts, seeds)
def test_a_prefix_lm_splits_each_row_once_and_asks_for_the_rest(rows: list[list[int]], seed: int) -> None:
    examples = prefix_lm(rows, seed=seed)
    assert examples.prefix_len is not None
    for i, (row, p) in enumerate(zip(rows, examples.prefix_len.tolist(), strict=True)):
        assert 1 <= p <= len(row) - 1
        assert parts(examples, i) == (row, [-100] * p + row[p:])


def test_each_prefix_length_is_as_likely_as_any_other() -> None:
    rows, count = [[1] * 6] * 5000, 5000
    drawn = prefix_lm(rows, seed=0).prefix_len
    assert drawn is not None
    times = Counter(drawn.tolist())
    assert set(times) == {1, 2, 3, 4, 5}
    assert all(abs(times[p] - count / 5) < spread(count, 1 / 5) for p in times)


def test_a_row_of_two_has_one_split() -> None:
    examples = prefix_lm([[3, 4]] * 20, seed=1)
    assert examples.prefix_len is not None
    assert examples.prefix_len.tolist() == [1] * 20


@pytest.mark.parametrize("p", [2, torch.tensor(2), torch.tensor([2, 2]), torch.tensor([2, 2]).int()])
def test_a_prefix_length_can_be_given(p: int | torch.Tensor) -> None:
    examples = prefix_lm([[1, 2, 3], [4, 5, 6, 7]], prefix_len=p)
    assert examples.prefix_len is not None
    assert examples.prefix_len.tolist() == [2, 2]
    assert examples.prefix_len.dtype == torch.int64
    assert parts(examples, 0) == ([1, 2, 3], [-100, -100, 3])
    assert parts(examples, 1) == ([4, 5, 6, 7], [-100, -100, 6, 7])


def test_examples_do_not_share_the_prefix_length_they_were_given() -> None:
    p = torch.tensor([1, 2])
    examples = prefix_lm([[1, 2, 3], [4, 5, 6]], prefix_len=p)
    p += 1
    assert examples.prefix_len is not None
    assert examples.prefix_len.tolist() == [1, 2]


@given(texts)
def test_a_prefix_lm_without_a_prefix_is_a_causal_lm(rows: list[list[int]]) -> None:
    none, causal = prefix_lm(rows, prefix_len=0), causal_lm(rows)
    assert none.prefix_len is not None
    assert causal.prefix_len is not None
    assert torch.equal(none.labels, causal.labels)
    assert torch.equal(none.prefix_len, causal.prefix_len)


@given(texts, seeds, st.floats(0.01, 0.99))
def test_a_masked_lm_asks_for_the_published_number_of_tokens(
    rows: list[list[int]], seed: int, rate: float
) -> None:
    examples = masked_lm(rows, vocab_size=V, mask_id=MASK_ID, seed=seed, rate=rate)
    assert examples.cloze
    assert examples.prefix_len is not None
    for i, row in enumerate(rows):
        tokens, labels = parts(examples, i)
        asked = [t for t, label in enumerate(labels) if label != -100]
        assert len(asked) == max(round(len(row) * rate), 1)
        assert all(labels[t] == row[t] for t in asked)
        assert all(tokens[t] == row[t] for t in range(len(row)) if t not in asked)
        assert examples.prefix_len[i] == len(row)


def test_covers_come_80_to_10_to_10_and_anywhere() -> None:
    rows = [[7] * 40] * 1000
    examples = masked_lm(rows, vocab_size=V, mask_id=MASK_ID, seed=0)
    asked = examples.labels != -100
    count = int(asked.sum())
    assert count == 1000 * 6
    covers = Counter(examples.tokens[asked].tolist())
    masked, kept = 0.8 + 0.1 / V, 0.1 + 0.1 / V  # a random id may be the mask, or the token itself
    assert abs(covers[MASK_ID] - count * masked) < spread(count, masked)
    assert abs(covers[7] - count * kept) < spread(count, kept)
    others = {id_: times for id_, times in covers.items() if id_ not in (MASK_ID, 7)}
    assert set(others) == set(range(V)) - {MASK_ID, 7}
    assert all(abs(times - count * 0.1 / V) < spread(count, 0.1 / V) for times in others.values())
    assert ((asked.sum(0) - 150).abs() < spread(1000, 0.15)).all()  # each of the 40 places


def test_special_ids_are_never_asked_for_and_count_in_the_length() -> None:
    rows = [[1, *range(10, 28), 2]] * 200
    examples = masked_lm(rows, vocab_size=V, mask_id=MASK_ID, seed=0, special_ids={1, 2})
    assert (examples.labels[:, [0, -1]] == -100).all()
    assert (examples.tokens[:, [0, -1]] == torch.tensor([1, 2])).all()
    assert ((examples.labels != -100).sum(-1) == 3).all()
    few = masked_lm([[1, 5, 2, 2, 2, 2]], vocab_size=V, mask_id=MASK_ID, seed=0, rate=0.9, special_ids=[1, 2])
    assert few.labels.tolist() == [[-100, 5, -100, -100, -100, -100]]


@given(texts, seeds, st.data())
def test_what_is_drawn_for_a_row_does_not_depend_on_the_others(
    rows: list[list[int]], seed: int, data: st.DataObject
) -> None:
    i = data.draw(st.integers(0, len(rows) - 1))
    others = data.draw(st.lists(st.lists(st.integers(0, 40), min_size=2, max_size=9), max_size=3))
    changed = [[9, 9]] * i + [rows[i]] + others
    before, after = prefix_lm(rows, seed=seed), prefix_lm(changed, seed=seed)
    assert parts(before, i) == parts(after, i)
    known = {"vocab_size": V, "mask_id": MASK_ID, "seed": seed}
    assert parts(masked_lm(rows, **known), i) == parts(masked_lm(changed, **known), i)


def test_another_seed_draws_anew_and_the_same_seed_again() -> None:
    rows = [list(range(30))] * 20
    known = {"vocab_size": V, "mask_id": MASK_ID}
    first, again, other = (masked_lm(rows, seed=seed, **known).labels for seed in (5, 5, 6))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len({tuple(row) for row in first.tolist()}) == 20  # equal rows are not drawn alike
    p, q = prefix_lm(rows, seed=5).prefix_len, prefix_lm(rows, seed=6).prefix_len
    assert p is not None
    assert q is not None
    assert not torch.equal(p, q)


def test_a_model_runs_on_each_and_learns_from_the_labels() -> None:
    rows, model = [[1, 2, 3, 4, 5], [6, 7, 8]], TinyPrefixLM(V, 8, 2, 1).eval()
    made = [
        causal_lm(rows),
        prefix_lm(rows, seed=0),
        masked_lm(rows, vocab_size=V, mask_id=MASK_ID, seed=0),
    ]
    for examples in made:
        loss = examples.loss(examples.logits(model))
        assert loss.isfinite()
        model.zero_grad()
        loss.backward()
        gradient = model.output.bias.grad
        assert gradient is not None
        wanted = set(examples.labels[examples.labels != -100].tolist())
        assert set((gradient < 0).nonzero().flatten().tolist()) == wanted  # pushed up, all else down
