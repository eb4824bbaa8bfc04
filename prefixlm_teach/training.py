"""A training loop for prefix LMs: AdamW, warm-up, clipping, a progress bar; it can be killed and go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import OneCycleLR
from tqdm import tqdm

from prefixlm_teach.data import Batch
from prefixlm_teach.read_arguments import check_only_read
from prefixlm_teach.run_arguments import check_enough, check_finite_loss, check_training, check_watch
from prefixlm_teach.runs import load_run, save_run
from prefixlm_teach.updates import update


def train(
    model: nn.Module,
    batches: Iterable[Batch],
    *,
    steps: int,
    lr: float = 2e-3,
    accumulate: int = 1,
    keep: Path | None = None,
    every: int = 100,
    only_read: bool = False,
    watch: Callable[[list[float]], None] | None = None,
    progress: bool = True,
) -> list[float]:
    """Train `model` in place and return the loss of every step.

    The learning rate rises over the first tenth of the steps and then falls to nothing along a cosine.

    On several processes, started by `torchrun`, wrap the model in `DistributedDataParallel` and give each
    process batches and a `keep` of its own: an update is then that of all their batches as one.

    Args:
        model: called as `model(tokens, prefix_len, valid=valid)`, as `TinyPrefixLM` is.
        batches: at least `steps * accumulate` batches, from the first step on, even for a run that goes on.
        steps: the number of updates, at least 20: the learning rate has to rise and to fall.
        lr: the highest learning rate.
        accumulate: how many batches make one update. Each target token counts the same, whichever batch it
            is in, so that the update is that of one large batch.
        keep: a file in which the run is kept every `every` steps and at its end. If it is there, the run goes
            on from it, whatever weights `model` has; on the same machine it ends as if it had never stopped.
            Give each run a file of its own: one of another model, or on other batches, is refused.
        every: how many steps at most are lost when the process is killed.
        only_read: compute no row that nobody reads: the loss reads none before the last prefix token, so that
            from the last layer's feed-forward on none of them is computed. Loss and gradients are the same;
            with dropout, other numbers are drawn.
        watch: called after each step with the losses so far, as a `LiveCurve` is.
        progress: show a progress bar, with the loss and how many tokens a second are read.

    Returns:
        `steps` losses, in nats per target token.

    Raises:
        TypeError: a number is no number, `keep` no path, `watch` cannot be called, or with `only_read` the
            model cannot be told which rows are read, as an encoder-decoder cannot.
        ValueError: a number is too small, `batches` runs out, a loss is not finite, or the file holds
            another run.
        FileNotFoundError, IsADirectoryError: the folder of `keep` is not there, or `keep` is one.
    """
    check_training(steps, lr, accumulate, keep, every)
    check_watch(watch)
    check_only_read(only_read, model)
    steps, lr, accumulate = int(steps), float(lr), int(accumulate)  # a file holds no NumPy numbers
    optimizer = AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    schedule = OneCycleLR(optimizer, max_lr=lr, total_steps=steps, pct_start=0.1)
    asked = {"steps": steps, "lr": lr, "accumulate": accumulate, "only_read": only_read}
    losses: list[float] = []
    stream = iter(batches)
    if keep is not None and keep.exists():
        losses = load_run(keep, model, optimizer, schedule, stream, asked)
    read, began = 0, time.perf_counter()
    with tqdm(initial=len(losses), total=steps, disable=not progress, unit="step") as bar:
        while len(losses) < steps:
            together = list(islice(stream, accumulate))
            check_enough(len(together), accumulate, len(losses), steps)
            losses.append(update(model, together, optimizer, schedule, only_read=only_read))
            check_finite_loss(losses[-1], step=len(losses))
            read += sum(int(batch.valid.sum()) for batch in together)
            rate = read / (time.perf_counter() - began)
            bar.set_postfix_str(f"loss={losses[-1]:.2f}, {rate:,.0f} tokens/s", refresh=False)
            bar.update()
            if keep is not None and (len(losses) % every == 0 or len(losses) == steps):
                save_run(keep, model, optimizer, schedule, losses, together, asked)
            if watch is not None:
                watch(losses)
    model.eval()
    return losses
