"""Inputs for the property tests."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor


@dataclass(frozen=True)
class Padded:
    """A batch of examples: where their tokens are real, and how many of these are prefix."""

    real: list[list[bool]]  # B lists of T
    prefix_len: list[int]  # B, of real tokens

    @property
    def valid(self) -> Tensor:
        return torch.tensor(self.real)

    @property
    def p(self) -> Tensor:
        return torch.tensor(self.prefix_len)


@st.composite
def padded_batches(draw: st.DrawFn, min_real: int = 0, max_len: int = 7) -> Padded:
    """Batches padded on the left, on the right or on both sides, each example in its own way."""
    batch = draw(st.integers(1, 4))
    seq_len = draw(st.integers(max(min_real, 1), max_len))
    real, prefix_len = [], []
    for _ in range(batch):
        length = draw(st.integers(min_real, seq_len))
        left = draw(st.integers(0, seq_len - length))
        real.append([left <= t < left + length for t in range(seq_len)])
        prefix_len.append(draw(st.integers(0, length)))
    return Padded(real, prefix_len)
