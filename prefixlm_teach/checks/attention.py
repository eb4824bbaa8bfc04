"""The exercises of chapter 2."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Guesses, Numbers, Words
from prefixlm_teach.checks.functions import FunctionExercise, Mistake
from prefixlm_teach.checks.values import StateExercise, ValueExercise
from prefixlm_teach.checks.way_out import WRONG_WAYS_OUT, closed, scores_of, way_out, way_out_inputs
from prefixlm_teach.masks import create_prefix_lm_mask

EXPONENTIALS = torch.tensor([1.0, 2.0, 1.0, 4.0, 8.0])  # e to the scores of exercise 2.1


def shares_of(*seen: int) -> Tensor:
    """(5,) weights of exercise 2.1, if these columns are seen."""
    kept = torch.zeros(5).index_fill(0, torch.tensor(seen), 1.0) * EXPONENTIALS
    return kept / kept.sum()


def bent(q: Tensor, k: Tensor, cap: float) -> Tensor:
    """(..., T, T) scores that stay between -cap and cap."""
    return cap * torch.tanh(scores_of(q, k) / cap)


def wiped(scores: Tensor, mask: Tensor) -> Tensor:
    """The softmax under a mask, 0 in a row that may see nothing."""
    return closed(scores, mask).softmax(-1).nan_to_num(0.0)


def capped_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, cap: float) -> Tensor:
    """What is expected of exercise 2.4."""
    return wiped(bent(q, k, cap), mask) @ v


def handed_out(q: Tensor, k: Tensor, mask: Tensor, cap: float) -> Tensor:
    """The weights of the code that is handed out: the cap comes after the mask."""
    return (cap * torch.tanh(closed(scores_of(q, k), mask) / cap)).softmax(-1)


def capped_inputs(seed: int) -> list[dict[str, Any]]:
    """One example, one token, no prefix with pads in front, no target, masks at random; caps from 2 to 30."""
    draw = torch.Generator().manual_seed(seed)
    valid = torch.tensor([[False, False, True, True, True], [True] * 5])
    masks = [
        create_prefix_lm_mask(4, torch.tensor([2])),
        create_prefix_lm_mask(1, torch.tensor([1])),
        create_prefix_lm_mask(5, torch.tensor([0, 3]), valid=valid),
        create_prefix_lm_mask(3, torch.tensor([3, 3])),
        *(torch.rand(2, 1, 5, 5, generator=draw) < 0.5 for _ in range(5)),
    ]
    return [
        {
            **dict(
                zip("qkv", torch.randn(3, len(mask), 2, mask.size(-1), 3, generator=draw) * 3, strict=True)
            ),
            "mask": mask,
            "cap": cap,
        }
        for mask, cap in zip(masks, [2.0, 5.0, 2.0, 3.0, 30.0, 2.0, 4.0, 8.0, 2.0], strict=True)
    ]


AFTERWARDS = (
    "zeroing the weights after the softmax comes too late: hidden tokens have had their share by then"
)
NO_CAP = "the cap is gone: this is attention without it"
Weights = Callable[[Tensor, Tensor, Tensor, float], Tensor]
WRONG_CAPS: list[tuple[str, Weights]] = [
    (
        "a blind row returns 0 now, but the cap still comes after the mask: minus infinity becomes -cap",
        lambda q, k, mask, cap: handed_out(q, k, mask, cap) * mask.any(-1, keepdim=True),
    ),
    (
        "what is hidden is hidden now, but a row that may see nothing is NaN: it has to return 0",
        lambda q, k, mask, cap: closed(bent(q, k, cap), mask).softmax(-1),
    ),
    (
        "a row that may see nothing takes the average of everything: its scores are all one number; wipe it",
        lambda q, k, mask, cap: bent(q, k, cap).masked_fill(~mask, -1e9).softmax(-1),
    ),
    (AFTERWARDS, lambda q, k, mask, cap: bent(q, k, cap).softmax(-1) * mask),
    (AFTERWARDS, lambda q, k, mask, cap: handed_out(q, k, mask, cap) * mask),
    ("nothing is masked any more", lambda q, k, mask, cap: bent(q, k, cap).softmax(-1)),
    (NO_CAP, lambda q, k, mask, cap: wiped(scores_of(q, k), mask)),
    (NO_CAP, lambda q, k, mask, cap: closed(scores_of(q, k), mask).softmax(-1)),
    (
        "this cuts the scores off at the cap; tanh bends them",
        lambda q, k, mask, cap: wiped(scores_of(q, k).clamp(-cap, cap), mask),
    ),
    (
        "the score isn't divided by the cap inside tanh",
        lambda q, k, mask, cap: wiped(cap * torch.tanh(scores_of(q, k)), mask),
    ),
    (
        "what tanh returns isn't multiplied by the cap: no score gets above 1",
        lambda q, k, mask, cap: wiped(torch.tanh(scores_of(q, k) / cap), mask),
    ),
    (
        "the square root of d_head comes after the cap; it belongs to the score that is bent",
        lambda q, k, mask, cap: wiped(bent(q * math.sqrt(q.size(-1)), k, cap) / math.sqrt(q.size(-1)), mask),
    ),
    (
        "True and False are exchanged: True means may attend",
        lambda q, k, mask, cap: wiped(bent(q, k, cap), ~mask),
    ),
    (
        "a hidden score is set to 0, and e to the power of 0 is 1: make it minus infinity, last of all",
        lambda q, k, mask, cap: (bent(q, k, cap) * mask).softmax(-1),
    ),
]


def mixing(weights: Weights) -> Callable[..., Tensor]:
    """What a function with these weights returns."""
    return lambda q, k, v, mask, cap: weights(q, k, mask, cap) @ v


def own_share(explorer: Any, prefix_len: int) -> float:
    """How much the first token keeps for itself, in the layer and head on show."""
    from prefixlm_teach.widgets.table import unpack  # noqa: PLC0415 - an explorer has loaded it already

    place = (prefix_len, explorer.layer, explorer.head)
    weights, _ = unpack(explorer.table, len(explorer.tokens), explorer.n_layers, explorer.n_heads, place)
    return float(weights[0, 0])


def keeps_more(explorer: Any) -> bool:
    """Whether the first token keeps more for itself than under a prefix that is one token shorter."""
    p = explorer.prefix_len
    return 1 < p <= explorer.start and own_share(explorer, p) > own_share(explorer, p - 1) + 0.005


EXERCISES = (
    ValueExercise(
        "2.1",
        "row_by_hand",
        truth=lambda: shares_of(0, 1, 2, 3),
        form=Guesses(0.005),
        mistakes={
            "this is the row without the mask: column 4 is target, and comes later": (
                lambda: shares_of(0, 1, 2, 3, 4)
            ),
            "you divided by the sum of all five and then dropped the last: the mask comes before": (
                lambda: shares_of(0, 1, 2, 3, 4) * torch.tensor([1, 1, 1, 1, 0])
            ),
            "this is the causal row: in the prefix a token sees the later ones too": lambda: shares_of(0, 1),
            "the prefix has p = 4 tokens, columns 0 to 3: yours ends a column early": (
                lambda: shares_of(0, 1, 2)
            ),
            "you gave column 4 the score 0, and e to the power of 0 is 1: it becomes minus infinity": (
                lambda: torch.tensor([1.0, 2.0, 1.0, 4.0, 1.0]) / 9
            ),
            "the mask is upside down: this row looks at nothing but what it must not see": lambda: shares_of(
                4
            ),
            "all that is seen counts alike here: a higher score takes a larger share": (
                lambda: torch.tensor([0.25, 0.25, 0.25, 0.25, 0.0])
            ),
            "the weights of a row sum to 1: divide by the sum of what is seen": (
                lambda: torch.tensor([1.0, 2.0, 1.0, 4.0, 0.0])
            ),
            "these are shares of the scores themselves: raise e to each score first": (
                lambda: torch.tensor([0.0, 1.0, 0.0, 2.0, 0.0]) / 3
            ),
            "the token at position 1 sees itself too": lambda: shares_of(0, 2, 3),
        },
        hints=(
            "Which columns does position 1 see, under a prefix mask with p = 4?",
            "Raise e to each score: that makes 1, 2, 1, 4 and 8. What becomes of the one that is hidden?",
            "Of those that are seen, each number is divided by their sum, which is 8.",
        ),
    ),
    ValueExercise(
        "2.2",
        "quiet_shapes",
        truth=lambda: ("A", "B", "D"),
        form=Words("ABCDEF"),
        mistakes={
            "that is the one of the chapter; a dimension that is 1 or missing is shared by all": (
                lambda: ("B",)
            ),
            "a mask that has no example in its shape runs too, with or without heads": lambda: ("A", "B"),
            "a single (T, T) mask runs too, and all examples share it": lambda: ("B", "D"),
            "lined up from the right, the 3 of B stands in the place of the heads": lambda: ("A", "D"),
            "you chose the right ones, and one that says what you mean: C has the examples in front": (
                lambda: ("A", "B", "C", "D")
            ),
            "you chose the right ones, and one that says what you mean: F repeats each mask for its heads": (
                lambda: ("A", "B", "D", "F")
            ),
            "you chose the right ones, and one that stops: from the right, E has a 3 where 5 queries stand": (
                lambda: ("A", "B", "D", "E")
            ),
            "these are the good ones: each example has its own mask": lambda: ("C", "F"),
            "that one stops with an error, so it isn't quiet": lambda: ("E",),
        },
        hints=(
            "Write down (3, 3, 5, 5), the shape of the scores, and below it each of the six, flush right.",
            "A 1 or an empty place is repeated; any other number has to be the one above it.",
            "Which have the examples in the first of four places? All others that run are quiet.",
        ),
    ),
    FunctionExercise(
        "2.3",
        "way_out",
        inputs=way_out_inputs,
        truth=way_out,
        form=Numbers(),
        mistakes=[Mistake(says, gives) for says, gives in WRONG_WAYS_OUT],
        hints=(
            "The way out is one more column of scores, behind those of the tokens.",
            "Mask the scores first, then add the column: its zeros are scores, and no mask closes them.",
            "torch.cat([masked, zeros], dim=-1).softmax(-1) has a column too many. Which?",
        ),
    ),
    FunctionExercise(
        "2.4",
        "capped_attention",
        inputs=capped_inputs,
        truth=capped_attention,
        form=Numbers(),
        mistakes=[
            Mistake("the code is as it was handed out", mixing(handed_out), as_given=True),
            *(Mistake(says, mixing(weights)) for says, weights in WRONG_CAPS),
        ],
        hints=(
            "What is tanh of minus infinity? And that times the cap?",
            "The mask has to be the last thing that happens to a score.",
            "A blind row is minus infinity from end to end then: find it with `mask.any`, and wipe it.",
        ),
    ),
    StateExercise(
        "2.5",
        "keeps_more",
        kind="AttentionExplorer",
        given=lambda explorer: (explorer.layer, explorer.head, explorer.prefix_len) == (0, 0, explorer.start),
        goal=keeps_more,
        mistakes={
            "at p = 1 the first token sees nothing but itself; begin at p = 2": (
                lambda explorer: explorer.prefix_len < 2
            ),
            "that prefix reaches into the pronunciation; stay within the word and its separator": (
                lambda explorer: explorer.prefix_len > explorer.start
            ),
            "in layer 0 it can't happen: what opens takes its share from all others in proportion": (
                lambda explorer: explorer.layer == 0
            ),
            "there the first token keeps no more than at p - 1": lambda _: True,
        },
        hints=(
            "Layer 0 reads what was there before any layer. What the layers above it read changes with p.",
            "Stay in row 0, go to layer 1, and step through p head by head.",
            "In layer 1, head 1 has two such places.",
        ),
    ),
)
