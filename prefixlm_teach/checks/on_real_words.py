"""The exercises of chapter 5c."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from prefixlm_teach.checks.by_seed import PAIRED_GAP
from prefixlm_teach.checks.forms import Guesses
from prefixlm_teach.checks.restarting import RESTARTING_POSITIONS
from prefixlm_teach.checks.values import ValueExercise

VALIDATION = torch.tensor([[40, 36, 33, 31], [43, 35, 29, 30]])  # of exercise 5c.1: causal, prefix; by rate
TEST = torch.tensor([[42, 38, 37, 33], [46, 35, 32, 29]])
USUAL = 1  # the place of the rate that nobody tuned


def claims() -> Tensor:
    """What is expected of exercise 5c.1."""
    causal, prefix = (errors[errors_on.argmin()] for errors, errors_on in zip(TEST, VALIDATION, strict=True))
    shared = TEST[0] - TEST[1]
    return torch.stack([causal - prefix, shared.min(), shared.max(), TEST[0, USUAL] - prefix])


def claimed(fair: int = 1, lowest: int = -4, highest: int = 5, usual: int = 6) -> Callable[[], Tensor]:
    """Make an answer to exercise 5c.1 that differs in some places."""
    return partial(torch.tensor, [fair, lowest, highest, usual])


EXERCISES = (
    ValueExercise(
        "5c.1",
        "four_claims",
        truth=claims,
        form=Guesses(),
        mistakes={
            "These are gaps on validation words: those choose a rate, and what is reported is the error on "
            "test words": claimed(2, -3, 4, 7),
            "In the first, the prefix model's rate is the best on test words: they choose nothing": (
                claimed(fair=4)
            ),
            "In the first and the last, the prefix model's rate is the best on test words: they choose "
            "nothing": claimed(fair=4, usual=9),
            "In the last, the prefix model's rate is the best on test words: it was tuned on the others": (
                claimed(usual=9)
            ),
            "In the first, both have the rate that suits the prefix model: the causal one gets its own": (
                claimed(fair=5)
            ),
            "The first is the gap on validation words: they chose the rates, and have done their work": (
                claimed(fair=2)
            ),
            "All four are turned round: causal minus prefix is wanted": claimed(-1, 4, -5, -6),
            "The second and the third are exchanged": claimed(lowest=5, highest=-4),
            "The second is the gap nearest to nothing: one rate is far worse for the prefix model": (
                claimed(lowest=3)
            ),
            "The second has lost its sign: at that rate the causal model is ahead": claimed(lowest=4),
            "In the last, the prefix model has the usual rate too: it was the one that got tuned": (
                claimed(usual=3)
            ),
        },
        hints=(
            "Validation words choose a rate, test words are reported. Which rate does each model get?",
            "For the second and the third, write down the gap on test words at each of the four rates.",
            "The causal model does best on validation words at 0.008, the prefix model at 0.004. In the "
            "last, only one of the two moves there.",
        ),
    ),
    RESTARTING_POSITIONS,
    PAIRED_GAP,
)
