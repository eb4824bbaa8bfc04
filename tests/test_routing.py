"""Routing: the choices of tokens and of experts, and the balance loss, each against a loop."""

from __future__ import annotations

import math
from itertools import chain

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import Padded, padded_batches
from torch import Tensor

from prefixlm_teach import balance_loss, expert_choice, token_choice

seeds, counts, factors = st.integers(0, 2**20), st.integers(1, 4), st.sampled_from([0.5, 1.0, 1.25, 2.0, 9.0])


def likely(batch: Padded, n_experts: int, seed: int) -> Tensor:
    """Probabilities in tenths, so that some are alike."""
    draws = torch.Generator().manual_seed(seed)
    parts = torch.randint(1, 4, (*batch.valid.shape, n_experts), generator=draws).double()
    return parts / parts.sum(-1, keepdim=True)


def by_token(
    likely: list[list[list[float]]], real: list[list[bool]], factor: float, over_batch: bool
) -> Tensor:
    """Token after token: it goes to its first likeliest expert, if that has room."""
    n_experts = len(likely[0][0])
    places = [[(b, t) for t, is_real in enumerate(row) if is_real] for b, row in enumerate(real)]
    gates = torch.zeros(len(real), len(real[0]), n_experts, dtype=torch.float64)
    for group in [list(chain.from_iterable(places))] if over_batch else places:
        room = [math.ceil(len(group) * factor / n_experts)] * n_experts
        for b, t in group:
            best = max(range(n_experts), key=lambda e: (likely[b][t][e], -e))
            if room[best]:
                room[best] -= 1
                gates[b, t, best] = likely[b][t][best]
    return gates


def by_expert(likely: list[list[list[float]]], real: list[list[bool]], factor: float) -> Tensor:
    """Expert after expert: it takes the tokens that suit it best, of those alike the first."""
    n_experts = len(likely[0][0])
    places = [(b, t) for b, row in enumerate(real) for t, is_real in enumerate(row) if is_real]
    gates = torch.zeros(len(real), len(real[0]), n_experts, dtype=torch.float64)
    for e in range(n_experts):
        ranked = sorted(places, key=lambda place: -likely[place[0]][place[1]][e])
        for b, t in ranked[: math.ceil(len(places) * factor / n_experts)]:
            gates[b, t, e] = likely[b][t][e]
    return gates


@given(padded_batches(), counts, seeds)
def test_a_token_goes_to_the_expert_that_it_finds_likeliest(batch: Padded, n_experts: int, seed: int) -> None:
    given = likely(batch, n_experts, seed)
    gates = token_choice(given, batch.valid)
    assert torch.equal(gates, by_token(given.tolist(), batch.real, n_experts, False))
    assert torch.equal((gates > 0).sum(-1), batch.valid.long())
    every = torch.ones_like(batch.valid)
    assert torch.equal(token_choice(given), token_choice(given, every))


@pytest.mark.parametrize("over_batch", [False, True])
@given(padded_batches(), counts, seeds, factors)
def test_an_expert_that_is_full_drops_those_that_come_after(
    over_batch: bool, batch: Padded, n_experts: int, seed: int, factor: float
) -> None:
    given = likely(batch, n_experts, seed)
    gates = token_choice(given, batch.valid, capacity_factor=factor, over_batch=over_batch)
    assert torch.equal(gates, by_token(given.tolist(), batch.real, factor, over_batch))


@given(padded_batches(), counts, seeds, factors)
def test_an_expert_takes_the_tokens_of_the_batch_that_suit_it_best(
    batch: Padded, n_experts: int, seed: int, factor: float
) -> None:
    given = likely(batch, n_experts, seed)
    gates = expert_choice(given, batch.valid, capacity_factor=factor)
    assert torch.equal(gates, by_expert(given.tolist(), batch.real, factor))
    every = torch.ones_like(batch.valid)
    assert torch.equal(expert_choice(given), expert_choice(given, every, capacity_factor=1.0))


