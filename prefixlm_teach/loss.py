"""The loss of a prefix LM: next-token cross-entropy, on the target only.

Everything here takes *unshifted* tokens and shifts once, inside `label_loss`: the logits at row t are
scored against the token at t + 1, so row p - 1, the last prefix token, predicts the first target token.

Source: Wang et al. 2022 (arXiv:2204.05832), section 2.2.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach.arguments import check_ids, check_label_ids, check_logits, check_some_label, check_split
from prefixlm_teach.read_arguments import check_labels, check_read_logits

IGNORE = -100  # the label of a token that is not scored; cross_entropy's own default


def prefix_lm_labels(tokens: Tensor, prefix_len: int | Tensor, *, valid: Tensor | None = None) -> Tensor:
    """Return the labels of a prefix LM: each target token itself, -100 on the prefix and on padding.

    The first real token is never a label, even with p = 0: nothing stands before it to predict it.

    Args:
        tokens: (B, T) ids, unshifted.
        prefix_len: p, an int or 0-d tensor for all examples, or (B,) for one split per example.
        valid: (B, T) booleans, False at padding.

    Returns:
        (B, T) int64 labels, aligned with `tokens`.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, shape, device or range.
    """
    check_ids("tokens", tokens)
    check_split(tokens, prefix_len, valid)
    p = torch.as_tensor(prefix_len, device=tokens.device)
    if valid is None:
        valid = torch.ones_like(tokens, dtype=torch.bool)
    position = valid.cumsum(-1) - 1  # (B, T): 0 at the first real token
    scored = valid & (position >= p.clamp(min=1).view(-1, 1))
    return tokens.long().masked_fill(~scored, IGNORE)


def label_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy of each label, predicted from the row before it.

    Args:
        logits: (B, T, V) floats; row t is the model's guess of token t + 1.
        labels: (B, T) ids aligned with the tokens, *not* shifted; -100 where nothing is scored. The label in
            column 0 is never scored, whatever it is: no row stands before it.

    Returns:
        A scalar in nats per scored token, in float32 (float64 for float64 logits): the mean over the whole
        batch, not a mean of means.

    Raises:
        TypeError, ValueError: a kind, shape, device or id is wrong, or no label at all would be scored.
    """
    check_logits(logits, "labels", labels)
    check_label_ids(labels, logits.size(-1), IGNORE)
    check_some_label(labels[:, 1:], IGNORE)
    guesses = logits[:, :-1].flatten(0, 1)  # (B * (T - 1), V)
    guesses = guesses.to(torch.promote_types(guesses.dtype, torch.float32))  # a sum in float16 overflows
    wanted = labels[:, 1:].flatten().long()  # (B * (T - 1),)
    return F.cross_entropy(guesses, wanted, ignore_index=IGNORE)


def read_rows(labels: Tensor) -> Tensor:
    """Return the rows that the loss reads: those before a label that is scored.

    A prefix LM's loss reads none before the last prefix token, and in the last layer nobody else does either:

        labels = prefix_lm_labels(tokens, prefix_len, valid=valid)
        logits = model(tokens, prefix_len, valid=valid, read=read_rows(labels))
        loss = read_loss(logits, labels)

    Args:
        labels: (B, T) ids aligned with the tokens, *not* shifted; -100 where nothing is scored.

    Returns:
        (B, T) booleans; the last column is False.

    Raises:
        TypeError, ValueError: a kind or shape is wrong.
    """
    check_labels(labels)
    return F.pad(labels[:, 1:] != IGNORE, (0, 1))


def read_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return what `label_loss` returns, from the rows alone that it reads.

    Args:
        logits: (N, V) floats, those of the N rows where `read_rows(labels)` is True, example after example.
        labels: (B, T) ids aligned with the tokens, *not* shifted; -100 where nothing is scored.

    Returns:
        A scalar in nats per scored token, in float32 (float64 for float64 logits).

    Raises:
        TypeError, ValueError: a kind, shape, device or id is wrong, or no label at all would be scored.
    """
    check_labels(labels)
    check_some_label(labels[:, 1:], IGNORE)
    wanted = labels[:, 1:][labels[:, 1:] != IGNORE].long()  # (N,)
    check_read_logits(logits, labels, len(wanted))
    check_label_ids(labels, logits.size(-1), IGNORE)
    return F.cross_entropy(logits.to(torch.promote_types(logits.dtype, torch.float32)), wanted)


def compute_prefix_lm_loss(
    logits: Tensor, tokens: Tensor, prefix_len: int | Tensor, *, valid: Tensor | None = None
) -> Tensor:
    """Return the mean cross-entropy over the target tokens of the whole batch.

    Args:
        logits: (B, T, V) floats, the model's output for `tokens`.
        tokens: (B, T) ids, the very tokens the model was given, *not* shifted.
        prefix_len: p, an int or 0-d tensor for all examples, or (B,) for one split per example.
        valid: (B, T) booleans, False at padding.

    Returns:
        A scalar in nats per target token, in float32 (float64 for float64 logits). An example of n real
        tokens counts n - max(p, 1) times; one without a target contributes nothing.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, shape, device or range, or no example has a
            target.
    """
    check_ids("tokens", tokens)
    check_logits(logits, "tokens", tokens)
    check_ids("tokens", tokens, logits.size(-1))
    labels = prefix_lm_labels(tokens, prefix_len, valid=valid)
    return label_loss(logits, labels)
