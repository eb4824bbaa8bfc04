"""The exercises of chapter 6 about choosing tokens: a draft that is checked, and a cut among candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Numbers
from prefixlm_teach.checks.functions import FunctionExercise, Mistake
from prefixlm_teach.checks.row_forms import Listed

ROW_LATE = (
    "each token is held against the row that has read it, and not the one before: row 0 guesses draft[0]"
)


def settled(draft: Tensor, logits: Tensor) -> list[int]:
    """What is expected of exercise 6.3."""
    own = logits.argmax(-1).tolist()
    return own[: agreed(draft, own) + 1]


def agreed(draft: Tensor, own: Sequence[int]) -> int:
    """Return how many tokens of a draft are those of `own`, up to the first that isn't."""
    length = min(len(draft), len(own))
    return next((i for i in range(length) if draft[i] != own[i]), length)


def row_late(draft: Tensor, logits: Tensor) -> list[int]:
    """Each token is held against the row that has read it; the model's own comes from such a row too."""
    own = logits.argmax(-1).tolist()
    n = agreed(draft, own[1:])
    return [*draft[:n].tolist(), own[min(n + 1, len(draft))]]


def row_late_then_not(draft: Tensor, logits: Tensor) -> list[int]:
    """The same, but the model's own token comes from the right row."""
    own = logits.argmax(-1).tolist()
    n = agreed(draft, own[1:])
    return [*draft[:n].tolist(), own[n]]


def refused_stays(draft: Tensor, logits: Tensor) -> list[int]:
    """The first token that disagrees is kept, instead of the model's own."""
    n = agreed(draft, logits.argmax(-1).tolist())
    return draft[: n + 1].tolist() if n < len(draft) else settled(draft, logits)


def past_the_refused(draft: Tensor, logits: Tensor) -> list[int]:
    """Wherever draft and model agree, the token is kept; then comes the last row's."""
    own = logits.argmax(-1).tolist()
    return [*(token for token, guess in zip(draft.tolist(), own, strict=False) if token == guess), own[-1]]


def all_or_nothing(draft: Tensor, logits: Tensor) -> list[int]:
    """The draft is kept if all of it is right."""
    own = logits.argmax(-1).tolist()
    return own if own[:-1] == draft.tolist() else own[:1]


def correction_late(draft: Tensor, logits: Tensor) -> list[int]:
    """The model's own token comes from the row that has read the refused one."""
    own = logits.argmax(-1).tolist()
    n = agreed(draft, own)
    return [*own[:n], own[min(n + 1, len(draft))]]


def drafts(seed: int) -> list[dict[str, Any]]:
    """Drafts that are right, wrong at once, wrong and right again, empty, of one token, and twelve drawn."""
    draw = torch.Generator().manual_seed(seed)
    by_hand: tuple[list[int], ...] = ([4, 1, 5], [3, 1, 5], [4, 2, 5, 3], [], [2], [0])
    model = ([4, 1, 5, 0], [4, 1, 5, 0], [4, 3, 5, 3, 1], [3], [2, 5], [2, 5])
    cases = [
        (torch.tensor(row, dtype=torch.int64), torch.tensor(own))
        for row, own in zip(by_hand, model, strict=True)
    ]
    for _ in range(12):
        own = torch.randint(0, 6, (6,), generator=draw)
        wrong = torch.rand(5, generator=draw) < 0.3
        cases.append(((own[:-1] + wrong.long()) % 6, own))
    noise = [torch.randn(len(own), 6, generator=draw) for _, own in cases]
    return [
        {"draft": draft, "logits": rows.scatter(1, own[:, None], 5.0)}
        for (draft, own), rows in zip(cases, noise, strict=True)
    ]


def kept_shares(logits: Tensor, temperature: float, m: float) -> Tensor:
    """What is expected of exercise 6.5."""
    shares = (logits / temperature).softmax(-1)
    return whole(shares, shares < m * shares.amax(-1, keepdim=True))


def whole(shares: Tensor, cut: Tensor) -> Tensor:
    """Return shares without those that are cut, each row with the sum 1."""
    shares = shares.masked_fill(cut, 0.0)
    return shares / shares.sum(-1, keepdim=True)


def cut_before_temperature(logits: Tensor, temperature: float, m: float) -> Tensor:
    """The shares of temperature 1 decide what stays."""
    plain = logits.softmax(-1)
    return whole((logits / temperature).softmax(-1), plain < m * plain.amax(-1, keepdim=True))


def of_the_batch(logits: Tensor, temperature: float, m: float) -> Tensor:
    """The likeliest token of the batch decides for all examples."""
    shares = (logits / temperature).softmax(-1)
    return whole(shares, shares < m * shares.max())


def absolute(logits: Tensor, temperature: float, m: float) -> Tensor:
    """What has a share of at least m stays."""
    shares = (logits / temperature).softmax(-1)
    return whole(shares, shares < m)


def without_the_likeliest(logits: Tensor, temperature: float, m: float) -> Tensor:
    """What has exactly the share asked for is cut."""
    shares = (logits / temperature).softmax(-1)
    return whole(shares, shares <= m * shares.amax(-1, keepdim=True))


