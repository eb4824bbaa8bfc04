"""The table of attention weights an explorer carries: two bytes for each weight, none for a blocked cell.

Layout, with T tokens, L layers and H heads: for p = 1 to T (p = 0 is the same mask as p = 1), for each
layer, for each head, for each row q, the weights of the max(q + 1, p) keys that the row may look at, in
order. A weight is a whole number of steps of 1/65,535, the lower byte first. A row is rounded by largest
remainder, so it sums to exactly 65,535 steps and no weight is off by a whole one; only where another key has
come to stand level with the strongest, before it, one more step goes from that key to the strongest. Where a
map begins follows from p, layer and head (`map_start`), and its rows follow one another, so no index is
stored. All bytes together are written in base64.

`table_size` says how many weights: 14,664 (29,328 bytes, 39,104 letters) for 12 tokens, 3 layers and 4 heads.
"""

from __future__ import annotations

import base64

import numpy as np
import torch
from torch import Tensor

from prefixlm_teach.masks import create_prefix_lm_mask

WHOLE = 65_535  # how many steps a row sums to
BYTES = 2  # of a weight
STEPS = np.dtype("<u2")  # the lower byte first, whatever the machine has


def map_size(seq_len: int, prefix_len: int) -> int:
    """How many cells a prefix mask leaves visible."""
    return (seq_len * (seq_len + 1) + prefix_len * max(0, prefix_len - 1)) // 2


def table_size(seq_len: int, n_layers: int, n_heads: int) -> int:
    """How many weights a table has."""
    return n_layers * n_heads * sum(map_size(seq_len, p) for p in range(1, seq_len + 1))


def map_start(seq_len: int, n_layers: int, n_heads: int, place: tuple[int, int, int]) -> int:
    """How many weights stand before the map at `place` (p, layer, head)."""
    p, layer, head = max(place[0], 1), *place[1:]
    before = (p - 1) * seq_len * (seq_len + 1) // 2 + p * (p - 1) * (p - 2) // 6  # cells of each smaller p
    return before * n_layers * n_heads + (layer * n_heads + head) * map_size(seq_len, p)


def round_rows(weights: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Round weights to steps that sum to 65,535 in each row, by largest remainder.

    The first of the largest weights of a row is the first of its largest numbers of steps.

    Args:
        weights: (..., T, T) floats, 0 where `mask` is False; each row sums to 1, or nearly.
        mask: (T, T) booleans, at least one True in each row.
    """
    exact = weights / weights.sum(-1, keepdims=True) * WHOLE
    whole = np.floor(exact)
    missing = WHOLE - whole.sum(-1, keepdims=True)
    remainder = np.where(mask, exact - whole, -1.0)
    rank = (-remainder).argsort(-1, kind="stable").argsort(-1, kind="stable")
    steps = np.asarray(whole + (rank < missing), dtype=STEPS)
    strongest = np.where(mask, weights, -1.0).argmax(-1, keepdims=True)
    first = steps.argmax(-1, keepdims=True)
    moved = np.asarray(first != strongest, dtype=STEPS)  # 1 where rounding has put another first
    np.put_along_axis(steps, first, np.take_along_axis(steps, first, -1) - moved, -1)
    np.put_along_axis(steps, strongest, np.take_along_axis(steps, strongest, -1) + moved, -1)
    return steps


def pack(maps: Tensor) -> str:
    """Write attention weights into a table.

    Args:
        maps: (T, L, H, T, T) weights; maps[p - 1] under the mask of prefix length p.
    """
    seq_len = len(maps)
    packed = []
    for p, one in enumerate(maps.cpu().double().numpy(), start=1):
        mask = _mask_of(seq_len, p).numpy()
        packed.append(round_rows(one, mask)[..., mask].tobytes())  # (L, H, cells)
    return base64.b64encode(b"".join(packed)).decode("ascii")


def unpack(
    table: str, seq_len: int, n_layers: int, n_heads: int, place: tuple[int, int, int]
) -> tuple[Tensor, Tensor]:
    """Read one map back.

    Args:
        table: what `pack` wrote.
        seq_len: T.
        n_layers: L.
        n_heads: H.
        place: prefix length (0 to T), layer and head.

    Returns:
        (T, T) float32 weights, 0 where blocked, and the (T, T) mask, True = may attend.
    """
    p = place[0]
    mask = _mask_of(seq_len, p)
    start = map_start(seq_len, n_layers, n_heads, place)
    steps = np.frombuffer(base64.b64decode(table), STEPS, map_size(seq_len, p), start * BYTES)
    weights = np.zeros((seq_len, seq_len), dtype=np.float32)
    weights[mask.numpy()] = steps / np.float32(WHOLE)
    return torch.from_numpy(weights), mask


def _mask_of(seq_len: int, prefix_len: int) -> Tensor:
    with torch.device("cpu"):  # whatever the reader's default device is
        return create_prefix_lm_mask(seq_len, prefix_len)
