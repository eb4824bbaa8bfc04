"""The exercises of chapter 5b."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Guesses, Words
from prefixlm_teach.checks.key_alone import KEY_ALONE
from prefixlm_teach.checks.own_rates import FAIR_GAP
from prefixlm_teach.checks.values import ValueExercise

LAYERS = 5  # of exercise 5b.1


def roads_far(knows_after: int) -> Tensor:
    """Count how far the last token has come after all layers.

    Args:
        knows_after: the layer after which every road knows from where it leads.
    """
    come, road = 0, 0
    for layer in range(1, LAYERS + 1):
        if layer > 1:  # in layer 1 the last token reads the key
            come += max(road, 1)  # a road that doesn't know the key can be read by one who does
        if layer >= knows_after:
            road = 2 * road or 1
    return torch.tensor(come)


def rooms() -> Tensor:
    """What is expected of exercise 5b.1: under a causal mask no road ever knows the key."""
    return torch.stack([roads_far(LAYERS + 1), roads_far(1), roads_far(2)])


def counted(causal: int = 4, prefix: int = 15, closed: int = 8) -> Callable[[], Tensor]:
    """Make an answer to exercise 5b.1 that differs in some places."""
    return partial(torch.tensor, [causal, prefix, closed])


def chosen(letters: str) -> Callable[[], list[str]]:
    """Make an answer to exercise 5b.2."""
    return lambda: [*letters]


EXERCISES = (
    ValueExercise(
        "5b.1",
        "room_for_roads",
        truth=rooms,
        form=Guesses(),
        mistakes={
            "In layer 1 the last token only reads the key: it follows no road there": counted(5, 16, 9),
            "The second is how far a single road leads: the last token takes roads of the layer before": (
                counted(prefix=16)
            ),
            "In the second the last token forgets how far it had come: a road is added to that": (
                counted(prefix=8)
            ),
            "Roads grow by one in yours: two that join become one twice as long": counted(4, 7, 5),
            "The second is how far three layers come, and one more for each other: roads double": (
                counted(prefix=5)
            ),
            "The third is what four layers come to with an open prefix: the last token needn't wait, since "
            "it reads the key itself": counted(closed=7),
            "In the third the detour saves the roads: they know the key a layer late, and then join": (
                counted(closed=4)
            ),
            "In the third the detour costs nothing in yours: it costs a layer": counted(closed=15),
            "These are three layers: there are five here": counted(2, 3, 2),
        },
        hints=(
            "Continue the chapter's table by two layers: how far does a road lead, and how far has the last "
            "token come?",
            "Roads double in each layer. The last token adds a road as it was a layer before.",
            "For the third, roads lead nowhere after layer 1, one road far after layer 2, then they double. "
            "The last token still comes 1 road far in layer 2, since it knows the key.",
        ),
    ),
    ValueExercise(
        "5b.2",
        "told_in_time",
        truth=lambda: ["B", "C"],
        form=Words("ABCDEFG"),
        mistakes={
            "Two copies help too: the roads of the second see the key of the first": chosen("C"),
            "Another order helps too: what stands behind the key sees it": chosen("B"),
            "F isn't enough: the roads that stand before the key still don't see it": chosen("BCF"),
            "F isn't enough, and one that is enough is missing": chosen("CF"),
            "More heads look at more places at once, but at none that comes later": chosen("BCD"),
            "G brings it to the last token once more, and to no road": chosen("BCG"),
            "The number of hops isn't the key: a road is read alike for all of them": chosen("ABC"),
            "The start isn't the key: a road is read alike from wherever you come": chosen("BCE"),
            "These are all seven: most of them leave the roads as they were": chosen("ABCDEFG"),
        },
        hints=(
            "Under a causal mask a token sees what stands before it, and nothing else counts here.",
            "So the key must stand before a road: before every road, or before another copy of it.",
            "Two of the seven do that for all five roads.",
        ),
    ),
    KEY_ALONE,
    FAIR_GAP,
)
