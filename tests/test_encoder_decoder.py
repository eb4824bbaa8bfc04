"""The encoder-decoder: against one that cuts prefix and target apart, who feels whom, padding, answers."""

from __future__ import annotations

import math
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Padded, padded_batches
from test_model import ids
from test_training import copy_task
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach import (
    TinyEncoderDecoder,
    create_prefix_lm_mask,
    g2p_vocabulary,
    generate_greedy,
    plain_attention,
    pronounce,
    train,
)
from prefixlm_teach.encoder_decoder import CrossAttention, DecoderBlock

V, MAX_LEN = 11, 12
seeds = st.integers(0, 2**20)
batches = padded_batches(min_real=1)


@cache
def tiny(n_encoder: int = 2, n_decoder: int = 2) -> TinyEncoderDecoder:
    torch.manual_seed(10 * n_encoder + n_decoder)
    model = TinyEncoderDecoder(V, 8, 2, n_encoder, n_decoder, max_len=MAX_LEN)
    return model.double().eval()


def with_prefix(batch: Padded) -> Padded:
    return Padded(batch.real, [max(p, 1) for p in batch.prefix_len])


def attend(weights: dict[str, Tensor], name: str, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
    """Two heads of four numbers, one after the other: (T, 8) from (T, 8), which looks into (S, 8)."""
    q, k, v = (
        F.linear(y, weights[f"{name}.{part}_proj.weight"], weights[f"{name}.{part}_proj.bias"])
        for part, y in (("q", x), ("k", memory), ("v", memory))
    )
    heads = []
    for part in (slice(0, 4), slice(4, 8)):
        scores = (q[:, part] @ k[:, part].T / math.sqrt(4)).masked_fill(~mask, -math.inf)
        heads.append(scores.softmax(-1) @ v[:, part])
    return F.linear(
        torch.cat(heads, -1), weights[f"{name}.out_proj.weight"], weights[f"{name}.out_proj.bias"]
    )


def by_slicing(model: TinyEncoderDecoder, tokens: list[int], p: int) -> Tensor:
    """One example without padding: the rows from the last prefix token on, (T - p + 1, V).

    The encoder gets the prefix as a list of its own, the decoder the last prefix token and the target.
    """
    weights = model.state_dict()

    def norm(name: str, x: Tensor) -> Tensor:
        return F.layer_norm(x, (8,), weights[f"{name}.weight"], weights[f"{name}.bias"])

    def embed(part: list[int]) -> Tensor:
        at = weights["pos_emb.weight"][: len(part)]
        return norm("layer_norm", weights["token_emb.weight"][part] + at)

    def feed_forward(block: str, h: Tensor) -> Tensor:
        x = F.linear(
            norm(f"{block}.ff_norm", h), weights[f"{block}.ff.0.weight"], weights[f"{block}.ff.0.bias"]
        )
        return h + F.linear(F.gelu(x), weights[f"{block}.ff.2.weight"], weights[f"{block}.ff.2.bias"])

    memory = embed(tokens[:p])
    everything = torch.ones(p, p, dtype=torch.bool)
    for i in range(len(model.encoder)):
        x = norm(f"encoder.{i}.attn_norm", memory)
        memory = feed_forward(f"encoder.{i}", memory + attend(weights, f"encoder.{i}.attn", x, x, everything))
    h = embed(tokens[p - 1 :])
    past = torch.ones(len(h), len(h)).tril().bool()
    for i in range(len(model.decoder)):
        x = norm(f"decoder.{i}.attn_norm", h)
        h = h + attend(weights, f"decoder.{i}.attn", x, x, past)
        x = norm(f"decoder.{i}.cross_norm", h)
        h = h + attend(weights, f"decoder.{i}.cross", x, memory, torch.ones(len(h), p, dtype=torch.bool))
        h = feed_forward(f"decoder.{i}", h)
    return F.linear(h, weights["output.weight"], weights["output.bias"])


@given(batches, seeds, st.integers(1, 3), st.integers(1, 2))
@settings(max_examples=60)
def test_rows_that_mean_something_equal_those_of_prefix_and_target_cut_apart(
    batch: Padded, seed: int, n_encoder: int, n_decoder: int
) -> None:
    batch, model = with_prefix(batch), tiny(n_encoder, n_decoder)
    tokens = ids(len(batch.real), len(batch.real[0]), seed)
    logits = model(tokens, batch.p, valid=batch.valid)
    assert logits.shape == (*tokens.shape, V)
    for b, p in enumerate(batch.prefix_len):
        real = batch.valid[b]
        wanted = by_slicing(model, tokens[b, real].tolist(), p)
        torch.testing.assert_close(logits[b, real][p - 1 :], wanted)


@given(batches, seeds)
def test_every_row_is_finite_forward_and_backward(batch: Padded, seed: int) -> None:
    batch = with_prefix(batch)
    tokens = ids(len(batch.real), len(batch.real[0]), seed)
    torch.manual_seed(0)
    model = TinyEncoderDecoder(V, 8, 2, max_len=MAX_LEN)
    logits = model(tokens, batch.p, valid=batch.valid)
    logits.pow(2).sum().backward()
    assert logits.isfinite().all()
    assert all(weight.grad.isfinite().all() for weight in model.parameters())


@given(batches, seeds)
def test_ids_at_padding_move_nothing(batch: Padded, seed: int) -> None:
    batch = with_prefix(batch)
    tokens = ids(len(batch.real), len(batch.real[0]), seed)
    changed = torch.where(batch.valid, tokens, (tokens + 1) % V)
    before, after = (tiny()(x, batch.p, valid=batch.valid)[batch.valid] for x in (tokens, changed))
    assert torch.equal(before, after)


@pytest.mark.parametrize("p", range(1, 7))
def test_a_row_feels_the_whole_prefix_and_the_target_up_to_itself(p: int) -> None:
    """Which token moves which row: change one, and see."""
    model, tokens = tiny(), ids(1, 6, seed=p)
    before = model(tokens, p)
    for j in range(6):
        changed = tokens.clone()
        changed[0, j] = (changed[0, j] + 1) % V
        moved = (model(changed, p) != before).any(-1)[0].tolist()
        assert moved[p - 1 :] == [j < p or j <= i for i in range(p - 1, 6)]


@pytest.mark.parametrize("p", [1, 3, 5])
def test_the_encoder_never_sees_the_target(p: int) -> None:
    model, tokens = tiny(), ids(1, 6)
    found: list[Tensor] = []
    hook = model.encoder[-1].register_forward_hook(lambda layer, given, out: found.append(out[0, :p]))
    model(tokens, p)
    for j in range(6):
        changed = tokens.clone()
        changed[0, j] = (changed[0, j] + 1) % V
        model(changed, p)
    hook.remove()
    alike = [torch.equal(found[0], each) for each in found[1:]]
    assert alike == [j >= p for j in range(6)]


def test_the_decoder_counts_its_positions_from_the_last_prefix_token() -> None:
    model, tokens = tiny(), ids(1, 6)
    used: list[Tensor] = []
    hook = model.pos_emb.register_forward_hook(lambda layer, given, out: used.append(given[0]))
    model(tokens, 3, valid=torch.ones(1, 6, dtype=torch.bool))
    hook.remove()
    assert used[0].tolist() == [[0, 1, 2, 3, 4, 5]]
    assert used[1].tolist() == [[0, 0, 0, 1, 2, 3]]  # 0 again at the last prefix token


@pytest.mark.parametrize("p", [1, 4, 6])
def test_one_prefix_for_all_is_the_same_prefix_for_each(p: int) -> None:
    tokens = ids(3, 6)
    wanted = tiny()(tokens, torch.tensor([p] * 3))
    for same in (p, torch.tensor(p), torch.tensor([p] * 3, dtype=torch.int32)):
        assert torch.equal(tiny()(tokens, same), wanted)


def test_an_example_of_max_len_fits_and_a_longer_one_is_refused() -> None:
    for p in (1, MAX_LEN):
        assert tiny()(ids(1, MAX_LEN), p).isfinite().all()
    with pytest.raises(ValueError, match="an example has 13 tokens, but this model has 12 positions"):
        tiny()(ids(1, MAX_LEN + 1), 3)


@pytest.mark.parametrize("p", [0, torch.tensor(0), torch.tensor([2, 0])])
def test_an_empty_prefix_is_refused(p: int | Tensor) -> None:
    with pytest.raises(ValueError, match="prefix_len must be at least 1 for an encoder-decoder: the last"):
        tiny()(ids(2, 4), p)


def test_answers_are_those_that_one_example_alone_gets_by_slicing() -> None:
    model = tiny()
    tokens = ids(3, 5)
    valid = torch.tensor([[True] * 5, [False, False, True, True, True], [False] * 4 + [True]])
    answers = generate_greedy(model, tokens, stop_id=0, max_new_tokens=6, valid=valid)
    for b in range(3):
        prompt = tokens[b, valid[b]].tolist()
        answer: list[int] = []
        while len(answer) < 6:
            new = int(by_slicing(model, prompt + answer, len(prompt))[-1].argmax())
            if new == 0:
                break
            answer.append(new)
        assert answers[b] == answer


def test_it_pronounces_words_of_unlike_lengths_as_it_does_each_alone() -> None:
    torch.manual_seed(0)
    model = TinyEncoderDecoder(69, 16, 2, max_len=64).eval()
    words = ["cat", "a", "handbooks"]
    together = pronounce(model, g2p_vocabulary(), words)
    assert together == [pronounce(model, g2p_vocabulary(), [word])[0] for word in words]


def test_it_learns_to_copy_from_the_prefix() -> None:
    torch.manual_seed(0)
    model = TinyEncoderDecoder(8, 32, 4, max_len=6)
    losses = train(model, (copy_task(seed) for seed in range(300)), steps=300, lr=3e-3, progress=False)
    assert losses[0] > 1.8
    unseen = copy_task(10_000)
    right = model(unseen.tokens, 3)[:, 2:-1].argmax(-1) == unseen.tokens[:, 3:]
    assert right.float().mean() > 0.85


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@given(st.integers(1, 6), st.integers(1, 6), seeds)
def test_cross_attention_is_plain_attention_into_another_sequence(
    seq_len: int, other: int, seed: int
) -> None:
    torch.manual_seed(0)
    layer = CrossAttention(8, 2).double()
    x, memory = random(2, seq_len, 8, seed=seed), random(2, other, 8, seed=seed + 1)
    mask = random(2, 1, seq_len, other, seed=seed + 2) > 0
    q = layer.split_heads(layer.q_proj(x))
    k, v = (layer.split_heads(proj(memory)) for proj in (layer.k_proj, layer.v_proj))
    wanted = layer.out_proj(plain_attention(q, k, v, mask).transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer(x, mask, memory), wanted)
    torch.testing.assert_close(layer(x, mask[:1], memory)[0], wanted[0])
    torch.testing.assert_close(layer(x, mask[0, 0], memory)[0], wanted[0])


def test_cross_attention_without_memory_is_attention_among_its_own() -> None:
    torch.manual_seed(0)
    block = DecoderBlock(8, 2, 0.0).double()
    block.cross.load_state_dict(block.attn.state_dict())
    x, mask = random(2, 5, 8), create_prefix_lm_mask(5, torch.tensor([1, 4]))
    assert torch.equal(block.cross(x, mask), block.attn(x, mask))
    assert torch.equal(block.cross(x, mask, x), block.attn(x, mask))
