"""The exercises of chapter 12."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Guesses, Words
from prefixlm_teach.checks.in_blocks import FIT_IN_BLOCKS
from prefixlm_teach.checks.scored_budget import BATCHES_NEEDED
from prefixlm_teach.checks.values import ValueExercise

FIXED = ("objective", "data and compute", "scored tokens", "use")
EXAMPLES = ((1.0, 2.0), (2.0, 2.0), (1.0, 3.0))  # x and y of exercise 12.2
QUESTION, STEP = 2.0, 0.1


def by_hand() -> Tensor:
    """What is expected of exercise 12.2."""
    shared = sum(x * y for x, y in EXAMPLES)
    best = shared / sum(x * x for x, _ in EXAMPLES)
    last, first = EXAMPLES[-1], EXAMPLES[0]
    return torch.tensor(
        [QUESTION * best, *(QUESTION * y / x for x, y in (last, first)), STEP * QUESTION * shared]
    )


def said(
    prefix: float = 3.0, causal: float = 6.0, moved: float = 4.0, first: float = 1.8
) -> Callable[[], Tensor]:
    """Make an answer to exercise 12.2 that differs in some places."""
    return partial(torch.tensor, [prefix, causal, moved, first])


def changed(*words: str) -> Callable[[], list[str]]:
    """Make an answer to exercise 12.1."""
    return lambda: [*words]


EXERCISES = (
    ValueExercise(
        "12.1",
        "also_changed",
        truth=lambda: ["data and compute", "scored tokens"],
        form=Words(FIXED),
        mistakes={
            "One more: of the documents that B trains on, which tokens does its loss leave out?": (
                changed("data and compute")
            ),
            "One more: how many steps has each been trained for, when they are compared?": (
                changed("scored tokens")
            ),
            "The use is the same: both are asked the same questions in the same way": (
                changed("data and compute", "scored tokens", "use")
            ),
            "The objective is the same: both predict the next token. What differs is for which tokens": (
                changed("objective", "data and compute", "scored tokens")
            ),
            "The objective is the same here, and one more is not: compare how long they were trained": (
                changed("objective", "scored tokens")
            ),
            "Neither of these: both predict the next token, and both are asked in the same way": (
                changed("objective", "use")
            ),
            "Not all four: two things are the same in both": changed(*FIXED),
            "Something was changed beside the mask: hold the two models' steps against each other": changed(),
        },
        hints=(
            "Write two columns, A and B, and go down the list: what each is asked in training, how long, on "
            "which tokens its loss is counted, and what it is measured by.",
            "Both predict the next token. Is each token of a document predicted by both?",
            "And which of the two has seen more batches?",
        ),
    ),
    ValueExercise(
        "12.2",
        "lines_by_hand",
        truth=by_hand,
        form=Guesses(tolerance=1e-3),
        mistakes={
            "These are the lines: the question asks what they say at x = 2": said(1.5, 3.0, 2.0, 0.9),
            "The masks are exchanged: the causal one ends in a single pass": said(6.0, 3.0, 3.0),
            "You took the mean of the slopes: in least squares, an example with a larger x weighs more": (
                said(prefix=4.0)
            ),
            "You divided the sum of y by that of x: least squares weighs both with x": said(prefix=3.5),
            "The causal answer follows the last example alone: look which one that is now": said(moved=6.0),
            "The first example decides in yours: each later one is fitted after it, and exactly": (
                said(causal=4.0, moved=2.0)
            ),
            "In one layer all three examples count, and their sum isn't divided": said(first=0.6),
            "The step is missing in the last": said(first=18.0),
            "In the last, the question's own x is missing: x times x times y": said(first=0.9),
            "A causal question sees all examples too, but after many layers its answer is that of one pass": (
                said(causal=3.0, moved=3.0)
            ),
        },
        hints=(
            "With one number in each x, a line through 0 is one slope. An example fixes it alone: y / x.",
            "Least squares: the sum of x y, divided by the sum of x x. A single pass: whose slope is left?",
            "After one layer: the step, times the question's x, times the sum of x y.",
        ),
    ),
    FIT_IN_BLOCKS,
    BATCHES_NEEDED,
)
