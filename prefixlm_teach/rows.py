"""Rows of ids: the random draws of each, the documents in it, and how rows of all lengths become a tensor."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from prefixlm_teach.row_arguments import check_id, check_rows


def row_draws(seed: int, row: int) -> np.random.Generator:
    """Return the random draws of one row, which depend on the seed and on its number, not on other rows.

    A row so keeps its draws when others are added, removed or made longer. Two pairs of a seed and a row
    below 2 ** 32 never share them: NumPy makes one word of each of the two numbers.
    """
    return np.random.default_rng([operator.index(seed), row])


def chance(rate: float, draws: np.random.Generator) -> bool:
    """Return True with a probability of `rate`: never for 0, always for 1."""
    return bool(draws.random() < rate)


def draw_int(low: int, high: int, draws: np.random.Generator) -> int:
    """Return a whole number from `low` to `high`, both included, each as likely."""
    return int(draws.integers(low, high, endpoint=True))


def documents_of(row: Sequence[int], end: int) -> list[list[int]]:
    """Return the documents of a row, each with its end token, which a last one that was cut off has not."""
    documents: list[list[int]] = [[]]
    for token in row:
        documents[-1].append(operator.index(token))
        if token == end:
            documents.append([])
    return documents if documents[-1] else documents[:-1]


def pad_right(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Return rows of ids as (B, T) int64 tokens, padded on the right, and which are real: (B, T) booleans.

    They are on the CPU, whatever the default device is.
    """
    check_rows(rows)
    check_id("pad_id", pad_id)
    longest = max(len(row) for row in rows)
    tokens = torch.full((len(rows), longest), operator.index(pad_id), device="cpu")
    valid = torch.zeros(len(rows), longest, dtype=torch.bool, device="cpu")
    for i, row in enumerate(rows):
        # without a dtype PyTorch refuses NumPy's unsigned ids beside plain ones, such as an end
        tokens[i, : len(row)] = torch.tensor(row, dtype=torch.int64, device="cpu")
        valid[i, : len(row)] = True
    return tokens, valid
