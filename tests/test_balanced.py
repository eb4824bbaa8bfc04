"""The balanced encoder-decoder: against one that cuts prefix and target apart, and who feels whom."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from strategies import Padded
from test_encoder_decoder import MAX_LEN, V, attend, batches, seeds, with_prefix
from test_model import ids
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach import BalancedEncoderDecoder, TinyPrefixLM


@cache
def tiny(n_layers: int = 2, *, causal: bool = False) -> BalancedEncoderDecoder:
    torch.manual_seed(n_layers)
    model = BalancedEncoderDecoder(V, 8, 2, n_layers, MAX_LEN, causal_encoder=causal).double().eval()
    for name, weight in model.named_parameters():
        if "norm" in name:  # or every normalisation would do the same
            torch.nn.init.uniform_(weight, 0.5, 1.5)
    return model


def by_slicing(model: BalancedEncoderDecoder, tokens: list[int], p: int) -> Tensor:
    """One example without padding: the rows from the last prefix token on, (T - p + 1, V)."""
    weights = model.state_dict()

    def norm(name: str, x: Tensor) -> Tensor:
        return F.layer_norm(x, (8,), weights[f"{name}.weight"], weights[f"{name}.bias"])

    def linear(name: str, x: Tensor) -> Tensor:
        return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def feed_forward(block: str, h: Tensor) -> Tensor:
        return h + linear(f"{block}.ff.2", F.gelu(linear(f"{block}.ff.0", norm(f"{block}.ff_norm", h))))

    embedded = weights["token_emb.weight"][tokens] + weights["pos_emb.weight"][: len(tokens)]
    embedded = norm("layer_norm", embedded)
    memory, h = embedded[:p], embedded[p - 1 :]
    seen = torch.ones(p, p).tril().bool() if model.causal_encoder else torch.ones(p, p).bool()
    for i in range(len(model.encoder)):
        x = norm(f"encoder.{i}.attn_norm", memory)
        memory = feed_forward(f"encoder.{i}", memory + attend(weights, f"encoder.{i}.attn", x, x, seen))
    rows = len(h)
    past, everything = torch.ones(rows, rows).tril().bool(), torch.ones(rows, p).bool()
    for i in range(len(model.decoder)):
        x = norm(f"decoder.{i}.attn_norm", h)
        h = h + attend(weights, f"decoder.{i}.attn", x, x, past)
        x, read = (norm(f"decoder.{i}.cross_norm", each) for each in (h, memory))
        h = feed_forward(f"decoder.{i}", h + attend(weights, f"decoder.{i}.cross", x, read, everything))
    return linear("output", h)


@pytest.mark.parametrize("causal", [False, True])
@given(batch=batches, seed=seeds)
@settings(max_examples=40)
def test_rows_that_mean_something_equal_those_of_prefix_and_target_cut_apart(
    causal: bool, batch: Padded, seed: int
) -> None:
    batch, model = with_prefix(batch), tiny(1 + seed % 3, causal=causal)
    tokens = ids(len(batch.real), len(batch.real[0]), seed)
    logits = model(tokens, batch.p, valid=batch.valid)
    for b, p in enumerate(batch.prefix_len):
        real = batch.valid[b]
        torch.testing.assert_close(logits[b, real][p - 1 :], by_slicing(model, tokens[b, real].tolist(), p))


@pytest.mark.parametrize("causal", [False, True])
def test_the_encoder_looks_both_ways_or_only_back_and_never_at_the_target(causal: bool) -> None:
    model, tokens, p = tiny(3, causal=causal), ids(1, 6), 4
    found: list[Tensor] = []
    hook = model.encoder[-1].register_forward_hook(lambda layer, given, out: found.append(out[0, :p]))
    model(tokens, p)
    for j in range(6):
        changed = tokens.clone()
        changed[0, j] = (changed[0, j] + 1) % V
        model(changed, p)
    hook.remove()
    moved = [(found[0] != each).any(-1).tolist() for each in found[1:]]
    assert moved == [[j < p and (j <= row or not causal) for row in range(p)] for j in range(6)]


def test_the_decoder_counts_on_where_the_prefix_ends() -> None:
    model, tokens = tiny(), ids(1, 6)
    used: list[Tensor] = []
    hook = model.pos_emb.register_forward_hook(lambda layer, given, out: used.append(given[0]))
    model(tokens, 3, valid=torch.tensor([[False, True, True, True, True, True]]))
    hook.remove()
    assert [each[0, 1:].tolist() for each in used] == [[0, 1, 2, 3, 4]] * 2


@pytest.mark.parametrize("n_layers", [1, 3])
def test_each_half_has_the_parameters_of_a_decoder_only_model_and_the_decoder_its_cross_attention(
    n_layers: int,
) -> None:
    def count(*parts: torch.nn.Module) -> int:
        return sum(weight.numel() for part in parts for weight in part.parameters())

    model, one = tiny(n_layers), TinyPrefixLM(V, 8, 2, n_layers, MAX_LEN)
    assert count(model.encoder) == count(one.blocks)
    crossing = count(*(part for block in model.decoder for part in (block.cross, block.cross_norm)))
    assert count(model.decoder) == count(one.blocks) + crossing
    assert crossing == n_layers * count(one.blocks[0].attn, one.blocks[0].attn_norm)
    assert count(model) - count(model.encoder, model.decoder) == count(one) - count(one.blocks)
