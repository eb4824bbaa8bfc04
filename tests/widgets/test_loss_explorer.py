"""The loss explorer without a browser: its table, its values, its errors, its words."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from shown_loss import V, copying, make
from torch import Tensor
from torch.nested import nested_tensor
from torch.nn import functional as F

from prefixlm_teach import LossExplorer, TinyPrefixLM, compute_prefix_lm_loss

TOKENS = torch.arange(5)[None] * 7 % V
SYMBOLS = list("abcde")


def trained() -> TinyPrefixLM:
    torch.manual_seed(0)
    model = TinyPrefixLM(V, d_model=16, n_heads=2, max_len=16).eval()
    torch.nn.init.normal_(model.output.weight, std=0.5)
    return model


def slices(logits: Tensor, tokens: Tensor, p: int) -> dict[str, Tensor]:
    """The three slices as chapter 4 writes them; the right one with p = 0 as p = 1."""
    s = max(p, 1)
    pairs = {
        "right": (logits[:, s - 1 : -1], tokens[:, s:]),
        "no shift": (logits[:, p:], tokens[:, p:]),
        "late": (logits[:, p:-1], tokens[:, p + 1 :]),
    }
    return {
        name: F.cross_entropy(guesses.flatten(0, 1), wanted.flatten(), reduction="none")
        for name, (guesses, wanted) in pairs.items()
    }


@pytest.mark.parametrize("p", range(6))
def test_the_three_slices_are_those_of_the_chapter(p: int) -> None:
    explorer = make(prefix_len=p)
    for name, model in {"random": trained(), "copies": copying}.items():
        explorer.model = name
        with torch.no_grad():
            wanted = slices(model(TOKENS, p).double(), TOKENS, p)
        for part, losses in explorer.losses.items():
            scored = [loss for loss in losses if loss is not None]
            assert scored == pytest.approx(wanted[part].tolist(), abs=0.0051)
            assert losses == [None] * (5 - len(scored)) + scored
            if scored:
                assert explorer.means[part] == pytest.approx(wanted[part].mean().item(), abs=0.00501)
            else:
                assert explorer.means[part] is None


@pytest.mark.parametrize("p", range(5))
def test_the_right_slice_is_the_loss_of_the_package(p: int) -> None:
    explorer = make(prefix_len=p)
    with torch.no_grad():
        loss = compute_prefix_lm_loss(trained()(TOKENS, p), TOKENS, p)
    assert explorer.means["right"] == pytest.approx(loss.item(), abs=0.01)


def test_copying_is_best_where_the_shift_is_missing() -> None:
    explorer = make(prefix_len=2)
    explorer.model = "copies"
    assert explorer.means == {"right": 20.0, "no shift": 0.0, "late": 20.0}


def test_its_words() -> None:
    explorer = make(prefix_len=4)
    assert explorer.description == (
        "Prefix length 4 of 5, model “random”. Mean loss in nats, right: 4.78 over 1; no shift: 7.25 over 1; "
        "late: nothing is scored."
    )
    assert explorer.picture().alt == (
        f"{explorer.description} Token by token, 4 de: right 4.78, no shift 7.25."
    )
    explorer.prefix_len = 5
    assert explorer.picture().alt.endswith("late: nothing is scored. No token is scored.")
    assert repr(explorer) == "LossExplorer(5 tokens, prefix_len=5, model='random')"


def test_the_table_is_small() -> None:
    explorer = LossExplorer({"m": trained()}, torch.zeros(1, 12, dtype=torch.long), ["a"] * 12)
    assert sum(len(line) for line in explorer.table[0]) == 12 * 23
    assert sum(len(line) for line in explorer.mean_table[0]) == 13 * 3
    assert all(isinstance(cost, int) for line in explorer.table[0] for cost in line)


def test_each_model_has_a_vocabulary_of_its_own() -> None:
    def other(tokens: Tensor, p: int) -> Tensor:
        return F.pad(copying(tokens, p), (0, 5000 - V))

    explorer = LossExplorer({"small": copying, "large": other}, TOKENS, SYMBOLS, 2)
    assert explorer.vocab_sizes == (V, 5000)
    explorer.model = "large"
    assert explorer.picture().png != LossExplorer({"large": copying}, TOKENS, SYMBOLS, 2).picture().png


def test_the_models_are_asked_once_for_each_mask() -> None:
    asked: list[int] = []

    def counting(tokens: Tensor, p: int) -> Tensor:
        asked.append(p)
        return copying(tokens, p)

    explorer = LossExplorer({"counts": counting}, TOKENS, list("abcde"), 0)
    before = len(asked)
    for p in range(6):
        explorer.prefix_len = p
        assert explorer.losses
    assert len(asked) == before == 5
    assert sorted(set(asked)) == [1, 2, 3, 4, 5]


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"models": trained()}, TypeError, "models must be a dict from name to model, not TinyPrefixLM"),
    ({"models": {}}, ValueError, "models is empty: there is nothing to show"),
    ({"models": {1: copying}}, TypeError, "the name of a model must be a string, not int (1)"),
    ({"models": {"a": 3}}, TypeError, "model 'a' must be called with (tokens, prefix_len), not int (3)"),
    (
        {"models": {"a": trained().train()}},
        ValueError,
        "the model is in training mode, where dropout is at work: call model.eval() first",
    ),
    (
        {"models": {"a": lambda tokens, p: copying(tokens, p).to_sparse()}},
        TypeError,
        "model 'a' gives sparse or nested logits: they must be an ordinary tensor",
    ),
    (
        {"models": {"a": lambda tokens, p: nested_tensor([copying(tokens, p)[0]], layout=torch.jagged)}},
        TypeError,
        "model 'a' gives sparse or nested logits",
    ),
    (
        {"models": {"a": lambda tokens, p: copying(tokens, p).to(torch.float8_e5m2)}},
        TypeError,
        "model 'a' gives logits in torch.float8_e5m2: use logits.float()",
    ),
    (
        {"models": {"a": lambda tokens, p: tokens}},
        TypeError,
        "logits must be floating point, not torch.int64",
    ),
    (
        {"models": {"a": lambda tokens, p: copying(tokens, p)[:, 1:]}},
        ValueError,
        "logits are for (1, 4) (B, T), but tokens is (1, 5)",
    ),
    (
        {"models": {"a": lambda tokens, p: copying(tokens, p) / (p != 3)}},
        ValueError,
        "model 'a' gives logits that are not finite, with prefix_len 3",
    ),
    (
        {"models": {"a": lambda tokens, p: copying(tokens, p)[..., :9]}},
        ValueError,
        "tokens",
    ),
    ({"tokens": TOKENS.float()}, TypeError, "tokens must"),
    ({"tokens": TOKENS.repeat(2, 1)}, ValueError, "an explorer shows one example, not a batch of 2"),
    ({"tokens": torch.zeros(1, 65, dtype=torch.long)}, ValueError, "an explorer shows at most 64"),
    ({"symbols": SYMBOLS[:4]}, ValueError, "symbols must name each token once: there are 4 for 5 tokens"),
    ({"symbols": "abcde"}, TypeError, "symbols must be a list of strings"),
    ({"prefix_len": 6}, ValueError, "prefix_len 6 is longer than the sequence (5 tokens)"),
    ({"prefix_len": 2.0}, TypeError, "prefix_len must be a whole number"),
]


@pytest.mark.parametrize(("change", "error", "words"), BAD)
def test_bad_input_is_named(change: dict[str, Any], error: type[Exception], words: str) -> None:
    arguments = {
        "models": {"copies": copying},
        "tokens": TOKENS,
        "symbols": SYMBOLS,
        "prefix_len": 2,
    } | change
    with pytest.raises(error) as raised:
        LossExplorer(**arguments)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("trait", "value", "error", "words"),
    [
        ("model", "best", ValueError, "model 'best' is not one of random, copies"),
        ("model", 1, TypeError, "model must be a string, not int (1)"),
        ("prefix_len", 9, ValueError, "prefix_len 9 is longer than the sequence (5 tokens)"),
        ("prefix_len", math.nan, TypeError, "prefix_len must be a whole number"),
    ],
)
def test_a_bad_value_raises_and_the_old_one_stays(
    trait: str, value: Any, error: type[Exception], words: str
) -> None:
    explorer = make()
    before = explorer.state()
    for set_it in (lambda: setattr(explorer, trait, value), lambda: explorer.set_state({trait: value})):
        with pytest.raises(error) as raised:
            set_it()
        assert words in str(raised.value)
        assert explorer.state() == before
