"""Bad input to a mixture of experts: refused in the reader's words, before anything is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import test_bad_input
import torch
from bad_values import (
    DROPOUT,
    FITTED_MASK,
    HEADS,
    HIDDEN,
    LONE_MASK,
    MASK,
    REAL,
    WIDTH,
    D,
    H,
    Watch,
    Wrong,
    X,
    count,
    number,
)

from prefixlm_teach import (
    ExpertBlock,
    MixtureOfExperts,
    TinyPrefixLM,
    balance_loss,
    balance_losses,
    expert_choice,
    token_choice,
)

LAYER = MixtureOfExperts(D, 3)
LIKELY = torch.tensor([0.5, 0.25, 0.25]).expand(2, 5, 3)
PROBABILITIES = [
    Wrong("None", None, r"must be a \(B, T, E\) tensor"),
    Wrong("list", LIKELY.tolist(), r"must be a \(B, T, E\) tensor"),
    Wrong("ints", LIKELY.long(), "must be floating point"),
    Wrong("two dimensions", LIKELY[0], r"must be \(B, T, E\), not \(5, 3\)"),
    Wrong("no examples", LIKELY[:0], "are empty"),
    Wrong("no experts", LIKELY[..., :0], "are empty"),
    Wrong("scores", LIKELY + 1, "must sum to 1 over the experts: give the router's scores through a softmax"),
    Wrong("logarithms", LIKELY.log(), "must sum to 1 over the experts"),
    Wrong("negative", torch.tensor([1.5, -0.5, 0.0]).expand(2, 5, 3), "must sum to 1 over the experts"),
    Wrong("meta", LIKELY.to("meta"), "meta"),
]
VALID = [
    Wrong("bool", True, "must be a .* tensor of booleans"),
    Wrong("list", REAL.tolist(), "must be a .* tensor of booleans"),
    Wrong("ints", REAL.long(), r"must be boolean .* use valid.bool\(\)"),
    Wrong("one dimension", REAL[0], r"valid is \(5,\), but \w+ is for \(2, 5\) \(B, T\)"),
    Wrong("too short", REAL[:, 1:], r"valid is \(2, 4\)"),
    Wrong("too few", REAL[:1], r"valid is \(1, 5\)"),
    Wrong("meta", REAL.to("meta"), "meta"),
]
FACTOR = number("must be above 0 and finite", 0, -1, float("inf"), float("nan"))
FLAG = [Wrong(str(x), x, "must be True or False") for x in (1, None, "yes")]
ROUTE = [
    Wrong(str(x), x, "must be called, as token_choice and expert_choice are") for x in (None, "token", 3)
]
EXPERTS = [
    Wrong("class", MixtureOfExperts, "must be a MixtureOfExperts, not type"),
    Wrong("number", 3, "must be a MixtureOfExperts, not int"),
    Wrong("list", [LAYER], "must be a MixtureOfExperts, not list"),
    Wrong("other width", MixtureOfExperts(4, 3), "have the width 4, but the block has 8"),
]
MODELS = [Wrong("class", TinyPrefixLM, "must be a torch.nn.Module"), Wrong("None", None, "must be a torch")]


def collected(model: Any) -> None:
    with balance_losses(model):
        LAYER(X)


TABLE: list[tuple[str, Callable[..., Any], dict[str, Any], dict[str, list[Wrong]]]] = [
    (
        "token_choice",
        token_choice,
        {"probabilities": LIKELY, "valid": REAL, "capacity_factor": 1.0, "over_batch": True},
        {
            **{"probabilities": PROBABILITIES, "valid": VALID, "over_batch": FLAG},
            "capacity_factor": [
                *[wrong for wrong in FACTOR if wrong.value is not None],
                Wrong("none to count", None, "over_batch says .* but there is no capacity_factor"),
            ],
        },
    ),
    (
        "expert_choice",
        expert_choice,
        {"probabilities": LIKELY, "valid": REAL, "capacity_factor": 1.0},
        {"probabilities": PROBABILITIES, "valid": VALID, "capacity_factor": FACTOR},
    ),
    (
        "balance_loss",
        balance_loss,
        {"probabilities": LIKELY, "valid": REAL},
        {
            "probabilities": PROBABILITIES,
            "valid": [*VALID, Wrong("no token", ~REAL & REAL, "leaves no token")],
        },
    ),
    (
        "MixtureOfExperts",
        MixtureOfExperts,
        {"d_model": 8, "n_experts": 3, "route": expert_choice, "dropout": 0.1},
        {"d_model": count(1), "n_experts": count(1), "route": ROUTE, "dropout": DROPOUT},
    ),
    *[
        (name, call, {"x": X, "valid": REAL}, {"x": HIDDEN, "valid": VALID})
        for name, call in (("forward", LAYER), ("balance", LAYER.balance))
    ],
    ("probabilities", LAYER.probabilities, {"x": X}, {"x": HIDDEN}),
    (
        "ExpertBlock",
        ExpertBlock,
        {"d_model": 8, "n_heads": 2, "experts": LAYER},
        {"d_model": WIDTH, "n_heads": HEADS, "experts": EXPERTS},
    ),
    (
        "ExpertBlock.forward",
        ExpertBlock(D, H, LAYER),
        {"h": X, "mask": MASK},
        {"h": HIDDEN, "mask": LONE_MASK[:1] + FITTED_MASK},
    ),
    ("balance_losses", collected, {"model": LAYER}, {"model": MODELS}),
]


@pytest.mark.parametrize(("call", "good", "argument", "wrong"), list(test_bad_input.cases(TABLE)))
def test_wrong_arguments_are_refused_beforehand(
    call: Callable[..., Any], good: dict[str, Any], argument: str, wrong: Wrong
) -> None:
    test_bad_input.test_it_is_refused_in_the_readers_words_before_anything_is_computed(
        call, good, argument, wrong
    )


@pytest.mark.parametrize(("name", "call", "good", "arguments"), TABLE, ids=[row[0] for row in TABLE])
def test_the_same_call_with_good_arguments_works(
    name: str, call: Callable[..., Any], good: dict[str, Any], arguments: dict[str, list[Wrong]]
) -> None:
    with Watch() as watch:
        call(**good)
    assert watch.called
    assert set(arguments) == set(good)


def test_a_hole_in_valid_is_no_error_here() -> None:
    hole = torch.tensor([[True, False, True, True, True], [True] * 5])
    assert torch.equal((token_choice(LIKELY, hole) > 0).any(-1), hole)
    assert LAYER(X, hole).shape == X.shape
