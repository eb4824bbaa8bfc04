"""Exercise 11.2: which blocks of a prefix mask have to be computed. What is expected, and what else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.masks import create_prefix_lm_mask

Blocks = Callable[[int, int, int], Tensor]


def by_columns(n: int, opened: int) -> Tensor:
    """(N, N) booleans: the causal blocks, and so many columns of blocks from the left."""
    block = torch.arange(n)
    return (block <= block[:, None]) | (block < opened)


def up(tokens: int, size: int) -> int:
    """The blocks that so many tokens fill or begin."""
    return -(-tokens // size)


def needed_blocks(seq_len: int, prefix_len: int, size: int) -> Tensor:
    """What is expected of exercise 11.2."""
    return by_columns(up(seq_len, size), up(prefix_len, size))


def handed_out(seq_len: int, prefix_len: int, size: int) -> Tensor:
    """The code that is handed out: both rounded down."""
    return by_columns(seq_len // size, prefix_len // size)


def rounded_off(seq_len: int, prefix_len: int, size: int) -> Tensor:
    """The prefix rounded to the nearest block."""
    return by_columns(up(seq_len, size), (2 * prefix_len + size) // (2 * size))


def whole_blocks(seq_len: int, prefix_len: int, size: int) -> Tensor:
    """Blocks of which every pair is visible."""
    n = up(seq_len, size)
    mask = create_prefix_lm_mask(seq_len, prefix_len)
    full = torch.ones(n * size, n * size, dtype=torch.bool)
    full[:seq_len, :seq_len] = mask
    return full.view(n, size, n, size).all(dim=3).all(dim=1)


WRONG_BLOCKS: list[tuple[str, Blocks]] = [
    (
        "the last block is there now, but the block in which the prefix ends is still skipped",
        lambda seq_len, p, size: by_columns(up(seq_len, size), p // size),
    ),
    (
        "the prefix is right now, but tokens that don't fill a block have none",
        lambda seq_len, p, size: by_columns(seq_len // size, up(p, size)),
    ),
    (
        "one more isn't rounding up: a prefix that ends with a block opens one too many",
        lambda seq_len, p, size: by_columns(up(seq_len, size), p // size + 1),
    ),
    (
        "a block is added also where the tokens fill the last one",
        lambda seq_len, p, size: by_columns(seq_len // size + 1, up(p, size)),
    ),
    (
        "the prefix is rounded to the nearest block: where it ends early in one, that one is skipped",
        rounded_off,
    ),
    ("these are the blocks that are visible from end to end; one visible pair is enough", whole_blocks),
    (
        "this is the causal mask: the prefix is closed",
        lambda seq_len, p, size: by_columns(up(seq_len, size), 0),
    ),
    (
        "no block is skipped: this computes what a dense mask does",
        lambda seq_len, p, size: by_columns(up(seq_len, size), up(seq_len, size)),
    ),
    ("these are the blocks to skip, and the others are wanted", lambda *given: ~needed_blocks(*given)),
    ("rows and columns are exchanged: a row is a block of queries", lambda *given: needed_blocks(*given).T),
    (
        "this is the mask of all pairs: a row and a column for each block are wanted",
        lambda seq_len, p, _: create_prefix_lm_mask(seq_len, p),
    ),
]


def block_inputs(seed: int) -> list[dict[str, Any]]:
    """A prefix that ends within a block, with one, early and late in one, none, all, short; ten drawn."""
    draw = torch.Generator().manual_seed(seed)
    cases = [(12, 6, 4), (12, 8, 4), (10, 5, 4), (10, 7, 4), (9, 0, 3), (11, 11, 3), (3, 2, 4), (1, 1, 1)]
    for _ in range(10):
        seq_len = int(torch.randint(1, 30, (), generator=draw))
        p = int(torch.randint(0, seq_len + 1, (), generator=draw))
        cases.append((seq_len, p, int(torch.randint(1, 6, (), generator=draw))))
    return [{"seq_len": seq_len, "prefix_len": p, "size": size} for seq_len, p, size in cases]
