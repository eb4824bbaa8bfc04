"""Exercise 12.3: what a linear model comes to when each block of examples is opened by itself."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Numbers
from prefixlm_teach.checks.functions import FunctionExercise, Mistake


def blocks_of(x: Tensor, y: Tensor, block: int) -> list[tuple[Tensor, Tensor]]:
    """Return the blocks of examples in their order; the last may be shorter."""
    return list(zip(x.split(block), y.split(block), strict=True))


def fitted(x: Tensor, y: Tensor) -> Tensor:
    """(d,) the shortest line of those that fit best."""
    pseudoinverse: Tensor = torch.linalg.pinv(x)
    return pseudoinverse @ y


def corrected(line: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """(d,) a line after the smallest change that fits a block best."""
    return line + fitted(x, y - x @ line)


def fit_in_blocks(x: Tensor, y: Tensor, block: int) -> Tensor:
    """What is expected of exercise 12.3."""
    line = torch.zeros_like(x[0])
    for each in blocks_of(x, y, block):
        line = corrected(line, *each)
    return line


def backwards(x: Tensor, y: Tensor, block: int) -> Tensor:
    """The last block is fitted first."""
    line = torch.zeros_like(x[0])
    for each in reversed(blocks_of(x, y, block)):
        line = corrected(line, *each)
    return line


def whole_blocks(x: Tensor, y: Tensor, block: int) -> Tensor:
    """A last block that isn't full is dropped."""
    whole = len(x) // block * block
    return fit_in_blocks(x[:whole], y[:whole], block) if whole else torch.zeros_like(x[0])


def each_alone(x: Tensor, y: Tensor, block: int) -> Tensor:
    """(blocks, d) the line of each block, fitted by itself."""
    return torch.stack([fitted(*each) for each in blocks_of(x, y, block)])


def one_step(x: Tensor, y: Tensor, block: int) -> Tensor:
    """A step of gradient descent on each block."""
    line = torch.zeros_like(x[0])
    for xs, ys in blocks_of(x, y, block):
        line = line + xs.T @ (ys - xs @ line)
    return line


def wrong_way(x: Tensor, y: Tensor, block: int) -> Tensor:
    """Each correction is taken off."""
    line = torch.zeros_like(x[0])
    for xs, ys in blocks_of(x, y, block):
        line = line - fitted(xs, ys - xs @ line)
    return line


def block_inputs(seed: int) -> list[dict[str, Any]]:
    """Prompts of n examples with d numbers each: blocks that fit exactly, that can't, and one of all."""
    draw = torch.Generator().manual_seed(seed)
    sizes = [
        (6, 4, 2),
        (5, 4, 2),
        (4, 3, 1),
        (9, 3, 9),
        (7, 2, 5),
        (2, 4, 2),
        (3, 5, 8),
        (1, 2, 1),
        (10, 6, 3),
    ]
    return [
        {
            "x": torch.randn(n, d, generator=draw, dtype=torch.float64),
            "y": torch.randn(n, generator=draw, dtype=torch.float64),
            "block": block,
        }
        for n, d, block in sizes
    ]


FIT_IN_BLOCKS = FunctionExercise(
    "12.3",
    "fit_in_blocks",
    inputs=block_inputs,
    truth=fit_in_blocks,
    form=Numbers(),
    mistakes=[
        Mistake(
            "this is least squares over all examples, as under the prefix mask: an earlier block never sees "
            "a later one",
            lambda x, y, block: fitted(x, y),
        ),
        Mistake(
            "this is the single pass of the causal mask, each example by itself: a block is fitted whole",
            lambda x, y, block: fit_in_blocks(x, y, 1),
        ),
        Mistake(
            "each block begins anew, so that only the last one is left: correct the line found before it",
            lambda *case: each_alone(*case)[-1],
        ),
        Mistake(
            "each block is fitted to y itself: fit it to what the line so far leaves of y",
            lambda *case: each_alone(*case).sum(0),
        ),
        Mistake(
            "the lines of the blocks are averaged: the blocks come one after the other",
            lambda *case: each_alone(*case).mean(0),
        ),
        Mistake("a last block that isn't full is dropped", whole_blocks),
        Mistake("the blocks are taken from the back: the last ones are fitted last", backwards),
        Mistake(
            "it stops after the first block: is the `return` inside the loop?",
            lambda *case: each_alone(*case)[0],
        ),
        Mistake("a block gets one step of gradient descent: it is to be fitted as well as can be", one_step),
        Mistake("each correction is taken off where it should be added", wrong_way),
        Mistake("the line is still the one of zeros", lambda x, y, block: torch.zeros_like(x[0])),
    ],
    hints=(
        "The chapter's single pass is this with blocks of one. What stands for `xi / (xi.mT @ xi)` when a "
        "block has several rows?",
        "`torch.linalg.pinv(xs) @ left` is the shortest line that fits `left` best. What is left of ys, when "
        "the line so far has said its part?",
        "Begin with zeros; go through `x.split(block)` and `y.split(block)`; add to the line what fits "
        "`ys - xs @ line`.",
    ),
)
