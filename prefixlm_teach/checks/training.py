"""The exercises of chapter 5."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.accumulating import GRADIENT_FAULTS, gradient_in_pieces, gradient_inputs
from prefixlm_teach.checks.forms import Number, Numbers
from prefixlm_teach.checks.functions import FunctionExercise, Mistake
from prefixlm_teach.checks.resuming import RESUME_FAULTS, go_on, run_inputs
from prefixlm_teach.checks.values import ValueExercise

Sounds = tuple[str, ...]
# The words of exercise 5.1: what is listed, and the answer.
WORDS: tuple[tuple[tuple[Sounds, ...], Sounds], ...] = (
    ((("P", "L", "Y"), ("P", "L", "Y", "S")), ("P", "L", "Y", "S")),
    ((("W", "A", "Z", "O"),), ("A", "Z", "O")),
    ((("T", "AN"),), ("T", "AN", "P", "S")),
)


def edits(answer: Sounds, said: Sounds) -> int:
    """The edit distance."""
    line = list(range(len(said) + 1))
    for i, sound in enumerate(answer, 1):
        new = [i]
        for j, other in enumerate(said, 1):
            new.append(min(line[j] + 1, new[j - 1] + 1, line[j - 1] + (sound != other)))
        line = new
    return line[-1]


def place_by_place(answer: Sounds, said: Sounds) -> int:
    """In how many places two differ, and how many have no partner."""
    differ = sum(one != other for one, other in zip(answer, said, strict=False))
    return differ + abs(len(answer) - len(said))


def counted(distance: Callable[[Sounds, Sounds], int] = edits, *, first: bool = False) -> tuple[int, int]:
    """Return how many edits the words of exercise 5.1 need, and how many sounds the nearest listed have.

    Args:
        distance: of two pronunciations.
        first: take the first that is listed, not the nearest.
    """
    nearest = [
        min((distance(answer, said), len(said)) for said in (listed[:1] if first else listed))
        for listed, answer in WORDS
    ]
    return sum(each for each, _ in nearest), sum(length for _, length in nearest)


def share(pair: tuple[int, int]) -> float:
    """One number by the other."""
    return pair[0] / pair[1]


def mean_of_rates() -> float:
    """The mean of the words' own rates."""
    nearest = [min((edits(answer, said), len(said)) for said in listed) for listed, answer in WORDS]
    return sum(map(share, nearest)) / len(WORDS)


def budget_inputs(seed: int) -> list[dict[str, Any]]:
    """Lengths with a budget: by hand, some with examples that are too long; then drawn."""
    draw = torch.Generator().manual_seed(seed)
    by_hand: list[tuple[list[int], int]] = [
        ([3, 3, 3, 3], 6),
        ([2, 5, 2, 5], 10),
        ([7, 1, 2, 7, 3], 12),
        ([4], 4),
        ([9, 2, 9], 8),
        ([9, 9], 8),
        ([5, 4, 3, 2, 1], 9),
    ]
    drawn = [
        (torch.randint(1, 15, (12,), generator=draw).tolist(), int(torch.randint(15, 40, (), generator=draw)))
        for _ in range(8)
    ]
    return [{"lengths": lengths, "budget": budget} for lengths, budget in by_hand + drawn]


def by_length(lengths: Sequence[int]) -> list[int]:
    """The places of the examples, the shortest first."""
    return sorted(range(len(lengths)), key=lambda i: lengths[i])


def overfull(rows: list[int], new: int, budget: int) -> bool:
    """Whether a batch with rows of these lengths must not take another one."""
    return bool(rows) and (len(rows) + 1) * max(*rows, new) > budget


def budget_batches(
    lengths: Sequence[int],
    budget: int,
    *,
    order: Callable[[Sequence[int]], list[int]] = by_length,
    full: Callable[[list[int], int, int], bool] = overfull,
) -> Tensor:
    """What is expected of exercise 5.2; or in another order, or with another idea of what is full."""
    number, batch = [0] * len(lengths), 0
    rows: list[int] = []
    for i in order(lengths):
        if full(rows, lengths[i], budget):
            batch, rows = batch + 1, []
        rows.append(lengths[i])
        number[i] = batch
    return torch.tensor(number)


def in_order_of_length(lengths: Sequence[int], budget: int) -> Tensor:
    """The numbers in the order in which the examples were taken, not in that in which they are given."""
    return budget_batches(lengths, budget).sort().values


def longest_first(lengths: Sequence[int]) -> list[int]:
    """The order of the examples with the longest before the others."""
    return sorted(range(len(lengths)), key=lambda i: -lengths[i])


