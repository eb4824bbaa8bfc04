"""The exercises of chapter 10."""

from __future__ import annotations

from typing import Any

import torch

from prefixlm_teach.checks.forms import Number, Numbers, Words
from prefixlm_teach.checks.functions import FunctionExercise, Mistake
from prefixlm_teach.checks.merging import WRONG_MERGES, handed_out, merge_inputs, one_softmax
from prefixlm_teach.checks.routes import WRONG_ROUTES, mixed_route
from prefixlm_teach.checks.values import ValueExercise

T, P = 12, 5  # of exercise 10.1
ROWS = T - P + 1  # of the decoder: the targets, and the last prefix token, which starts it
OWN_PAST = ROWS * (ROWS + 1) // 2


def route_inputs(seed: int) -> list[dict[str, Any]]:
    """Room for one, no prefix, no target, one token, more room than prefix, and ten drawn."""
    draw = torch.Generator().manual_seed(seed)
    sizes = [(6, 2, 3, 1), (5, 3, 0, 2), (5, 3, 5, 2), (1, 2, 1, 1), (1, 2, 0, 1), (7, 4, 2, 3)]
    for i in range(10):
        p = int(torch.randint(2, 7, (), generator=draw))
        sizes.append((9, 2 + i % 3, p, int(torch.randint(1, p + 1, (), generator=draw))))
    return [
        {
            "likely": torch.randn(length, experts, generator=draw).softmax(-1),
            "prefix_len": p,
            "room": room,
        }
        for length, experts, p, room in sizes
    ]


EXERCISES = (
    ValueExercise(
        "10.1",
        "both_stacks",
        truth=lambda: P * P + OWN_PAST + ROWS * P,
        form=Number(),
        mistakes={
            "A prefix LM has so many: here the token that starts the decoder is a row more": (
                lambda: T * (T + 1) // 2 + P * (P - 1) // 2
            ),
            "A pair is missing in each decoder row: it sees both copies of the start token, itself too": (
                lambda: P * P + OWN_PAST + ROWS * (P - 1)
            ),
            "Here the start token is outside the encoder: this encoder reads all p": (
                lambda: (P - 1) ** 2 + OWN_PAST + ROWS * (P - 1)
            ),
            "The encoder's own pairs are missing": lambda: OWN_PAST + ROWS * P,
            "The decoder's looks into the encoder are missing": lambda: P * P + OWN_PAST,
            "The decoder's own past is missing": lambda: P * P + ROWS * P,
            "Your encoder is causal: it reads both ways": lambda: P * (P + 1) // 2 + OWN_PAST + ROWS * P,
            "Your decoder sees its own future": lambda: P * P + ROWS * ROWS + ROWS * P,
            "This is every pair of T tokens: each stack hides something": lambda: T * T,
        },
        hints=(
            "Three sums: the encoder, the decoder with its own past, the decoder with the encoder.",
            "The decoder reads the last prefix token and all targets. How many rows are these?",
            "Eight rows, causal among themselves; each of them sees all five that the encoder made.",
        ),
    ),
    FunctionExercise(
        "10.2",
        "one_softmax",
        inputs=merge_inputs,
        truth=one_softmax,
        form=Numbers(),
        mistakes=[
            Mistake("the code is as it was handed out", handed_out, as_given=True),
            *(Mistake(says, gives) for says, gives in WRONG_MERGES),
        ],
        hints=(
            "By how much do the weights of a row sum up, over memory and past together?",
            "Join the keys with torch.cat, and the values in the same order: that makes one table of scores.",
            "Its mask has S columns of memory, alike in every row, and R columns of the target, causal.",
        ),
    ),
    ValueExercise(
        "10.3",
        "leaky_routes",
        truth=lambda: ("D", "E", "F"),
        form=Words("ABCDEF"),
        mistakes={
            "these are the tight ones": lambda: ("A", "B", "C"),
            "you left out D: a later token that suits the expert better takes the place of an earlier one": (
                lambda: ("E", "F")
            ),
            "you left out E: the choice doesn't leak there, but the factor does": lambda: ("D", "F"),
            "you left out F: a target's place hangs on the other targets, the later ones too": (
                lambda: ("D", "E")
            ),
            "expert choice over the targets isn't the only way to leak": lambda: ("F",),
            "there are more: look at what each factor is divided by, and who competes with whom": (
                lambda: ("D",)
            ),
            "A is tight: a token that asks nobody else can take as many experts as it likes": (
                lambda: ("A", "D", "E", "F")
            ),
            "B is tight: the prefix tokens see each other anyway": lambda: ("B", "D", "E", "F"),
            "C is tight: only tokens on the left can fill the place before a token comes": (
                lambda: ("C", "D", "E", "F")
            ),
        },
        hints=(
            "Change the last token in your mind. Whose place, or whose factor, can it change?",
            "Where tokens compete for a place, ask whether a later one can win against an earlier one.",
            "One of the three routes that leak lets each token choose alone, and spoils it afterwards.",
        ),
    ),
    FunctionExercise(
        "10.4",
        "mixed_route",
        inputs=route_inputs,
        truth=mixed_route,
        form=Numbers(),
        mistakes=[Mistake(says, gives) for says, gives in WRONG_ROUTES],
        hints=(
            "Make a table of booleans first, (T, E): who computes what. The factors come last.",
            "Cut `likely` at p before anybody chooses. In the prefix each column has its own best rows.",
            "`likely[:p].topk(min(room, p), dim=0).indices` has the rows, a column for each expert.",
        ),
    ),
)
