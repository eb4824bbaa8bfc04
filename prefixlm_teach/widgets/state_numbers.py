"""The numbers of the state explorer: what is in the state when a row reads it, and what that has cost.

The sums are those of `linear_state`. The page works out the same from the same table, and both write a number
in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from prefixlm_teach.linear_state import LinearState, elu_features, empty_state

NUDGE = 1e-6  # what two machines' rounding may differ by, and far more; it never shows

Table = tuple[tuple[tuple[float, ...], ...], ...]  # q, k and v: T rows of d numbers each


def table_of(q: Tensor, k: Tensor, v: Tensor) -> Table:
    """Round (T, d) queries, keys and values to hundredths: what the page carries."""
    return tuple(
        tuple(tuple(round(x, 2) for x in row) for row in part.detach().cpu().double().tolist())
        for part in (q, k, v)
    )


def features_of(table: Sequence[Sequence[Sequence[float]]]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the features of the queries and of the keys, and the values, (1, 1, T, d) float64 each."""
    q, k, v = torch.tensor(table, dtype=torch.float64, device="cpu")[:, None, None]
    return elu_features(q), elu_features(k), v


def seen_by(row: int, prefix_len: int) -> int:
    """How many tokens are in the state that a row reads: itself and all before it, or the whole prefix."""
    return max(row + 1, prefix_len)


def sum_up(features: Tensor, values: Tensor, first: int, last: int) -> LinearState:
    """Return what tokens `first` to `last` - 1 alone add up to."""
    k, v = features[:, :, first:last], values[:, :, first:last]
    return empty_state(k, v).add(k, v)


def grid_of(state: LinearState) -> Tensor:
    """Return the (d, d + 1) numbers of a state: S, a line for each feature of the key, and z at its right."""
    return torch.cat([state.memory[0, 0], state.normaliser[0, 0, :, None]], dim=-1)


def count_work(row: int, prefix_len: int, d: int) -> dict[str, dict[str, int]]:
    """Count what has been done when a row is read, token by token, for one head of d numbers.

    A token is added by d * d multiplications, and a row reads S by d * d and z by d. A visible pair takes
    d for its similarity and d for its value. The causal form is what a model without a prefix has to do.

    Returns:
        For each of three headings the figures, by name.
    """
    rows, tokens = row + 1, seen_by(row, prefix_len)
    add, read = d * d, d * d + d
    pairs = sum(seen_by(r, prefix_len) for r in range(rows))
    return {
        "States made so far": {
            "prefix form": tokens - max(prefix_len, 1) + 1,
            "causal form": rows,
        },
        "Multiplications so far": {
            "prefix form": tokens * add + rows * read,
            "causal form": rows * (add + read),
            "pair by pair": pairs * 2 * d,
        },
        "Numbers kept for what follows": {
            "state (S and z)": d * d + d,
            "key-value cache": tokens * 2 * d,
        },
    }


def highest_work(seq_len: int, d: int) -> dict[str, int]:
    """Return for each heading of `count_work` the most that any figure under it comes to, in any row."""
    ends = [count_work(seq_len - 1, p, d) for p in (0, seq_len)]
    return {heading: max(max(end[heading].values()) for end in ends) for heading in ends[0]}


def write_number(number: float, *, signed: bool = True) -> str:
    """Write a number in three digits, or more where it is 1,000 or larger: +1.25, −0.08, 12.5."""
    for digits in (2, 1, 0):
        whole = math.floor(abs(number) * 10**digits + 0.5 + NUDGE)
        if whole < 1000:
            break
    sign = "" if not signed or whole == 0 else "+" if number > 0 else "−"
    return f"{sign}{whole / 10**digits:.{digits}f}"


def share_of(number: float, highest: float) -> int:
    """How large a number is beside the highest, in percent, whatever its sign."""
    return math.floor(100 * abs(number) / highest + 0.5 + NUDGE) if highest else 0
