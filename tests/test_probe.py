"""The probe, against what a mask lets through: one step in each layer, by matrices of booleans."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from broken_models import lm
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Padded, padded_batches
from torch import Tensor, nn
from torch.nn.modules.module import _global_forward_hooks as every_layers_hooks

from prefixlm_teach import (
    TinyPrefixLM,
    create_prefix_lm_mask,
    explain,
    mask_from_rule,
    mask_parts,
    to_additive,
    visibility,
)
from prefixlm_teach.encoder_decoder import TinyEncoderDecoder
from prefixlm_teach.rotary import RotaryPrefixLM

V, MAX_LEN = 11, 8
WAYS = ("change", "gradient")


@cache
def tiny(n_layers: int = 2) -> TinyPrefixLM:
    torch.manual_seed(0)
    return TinyPrefixLM(V, d_model=8, n_heads=2, n_layers=n_layers, max_len=MAX_LEN).double().eval()


def ids(batch: int, seq_len: int, seed: int = 0) -> Tensor:
    return torch.randint(V, (batch, seq_len), generator=torch.Generator().manual_seed(seed))


def steps(mask: Tensor, n_layers: int) -> Tensor:
    """What goes from token to token in as many steps as there are layers, each by the mask or not at all."""
    one = (mask | torch.eye(len(mask), dtype=torch.bool)).int()
    many = torch.eye(len(mask), dtype=torch.int32)
    for _ in range(n_layers):
        many = (many @ one).clamp(max=1)
    return many.bool()


@st.composite
def any_masks(draw: st.DrawFn) -> Tensor:
    seq_len = draw(st.integers(1, 6))
    cells = draw(st.lists(st.booleans(), min_size=seq_len**2, max_size=seq_len**2))
    return torch.tensor(cells).view(seq_len, seq_len)


@pytest.mark.parametrize("how", WAYS)
@given(any_masks(), st.integers(1, 3), st.integers(0, 2**16))
@settings(max_examples=60)
def test_any_mask_shows_what_it_lets_through_in_as_many_steps_as_layers(
    how: str, mask: Tensor, n_layers: int, seed: int
) -> None:
    tokens = ids(1, len(mask), seed)
    seen = visibility(lambda tokens, p: tiny(n_layers)(tokens, mask=mask), tokens, 0, how=how)
    assert torch.equal(seen, steps(mask, n_layers))


@pytest.mark.parametrize(
    "rule",
    [
        "causal",
        "causal or prefix",
        "(causal or prefix) and valid",
        "causal and valid or prefix",
        "(causal or prefix) and valid and document",
        "causal or prefix and document",
        "(causal or prefix) and window",
        "causal and window or prefix",
        "not (causal or prefix)",
        "valid",
    ],
)
def test_a_rule_shows_its_mask(rule: str) -> None:
    mask = mask_from_rule(rule, mask_parts([4, 2], [2, 1], window=2, pads=1))
    for n_layers in (1, 2):
        seen = visibility(lambda tokens, p, n=n_layers: tiny(n)(tokens, mask=mask), ids(1, 7), 0)
        assert torch.equal(seen, steps(mask, n_layers))


@pytest.mark.parametrize("how", WAYS)
@given(padded_batches(min_real=1, max_len=6), st.integers(1, 3), st.integers(0, 2**16))
@settings(max_examples=40)
def test_our_model_shows_its_mask_whatever_the_padding_the_split_and_the_depth(
    how: str, batch: Padded, n_layers: int, seed: int
) -> None:
    B, T = batch.valid.shape
    tokens = ids(B, T, seed)
    seen = visibility(tiny(n_layers), tokens, batch.p, valid=batch.valid, how=how).view(B, B, T, T)
    mask = create_prefix_lm_mask(T, batch.p, valid=batch.valid)[:, 0] & batch.valid[:, :, None]
    for a in range(B):
        for b in range(B):
            assert torch.equal(seen[a, b], mask[a] if a == b else torch.zeros_like(mask[a]))
    assert explain(seen, batch.p, valid=batch.valid).startswith("Right: each row sees what a prefix LM")


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("kind", [RotaryPrefixLM, TinyEncoderDecoder])
def test_our_other_models_are_right_too(kind: Callable[..., nn.Module], how: str) -> None:
    torch.manual_seed(0)
    model = kind(V, d_model=8, n_heads=2, max_len=MAX_LEN).double().eval()
    tokens, p = ids(2, 7), torch.tensor([3, 5])
    assert explain(visibility(model, tokens, p, how=how), p).startswith("Right")


@pytest.mark.parametrize("how", WAYS)
def test_float32_is_enough_for_our_model(how: str) -> None:
    torch.manual_seed(0)
    model = TinyPrefixLM(V, d_model=16, n_heads=2, max_len=MAX_LEN).eval()
    assert torch.equal(visibility(model, ids(1, 8), 4, how=how), create_prefix_lm_mask(8, 4))


def test_nothing_of_the_model_and_of_the_tokens_is_changed() -> None:
    tokens = ids(1, 5)
    before, weights = tokens.clone(), {name: w.clone() for name, w in tiny().state_dict().items()}
    for how in WAYS:
        visibility(tiny(), tokens, 2, how=how)
    assert torch.equal(tokens, before)
    assert all(torch.equal(w, weights[name]) for name, w in tiny().state_dict().items())
    assert all(parameter.grad is None for parameter in tiny().parameters())
    assert not tiny().token_emb._forward_hooks
    assert not every_layers_hooks


# What is refused, and what is not


def dropping(tokens: Tensor, prefix_len: Any) -> Tensor:
    return nn.functional.dropout(tiny()(tokens, prefix_len), 0.5)


def counting() -> Callable[..., Tensor]:
    """A model that remembers: its cache is never emptied."""
    calls = []

    def model(tokens: Tensor, prefix_len: Any) -> Tensor:
        calls.append(1)
        return tiny()(tokens, prefix_len) + len(calls)

    return model


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("model", [dropping, counting()])
def test_a_model_that_does_not_answer_twice_alike_is_refused(model: Callable[..., Tensor], how: str) -> None:
    with pytest.raises(ValueError, match=r"different logits for the same tokens.*model\.eval\(\)"):
        visibility(model, ids(1, 4), 2, how=how)


def test_a_model_in_training_mode_is_refused_before_it_is_called() -> None:
    model = TinyPrefixLM(V, d_model=8, n_heads=2, dropout=0.0)
    model.register_forward_pre_hook(lambda *call: pytest.fail("called"))
    with pytest.raises(ValueError, match=r"in training mode.*model\.eval\(\)"):
        visibility(model, ids(1, 4), 2)


@pytest.mark.parametrize("how", WAYS)
def test_noise_below_the_tolerance_is_not_sight(how: str) -> None:
    def rounding(tokens: Tensor, prefix_len: Any) -> Tensor:
        """Causal but for a trace of everything, as a product with a mask would leave it."""
        logits, every = tiny()(tokens, 0), tiny()(tokens, tokens.size(1))
        return logits + 1e-14 * every

    assert visibility(rounding, ids(1, 5), 0, how=how).all()
    seen = visibility(rounding, ids(1, 5), 0, how=how, tolerance=1e-9)
    assert torch.equal(seen, create_prefix_lm_mask(5, 0))


def test_noise_between_two_equal_calls_is_not_refused_below_the_tolerance() -> None:
    torch.manual_seed(0)

    def noisy(tokens: Tensor, prefix_len: Any) -> Tensor:
        logits = tiny()(tokens, prefix_len)
        return logits + 1e-13 * torch.rand_like(logits)

    for how in WAYS:
        seen = visibility(noisy, ids(1, 5), 2, how=how, tolerance=1e-9)
        assert torch.equal(seen, create_prefix_lm_mask(5, 2))


@pytest.mark.parametrize("how", WAYS)
def test_logits_of_minus_infinity_are_no_trouble(how: str) -> None:
    def banned(tokens: Tensor, prefix_len: Any) -> Tensor:
        logits = tiny()(tokens, prefix_len)
        return logits.masked_fill(torch.arange(V) == 3, -torch.inf)

    assert torch.equal(visibility(banned, ids(1, 5), 2, how=how), create_prefix_lm_mask(5, 2))


def test_nan_at_padding_alone_is_no_trouble() -> None:
    valid = torch.tensor([[False, True, True, True]])

    def blind(tokens: Tensor, prefix_len: Any, *, valid: Tensor) -> Tensor:
        return tiny()(tokens, prefix_len, valid=valid).masked_fill(~valid[..., None], torch.nan)

    for how in WAYS:
        seen = visibility(blind, ids(1, 4), 2, valid=valid, how=how)
        assert torch.equal(seen[1:, 1:], create_prefix_lm_mask(3, 2))
        assert not seen[0].any()
        assert not seen[:, 0].any()


# By change


def test_a_replacement_with_an_equal_embedding_does_not_hide_a_token() -> None:
    model = TinyPrefixLM(V, d_model=8, n_heads=2, max_len=MAX_LEN).double().eval()
    tokens = torch.full((1, 4), 3)
    with torch.no_grad():
        model.token_emb.weight[2] = model.token_emb.weight[3]
    assert torch.equal(visibility(model, tokens, 2), create_prefix_lm_mask(4, 2))
    assert torch.equal(visibility(model, tokens, 2, ids=[2, 5]), create_prefix_lm_mask(4, 2))
    assert not visibility(model, tokens, 2, ids=[2]).any()  # what it cannot tell ...
    assert torch.equal(
        visibility(model, tokens, 2, how="gradient"), create_prefix_lm_mask(4, 2)
    )  # ... this can


def test_ids_keep_a_model_that_looks_for_an_id_from_being_misled() -> None:
    def split_at_five(tokens: Tensor, prefix_len: Any) -> Tensor:
        return tiny()(tokens, int((tokens == 5).sum()) * 3)

    tokens = torch.tensor([[1, 2, 9, 3, 7]])
    assert not torch.equal(visibility(split_at_five, tokens, 0, ids=[5, 6]), create_prefix_lm_mask(5, 0))
    assert torch.equal(visibility(split_at_five, tokens, 0, ids=[4, 6]), create_prefix_lm_mask(5, 0))


@pytest.mark.parametrize("vocab_size", [2, 3, 4, 50])
def test_every_vocabulary_of_two_ids_or_more_is_enough(vocab_size: int) -> None:
    model = TinyPrefixLM(vocab_size, d_model=8, n_heads=2, max_len=MAX_LEN).double().eval()
    for id_ in range(vocab_size):
        assert torch.equal(visibility(model, torch.full((1, 4), id_), 2), create_prefix_lm_mask(4, 2))


def test_without_another_id_there_is_nothing_to_exchange() -> None:
    alone = TinyPrefixLM(1, d_model=8, n_heads=2, max_len=MAX_LEN).eval()
    with pytest.raises(ValueError, match="nothing to exchange the id 0 for"):
        visibility(alone, torch.zeros(1, 4, dtype=torch.int64), 2)
    with pytest.raises(ValueError, match="nothing to exchange the id 3 for"):
        visibility(tiny(), torch.tensor([[1, 3]]), 1, ids=[3])


# By gradient


def own_and_next(own: nn.Module, other: nn.Module) -> Callable[..., Tensor]:
    """A model each of whose rows sees its own token by one layer, and the next one by another."""
    return lambda tokens, prefix_len: own(tokens) + other(tokens).roll(-1, dims=1)


EYE = torch.eye(5, dtype=torch.bool)


def test_each_call_of_each_table_of_the_tokens_counts_by_gradient() -> None:
    torch.manual_seed(0)
    own, other = nn.Embedding(V, V).double(), nn.Sequential(nn.Embedding(V, 3), nn.Linear(3, V)).double()
    for model in (own_and_next(own, other), own_and_next(own, own)):
        for how in WAYS:
            assert torch.equal(visibility(model, ids(1, 5), 0, how=how), EYE | EYE.roll(1, dims=1))
    seen = visibility(own_and_next(own, other), ids(1, 5), 0, how="gradient", embedding=own)
    assert torch.equal(seen, EYE)  # only the one that was named


def test_tokens_that_could_be_positions_are_not_taken_for_them() -> None:
    tokens, valid = torch.arange(5)[None], torch.ones(1, 5, dtype=torch.bool)

    def without_tokens(tokens: Tensor, prefix_len: Any, *, valid: Tensor) -> Tensor:
        """A model that looks at positions alone."""
        return tiny()(torch.zeros_like(tokens), prefix_len, valid=valid)

    assert torch.equal(
        visibility(tiny(), tokens, 2, valid=valid, how="gradient"), create_prefix_lm_mask(5, 2)
    )
    with pytest.raises(ValueError, match=r"no nn\.Embedding is given the tokens"):
        visibility(without_tokens, tokens, 2, valid=valid, how="gradient")


def test_a_model_without_an_embedding_layer_is_refused_by_gradient_alone() -> None:
    table = torch.randn(V, V, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def sums(tokens: Tensor, prefix_len: Any) -> Tensor:
        return table[tokens].cumsum(1)

    assert torch.equal(visibility(sums, ids(1, 5), 0), create_prefix_lm_mask(5, 0))
    with pytest.raises(ValueError, match=r"no nn\.Embedding is given the tokens.*how='change'"):
        visibility(sums, ids(1, 5), 0, how="gradient")


def test_a_model_that_cuts_the_gradient_is_refused_by_gradient() -> None:
    with pytest.raises(ValueError, match=r"have no gradient.*Use how='change'"):
        visibility(lambda tokens, p: tiny()(tokens, p).detach(), ids(1, 5), 2, how="gradient")


def test_an_embedding_that_is_not_called_or_returns_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="embedding is not called by the model"):
        visibility(tiny(), ids(1, 5), 2, how="gradient", embedding=nn.Embedding(3, 3))
    with pytest.raises(ValueError, match=r"embedding must return a vector for each token, \(1, 5, 'd'\)"):
        visibility(tiny(), ids(1, 5), 2, how="gradient", embedding=tiny().pos_emb)


def test_a_gradient_of_nan_behind_finite_logits_is_refused() -> None:
    """pytorch 103749: the weights of a blind row are filled in after the softmax, but its gradient is not."""
    valid = torch.tensor([[False, True, True, True]])

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        weights = (q @ k.mT + to_additive(mask, torch.float64)).softmax(-1)
        return weights.masked_fill(~mask, 0.0) @ v

    def filled_in(tokens: Tensor, prefix_len: Any, *, valid: Tensor) -> Tensor:
        mask = create_prefix_lm_mask(tokens.size(1), prefix_len, valid=valid)
        return lm(tokens, mask & valid[:, None, :, None], attend)

    assert torch.equal(visibility(filled_in, ids(1, 4), 2, valid=valid)[1:, 1:], create_prefix_lm_mask(3, 2))
    with pytest.raises(ValueError, match="the gradient of row 1 of example 0 is NaN, though its logits are"):
        visibility(filled_in, ids(1, 4), 2, valid=valid, how="gradient")


def test_a_model_may_work_in_place_on_its_embeddings() -> None:
    torch.manual_seed(0)
    table = nn.Embedding(V, V).double()
    seen = visibility(lambda tokens, p: table(tokens).mul_(2), ids(1, 5), 0, how="gradient")
    assert torch.equal(seen, EYE)


def test_gradients_are_found_where_they_are_switched_off_outside() -> None:
    with torch.no_grad():
        seen = visibility(tiny(), ids(1, 5), 2, how="gradient")
    assert torch.equal(seen, create_prefix_lm_mask(5, 2))


def test_a_sum_of_logits_that_stands_still_does_not_hide_their_moves() -> None:
    def centred(tokens: Tensor, prefix_len: Any) -> Tensor:
        return tiny()(tokens, prefix_len).log_softmax(-1) + 0 * prefix_len

    def without_mean(tokens: Tensor, prefix_len: Any) -> Tensor:
        logits = tiny()(tokens, prefix_len)
        return logits - logits.mean(-1, keepdim=True)

    for model in (centred, without_mean):
        assert torch.equal(visibility(model, ids(1, 5), 2, how="gradient"), create_prefix_lm_mask(5, 2))


def test_a_choice_has_no_gradient_but_a_change_shows_it() -> None:
    def chosen(tokens: Tensor, prefix_len: Any) -> Tensor:
        logits = tiny()(tokens, 0)
        return logits + (tokens[:, -1:] > 5)[..., None]  # every row sees the last token, by a comparison

    tokens = ids(1, 5)
    assert visibility(chosen, tokens, 0)[:, -1].all()
    assert torch.equal(visibility(chosen, tokens, 0, how="gradient"), create_prefix_lm_mask(5, 0))


@pytest.mark.parametrize("given", [{}, {"embedding": tiny().token_emb}], ids=["found", "named"])
def test_hooks_are_taken_away_when_the_model_fails(given: dict[str, Any]) -> None:
    def failing(tokens: Tensor, prefix_len: Any) -> Tensor:
        logits = tiny()(tokens, prefix_len)
        if every_layers_hooks or tiny().token_emb._forward_hooks:
            raise KeyError("theirs")
        return logits

    with pytest.raises(KeyError, match="theirs"):
        visibility(failing, ids(1, 5), 2, how="gradient", **given)
    assert not every_layers_hooks
    assert not tiny().token_emb._forward_hooks


# What a model may return


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (lambda logits: [logits], TypeError, r"must return \(1, 5, V\) logits, not list: wrap it"),
        (lambda logits: logits.argmax(-1), TypeError, r"logits, not torch.int64"),
        (lambda logits: logits[:, -1], ValueError, r"one row for each token, not \(1, 11\)"),
        (lambda logits: logits[:, :-1], ValueError, r"one row for each token, not \(1, 4, 11\)"),
        (lambda logits: logits[0], ValueError, r"one row for each token, not \(5, 11\)"),
        (lambda logits: logits[..., :0], ValueError, r"one row for each token, not \(1, 5, 0\)"),
        (lambda logits: logits * torch.nan, ValueError, "row 0 of example 0 is NaN: does a softmax"),
        (lambda logits: logits.to("meta"), ValueError, "tokens is on cpu and the model's answer is on meta"),
    ],
)
def test_an_answer_that_is_no_logits_is_refused(
    answer: Callable[[Tensor], Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        visibility(lambda tokens, p: answer(tiny()(tokens, p)), ids(1, 5), 2)
