"""Several documents in one row, each blind to the others: less padding, and the same loss.

A document keeps its own prefix, its own positions and its own labels. What changes is the mask, which closes
every cell between two documents; the first token of a document is predicted by nothing, as before.

Source: Krell et al. 2021 (arXiv:2107.02027).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

import torch

from prefixlm_teach.examples import Examples
from prefixlm_teach.loss import IGNORE
from prefixlm_teach.masks import create_prefix_lm_mask
from prefixlm_teach.objective_arguments import check_packing
from prefixlm_teach.row_arguments import check_id, check_kind


def pack(examples: Examples, max_len: int, *, pad_id: int = 0) -> Examples:
    """Return the same examples in fewer rows, several documents to a row.

    Mean loss, sum of losses and gradients are those of the separate rows. A model with rotary positions
    refuses positions, and needs none: a document that is moved along the row as a whole keeps all its
    distances. Leave them out for it, by `dataclasses.replace(packed, positions=None)`. An encoder-decoder
    cannot read a packed row.

    Args:
        examples: one document each, with a `prefix_len` or a `mask`.
        max_len: the highest number of tokens in a row. A model with learned positions only needs as many as
            the longest document has, a rotary one as many as the longest row.
        pad_id: the id that fills up the shorter rows.

    Returns:
        Examples with `mask` and `positions`, in the rows that `first_fit` gives, without `kinds`.

    Raises:
        TypeError, ValueError: an argument has the wrong kind or range, or a document is longer than a row.
    """
    check_kind("examples", examples, Examples)
    check_id("pad_id", pad_id)
    lengths: list[int] = examples.valid.sum(-1).tolist()
    check_packing(lengths, max_len)
    B, T = examples.tokens.shape
    mask = examples.mask
    if mask is None:
        assert examples.prefix_len is not None  # noqa: S101 - for the type checker
        mask = create_prefix_lm_mask(T, examples.prefix_len, valid=examples.valid)
    mask = mask.expand(B, 1, T, T)
    positions = examples.positions
    if positions is None:
        positions = torch.arange(T, device=mask.device).expand(B, T)

    rows = first_fit(lengths, max_len)
    shape = (len(rows), max(sum(lengths[i] for i in row) for row in rows))
    tokens, labels = examples.tokens.new_full(shape, pad_id), examples.labels.new_full(shape, IGNORE)
    valid, at = mask.new_zeros(shape), positions.new_zeros(shape)
    seen = mask.new_zeros(len(rows), 1, shape[1], shape[1])
    for r, row in enumerate(rows):
        start = 0
        for i in row:
            n = lengths[i]
            here = slice(start, start + n)
            tokens[r, here] = examples.tokens[i, :n]
            labels[r, here] = examples.labels[i, :n]
            if not examples.cloze:
                labels[r, start] = IGNORE  # the row before belongs to another document
            valid[r, here] = True
            at[r, here] = positions[i, :n]
            seen[r, 0, here, here] = mask[i, 0, :n, :n]
            start += n
    return Examples(tokens, labels, valid, mask=seen, positions=at, cloze=examples.cloze)


def first_fit(lengths: Sequence[int], max_len: int) -> list[list[int]]:
    """Return which documents share a row: each, in order, goes into the first row with room for it.

    Args:
        lengths: the number of tokens of each document.
        max_len: the highest number of tokens in a row.

    Returns:
        For each row the numbers of its documents, from left to right.

    Raises:
        TypeError, ValueError: a number is not whole or out of range, or a document is longer than a row.
    """
    check_packing(lengths, max_len)
    sizes = [operator.index(length) for length in lengths]
    shortest = min(sizes)
    rows: list[list[int]] = []
    room: dict[int, int] = {}  # what is left in each row that can still take a document
    for d, size in enumerate(sizes):
        row = next((r for r, left in room.items() if left >= size), len(rows))
        if row == len(rows):
            rows.append([])
            room[row] = operator.index(max_len)
        rows[row].append(d)
        room[row] -= size
        if room[row] < shortest:
            del room[row]
    return rows