def test_whom_an_expert_takes_first_hangs_on_tokens_that_come_later() -> None:
    """One token in two fits: the first is taken until a later one suits the expert better."""
    suits = torch.tensor([0.6, 0.5])
    for later, taken in ((0.5, [True, False]), (0.7, [False, True])):
        suits[1] = later
        given = torch.stack([suits, 1 - suits], dim=-1)[None]  # (1, 2, 2)
        assert (expert_choice(given)[0, :, 0] > 0).tolist() == taken
        assert (token_choice(given)[0, 0] > 0).tolist() == [True, False]


@given(padded_batches(min_real=1), counts, seeds)
def test_capacity_within_an_example_is_the_same_whatever_padding_stands_around_it(
    batch: Padded, n_experts: int, seed: int
) -> None:
    given = likely(batch, n_experts, seed)
    gates = token_choice(given, batch.valid, capacity_factor=1.0)
    for b, real in enumerate(batch.valid):
        alone = token_choice(given[b : b + 1, real], capacity_factor=1.0)
        assert torch.equal(gates[b, real], alone[0])


def test_what_is_dropped_from_a_short_example_is_kept_in_a_longer_one_that_begins_alike() -> None:
    """So with a capacity, the length of the target shows in the rows before it."""
    given = torch.tensor([0.9, 0.1]).expand(1, 4, 2)  # all go to the first expert
    short, long = (token_choice(given[:, :n], capacity_factor=1.0) for n in (2, 4))
    assert (short[0, :, 0] > 0).tolist() == [True, False]
    assert (long[0, :, 0] > 0).tolist() == [True, True, False, False]


@given(padded_batches(min_real=1), counts, seeds)
def test_the_balance_loss_is_that_of_a_loop_over_the_real_tokens(
    batch: Padded, n_experts: int, seed: int
) -> None:
    given = likely(batch, n_experts, seed)
    real = [
        row
        for rows, shown in zip(given.tolist(), batch.real, strict=True)
        for row, s in zip(rows, shown, strict=True)
        if s
    ]
    wanted = 0.0
    for e in range(n_experts):
        chose = sum(row.index(max(row)) == e for row in real) / len(real)
        wanted += n_experts * chose * sum(row[e] for row in real) / len(real)
    assert float(balance_loss(given, batch.valid)) == pytest.approx(wanted)


def test_the_balance_loss_is_1_in_balance_and_the_number_of_experts_when_one_has_all() -> None:
    even = torch.eye(4)[None]  # four tokens, each sure of another expert
    assert balance_loss(even) == 1
    assert balance_loss(even[:, :1].expand(1, 7, 4)) == 4


def test_the_balance_loss_pushes_against_the_expert_that_is_chosen_most() -> None:
    scores = torch.tensor([[[0.2, 0.0], [0.1, 0.0], [0.0, 0.1]]], requires_grad=True)
    (gradient,) = torch.autograd.grad(balance_loss(scores.softmax(-1)), scores)
    assert (gradient[..., 0] > 0).all()
    assert (gradient[..., 1] < 0).all()


def test_room_is_counted_exactly_where_floats_are_not() -> None:
    for n, experts, factor, room in ((50, 5, 1.1, 11), (100, 10, 1.1, 11), (90, 3, 1.1, 33)):
        alike = torch.full((1, n, experts), 1 / experts)
        first = torch.zeros(1, n, experts)
        first[..., 0] = 1.0
        assert int((token_choice(first, capacity_factor=factor) > 0).sum()) == room
        assert (expert_choice(alike, capacity_factor=factor) > 0).sum(1).tolist() == [[room] * experts]


def test_a_router_that_gives_nan_is_refused_and_padding_that_has_it_gets_nothing() -> None:
    odd = torch.full((1, 4, 2), 0.5)
    odd[0, 0] = torch.nan
    for route in (token_choice, expert_choice):
        with pytest.raises(ValueError, match="probabilities must sum to 1"):
            route(odd)
        assert route(odd, torch.tensor([[False, True, True, True]]))[0, 0].tolist() == [0.0, 0.0]
