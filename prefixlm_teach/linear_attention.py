"""Linear attention: similarity is a product of features, so the past can be summed up before it is asked for.

Softmax compares each query with each key. With a similarity that is a product of features, the sum over keys
can be taken first, once, and every query reads the same sum. A causal model needs another sum for each row.
The prefix of a prefix LM does not: everybody in it sees all of it, so one sum serves all its rows, and the
recurrence begins at the first target token. What costs softmax attention more is cheaper here.

Sources: Katharopoulos et al. 2020 (arXiv:2006.16236), equations 4 to 12 and 16 to 20; for the prefix,
Hailey Schoelkopf's post "Prefix Linear Attention Can Outspeed Causal Linear Attention" (2024), and Arora et
al. 2024 (JRT, arXiv:2407.05483), equations 3 and 4. JRT is not what is built here: there a prefix of fixed
length has keys and values of its own, and its sums are added, under one normaliser, to those of a causal pass
over everything, the prefix too. So a prefix token counts twice where both show it, and the causal pass is as
long as ever. (Its release has a Taylor series as feature map, and a masked-LM loss beside the usual one.)
"""

from __future__ import annotations

import torch
from torch import Tensor

from prefixlm_teach.linear_arguments import (
    check_linear_input,
    check_linear_split,
    check_linear_state,
    check_linear_valid,
)
from prefixlm_teach.linear_state import LinearState, elu_features, empty_state, weighted_mean
from prefixlm_teach.mask_arguments import check_queries, check_values


