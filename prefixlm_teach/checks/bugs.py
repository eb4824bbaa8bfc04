"""The exercises of chapter 7: a floor, a leak that spreads, a probe for losses; and those of `probing`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach.checks.forms import Mask, Number, Numbers
from prefixlm_teach.checks.functions import FunctionExercise, Mistake
from prefixlm_teach.checks.probing import PADS, SPLIT
from prefixlm_teach.checks.values import ValueExercise

SYMBOLS, PREFIX, NEW, REPEATED = 16, 4, 4, 4  # of exercise 7.1
T, P, ROW, COLUMN = 6, 2, 0, 3  # of exercise 7.2
IGNORED = -100
NO_LOSS = -1  # of exercise 7.5: what a row is called that is taught nothing
Labels = Callable[[Tensor, Tensor], Tensor]


def right_mask() -> Tensor:
    """(T, T) booleans, the mask of exercise 7.2 without its leak."""
    place = torch.arange(T)
    return (place <= place[:, None]) | (place < P)


def leaking(*cells: tuple[int, int]) -> Tensor:
    """The right mask, with some cells opened: (row, column) each."""
    mask = right_mask()
    for row, column in cells:
        mask[row, column] = True
    return mask


def through(layers: int) -> Tensor:
    """What a row sees through so many layers whose mask leaks."""
    mask = leaking((ROW, COLUMN)).float()
    seen = torch.eye(T)
    for _ in range(layers):
        seen = mask @ seen
    return seen > 0


@dataclass(frozen=True)
class Loss:
    """A loss that may be wrong: called as `loss(logits, tokens, prefix_len)`, it returns a number.

    Attributes:
        labels: from (B, T) tokens and (B,) prefix_len to the (B, T) ids that are taught, -100 for none.
        by_example: whether the mean is taken in each example first.
    """

    labels: Labels
    by_example: bool = False

    def __call__(self, logits: Tensor, tokens: Tensor, prefix_len: Tensor) -> Tensor:
        """Return the mean over the rows that are taught something."""
        labels = self.labels(tokens, prefix_len)
        each = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=IGNORED, reduction="none")
        counts = (labels != IGNORED).sum(-1) if self.by_example else (labels != IGNORED).sum()
        return (each.sum(-1) / counts).mean() if self.by_example else each.sum() / counts


def moved(tokens: Tensor, by: int) -> Tensor:
    """(B, T): the token that stands `by` columns later, -100 where there is none."""
    ends = tokens.new_full((len(tokens), by), IGNORED)
    return torch.cat([tokens[:, by:], ends], dim=1)


def where_target(tokens: Tensor, prefix_len: Tensor, later: int = 0) -> Tensor:
    """(B, T): the tokens of the target but its first `later`, -100 elsewhere."""
    return tokens.masked_fill(torch.arange(tokens.size(1)) < prefix_len[:, None] + later, IGNORED)


LOSSES = (
    Loss(lambda tokens, p: moved(where_target(tokens, p), 1)),  # right
    Loss(where_target),  # unshifted
    Loss(lambda tokens, p: moved(where_target(tokens, p), 2)),  # shifted twice
    Loss(lambda tokens, p: moved(tokens, 1)),  # on the prefix too
    Loss(lambda tokens, p: moved(where_target(tokens, p, 1), 1)),  # the first target is lost
    Loss(lambda tokens, p: moved(where_target(tokens, p[:1]), 1)),  # the first example's split
    Loss(lambda tokens, p: moved(where_target(tokens, p), 1), by_example=True),
)


def taught(loss: Loss, logits: Tensor, tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """What is expected of exercise 7.5."""
    labels = loss.labels(tokens, prefix_len)
    return labels.masked_fill(labels == IGNORED, NO_LOSS)


def pull(loss: Loss, logits: Tensor, tokens: Tensor, prefix_len: Tensor) -> Tensor:
    """(B, T, V): the gradient of a loss by the logits."""
    with torch.enable_grad():
        leaf = logits.detach().clone().requires_grad_()
        (gradient,) = torch.autograd.grad(loss(leaf, tokens, prefix_len), leaf)
    return gradient


def with_no_loss(ids: Tensor, gradient: Tensor) -> Tensor:
    """Put -1 where a row's gradient is 0."""
    return ids.masked_fill((gradient == 0).all(-1), NO_LOSS)


def loss_inputs(seed: int) -> list[dict[str, Any]]:
    """Each loss on two examples with splits of their own, on one alone, and on one without a prefix."""
    draw = torch.Generator().manual_seed(seed)
    cases = []
    for loss in LOSSES:
        for prefix_len, length in (([3, 2], 7), ([2], 5), ([0], 4)):
            tokens = torch.randint(0, 9, (len(prefix_len), length), generator=draw)
            logits = torch.randn(*tokens.shape, 9, generator=draw)
            case = {"loss": loss, "logits": logits, "tokens": tokens, "prefix_len": torch.tensor(prefix_len)}
            cases.append(case)
    return cases


