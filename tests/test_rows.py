"""Rows of ids: draws that depend on the seed and the row alone, documents, padding."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from objectives import chi_square

from prefixlm_teach.rows import chance, documents_of, draw_int, pad_right, row_draws

END = 9
seeds = st.integers(0, 2**32 - 2)


def numbers(seed: int, row: int) -> list[int]:
    drawn: list[int] = row_draws(seed, row).integers(2**60, size=4).tolist()
    return drawn


@given(seeds, st.integers(0, 1000))
def test_the_numbers_of_a_row_are_its_own(seed: int, row: int) -> None:
    assert numbers(seed, row) == numbers(seed, row)
    assert numbers(seed, row) != numbers(seed, row + 1)
    assert numbers(seed, row) != numbers(seed + 1, row)
    assert numbers(seed + 1, row) != numbers(seed, row + 1)


def test_the_numbers_of_a_row_are_the_same_everywhere() -> None:
    drawn = [row_draws(3, row).integers(100, size=4).tolist() for row in range(2)]
    assert drawn == [[81, 8, 17, 23], [97, 25, 57, 40]]


def test_first_draws_of_neighbouring_rows_and_seeds_are_spread_evenly() -> None:
    for pairs in ([(0, row) for row in range(6000)], [(seed, 0) for seed in range(6000)]):
        drawn = [draw_int(0, 5, row_draws(*pair)) for pair in pairs]
        assert chi_square([drawn.count(k) for k in range(6)], [1 / 6] * 6) < 16.7  # 0.5 % at 5 degrees


@given(st.integers(-5, 5), st.integers(0, 5), seeds)
def test_a_whole_number_lies_between_its_bounds(low: int, more: int, seed: int) -> None:
    draws = row_draws(seed, 0)
    drawn = {draw_int(low, low + more, draws) for _ in range(200)}
    assert drawn == set(range(low, low + more + 1))


def test_a_chance_of_0_never_comes_and_one_of_1_always() -> None:
    draws = row_draws(0, 0)
    assert not any(chance(0, draws) for _ in range(1000))
    assert all(chance(1, draws) for _ in range(1000))
    assert 230 < sum(chance(0.25, draws) for _ in range(1000)) < 270


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


def test_padding_stands_on_the_right() -> None:
    tokens, valid = pad_right([[1], [2, 3]], 8)
    assert tokens.tolist() == [[1, 8], [2, 3]]
    assert tokens.dtype == torch.int64
    assert valid.tolist() == [[True, False], [True, True]]
