"""Exercise 12.4: two masks trained for as many scored tokens, not for as many that are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Numbers
from prefixlm_teach.checks.functions import FunctionExercise, Mistake

Batch = tuple[list[int], list[int]]
Counts = Callable[[list[int], list[int]], int]


def scored(lengths: Sequence[int], prefix_lens: Sequence[int]) -> int:
    """Count the tokens of a batch that are predicted from a row before them, and aren't prefix."""
    return sum(length - max(p, 1) for length, p in zip(lengths, prefix_lens, strict=True))


def without_prefix(lengths: Sequence[int], prefix_lens: Sequence[int]) -> int:
    """Count all tokens that aren't prefix, a first one too."""
    return sum(lengths) - sum(prefix_lens)


def needed(
    counts: Counts,
    *,
    enough: Callable[[int, int], bool] = int.__ge__,
    before: int = 0,
    summed: bool = True,
) -> Callable[[list[Batch], int], Tensor]:
    """Return a function that says after how many batches training stops.

    Args:
        counts: how many tokens of a batch count.
        enough: whether a count, the first argument, is enough for the budget, the second.
        before: how many batches earlier it stops.
        summed: whether the batches are added up.
    """

    def batches_needed(batches: list[Batch], budget: int) -> Tensor:
        each = [counts(*batch) for batch in batches]
        so_far = accumulate(each) if summed else each
        stops = (number - before for number, count in enumerate(so_far, 1) if enough(count, budget))
        return torch.tensor(next(stops, len(batches)))

    return batches_needed


def budget_inputs(seed: int) -> list[dict[str, Any]]:
    """Batches and budgets: causal rows, prefixes of all lengths, budgets met exactly, and out of reach."""
    draw = torch.Generator().manual_seed(seed)
    cases: list[dict[str, Any]] = [
        {"batches": [([8], [4])] * 3, "budget": 8},
        {"batches": [([8], [0])] * 3, "budget": 8},
        {"batches": [([5], [1])] * 3, "budget": 12},
        {"batches": [([5, 3], [5, 3])] * 2, "budget": 1},
    ]
    for number in range(14):
        batches = []
        for _ in range(int(torch.randint(6, 12, (), generator=draw))):
            lengths = torch.randint(2, 9, (3,), generator=draw).tolist()
            prefix_lens = [int(torch.randint(0, length + 1, (), generator=draw)) for length in lengths]
            batches.append((lengths, prefix_lens))
        totals = list(accumulate(scored(*batch) for batch in batches))
        exactly = totals[len(totals) // 2]
        budget = exactly if number % 3 == 0 else int(torch.randint(1, totals[-1] + 5, (), generator=draw))
        cases.append({"batches": batches, "budget": max(budget, 1)})
    return cases


BATCHES_NEEDED = FunctionExercise(
    "12.4",
    "batches_needed",
    inputs=budget_inputs,
    truth=needed(scored),
    form=Numbers(tolerance=0.0),
    mistakes=[
        Mistake("the code is as it was handed out", needed(lambda lengths, _: sum(lengths)), as_given=True),
        Mistake("with p = 0 the first token is counted: no row predicts it", needed(without_prefix)),
        Mistake(
            "one token of each row is lost: with a prefix, all of the target is scored",
            needed(lambda lengths, p: without_prefix(lengths, p) - len(lengths)),
        ),
        Mistake(
            "all tokens but the first are counted, as under a causal mask: the prefix isn't scored",
            needed(lambda lengths, _: sum(lengths) - len(lengths)),
        ),
        Mistake("the prefix is counted, and the target isn't", needed(lambda _, p: sum(p))),
        Mistake(
            "padding is counted: a row ends at its own length, and not at the longest",
            needed(lambda lengths, p: sum(max(lengths) - max(each, 1) for each in p)),
        ),
        Mistake(
            "it stops a batch late: enough is enough when the budget is met",
            needed(scored, enough=int.__gt__),
        ),
        Mistake("it stops a batch early: the budget isn't met yet", needed(scored, before=1)),
        Mistake(
            "the batches aren't added up: each is held against the budget alone", needed(scored, summed=False)
        ),
        Mistake(
            "the first row's p counts for the whole batch",
            needed(lambda lengths, p: sum(max(length - max(p[0], 1), 0) for length in lengths)),
        ),
        Mistake(
            "rows are counted, and not their tokens",
            needed(lambda lengths, _: len(lengths)),
        ),
    ],
    hints=(
        "Which tokens of a row does the loss count, when its prefix has p tokens?",
        "Those from p on: the length minus p. Is that right for a causal row, where p is 0?",
        "A first token has no row before it. So a row scores its length minus p, or minus 1 where p is 0.",
    ),
)
