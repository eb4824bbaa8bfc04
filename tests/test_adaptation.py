"""Adapting a causal model: what is copied, what it computes before it is trained, and that it trains."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_merged import cut_texts
from test_model import ids
from test_training import copy_task
from torch import Tensor, nn

from prefixlm_teach import (
    KERNELS,
    ExpertBlock,
    MixtureOfExperts,
    RotaryPrefixLM,
    TinyCausalLM,
    TinyPrefixLM,
    adapt_to_encoder_decoder,
    adapt_to_prefix,
    compute_prefix_lm_loss,
    encode_and_decode,
    load_checkpoint,
    make_batch,
    train,
)

V, MAX_LEN = 11, 12
WAYS: list[Callable[[TinyCausalLM], nn.Module]] = [
    adapt_to_prefix,
    adapt_to_encoder_decoder,
    partial(adapt_to_encoder_decoder, causal_encoder=True),
]


@cache
def causal(n_layers: int = 2) -> TinyCausalLM:
    torch.manual_seed(n_layers)
    model = TinyCausalLM(V, d_model=8, n_heads=2, n_layers=n_layers, max_len=MAX_LEN).double().eval()
    for weight in model.parameters():  # normalisations too, or a copy of them could not be told
        nn.init.uniform_(weight, -0.5, 0.5)
    return model


@given(cut_texts(), st.integers(1, 3), st.sampled_from([0, 1]))
@settings(max_examples=30)
@torch.no_grad()
def test_a_prefix_of_no_more_than_one_token_opens_nothing(
    text: tuple[Tensor, int], n_layers: int, p: int
) -> None:
    model = causal(n_layers)
    assert torch.equal(adapt_to_prefix(model)(text[0], p), model(text[0], p))


@given(cut_texts(), st.integers(1, 3))
@settings(max_examples=30)
@torch.no_grad()
def test_a_longer_prefix_changes_scored_rows_from_two_layers_on(
    text: tuple[Tensor, int], n_layers: int
) -> None:
    (tokens, p), model = text, causal(n_layers)
    gap = (adapt_to_prefix(model)(tokens, p) - model(tokens, p))[:, p - 1 :].abs().max()
    assert (gap < 1e-12) if n_layers == 1 else (gap > 1e-9)


@given(cut_texts(), st.integers(1, 3))
@settings(max_examples=30)
@torch.no_grad()
def test_the_encoder_decoder_begins_as_the_prefix_lms_own_blocks_used_twice(
    text: tuple[Tensor, int], n_layers: int
) -> None:
    (tokens, p), model = text, causal(n_layers)
    prefix = adapt_to_prefix(model)
    wanted = encode_and_decode(prefix, prefix, tokens, p, continued=True)
    torch.testing.assert_close(adapt_to_encoder_decoder(model)(tokens, p)[:, p - 1 :], wanted)


@pytest.mark.parametrize("causal_encoder", [False, True])
@torch.no_grad()
def test_the_encoder_begins_as_the_model_that_its_mask_makes(causal_encoder: bool) -> None:
    model, tokens, p = causal(3), ids(2, 6), 4
    adapted = adapt_to_encoder_decoder(model, causal_encoder=causal_encoder)
    found: list[Tensor] = []
    hook = adapted.encoder[-1].register_forward_hook(lambda layer, given, out: found.append(out[:, :p]))
    adapted(tokens, p)
    hook.remove()
    as_decoder = model if causal_encoder else adapt_to_prefix(model)
    torch.testing.assert_close(model.output(found[0]), as_decoder(tokens[:, :p], p))


def test_every_weight_of_the_encoder_decoder_is_one_of_the_causal_models() -> None:
    model = causal(2)
    weights, adapted = model.state_dict(), adapt_to_encoder_decoder(model).state_dict()
    for name, weight in adapted.items():
        home = name.replace("encoder.", "blocks.").replace("decoder.", "blocks.").replace(".cross", ".attn")
        assert torch.equal(weight, weights[home]), name
    homes = {name.replace("encoder.", "blocks.") for name in adapted}
    assert weights.keys() <= homes  # and none is left out


@pytest.mark.parametrize("way", WAYS)
def test_it_has_the_mode_and_the_numbers_of_its_model_and_leaves_it_alone(
    way: Callable[[TinyCausalLM], nn.Module],
) -> None:
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64):
        for training in (True, False):
            model = TinyCausalLM(8, 16, 2, max_len=6, dropout=0.25).to(dtype).train(training)
            before = {name: weight.clone() for name, weight in model.state_dict().items()}
            adapted = way(model)
            assert {part.training for part in adapted.modules()} == {training}
            assert {weight.dtype for weight in adapted.parameters()} == {dtype}
            assert adapted.dropout.p == 0.25
            with torch.no_grad():
                for weight in adapted.parameters():
                    weight.zero_()
            assert all(torch.equal(before[name], weight) for name, weight in model.state_dict().items())


@pytest.mark.parametrize("way", WAYS)
def test_it_goes_on_learning_in_every_part(way: Callable[[TinyCausalLM], nn.Module]) -> None:
    torch.manual_seed(0)
    adapted = way(TinyCausalLM(8, 32, 4, max_len=6))
    begun = {name: weight.clone() for name, weight in adapted.state_dict().items()}
    losses = train(adapted, (copy_task(seed) for seed in range(60)), steps=60, lr=3e-3, progress=False)
    assert losses[-1] < 0.8 * losses[0]
    still = [name for name, weight in adapted.state_dict().items() if torch.equal(weight, begun[name])]
    assert still == []


@torch.no_grad()
def test_the_shipped_model_keeps_most_of_what_it_knows_under_the_other_mask_and_less_in_two_halves() -> None:
    model, vocabulary = load_checkpoint("g2p_causal")
    assert isinstance(model, TinyCausalLM)
    words = {"photograph": "F OW T AH G R AE F", "knight": "N AY T", "nation": "N EY SH AH N"}
    batch = make_batch([(word, tuple(said.split())) for word, said in words.items()], vocabulary)
    torch.manual_seed(0)
    losses = [
        float(
            compute_prefix_lm_loss(
                each(batch.tokens, batch.prefix_len, valid=batch.valid),
                batch.tokens,
                batch.prefix_len,
                valid=batch.valid,
            )
        )
        for each in (model, adapt_to_prefix(model), adapt_to_encoder_decoder(model), TinyPrefixLM(69).eval())
    ]
    assert losses == sorted(losses)
    assert losses[1] < 0.5
    assert losses[3] > 4


@pytest.mark.parametrize("way", WAYS)
def test_a_causal_model_with_experts_is_refused_in_words(way: Callable[[TinyCausalLM], nn.Module]) -> None:
    for place in (0, 1):
        model = TinyCausalLM(V, 8, 2)
        model.blocks[place] = ExpertBlock(8, 2, MixtureOfExperts(8, 2))
        with pytest.raises(
            TypeError, match=r"model has a block of another kind, ExpertBlock: .* to be a Block"
        ):
            way(model)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_tied_stays_tied_and_is_no_weight_of_the_causal_model(
    way: Callable[[TinyCausalLM], nn.Module],
) -> None:
    torch.manual_seed(0)
    model = TinyCausalLM(V, d_model=8, n_heads=2, n_layers=3, max_len=MAX_LEN).double()
    model.output.weight = model.token_emb.weight
    model.blocks[2] = model.blocks[0]
    adapted = way(model)
    assert adapted.output.weight is adapted.token_emb.weight
    halves = [adapted.blocks] if isinstance(adapted, TinyPrefixLM) else [adapted.encoder, adapted.decoder]
    for half in halves:
        first, second, third = (dict(block.named_parameters()) for block in half)
        assert all(third[name] is first[name] and second[name] is not first[name] for name in first)
        for name, weight in model.blocks[0].named_parameters():
            assert torch.equal(first[name], weight)
            assert first[name] is not weight
    optimizer = torch.optim.SGD(adapted.parameters(), lr=0.1)
    loss = adapted(ids(2, 6), 3)[:, 2:].pow(2).mean()
    loss.backward()
    optimizer.step()
    assert torch.equal(adapted.output.weight, adapted.token_emb.weight)
    assert not torch.equal(adapted.output.weight, model.output.weight)


def test_a_prefix_lm_keeps_the_kernel_of_its_causal_model() -> None:
    for kernel in ("mend", KERNELS["dense"]):
        model = TinyCausalLM(V, 8, 2, kernel=kernel)
        assert adapt_to_prefix(model).kernel is kernel


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_causal_model_is_refused(way: Callable[[object], nn.Module]) -> None:
    for wrong in (None, "g2p_causal", TinyPrefixLM(V, 8, 2), RotaryPrefixLM(V, 8, 2)):
        with pytest.raises(TypeError, match=f"model must be a TinyCausalLM, .* not {type(wrong).__name__}"):
            way(wrong)


@pytest.mark.parametrize("wrong", [None, 1, "yes"])
def test_a_causal_encoder_is_asked_for_with_true_or_false(wrong: object) -> None:
    with pytest.raises(TypeError, match="causal_encoder must be True or False"):
        adapt_to_encoder_decoder(causal(), causal_encoder=wrong)  # type: ignore[arg-type]
