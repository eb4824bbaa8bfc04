"""The probe on models that others wrote: x-transformers' prefix decoder, and GPT-2 of transformers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.masking_utils import create_causal_mask
from x_transformers import PrefixDecoder, TransformerWrapper

from prefixlm_teach import create_prefix_lm_mask, explain, visibility

V, T = 40, 9
TOKENS = torch.tensor([[3, 14, 1, 5, 9, 2, 6, 35, 8], [2, 7, 18, 28, 1, 8, 28, 4, 5]])
P = torch.tensor([3, 5])
PADDED = torch.tensor([[True] * 9, [False] * 2 + [True] * 7])
RIGHT_PADDED = PADDED.flip(1)
WAYS = ("change", "gradient")


@cache
def prefix_decoder() -> TransformerWrapper:
    torch.manual_seed(0)
    layers = PrefixDecoder(dim=16, depth=2, heads=2, attn_dim_head=8)
    return TransformerWrapper(num_tokens=V, max_seq_len=T, attn_layers=layers).double().eval()


@cache
def gpt2(attention: str) -> GPT2LMHeadModel:
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=V, n_positions=T, n_embd=16, n_layer=2, n_head=2, attn_implementation=attention
    )
    return GPT2LMHeadModel(config).double().eval()


def x_transformers(tokens: Tensor, prefix_len: int | Tensor, *, valid: Tensor | None = None) -> Tensor:
    logits: Tensor = prefix_decoder()(tokens, prefix_attn_len=prefix_len, mask=valid)
    return logits


def gpt2_by_mask(tokens: Tensor, prefix_len: int | Tensor, *, valid: Tensor | None = None) -> Tensor:
    """GPT-2 under our own mask, as the 4D mask that it takes."""
    mask = create_prefix_lm_mask(tokens.size(1), prefix_len, valid=valid).expand(len(tokens), 1, T, T)
    logits: Tensor = gpt2("sdpa")(tokens, attention_mask=mask).logits
    return logits


def gpt2_by_overlay(tokens: Tensor, prefix_len: int | Tensor, *, valid: Tensor | None = None) -> Tensor:
    """GPT-2 under its own causal mask, with the prefix laid over it as transformers lays images over text."""
    model = gpt2("eager")
    ends = torch.as_tensor(prefix_len).expand(len(tokens))
    if valid is not None:
        ends = ends + valid.int().argmax(-1)
    mask = create_causal_mask(
        model.config,
        model.transformer.wte(tokens),
        valid,
        None,
        or_mask_function=lambda b, h, q, k: k < ends[b],
    )
    logits: Tensor = model(tokens, attention_mask=mask).logits
    return logits


STRANGERS = [x_transformers, gpt2_by_mask, gpt2_by_overlay]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("p", [0, 1, 4, T])
@pytest.mark.parametrize("stranger", STRANGERS)
def test_a_stranger_shows_the_mask_of_a_prefix_lm(stranger: Callable[..., Tensor], p: int, how: str) -> None:
    seen = visibility(stranger, TOKENS[:1], p, how=how)
    assert torch.equal(seen, create_prefix_lm_mask(T, p))
    assert explain(seen, p).startswith(f"Right: each row sees what a prefix LM with p = {p} shows it")


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("valid", [None, PADDED, RIGHT_PADDED], ids=["full", "left", "right"])
@pytest.mark.parametrize("stranger", STRANGERS)
def test_a_strangers_batch_keeps_prefixes_padding_and_neighbours_apart(
    stranger: Callable[..., Tensor], valid: Tensor | None, how: str
) -> None:
    seen = visibility(stranger, TOKENS, P, valid=valid, how=how)
    said = explain(seen, P, valid=valid)
    if stranger is x_transformers and valid is PADDED:
        # its prefix is counted in columns, pads included
        assert said.startswith("Example 0: Right.\nExample 1: Pads are counted as prefix: 2 before the text")
    else:
        assert said.startswith("Right")


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    "causal",
    [lambda tokens, p: prefix_decoder()(tokens), lambda tokens, p: gpt2("sdpa")(tokens).logits],
    ids=["x_transformers", "gpt2"],
)
def test_a_stranger_that_is_not_told_its_prefix_is_causal(causal: Callable[..., Tensor], how: str) -> None:
    seen = visibility(causal, TOKENS[:1], 4, how=how)
    assert explain(seen, 4) == "Causal: the prefix is not open (row 0 does not see column 1)."


def test_a_strangers_answer_that_is_no_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match=r"not CausalLMOutputWithCrossAttentions: wrap it"):
        visibility(lambda tokens, prefix_len: gpt2("sdpa")(tokens), TOKENS, 3)
