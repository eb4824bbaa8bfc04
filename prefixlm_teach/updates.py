"""One update of the weights by several batches, as if they were one large batch.

The mean over all target tokens is not the mean of the batches' means where these have unlike numbers of
targets: each batch counts by its share of them. The batches may be spread over several processes, started by
`torchrun`, whose models are wrapped in `DistributedDataParallel`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from prefixlm_teach.data import Batch
from prefixlm_teach.loss import label_loss, prefix_lm_labels, read_loss, read_rows
from prefixlm_teach.ranks import rank_count, sum_over_ranks


def update(
    model: nn.Module,
    together: Sequence[Batch],
    optimizer: Optimizer,
    schedule: LRScheduler,
    *,
    only_read: bool = False,
) -> float:
    """Take one step on several batches, in training mode, and return their mean loss per target token.

    Of several processes each takes it on its own batches, as many as the others, and returns the loss of all.
    `only_read` is for `loss_shares`.
    """
    model.train()
    optimizer.zero_grad()
    loss = 0.0
    for share in loss_shares(model, together, only_read=only_read):
        share.backward()
        loss += share.item()
    loss = _mean_over_ranks(loss, together)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    return loss


@torch.no_grad()
def mean_loss(model: nn.Module, together: Sequence[Batch]) -> float:
    """Return the mean loss per target token of several batches, in eval mode, and leave the model in it."""
    model.eval()
    return _mean_over_ranks(sum(share.item() for share in loss_shares(model, together)), together)


def _mean_over_ranks(loss: float, together: Sequence[Batch]) -> float:
    return sum_over_ranks(loss, together[0].tokens.device) / rank_count()


def loss_shares(model: nn.Module, together: Sequence[Batch], *, only_read: bool = False) -> Iterator[Tensor]:
    """Yield what each batch adds to the mean loss per target token of all of them.

    Of several processes, `DistributedDataParallel` takes the mean of their gradients, and all count the same
    there. So what a process adds is multiplied by how many there are. With `only_read` the model computes, in
    its last layer, only the rows that the loss reads.

    Raises:
        ValueError: no batch has a target.
    """
    counts = [target_count(batch) for batch in together]
    total = sum_over_ranks(sum(counts), together[0].tokens.device)
    for batch, count in zip(together, counts, strict=True):
        labels = prefix_lm_labels(batch.tokens, batch.prefix_len, valid=batch.valid)
        wanted = {"read": read_rows(labels)} if only_read else {}
        logits = model(batch.tokens, batch.prefix_len, valid=batch.valid, **wanted)
        if count == 0 and total:
            yield logits.sum() * 0.0  # no mean of its own; but the other processes wait for its gradients
            continue
        mean = (read_loss if only_read else label_loss)(logits, labels)
        yield mean * (count * rank_count() / total)


def target_count(batch: Batch) -> int:
    """Return how many tokens of a batch are scored."""
    first = batch.prefix_len.clamp(min=1)  # (B,): nothing predicts the first token
    return int((batch.valid.sum(-1) - first).clamp(min=0).sum())
