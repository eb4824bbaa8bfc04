"""Exercise 10.2: two softmaxes that should be one. What is expected, and what else people write."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Mixed = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def shown(q: Tensor, memory_valid: Tensor) -> tuple[Tensor, Tensor]:
    """Return (R, S) booleans, which of the memory a row sees, and (R, R), which of its own past."""
    rows = q.size(0)
    return memory_valid.expand(rows, -1), torch.ones(rows, rows, dtype=torch.bool).tril()


def scored(q: Tensor, k: Tensor) -> Tensor:
    """(R, N) scores."""
    return q @ k.T / math.sqrt(q.size(-1))


def mixed(scores: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """(R, d) values, mixed under a mask."""
    return scores.masked_fill(~mask, -math.inf).softmax(-1) @ v


def joined(
    *, memory_open: bool = False, future_open: bool = False, swapped_mask: bool = False, root: bool = True
) -> Mixed:
    """One softmax over memory and past, with a fault or without."""

    def attend(
        q: Tensor, k: Tensor, v: Tensor, memory_k: Tensor, memory_v: Tensor, memory_valid: Tensor
    ) -> Tensor:
        memory, past = shown(q, torch.ones_like(memory_valid) if memory_open else memory_valid)
        parts = [memory, torch.ones_like(past) if future_open else past]
        mask = torch.cat(parts[::-1] if swapped_mask else parts, dim=1)
        scores = scored(q, torch.cat([memory_k, k]))
        return mixed(scores if root else scores * math.sqrt(q.size(-1)), torch.cat([memory_v, v]), mask)

    return attend


one_softmax = joined()


def two(
    q: Tensor, k: Tensor, v: Tensor, memory_k: Tensor, memory_v: Tensor, memory_valid: Tensor
) -> tuple[Tensor, Tensor]:
    """What a softmax of its own makes of the memory, and one of the past."""
    memory, past = shown(q, memory_valid)
    return mixed(scored(q, memory_k), memory_v, memory), mixed(scored(q, k), v, past)


def handed_out(*given: Tensor) -> Tensor:
    """The code that is handed out: two softmaxes, added."""
    of_memory, of_past = two(*given)
    return of_memory + of_past


def halved(*given: Tensor) -> Tensor:
    """The mean of the two."""
    return handed_out(*given) / 2


def upper_left(
    q: Tensor, k: Tensor, v: Tensor, memory_k: Tensor, memory_v: Tensor, memory_valid: Tensor
) -> Tensor:
    """One softmax, causal from the first column of the memory."""
    everything = torch.cat([memory_k, k])
    seen = torch.ones(len(q), len(everything), dtype=torch.bool).tril()
    seen[:, : len(memory_valid)] &= memory_valid
    return mixed(scored(q, everything), torch.cat([memory_v, v]), seen)


def exchanged(
    q: Tensor, k: Tensor, v: Tensor, memory_k: Tensor, memory_v: Tensor, memory_valid: Tensor
) -> Tensor:
    """Keys with the memory first, values with the past first."""
    mask = torch.cat(shown(q, memory_valid), dim=1)
    return mixed(scored(q, torch.cat([memory_k, k])), torch.cat([v, memory_v]), mask)


def set_to_0(
    q: Tensor, k: Tensor, v: Tensor, memory_k: Tensor, memory_v: Tensor, memory_valid: Tensor
) -> Tensor:
    """Hidden scores become 0."""
    mask = torch.cat(shown(q, memory_valid), dim=1)
    return (scored(q, torch.cat([memory_k, k])) * mask).softmax(-1) @ torch.cat([memory_v, v])


def too_late(
    q: Tensor, k: Tensor, v: Tensor, memory_k: Tensor, memory_v: Tensor, memory_valid: Tensor
) -> Tensor:
    """Hidden weights become 0."""
    mask = torch.cat(shown(q, memory_valid), dim=1)
    return (scored(q, torch.cat([memory_k, k])).softmax(-1) * mask) @ torch.cat([memory_v, v])


WRONG_MERGES: list[tuple[str, Mixed]] = [
    ("half of each isn't one softmax: which side gets more is up to the scores of the row", halved),
    ("the padding of the memory takes its share", joined(memory_open=True)),
    ("the target sees its own future: in its columns the mask is causal", joined(future_open=True)),
    ("causal is counted from the upper left corner: the memory is hidden from the first rows", upper_left),
    ("keys and values are joined in different orders", exchanged),
    ("the mask has the past first, and the keys have the memory first", joined(swapped_mask=True)),
    ("the square root of the width is gone", joined(root=False)),
    ("the target's own past is gone", lambda *given: two(*given)[0]),
    ("the memory is gone", lambda *given: two(*given)[1]),
    ("a hidden score is set to 0, and e to the power of 0 is 1", set_to_0),
    ("zeroing weights after the softmax is too late: what is hidden has had a share", too_late),
]


def merge_inputs(seed: int) -> list[dict[str, Any]]:
    """As many rows as memory, one row, one of memory, a padded memory, nothing but padding, and six drawn."""
    draw = torch.Generator().manual_seed(seed)
    valids = [
        (3, [True] * 3),
        (1, [True] * 4),
        (4, [True]),
        (2, [False, True, True, True]),
        (3, [False, False]),
        *((2 + i, (torch.rand(5, generator=draw) < 0.7).tolist()) for i in range(6)),
    ]
    cases = []
    for rows, valid in valids:
        q, k, v = torch.randn(3, rows, 4, generator=draw) * 2
        memory_k, memory_v = torch.randn(2, len(valid), 4, generator=draw) * 2
        cases.append(
            {
                **{"q": q, "k": k, "v": v, "memory_k": memory_k, "memory_v": memory_v},
                "memory_valid": torch.tensor(valid),
            }
        )
    return cases
