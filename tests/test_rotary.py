"""Rotary positions: a turn that keeps lengths, scores that feel only the distance, a model built on it."""

from __future__ import annotations

from functools import cache
from itertools import repeat

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import visible_pairs
from strategies import Padded, padded_batches
from test_model import ids, influence
from test_training import copy_task
from torch import Tensor

from prefixlm_teach import RotaryPrefixLM, TinyPrefixLM, create_prefix_lm_mask, train
from prefixlm_teach.rotary import RotaryLinear, rotate

V, MAX_LEN = 11, 12
seeds = st.integers(0, 2**20)
evens = st.integers(1, 5).map(lambda pairs: 2 * pairs)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@cache
def tiny(n_layers: int = 2) -> RotaryPrefixLM:
    torch.manual_seed(n_layers)
    model = RotaryPrefixLM(V, d_model=8, n_heads=2, n_layers=n_layers, max_len=MAX_LEN)
    return model.double().eval()


@given(evens, st.integers(1, 9), seeds)
def test_it_is_a_multiplication_by_complex_numbers(d_head: int, seq_len: int, seed: int) -> None:
    """Number i and number i + d_head / 2 are the parts of one complex number, turned by t times its speed."""
    x, pairs = random(2, seq_len, d_head, seed=seed), d_head // 2
    turned = rotate(x)
    for t in range(seq_len):
        for i in range(pairs):
            angle = torch.tensor(t / 10_000 ** (i / pairs), dtype=torch.float64)
            unit = torch.polar(torch.tensor(1.0, dtype=torch.float64), angle)
            wanted = torch.complex(x[:, t, i], x[:, t, i + pairs]) * unit
            torch.testing.assert_close(turned[:, t, i], wanted.real)
            torch.testing.assert_close(turned[:, t, i + pairs], wanted.imag)


