"""Rotary positions that are given: against a turn spelt out with complex numbers."""

from __future__ import annotations

import cmath

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prefixlm_teach.rotary import RotaryLinear, rotate


@given(st.lists(st.integers(0, 50), min_size=1, max_size=5), st.integers(1, 4), st.integers(0, 2**20))
def test_each_pair_of_numbers_is_turned_by_its_given_position(at: list[int], pairs: int, seed: int) -> None:
    x = torch.randn(len(at), 2 * pairs, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    found = rotate(x, torch.tensor(at))
    for t, position in enumerate(at):
        for i in range(pairs):
            pair = complex(x[t, i], x[t, i + pairs])
            turned = pair * cmath.exp(1j * position / 10_000 ** (i / pairs))
            assert abs(turned - complex(found[t, i], found[t, i + pairs])) < 1e-12


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_columns_are_the_positions_unless_others_are_given(dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 7, 8, dtype=dtype)
    assert torch.equal(rotate(x), rotate(x, torch.arange(7)))
    assert not torch.equal(rotate(x), rotate(x, torch.arange(7) + 1))


def test_every_example_has_its_own_positions_and_its_heads_share_them() -> None:
    layer, x = RotaryLinear(8, 2).double(), torch.randn(2, 3, 8, dtype=torch.float64)
    at = torch.tensor([[0, 1, 2], [4, 2, 9]])
    together = layer(x, at)
    for b in range(2):
        plain = torch.nn.functional.linear(x[b], layer.weight, layer.bias)
        heads = [rotate(plain[:, 4 * head : 4 * head + 4], at[b]) for head in range(2)]
        torch.testing.assert_close(together[b], torch.cat(heads, dim=-1))
    assert torch.equal(together[0], layer(x)[0])
