"""The table of weights: what is written is read back, to a byte, and a blocked cell is never written."""

from __future__ import annotations

import base64
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


@given(SIZES, st.sampled_from([0.0, 0.1, 1.0, 5.0, 200.0]), st.integers(0, 99))
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
        assert float((weights - exact).abs().max()) <= 1 / 255 + 1e-6
        assert (weights * 255).round().sum(-1).tolist() == [255.0] * seq_len
        assert float(weights[~mask].abs().sum()) == 0


@given(SIZES)
def test_only_visible_cells_are_stored(sizes: tuple[int, int, int]) -> None:
    seq_len, n_layers, n_heads = sizes
    visible = [int(create_prefix_lm_mask(seq_len, p).sum()) for p in range(seq_len + 1)]
    assert [map_size(seq_len, p) for p in range(seq_len + 1)] == visible
    stored = base64.b64decode(pack(random_maps(*sizes, 1.0, 0)))
    assert len(stored) == table_size(*sizes) == n_layers * n_heads * sum(visible[1:])


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
        assert sorted((weights[1] * 255).round().tolist()) == [127.0, 128.0]


def test_the_largest_remainders_are_rounded_up() -> None:
    thirds = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [0.3, 0.3, 0.4]]).expand(3, 1, 1, 3, 3).clone()
    thirds[1:, ..., :2, :] = torch.tensor([0.1, 0.9, 0.0])
    thirds[2] = torch.tensor([0.3, 0.3, 0.4])
    assert list(base64.b64decode(pack(thirds)))[:6] == [255, 128, 127, 77, 76, 102]


@pytest.mark.parametrize(("sizes", "stored"), [((12, 3, 4), 14_664), ((1, 1, 1), 1), ((2, 1, 1), 7)])
def test_how_much_is_stored(sizes: tuple[int, int, int], stored: int) -> None:
    assert table_size(*sizes) == stored
