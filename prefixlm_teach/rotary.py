"""Rotary positions: queries and keys are turned by an angle that grows with their position.

The score of a query and a key then depends on how far apart they stand, not on where. Padding on the left
moves both alike, so that columns serve as positions. In a cache, padding may stand between a prompt and its
answer, and positions are given.

Source: Su et al. 2021 (arXiv:2104.09864), section 3.2.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from prefixlm_teach.attention import PrefixLMAttention
from prefixlm_teach.mask_arguments import (
    check_even_heads,
    check_even_vectors,
    check_hidden,
    check_no_positions,
)
from prefixlm_teach.model import Block, TinyPrefixLM


def rotate(x: Tensor, positions: Tensor | None = None) -> Tensor:
    """Turn the pairs of numbers of each vector, pair i at position t by t / 10000 ** (i / pairs).

    Args:
        x: (..., T, d_head) floats, d_head even. Number i and number i + d_head / 2 are a pair.
        positions: (..., T) integers, where the positions are not simply the columns, 0 to T - 1.

    Returns:
        The same shape and dtype; the length of a vector stays what it was.

    Raises:
        TypeError, ValueError: `x` is no floating (..., T, d_head) tensor, or d_head is odd.
    """
    check_even_vectors(x)
    if positions is None:
        positions = torch.arange(x.size(-2), device=x.device)
    half = x.size(-1) // 2
    exact = torch.promote_types(x.dtype, torch.float32)  # an angle in float16 would be some way off
    speed = 10_000.0 ** -(torch.arange(half, dtype=exact, device=x.device) / half)  # (d_head / 2,)
    angle = positions[..., None] * speed  # (..., T, d_head / 2)
    sin, cos = angle.sin().to(x.dtype), angle.cos().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


class RotaryLinear(nn.Linear):
    """A linear layer to queries or keys, whose heads are then rotated by position.

    Args:
        d_model: d, the width.
        n_heads: H; d / H must be even.

    Raises:
        TypeError, ValueError: a size is no whole number of at least 1, H does not divide d, or d / H is odd.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        check_even_heads(d_model, n_heads)
        super().__init__(d_model, d_model)
        self.n_heads = n_heads

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """Return (B, T, d) from `x` (B, T, d), floats of the layer's dtype.

        `positions` is (B, T), where they are not simply the columns.
        """
        check_hidden("x", x, self.weight)
        y = super().forward(x)
        heads = y.view(*y.shape[:2], self.n_heads, -1).transpose(1, 2)  # (B, H, T, d_head)
        at = None if positions is None else positions[:, None]  # (B, 1, T): the same for all heads
        return rotate(heads, at).transpose(1, 2).flatten(2)


class RotaryPrefixLM(TinyPrefixLM):
    """TinyPrefixLM with rotary positions: its table of positions stays zero and is not trained.

    Args:
        vocab_size: V, the number of token ids.
        d_model: d, the width.
        n_heads: H, the number of heads; d / H must be even.
        config: the rest, as for `TinyPrefixLM`.

    Raises:
        TypeError, ValueError: as `TinyPrefixLM`, or d / H is odd. A call with `positions` is refused, since a
            token's column is its position here.
    """

    def __init__(
        self, vocab_size: int, d_model: int = 128, n_heads: int = 4, *config: Any, **named: Any
    ) -> None:
        check_even_heads(d_model, n_heads)
        super().__init__(vocab_size, d_model, n_heads, *config, **named)
        nn.init.zeros_(self.pos_emb.weight)
        self.pos_emb.weight.requires_grad_(False)
        for block in self.blocks:
            assert isinstance(block, Block)  # noqa: S101 - for the type checker
            attn: PrefixLMAttention = block.attn
            attn.q_proj = RotaryLinear(attn.d_model, attn.n_heads)
            attn.k_proj = RotaryLinear(attn.d_model, attn.n_heads)

    def _embed(self, tokens: Tensor, valid: Tensor | None, positions: Tensor | None) -> Tensor:
        check_no_positions(positions)
        return super()._embed(tokens, valid, None)
