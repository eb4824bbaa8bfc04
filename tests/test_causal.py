"""A causal model that is called as a prefix LM: the prefix opens nothing, in no way of running it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from prefixlm_teach import (
    AttentionExplorer,
    TinyCausalLM,
    TinyPrefixLM,
    Vocabulary,
    causal_mask,
    decode,
    explain,
    generate,
    generate_greedy,
    load_checkpoint,
    prefill,
    save_checkpoint,
    visibility,
)

V = 11


def twins(seed: int = 0) -> tuple[TinyCausalLM, TinyPrefixLM]:
    """A causal model and a prefix LM with the same weights, in float64."""
    torch.manual_seed(seed)
    causal = TinyCausalLM(V, d_model=16, n_heads=2, max_len=24).double().eval()
    prefix = TinyPrefixLM(V, d_model=16, n_heads=2, max_len=24).double().eval()
    prefix.load_state_dict(causal.state_dict())
    return causal, prefix


@st.composite
def prompts(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor]:
    """Ragged rows, padded on the left or on the right, each with a prefix of its own."""
    lengths = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    left = draw(st.booleans())
    seq_len = max(lengths)
    valid = torch.zeros(len(lengths), seq_len, dtype=torch.bool)
    for row, length in enumerate(lengths):
        valid[row, seq_len - length if left else 0 : seq_len if left else length] = True
    tokens = torch.tensor(
        draw(st.lists(st.integers(0, V - 1), min_size=valid.numel(), max_size=valid.numel()))
    )
    prefix_len = torch.tensor([draw(st.integers(0, length)) for length in lengths])
    return tokens.view(valid.shape), valid, prefix_len


@given(prompts())
def test_the_prefix_opens_nothing(given_prompts: tuple[Tensor, Tensor, Tensor]) -> None:
    tokens, valid, prefix_len = given_prompts
    causal, prefix = twins()
    plain = prefix(tokens, 0, valid=valid)[valid]
    assert torch.equal(causal(tokens, prefix_len, valid=valid)[valid], plain)
    logits, cache = prefill(causal, tokens, prefix_len, valid=valid)
    assert torch.allclose(logits[valid], plain)
    assert cache.prefix_len.tolist() == prefix_len.tolist()


@given(prompts())
def test_answers_from_a_cache_are_those_without_one(given_prompts: tuple[Tensor, Tensor, Tensor]) -> None:
    tokens, valid, _ = given_prompts
    tokens, valid = tokens.flip(-1), valid.flip(-1)
    if not bool(valid[:, -1].all()):
        tokens, valid = tokens.flip(-1), valid.flip(-1)  # generate_greedy wants its padding on the left
    causal, _ = twins()
    plain = generate_greedy(causal, tokens, stop_id=1, max_new_tokens=6, valid=valid)
    assert generate(causal, tokens, stop_id=1, max_new_tokens=6, valid=valid) == plain


def test_a_token_decoded_later_has_the_logits_of_one_call() -> None:
    causal, _ = twins()
    tokens = torch.randint(0, V, (2, 8))
    _, cache = prefill(causal, tokens[:, :5])
    later, _ = decode(causal, tokens[:, 5:], cache)
    assert torch.allclose(later, causal(tokens, 5)[:, 5:])


def test_no_weight_lies_right_of_the_diagonal_and_the_probe_calls_it_causal() -> None:
    causal, prefix = twins()
    tokens = torch.arange(8)[None]
    weights = causal.attention_weights(tokens, 5)
    assert not weights[..., ~causal_mask(8)].any()
    assert prefix.attention_weights(tokens, 5)[..., ~causal_mask(8)].any()
    assert "causal" in str(explain(visibility(causal, tokens, 5), 5)).lower()


@pytest.mark.parametrize("shape", [(6, 6), (2, 1, 6, 6)])
def test_a_mask_that_is_given_counts_as_far_as_it_is_causal(shape: tuple[int, ...]) -> None:
    causal, prefix = twins()
    tokens, mask = torch.arange(12).view(2, 6) % V, torch.rand(shape) < 0.5
    logits = causal(tokens, mask=mask)
    assert torch.equal(logits, prefix(tokens, mask=mask & causal_mask(6)))
    assert not torch.equal(logits, causal(tokens, 0))
    assert not torch.equal(logits, prefix(tokens, mask=mask))


@pytest.mark.parametrize("wrong", [-1, 9, 2.0, True, torch.tensor([3, 3])])
def test_a_prefix_that_cannot_be_is_refused_all_the_same(wrong: object) -> None:
    causal, _ = twins()
    with pytest.raises((TypeError, ValueError), match="prefix_len"):
        causal(torch.arange(8)[None], wrong)


def test_it_comes_back_from_a_file_as_what_it_is(tmp_path: Path) -> None:
    causal, prefix = (model.float() for model in twins())
    save_checkpoint(tmp_path / "m.safetensors", causal, Vocabulary("abcdefghijk"), made={})
    loaded, _ = load_checkpoint(tmp_path / "m.safetensors")
    tokens = torch.arange(8)[None]
    assert torch.equal(loaded(tokens, 5), causal(tokens, 5))
    assert not torch.equal(loaded(tokens, 5), prefix(tokens, 5))


def test_the_attention_explorer_which_draws_a_prefix_mask_refuses_it() -> None:
    causal, _ = twins()
    with pytest.raises(TypeError, match=r"model is a TinyCausalLM: .* draws a prefix mask"):
        AttentionExplorer(causal.float(), torch.arange(3)[None], ["a", "b", "c"], prefix_len=2)