BUDGET_FAULTS = (
    Mistake(
        "the lengths aren't sorted: long examples stretch the tables of short ones",
        partial(budget_batches, order=lambda n: list(range(len(n)))),
    ),
    Mistake(
        "the longest come first here: the shortest are to be taken first",
        partial(budget_batches, order=longest_first),
    ),
    Mistake(
        "you add up the lengths: what fills a table is its rows, each as long as the longest",
        partial(budget_batches, full=lambda rows, new, budget: bool(rows) and sum(rows) + new > budget),
    ),
    Mistake(
        "the budget counts cells, not rows: how many rows fit depends on their length",
        partial(budget_batches, full=lambda rows, _, budget: len(rows) == budget),
    ),
    Mistake(
        "a table is measured by its shortest row: the longest one decides how wide it is",
        partial(
            budget_batches,
            full=lambda rows, _, budget: bool(rows) and (len(rows) + 1) * rows[0] > budget,
        ),
    ),
    Mistake(
        "a table with exactly as many cells as the budget is allowed",
        partial(
            budget_batches, full=lambda rows, new, budget: bool(rows) and (len(rows) + 1) * new >= budget
        ),
    ),
    Mistake(
        "a batch takes a row too many: look at its size with the new row, before that goes in",
        partial(budget_batches, full=lambda rows, _, budget: bool(rows) and len(rows) * rows[-1] > budget),
    ),
    Mistake(
        "a batch takes a row too many: look at its size with the new row, before that goes in",
        partial(budget_batches, full=lambda rows, _, budget: bool(rows) and len(rows) * rows[-1] >= budget),
    ),
    Mistake(
        "an example that is too long alone leaves an empty batch behind, whose number is missing",
        partial(budget_batches, full=lambda rows, new, budget: (len(rows) + 1) * new > budget),
    ),
    Mistake(
        "these are the numbers in the order of length: the first is wanted for the first example given",
        in_order_of_length,
    ),
    Mistake("the batches are counted from 1, and should be from 0", lambda *x: budget_batches(*x) + 1),
    Mistake(
        "every example has a batch of its own",
        partial(budget_batches, full=lambda rows, _new, _budget: bool(rows)),
    ),
)


EXERCISES = (
    ValueExercise(
        "5.1",
        "french_sounds",
        truth=lambda: share(counted()),
        form=Number(tolerance=0.005),
        mistakes={
            "This is the word error rate": lambda: 2 / 3,
            "This is the mean of the words' own rates: add up the edits first, then divide": mean_of_rates,
            "You took the first pronunciation that is listed, and the nearest counts": (
                lambda: share(counted(first=True))
            ),
            "You took the edits to the nearest pronunciation, but the length of the first one": (
                lambda: counted()[0] / counted(first=True)[1]
            ),
            "You compared place by place: one sound left out moves all the others": (
                lambda: share(counted(place_by_place))
            ),
            "You divided by the sounds of the answers: those of the dictionary count": (
                lambda: counted()[0] / sum(len(answer) for _, answer in WORDS)
            ),
            "These are the edits: divide them by the number of sounds": lambda: counted()[0],
            "These are edits per word: divide by the number of sounds": lambda: counted()[0] / len(WORDS),
            "This is the share of sounds that are right: the wrong ones are asked for": (
                lambda: 1 - share(counted())
            ),
            "That is a share in percent; as the chapter's function, give one from 0 up": (
                lambda: 100 * share(counted())
            ),
        },
        hints=(
            "How many edits does each answer need? Of the two ways to say plus, which is nearer?",
            "None, one and two. By how many sounds is that divided: of the answers, or of the dictionary?",
            "Three edits, by 4 sounds of plus, 4 of oiseau and those of temps.",
        ),
    ),
    FunctionExercise(
        "5.2",
        "budget_batches",
        inputs=budget_inputs,
        truth=budget_batches,
        form=Numbers(0.0),
        mistakes=BUDGET_FAULTS,
        hints=(
            "Sort the examples' places, not their lengths: `sorted` with `key=lambda i: lengths[i]`.",
            "Since the lengths rise, the new example is always the longest. How many cells with it?",
            "Rows + 1, by the new length. Where that is too much, when don't you begin a new batch?",
        ),
    ),
    FunctionExercise(
        "5.3",
        "go_on",
        inputs=run_inputs,
        truth=go_on,
        form=Numbers(),
        mistakes=RESUME_FAULTS,
        hints=(
            "The file holds five things, and the code puts one of them back. What are the others for?",
            "Optimizer and schedule have a `load_state_dict` too, random numbers `torch.set_rng_state`.",
            "There is a loss for each batch that was used. And what draws random numbers before the loop?",
        ),
    ),
    FunctionExercise(
        "5.4",
        "gradient_in_pieces",
        inputs=gradient_inputs,
        truth=gradient_in_pieces,
        form=Numbers(),
        mistakes=GRADIENT_FAULTS,
        hints=(
            "`label_loss` is a mean over the labels of a piece. By what do you multiply it to get their sum?",
            "Count the labels of each piece without column 0, and first of all those of all pieces together.",
            "Piece by piece: its sum by the count of all, if it has labels. After which piece do you clip?",
        ),
    ),
)
