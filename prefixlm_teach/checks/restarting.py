"""Exercise 5c.2: positions that count anew from the first target token, whatever padding there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Numbers
from prefixlm_teach.checks.functions import FunctionExercise, Mistake

Positions = Callable[[Tensor, Tensor], Tensor]


def restarting(late: int = 0, first: int = 0, first_target: int = 0, pads: bool = True) -> Positions:
    """Return a function that counts prefix and target, each from its beginning.

    Args:
        late: how many tokens after the first target token it begins again.
        first: the position of the first token of each part.
        first_target: what is added to this in the target.
        pads: whether pads are set to 0.
    """

    def positions(valid: Tensor, prefix_len: Tensor) -> Tensor:
        place, start = valid.cumsum(1) - 1, prefix_len[:, None] + late
        found = torch.where(place < start, place, place - start + first_target) + first
        return found.masked_fill(~valid, 0) if pads else found

    return positions


def by_columns(valid: Tensor, prefix_len: Tensor) -> Tensor:
    """Count columns in both parts, as if there were no pads before them."""
    column, start = torch.arange(valid.size(1)), prefix_len[:, None]
    return torch.where(column < start, column, column - start).masked_fill(~valid, 0)


def from_column_p(valid: Tensor, prefix_len: Tensor) -> Tensor:
    """Count real tokens in the prefix, but begin again at column p."""
    column, start = torch.arange(valid.size(1)), prefix_len[:, None]
    return torch.where(column < start, valid.cumsum(1) - 1, column - start).masked_fill(~valid, 0)


def real_from_column_p(valid: Tensor, prefix_len: Tensor) -> Tensor:
    """Count real tokens, and take p off from column p on."""
    column, start = torch.arange(valid.size(1)), prefix_len[:, None]
    place = valid.cumsum(1) - 1
    return torch.where(column < start, place, place - start).masked_fill(~valid, 0)


def going_on(valid: Tensor, prefix_len: Tensor) -> Tensor:
    """Count all real tokens of a row, as learned positions do."""
    return (valid.cumsum(1) - 1).masked_fill(~valid, 0)


def without_where(valid: Tensor, prefix_len: Tensor) -> Tensor:
    """Take p off everywhere: the prefix counts below 0."""
    return (valid.cumsum(1) - 1 - prefix_len[:, None]).masked_fill(~valid, 0)


def clamped(valid: Tensor, prefix_len: Tensor) -> Tensor:
    """Count the target only; all of the prefix has position 0."""
    return without_where(valid, prefix_len).clamp(min=0)


def first_row(valid: Tensor, prefix_len: Tensor) -> Tensor:
    """Take the first row's prefix for all."""
    return restarting()(valid, prefix_len[:1].expand(len(prefix_len)))


def position_inputs(seed: int) -> list[dict[str, Any]]:
    """Batches without pads, with pads on the right, on the left and on both sides; p from 0 to all tokens."""
    draw = torch.Generator().manual_seed(seed)
    cases = [
        {"valid": torch.ones(1, 6, dtype=torch.bool), "prefix_len": torch.tensor([3])},
        {"valid": torch.ones(3, 5, dtype=torch.bool), "prefix_len": torch.tensor([2, 0, 5])},
        {"valid": torch.ones(2, 1, dtype=torch.bool), "prefix_len": torch.tensor([0, 1])},
    ]
    column = torch.arange(9)
    for left, right in ((0, 1), (1, 0), (1, 1), (1, 0)):
        lengths = torch.randint(3, 7, (4, 1), generator=draw)
        begins = left * (torch.randint(1, 3, (4, 1), generator=draw) if right else 9 - lengths)
        share = torch.rand(4, generator=draw)
        valid = (column >= begins) & (column < begins + lengths)
        cases.append({"valid": valid, "prefix_len": (share * (lengths[:, 0] + 1)).long()})
    return cases


RESTARTING_POSITIONS = FunctionExercise(
    "5c.2",
    "restarting_positions",
    inputs=position_inputs,
    truth=restarting(),
    form=Numbers(0.0),
    mistakes=[
        Mistake("you count columns: pads before a row's first token move all of its positions", by_columns),
        Mistake(
            "the target begins at column p in yours, and counts columns: behind pads it begins later",
            from_column_p,
        ),
        Mistake(
            "real tokens are counted, but p is taken off from column p on: behind pads that is too early",
            real_from_column_p,
        ),
        Mistake("nothing begins anew: these are learned positions, counted through both parts", going_on),
        Mistake("the prefix counts below 0: take p off in the target alone", without_where),
        Mistake("all of the prefix stands at 0: it counts too, from its own beginning", clamped),
        Mistake("yours begins anew a token late: the first target token has position 0", restarting(late=1)),
        Mistake("yours begins anew a token early: the last of the prefix isn't target", restarting(late=-1)),
        Mistake("both parts count from 1", restarting(first=1)),
        Mistake(
            "the target counts from 1: its first token bears the number of the first letter, which is 0",
            restarting(first_target=1),
        ),
        Mistake("pads have positions other than 0", restarting(pads=False)),
        Mistake("all rows begin anew where the first one does: each has a prefix of its own", first_row),
    ],
    hints=(
        "Without the target and with pads on one side only, what would `valid.cumsum(1) - 1` give?",
        "That numbers the real tokens of a row, wherever its pads stand, and p counts real tokens too. "
        "Which numbers belong to the target?",
        "From those that are p or larger, take p off; p needs a second dimension for that. Then set the pads "
        "to 0.",
    ),
)
