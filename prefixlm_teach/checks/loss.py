"""The exercises of chapter 4."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Findings, Number, Numbers
from prefixlm_teach.checks.functions import FunctionExercise, Mistake
from prefixlm_teach.checks.loss_bench import CONFUSED, KINDS, confused, diagnose_loss, loss_inputs
from prefixlm_teach.checks.values import StateExercise, ValueExercise

V = 11
IGNORE = -100
# (real tokens, p) of each row, padded on the right to T tokens; the simplest first
BATCHES = (
    (5, [(5, 2)]),
    (6, [(6, 4), (6, 1)]),
    (6, [(4, 2), (6, 3), (5, 5)]),
    (5, [(5, 0), (3, 0)]),
    (4, [(4, 4), (2, 1)]),
    (1, [(1, 0), (1, 1)]),
)


def two_answers(first: int, second: int, count: float | None = None) -> float:
    """The nats of so many tokens of each row of exercise 4.1, by a count; by theirs if there is none."""
    return (first * math.log(2) + second * math.log(8)) / (count or first + second)


def batches(seed: int) -> list[dict[str, Any]]:
    """Batches of `BATCHES`, and six drawn ones: tokens, prefix_len and valid."""
    draw = torch.Generator().manual_seed(seed)
    shapes = list(BATCHES)
    for _ in range(6):
        real = torch.randint(1, 8, (4,), generator=draw).tolist()
        shapes.append(
            (7, [(n, int(torch.randint(0, n + 1, (), generator=draw))) for n in real]),
        )
    made = []
    for seq_len, rows in shapes:
        valid = torch.arange(seq_len) < torch.tensor([n for n, _ in rows])[:, None]
        tokens = torch.randint(1, V, valid.shape, generator=draw) * valid
        made.append({"tokens": tokens, "prefix_len": torch.tensor([p for _, p in rows]), "valid": valid})
    return made


def places(prefix_len: Tensor, valid: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return (T,) the column, (B, 1) p, and (B, 1) the number of real tokens."""
    return torch.arange(valid.size(1)), prefix_len[:, None], valid.sum(1, keepdim=True)


def moved(tokens: Tensor, scored: Tensor, by: int = 1) -> Tensor:
    """(B, T) labels: in column t token t + by, which goes round at the end, where a row is scored."""
    return tokens.roll(-by, dims=1).masked_fill(~scored, IGNORE)


def row_labels(
    tokens: Tensor, prefix_len: Tensor, valid: Tensor, *, early: int = 0, to: int = -1, by: int = 1
) -> Tensor:
    """What is expected of exercise 4.3; or `early` rows too many, up to real tokens + `to`, moved `by`."""
    place, p, real = places(prefix_len, valid)
    return moved(tokens, (place >= p - 1 - early) & (place < real + to), by)


def next_is_real_going_round(tokens: Tensor, prefix_len: Tensor, valid: Tensor) -> Tensor:
    """`valid` is rolled like the tokens, so that in a full row the last token has the first as label."""
    place, p, _ = places(prefix_len, valid)
    return moved(tokens, (place >= p - 1) & valid & valid.roll(-1, dims=1))


def last_column_closed(tokens: Tensor, prefix_len: Tensor, valid: Tensor) -> Tensor:
    """Only the last column is closed: in a padded row the last token has padding as label."""
    place, p, _ = places(prefix_len, valid)
    return moved(tokens, (place >= p - 1) & valid & (place < len(place) - 1))


def own_labels(tokens: Tensor, prefix_len: Tensor, valid: Tensor) -> Tensor:
    """The labels of the chapter: in column t token t."""
    place, p, _ = places(prefix_len, valid)
    return moved(tokens, valid & (place >= p.clamp(min=1)), by=0)


def everything(tokens: Tensor, prefix_len: Tensor, valid: Tensor) -> Tensor:
    """The prefix is scored too."""
    return row_labels(tokens, torch.zeros_like(prefix_len), valid)


def scored_logits(seed: int) -> list[dict[str, Any]]:
    """The batches again, each with logits before the tokens."""
    draw = torch.Generator().manual_seed(seed)
    return [
        {"logits": 2 * torch.randn(*batch["tokens"].shape, V, generator=draw), **batch}
        for batch in batches(seed)
    ]


def log_probs(
    logits: Tensor,
    tokens: Tensor,
    prefix_len: Tensor,
    valid: Tensor,
    *,
    late: int = 0,
    shift: int = 1,
    over: int = -1,
) -> tuple[Tensor, Tensor]:
    """Return (B, T) log-probabilities of the tokens, 0 where nothing is scored, and (B, T) what is scored.

    Otherwise than asked, `late` target tokens are left out, row t - `shift` guesses token t, and the softmax
    runs `over` another dimension.
    """
    place, p, _ = places(prefix_len, valid)
    rows = logits.double().log_softmax(over)
    guessed = rows.roll(shift, dims=1).gather(-1, tokens[:, :, None])[:, :, 0]
    scored = valid & (place >= (p + late).clamp(min=shift))
    return guessed * scored, scored


