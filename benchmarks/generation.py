"""How fast an answer is made: with a cache, and reading everything again for each new token.

    python benchmarks/generation.py

A model of the size that `TinyPrefixLM` has by default, untrained, answers prompts of several lengths with 128
tokens. Beside the times stands the count of the work, which no machine changes. That both ways give the same
tokens is proved by `tests/test_generation.py`.
"""

from __future__ import annotations

from typing import Any

import torch
from timing import measure, write

from prefixlm_teach import TinyPrefixLM, count_work, generate, generate_greedy

V, NEW = 69, 128
SIZES = ((32, 1), (128, 1), (512, 1), (32, 16), (128, 16))  # prompt, batch


def answering(model: TinyPrefixLM, prompt: int, batch: int) -> dict[str, Any]:
    """Time both ways for one length of prompt and one size of batch."""
    tokens = torch.randint(1, V, (batch, prompt), generator=torch.Generator().manual_seed(0))
    how = {"stop_id": 0, "max_new_tokens": NEW}
    times = measure(
        {
            "cached": lambda: generate(model, tokens, **how),
            "uncached": lambda: generate_greedy(model, tokens, **how),
        },
        rounds=5,
    )
    cached, uncached = (count_work(prompt, prompt, NEW, cached=kept) for kept in (True, False))
    return {
        "prompt": prompt,
        "batch": batch,
        "uncached_over_cached": round(times["uncached"]["median"] / times["cached"]["median"], 2),
        "counted": {
            "tokens": round(uncached.tokens / cached.tokens, 2),
            "pairs": round(uncached.pairs / cached.pairs, 2),
        },
        "ms": times,
    }


def main() -> None:
    """Measure, print a table, write the JSON."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = TinyPrefixLM(V, max_len=1024).eval()
    with torch.no_grad():
        model.output.bias[0] = -1e6  # no answer stops early
    found = []
    print(f"{'prompt':>6} {'batch':>5} {'uncached/cached':>15} {'tokens':>7} {'pairs':>7}   medians in ms")
    for prompt, batch in SIZES:
        found.append(answering(model, prompt, batch))
        ratio, counted = found[-1]["uncached_over_cached"], found[-1]["counted"]
        middle = ", ".join(f"{name} {time['median']:g}" for name, time in found[-1]["ms"].items())
        print(f"{prompt:>6} {batch:>5} {ratio:>15} {counted['tokens']:>7} {counted['pairs']:>7}   {middle}")
    write("generation", {"what": f"answering with {NEW} tokens", "found": found})


if __name__ == "__main__":
    main()
