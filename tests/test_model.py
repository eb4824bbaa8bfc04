"""TinyPrefixLM: its size, its logits against a plain implementation, who can influence whom, padding."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import model_logits, visible_pairs
from strategies import Padded, padded_batches
from torch import Tensor

from prefixlm_teach import TinyPrefixLM, causal_mask, create_prefix_lm_mask

V, MAX_LEN = 11, 12
seeds = st.integers(0, 2**20)


@cache
def tiny(n_layers: int = 2, n_heads: int = 2) -> TinyPrefixLM:
    torch.manual_seed(n_layers)
    model = TinyPrefixLM(V, d_model=8, n_heads=n_heads, n_layers=n_layers, max_len=MAX_LEN)
    return model.double().eval()


def ids(batch: int, seq_len: int, seed: int = 0) -> Tensor:
    return torch.randint(V, (batch, seq_len), generator=torch.Generator().manual_seed(seed))


def influence(model: TinyPrefixLM, tokens: Tensor, **how: int | Tensor) -> Tensor:
    """(T, T) booleans: does output i feel the token vector of place j?"""
    vectors: list[Tensor] = []
    hook = model.token_emb.register_forward_hook(
        lambda module, inputs, output: vectors.append(output.detach().requires_grad_()) or vectors[0]
    )
    logits = model(tokens, **how)
    hook.remove()
    rows = []
    for i in range(tokens.size(1)):
        (gradient,) = torch.autograd.grad(logits[0, i].pow(2).sum(), vectors[0], retain_graph=True)
        rows.append(gradient[0].abs().sum(-1) > 0)
    return torch.stack(rows)


def test_it_has_670184_parameters_at_a_vocabulary_of_1000() -> None:
    assert sum(parameter.numel() for parameter in TinyPrefixLM(1000).parameters()) == 670_184


@pytest.mark.parametrize("n_layers", [1, 2, 3])
@pytest.mark.parametrize("n_heads", [1, 2, 4])
@pytest.mark.parametrize("p", [0, 3, 6])
def test_logits_equal_a_plain_implementation(n_layers: int, n_heads: int, p: int) -> None:
    model, tokens = tiny(n_layers, n_heads), ids(2, 6)
    logits = model(tokens, p)
    assert logits.shape == (2, 6, V)
    weights = {name: value.detach() for name, value in model.state_dict().items()}
    for b in range(2):
        wanted = model_logits(weights, tokens[b].tolist(), visible_pairs(p, [True] * 6), n_heads=n_heads)
        torch.testing.assert_close(logits[b], wanted)


@given(padded_batches(min_real=1), seeds)
@settings(max_examples=40)
def test_padded_logits_at_real_rows_equal_those_of_each_example_alone(batch: Padded, seed: int) -> None:
    model, tokens = tiny(), ids(len(batch.real), len(batch.real[0]), seed)
    logits = model(tokens, batch.p, valid=batch.valid)
    for b, p in enumerate(batch.prefix_len):
        real = batch.valid[b]
        alone = model(tokens[b : b + 1, real], p)
        torch.testing.assert_close(logits[b, real], alone[0])


@given(padded_batches(min_real=1), seeds)
def test_ids_at_padding_do_not_move_logits_at_real_rows(batch: Padded, seed: int) -> None:
    model, tokens = tiny(), ids(len(batch.real), len(batch.real[0]), seed)
    changed = torch.where(batch.valid, tokens, (tokens + 1) % V)
    before, after = (model(x, batch.p, valid=batch.valid)[batch.valid] for x in (tokens, changed))
    assert torch.equal(before, after)


@given(padded_batches(min_real=1), seeds)
def test_the_last_token_moves_no_earlier_logits(batch: Padded, seed: int) -> None:
    model, tokens = tiny(), ids(len(batch.real), len(batch.real[0]), seed)
    for b, (real, p) in enumerate(zip(batch.real, batch.prefix_len, strict=True)):
        last = max(t for t, is_real in enumerate(real) if is_real)
        if p == sum(real):
            continue  # the last token is prefix, and all see it
        changed = tokens.clone()
        changed[b, last] = (changed[b, last] + 1) % V
        before, after = (model(x, batch.p, valid=batch.valid)[b] for x in (tokens, changed))
        assert torch.equal(before[batch.valid[b]][:-1], after[batch.valid[b]][:-1])
        assert not torch.equal(before[last], after[last])


@pytest.mark.parametrize("n_layers", [1, 2, 3])
@pytest.mark.parametrize("p", range(7))
def test_an_output_feels_exactly_the_tokens_that_the_mask_shows_it(n_layers: int, p: int) -> None:
    """More layers reach no further: whom a seen token sees, its reader sees too."""
    felt = influence(tiny(n_layers), ids(1, 6, seed=p), prefix_len=p)
    assert felt.tolist() == visible_pairs(p, [True] * 6)


def test_two_layers_reach_two_hops_under_a_mask_that_shows_one() -> None:
    steps = (
        torch.eye(5, dtype=torch.bool) | torch.eye(5, dtype=torch.bool).roll(1, 0).tril()
    )  # self, and before
    reach = steps.double()
    for n_layers in (1, 2, 3):
        assert torch.equal(influence(tiny(n_layers), ids(1, 5), mask=steps), reach > 0)
        reach = reach @ steps.double()


@pytest.mark.parametrize("p", range(1, 7))
def test_one_layer_gives_the_target_nothing_and_two_layers_do(p: int) -> None:
    tokens = ids(1, 6)
    for n_layers in (1, 2):
        prefix, causal = (tiny(n_layers)(tokens, split) for split in (p, 0))
        same = torch.equal(prefix[:, p - 1 :], causal[:, p - 1 :])
        assert same == (n_layers == 1 or p == 1)  # a prefix of one token is causal
        assert torch.equal(prefix[:, : p - 1], causal[:, : p - 1]) == (p == 1)


@pytest.mark.parametrize("p", range(6))
def test_the_mask_of_a_split_may_be_passed_instead_of_the_split(p: int) -> None:
    model, tokens = tiny(), ids(2, 5)
    wanted = model(tokens, p)
    for mask in (create_prefix_lm_mask(5, p), create_prefix_lm_mask(5, torch.tensor([p, p]))):
        assert torch.equal(model(tokens, mask=mask), wanted)


@given(padded_batches(min_real=1), seeds)
def test_padding_is_closed_in_a_mask_that_is_passed(batch: Padded, seed: int) -> None:
    model, seq_len = tiny(), len(batch.real[0])
    tokens = ids(len(batch.real), seq_len, seed)
    opened = create_prefix_lm_mask(seq_len, torch.zeros(len(batch.real), dtype=torch.int64))
    torch.testing.assert_close(
        model(tokens, mask=opened, valid=batch.valid)[batch.valid],
        model(tokens, 0, valid=batch.valid)[batch.valid],
    )


def test_one_mask_serves_every_example_of_a_batch() -> None:
    model, tokens = tiny(), ids(3, 5)
    mask = create_prefix_lm_mask(5, 2)
    assert torch.equal(model(tokens, mask=mask[None, None]), model(tokens, mask=mask))


@pytest.mark.parametrize("positions", [torch.arange(5), torch.arange(5).repeat(2, 1), torch.arange(5).int()])
def test_positions_count_from_zero_unless_they_are_passed(positions: Tensor) -> None:
    model, tokens = tiny(), ids(2, 5)
    assert torch.equal(model(tokens, 2, positions=positions), model(tokens, 2))
    assert not torch.equal(model(tokens, 2, positions=positions + 1), model(tokens, 2))


def test_positions_follow_the_tokens_when_they_are_reordered() -> None:
    """With every pair visible, order lives in the positions alone."""
    model, tokens = tiny(), ids(1, 6)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    moved = model(tokens[:, order], 6, positions=order)
    torch.testing.assert_close(moved, model(tokens, 6)[:, order])


def test_positions_may_stand_for_examples_packed_into_one_row() -> None:
    model, first, second = tiny(), ids(1, 3, seed=1), ids(1, 4, seed=2)
    packed = torch.cat([first, second], dim=1)
    mask = torch.block_diag(causal_mask(3), causal_mask(4)).bool()
    positions = torch.cat([torch.arange(3), torch.arange(4)])
    logits = model(packed, mask=mask, positions=positions)
    torch.testing.assert_close(logits, torch.cat([model(first, 0), model(second, 0)], dim=1))


def test_a_sequence_may_be_longer_than_max_len_where_the_rest_is_padding() -> None:
    model, tokens = tiny(), ids(1, MAX_LEN + 3)
    valid = torch.arange(MAX_LEN + 3)[None] < MAX_LEN
    torch.testing.assert_close(model(tokens, 2, valid=valid)[:, :MAX_LEN], model(tokens[:, :MAX_LEN], 2))


@given(padded_batches(min_real=1), seeds)
def test_attention_weights_are_those_that_the_forward_pass_uses(batch: Padded, seed: int) -> None:
    model, tokens = tiny(), ids(len(batch.real), len(batch.real[0]), seed)
    weights = model.attention_weights(tokens, batch.p, valid=batch.valid)
    mask = create_prefix_lm_mask(tokens.size(1), batch.p, valid=batch.valid)
    assert weights.shape == (2, len(batch.real), 2, tokens.size(1), tokens.size(1))
    caught: list[tuple[Tensor, Tensor, Tensor]] = []
    hooks = [
        block.attn.register_forward_hook(lambda layer, given, out: caught.append((layer, given[0], out)))
        for block in model.blocks
    ]
    model(tokens, batch.p, valid=batch.valid)
    for hook in hooks:
        hook.remove()
    for of_layer, (layer, x, out) in zip(weights, caught, strict=True):
        assert torch.equal(of_layer > 0, mask.expand_as(of_layer))
        mixed = of_layer @ layer.split_heads(layer.v_proj(x))
        torch.testing.assert_close(layer.out_proj(mixed.transpose(1, 2).flatten(2)), out)


def test_attention_weights_leave_the_model_as_it_was() -> None:
    model = TinyPrefixLM(V, d_model=8, n_heads=2, max_len=6)
    model.attention_weights(ids(1, 4), 2)
    assert model.training


def test_a_batch_with_an_empty_example_is_finite_forward_and_backward() -> None:
    model = TinyPrefixLM(V, d_model=8, n_heads=2, max_len=6)
    valid = torch.tensor([[False] * 4, [False, True, True, True]])
    logits = model(ids(2, 4), torch.tensor([0, 1]), valid=valid)
    logits.pow(2).sum().backward()
    assert logits.isfinite().all()
    assert all(
        parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None
    )


def test_dropout_works_in_training_mode_only() -> None:
    model, tokens = TinyPrefixLM(V, d_model=8, n_heads=2, max_len=6, dropout=0.5), ids(1, 4)
    assert not torch.equal(model(tokens, 2), model(tokens, 2))
    model.eval()
    assert torch.equal(model(tokens, 2), model(tokens, 2))


def test_logits_are_the_same_in_float32_and_under_autocast_in_bfloat16() -> None:
    torch.manual_seed(0)
    model, tokens = TinyPrefixLM(V, d_model=8, n_heads=2, max_len=6).eval(), ids(2, 5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = model(tokens, torch.tensor([1, 4]))
    torch.testing.assert_close(rough.float(), model(tokens, torch.tensor([1, 4])), atol=0.05, rtol=0.05)
