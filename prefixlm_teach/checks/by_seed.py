"""Exercise 5c.3: two masks compared seed by seed, since a seed sets the order of the words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import mean, pstdev, stdev
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Numbers
from prefixlm_teach.checks.functions import FunctionExercise, Mistake

Errors = dict[int, float]
Pairs = Callable[[Errors, Errors], list[tuple[float, float]]]
Spread = Callable[[Sequence[float]], float]


def by_seed(causal: Errors, prefix: Errors) -> list[tuple[float, float]]:
    """Pair the runs that share a seed."""
    return [(causal[seed], prefix[seed]) for seed in causal if seed in prefix]


def as_they_come(causal: Errors, prefix: Errors) -> list[tuple[float, float]]:
    """Pair the runs in the order in which they ended."""
    return [*zip(causal.values(), prefix.values(), strict=False)]


def sorted_by_seed(causal: Errors, prefix: Errors) -> list[tuple[float, float]]:
    """Pair the first seeds of both, the second ones, ..., which are others where a run is missing."""
    return as_they_come(dict(sorted(causal.items())), dict(sorted(prefix.items())))


def with_zeros(causal: Errors, prefix: Errors) -> list[tuple[float, float]]:
    """Pair by seed, with an error of 0 for a run that is missing."""
    return [(causal.get(seed, 0.0), prefix.get(seed, 0.0)) for seed in causal.keys() | prefix.keys()]


def of_mean(values: Sequence[float]) -> float:
    """Return the standard error of a mean."""
    return stdev(values) / math.sqrt(len(values))


def paired(pairs: Pairs, error: Spread = of_mean, sign: float = 1.0) -> Callable[[Errors, Errors], Tensor]:
    """Return a function that gives the mean of the gaps, and an error made of them."""

    def paired_gap(causal: Errors, prefix: Errors) -> Tensor:
        gaps = [sign * (first - second) for first, second in pairs(causal, prefix)]
        return torch.tensor([mean(gaps), error(gaps)], dtype=torch.float64)

    return paired_gap


def apart(causal: Errors, prefix: Errors, pairs: Pairs | None = None) -> Tensor:
    """Return what `compare` gives: two samples that share nothing; of the pairs, or of all runs."""
    sides = zip(*pairs(causal, prefix), strict=True) if pairs else (causal.values(), prefix.values())
    first, second = ([*side] for side in sides)
    error = math.hypot(of_mean(first), of_mean(second))
    return torch.tensor([mean(first) - mean(second), error], dtype=torch.float64)


def all_means(causal: Errors, prefix: Errors) -> Tensor:
    """Return the difference of the means of all runs, and the error of the pairs."""
    gap = mean(causal.values()) - mean(prefix.values())
    return torch.stack([torch.tensor(gap, dtype=torch.float64), paired(by_seed)(causal, prefix)[1]])


def seed_inputs(seed: int) -> list[dict[str, Any]]:
    """Errors of five to eight seeds, hard ones hard for both; in any order, and mostly with runs missing."""
    draw = torch.Generator().manual_seed(seed)
    cases = []
    for seeds, lost in ((5, 0), (5, 0), (6, 1), (5, 2), (8, 3), (7, 2)):
        hard = torch.randn(seeds, generator=draw) * 3 + 30
        case: dict[str, Any] = {}
        for mask, level in (("causal", 0.0), ("prefix", -1.0)):
            order = torch.randperm(seeds, generator=draw).tolist()
            case[mask] = {
                number: round(float(hard[number] + level + 0.4 * torch.randn((), generator=draw)), 2)
                for number in order
            }
        for place in range(lost):  # one side, then the other; at least two are left in both
            case[("causal", "prefix")[place % 2]].pop(place)
        cases.append(case)
    return cases


PAIRED_GAP = FunctionExercise(
    "5c.3",
    "paired_gap",
    inputs=seed_inputs,
    truth=paired(by_seed),
    form=Numbers(),
    mistakes=[
        Mistake("the code is as it was handed out", paired(as_they_come, stdev), as_given=True),
        Mistake(
            "the runs are still paired in the order in which they ended, and not by their seed",
            paired(as_they_come),
        ),
        Mistake(
            "you pair by seed now, but the error is still how far the seeds lie apart: it doesn't shrink "
            "with more of them",
            paired(by_seed, stdev),
        ),
        Mistake(
            "sorting isn't enough: after a run that is missing, each is paired with a neighbour's seed",
            paired(sorted_by_seed),
        ),
        Mistake(
            "sorting isn't enough where a run is missing, and the error is still that of a single gap",
            paired(sorted_by_seed, stdev),
        ),
        Mistake(
            "a run that is missing counts as one without an error: leave out a seed that has no partner",
            paired(with_zeros),
        ),
        Mistake(
            "this is what `compare` says of two samples that share nothing: what a seed does to both masks "
            "alike is still in the error",
            apart,
        ),
        Mistake(
            "you took the runs that have a partner, and then forgot who it was: the error is that of two "
            "separate samples",
            lambda causal, prefix: apart(causal, prefix, by_seed),
        ),
        Mistake("the error is right, but the gap counts runs without a partner too", all_means),
        Mistake(
            "you divided by the number of pairs, and not by its square root",
            paired(by_seed, lambda gaps: stdev(gaps) / len(gaps)),
        ),
        Mistake(
            "the squares are divided by n, and must be by n - 1: the mean was taken from the same few gaps",
            paired(by_seed, lambda gaps: pstdev(gaps) / math.sqrt(len(gaps))),
        ),
        Mistake("the gap is turned round: causal minus prefix is wanted", paired(by_seed, sign=-1.0)),
        Mistake(
            "the error is twice as large: that is the bound for `clear`, and not the standard error",
            paired(by_seed, lambda gaps: 2 * of_mean(gaps)),
        ),
    ],
    hints=(
        "Two things are off. With whom is a run paired by `zip`? And what happens to your error with a "
        "thousand seeds?",
        "Go through the seeds that are in both dicts: `causal[seed] - prefix[seed]`.",
        "Then the spread of these gaps says how far one gap lies from the next. The mean of n of them is "
        "surer than that, by the square root of n.",
    ),
)
