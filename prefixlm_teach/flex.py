"""FlexAttention: the rule of a prefix LM as a function of two positions, and a block mask made from it.

A block mask says which blocks of 128 by 128 pairs are needed at all. It is made from p, T and the padding,
and does not follow them when they change. What is computed is PyTorch's uncompiled form, which holds all
pairs; on a CPU FlexAttention has no backward.

Source: Dong et al. 2024 (arXiv:2412.05496).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from prefixlm_teach.kernel_arguments import check_forward_only, check_fresh
from prefixlm_teach.sight import ReadyKernel, Sight, check_sight, dense


class FlexBlocks:
    """A block mask made once. It serves as a kernel for as long as p, T and the padding stay what they are.

    Args:
        sight: what may be seen.

    Raises:
        TypeError: `sight` is none.
    """

    def __init__(self, sight: Sight) -> None:
        check_sight(sight)
        self.sight = sight = _copy(sight)  # whoever changes p in place must not change what was made of it
        self.blocks = create_block_mask(
            may_attend(sight),
            B=sight.batch,
            H=None,
            Q_LEN=sight.rows,
            KV_LEN=sight.seq_len,
            device=str(sight.device),
        )

    def __call__(self, sight: Sight) -> ReadyKernel:
        """Make ready for a call.

        Args:
            sight: what may be seen in it, the same as that of which the blocks were made.

        Raises:
            TypeError, ValueError: `sight` is none, or another, so that the block mask is stale; or gradients
                may be asked for on a CPU.
        """
        check_sight(sight)
        check_fresh(_said(self.sight), _said(sight))
        check_forward_only(sight.device)
        return ReadyKernel(self.sight, lambda q, k, v: flex_attention(q, k, v, block_mask=self.blocks))


def may_attend(sight: Sight) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    """Return the rule of a sight for `create_block_mask`: may query q of example b attend to key k?"""
    if sight.mask is not None:
        seen = dense(sight)
        seen = seen.view(-1, *seen.shape[-2:])  # (B, K, T), or one for all
        one = len(seen) == 1
        return lambda b, h, q, k: seen[b * 0 if one else b, q, k]
    p = torch.as_tensor(sight.prefix_len, device=sight.device).view(-1)  # (B,), or one for all
    valid = sight.valid
    if valid is None:
        valid = torch.ones(len(p), sight.seq_len, dtype=torch.bool, device=p.device)
    end = valid.int().argmax(-1) + p  # the column where each target begins
    one = len(end) == 1

    def rule(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        b = b * 0 if one else b
        return ((k <= q) | (k < end[b])) & valid[b, k]  # open, then close

    return rule


def _copy(sight: Sight) -> Sight:
    p, valid = sight.prefix_len, sight.valid
    p = p.clone() if isinstance(p, Tensor) else p
    return Sight(sight.seq_len, p, None if valid is None else valid.clone(), sight.mask)


def _said(sight: Sight) -> dict[str, Any]:
    """What a block mask is made from, each by its name."""
    padded = sight.valid is not None and not bool(sight.valid.all())
    return {
        "seq_len": sight.seq_len,
        "prefix_len": None if sight.prefix_len is None else torch.as_tensor(sight.prefix_len),
        "valid": sight.valid if padded else None,
        "mask": sight.mask,
    }
