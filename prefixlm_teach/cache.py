"""The cache: what the tokens read so far leave behind for the tokens that follow."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from prefixlm_teach.linear_state import LinearState


@dataclass(frozen=True, eq=False)
class KeyValueCache:
    """What each layer keeps of the tokens read so far. It never changes: reading on makes a new one.

    Attributes:
        layers: for each block its keys and its values, (B, H, S, d_head) each; S counts padding too. With
            linear attention its `LinearState` instead, of the same size after any number of tokens.
        valid: (B, S) booleans, False at padding. Here padding may stand among the tokens.
        prefix_len: (B,) int64, the number of prefix tokens of each example.
    """

    layers: tuple[tuple[Tensor, Tensor] | LinearState, ...]
    valid: Tensor
    prefix_len: Tensor

    @property
    def length(self) -> Tensor:
        """(B,) int64, how many real tokens were read, and so the position of the next one."""
        return self.valid.sum(-1)
