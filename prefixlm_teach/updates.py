"""One update of the weights by several batches, as if they were one large batch.

The mean over all target tokens is not the mean of the batches' means where these have unlike numbers of
targets: each batch counts by its share of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from prefixlm_teach.data import Batch
from prefixlm_teach.loss import compute_prefix_lm_loss


def update(model: nn.Module, together: Sequence[Batch], optimizer: Optimizer, schedule: LRScheduler) -> float:
    """Take one step on several batches, in training mode, and return their mean loss per target token."""
    model.train()
    optimizer.zero_grad()
    loss = 0.0
    for share in loss_shares(model, together):
        share.backward()
        loss += share.item()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    return loss


@torch.no_grad()
def mean_loss(model: nn.Module, together: Sequence[Batch]) -> float:
    """Return the mean loss per target token of several batches, in eval mode, and leave the model in it."""
    model.eval()
    return sum(share.item() for share in loss_shares(model, together))


def loss_shares(model: nn.Module, together: Sequence[Batch]) -> Iterator[Tensor]:
    """Yield what each batch adds to the mean loss per target token of all of them.

    Raises:
        ValueError: no batch has a target.
    """
    counts = [target_count(batch) for batch in together]
    for batch, count in zip(together, counts, strict=True):
        if count == 0 and any(counts):
            continue  # it adds nothing, and has no mean of its own
        logits = model(batch.tokens, batch.prefix_len, valid=batch.valid)
        mean = compute_prefix_lm_loss(logits, batch.tokens, batch.prefix_len, valid=batch.valid)
        yield mean * (count / sum(counts))


def target_count(batch: Batch) -> int:
    """Return how many tokens of a batch are scored."""
    first = batch.prefix_len.clamp(min=1)  # (B,): nothing predicts the first token
    return int((batch.valid.sum(-1) - first).clamp(min=0).sum())
