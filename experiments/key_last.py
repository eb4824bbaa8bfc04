"""A key that comes last says how everything before it is to be read. Does an open prefix help?

    python experiments/key_last.py tune       which learning rate suits which mask (one seed)
    python experiments/key_last.py main       masks, the place of the key, depth, a single key (five seeds)

Without a word it does both. Results stand in experiments/results/key_last/, one file a run, as those of
g2p.py do; the argument and what it predicts, written before the first run, stand in EXPECTED.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from performing import Experiment, summary
from torch import Tensor, nn

from prefixlm_teach import TinyPrefixLM, train
from prefixlm_teach.data import Batch

NODES, HOPS = 5, 4
KEYS = NODES * NODES  # ids: the edge (a, b) is a * NODES + b; then come keys, hops, starts and answers
STARTS = KEYS + NODES + HOPS
ANSWERS = STARTS + NODES
VOCAB_SIZE = ANSWERS + NODES
PREFIX_LEN = NODES + 3  # the edges, the key, the hops, the start
MASKS = ("causal", "prefix", "key opened", "key closed")
RATES = (2e-3, 4e-3)
BATCH_SIZE, STEPS = 256, 2000


class Run(NamedTuple):
    """One training run: under which mask, on which form of the task, how deep, which seed."""

    mask: str
    seed: int
    lr: float
    key: str = "last"
    keys: int = NODES
    n_layers: int = 3

    @property
    def name(self) -> str:
        """The name of the run's files."""
        form = f"{self.key}-k{self.keys}-l{self.n_layers}"
        return f"{self.mask.replace(' ', '_')}-{form}-lr{self.lr:g}-s{self.seed}"


def tuning() -> Iterator[Run]:
    """The key last, at each learning rate."""
    for mask in MASKS:
        for lr in RATES:
            yield Run(mask, 0, lr)


def best_rate(mask: str) -> float:
    """The learning rate with which the run of the tuning had most answers right, over all hops."""
    return max(RATES, key=lambda lr: sum(EXPERIMENT.result(Run(mask, 0, lr))["right"]))


def comparison() -> Iterator[Run]:
    """Each prediction's runs."""
    for seed in range(5):
        for mask in MASKS:
            yield Run(mask, seed, best_rate(mask))
        for mask in ("causal", "prefix"):
            lr = best_rate(mask)
            yield Run(mask, seed, lr, key="first")
            yield Run(mask, seed, lr, n_layers=4)
            yield Run(mask, seed, lr, keys=1)


def draw(run: Run, size: int, generator: torch.Generator, hops: int | None = None) -> Batch:
    """Draw examples: edges (a, b) in random order, a key, hops, a start, and the node where they end.

    Under key k the edge (a, b) leads from a + k to b. The number of hops is drawn too, unless it is given.
    """
    goes_to = torch.randint(0, NODES, (size, NODES), generator=generator)  # (B, nodes): b of each a
    order = torch.rand(size, NODES, generator=generator).argsort(-1)  # (B, nodes): the a of each column
    key = torch.randint(0, run.keys, (size, 1), generator=generator)
    start = torch.randint(0, NODES, (size, 1), generator=generator)
    wanted = torch.randint(1, HOPS + 1, (size, 1), generator=generator)
    if hops is not None:
        wanted = torch.full_like(wanted, hops)
    node = answer = start
    for hop in range(1, HOPS + 1):
        node = goes_to.gather(1, (node - key) % NODES)
        answer = torch.where(wanted == hop, node, answer)
    edges, key_token = order * NODES + goes_to.gather(1, order), KEYS + key
    before = [edges, key_token] if run.key == "last" else [key_token, edges]
    after = [KEYS + NODES + wanted - 1, STARTS + start, ANSWERS + answer]
    tokens = torch.cat([*before, *after], dim=1)  # (B, T)
    return Batch(tokens, torch.full((size,), PREFIX_LEN), torch.ones_like(tokens, dtype=torch.bool))


def make_mask(run: Run) -> Tensor:
    """Return the (T, T) mask of a run, True = may attend."""
    q = torch.arange(PREFIX_LEN + 1)[:, None]
    k = torch.arange(PREFIX_LEN + 1)
    is_key = k == (NODES if run.key == "last" else 0)
    opened = {
        "causal": torch.zeros_like(is_key),
        "prefix": k < PREFIX_LEN,
        "key opened": is_key,
        "key closed": (k < PREFIX_LEN) & ~is_key,
    }
    return (k <= q) | opened[run.mask]


class Masked(nn.Module):
    """A model that always attends under one mask."""

    def __init__(self, model: TinyPrefixLM, mask: Tensor) -> None:
        super().__init__()
        self.model, self.mask = model, mask

    def forward(self, tokens: Tensor, prefix_len: Tensor, *, valid: Tensor) -> Tensor:
        """Return (B, T, V) logits; `prefix_len` is left to the loss."""
        out: Tensor = self.model(tokens, mask=self.mask, valid=valid)
        return out


def batches(run: Run) -> Iterator[Batch]:
    """Yield new examples without end."""
    generator = torch.Generator().manual_seed(run.seed)
    while True:
        yield draw(run, BATCH_SIZE, generator)


def make_model(run: Run) -> Masked:
    """Make the model of a run, with the weights that its seed gives."""
    torch.manual_seed(run.seed)
    config = {"d_model": 64, "n_layers": run.n_layers, "max_len": PREFIX_LEN + 1, "dropout": 0.0}
    return Masked(TinyPrefixLM(VOCAB_SIZE, **config), make_mask(run))


def learn(
    run: Run, *, keep: Path | None = None, watch: Callable[[list[float]], None] | None = None
) -> tuple[nn.Module, list[float]]:
    """Train the model of a run; return it with the loss of each step."""
    torch.set_num_threads(1)
    model = make_model(run)
    return model, train(model, batches(run), steps=STEPS, lr=run.lr, keep=keep, watch=watch)


@torch.no_grad()
def shares_right(model: nn.Module, run: Run, size: int = 4096) -> list[float]:
    """Return the share of new examples whose answer is right, for one hop, two, ..."""
    shares = []
    for hops in range(1, HOPS + 1):
        fresh = draw(run, size, torch.Generator().manual_seed(1_000_000 + run.seed), hops)
        logits = model(fresh.tokens, fresh.prefix_len, valid=fresh.valid)
        right = logits[:, PREFIX_LEN - 1].argmax(-1) == fresh.tokens[:, PREFIX_LEN]
        shares.append(round(float(right.float().mean()), 5))
    return shares


def perform(run: Run, kept: Path) -> dict[str, Any]:
    """Train and measure; goes on where a killed run was."""
    began = time.perf_counter()
    model, losses = learn(run, keep=kept)
    return {
        **run._asdict(),
        "steps": STEPS,
        "batch_size": BATCH_SIZE,
        **summary(model, losses, time.perf_counter() - began),
        "right": shares_right(model, run),
    }


EXPERIMENT = Experiment("key_last", {"tune": tuning, "main": comparison}, perform)

if __name__ == "__main__":
    EXPERIMENT.main()
