"""The same training loop on two processes: loss, gradients and weights beside those of one process.

    python experiments/distributed.py

starts itself on two processes of this machine, by `torchrun`. One process first trains alone, on two batches
for each step; then two train together, each on one of the two. It prints a JSON object of differences.

Sources: Li et al. 2020 (PyTorch Distributed, arXiv:2006.15704), for the mean of gradients; for the mistake of
taking it as it is, huggingface/transformers issue 34242 and pytorch/torchtitan pull request 2206.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from prefixlm_teach import (
    Batch,
    TinyPrefixLM,
    compute_prefix_lm_loss,
    g2p_vocabulary,
    train,
    training_batches,
)
from prefixlm_teach.updates import loss_shares, target_count

RANKS, STEPS, BATCH_SIZE, SEED = 2, 20, 8, 1


def launch(script: Path, *arguments: str) -> str:
    """Start a script on two processes of this machine, and return what it printed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(RANKS)]
    command += ["--master-addr", "127.0.0.1", "--master-port", str(port), str(script), *arguments]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "USE_LIBUV": "0"}  # PyTorch for Windows has no libuv
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    return done.stdout


def make_model() -> TinyPrefixLM:
    """Make a small model in float64, the same on every process."""
    torch.manual_seed(0)
    return TinyPrefixLM(len(g2p_vocabulary()), d_model=16, n_heads=2, max_len=64, dropout=0.0).double()


def batches() -> Iterator[Batch]:
    """Return the batches of all processes: of short words and of long ones, with few targets or many."""
    return training_batches(g2p_vocabulary(), BATCH_SIZE, seed=SEED)


def gradients(model: nn.Module, losses: Iterator[Tensor]) -> list[Tensor]:
    """Return the gradients of the sum of some losses."""
    model.zero_grad()
    for loss in losses:
        loss.backward()
    return [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]


def furthest(found: list[Tensor], wanted: list[Tensor]) -> float:
    """Return the largest difference, as a share of the largest number that is wanted."""
    differences = [(a - b).abs().max().item() for a, b in zip(found, wanted, strict=True)]
    return max(differences) / max(b.abs().max().item() for b in wanted)


def compare() -> dict[str, object]:
    """Train alone, then with the other process, and return how far the two are apart."""
    step = list(islice(batches(), RANKS))
    alone = make_model()
    wanted = gradients(alone, loss_shares(alone, step))
    losses = train(alone, batches(), steps=STEPS, accumulate=RANKS, progress=False)

    distributed.init_process_group("gloo", timeout=timedelta(seconds=60))
    rank = distributed.get_rank()
    mine = step[rank]
    model = DistributedDataParallel(make_model())
    weighted = gradients(model, loss_shares(model, [mine]))
    logits = model(mine.tokens, mine.prefix_len, valid=mine.valid)
    own_mean = compute_prefix_lm_loss(logits, mine.tokens, mine.prefix_len, valid=mine.valid)
    unweighted = gradients(model, iter([own_mean]))
    share = islice(batches(), rank, None, RANKS)
    together = train(model, share, steps=STEPS, progress=False)
    return {
        "processes": distributed.get_world_size(),
        "targets of each": [target_count(batch) for batch in step],
        "gradients, each token counted alike": furthest(weighted, wanted),
        "gradients, each process counted alike": furthest(unweighted, wanted),
        f"losses of {STEPS} steps": max(abs(a - b) for a, b in zip(together, losses, strict=True)),
        f"weights after {STEPS} steps": furthest(list(model.parameters()), list(alone.parameters())),
    }


def main() -> None:
    """Start two processes, or be one of them."""
    if "RANK" not in os.environ:
        print(launch(Path(__file__)), end="")
        return
    found = compare()
    if distributed.get_rank() == 0:
        print(json.dumps(found, indent=1))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
