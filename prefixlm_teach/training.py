"""A training loop for prefix LMs: AdamW, warm-up, clipping, a progress bar."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import OneCycleLR
from tqdm import tqdm

from prefixlm_teach.arguments import check_finite_loss, check_int, check_rate
from prefixlm_teach.data import Batch
from prefixlm_teach.loss import compute_prefix_lm_loss


def train(
    model: nn.Module, batches: Iterable[Batch], *, steps: int, lr: float = 2e-3, progress: bool = True
) -> list[float]:
    """Train `model` in place and return the loss of every step.

    The learning rate rises over the first tenth of the steps and then falls to nothing along a cosine.

    Args:
        model: called as `model(tokens, prefix_len, valid=valid)`, as `TinyPrefixLM` is.
        batches: at least `steps` batches.
        steps: the number of updates, at least 20: the learning rate has to rise and to fall.
        lr: the highest learning rate.
        progress: show a progress bar.

    Returns:
        `steps` losses, in nats per target token.

    Raises:
        TypeError: `steps` or `lr` is no number.
        ValueError: `steps` is below 20, `lr` is not above 0, or `batches` runs out, or a loss is not finite.
    """
    check_int("steps", steps, minimum=20)
    check_rate("lr", lr)
    optimizer = AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    schedule = OneCycleLR(optimizer, max_lr=lr, total_steps=steps, pct_start=0.1)
    losses: list[float] = []
    model.train()
    with tqdm(islice(batches, steps), total=steps, disable=not progress, unit="step") as bar:
        for batch in bar:
            logits = model(batch.tokens, batch.prefix_len, valid=batch.valid)
            loss = compute_prefix_lm_loss(logits, batch.tokens, batch.prefix_len, valid=batch.valid)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            check_finite_loss(losses[-1], step=len(losses))
            bar.set_postfix(loss=f"{losses[-1]:.2f}")
    if len(losses) < steps:
        raise ValueError(f"the batches ran out after {len(losses)} of {steps} steps")
    model.eval()
    return losses
