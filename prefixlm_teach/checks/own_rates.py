"""Exercise 5b.4: two masks compared, each at a learning rate of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Numbers
from prefixlm_teach.checks.functions import FunctionExercise, Mistake

Run = dict[str, Any]
MASKS = ("causal", "prefix")
RATES = (0.001, 0.002, 0.004)


def of(runs: Iterable[Run], **wanted: Any) -> list[Run]:
    """Return the runs with these settings."""
    return [run for run in runs if all(run[name] == value for name, value in wanted.items())]


def score(runs: Iterable[Run]) -> float:
    """Return the mean share of right answers."""
    return mean(float(run["right"]) for run in runs)


def best(runs: Sequence[Run]) -> float:
    """Return the learning rate of the run with the most right answers."""
    rate: float = max(runs, key=lambda run: run["right"])["lr"]
    return rate


def best_on_average(runs: Sequence[Run]) -> float:
    """Return the learning rate with the highest mean."""
    return max(RATES, key=lambda lr: score(of(runs, lr=lr)))


def rest(runs: Iterable[Run]) -> list[Run]:
    """Return the runs that chose no rate."""
    return [run for run in runs if run["seed"] > 0]


def gap(scored: Callable[[list[Run]], float]) -> Callable[[list[Run]], Tensor]:
    """Return prefix minus causal, of a score that each mask's runs get by themselves."""

    def of_runs(runs: list[Run]) -> Tensor:
        causal, prefix = (scored(of(runs, mask=mask)) for mask in MASKS)
        return torch.tensor(prefix - causal, dtype=torch.float64)

    return of_runs


def same_rate(chooses: Callable[[list[Run]], float], counts: Callable[[list[Run]], list[Run]]) -> Any:
    """Return the gap at one rate for both masks."""

    def of_runs(runs: list[Run]) -> Tensor:
        lr = chooses(runs)
        return gap(lambda own: score(of(counts(own), lr=lr)))(runs)

    return of_runs


fair_gap = gap(lambda own: score(of(rest(own), lr=best(of(own, seed=0)))))  # what is expected


def run_inputs(seed: int) -> list[dict[str, Any]]:
    """Runs of both masks at three rates, from two to five seeds; of some groups a run is missing."""
    draw = torch.Generator().manual_seed(seed)
    cases = []
    for seeds in (2, 3, 5, 4, 5, 3):
        runs = [
            {"mask": mask, "lr": lr, "seed": number, "right": float(right)}
            for mask in MASKS
            for lr in RATES
            for number in range(seeds)
            if not (number > 1 and torch.rand((), generator=draw) < 0.3)
            for right in [torch.rand((), generator=draw) * 60 + 30]
        ]
        order = torch.randperm(len(runs), generator=draw).tolist()
        cases.append({"runs": [runs[place] for place in order]})
    return cases


FAIR_GAP = FunctionExercise(
    "5b.4",
    "fair_gap",
    inputs=run_inputs,
    truth=fair_gap,
    form=Numbers(),
    mistakes=[
        Mistake("the code is as it was handed out", same_rate(best, list), as_given=True),
        Mistake(
            "both masks still get one rate, that of the luckiest run: the other mask isn't at its own",
            same_rate(best, rest),
        ),
        Mistake(
            "both masks get one rate, the best of seed 0: the other mask isn't at its own",
            same_rate(lambda runs: best(of(runs, seed=0)), rest),
        ),
        Mistake(
            "seed 0 chose the rate and then counts as well: it was picked for being good",
            gap(lambda own: score(of(own, lr=best(of(own, seed=0))))),
        ),
        Mistake(
            "the luckiest run of each mask chooses its rate: seed 0 alone is to choose",
            gap(lambda own: score(of(rest(own), lr=best(own)))),
        ),
        Mistake(
            "the seeds that are compared choose the rate too: leave the choice to seed 0",
            gap(lambda own: score(of(rest(own), lr=best_on_average(rest(own))))),
        ),
        Mistake(
            "all seeds choose, by their mean, and those that are compared among them",
            gap(lambda own: score(of(rest(own), lr=best_on_average(own)))),
        ),
        Mistake(
            "the best run of each mask is compared, and not its mean: more seeds would make any mask better",
            gap(lambda own: max(run["right"] for run in own)),
        ),
        Mistake(
            "the best of the other seeds is compared, and not their mean",
            gap(lambda own: max(run["right"] for run in of(rest(own), lr=best(of(own, seed=0))))),
        ),
        Mistake("the sign is turned round: prefix minus causal is wanted", lambda runs: -fair_gap(runs)),
        Mistake("no rate is chosen: all of them are averaged", gap(lambda own: score(rest(own)))),
        Mistake(
            "only seed 0 counts: it chooses, the others are compared",
            gap(lambda own: max(run["right"] for run in of(own, seed=0))),
        ),
        Mistake(
            "the sums are compared: a mask with more runs gets more",
            gap(lambda own: sum(run["right"] for run in of(rest(own), lr=best(of(own, seed=0))))),
        ),
    ],
    hints=(
        "Two things are unfair. Which run chooses the rate, and for whom? And which runs are compared?",
        "Choose inside the loop: of the runs of this mask with seed 0, the one with the most right answers.",
        "Then take the mean over the runs of this mask at that rate whose seed is larger than 0.",
    ),
)
