"""The exercises of chapter 7 that measure models from outside, and the small models that they measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.functions import FunctionExercise, Mistake
from prefixlm_teach.checks.row_forms import Listed

V, D, LONGEST = 16, 6, 10
FAINT = 1e-9  # how little a row makes of what it sees, in a model that a tolerance takes for blind
_draw = torch.Generator().manual_seed(7)
VECTORS, PLACES, MIX, OUT = (
    torch.randn(rows, columns, generator=_draw, dtype=torch.float64)
    for rows, columns in ((V, D), (LONGEST, D), (D, D), (D, V))
)
ROW_0 = slice(0, 1)
Same = Callable[[Tensor, Tensor], Tensor]
LogitsOf = Callable[[Tensor], Tensor]


def answer_of(tokens: Tensor, mask: Tensor, layers: int, *, alike: int = 1, weight: float = 1.0) -> Tensor:
    """Return the (B, T, V) logits of a model that mixes, in each layer, what (B, T, T) booleans let it see.

    Args:
        tokens: (B, T) ids.
        mask: True = may attend.
        layers: how many times it mixes.
        alike: as many neighbouring ids mean the same to it.
        weight: how much it makes of what it sees.
    """
    h = VECTORS[tokens // alike] + PLACES[: tokens.size(1)]
    shares = mask.double() / mask.sum(-1, keepdim=True).clamp(min=1)
    for _ in range(layers):
        h = h + weight * (shares @ (h @ MIX).tanh())
    return h @ OUT


@dataclass(frozen=True)
class Split:
    """A prefix LM whose split nobody tells: called with (B, T) ids, it returns (B, T, V) logits.

    Attributes:
        prefix_len: (B,) the number of prefix tokens.
        alike: as for `answer_of`.
        weight: as for `answer_of`.
    """

    prefix_len: Tensor
    alike: int = 1
    weight: float = 1.0

    def __call__(self, tokens: Tensor) -> Tensor:
        """Return the (B, T, V) logits."""
        place = torch.arange(tokens.size(1))
        mask = (place <= place[:, None]) | (place < self.prefix_len[:, None, None])
        return answer_of(tokens, mask, 2, alike=self.alike, weight=self.weight)


def used_prefix(logits_of: Split, tokens: Tensor) -> list[int]:
    """What is expected of exercise 7.3."""
    return [max(1, int(p)) for p in logits_of.prefix_len]


def other(ids: Tensor, step: int) -> Tensor:
    """Return for each id the one that comes `step` later, and after the last the first."""
    return (ids + step) % V


def is_equal(before: Tensor, after: Tensor) -> Tensor:
    """Whether two rows are equal to the last bit."""
    return (before == after).all(-1)


def is_close(before: Tensor, after: Tensor) -> Tensor:
    """Whether two rows are nearly equal."""
    return before.isclose(after).all(-1)


def reach(
    logits_of: LogitsOf,
    tokens: Tensor,
    exchange: Callable[[Tensor], Tensor],
    rows: slice = ROW_0,
    same: Same = is_equal,
) -> Tensor:
    """Return (B,) one more than the last column that moves one of the rows when it is exchanged."""
    before, found = logits_of(tokens)[:, rows], torch.ones(len(tokens), dtype=torch.int64)
    for k in range(1, tokens.size(1)):
        changed = tokens.clone()
        changed[:, k] = exchange(tokens[:, k])
        found[~same(before, logits_of(changed)[:, rows]).all(-1)] = k + 1
    return found


def fully(logits_of: LogitsOf, tokens: Tensor, **how: Any) -> Tensor:
    """Return what `reach` finds when each token is exchanged for all others in turn."""
    found = [reach(logits_of, tokens, partial(other, step=step), **how) for step in range(1, V)]
    return torch.stack(found).amax(0)


def split_inputs(seed: int) -> list[dict[str, Any]]:
    """Splits at both ends, ids that mean the same, many of id 0, faint sight; and six drawn."""
    draw = torch.Generator().manual_seed(seed)
    cases = [
        (Split(torch.tensor([3])), torch.tensor([[3, 1, 4, 1, 5, 9]])),
        (Split(torch.tensor([0, 1, 6])), torch.randint(0, V, (3, 6), generator=draw)),
        (Split(torch.tensor([4, 2])), torch.tensor([[7, 7, 7, 0, 0, 7], [5, 0, 5, 0, 5, 0]])),
        (Split(torch.tensor([4, 3]), alike=4), torch.tensor([[1, 6, 8, 12, 5], [4, 5, 0, 9, 2]])),
        (Split(torch.tensor([5, 3]), weight=FAINT), torch.randint(0, V, (2, 7), generator=draw)),
        (Split(torch.tensor([1])), torch.tensor([[2]])),
    ]
    for _ in range(6):
        p = torch.randint(0, 8, (3,), generator=draw)
        cases.append((Split(p, alike=4), torch.randint(0, V, (3, 7), generator=draw)))
    return [{"logits_of": model, "tokens": tokens} for model, tokens in cases]


@dataclass(frozen=True)
class Padded:
    """A prefix LM that may show its padding: called as `model(tokens, prefix_len, valid=valid)`.

    Attributes:
        leak: "" for none; "opened last", where the prefix is opened after padding is closed; "in the prefix",
            where that happens to the prefix's own rows alone; "everything".
        weight: as for `answer_of`.
    """

    leak: str = ""
    weight: float = 1.0

    def __call__(self, tokens: Tensor, prefix_len: Tensor, *, valid: Tensor | None = None) -> Tensor:
        """Return the (B, T, V) logits."""
        valid = torch.ones_like(tokens, dtype=torch.bool) if valid is None else valid
        place = torch.arange(tokens.size(1))
        ends = valid.int().argmax(-1) + prefix_len  # (B,): the column where the prefix ends
        opened = place < ends[:, None, None]  # (B, 1, T)
        causal, real = place <= place[:, None], valid[:, None]
        mask = {
            "": (causal | opened) & real,
            "opened last": (causal & real) | opened,
            "in the prefix": ((causal | opened) & real) | (opened & opened.mT),
            "everything": torch.ones_like(causal & real),
        }[self.leak]
        return answer_of(tokens, mask, 1, weight=self.weight)


def pads_are_hidden(model: Padded, tokens: Tensor, prefix_len: Tensor, valid: Tensor) -> list[bool]:
    """What is expected of exercise 7.4."""
    found = [still(model, tokens, prefix_len, valid, exchange=shifted(step)) for step in range(1, V)]
    return [bool(each) for each in torch.stack(found).all(0)]


def shifted(step: int) -> Callable[[Tensor, Tensor], Tensor]:
    """Return what exchanges each pad for another id, `step` away."""
    return lambda tokens, valid: torch.where(valid, tokens, other(tokens, step))


NEXT_ID = shifted(1)


def filled(pad: int) -> Callable[[Tensor, Tensor], Tensor]:
    """Return what exchanges each pad for one and the same id."""
    return lambda tokens, valid: tokens.masked_fill(~valid, pad)


def still(
    model: Padded,
    tokens: Tensor,
    prefix_len: Tensor,
    valid: Tensor,
    *,
    exchange: Callable[[Tensor, Tensor], Tensor] = NEXT_ID,
    same: Same = is_equal,
    counted: Callable[[Tensor], Tensor] = lambda valid: valid,
    told: bool = True,
) -> Tensor:
    """Return (B,) booleans: whether no row that is counted moves when the pads are exchanged."""
    given = {"valid": valid} if told else {}
    before = model(tokens, prefix_len, **given)
    after = model(exchange(tokens, valid), prefix_len, **given)
    return (same(before, after) | ~counted(valid)).all(-1)


def last_real(valid: Tensor) -> Tensor:
    """(B, T) booleans: True at the last real token of each row."""
    columns = torch.arange(valid.size(1)) * valid
    return torch.arange(valid.size(1)) == columns.amax(-1, keepdim=True)


def padded_inputs(seed: int) -> list[dict[str, Any]]:
    """Every leak and none, pads of id 0 and of others, on both sides and nowhere; then each id as a pad."""
    draw = torch.Generator().manual_seed(seed)
    left = torch.tensor([[False] * 2 + [True] * 5, [True] * 7])
    right = torch.tensor([[True] * 7, [True] * 5 + [False] * 2])
    cases = [
        (leak, 1.0, side, 0)
        for leak in ("opened last", "", "everything", "in the prefix")
        for side in (left, right)
    ]
    cases += [("", 1.0, left, 5), ("opened last", FAINT, left, 0), ("", 1.0, torch.ones_like(left), 0)]
    cases += [("opened last", 1.0, left, pad) for pad in range(V)]
    return [
        {
            "model": Padded(leak, weight),
            "tokens": torch.randint(0, V, valid.shape, generator=draw).masked_fill(~valid, pad),
            "prefix_len": torch.tensor([3, 2]),
            "valid": valid,
        }
        for leak, weight, valid, pad in cases
    ]


SPLIT = FunctionExercise(
    "7.3",
    "used_prefix",
    inputs=split_inputs,
    truth=used_prefix,
    form=Listed(),
    mistakes=[
        Mistake(
            "this is the index of the last prefix token: p is their number, one more",
            lambda logits_of, tokens: fully(logits_of, tokens) - 1,
        ),
        Mistake(
            "one too many: if column k is the last that row 0 sees, p is k + 1",
            lambda logits_of, tokens: fully(logits_of, tokens) + 1,
        ),
        Mistake(
            "a causal model counts as 1 here, not as 0",
            lambda logits_of, tokens: [p if p > 1 else 0 for p in used_prefix(logits_of, tokens)],
        ),
        Mistake(
            "you ask a row that sees the token in any case, such as its own or the last: ask row 0",
            lambda logits_of, tokens: fully(logits_of, tokens, rows=slice(None)),
        ),
        Mistake(
            "the first example's p is given to all",
            lambda logits_of, tokens: fully(logits_of, tokens)[:1].expand(len(tokens)),
        ),
        Mistake(
            "the longest prefix of the batch is given to all: ask each example's own row 0",
            lambda logits_of, tokens: fully(logits_of, tokens).amax().expand(len(tokens)),
        ),
        Mistake(
            "each token is exchanged for 0, and some are 0 already",
            lambda logits_of, tokens: reach(logits_of, tokens, torch.zeros_like),
        ),
        Mistake(
            "one other id isn't enough: to some models it means the same, so try several",
            lambda logits_of, tokens: reach(logits_of, tokens, partial(other, step=1)),
        ),
        Mistake(
            "a tolerance hides sight that is faint: equal arithmetic gives equal bits, so compare exactly",
            lambda logits_of, tokens: fully(logits_of, tokens, same=is_close),
        ),
    ],
    hints=(
        "Which row sees the prefix and nothing else? Exchange a token, and watch that row.",
        "Exchange column k in all examples at once: neighbours don't leak. Which examples' row 0 moved?",
        "The last column that moves it is p - 1. Try several other ids in each column before you go on.",
    ),
)

PADS = FunctionExercise(
    "7.4",
    "pads_are_hidden",
    inputs=padded_inputs,
    truth=pads_are_hidden,
    form=Listed(),
    mistakes=[
        Mistake(
            "the code is as it was handed out",
            lambda *given: still(*given, exchange=filled(0), counted=torch.ones_like),
            as_given=True,
        ),
        *(
            Mistake(
                "all pads are exchanged for one and the same id, and where it stands already nothing changes",
                lambda *given, pad=pad: still(*given, exchange=filled(pad)),
            )
            for pad in range(V)
        ),
        Mistake(
            "rows at pads are counted: each moves with its own token, and means nothing",
            lambda *given: still(*given, counted=torch.ones_like),
        ),
        Mistake(
            "only each example's last row is looked at: others may see the pads",
            lambda *given: still(*given, counted=last_real),
        ),
        Mistake(
            "there is one verdict for the whole batch: each example has its own",
            lambda *given: still(*given).all(),
        ),
        Mistake(
            "there is one verdict for the whole batch: each example has its own",
            lambda *given: still(*given).all().expand(len(given[1])),
        ),
        Mistake(
            "True stands where pads are seen: it should stand where they are hidden",
            lambda *given: ~still(*given),
        ),
        Mistake(
            "real tokens are exchanged as well, and rows move for that reason",
            lambda *given: still(*given, exchange=lambda tokens, valid: other(tokens, 1)),
        ),
        Mistake(
            "the model isn't told where the padding is, so it can't hide it: call it with valid=valid",
            lambda *given: still(*given, told=False),
        ),
        Mistake(
            "a tolerance hides sight that is faint: equal arithmetic gives equal bits, so compare exactly",
            lambda *given: still(*given, same=is_close),
        ),
    ],
    hints=(
        "Give it a model that sees everything, and print `changed` beside `tokens`. What is different?",
        "Add a number to the pads' ids, modulo 16. Which rows move now even if the model is right?",
        "A row at a pad reads its own token. Leave those rows out before you ask whether all are equal.",
    ),
)
