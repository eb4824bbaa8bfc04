"""A mixture of experts: against a loop over tokens; what it lets a prefix LM see, measured by the probe."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Padded, padded_batches
from test_model import ids
from test_training import copy_task
from torch import Tensor

from prefixlm_teach import (
    ExpertBlock,
    MixtureOfExperts,
    TinyPrefixLM,
    balance_loss,
    balance_losses,
    causal_mask,
    create_prefix_lm_mask,
    expert_choice,
    explain,
    generate_greedy,
    prefill,
    token_choice,
    train,
    visibility,
)

seeds = st.integers(0, 2**20)
V = 11
Route = Callable[..., Tensor]
in_example = partial(token_choice, capacity_factor=0.5)
in_batch = partial(token_choice, capacity_factor=0.5, over_batch=True)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def mixture(n_experts: int = 3, route: Route = token_choice) -> MixtureOfExperts:
    torch.manual_seed(n_experts)
    return MixtureOfExperts(8, n_experts, route).double().eval()


def with_experts(route: Route, n_experts: int = 2) -> TinyPrefixLM:
    """Two blocks, the second with experts, as the paper has them in every other one."""
    torch.manual_seed(0)
    model = TinyPrefixLM(V, d_model=8, n_heads=2, max_len=12)
    model.blocks[1] = ExpertBlock(8, 2, MixtureOfExperts(8, n_experts, route))
    return model.double().eval()


@given(padded_batches(max_len=5), st.integers(1, 4), seeds)
@settings(max_examples=40)
def test_each_token_goes_through_its_likeliest_expert_times_its_probability(
    batch: Padded, n_experts: int, seed: int
) -> None:
    layer, x = mixture(n_experts), random(*batch.valid.shape, 8, seed=seed)
    out = layer(x, batch.valid)
    for b, row in enumerate(batch.real):
        for t, is_real in enumerate(row):
            likely = (layer.router.weight @ x[b, t]).exp()
            likely = likely / likely.sum()
            best = int(likely.argmax())
            wanted = likely[best] * layer.experts[best](x[b, t]) if is_real else torch.zeros_like(x[b, t])
            torch.testing.assert_close(out[b, t], wanted)
    torch.testing.assert_close(layer(x)[batch.valid], out[batch.valid])


@pytest.mark.parametrize("route", [partial(expert_choice, capacity_factor=2.0), in_example, in_batch])
@given(padded_batches(max_len=5), seeds)
@settings(max_examples=40)
def test_the_outputs_of_several_experts_are_added_and_without_any_there_is_0(
    route: Route, batch: Padded, seed: int
) -> None:
    layer, x = mixture(3, route), random(*batch.valid.shape, 8, seed=seed)
    gates = route(layer.probabilities(x), batch.valid)
    wanted = sum(gates[..., e, None] * layer.experts[e](x) for e in range(3))
    torch.testing.assert_close(layer(x, batch.valid), wanted)


def test_an_expert_computes_its_own_tokens_and_no_others() -> None:
    layer, x, sizes = mixture(3), random(2, 6, 8), []
    hooks = [
        expert.register_forward_hook(lambda layer, given, out: sizes.append(len(given[0])))
        for expert in layer.experts
    ]
    layer(x)
    for hook in hooks:
        hook.remove()
    assert sizes == (token_choice(layer.probabilities(x)) > 0).sum((0, 1)).tolist()
    assert sum(sizes) == 12


def test_the_block_is_attention_and_then_the_experts_with_padding_told_by_the_mask() -> None:
    torch.manual_seed(0)
    block = ExpertBlock(8, 2, MixtureOfExperts(8, 3, in_batch)).double().eval()
    h, valid = random(2, 5, 8), torch.tensor([[True] * 5, [False, False, True, True, False]])
    for mask, real in (
        (create_prefix_lm_mask(5, torch.tensor([3, 2]), valid=valid), valid),
        (causal_mask(5, valid=valid), valid),
        (create_prefix_lm_mask(5, 3), torch.ones_like(valid)),
        (create_prefix_lm_mask(5, torch.tensor([3])), torch.ones_like(valid)),
    ):
        mixed = h + block.attn(block.attn_norm(h), mask)
        wanted = mixed + block.experts(block.ff_norm(mixed), real)
        torch.testing.assert_close(block(h, mask), wanted)
    assert not any(name.startswith("ff.") for name in block.state_dict())


@pytest.mark.parametrize("kernel", ["plain", "mend"])
def test_it_computes_the_same_over_any_kernel(kernel: str) -> None:
    valid = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    model, tokens = with_experts(in_batch), ids(2, 7, seed=1)
    wanted = model(tokens, 3, valid=valid)
    model.kernel = kernel
    torch.testing.assert_close(model(tokens, 3, valid=valid)[valid], wanted[valid])


TOKENS, P = ids(2, 10, seed=3), torch.tensor([3, 5])
PADDED = torch.tensor([[True] * 10, [False] * 2 + [True] * 7 + [False]])


def looked_at(
    route: Route, tokens: Tensor, p: Tensor, valid: Tensor | None = None, how: str = "change"
) -> Tensor:
    """Experts compute as many tokens as they get, so that equal sums may differ in their last bits."""
    return visibility(with_experts(route), tokens, p, valid=valid, how=how, tolerance=1e-9)


@pytest.mark.parametrize("how", ["change", "gradient"])
@pytest.mark.parametrize("valid", [None, PADDED])
@pytest.mark.parametrize("route", [token_choice, in_example])
def test_by_token_choice_it_is_a_true_prefix_lm(route: Route, valid: Tensor | None, how: str) -> None:
    assert explain(looked_at(route, TOKENS, P, valid, how), P, valid=valid).startswith("Right: each row")


def test_by_expert_choice_the_labels_leak_and_a_gradient_does_not_feel_it() -> None:
    seen = looked_at(expert_choice, TOKENS[:1], P[:1])
    hidden = ~create_prefix_lm_mask(10, 3)
    assert (seen & hidden).any()
    assert not explain(seen, 3).startswith("Right")
    by_gradient = looked_at(expert_choice, TOKENS[:1], P[:1], how="gradient")
    assert explain(by_gradient, 3).startswith("Right")


def test_by_expert_choice_neighbours_leak_too_in_both_directions() -> None:
    seen = looked_at(expert_choice, TOKENS, P)
    assert seen[0, 1].any()
    assert seen[1, 0].any()
    assert "Example 0: A neighbour leaks" in explain(seen, P)


def test_a_capacity_counted_over_the_batch_lets_earlier_neighbours_leak_into_later_ones() -> None:
    seen = looked_at(in_batch, TOKENS, P)
    assert not seen[0, 1].any()
    assert seen[1, 0].any()
    for b in range(2):  # within an example, nothing later is seen
        assert torch.equal(seen[b, b], create_prefix_lm_mask(10, P)[b, 0])
    said = explain(seen, P)
    assert "Example 0: Right." in said
    assert "Example 1: A neighbour leaks" in said


def test_balance_losses_are_those_of_each_mixture_without_padding() -> None:
    model, inputs = with_experts(token_choice), []
    model.blocks[0] = ExpertBlock(8, 2, mixture(3)).double()
    hooks = [
        block.ff_norm.register_forward_hook(lambda layer, given, out: inputs.append(out))
        for block in model.blocks
    ]
    with balance_losses(model) as balance:
        model(TOKENS, P, valid=PADDED)
    for hook in hooks:
        hook.remove()
    wanted = [
        balance_loss(block.experts.probabilities(x)[PADDED][None])
        for block, x in zip(model.blocks, inputs, strict=True)
    ]
    torch.testing.assert_close(balance, wanted)
    model(TOKENS, P)
    assert len(balance) == 2  # it does not go on


@pytest.mark.parametrize("route", [token_choice, expert_choice, in_example, in_batch])
def test_a_batch_of_padding_alone_has_a_balance_loss_of_0_and_gradients(route: Route) -> None:
    model, nothing = with_experts(route).train(), torch.zeros(2, 10, dtype=torch.bool)
    with balance_losses(model) as balance:
        logits = model(TOKENS, 0, valid=nothing)
    assert [float(loss) for loss in balance] == [0.0]
    (logits.sum() * 0.0 + sum(balance)).backward()
    assert all(weight.grad is not None and not weight.grad.any() for weight in model.parameters())


def test_balance_losses_stop_after_an_error_too() -> None:
    layer = mixture()
    with pytest.raises(RuntimeError, match="on purpose"), balance_losses(layer) as balance:
        raise RuntimeError("on purpose")
    layer(random(1, 2, 8))
    assert balance == []


def test_training_on_the_balance_loss_evens_out_the_choices() -> None:
    layer, x = mixture(4), random(2, 20, 8)
    x[..., 0] = 3.0  # what all tokens share, and what draws them all to the first expert
    with torch.no_grad():
        layer.router.weight[0, 0] = 1.0
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.1)
    found = []
    for _ in range(30):
        with balance_losses(layer) as balance:
            layer(x)
        (loss,) = balance
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        found.append(loss.item())
    assert found[0] > 2
    assert found[-1] < 1.2


@pytest.mark.parametrize("route", [token_choice, expert_choice])
def test_every_weight_gets_a_finite_gradient_even_with_padding_alone(route: Route) -> None:
    model = with_experts(route).train()
    valid = torch.stack([PADDED[1], torch.zeros(10, dtype=torch.bool)])
    logits = model(TOKENS, torch.tensor([2, 0]), valid=valid)
    logits.pow(2).sum().backward()
    assert logits.isfinite().all()
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name


def test_a_model_with_experts_learns_and_answers() -> None:
    torch.manual_seed(0)
    model = TinyPrefixLM(8, d_model=16, n_heads=2, max_len=6, dropout=0.0)
    model.blocks[1] = ExpertBlock(16, 2, MixtureOfExperts(16, 2))
    losses = train(model, (copy_task(seed) for seed in range(60)), steps=60, lr=1e-2, progress=False)
    assert losses[-1] < 0.8 * losses[0]
    assert len(generate_greedy(model, copy_task(0).tokens[:2, :3], stop_id=0, max_new_tokens=3)) == 2


def test_no_cache_is_made_of_a_model_with_experts() -> None:
    with pytest.raises(TypeError, match="whose layers a cache knows"):
        prefill(with_experts(token_choice), TOKENS)


def test_the_router_decides_in_float32_under_autocast_and_in_half_precision() -> None:
    layer, x = MixtureOfExperts(8, 3), torch.randn(2, 5, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough, likely = layer(x), layer.probabilities(x)
    assert torch.equal(likely, layer.probabilities(x))
    torch.testing.assert_close(rough, layer(x), atol=0.05, rtol=0.05)
    half = MixtureOfExperts(8, 3).bfloat16()
    assert half.probabilities(x.bfloat16()).dtype == torch.float32
    assert half(x.bfloat16()).dtype == torch.bfloat16


def test_dropout_works_in_training_mode_only() -> None:
    layer, x = MixtureOfExperts(8, 2, dropout=0.5), torch.randn(1, 4, 8)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_a_route_of_ones_own_must_have_a_factor_for_each_token_and_expert() -> None:
    x = random(2, 5, 8)
    for route, error in ((lambda p, v: p.transpose(0, 1), ValueError), (lambda p, v: None, TypeError)):
        with pytest.raises(error, match="route must return"):
            mixture(route=route)(x)  # type: ignore[arg-type]