@given(evens, st.integers(1, 60), seeds)
def test_lengths_stay_and_the_first_position_is_not_turned(d_head: int, seq_len: int, seed: int) -> None:
    x = random(3, seq_len, d_head, seed=seed)
    torch.testing.assert_close(rotate(x).norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(rotate(x)[:, 0], x[:, 0])


@given(evens, st.integers(0, 40), st.integers(-9, 9), st.integers(0, 40), seeds)
def test_a_score_depends_on_the_distance_alone(
    d_head: int, place: int, distance: int, further: int, seed: int
) -> None:
    """Query and key, both moved by as much, score the same."""
    q, k = random(2, d_head, seed=seed)
    at = max(place, -distance)
    turned_q, turned_k = (rotate(x.expand(100, d_head)) for x in (q, k))
    here = turned_q[at] @ turned_k[at + distance]
    torch.testing.assert_close(turned_q[at + further] @ turned_k[at + distance + further], here)


def test_a_score_does_depend_on_the_distance() -> None:
    q, k = random(2, 8)
    scores = rotate(q.expand(30, 8)) @ rotate(k.expand(30, 8))[0]
    assert len({round(float(score), 6) for score in scores}) == 30


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_it_keeps_the_dtype_and_is_near_the_exact_turn(dtype: torch.dtype) -> None:
    x = random(1, 500, 8)
    turned = rotate(x.to(dtype))
    assert turned.dtype == dtype
    near = {torch.float16: 1e-2, torch.bfloat16: 5e-2, torch.float32: 2e-4, torch.float64: 1e-9}[dtype]
    torch.testing.assert_close(turned.double(), rotate(x), atol=near, rtol=near)


def test_a_layer_turns_each_head_by_itself() -> None:
    torch.manual_seed(0)
    layer, x = RotaryLinear(12, 3).double(), random(2, 7, 12)
    plain = torch.nn.functional.linear(x, layer.weight, layer.bias)
    for head in range(3):
        part = slice(4 * head, 4 * head + 4)
        torch.testing.assert_close(layer(x)[..., part], rotate(plain[..., part]))


@pytest.mark.parametrize("n_layers", [1, 2, 3])
@pytest.mark.parametrize("p", range(7))
def test_an_output_feels_exactly_the_tokens_that_the_mask_shows_it(n_layers: int, p: int) -> None:
    felt = influence(tiny(n_layers), ids(1, 6, seed=p), prefix_len=p)
    assert felt.tolist() == visible_pairs(p, [True] * 6)


@given(padded_batches(min_real=1), seeds)
def test_padding_on_either_side_moves_nothing(batch: Padded, seed: int) -> None:
    model, tokens = tiny(), ids(len(batch.real), len(batch.real[0]), seed)
    logits = model(tokens, batch.p, valid=batch.valid)
    for b, p in enumerate(batch.prefix_len):
        real = batch.valid[b]
        torch.testing.assert_close(logits[b, real], model(tokens[b : b + 1, real], p)[0])


def test_order_is_felt_through_the_rotation_alone() -> None:
    """With every pair visible and no table of positions, nothing else tells one order from another."""
    model, tokens = tiny(), ids(1, 6)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    assert not torch.allclose(model(tokens[:, order], 6), model(tokens, 6)[:, order], atol=1e-3)
    torch.manual_seed(0)
    unturned = RotaryPrefixLM(V, d_model=8, n_heads=2, max_len=MAX_LEN).double().eval()
    for block in unturned.blocks:
        for name in ("q_proj", "k_proj"):
            turning, plain = getattr(block.attn, name), torch.nn.Linear(8, 8).double()
            plain.load_state_dict(turning.state_dict())
            setattr(block.attn, name, plain)
    torch.testing.assert_close(unturned(tokens[:, order], 6), unturned(tokens, 6)[:, order])


def test_queries_and_keys_are_turned_and_values_are_not() -> None:
    for block in tiny().blocks:
        turns = [isinstance(getattr(block.attn, f"{x}_proj"), RotaryLinear) for x in ("q", "k", "v", "out")]
        assert turns == [True, True, False, False]


def test_the_table_of_positions_is_zero_and_stays_zero() -> None:
    torch.manual_seed(0)
    model = RotaryPrefixLM(8, d_model=32, n_heads=4, max_len=6)
    train(model, repeat(copy_task()), steps=20, progress=False)
    assert not model.pos_emb.weight.any()
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    whole = sum(p.numel() for p in TinyPrefixLM(8, d_model=32, n_heads=4, max_len=6).parameters())
    assert trained == whole - 6 * 32


def test_it_learns_to_copy_from_the_prefix() -> None:
    torch.manual_seed(0)
    model = RotaryPrefixLM(8, d_model=32, n_heads=4, max_len=6)
    losses = train(model, (copy_task(seed) for seed in range(250)), steps=250, lr=3e-3, progress=False)
    assert losses[0] > 1.8
    unseen = copy_task(10_000)
    right = model(unseen.tokens, 3)[:, 2:-1].argmax(-1) == unseen.tokens[:, 3:]
    assert right.float().mean() > 0.85


def test_more_tokens_than_max_len_are_refused() -> None:
    with pytest.raises(ValueError, match="an example has 13 tokens, but this model has 12 positions"):
        tiny()(ids(1, MAX_LEN + 1), 2)


@pytest.mark.parametrize("call", ["forward", "attention_weights"])
def test_positions_that_would_be_ignored_are_refused(call: str) -> None:
    with pytest.raises(ValueError, match="positions cannot be passed to a model with rotary positions"):
        getattr(tiny(), call)(ids(1, 4), 2, positions=torch.arange(4))


def test_attention_weights_are_those_under_the_rotation() -> None:
    model, tokens = tiny(), ids(2, 5)
    weights = model.attention_weights(tokens, torch.tensor([1, 4]))
    mask = create_prefix_lm_mask(5, torch.tensor([1, 4]))
    assert torch.equal(weights > 0, mask.expand_as(weights))
    attn = model.blocks[0].attn
    x = model.blocks[0].attn_norm(model.layer_norm(model.token_emb(tokens)))
    plain = (torch.nn.functional.linear(x, w.weight, w.bias) for w in (attn.q_proj, attn.k_proj))
    q, k = (rotate(attn.split_heads(y)) for y in plain)
    scores = (q @ k.mT / 2).masked_fill(~mask, -torch.inf)  # d_head is 4
    torch.testing.assert_close(weights[0], scores.softmax(-1))


def test_a_head_of_odd_width_is_refused() -> None:
    with pytest.raises(ValueError, match=r"d_model 6 in 2 heads .* gives a head 3 numbers, which is odd"):
        RotaryPrefixLM(V, d_model=6, n_heads=2)
