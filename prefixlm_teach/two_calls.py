"""A prefix LM in two calls without a mask of all pairs: exact, and for long sequences faster.

`cut` attends in the prefix and in the target apart. `mend` attends causally everywhere, which is right for
each row from the last prefix token on, since such a row sees the whole prefix anyway, and then mends the rows
before it. Padding on the right needs nothing: no token looks there. Rows at padding mean nothing, as always.

Source: Dao et al. 2022 (arXiv:2205.14135), section 3, for why a call without a mask need not hold all pairs.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach.kernel_arguments import check_no_left_padding, check_no_mask, check_shared
from prefixlm_teach.masks import create_prefix_lm_mask
from prefixlm_teach.sight import ReadyKernel, Sight, check_sight, dense


def cut(sight: Sight) -> Tensor | ReadyKernel:
    """Make ready: the prefix rows see the prefix, the target rows everything up to themselves.

    Args:
        sight: a split that all examples share; padding may stand on the right.

    Returns:
        The kernel; after a cache, the mask of the one call that there is.

    Raises:
        TypeError, ValueError: `sight` is none, or it has a p per example, padding on the left or a mask.
    """
    check_sight(sight)
    if sight.continues:
        return dense(sight)
    check_no_mask("cut", sight.mask)
    check_no_left_padding("cut", sight.padded_left)
    p, T = sight.shared_prefix_len, sight.seq_len
    check_shared("cut", sight.prefix_len, p)
    assert p is not None  # noqa: S101 - for the type checker

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if p <= 1:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        prefix = F.scaled_dot_product_attention(q[..., :p, :], k[..., :p, :], v[..., :p, :])
        if p == T:
            return prefix  # (B, H, T, d_head)
        from torch.nn.attention.bias import causal_lower_right  # noqa: PLC0415 - it takes a second

        bias = causal_lower_right(T - p, T)  # the last row sees all; is_causal would give the first row one
        target = F.scaled_dot_product_attention(q[..., p:, :], k, v, attn_mask=bias)
        return torch.cat([prefix, target], dim=-2)  # (B, H, T, d_head)

    return ReadyKernel(sight, attend)


def mend(sight: Sight) -> Tensor | ReadyKernel:
    """Make ready: attend causally everywhere, then mend the rows before the last prefix token.

    Args:
        sight: a split, shared or one per example; padding may stand on the right.

    Returns:
        The kernel; after a cache, the mask of the one call that there is.

    Raises:
        TypeError, ValueError: `sight` is none, or it has padding on the left or a mask.
    """
    check_sight(sight)
    if sight.continues:
        return dense(sight)
    check_no_mask("mend", sight.mask)
    check_no_left_padding("mend", sight.padded_left)
    assert sight.prefix_len is not None  # noqa: S101 - for the type checker
    longest = int(torch.as_tensor(sight.prefix_len).max())
    corner = None  # a shared prefix is seen whole by each of its rows
    if sight.shared_prefix_len is None:
        corner = create_prefix_lm_mask(longest, sight.prefix_len)[..., :-1, :]  # (B, 1, longest - 1, longest)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, H, T, d_head)
        if longest <= 1:
            return mixed
        q, k, v = q[..., : longest - 1, :], k[..., :longest, :], v[..., :longest, :]
        mended = F.scaled_dot_product_attention(q, k, v, attn_mask=corner)  # (B, H, longest - 1, d_head)
        return torch.cat([mended, mixed[..., longest - 1 :, :]], dim=-2)

    return ReadyKernel(sight, attend)
