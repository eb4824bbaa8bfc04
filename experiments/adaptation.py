"""A trained causal model goes on as something else: what is its head start worth, and for how long?

    python experiments/adaptation.py tune       which learning rate suits which model (100 steps, one seed)
    python experiments/adaptation.py main       the comparison (no, 100 and 300 steps, three seeds)

Without a word it does both. The shipped checkpoint g2p_causal goes on under its own mask, under a prefix
mask, and as an encoder-decoder whose encoder looks both ways or only back; all but the first are trained from
scratch too, for the same steps on the same batches. Results stand in experiments/results/adaptation/, one
file a run, as those of g2p.py do; what was expected stands in EXPECTED.md, written before the first run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from performing import Experiment, summary
from torch import nn

from prefixlm_teach import (
    BalancedEncoderDecoder,
    TinyCausalLM,
    TinyPrefixLM,
    adapt_to_encoder_decoder,
    adapt_to_prefix,
    error_rates,
    g2p_vocabulary,
    load_checkpoint,
    pronounce,
    train,
    training_batches,
    words_of,
)

KINDS = ("causal", "prefix", "encoder-decoder", "causal-encoder")
MODELS = (*((kind, "checkpoint") for kind in KINDS), *((kind, "scratch") for kind in KINDS[1:]))
RATES = (2.5e-4, 1e-3, 4e-3)
TUNED, STEPS, SEEDS = 100, (100, 300), (1, 2, 3)  # seed 0 made the checkpoint
BATCH_SIZE = 128
EVERY = {"validation": 12, "test": 3}  # an encoder-decoder answers without a cache: not all are asked


class Run(NamedTuple):
    """One training run: which model, from where, for how many steps, which seed."""

    kind: str
    begun: str
    steps: int
    seed: int
    lr: float

    @property
    def name(self) -> str:
        """The name of the run's files."""
        return f"{self.kind}-{self.begun}-t{self.steps}-lr{self.lr:g}-s{self.seed}"


def tuning() -> Iterator[Run]:
    """Short runs at each learning rate."""
    for kind, begun in MODELS:
        for lr in RATES:
            yield Run(kind, begun, TUNED, SEEDS[0], lr)


def best_rate(kind: str, begun: str) -> float:
    """The learning rate with which a short run came to the lowest error."""

    def error(lr: float) -> float:
        return float(EXPERIMENT.result(Run(kind, begun, TUNED, SEEDS[0], lr))["validation"]["phoneme"])

    return min(RATES, key=error)


def comparison() -> Iterator[Run]:
    """What the checkpoint can do as it is, then each model at the learning rate that suits it."""
    for kind in KINDS:
        yield Run(kind, "checkpoint", 0, SEEDS[0], 0.0)
    for seed in SEEDS:
        for kind, begun in MODELS:
            for steps in STEPS:
                yield Run(kind, begun, steps, seed, best_rate(kind, begun))


def make_model(kind: str, begun: str) -> nn.Module:
    """Make the model of a run: from the checkpoint's weights, or with new ones of the same shape."""
    causal, vocabulary = load_checkpoint("g2p_causal")
    assert isinstance(causal, TinyCausalLM)  # noqa: S101 - for the type checker
    shape = {"vocab_size": len(vocabulary), "n_layers": len(causal.blocks), "max_len": causal.max_len}
    looks_back = kind == "causal-encoder"
    if begun == "scratch":
        return (
            TinyPrefixLM(**shape)
            if kind == "prefix"
            else BalancedEncoderDecoder(**shape, causal_encoder=looks_back)
        )
    if kind == "causal":
        return causal
    return (
        adapt_to_prefix(causal)
        if kind == "prefix"
        else adapt_to_encoder_decoder(causal, causal_encoder=looks_back)
    )


def learn(
    run: Run, *, keep: Path | None = None, watch: Callable[[list[float]], None] | None = None
) -> tuple[nn.Module, list[float]]:
    """Train the model of a run; return it with the loss of each step."""
    torch.set_num_threads(1)
    torch.manual_seed(run.seed)
    model = make_model(run.kind, run.begun)
    if run.steps == 0:
        return model, []
    batches = training_batches(g2p_vocabulary(), BATCH_SIZE, seed=run.seed)
    return model, train(model, batches, steps=run.steps, lr=run.lr, keep=keep, watch=watch)


def measure(model: nn.Module, split: str) -> dict[str, float]:
    """Word and phoneme error rate over every third word of the test split, or every twelfth to choose by."""
    words = sorted(words_of(split)[:: EVERY[split]], key=len)  # like lengths together, as in g2p.py
    answers = []
    for start in range(0, len(words), 32):  # few, or all would wait for the one that never ends
        answers += pronounce(model, g2p_vocabulary(), words[start : start + 32])
    return {name: round(rate, 5) for name, rate in error_rates(words, answers)._asdict().items()}


def perform(run: Run, kept: Path) -> dict[str, Any]:
    """Train and measure; goes on where a killed run was."""
    began = time.perf_counter()
    model, losses = learn(run, keep=kept)
    seconds = time.perf_counter() - began
    return {
        **run._asdict(),
        "batch_size": BATCH_SIZE,
        **summary(model, losses, seconds),
        **{split: measure(model, split) for split in EVERY},
    }


EXPERIMENT = Experiment("adaptation", {"tune": tuning, "main": comparison}, perform)

if __name__ == "__main__":
    EXPERIMENT.main()
