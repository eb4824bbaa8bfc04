"""What it saves in training to leave out the last layer's rows that nobody reads.

    python benchmarks/rows.py

Loss and backward of whole models, without an optimizer's step: all rows, and only those that the loss reads,
in turns. The saving is that of the last of the layers, and of the output layer, by the part that is prefix.
That both give the same loss and gradients is proved by `tests/test_read_rows.py`. What counts is the time of
this process on its one thread, so that others on the same machine hardly matter.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from timing import measure, write

from prefixlm_teach import TinyPrefixLM, label_loss, prefix_lm_labels, read_loss, read_rows

T, B, ROUNDS = 128, 8, 11
MODELS = ((2, 69), (8, 69), (2, 8192))  # layers, vocabulary; the first as in this handbook
PARTS = (0.0, 0.25, 0.5, 0.75)  # p / T


def step(model: TinyPrefixLM, tokens: torch.Tensor, prefix_len: int, only_read: bool) -> Callable[[], object]:
    """Return a call of forward, loss and backward."""

    def call() -> object:
        labels = prefix_lm_labels(tokens, prefix_len)
        if only_read:
            loss = read_loss(model(tokens, prefix_len, read=read_rows(labels)), labels)
        else:
            loss = label_loss(model(tokens, prefix_len), labels)
        return torch.autograd.grad(loss, list(model.parameters()))

    return call


def one_model(n_layers: int, vocab_size: int) -> list[dict[str, Any]]:
    """Time one model at each p."""
    torch.manual_seed(0)
    model = TinyPrefixLM(vocab_size, n_layers=n_layers, max_len=T, dropout=0.0)
    tokens = torch.randint(vocab_size, (B, T))
    found = []
    for part in PARTS:
        p = int(part * T)
        times = measure(
            {name: step(model, tokens, p, name == "only_read") for name in ("all_rows", "only_read")},
            rounds=ROUNDS,
            clock=time.process_time,
        )
        ratio = round(times["all_rows"]["median"] / times["only_read"]["median"], 2)
        sizes = {"layers": n_layers, "vocab_size": vocab_size, "prefix_len": p}
        found.append({**sizes, "all_over_only_read": ratio, "ms": times})
        print(f"{n_layers:>6} {vocab_size:>10} {p:>5} {ratio:>14}", flush=True)
    return found


def main() -> None:
    """Measure, print a table, write the JSON."""
    torch.set_num_threads(1)
    print(f"{'layers':>6} {'vocabulary':>10} {'p':>5} {'all/only read':>14}")
    found = [row for sizes in MODELS for row in one_model(*sizes)]
    what = f"forward, loss and backward of {B} examples of {T} tokens, processor time"
    write("rows", {"what": what, "found": found})


if __name__ == "__main__":
    main()
