"""The attention explorer without a browser: its weights, its values, its errors, its picture."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from shown_attention import KIND, SYMBOLS, kinds_of, make, make_model, make_tokens
from traitlets import TraitError

from prefixlm_teach import (
    AttentionExplorer,
    Block,
    TinyPrefixLM,
    create_prefix_lm_mask,
    load_checkpoint,
    load_words,
    make_batch,
)
from prefixlm_teach.captions import caption_weights
from prefixlm_teach.widgets.attention import every_map

MODEL, TOKENS = make_model(), make_tokens(5)


def test_at_every_place_the_weights_are_the_models_within_a_step() -> None:
    explorer = AttentionExplorer(MODEL, TOKENS, SYMBOLS)
    for p in range(6):
        with torch.no_grad():
            exact = MODEL.attention_weights(TOKENS, p)[:, 0]  # (layers, H, T, T)
        for layer, head in product(range(2), range(2)):
            explorer.prefix_len, explorer.layer, explorer.head = p, layer, head
            weights = explorer.weights
            assert float((weights - exact[layer, head]).abs().max()) <= 1 / 65_535 + 1e-6
            assert (weights.sum(-1) - 1).abs().max() < 1e-6
            assert not weights[~create_prefix_lm_mask(5, p)].any()
            name = f"layer {layer}, head {head}, prefix length {p}"
            assert explorer.description == caption_weights(name, weights, SYMBOLS)


def test_the_maps_are_those_of_one_prefix_length_at_a_time() -> None:
    maps = every_map(MODEL, TOKENS)
    assert maps.shape == (5, 2, 2, 5, 5)
    for p in range(1, 6):
        with torch.no_grad():
            assert torch.allclose(maps[p - 1], MODEL.attention_weights(TOKENS, p)[:, 0], atol=1e-6)


def test_a_trained_models_word_takes_as_many_bytes_as_the_docstring_says() -> None:
    model, vocabulary = load_checkpoint()
    batch = make_batch([("knotty", load_words()["knotty"][0])], vocabulary)
    symbols = vocabulary.decode(batch.tokens[0])
    explorer = AttentionExplorer(model, batch.tokens, symbols, int(batch.prefix_len))
    assert (len(base64.b64decode(explorer.table)), len(explorer.table)) == (29_328, 39_104)
    assert (explorer.layer, explorer.head, explorer.prefix_len, explorer.start) == (2, 0, 7, 7)
    assert int(explorer.weights[6].argmax()) == 1  # <sep> looks at the n, not at the silent k
    said = explorer.picture().alt
    assert "row 6 (<sep>) looks most at column 1 (n), 0." in said
    assert said.endswith("45 of 144 cells are blocked; each row sums to 1.")


def test_what_is_said_of_a_trained_models_word_is_true_of_its_own_weights() -> None:
    model, vocabulary = load_checkpoint()
    batch = make_batch([("knotty", load_words()["knotty"][0])], vocabulary)
    explorer = AttentionExplorer(model, batch.tokens, vocabulary.decode(batch.tokens[0]))
    step = 1 / 65_535
    for p in range(13):
        with torch.no_grad():
            maps = model.attention_weights(batch.tokens, p)[:, 0].double()  # (layers, H, T, T)
        for layer, head in product(range(3), range(4)):
            explorer.prefix_len, explorer.layer, explorer.head = p, layer, head
            weights, exact = explorer.weights, maps[layer, head]
            named = exact.gather(1, weights.argmax(-1)[:, None])[:, 0]
            assert float((exact.amax(-1) - named).max()) <= step
            for here, there in zip(weights.flatten().tolist(), exact.flatten().tolist(), strict=True):
                near = f"{there - 2 * step:.2f}", f"{there + 2 * step:.2f}"
                assert f"{here:.2f}" in near, (p, layer, head, here, there)


def test_it_begins_at_the_last_layer_with_half_of_the_tokens_as_prefix() -> None:
    explorer = AttentionExplorer(MODEL, TOKENS, SYMBOLS)
    assert (explorer.layer, explorer.head, explorer.prefix_len, explorer.start) == (1, 0, 2, 2)
    assert repr(explorer) == "AttentionExplorer(5 tokens, layer=1, head=0, prefix_len=2)"
    chosen = AttentionExplorer(MODEL, TOKENS, SYMBOLS, 5, layer=0, head=1)
    assert (chosen.layer, chosen.head, chosen.prefix_len) == (0, 1, 5)


def test_the_picture_shows_the_weights_at_every_place() -> None:
    explorer = make()
    pictures = set()
    for p, layer, head in product(range(6), range(2), range(2)):
        explorer.prefix_len, explorer.layer, explorer.head = p, layer, head
        assert KIND.png_cells(explorer) == KIND.cells({"grids": [{"cells": kinds_of(explorer)}]})
        picture = explorer.picture()
        pictures.add(picture.png)
        assert picture.alt.startswith(explorer.description)
        assert picture.alt.endswith(" The explorer began with p = 3.") == (p != 3)
    assert len(pictures) == 24


@pytest.mark.parametrize("prefix_len", [None, 2])
def test_nothing_is_said_to_be_given_that_was_not(prefix_len: int | None) -> None:
    explorer = AttentionExplorer(MODEL, TOKENS, SYMBOLS, prefix_len)
    assert "began" not in explorer.picture().alt
    explorer.prefix_len = 4
    assert explorer.picture().alt.endswith(" The explorer began with p = 2.")
    assert "given" not in explorer.picture().alt


def test_the_readers_default_dtype_and_device_change_nothing() -> None:
    words = AttentionExplorer(MODEL, TOKENS, SYMBOLS).picture()
    for set_default, value, back in (
        (torch.set_default_dtype, torch.float64, torch.float32),
        (torch.set_default_device, "meta", None),
    ):
        set_default(value)
        try:
            explorer = AttentionExplorer(MODEL, TOKENS, SYMBOLS)
            assert explorer.weights.dtype == torch.float32
            assert explorer.weights.device.type == "cpu"
            assert (explorer.picture().png, explorer.picture().alt) == (words.png, words.alt)
        finally:
            set_default(back)


@pytest.mark.parametrize("seq_len", [1, 2, 17, 40])
def test_short_and_long_sequences_are_drawn(seq_len: int) -> None:
    symbols = [f"w{t}" for t in range(seq_len)]
    explorer = AttentionExplorer(make_model(1, 1), make_tokens(seq_len), symbols)
    assert explorer.picture().png
    assert explorer.description.count("row") == (seq_len if seq_len < 17 else 1)


def test_a_message_from_the_browser_sets_the_values() -> None:
    explorer = make()
    explorer.set_state({"layer": 0, "head": 1, "prefix_len": 5})
    assert (explorer.layer, explorer.head, explorer.prefix_len) == (0, 1, 5)


@pytest.mark.parametrize("trait", ["tokens", "n_layers", "n_heads", "start", "table"])
def test_what_follows_from_the_model_stays_as_it_is(trait: str) -> None:
    explorer = make()
    with pytest.raises(TraitError, match="read-only"):
        setattr(explorer, trait, getattr(explorer, trait))


BAD_VALUES = [
    ("layer", 2, ValueError, "there is no layer 2: the layers are 0 to 1"),
    ("layer", -1, ValueError, "layer must be at least 0, not -1"),
    ("layer", 1.0, TypeError, "layer must be a whole number, not float (1.0)"),
    ("head", 7, ValueError, "there is no head 7: the heads are 0 to 1"),
    ("head", True, TypeError, "head must be a whole number, not bool (True)"),
    ("prefix_len", 6, ValueError, "prefix_len 6 is longer than the sequence (5 tokens)"),
    ("prefix_len", "3", TypeError, "prefix_len must be a whole number, not str ('3')"),
    ("prefix_len", torch.tensor(3), TypeError, "not a tensor: use int(prefix_len)"),
]


@pytest.mark.parametrize(("trait", "value", "error", "words"), BAD_VALUES)
def test_a_bad_value_raises_and_the_old_one_stays(
    trait: str, value: Any, error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer = make()
    before = explorer.state()
    for set_it in (lambda: setattr(explorer, trait, value), lambda: explorer.set_state({trait: value})):
        with pytest.raises(error, match=re.escape(words)):
            set_it()
        assert explorer.state() == before
    monkeypatch.setattr(TinyPrefixLM, "attention_weights", lambda *_: pytest.fail("the model was run"))
    with pytest.raises(error, match=re.escape(words)):
        AttentionExplorer(MODEL, TOKENS, SYMBOLS, **{trait: value})


def test_the_only_layer_is_named_as_such() -> None:
    with pytest.raises(ValueError, match="there is no layer 1: the only one is layer 0"):
        AttentionExplorer(make_model(1, 1), TOKENS, SYMBOLS, layer=1)


def changed(change: Callable[[TinyPrefixLM], Any]) -> TinyPrefixLM:
    model = make_model()
    change(model)
    return model


LONG = make_tokens(60)
BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: AttentionExplorer("g2p_prefix", TOKENS, SYMBOLS),
        TypeError,
        "model must be a TinyPrefixLM, not str ('g2p_prefix')",
    ),
    (
        lambda: AttentionExplorer(make_model().train(), TOKENS, SYMBOLS),
        ValueError,
        "the model is in training mode, where dropout is at work: call model.eval() first",
    ),
    (
        lambda: AttentionExplorer(changed(lambda model: model.blocks[1].train()), TOKENS, SYMBOLS),
        ValueError,
        "the model is in training mode",
    ),
    (
        lambda: AttentionExplorer(
            changed(lambda model: setattr(model, "blocks", torch.nn.ModuleList().eval())), TOKENS, SYMBOLS
        ),
        ValueError,
        "the model has no blocks: there is no attention to show",
    ),
    (
        lambda: AttentionExplorer(
            changed(lambda model: model.blocks.append(Block(8, 4, 0.0).eval())), TOKENS, SYMBOLS
        ),
        ValueError,
        "the model's blocks have [2, 2, 4] heads: an explorer shows as many in each",
    ),
    (
        lambda: AttentionExplorer(
            changed(lambda model: model.blocks.append(torch.nn.Identity().eval())), TOKENS, SYMBOLS
        ),
        TypeError,
        "block 2 of the model must be a Block, not Identity",
    ),
    (
        lambda: AttentionExplorer(changed(lambda model: model.blocks[1].double()), TOKENS, SYMBOLS),
        TypeError,
        "the model holds torch.float32 and torch.float64: use model.float(), so that it can be run",
    ),
    (
        lambda: AttentionExplorer(changed(lambda model: model.to(torch.float8_e5m2)), TOKENS, SYMBOLS),
        TypeError,
        "the model holds torch.float8_e5m2: use model.float()",
    ),
    (
        lambda: AttentionExplorer(changed(lambda model: model.to("meta")), TOKENS, SYMBOLS),
        ValueError,
        "the model is on the meta device, which holds no values",
    ),
    (
        lambda: AttentionExplorer(changed(lambda model: model.output.to("meta")), TOKENS, SYMBOLS),
        ValueError,
        "the model is on the meta device, which holds no values",
    ),
    (lambda: AttentionExplorer(MODEL, SYMBOLS, SYMBOLS), TypeError, "tokens must be a (B, T) tensor of ids"),
    (lambda: AttentionExplorer(MODEL, TOKENS[0], SYMBOLS), ValueError, "add the batch dimension"),
    (lambda: AttentionExplorer(MODEL, TOKENS + 5, SYMBOLS), ValueError, "but ids go from 0 to 6"),
    (
        lambda: AttentionExplorer(MODEL, TOKENS.expand(2, -1), SYMBOLS),
        ValueError,
        "an explorer shows one example, not a batch of 2: pass tokens[:1]",
    ),
    (
        lambda: AttentionExplorer(TinyPrefixLM(7, 8, 2, 1, max_len=4).eval(), TOKENS, SYMBOLS),
        ValueError,
        "an example has 5 tokens, but this model has 4 positions (max_len)",
    ),
    (
        lambda: AttentionExplorer(MODEL, TOKENS, SYMBOLS[:3]),
        ValueError,
        "symbols must name each token once: there are 3 for 5 tokens",
    ),
    (
        lambda: AttentionExplorer(MODEL, TOKENS, "knott"),
        TypeError,
        "symbols must be a list of strings, one per token, not str ('knott')",
    ),
    (
        lambda: AttentionExplorer(MODEL, TOKENS, TOKENS[0]),
        TypeError,
        "symbols must be a list of strings, one per token, not Tensor",
    ),
    (
        lambda: AttentionExplorer(MODEL, TOKENS, ["a", 2, "c", "d", "e"]),
        TypeError,
        "symbols must be strings, but symbol 1 is int (2)",
    ),
    (
        lambda: AttentionExplorer(MODEL, LONG, ["w"] * 60),
        ValueError,
        "60 tokens in 2 layers of 2 heads have 583,160 weights to choose from, one map for each prefix "
        "length, and the page carries them all: at most 131,072. Take fewer tokens",
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD, ids=[words[:40] for _, _, words in BAD])
def test_bad_input_is_named_before_the_model_is_run(
    call: Callable[[], Any], error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TinyPrefixLM, "attention_weights", lambda *_: pytest.fail("the model was run"))
    with pytest.raises(error, match=re.escape(words)):
        call()


def test_a_model_that_has_left_the_numbers_is_refused() -> None:
    broken = make_model()
    torch.nn.init.constant_(broken.blocks[1].attn.q_proj.weight, float("nan"))
    with pytest.raises(ValueError, match="none may be NaN"):
        AttentionExplorer(broken, TOKENS, SYMBOLS)


def test_the_model_is_left_as_it_was() -> None:
    model = make_model()
    AttentionExplorer(model, TOKENS, SYMBOLS)
    assert not model.training
    assert all(weight.grad is None and weight.requires_grad for weight in model.parameters())
