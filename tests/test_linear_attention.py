"""Linear attention: each form against loops, whatever the padding and the split; its state; who sees whom."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Padded, padded_batches
from torch import Tensor, nn
from torch.nn import functional as F

from prefixlm_teach import (
    LinearState,
    PrefixLMAttention,
    PrefixLMLinearAttention,
    causal_linear_attention,
    causal_mask,
    create_prefix_lm_mask,
    elu_features,
    explain,
    linear_attention,
    plain_linear_attention,
    prefix_linear_attention,
    visibility,
)

seeds, chunks, heads = st.integers(0, 2**20), st.integers(1, 8), st.integers(1, 3)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def qkv(batch: Padded, n_heads: int, seed: int, d_k: int = 3, d_v: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    shape = (len(batch.real), n_heads, len(batch.real[0]))
    q, k = random(2, *shape, d_k, seed=seed)
    return q, k, random(*shape, d_v, seed=seed + 1)


def mask_of(batch: Padded) -> Tensor:
    return create_prefix_lm_mask(len(batch.real[0]), batch.p, valid=batch.valid)


def by_loops(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> Tensor:
    """One head of one example, number by number; a query that sees nothing mixes nothing."""

    def feature(x: float) -> float:
        return x + 1 if x > 0 else math.exp(x)

    rows = []
    for query, row in zip(q.tolist(), visible.tolist(), strict=True):
        mixed, weight = [0.0] * v.size(-1), 0.0
        for key, value, may in zip(k.tolist(), v.tolist(), row, strict=True):
            if may:
                like = sum(feature(a) * feature(b) for a, b in zip(query, key, strict=True))
                weight += like
                mixed = [m + like * x for m, x in zip(mixed, value, strict=True)]
        rows.append([m / weight if weight else 0.0 for m in mixed])
    return torch.tensor(rows, dtype=torch.float64)


@given(padded_batches(max_len=5), heads, seeds)
@settings(max_examples=50)
def test_the_plain_form_equals_loops(batch: Padded, n_heads: int, seed: int) -> None:
    q, k, v = qkv(batch, n_heads, seed)
    mixed = plain_linear_attention(q, k, v, mask_of(batch))
    for b in range(len(batch.real)):
        for h in range(n_heads):
            torch.testing.assert_close(mixed[b, h], by_loops(q[b, h], k[b, h], v[b, h], mask_of(batch)[b, 0]))


@given(padded_batches(max_len=9), heads, seeds, chunks)
def test_the_recurrence_equals_the_plain_form_in_chunks_of_any_size(
    batch: Padded, n_heads: int, seed: int, chunk: int
) -> None:
    q, k, v = qkv(batch, n_heads, seed)
    mixed, _ = causal_linear_attention(q, k, v, valid=batch.valid, chunk=chunk)
    wanted = plain_linear_attention(q, k, v, causal_mask(q.size(2), valid=batch.valid))
    torch.testing.assert_close(mixed, wanted)


@given(padded_batches(max_len=9), heads, seeds, chunks)
@settings(max_examples=200)
def test_the_prefix_form_equals_the_plain_form_in_every_row_forward_and_backward(
    batch: Padded, n_heads: int, seed: int, chunk: int
) -> None:
    results = []
    for form in (
        lambda q, k, v: plain_linear_attention(q, k, v, mask_of(batch)),
        lambda q, k, v: prefix_linear_attention(q, k, v, batch.p, valid=batch.valid, chunk=chunk)[0],
    ):
        q, k, v = (x.requires_grad_() for x in qkv(batch, n_heads, seed))
        out = form(q, k, v)
        gradients = torch.autograd.grad((out * random(*out.shape, seed=seed + 2)).sum(), (q, k, v))
        results.append((out, *gradients))
    for plain, fast in zip(*results, strict=True):
        torch.testing.assert_close(fast, plain)


@pytest.mark.parametrize("seq_len", [1, 2, 63, 64, 65, 130])
def test_the_prefix_form_equals_the_plain_form_around_the_size_of_a_chunk(seq_len: int) -> None:
    q, k, v = random(3, 2, 2, seq_len, 4)
    for p in {0, 1, seq_len // 2, seq_len - 1, seq_len}:
        wanted = plain_linear_attention(q, k, v, create_prefix_lm_mask(seq_len, p))
        for same in (p, torch.tensor(p), torch.tensor([p, p], dtype=torch.int32)):
            torch.testing.assert_close(prefix_linear_attention(q, k, v, same)[0], wanted)


@pytest.mark.parametrize("p", [0, 3, 8])
def test_every_prefix_row_reads_one_state_and_only_the_target_goes_through_the_recurrence(
    monkeypatch: pytest.MonkeyPatch, p: int
) -> None:
    lengths: list[int] = []
    real = linear_attention.in_chunks

    def watched(
        q: Tensor, k: Tensor, v: Tensor, state: LinearState, chunk: int
    ) -> tuple[Tensor, LinearState]:
        lengths.append(q.size(2))
        return real(q, k, v, state, chunk)

    monkeypatch.setattr(linear_attention, "in_chunks", watched)
    prefix_linear_attention(*random(3, 1, 2, 8, 4), p)
    prefix_linear_attention(*random(3, 2, 2, 8, 4), torch.tensor([p, 8]))
    assert lengths == [8 - p, 8 - p]


@given(padded_batches(max_len=6), seeds)
def test_the_state_is_the_sum_over_the_real_tokens_however_they_are_split(batch: Padded, seed: int) -> None:
    q, k, v = qkv(batch, 2, seed)
    features = (F.elu(k) + 1) * batch.valid[:, None, :, None]
    memory = torch.einsum("bhtk,bhtv->bhkv", features, v)
    for _, state in (
        prefix_linear_attention(q, k, v, batch.p, valid=batch.valid, chunk=2),
        causal_linear_attention(q, k, v, valid=batch.valid, chunk=2),
    ):
        torch.testing.assert_close(state.memory, memory)
        torch.testing.assert_close(state.normaliser, features.sum(2))


@given(st.integers(1, 9), st.integers(0, 9), seeds)
def test_reading_on_from_a_state_gives_the_rows_of_the_full_pass(seq_len: int, p: int, seed: int) -> None:
    p = min(p, seq_len)
    q, k, v = random(3, 1, 2, seq_len, 3, seed=seed)
    full, end = prefix_linear_attention(q, k, v, p)
    for cut in range(max(p, 1), seq_len):  # a prefix is read whole
        _, state = prefix_linear_attention(*(x[:, :, :cut] for x in (q, k, v)), p)
        rest, after = causal_linear_attention(*(x[:, :, cut:] for x in (q, k, v)), state=state, chunk=2)
        torch.testing.assert_close(rest, full[:, :, cut:])
        torch.testing.assert_close(after.memory, end.memory)
        torch.testing.assert_close(after.normaliser, end.normaliser)


@cache
def layer() -> PrefixLMLinearAttention:
    torch.manual_seed(0)
    return PrefixLMLinearAttention(8, 2).double()


@given(padded_batches(max_len=6), seeds)
def test_the_layer_is_the_plain_form_between_its_projections(batch: Padded, seed: int) -> None:
    attention, x = layer(), random(*batch.valid.shape, 8, seed=seed)
    out = attention(x, batch.p, valid=batch.valid)
    q, k, v = (getattr(attention, f"{name}_proj")(x) for name in "qkv")
    parts = [
        plain_linear_attention(*(y[:, :, part] for y in (q, k, v)), mask_of(batch)[:, 0])
        for part in (slice(0, 4), slice(4, 8))
    ]
    torch.testing.assert_close(out, attention.out_proj(torch.cat(parts, dim=-1)))


@given(padded_batches(min_real=1, max_len=6), st.integers(1, 5), seeds)
def test_decoding_token_by_token_equals_the_full_pass_at_each_step_at_a_constant_size(
    batch: Padded, new: int, seed: int
) -> None:
    """The prompts are padded, on either side; each example alone, without padding, is what is wanted."""
    attention, (B, T) = layer(), batch.valid.shape
    prompt, answer = random(B, T, 8, seed=seed), random(B, new, 8, seed=seed + 1)
    _, state = attention.prefill(prompt, batch.p, valid=batch.valid)
    for step in range(new):
        row, state = attention.decode(answer[:, step : step + 1], state)
        assert state.memory.shape == (B, 2, 4, 4)
        assert state.normaliser.shape == (B, 2, 4)
        for b, p in enumerate(batch.prefix_len):
            whole = torch.cat([prompt[b, batch.valid[b]], answer[b, : step + 1]])
            torch.testing.assert_close(row[b, 0], attention(whole[None], p)[0, -1])


def test_decoding_leaves_the_state_as_it_was_and_passes_over_padding() -> None:
    attention, x = layer(), random(2, 4, 8)
    _, state = attention.prefill(x, 4)
    before = state.memory.clone()
    valid = torch.tensor([[True, True, False], [False, True, True]])
    rows, _ = attention.decode(random(2, 3, 8), state, valid=valid)
    assert torch.equal(state.memory, before)
    for b in range(2):
        alone, _ = attention.decode(random(2, 3, 8)[b, valid[b]][None], attention.prefill(x[b : b + 1], 4)[1])
        torch.testing.assert_close(rows[b, valid[b]], alone[0])


def test_its_weights_have_the_names_and_shapes_of_softmax_attentions() -> None:
    PrefixLMLinearAttention(8, 2).load_state_dict(PrefixLMAttention(8, 2).state_dict())


class LinearLM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token_emb, self.pos_emb, self.output = nn.Embedding(11, 8), nn.Embedding(8, 8), nn.Linear(8, 11)
        self.layers = nn.ModuleList(PrefixLMLinearAttention(8, 2) for _ in range(2))

    def forward(self, tokens: Tensor, prefix_len: int | Tensor, *, valid: Tensor | None = None) -> Tensor:
        h = self.token_emb(tokens) + self.pos_emb.weight[: tokens.size(1)]
        for attention in self.layers:
            h = h + attention(h, prefix_len, valid=valid)
        logits: Tensor = self.output(h)
        return logits


@pytest.mark.parametrize("how", ["change", "gradient"])
def test_two_layers_of_it_see_what_a_prefix_lm_sees(how: str) -> None:
    torch.manual_seed(0)
    model, p = LinearLM().double().eval(), torch.tensor([2, 4])
    tokens = torch.randint(11, (2, 8), generator=torch.Generator().manual_seed(0))
    valid = torch.tensor([[True] * 8, [False, False, True, True, True, True, True, False]])
    for padding in (None, valid):
        seen = visibility(model, tokens, p, valid=padding, how=how)
        assert explain(seen, p, valid=padding).startswith("Right: each row sees what a prefix LM")


def test_a_query_that_sees_nothing_gets_0_and_no_nan_comes_back() -> None:
    q, k, v = (x.requires_grad_() for x in random(3, 2, 2, 4, 3))
    valid = torch.tensor([[False, False, True, True], [False] * 4])
    mask = create_prefix_lm_mask(4, torch.tensor([0, 0]), valid=valid)
    for form in (
        lambda: plain_linear_attention(q, k, v, mask),
        lambda: causal_linear_attention(q, k, v, valid=valid)[0],
        lambda: prefix_linear_attention(q, k, v, 0, valid=valid)[0],
    ):
        with torch.autograd.set_detect_anomaly(True):
            out = form()
            out.sum().backward()
        assert (out[0, :, :2] == 0).all()
        assert (out[1] == 0).all()
        assert out.isfinite().all()


def test_features_are_elu_plus_1_above_0_everywhere_with_a_slope_everywhere() -> None:
    x = torch.linspace(-30, 30, 601, dtype=torch.float64).requires_grad_()
    features = elu_features(x)
    torch.testing.assert_close(features, F.elu(x) + 1)
    (slopes,) = torch.autograd.grad(features.sum(), x)
    torch.testing.assert_close(slopes, features.clamp(max=1))
    low = torch.tensor([-17.5, -60.0])
    assert (F.elu(low) + 1 == 0).all()  # rounded away
    assert (elu_features(low) > 0).all()
    assert elu_features(torch.tensor([200.0], requires_grad=True)).isfinite().all()


def test_a_steep_feature_gives_no_nan_gradient() -> None:
    x = torch.tensor([-1e4, 0.0, 1e4], requires_grad=True)
    elu_features(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("chunk", [1, 64])
def test_sums_over_many_tokens_are_kept_in_float32(dtype: torch.dtype, chunk: int) -> None:
    """In float16 the first sum overflows at two tokens; in bfloat16 the second stands still at 256."""
    T = 600
    q, k = torch.zeros(2, 1, 1, T, 4, dtype=dtype)  # features of 1: each row is a plain mean
    v = torch.zeros(1, 1, T, 2, dtype=dtype)
    v[..., 0] = 60_000
    v[:, :, T // 2 :, 1] = 1
    wanted = torch.tensor([60_000, 0.5])
    for out, state in (
        causal_linear_attention(q, k, v, chunk=chunk),
        prefix_linear_attention(q, k, v, T // 3, chunk=chunk),
    ):
        assert out.dtype == dtype
        assert state.memory.dtype == state.normaliser.dtype == torch.float32
        torch.testing.assert_close(out[0, 0, -1].float(), wanted, rtol=0.005, atol=0)
    plain = plain_linear_attention(q, k, v, causal_mask(T))
    torch.testing.assert_close(plain[0, 0, -1].float(), wanted, rtol=0.005, atol=0)


def test_autocast_does_not_reach_the_sums() -> None:
    q, k, v = random(3, 1, 2, 9, 4).float()
    forms = [
        lambda: plain_linear_attention(q, k, v, create_prefix_lm_mask(9, 4)),
        lambda: causal_linear_attention(q, k, v, chunk=2)[0],
        lambda: prefix_linear_attention(q, k, v, 4, chunk=2)[0],
    ]
    for form in forms:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = form()
        assert torch.equal(out, form())


def test_the_layer_runs_under_autocast_and_decodes_there() -> None:
    attention, x = PrefixLMLinearAttention(8, 2), torch.randn(1, 6, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, state = attention.prefill(x, 3)
        row, _ = attention.decode(x[:, :1], state)
    assert out.dtype == row.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), attention(x, 3), atol=0.05, rtol=0.05)


def test_a_chunk_may_be_a_small_whole_number_of_numpy() -> None:
    q, k, v = torch.randn(3, 1, 1, 300, 4)
    wanted, _ = causal_linear_attention(q, k, v, chunk=200)
    for chunk in (np.uint8(200), np.int8(100)):
        found, _ = causal_linear_attention(q, k, v, chunk=chunk)  # type: ignore[arg-type]
        torch.testing.assert_close(found, wanted)