def not_whole(logits: Tensor, temperature: float, m: float) -> Tensor:
    """What stays keeps the share it had."""
    shares = (logits / temperature).softmax(-1)
    return shares.masked_fill(shares < m * shares.amax(-1, keepdim=True), 0.0)


def softmax_twice(logits: Tensor, temperature: float, m: float) -> Tensor:
    """What stays goes through a second softmax."""
    shares = (logits / temperature).softmax(-1)
    return shares.masked_fill(shares < m * shares.amax(-1, keepdim=True), -torch.inf).softmax(-1)


def over_the_examples(logits: Tensor, temperature: float, m: float) -> Tensor:
    """The softmax runs over the batch."""
    shares = (logits / temperature).softmax(0)
    return whole(shares, shares < m * shares.amax(-1, keepdim=True))


def logits_compared(logits: Tensor, temperature: float, m: float) -> Tensor:
    """The logits are compared with their largest."""
    scores = logits / temperature
    return whole(scores.softmax(-1), scores < m * scores.amax(-1, keepdim=True))


def score_inputs(seed: int) -> list[dict[str, Any]]:
    """Logits of one example and of several, hot and cold; m small, large and 1."""
    draw = torch.Generator().manual_seed(seed)
    cases: list[dict[str, Any]] = [
        {"logits": torch.tensor([[1.0, 2.0, 0.0, -1.0]]), "temperature": 1.0, "m": 0.2},
        {"logits": torch.tensor([[1.0, 4.0, 3.0], [1.2, 0.9, 1.0]]), "temperature": 1.0, "m": 0.5},
    ]
    for temperature in (0.5, 1.0, 2.0):
        for m in (0.05, 0.3, 1.0):
            logits = 2 * torch.randn(3, 6, generator=draw)
            cases.append({"logits": logits, "temperature": temperature, "m": m})
    return cases


DRAFT = FunctionExercise(
    "6.3",
    "settled_tokens",
    inputs=drafts,
    truth=settled,
    form=Listed(),
    mistakes=[
        Mistake(ROW_LATE, row_late),
        Mistake(ROW_LATE, row_late_then_not),
        Mistake(
            "the model's own token is missing: the first row that disagrees, or the last one, gives it",
            lambda draft, logits: settled(draft, logits)[:-1],
        ),
        Mistake(
            "the first wrong token of the draft stays in: the model's own comes in its place",
            refused_stays,
        ),
        Mistake(
            "no row is doubted: those after the first wrong token have read it, so their guesses don't count",
            lambda draft, logits: logits.argmax(-1),
        ),
        Mistake("tokens after the first wrong one are kept: their rows have read it", past_the_refused),
        Mistake(
            "when the whole draft is right, the last row's token is lost",
            lambda draft, logits: settled(draft, logits)[: len(draft)],
        ),
        Mistake("the draft is kept whole or not at all: its right beginning is settled too", all_or_nothing),
        Mistake(
            "the model's own token comes from the row that has read the wrong one: a row earlier",
            correction_late,
        ),
        Mistake("the draft is returned unchecked", lambda draft, logits: draft),
    ],
    hints=(
        "Row 0 has read nothing of the draft. About which token does it say something?",
        "Row i guesses draft[i]. While its likeliest token is that one, go on. What has the next row read?",
        "The first row that disagrees has read right tokens only: its own guess is settled, and none after.",
    ),
)

CUT = FunctionExercise(
    "6.5",
    "kept_shares",
    inputs=score_inputs,
    truth=kept_shares,
    form=Numbers(),
    mistakes=[
        Mistake("nothing is cut", lambda logits, temperature, m: (logits / temperature).softmax(-1)),
        Mistake("a share is compared with m alone: compare it with m times the likeliest one's", absolute),
        Mistake("what stays doesn't add up to 1: divide it by its sum", not_whole),
        Mistake(
            "the temperature multiplies the logits: it divides them",
            lambda logits, temperature, m: kept_shares(logits, 1 / temperature, m),
        ),
        Mistake(
            "the cut is made before the temperature: compare the shares after it", cut_before_temperature
        ),
        Mistake("the logits are compared: compare the shares", logits_compared),
        Mistake(
            "one token is the measure for the whole batch: each example has its own likeliest",
            of_the_batch,
        ),
        Mistake(
            "the shares are sorted: return them in the order of the vocabulary",
            lambda logits, temperature, m: (
                kept_shares(logits, temperature, m).sort(-1, descending=True).values
            ),
        ),
        Mistake("the softmax runs over the examples: it runs over the vocabulary", over_the_examples),
        Mistake(
            "at m = 1 nothing is left: the likeliest has exactly the share that is asked for",
            without_the_likeliest,
        ),
        Mistake("what stays goes through a second softmax: divide it by its sum instead", softmax_twice),
    ],
    hints=(
        "First the shares: the softmax of logits / temperature, over the vocabulary.",
        "amax(-1, keepdim=True) is the likeliest one's share, for each example. What is compared with it?",
        "Put 0 where a share is below m times that, then divide each row by its sum.",
    ),
)
