"""Does an open prefix help to pronounce? Causal, prefix and encoder-decoder models, with seeds.

    python experiments/g2p.py tune       which learning rate suits which model (600 steps, one seed)
    python experiments/g2p.py main       the comparison (2,400 steps, five seeds)
    python experiments/g2p.py sweep      learning rate, depth, width and steps, one at a time (three seeds)

Without a word it does all three, in this order: a part needs what the one before it found. Each run writes
one JSON file to experiments/results/g2p/ when it ends; what is there already is not run again (delete it, and
it is). A run that was killed goes on from experiments/kept/g2p/. Each uses one thread; with `--jobs 2` two
run at a time.
What was expected stands in experiments/EXPECTED.md, written before the first run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from g2p_models import make_model
from performing import Experiment, summary
from torch import nn

from prefixlm_teach import g2p_vocabulary, pronounce, train, training_batches, words_of
from prefixlm_teach.errors import error_rates

BATCH_SIZE = 128
# The encoder-decoders are narrower, so that all have about as many parameters (606,000 to 634,000).
WIDTHS = {"encdec-2-1": 120, "encdec-2-2": 104}
DECODERS = tuple(
    f"{mask}-{position}" for position in ("learned", "restarting", "rotary") for mask in ("causal", "prefix")
)
RATES = (1e-3, 2e-3, 4e-3, 8e-3)


class Run(NamedTuple):
    """One training run: which model, how large, how long, which seed."""

    kind: str
    seed: int
    lr: float = 2e-3
    steps: int = 2400
    n_layers: int = 3
    d_model: int = 128

    @property
    def name(self) -> str:
        """The name of the run's files."""
        shape = f"-l{self.n_layers}-d{self.d_model}" if self.kind not in WIDTHS else ""
        return f"{self.kind}{shape}-lr{self.lr:g}-t{self.steps}-s{self.seed}"


def tuning() -> Iterator[Run]:
    """Short runs at each learning rate."""
    for kind in (*DECODERS, *WIDTHS):
        for lr in RATES:
            yield Run(kind, 0, lr, 600)


def validation_error(run: Run) -> float:
    """The validation phoneme error of a run that has ended."""
    return float(EXPERIMENT.result(run)["validation"]["phoneme"])


def best_rate(kind: str) -> float:
    """The learning rate with which a short run came to the lowest error."""
    return min(RATES, key=lambda lr: validation_error(Run(kind, 0, lr, 600)))


def best_encoder_decoder() -> str:
    """The shape of encoder-decoder that did best in the tuning."""
    return min(WIDTHS, key=lambda kind: validation_error(Run(kind, 0, best_rate(kind), 600)))


def comparison() -> Iterator[Run]:
    """The long runs, each kind at the learning rate that suits it."""
    kinds = (*DECODERS, best_encoder_decoder())
    for seed in range(5):
        for kind in kinds:
            yield Run(kind, seed, best_rate(kind))


def sweeps() -> Iterator[Run]:
    """Short runs that change one thing at a time."""
    for seed in range(3):
        for kind in ("causal-rotary", "prefix-rotary"):
            lr = best_rate(kind)
            for other in RATES:  # with one of them, the run that the others are compared with
                yield Run(kind, seed, other, 600)
            for n_layers in (1, 2, 6):
                yield Run(kind, seed, lr, 600, n_layers=n_layers)
            for d_model in (64, 192):
                yield Run(kind, seed, lr, 600, d_model=d_model)
            yield Run(kind, seed, lr, 300)


def width(run: Run) -> int:
    """The width of a run's model."""
    return WIDTHS.get(run.kind, run.d_model)


def learn(
    run: Run, *, keep: Path | None = None, watch: Callable[[list[float]], None] | None = None
) -> tuple[nn.Module, list[float]]:
    """Train the model of a run; return it with the loss of each step."""
    torch.set_num_threads(1)
    torch.manual_seed(run.seed)
    vocabulary = g2p_vocabulary()
    model = make_model(
        run.kind, vocab_size=len(vocabulary), d_model=width(run), n_layers=run.n_layers, max_len=64
    )
    batches = training_batches(vocabulary, BATCH_SIZE, seed=run.seed)
    return model, train(model, batches, steps=run.steps, lr=run.lr, keep=keep, watch=watch)


def perform(run: Run, kept: Path) -> dict[str, Any]:
    """Train and measure; goes on where a killed run was."""
    began = time.perf_counter()
    model, losses = learn(run, keep=kept)
    seconds = time.perf_counter() - began
    return {
        **run._asdict(),
        "d_model": width(run),
        "batch_size": BATCH_SIZE,
        **summary(model, losses, seconds),
        **{split: measure(model, split) for split in ("validation", "test")},
    }


def measure(model: nn.Module, split: str) -> dict[str, float]:
    """Word and phoneme error rate over all words of a split."""
    words = sorted(words_of(split), key=len)  # like lengths together: the answers end together too
    answers = []
    for start in range(0, len(words), 512):
        answers += pronounce(model, g2p_vocabulary(), words[start : start + 512])
    return {name: round(rate, 5) for name, rate in error_rates(words, answers)._asdict().items()}


EXPERIMENT = Experiment("g2p", {"tune": tuning, "main": comparison, "sweep": sweeps}, perform)

if __name__ == "__main__":
    EXPERIMENT.main()
