"""An encoder-decoder made of a prefix LM's blocks: each gap is one, and with all closed there is none."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_model import ids
from torch import Tensor

from prefixlm_teach import (
    ExpertBlock,
    MixtureOfExperts,
    RotaryPrefixLM,
    TinyCausalLM,
    TinyPrefixLM,
    causal_mask,
    encode_and_decode,
)
from prefixlm_teach.encoder_decoder import DecoderBlock, look
from prefixlm_teach.merged import decode_block, encode

V, MAX_LEN = 11, 12
CLOSED: dict[str, Any] = {"merged": True, "same_layer": True, "continued": True, "start": "once"}
OPENED: dict[str, Any] = {"merged": False, "same_layer": False, "continued": False, "start": "twice"}


@cache
def tiny(n_layers: int = 2, seed: int = 0, **changes: Any) -> TinyPrefixLM:
    torch.manual_seed(seed)
    config = {"d_model": 8, "n_heads": 2, "n_layers": n_layers, "max_len": MAX_LEN, **changes}
    return TinyPrefixLM(V, **config).double().eval()


def with_experts() -> TinyPrefixLM:
    made = TinyPrefixLM(V, d_model=8, n_heads=2, max_len=MAX_LEN)
    made.blocks[0] = ExpertBlock(8, 2, MixtureOfExperts(8, 2))
    return made.double().eval()


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[Tensor, int]:
    """A batch of texts without padding, and one prefix length for all of at least two tokens."""
    batch, seq_len = draw(st.integers(1, 3)), draw(st.integers(2, MAX_LEN))
    return ids(batch, seq_len, draw(st.integers(0, 2**20))), draw(st.integers(2, seq_len))


def gap(pair: Tensor, model: TinyPrefixLM, tokens: Tensor, p: int, rows_from: int) -> float:
    """The largest difference of a logit to the prefix LM of p prefix tokens."""
    return float((pair - model(tokens, p)[:, rows_from:]).abs().max())


layers = st.integers(1, 3)


@given(cut_texts(), layers)
@torch.no_grad()
def test_with_every_gap_closed_the_pair_is_the_prefix_lm(text: tuple[Tensor, int], n_layers: int) -> None:
    (tokens, p), model = text, tiny(n_layers)
    pair = encode_and_decode(model, model, tokens, p, **CLOSED)
    assert pair.shape == (len(tokens), tokens.size(1) - p + 1, V)
    assert gap(pair, model, tokens, p, p - 1) < 1e-12


@given(cut_texts(), layers)
@torch.no_grad()
def test_with_the_start_token_outside_it_is_the_prefix_lm_of_one_token_less(
    text: tuple[Tensor, int], n_layers: int
) -> None:
    (tokens, p), model = text, tiny(n_layers)
    pair = encode_and_decode(model, model, tokens, p, **{**CLOSED, "start": "outside"})
    assert gap(pair, model, tokens, p - 1, p - 1) < 1e-12
    if n_layers > 1:  # with one layer, what the prefix sees of itself is never read (chapter 3)
        assert gap(pair, model, tokens, p, p - 1) > 1e-6


@pytest.mark.parametrize("switch", OPENED)
@given(text=cut_texts(), n_layers=layers)
@torch.no_grad()
def test_each_gap_alone_is_one(switch: str, text: tuple[Tensor, int], n_layers: int) -> None:
    """All others closed: neither the prefix LM of p prefix tokens nor that of one less."""
    (tokens, p), model = text, tiny(n_layers)
    pair = encode_and_decode(model, model, tokens, p, **{**CLOSED, switch: OPENED[switch]})
    assert gap(pair, model, tokens, p, p - 1) > 1e-6
    assert gap(pair, model, tokens, p - 1, p - 1) > 1e-6


@given(cut_texts(), layers)
@torch.no_grad()
def test_an_encoder_with_other_weights_is_a_gap(text: tuple[Tensor, int], n_layers: int) -> None:
    (tokens, p), model = text, tiny(n_layers)
    pair = encode_and_decode(tiny(n_layers, seed=1), model, tokens, p, **CLOSED)
    assert gap(pair, model, tokens, p, p - 1) > 1e-6


@given(cut_texts(), layers, st.permutations(list(OPENED)))
@torch.no_grad()
def test_closed_one_by_one_in_any_order_only_the_last_step_leaves_no_gap(
    text: tuple[Tensor, int], n_layers: int, order: list[str]
) -> None:
    (tokens, p), model = text, tiny(n_layers)
    switches, gaps = dict(OPENED), []
    for switch in order:
        gaps.append(gap(encode_and_decode(model, model, tokens, p, **switches), model, tokens, p, p - 1))
        switches[switch] = CLOSED[switch]
    gaps.append(gap(encode_and_decode(model, model, tokens, p, **switches), model, tokens, p, p - 1))
    assert min(gaps[:-1]) > 1e-6
    assert gaps[-1] < 1e-12


@given(cut_texts(), layers, st.booleans())
@torch.no_grad()
def test_gradients_flow_as_in_the_prefix_lm(text: tuple[Tensor, int], n_layers: int, outside: bool) -> None:
    """Of the scored rows alone, in which both compute the same."""
    (tokens, p), model = text, tiny(n_layers)
    weight = model.token_emb.weight
    with torch.enable_grad():
        pair = encode_and_decode(
            model, model, tokens, p, **{**CLOSED, "start": "outside" if outside else "once"}
        )
        (found,) = torch.autograd.grad(pair.pow(2).sum(), weight)
        (wanted,) = torch.autograd.grad(model(tokens, p - outside)[:, p - 1 :].pow(2).sum(), weight)
    torch.testing.assert_close(found, wanted)


@torch.no_grad()
def test_the_encoder_never_sees_the_target_and_its_layers_are_those_of_the_model() -> None:
    model, tokens = tiny(3), ids(2, 6)
    states = encode(model, tokens[:, :4])
    assert len(states) == 4
    torch.testing.assert_close(model.output(states[-1]), model(tokens[:, :4], 4))
    for layer, block in enumerate(model.blocks):
        everything = torch.ones(4, 4, dtype=torch.bool)
        torch.testing.assert_close(block(states[layer], everything), states[layer + 1])


@torch.no_grad()
def test_attention_to_oneself_is_what_the_layer_itself_computes() -> None:
    attn, x = tiny().blocks[0].attn, torch.randn(2, 5, 8, dtype=torch.float64)
    torch.testing.assert_close(look(attn, x, x, causal_mask(5)), attn(x, causal_mask(5)))


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**20))
@torch.no_grad()
def test_unmerged_it_is_an_encoder_decoders_block_with_the_same_weights_twice(
    rows: int, seen: int, seed: int
) -> None:
    torch.manual_seed(seed)
    block = DecoderBlock(8, 2, 0.0).double().eval()
    for part, copied in (("cross", "attn"), ("cross_norm", "attn_norm")):
        block.get_submodule(part).load_state_dict(block.get_submodule(copied).state_dict())
    block.attn_norm.weight.copy_(torch.rand(8) + 0.5)
    block.cross_norm.weight.copy_(block.attn_norm.weight)
    h, memory = torch.randn(2, rows, 8).double(), 3 * torch.randn(2, seen, 8).double()
    everything = torch.ones(rows, seen, dtype=torch.bool)
    wanted = block.decode(h, causal_mask(rows), block.cross_norm(memory), everything)
    torch.testing.assert_close(decode_block(block, h, memory, merged=False), wanted)


@pytest.mark.parametrize("p", [2, 5])
def test_a_row_feels_the_whole_prefix_and_the_target_up_to_itself_whatever_is_closed(p: int) -> None:
    tokens = ids(1, 6, seed=p)
    for switch, opened in OPENED.items():
        switches = {**CLOSED, switch: opened}
        before = encode_and_decode(tiny(), tiny(), tokens, p, **switches)
        for j in range(6):
            changed = tokens.clone()
            changed[0, j] = (changed[0, j] + 1) % V
            moved = (encode_and_decode(tiny(), tiny(), changed, p, **switches) != before).any(-1)[0].tolist()
            assert moved == [j < p or j <= i for i in range(p - 1, 6)]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"encoder": "model"}, r"encoder must be a TinyPrefixLM, .* not str \('model'\)"),
        ({"decoder": TinyCausalLM(V, 8, 2).eval()}, "decoder must be a TinyPrefixLM, .* not TinyCausalLM"),
        (
            {"encoder": RotaryPrefixLM(V, 8, 2).eval()},
            "encoder must be .* not RotaryPrefixLM",
        ),
        ({"decoder": TinyPrefixLM(V, 8, 2)}, r"in training mode, .* call model.eval\(\) first"),
        (
            {"encoder": with_experts()},
            "encoder has a block of another kind, ExpertBlock: .* each to be a Block",
        ),
        (
            {"decoder": with_experts()},
            "decoder has a block of another kind, ExpertBlock: .* each to be a Block",
        ),
        ({"encoder": tiny(3)}, "encoder and decoder differ in n_layers, 3 and 2"),
        ({"encoder": tiny(d_model=4)}, "encoder and decoder differ in d_model, 4 and 8"),
        ({"encoder": tiny(max_len=13)}, "encoder and decoder differ in max_len, 13 and 12"),
        ({"decoder": tiny(seed=2).float()}, "differ in dtype, torch.float64 and torch.float32"),
        ({"prefix_len": 1}, "prefix_len must be at least 2, not 1"),
        ({"prefix_len": 7}, r"prefix_len 7 is longer than the sequence \(6 tokens\)"),
        ({"tokens": ids(1, 13)}, "an example has 13 tokens, but this model has 12 positions"),
        ({"tokens": ids(1, 6) + V}, "tokens holds the id"),
        ({"start": "inside"}, r"unknown start 'inside' \(there are: twice, outside, once\)"),
        *[({name: 1}, f"{name} must be True or False") for name in ("merged", "same_layer", "continued")],
    ],
)
def test_what_makes_no_pair_is_refused_in_words(wrong: dict[str, Any], says: str) -> None:
    good = {"encoder": tiny(), "decoder": tiny(), "tokens": ids(1, 6), "prefix_len": 3}
    encode_and_decode(**good)
    with pytest.raises((TypeError, ValueError), match=says):
        encode_and_decode(**{**good, **wrong})
