"""Rows of ids: the random numbers of each, the documents in it, and how it is read from left to right."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch

from prefixlm_teach.examples import Examples, pad_right
from prefixlm_teach.loss import IGNORE


def row_generator(seed: int, row: int) -> torch.Generator:
    """Return the random numbers of one row: they depend on `seed` and `row`, on no other row.

    A row so keeps its draws when others are added, removed or made longer. Seeds that lie side by side must
    not give rows that are alike, as `seed + row` would: hence the hash.
    """
    digest = hashlib.sha256(f"{seed} {row}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big"))


def chance(rate: float, generator: torch.Generator) -> bool:
    """Return True with a probability of `rate`: never for 0, always for 1."""
    return torch.rand((), generator=generator, dtype=torch.float64).item() < rate


def draw_int(low: int, high: int, generator: torch.Generator) -> int:
    """Return a whole number from `low` to `high`, both included, each as likely."""
    return int(torch.randint(low, high + 1, (), generator=generator))


def documents_of(row: Sequence[int], end: int) -> list[list[int]]:
    """Return the documents of a row, each with its end token, which a last one that was cut off has not."""
    documents: list[list[int]] = [[]]
    for token in row:
        documents[-1].append(token)
        if token == end:
            documents.append([])
    return documents if documents[-1] else documents[:-1]


def causal_examples(rows: Sequence[Sequence[int]], pad_id: int) -> Examples:
    """Return rows as examples that are read from left to right, every token of them a label."""
    tokens, valid = pad_right(rows, pad_id)
    labels = tokens.masked_fill(~valid, IGNORE)
    return Examples(tokens, labels, valid, prefix_len=torch.zeros(len(rows), dtype=torch.int64))
