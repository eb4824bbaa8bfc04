"""Train the prefix LM that comes with the package, and measure it on words it never saw.

    python experiments/train_checkpoint.py

writes prefixlm_teach/weights/g2p_prefix.safetensors and experiments/results/g2p_prefix.json. It uses one
thread and took the number of seconds that stands in the JSON file.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import torch

from prefixlm_teach import (
    TinyPrefixLM,
    g2p_vocabulary,
    load_words,
    pronounce,
    save_checkpoint,
    train,
    training_batches,
    words_of,
)

SEED, STEPS, BATCH_SIZE, LR = 0, 4000, 256, 2e-3
HERE = Path(__file__).parent


def share_right(model: TinyPrefixLM, words: list[str]) -> float:
    """Return the share of `words` whose answer is one of the dictionary's pronunciations."""
    answers = []
    for start in range(0, len(words), 512):
        answers += pronounce(model, g2p_vocabulary(), words[start : start + 512])
    listed = load_words()
    return sum(answer in listed[word] for word, answer in zip(words, answers, strict=True)) / len(words)


def main() -> None:
    """Train, measure, write."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    vocabulary = g2p_vocabulary()
    config = {"vocab_size": len(vocabulary), "n_layers": 3, "max_len": 64}
    model = TinyPrefixLM(**config)
    began = time.perf_counter()
    losses = train(model, training_batches(vocabulary, BATCH_SIZE, seed=SEED), steps=STEPS, lr=LR)
    made = {
        "script": "experiments/train_checkpoint.py",
        "seed": SEED,
        "steps": STEPS,
        "batch_size": BATCH_SIZE,
        "lr": LR,
        "torch": torch.__version__.partition("+")[0],
    }
    save_checkpoint(
        HERE.parent / "prefixlm_teach" / "weights" / "g2p_prefix.safetensors", model, vocabulary, made=made
    )
    result = {
        **made,
        "config": config,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "seconds": round(time.perf_counter() - began),
        "loss_every_100": [round(sum(losses[i : i + 100]) / 100, 4) for i in range(0, STEPS, 100)],
        "words_right": {split: share_right(model, list(words_of(split))) for split in ("validation", "test")},
    }
    text = json.dumps(result, indent=1) + "\n"
    (HERE / "results" / "g2p_prefix.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