LOSS_PROBE = FunctionExercise(
    "7.5",
    "taught_ids",
    inputs=loss_inputs,
    truth=taught,
    form=Numbers(0.0),
    mistakes=[
        Mistake(
            "these are the ids that the model favours: the loss isn't asked",
            lambda loss, logits, tokens, p: logits.argmax(-1),
        ),
        Mistake(
            "these are the ids that the model favours, where there is a loss: ask for what it is pulled to",
            lambda *given: with_no_loss(given[1].argmax(-1), pull(*given)),
        ),
        Mistake(
            "the sign is the wrong way round: the gradient is negative where the loss pulls a logit up",
            lambda *given: with_no_loss(pull(*given).argmax(-1), pull(*given)),
        ),
        Mistake(
            "rows without loss say an id too: where all of a row's gradient is 0, -1 is asked",
            lambda *given: pull(*given).argmin(-1),
        ),
        Mistake(
            "you say what the rows should be taught, and not what this loss teaches them",
            lambda loss, logits, tokens, p: taught(LOSSES[0], logits, tokens, p),
        ),
        Mistake(
            "rows without loss say -100, where -1 is asked",
            lambda loss, logits, tokens, p: loss.labels(tokens, p),
        ),
        Mistake(
            "you say which rows carry loss, and not what they are taught",
            lambda *given: (pull(*given) != 0).any(-1),
        ),
        Mistake(
            "each id stands a row too late: the gradient of row t says what row t is taught",
            lambda *given: taught(*given).roll(1, dims=1),
        ),
        Mistake(
            "each id stands a row too early: the gradient of row t says what row t is taught",
            lambda *given: taught(*given).roll(-1, dims=1),
        ),
    ],
    hints=(
        "Make a copy of the logits that wants a gradient, call the loss on it, then backward().",
        "The gradient of a cross-entropy is softmax minus one-hot. What is its sign at the label?",
        "The label is the one negative entry of a row: argmin(-1). A row of zeros has none, and says -1.",
    ),
)

EXERCISES = (
    ValueExercise(
        "7.1",
        "lowest_loss",
        truth=lambda: NEW / (NEW + REPEATED) * math.log(SYMBOLS),
        form=Number(0.02),
        mistakes={
            "This is the floor if nothing is repeated: a repeat can be known": lambda: math.log(SYMBOLS),
            "This is a sum: the loss is the mean over the target tokens": lambda: NEW * math.log(SYMBOLS),
            "This is in bits: F.cross_entropy takes the natural logarithm": (
                lambda: NEW / (NEW + REPEATED) * math.log2(SYMBOLS)
            ),
            "The repeats can be known, the new ones can't: nobody gets to 0": lambda: 0.0,
            "You divide by all tokens: only the target's count": (
                lambda: NEW / (PREFIX + NEW + REPEATED) * math.log(SYMBOLS)
            ),
            "You count the prefix: nobody has to guess it, and it carries no loss": (
                lambda: (PREFIX + NEW) / (PREFIX + NEW + REPEATED) * math.log(SYMBOLS)
            ),
            "You count the prefix but for its first token: it carries no loss": (
                lambda: (PREFIX - 1 + NEW) / (PREFIX - 1 + NEW + REPEATED) * math.log(SYMBOLS)
            ),
            "You take the mean of how many symbols are possible: take the mean of the losses": (
                lambda: math.log((SYMBOLS + 1) / 2)
            ),
            "You halve the number of symbols: it is the mean loss that is halved": lambda: math.log(
                SYMBOLS / 2
            ),
        },
        hints=(
            "What is the best that anybody can do at a token drawn from 16? And at a repeat?",
            "The loss is a mean over the target tokens. How many of them are of each kind?",
            "Four times log 16 and four times 0, over eight.",
        ),
    ),
    ValueExercise(
        "7.2",
        "two_layers_of_leak",
        truth=lambda: through(2),
        form=Mask(),
        mistakes={
            "This is what one layer shows: the second reads what the first has gathered": lambda: through(1),
            "This is what three layers show: after two, row 1 hasn't come by column 2 yet": lambda: through(
                3
            ),
            "The leak is gone: row 0 does see column 3": right_mask,
            "Row 0 is right: but all others read row 0": lambda: leaking((0, 2), (0, 3)),
            "The others are right: but row 0 reads row 3, which has gathered more than its own token": (
                lambda: leaking((0, 3), (1, 3), (2, 3))
            ),
            "Everything is open: nobody that is read before has seen columns 4 and 5": (
                lambda: torch.ones(T, T, dtype=torch.bool)
            ),
            "Rows and columns are exchanged: a row is a query, a column is a key": lambda: through(2).T,
            "True and False are exchanged: True means may attend": lambda: ~through(2),
        },
        hints=(
            "After the first layer each row holds all that its mask shows it. Write that down row by row.",
            "In the second layer a row gets what the rows that it sees have gathered. Which rows see row 0?",
            "Row 0 gets all that row 3 holds. Row 1 gets what row 0 held after one layer: 0, 1 and 3.",
        ),
    ),
    SPLIT,
    PADS,
    LOSS_PROBE,
)