def answer_log_probs(logits: Tensor, tokens: Tensor, prefix_len: Tensor, valid: Tensor) -> Tensor:
    """What is expected of exercise 4.4."""
    return log_probs(logits, tokens, prefix_len, valid)[0].sum(1)


def summed(*inputs: Tensor, late: int = 0, shift: int = 1, over: int = -1) -> Tensor:
    """The sum over each row, with other choices than the right ones."""
    return log_probs(*inputs, late=late, shift=shift, over=over)[0].sum(1)


def averaged(*inputs: Tensor, least: int) -> Tensor:
    """The mean per target token; `least` is what an empty target counts as."""
    found, scored = log_probs(*inputs)
    return found.sum(1) / scored.sum(1).clamp(min=least)


def raw_logits(logits: Tensor, tokens: Tensor, prefix_len: Tensor, valid: Tensor) -> Tensor:
    """Logits added up as if they were log-probabilities."""
    _, scored = log_probs(logits, tokens, prefix_len, valid)
    return (logits.roll(1, dims=1).gather(-1, tokens[:, :, None])[:, :, 0] * scored).sum(1)


def last_one_lost(logits: Tensor, tokens: Tensor, prefix_len: Tensor, valid: Tensor) -> Tensor:
    """The last target token isn't counted."""
    found, _ = log_probs(logits, tokens, prefix_len, valid)
    place, _, real = places(prefix_len, valid)
    return (found * (place < real - 1)).sum(1)


def late_is_worse(explorer: Any, p: int) -> bool:
    """Whether the late slice of a loss explorer says more than the right one, at p."""
    right, _, late = explorer.mean_table[explorer.names.index(explorer.model)][p]
    return right is not None and late is not None and late > right