def plain_linear_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Return linear attention under any mask, one similarity for each pair of tokens: quadratic in T.

    Args:
        q: (..., T, d_k) queries.
        k: (..., T, d_k) keys.
        v: (..., T, d_v) values.
        mask: booleans, True = may attend, as for `plain_attention`.

    Returns:
        (..., T, d_v) in the dtype of `q`, summed up in float32 or better. A query that may see nothing gets
        0, and so does one whose similarities have all become 0 by rounding.

    Raises:
        TypeError, ValueError: a kind, shape, dtype or device does not fit.
    """
    check_queries(q, k, mask)
    check_values(v, k)
    with torch.autocast(q.device.type, enabled=False):
        scores = elu_features(exact(q)) @ elu_features(exact(k)).mT  # (..., T, T)
        scores = scores.masked_fill(~mask, 0.0)
        return weighted_mean(scores @ exact(v), scores.sum(-1, keepdim=True)).to(q.dtype)  # (..., T, d_v)


def causal_linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    valid: Tensor | None = None,
    state: LinearState | None = None,
    chunk: int = 64,
) -> tuple[Tensor, LinearState]:
    """Return causal linear attention, each token added to the state before its own query reads it.

    Args:
        q: (B, H, T, d_k) queries.
        k: (B, H, T, d_k) keys.
        v: (B, H, T, d_v) values.
        valid: (B, T) booleans, False at padding, left or right.
        state: what was read before these tokens, when they are not the first.
        chunk: how many tokens are read at once. By 1 it is the recurrence of the paper; by more, tokens of
            one chunk see each other through a small triangle of similarities, and the past by the state.

    Returns:
        (B, H, T, d_v) in the dtype of `q`, summed up in float32 or better, and the state after all tokens:
        given one token more, it gives the next row, at a cost that does not grow. A query that may see
        nothing gets 0.

    Raises:
        TypeError, ValueError: a kind, shape, dtype, device or range does not fit.
    """
    check_linear_input(q, k, v, chunk)
    B, H, T, d_k = q.shape
    check_linear_valid(valid, "q", q, B, T)
    if state is not None:
        check_linear_state(state, q, B, H, d_k, v.size(-1))
    with torch.autocast(q.device.type, enabled=False):
        features_q, features_k, values = elu_features(exact(q)), elu_features(exact(k)), exact(v)
        if valid is not None:
            features_k = only(features_k, valid)
        before = empty_state(features_k, values) if state is None else state
        rows, after = in_chunks(features_q, features_k, values, before, int(chunk))
        return torch.cat(rows, dim=2).to(q.dtype), after


def prefix_linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    prefix_len: int | Tensor,
    *,
    valid: Tensor | None = None,
    state: LinearState | None = None,
    chunk: int = 64,
) -> tuple[Tensor, LinearState]:
    """Return linear attention under a prefix mask: the prefix by one sum, the target by the recurrence.

    Up to the first target token of any example there is one state for all rows. Where examples have their
    own p, each sum takes its own prefix, and the recurrence runs from the shortest prefix on.

    Args:
        q: (B, H, T, d_k) queries.
        k: (B, H, T, d_k) keys.
        v: (B, H, T, d_v) values.
        prefix_len: p, an int or 0-d tensor for all examples, or (B,) for one split per example; 0 is causal.
        valid: (B, T) booleans, False at padding, left or right.
        state: what was read before these tokens, when they are not the first; all of them see it.
        chunk: how many target tokens are read at once, as in `causal_linear_attention`.

    Returns:
        (B, H, T, d_v) in the dtype of `q`, equal in every row to `plain_linear_attention` under
        `create_prefix_lm_mask`, and the state after all tokens, from which `causal_linear_attention`
        reads on.

    Raises:
        TypeError, ValueError: a kind, shape, dtype, device or range does not fit.
    """
    check_linear_input(q, k, v, chunk)
    B, H, T, d_k = q.shape
    check_linear_split(prefix_len, valid, "q", q, B, T)
    if state is not None:
        check_linear_state(state, q, B, H, d_k, v.size(-1))
    if valid is None:
        valid = torch.ones(B, T, dtype=torch.bool, device=q.device)
    pads = valid.int().argmax(-1)  # (B,) columns before the first real token
    end = pads + torch.as_tensor(prefix_len, device=q.device)  # (B,) the column where each target begins
    first, last = int(end.min()), int(end.max())
    in_prefix = torch.arange(T, device=q.device) < end[:, None]  # (B, T)
    with torch.autocast(q.device.type, enabled=False):
        features_q, features_k, values = elu_features(exact(q)), elu_features(exact(k)), exact(v)
        of_prefix = only(features_k[:, :, :last], (valid & in_prefix)[:, :last])
        of_target = only(features_k[:, :, first:], (valid & ~in_prefix)[:, first:])
        before = empty_state(features_k, values) if state is None else state
        shared = before.add(of_prefix, values[:, :, :last])
        head = shared.read(features_q[:, :, :first])  # (B, H, first, d_v): one state, every row
        tail, after = in_chunks(features_q[:, :, first:], of_target, values[:, :, first:], shared, int(chunk))
        return torch.cat([head, *tail], dim=2).to(q.dtype), after


def in_chunks(
    features_q: Tensor, features_k: Tensor, v: Tensor, state: LinearState, chunk: int
) -> tuple[list[Tensor], LinearState]:
    """Read tokens in chunks: each chunk sees itself through a triangle, and the past through the state.

    Args:
        features_q: (B, H, N, d_k), above 0.
        features_k: (B, H, N, d_k), above 0, and 0 at tokens that nobody sees.
        v: (B, H, N, d_v).
        state: what was read before; all of one dtype.
        chunk: the number of tokens in a chunk.

    Returns:
        What each chunk reads, (B, H, chunk, d_v), the last one perhaps shorter, and the state after all.
    """
    rows = []
    for start in range(0, v.size(2), chunk):
        q, k, values = (x[:, :, start : start + chunk] for x in (features_q, features_k, v))
        total, weight = state.totals(q)  # the past
        scores = (q @ k.mT).tril()  # (B, H, chunk, chunk): the chunk itself
        rows.append(weighted_mean(total + scores @ values, weight + scores.sum(-1, keepdim=True)))
        state = state.add(k, values)
    return rows, state


def only(features: Tensor, shown: Tensor) -> Tensor:
    """Return (B, H, N, d_k) features, 0 where `shown` (B, N) is False: a token without any is never seen."""
    return features if bool(shown.all()) else features * shown[:, None, :, None]


def exact(x: Tensor) -> Tensor:
    """Return `x` in the dtype in which sums are kept: float32, or float64 where it is that already."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
