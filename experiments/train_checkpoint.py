"""Train the models that come with the package, and measure them on words they never saw.

    python experiments/train_checkpoint.py g2p_prefix
    python experiments/train_checkpoint.py g2p_causal

Each writes prefixlm_teach/weights/<name>.safetensors and experiments/results/<name>.json; without a name,
both are made. It uses one thread, and took the number of seconds that stands in the JSON file. A killed run
goes on from experiments/kept/.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

from prefixlm_teach import (
    TinyCausalLM,
    TinyPrefixLM,
    error_rates,
    g2p_vocabulary,
    pronounce,
    save_checkpoint,
    train,
    training_batches,
    words_of,
)
from prefixlm_teach.files import written_whole

KINDS = {"g2p_prefix": TinyPrefixLM, "g2p_causal": TinyCausalLM}
SEED, STEPS, BATCH_SIZE, LR = 0, 4000, 256, 2e-3
HERE = Path(__file__).parent


def measure(model: TinyPrefixLM) -> dict[str, dict[str, float]]:
    """Word and phoneme error rate over all validation and all test words."""
    rates = {}
    for split in ("validation", "test"):
        words = sorted(words_of(split), key=len)  # like lengths together: the answers end together too
        answers = []
        for start in range(0, len(words), 512):
            answers += pronounce(model, g2p_vocabulary(), words[start : start + 512])
        rates[split] = error_rates(words, answers)._asdict()
    return rates


def make(name: str) -> dict[str, Any]:
    """Train one, write its weights, and return what was measured."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    vocabulary = g2p_vocabulary()
    config = {"vocab_size": len(vocabulary), "n_layers": 3, "max_len": 64}
    model = KINDS[name](**config)
    batches = training_batches(vocabulary, BATCH_SIZE, seed=SEED)
    (HERE / "kept").mkdir(exist_ok=True)
    kept = HERE / "kept" / f"{name}.pt"
    began = time.perf_counter()
    losses = train(model, batches, steps=STEPS, lr=LR, keep=kept)
    made = {
        "script": "experiments/train_checkpoint.py",
        "seed": SEED,
        "steps": STEPS,
        "batch_size": BATCH_SIZE,
        "lr": LR,
        "torch": torch.__version__.partition("+")[0],
    }
    weights = HERE.parent / "prefixlm_teach" / "weights" / f"{name}.safetensors"
    save_checkpoint(weights, model, vocabulary, made=made)
    kept.unlink()
    return {
        **made,
        "config": config,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "seconds": round(time.perf_counter() - began),
        "loss_every_100": [round(sum(losses[i : i + 100]) / 100, 4) for i in range(0, STEPS, 100)],
        **measure(model),
    }


def main() -> None:
    """Make those that are named, or both."""
    for name in sys.argv[1:] or KINDS:
        result = make(name)
        with written_whole(HERE / "results" / f"{name}.json") as part:
            part.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
