"""Rows of ids: draws that depend on the seed and the row alone, documents, examples read left to right."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from objectives import chi_square

from prefixlm_teach.rows import causal_examples, chance, documents_of, draw_int, row_generator

END = 9
seeds = st.integers(0, 2**70)


def numbers(seed: int, row: int) -> list[int]:
    return torch.randint(2**60, (4,), generator=row_generator(seed, row)).tolist()


@given(seeds, st.integers(0, 1000))
def test_the_numbers_of_a_row_are_its_own(seed: int, row: int) -> None:
    assert numbers(seed, row) == numbers(seed, row)
    assert numbers(seed, row) != numbers(seed, row + 1)
    assert numbers(seed, row) != numbers(seed + 1, row)
    assert numbers(seed + 1, row) != numbers(seed, row + 1)


def test_the_numbers_of_a_row_are_the_same_everywhere() -> None:
    drawn = [torch.randint(100, (4,), generator=row_generator(3, row)).tolist() for row in range(2)]
    assert drawn == [[59, 83, 78, 6], [21, 83, 55, 10]]


def test_first_draws_of_neighbouring_rows_and_seeds_are_spread_evenly() -> None:
    for pairs in ([(0, row) for row in range(6000)], [(seed, 0) for seed in range(6000)]):
        drawn = [draw_int(0, 5, row_generator(*pair)) for pair in pairs]
        assert chi_square([drawn.count(k) for k in range(6)], [1 / 6] * 6) < 16.7  # 0.5 % at 5 degrees


@given(st.integers(-5, 5), st.integers(0, 5), seeds)
def test_a_whole_number_lies_between_its_bounds(low: int, more: int, seed: int) -> None:
    generator = row_generator(seed, 0)
    drawn = {draw_int(low, low + more, generator) for _ in range(200)}
    assert drawn == set(range(low, low + more + 1))


def test_a_chance_of_0_never_comes_and_one_of_1_always() -> None:
    generator = row_generator(0, 0)
    assert not any(chance(0, generator) for _ in range(1000))
    assert all(chance(1, generator) for _ in range(1000))
    assert 230 < sum(chance(0.25, generator) for _ in range(1000)) < 270


@given(st.lists(st.sampled_from([1, 2, END]), max_size=8))
def test_documents_end_with_the_end_and_are_the_row_when_joined(row: list[int]) -> None:
    documents = documents_of(row, END)
    assert [token for document in documents for token in document] == row
    assert all(document for document in documents)
    assert all(document[-1] == END for document in documents[:-1])
    assert all(END not in document[:-1] for document in documents)


def test_documents_by_hand() -> None:
    assert documents_of([1, 2, END, END, 3], END) == [[1, 2, END], [END], [3]]
    assert documents_of([1, END], END) == [[1, END]]


def test_every_token_is_a_label_and_padding_is_none() -> None:
    examples = causal_examples([[1, 2, 3], [4]], pad_id=0)
    assert examples.tokens.tolist() == [[1, 2, 3], [4, 0, 0]]
    assert examples.labels.tolist() == [[1, 2, 3], [4, -100, -100]]
    assert examples.valid.tolist() == [[True, True, True], [True, False, False]]
    assert examples.prefix_len is not None
    assert examples.prefix_len.tolist() == [0, 0]
    assert not examples.cloze