EXERCISES = (
    ValueExercise(
        "4.1",
        "two_answers",
        truth=lambda: two_answers(6, 2),
        form=Number(tolerance=0.005),
        mistakes={
            "This is the mean of the two rows' means: each token counts the same, not each row": (
                lambda: (math.log(2) + math.log(8)) / 2
            ),
            "You left out the first target token of each row: row p - 1 guesses it": lambda: two_answers(
                5, 1
            ),
            "You scored a token too many in each row: the last of the prefix is no target": (
                lambda: two_answers(7, 3)
            ),
            "This is in bits, with the logarithm to base 2; a nat comes of the natural one": (
                lambda: two_answers(6, 2) / math.log(2)
            ),
            "This is made with the logarithm to base 10; a nat comes of the natural one": (
                lambda: two_answers(6, 2) / math.log(10)
            ),
            "This is the logarithm of the mean probability: take logarithms first, then the mean": (
                lambda: -math.log((6 / 2 + 2 / 8) / 8)
            ),
            "You divided by all tokens of the table: the prefix isn't scored": lambda: two_answers(6, 2, 18),
            "You divided by all rows but the last ones, as a causal model's loss does": (
                lambda: two_answers(6, 2, 16)
            ),
            "This is the sum: divide it by the number of tokens that are scored": lambda: two_answers(
                6, 2, 1
            ),
            "A loss has no minus any more: it is minus the logarithm": lambda: -two_answers(6, 2),
        },
        hints=(
            "How many tokens of each row are target tokens? T = 9, and p is 3 and 7.",
            "A target token that is given 1/2 costs log 2. What does one cost that is given 1/8?",
            "Six tokens cost log 2, two cost log 8, which is 3 log 2. Now the mean over all of them.",
        ),
    ),
    StateExercise(
        "4.2",
        "looks_worse",
        kind="LossExplorer",
        given=lambda explorer: explorer.prefix_len == 0,
        goal=lambda explorer: (
            late_is_worse(explorer, explorer.prefix_len)
            and not any(
                late_is_worse(explorer, p) for p in range(explorer.prefix_len + 1, len(explorer.tokens))
            )
        ),
        mistakes={
            "there the late slice has nothing to score: the target must have two tokens at least": (
                lambda explorer: explorer.means["late"] is None
            ),
            "there the late slice makes the model look better than it is, or no other": (
                lambda explorer: not late_is_worse(explorer, explorer.prefix_len)
            ),
            "the late slice says more there, but at a larger p it does so too": lambda _: True,
        },
        hints=(
            "The late slice leaves out the first target token. When does a mean rise if you leave one out?",
            "When what you leave out is below the mean: a token that costs next to nothing.",
            "Come from the right. At which p is the first bar of the target short, and a later one long?",
        ),
    ),
    FunctionExercise(
        "4.3",
        "row_labels",
        inputs=batches,
        truth=row_labels,
        form=Numbers(0.0),
        mistakes=[
            Mistake(
                "the code is as it was handed out", lambda *x: row_labels(*x, early=-1, to=0), as_given=True
            ),
            Mistake(
                "the row of the last prefix token has no label yet, and it guesses the first target token",
                lambda *x: row_labels(*x, early=-1),
            ),
            Mistake(
                "the row of the last real token has a label, though nothing comes after it",
                lambda *x: row_labels(*x, to=0),
            ),
            Mistake(
                "where there is no padding, the last row is to guess the first token: roll goes round",
                next_is_real_going_round,
            ),
            Mistake(
                "where there is padding, the row of the last real token is to guess padding",
                last_column_closed,
            ),
            Mistake(
                "these are labels that aren't shifted: here column t holds what row t has to guess",
                own_labels,
            ),
            Mistake(
                "the row before the last prefix token has a label too, so a prefix token is scored",
                lambda *x: row_labels(*x, early=1),
            ),
            Mistake(
                "the labels are shifted twice: row t is to guess token t + 2",
                lambda *x: row_labels(*x, by=2),
            ),
            Mistake(
                "the labels are shifted the wrong way: row t is to guess the token before it",
                lambda *x: row_labels(*x, by=-1),
            ),
            Mistake(
                "the last target token is never a label: a row too many is closed at the end",
                lambda *x: row_labels(*x, to=-2),
            ),
            Mistake("the prefix is scored too, from its first row on", everything),
        ],
        hints=(
            "Write down the labels of a short row: six tokens, p = 4. Which rows have something to guess?",
            "Rows p - 1 to n - 2, if n tokens are real. Which does the code miss, which has it too many?",
            "`roll` moves the first token to the end. And `valid` is about row t, not about what follows.",
        ),
    ),
    FunctionExercise(
        "4.4",
        "answer_log_probs",
        inputs=scored_logits,
        truth=answer_log_probs,
        form=Numbers(),
        mistakes=[
            Mistake(
                "the first target token of each row is left out: row p - 1 guesses it",
                partial(summed, late=1),
            ),
            Mistake(
                "there is no shift: each row is asked about its own token, and row t guesses token t + 1",
                partial(summed, shift=0),
            ),
            Mistake(
                "the prefix is counted too: only the answer is compared",
                lambda x, t, p, v: answer_log_probs(x, t, torch.zeros_like(p), v),
            ),
            Mistake(
                "padding is counted like real tokens, so that short answers look unlikely",
                lambda x, t, p, v: answer_log_probs(x, t, p, torch.ones_like(v)),
            ),
            *(
                Mistake(
                    "this is the mean per target token, and the sum is wanted", partial(averaged, least=n)
                )
                for n in (0, 1)
            ),
            Mistake(
                "these are losses: a log-probability has no minus before it", lambda *x: -answer_log_probs(*x)
            ),
            Mistake(
                "these are probabilities: their logarithms are wanted", lambda *x: answer_log_probs(*x).exp()
            ),
            Mistake(
                "you added up logits: they become log-probabilities by log_softmax",
                raw_logits,
            ),
            Mistake(
                "the softmax runs over the positions: it has to run over the vocabulary, the last dimension",
                partial(summed, over=1),
            ),
            Mistake(
                "the first row's prefix_len is used for all rows",
                lambda x, t, p, v: answer_log_probs(x, t, p[:1].expand(len(p)), v),
            ),
            Mistake("the last target token of each row isn't counted", last_one_lost),
        ],
        hints=(
            "`logits.log_softmax(-1)` has a log-probability for every symbol. Which one of each row counts?",
            "From row t that of token t + 1: `gather` takes them, after rows and tokens are cut by one each.",
            "Token t counts if it is real and t is p or more. Set the others to 0, then sum over the row.",
        ),
    ),
    FunctionExercise(
        "4.5",
        "diagnose_loss",
        inputs=loss_inputs,
        truth=lambda loss: (diagnose_loss(loss),),
        form=Findings(KINDS),
        mistakes=[Mistake(says, partial(confused, words)) for says, words in CONFUSED.items()],
        hints=(
            "Take models that say token t + k at row t. For which k does each of the losses come to 0?",
            "Three of the five like the perfect model. Take away what it knows about one row. Who minds?",
            "Spoil row p - 1: who doesn't mind? Spoil row 0: only one minds.",
        ),
    ),
)
