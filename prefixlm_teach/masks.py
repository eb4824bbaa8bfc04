"""Attention masks: boolean, True = may attend, rows are queries, columns are keys.

The rule of a prefix LM is `(k <= q) | (k < p)`: look back, and anywhere in the prefix. Open the prefix
first, close the padding last: the other order makes pads visible.

Sources: Dong et al. 2019 (UniLM, arXiv:1905.03197), sections 2.2 and 2.3; Raffel et al. 2020
(T5, arXiv:1910.10683), section 3.2.1.
"""

from __future__ import annotations

import torch
from torch import Tensor

from prefixlm_teach.arguments import check_int, check_prefix_len, check_valid
from prefixlm_teach.mask_arguments import check_bool_mask, check_score_dtype


def create_prefix_lm_mask(seq_len: int, prefix_len: int | Tensor, *, valid: Tensor | None = None) -> Tensor:
    """Return the mask of a prefix LM: bidirectional on the prefix, causal on the target.

    Args:
        seq_len: T, the number of columns, padding included.
        prefix_len: p, the number of prefix tokens, 0 to T: an int or a 0-d tensor for one split shared by
            all, a (B,) integer tensor for one split per example. It counts real tokens, not padding.
        valid: (B, T) booleans, False at padding, which may stand at the left or at the right.

    Returns:
        Booleans, True = may attend: (T, T) for a shared split without `valid`, otherwise (B, 1, T, T), where
        the 1 stands for all heads. It lives on the device of `prefix_len` or `valid`.

    Raises:
        TypeError: `prefix_len` is not a whole number, or `valid` is not boolean.
        ValueError: `prefix_len` is negative or longer than an example; `valid` has the wrong shape or a hole.
    """
    check_int("seq_len", seq_len, minimum=1)
    if valid is not None:
        check_valid(valid, seq_len)
    check_prefix_len(prefix_len, seq_len, valid=valid)

    p = torch.as_tensor(prefix_len)
    if valid is None and p.ndim == 1:
        valid = torch.ones(len(p), seq_len, dtype=torch.bool, device=p.device)
    device = p.device if valid is None else valid.device
    k = torch.arange(seq_len, device=device)  # (T,): the columns
    causal = torch.ones(seq_len, seq_len, dtype=torch.bool, device=device).tril_()  # (T, T): k <= q
    if valid is None:
        return causal | (k < p)  # (T, T)

    pads = valid.int().argmax(-1)  # (B,) columns before the first real token
    end = (pads + p.to(device)).view(-1, 1, 1, 1)  # the column where each target begins
    return (causal | (k < end)) & valid[:, None, None, :]  # (B, 1, T, T): open, then close


def causal_mask(seq_len: int, *, valid: Tensor | None = None) -> Tensor:
    """Return the mask of a causal LM: each token sees itself and what stands before it.

    It is the prefix LM mask with no prefix; arguments, shapes and errors are those of
    `create_prefix_lm_mask`.
    """
    return create_prefix_lm_mask(seq_len, 0, valid=valid)


def bidirectional_mask(seq_len: int, *, valid: Tensor | None = None) -> Tensor:
    """Return the mask of an encoder: each token sees every token that is not padding.

    It is the prefix LM mask with no target; arguments, shapes and errors are those of
    `create_prefix_lm_mask`.
    """
    if valid is None:
        return create_prefix_lm_mask(seq_len, seq_len)
    check_valid(valid)
    return create_prefix_lm_mask(seq_len, valid.sum(-1), valid=valid)


def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Turn a boolean mask into one that is added to the scores: 0 where it may attend, -inf where not.

    Each of these dtypes has an infinity, but not each has a large finite number such as -1e9 (float16 ends
    at 65504), and two finite ones added can still overflow.

    Args:
        mask: booleans, (T, T) or (B, 1, T, T), True = may attend.
        dtype: the dtype of the scores: float16, bfloat16, float32 or float64.

    Returns:
        A tensor of the mask's shape and device, in `dtype`.

    Raises:
        TypeError: `mask` is not boolean, or `dtype` is not one of these.
        ValueError: `mask` is neither (T, T) nor (B, 1, T, T).
    """
    check_bool_mask(mask)
    check_score_dtype(dtype)
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, float("-inf"))
