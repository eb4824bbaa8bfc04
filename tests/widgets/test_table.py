"""The table of weights: what is written is read back, to a step, and a blocked cell is never written."""

from __future__ import annotations

import base64
import struct
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from prefixlm_teach import create_prefix_lm_mask
from prefixlm_teach.widgets.table import map_size, pack, table_size, unpack

SIZES = st.tuples(st.integers(1, 9), st.integers(1, 3), st.integers(1, 3))  # T, layers, heads


def random_maps(seq_len: int, n_layers: int, n_heads: int, scale: float, seed: int) -> Tensor:
    """(T, L, H, T, T) weights under the masks of p = 1 to T; the larger `scale`, the more uneven."""
    scores = scale * torch.randn(
        seq_len, n_layers, n_heads, seq_len, seq_len, generator=torch.Generator().manual_seed(seed)
    )
    masks = torch.stack([create_prefix_lm_mask(seq_len, p) for p in range(1, seq_len + 1)])
    return scores.masked_fill(~masks[:, None, None], float("-inf")).softmax(-1)


@given(SIZES, st.sampled_from([0.0, 1e-5, 0.1, 1.0, 5.0, 200.0]), st.integers(0, 99))
def test_every_map_is_read_back_within_a_step_and_its_rows_sum_to_one(
    sizes: tuple[int, int, int], scale: float, seed: int
) -> None:
    maps = random_maps(*sizes, scale, seed)
    table = pack(maps)
    seq_len, n_layers, n_heads = sizes
    for p, layer, head in product(range(seq_len + 1), range(n_layers), range(n_heads)):
        weights, mask = unpack(table, *sizes, (p, layer, head))
        exact = maps[max(p, 1) - 1, layer, head]
        assert torch.equal(mask, create_prefix_lm_mask(seq_len, p))
        off = (weights - exact).abs() * 65_535  # in steps, as computed in float32
        assert float(off.max()) < 2 + 0.02
        assert int((off > 1 + 0.02).sum(-1).max()) <= 2  # the strongest, and the one that gave it a step
        assert (weights * 65_535).round().sum(-1).tolist() == [65_535.0] * seq_len
        assert torch.equal(weights.argmax(-1), exact.argmax(-1))
        assert float(weights[~mask].abs().sum()) == 0


@given(SIZES)
def test_only_visible_cells_are_stored(sizes: tuple[int, int, int]) -> None:
    seq_len, n_layers, n_heads = sizes
    visible = [int(create_prefix_lm_mask(seq_len, p).sum()) for p in range(seq_len + 1)]
    assert [map_size(seq_len, p) for p in range(seq_len + 1)] == visible
    stored = base64.b64decode(pack(random_maps(*sizes, 1.0, 0)))
    assert len(stored) == 2 * table_size(*sizes)
    assert table_size(*sizes) == n_layers * n_heads * sum(visible[1:])


@given(st.integers(1, 9), st.integers(0, 99))
def test_a_row_that_looks_at_one_key_alone_is_exact(seq_len: int, seed: int) -> None:
    maps = random_maps(seq_len, 1, 1, 1.0, seed)
    alone = torch.nn.functional.one_hot(maps.argmax(-1), seq_len).float()
    weights, _ = unpack(pack(alone), seq_len, 1, 1, (seq_len, 0, 0))
    assert torch.equal(weights, alone[-1, 0, 0])


@pytest.mark.parametrize("half", [0.5039, 0.496])
def test_a_row_that_half_precision_keeps_from_summing_to_one_is_mended(half: float) -> None:
    maps = torch.tensor([[[[[1.0, 0.0], [half, half]]]], [[[[half, half], [half, half]]]]])
    for p in range(3):
        weights, _ = unpack(pack(maps), 2, 1, 1, (p, 0, 0))
        assert sorted((weights[1] * 65_535).round().tolist()) == [32_767.0, 32_768.0]


def test_the_largest_remainders_are_rounded_up() -> None:
    thirds = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [0.3, 0.3, 0.4]]).expand(3, 1, 1, 3, 3).clone()
    thirds[1:, ..., :2, :] = torch.tensor([0.1, 0.9, 0.0])
    thirds[2] = torch.tensor([0.3, 0.3, 0.4])
    assert struct.unpack("<6H", base64.b64decode(pack(thirds))[:12]) == (
        65_535,
        *(32_768, 32_767),
        *(19_661, 19_660, 26_214),
    )


@pytest.mark.parametrize(
    ("exact", "stored"),
    [
        ([30_000.3, 30_000.4, 5_534.3], [30_000, 30_001, 5_534]),  # as largest remainder has it
        ([21_844.9, 21_845.1, 21_845.0], [21_844, 21_846, 21_845]),  # it has 21,845 for each
        ([16_383.7, 16_383.9, 16_383.8, 16_383.6], [16_383, 16_385, 16_384, 16_383]),
    ],
)
def test_the_strongest_key_of_a_row_stays_the_first_of_the_largest(
    exact: list[float], stored: list[int]
) -> None:
    n = len(exact)
    masks = torch.stack([create_prefix_lm_mask(n, p) for p in range(1, n + 1)])
    maps = (torch.tensor(exact, dtype=torch.float64) * masks)[:, None, None]
    weights, _ = unpack(pack(maps), n, 1, 1, (n, 0, 0))
    assert (weights[0] * 65_535).round().tolist() == stored


@pytest.mark.parametrize(("sizes", "stored"), [((12, 3, 4), 14_664), ((1, 1, 1), 1), ((2, 1, 1), 7)])
def test_how_much_is_stored(sizes: tuple[int, int, int], stored: int) -> None:
    assert table_size(*sizes) == stored
