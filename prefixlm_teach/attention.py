"""Multi-head attention under a mask: one fused form that the model uses, one plain form beside it.

Source: Vaswani et al. 2017 (arXiv:1706.03762), section 3.2.
"""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn import functional as F

from prefixlm_teach.mask_arguments import (
    check_heads,
    check_hidden,
    check_mask_fits,
    check_queries,
    check_values,
)
from prefixlm_teach.sight import ReadyKernel, check_seen_fits


def attention_weights(q: Tensor, k: Tensor, mask: Tensor) -> Tensor:
    """Return the softmax weights: how much each query takes from each key.

    Args:
        q: (..., T, d_head) queries.
        k: (..., T, d_head) keys.
        mask: booleans, True = may attend: (T, T), or as many dimensions as the scores (..., T, T), with a 1
            where all share it.

    Returns:
        (..., T, T) weights in the dtype of `q`. A row sums to 1, or to 0 where its query may see nothing
        (softmax alone would give NaN there, and NaN would spread to every later layer).

    Raises:
        TypeError, ValueError: a kind, shape, dtype or device does not fit.
    """
    check_queries(q, k, mask)
    scores = q / math.sqrt(q.size(-1)) @ k.transpose(-2, -1)  # (..., T, T)
    blind = ~mask.any(-1, keepdim=True)  # (..., T, 1) queries that may see nothing
    scores = scores.masked_fill(~(mask | blind), float("-inf"))
    return scores.softmax(-1).masked_fill(blind, 0.0)


def plain_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Return what `F.scaled_dot_product_attention(q, k, v, attn_mask=mask)` returns, in plain steps.

    Args and errors are those of `attention_weights`; `v` is (..., T, d_head), and so is the result.
    """
    check_queries(q, k, mask)
    check_values(v, k)
    return attention_weights(q, k, mask) @ v  # (..., T, d_head)


def mix(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | ReadyKernel) -> Tensor:
    """Return what a layer makes of the values `v`: under a mask of booleans, or by a kernel made ready."""
    if isinstance(mask, ReadyKernel):
        return mask(q, k, v)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


class PrefixLMAttention(nn.Module):
    """Multi-head self-attention that sees what a mask lets it see.

    Args:
        d_model: d, the width of a token's vector.
        n_heads: H, the number of heads; each has d / H numbers.

    Raises:
        TypeError, ValueError: a size is not a whole number of at least 1, or H does not divide d.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        self.d_model = d_model
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split_heads(self, x: Tensor) -> Tensor:
        """Cut the width into heads: (B, T, d) to (B, H, T, d_head)."""
        return x.view(*x.shape[:2], self.n_heads, -1).transpose(1, 2)

    def forward(self, x: Tensor, mask: Tensor | ReadyKernel) -> Tensor:
        """Mix the tokens of each example.

        Args:
            x: (B, T, d) floats.
            mask: booleans, (T, T) or (B, 1, T, T), True = may attend; or a kernel made ready for what may be
                seen, which attends in its own way.

        Returns:
            (B, T, d). A query that may see nothing gets the output bias alone.

        Raises:
            TypeError: `mask` is not boolean, or `x` has another dtype than the layer.
            ValueError: a shape or a device does not fit.
        """
        check_hidden("x", x, self.q_proj.weight)
        check_seen_fits(mask, x)
        q = self.split_heads(self.q_proj(x))  # (B, H, T, d_head)
        k = self.split_heads(self.k_proj(x))
        v = self.split_heads(self.v_proj(x))
        mixed = mix(q, k, v, mask)  # (B, H, T, d_head)
        out: Tensor = self.out_proj(mixed.transpose(1, 2).flatten(2))  # (B, T, d)
        return out

    def weights(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the (B, H, T, T) weights that `forward` uses, for plotting.

        Arguments and errors as there, except that `mask` is one: a kernel made ready holds no weights.
        """
        check_hidden("x", x, self.q_proj.weight)
        check_mask_fits(mask, x)
        q = self.split_heads(self.q_proj(x))
        k = self.split_heads(self.k_proj(x))
        return attention_weights(q, k, mask)
