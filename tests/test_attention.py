"""Attention: the plain form against loops and against PyTorch's fused one; rows that see nothing; leaks."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import attend
from strategies import Padded, padded_batches
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from prefixlm_teach import (
    PrefixLMAttention,
    TinyPrefixLM,
    attention_weights,
    causal_mask,
    create_prefix_lm_mask,
    plain_attention,
)

seeds = st.integers(0, 2**20)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def mask_of(batch: Padded) -> Tensor:
    return create_prefix_lm_mask(len(batch.real[0]), batch.p, valid=batch.valid)


def layer(d_model: int = 8, n_heads: int = 2) -> PrefixLMAttention:
    torch.manual_seed(0)
    return PrefixLMAttention(d_model, n_heads).double()


@given(padded_batches(max_len=5), seeds)
def test_plain_attention_and_its_weights_equal_loops(batch: Padded, seed: int) -> None:
    mask = mask_of(batch)
    q, k, v = random(3, len(batch.real), 2, len(batch.real[0]), 3, seed=seed)
    mixed, weights = plain_attention(q, k, v, mask), attention_weights(q, k, mask)
    for b in range(len(batch.real)):
        for head in range(2):
            wanted = attend(*(x[b, head].tolist() for x in (q, k, v)), mask[b, 0].tolist())
            torch.testing.assert_close(mixed[b, head], torch.tensor(wanted[0], dtype=torch.float64))
            torch.testing.assert_close(weights[b, head], torch.tensor(wanted[1], dtype=torch.float64))


@given(padded_batches(), seeds)
def test_plain_attention_equals_the_fused_form_forward_and_backward(batch: Padded, seed: int) -> None:
    mask = mask_of(batch)
    results = []
    for attention in (
        plain_attention,
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
    ):
        q, k, v = (x.requires_grad_() for x in random(3, len(batch.real), 2, mask.size(-1), 4, seed=seed))
        out = attention(q, k, v, mask)
        gradients = torch.autograd.grad((out * random(*out.shape, seed=seed + 1)).sum(), (q, k, v))
        results.append((out, *gradients))
    for plain, fused in zip(*results, strict=True):
        torch.testing.assert_close(plain, fused)


@given(padded_batches(), seeds)
def test_weights_of_a_row_sum_to_one_or_to_zero_where_it_sees_nothing(batch: Padded, seed: int) -> None:
    mask = mask_of(batch)
    q, k = random(2, len(batch.real), 2, mask.size(-1), 4, seed=seed)
    sums = attention_weights(q, k, mask).sum(-1)
    torch.testing.assert_close(sums, mask.any(-1).expand_as(sums).double())


@given(padded_batches(), seeds)
def test_weights_are_exactly_zero_where_the_mask_hides(batch: Padded, seed: int) -> None:
    mask = mask_of(batch)
    q, k = 30 * random(2, len(batch.real), 2, mask.size(-1), 4, seed=seed)
    weights = attention_weights(q, k, mask)
    assert (weights[~mask.expand_as(weights)] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_weights_keep_the_dtype_and_stay_finite(dtype: torch.dtype) -> None:
    q, k = random(2, 1, 2, 5, 4).to(dtype)
    weights = attention_weights(q, k, causal_mask(5))
    assert weights.dtype == dtype
    assert weights.isfinite().all()


@given(padded_batches(), seeds)
def test_the_layer_equals_heads_by_hand(batch: Padded, seed: int) -> None:
    attention, mask = layer(), mask_of(batch)
    x = random(len(batch.real), mask.size(-1), 8, seed=seed)
    q, k, v = (getattr(attention, f"{name}_proj")(x) for name in "qkv")
    out = attention(x, mask)
    for b in range(len(batch.real)):
        heads = [
            attend(*(y[b, :, part].tolist() for y in (q, k, v)), mask[b, 0].tolist())
            for part in (slice(0, 4), slice(4, 8))
        ]
        mixed = torch.cat([torch.tensor(mixed, dtype=torch.float64) for mixed, _ in heads], dim=-1)
        torch.testing.assert_close(out[b], attention.out_proj(mixed))
        weights = torch.stack([torch.tensor(weights, dtype=torch.float64) for _, weights in heads])
        torch.testing.assert_close(attention.weights(x, mask)[b], weights)


@pytest.mark.parametrize("backend", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
def test_every_backend_reads_true_as_may_attend(backend: SDPBackend) -> None:
    q, k, v = random(3, 2, 2, 6, 4)
    mask = create_prefix_lm_mask(6, torch.tensor([2, 5]))
    with sdpa_kernel(backend):
        fused = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    torch.testing.assert_close(plain_attention(q, k, v, mask), fused)


@pytest.mark.parametrize("new", [1, 3])
def test_the_last_queries_alone_attend_as_they_do_among_all(new: int) -> None:
    """A continuation sees every key so far: its rows are the last ones of the square mask, not the first."""
    q, k, v = random(3, 1, 2, 6, 4)
    mask = create_prefix_lm_mask(6, 2)
    alone = plain_attention(q[:, :, -new:], k, v, mask[-new:])
    torch.testing.assert_close(alone, plain_attention(q, k, v, mask)[:, :, -new:])
    assert attention_weights(q[:, :, -new:], k, mask[-new:])[..., -1, :].all()


@pytest.mark.parametrize("shape", [(6, 4), (3, 6, 4), (2, 3, 6, 4)])
def test_plain_attention_takes_any_leading_dimensions(shape: tuple[int, ...]) -> None:
    q, k, v = random(3, *shape)
    for mask in (causal_mask(6), causal_mask(6).expand(*shape[:-1], 6)):
        fused = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        torch.testing.assert_close(plain_attention(q, k, v, mask), fused)


def test_a_row_that_sees_nothing_gets_the_output_bias_alone() -> None:
    attention = layer()
    mask = torch.tensor([[False, False], [True, True]])
    out = attention(random(1, 2, 8), mask)
    torch.testing.assert_close(out[0, 0], attention.out_proj.bias)


def test_rows_that_see_nothing_leave_two_layers_finite_forward_and_backward() -> None:
    first, second = layer(), layer()
    valid = torch.tensor([[False, False, True, True], [False] * 4])
    mask = create_prefix_lm_mask(4, torch.tensor([0, 0]), valid=valid)
    assert not mask.any(-1).all()  # some rows see nothing
    plain = [lambda x: plain_attention(x, x, x, mask[:, 0])] * 2
    for one, two in ([lambda x: first(x, mask), lambda x: second(x, mask)], plain):
        x = random(2, 4, 8).requires_grad_()
        out = two(one(x))
        (gradient,) = torch.autograd.grad(out.pow(2).sum(), x)
        assert out.isfinite().all()
        assert gradient.isfinite().all()


def test_nothing_before_the_last_token_moves_when_it_changes() -> None:
    attention, x = layer(), random(2, 6, 8)
    changed = x.clone()
    changed[:, -1] += 1
    mask = create_prefix_lm_mask(6, torch.tensor([3, 5]))
    assert torch.equal(attention(x, mask)[:, :-1], attention(changed, mask)[:, :-1])
    assert not torch.equal(attention(x, mask)[:, -1], attention(changed, mask)[:, -1])


def test_the_first_row_sees_the_last_prefix_token_and_nothing_further() -> None:
    weights = layer().weights(random(1, 5, 8), create_prefix_lm_mask(5, 3))
    assert (weights[..., 0, :3] > 0).all()
    assert (weights[..., 0, 3:] == 0).all()


def test_examples_of_a_batch_keep_their_own_masks_when_there_are_as_many_heads() -> None:
    """With B = H a mask without the head dimension would broadcast over heads, and nobody would know."""
    attention, x = layer(n_heads=2), random(2, 5, 8)
    mask = create_prefix_lm_mask(5, torch.tensor([1, 4]))
    both = attention(x, mask)
    for b in range(2):
        torch.testing.assert_close(both[b : b + 1], attention(x[b : b + 1], mask[b, 0]))


def test_attention_weights_show_what_a_model_under_the_same_mask_uses() -> None:
    torch.manual_seed(0)
    model = TinyPrefixLM(7, d_model=8, n_heads=2, n_layers=2, max_len=6).double().eval()
    weights = model.attention_weights(torch.tensor([[1, 2, 3, 4]]), 2)
    assert weights.shape == (2, 1, 2, 4, 4)
    assert torch.equal(weights[:, 0] > 0, create_prefix_lm_mask(4, 2).expand(2, 2, 4, 4))


def test_a_blind_row_makes_no_nan_even_on_the_way_back() -> None:
    mask = create_prefix_lm_mask(4, 0, valid=torch.tensor([[False, True, True, True]]))
    q, k, v = torch.randn(3, 1, 2, 4, 8, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        plain_attention(q, k, v, mask).sum().backward()


def test_large_queries_and_keys_stay_finite_in_float16() -> None:
    q = torch.full((1, 1, 4, 64), 40.0, dtype=torch.float16)  # the product, 102400, is beyond float16
    mask = causal_mask(4)
    fused = F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    assert torch.allclose(plain_attention(q, q, q, mask), fused)
