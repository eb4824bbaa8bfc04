"""Choosing a token: the candidates against a plain count, the draws against their shares."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from prefixlm_teach import choose
from prefixlm_teach.sampling import candidates

numbers = st.lists(st.integers(-40, 40).map(lambda n: n / 8), min_size=1, max_size=8)
temperatures = st.sampled_from([0.1, 0.5, 1.0, 3.0])
top_ks = st.none() | st.integers(1, 10)
# No sum of shares comes so near to one of these that rounding would decide.
top_ps = st.sampled_from([None, 0.0137, 0.1234567, 0.31415926, 0.577215, 0.70710678, 0.9090901, 0.99, 1.0])


def plain_shares(
    logits: list[float], temperature: float, top_k: int | None, top_p: float | None
) -> list[float]:
    """The share of each id, in loops; of equal logits the lower id goes first."""
    order = sorted(range(len(logits)), key=lambda i: (-logits[i], i))[: top_k or len(logits)]
    weights = {i: math.exp((logits[i] - max(logits)) / temperature) for i in order}
    whole = sum(weights.values())
    kept, together = [], 0.0
    for i in order:
        kept.append(i)
        together += weights[i] / whole
        if top_p is not None and top_p < 1 and together > top_p:
            break
    left = sum(weights[i] for i in kept)
    return [weights[i] / left if i in kept else 0.0 for i in range(len(logits))]


def shares_by_id(logits: Tensor, *how: float | None) -> Tensor:
    ids, shares = candidates(logits, *how)
    return torch.zeros_like(logits).scatter(-1, ids, shares)


@given(st.lists(numbers, min_size=1, max_size=3), temperatures, top_ks, top_ps)
def test_candidates_and_their_shares_are_those_of_a_plain_count(
    rows: list[list[float]], temperature: float, top_k: int | None, top_p: float | None
) -> None:
    size = min(map(len, rows))
    rows = [row[:size] for row in rows]
    found = shares_by_id(torch.tensor(rows, dtype=torch.float64), temperature, top_k, top_p)
    for row, shares in zip(rows, found.tolist(), strict=True):
        assert shares == pytest.approx(plain_shares(row, temperature, top_k, top_p), abs=1e-12)


@given(st.lists(numbers, min_size=1, max_size=3), top_ks, top_ps)
def test_the_likeliest_is_taken_without_temperature_and_of_equals_the_lowest_id(
    rows: list[list[float]], top_k: int | None, top_p: float | None
) -> None:
    size = min(map(len, rows))
    wanted = [max(range(size), key=lambda i: (row[i], -i)) for row in rows]
    logits = torch.tensor([row[:size] for row in rows])
    assert choose(logits, top_k=top_k, top_p=top_p).tolist() == wanted
    assert choose(logits, temperature=2.0, top_k=1, top_p=top_p).tolist() == wanted
    assert choose(logits, temperature=2.0, top_k=top_k, top_p=1e-9).tolist() == wanted


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"), [(1.0, None, None), (0.5, None, None), (2.0, 4, None), (1.5, 5, 0.8)]
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_tokens_are_drawn_as_often_as_their_shares_say(
    temperature: float, top_k: int | None, top_p: float | None, seed: int
) -> None:
    """Five standard deviations: a right sampler fails once in a million, and the seeds are fixed."""
    row, draws = [0.0, 2.0, -1.0, 1.5, 0.5, 1.0], 20_000
    drawn = choose(
        torch.tensor([row]).expand(draws, -1),
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        generator=torch.Generator().manual_seed(seed),
    )
    counts = drawn.bincount(minlength=6).tolist()
    for count, share in zip(counts, plain_shares(row, temperature, top_k, top_p), strict=True):
        assert abs(count - share * draws) <= 5 * math.sqrt(draws * share * (1 - share))
        assert (count > 0) == (share > 0)


def test_each_example_draws_from_its_own_shares() -> None:
    logits = torch.full((3, 4), -1e4)
    logits[[0, 1, 2], [2, 0, 3]] = 0.0
    assert choose(logits, temperature=1.0).tolist() == [2, 0, 3]


def test_the_generator_decides_and_without_one_pytorch_does() -> None:
    logits = torch.zeros(20, 50)
    drawn = [choose(logits, temperature=1.0, generator=torch.Generator().manual_seed(s)) for s in (0, 0, 1)]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    torch.manual_seed(5)
    first = choose(logits, temperature=1.0)
    torch.manual_seed(5)
    assert torch.equal(first, choose(logits, temperature=1.0))


@pytest.mark.parametrize("size", [3, 50, 5000])
def test_of_many_equals_the_lowest_ids_are_the_candidates(size: int) -> None:
    logits = torch.zeros(2, size)
    logits[1, size - 1] = 1.0
    ids, _ = candidates(logits, 1.0, 3, None)
    assert ids.tolist() == [[0, 1, 2], [size - 1, 0, 1]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_logits_are_drawn_from_as_if_they_were_float32(dtype: torch.dtype) -> None:
    """Added up in bfloat16, a thousand small shares stop growing at a half."""
    logits = torch.randn(2, 1000, generator=torch.Generator().manual_seed(0)).to(dtype)
    for half, single in zip(
        candidates(logits, 1.0, None, 0.9), candidates(logits.float(), 1.0, None, 0.9), strict=True
    ):
        assert torch.equal(half, single)


@pytest.mark.parametrize("top_k", [3, 4, 2**70])
def test_more_candidates_than_tokens_are_all_of_them(top_k: int) -> None:
    logits = torch.tensor([[0.5, 0.1, 0.3]])
    assert torch.equal(shares_by_id(logits, 1.0, top_k, None), shares_by_id(logits, 1.0, None, None))


def test_the_whole_share_leaves_out_nothing_however_small() -> None:
    """Added up in float32, the others are 1 already."""
    logits = torch.tensor([[0.0, -20.0, -40.0]])
    assert (shares_by_id(logits, 1.0, None, 1.0) > 0).all()
    assert (shares_by_id(logits, 1.0, None, 0.999) > 0).tolist() == [[True, False, False]]


@pytest.mark.parametrize("top_p", [1e-12, 0.2, 0.49])
def test_one_candidate_is_always_left(top_p: float) -> None:
    shares = shares_by_id(torch.tensor([[0.0, 1.0, 0.0]]), 1.0, None, top_p)
    assert shares.tolist() == [[0.0, 1.0, 0.0]]


def test_half_is_reached_by_a_half() -> None:
    logits = torch.tensor([[0.25, 0.5, 0.25]]).log()
    assert (shares_by_id(logits, 1.0, None, 0.5) > 0).tolist() == [[False, True, False]]
    assert (shares_by_id(logits, 1.0, None, 0.51) > 0).tolist() == [[True, True, False]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("temperature", [1e-6, 1.0, 1e30])
def test_the_largest_numbers_a_dtype_has_give_no_nan(dtype: torch.dtype, temperature: float) -> None:
    top = torch.finfo(dtype).max
    logits = torch.tensor([[-top, top / 2, top / 4]], dtype=dtype)
    ids, shares = candidates(logits, temperature, None, 0.9)
    assert shares.isfinite().all()
    assert ids[0, 0] == 1
    assert choose(logits, temperature=1e-6).tolist() == [1]


def test_the_logits_stay_what_they_were() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0]])
    choose(logits, temperature=0.7, top_k=2, top_p=0.5)
    assert logits.tolist() == [[0.0, 1.0, 2.0]]
