"""How fast attention is under a prefix mask: each kernel against a dense mask, by T and p.

    python benchmarks/attention.py

One layer's attention alone, forward, and forward with backward, for a kernel that is ready, as in the second
layer of a model and all that follow; the first one pays for the mask as well. `auto` is what a model does by
default; below 1024 tokens it is the dense mask itself. FlexAttention is uncompiled, and on a CPU has no
backward. What counts is the time of this process on its one thread, so that others on the same machine hardly
matter.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from timing import measure, write
from torch import Tensor

from prefixlm_teach import KERNELS, Sight, make_ready
from prefixlm_teach.attention import mix

H, D_HEAD = 4, 32  # as `TinyPrefixLM` has them by default
LENGTHS = (64, 256, 512, 1024, 2048)
PARTS = (0, 1 / 4, 1 / 2, 3 / 4, 1)  # p / T
TOKENS = 2048  # in a batch of the shorter ones
NAMES = [name for name in KERNELS if name not in ("plain", "flex")]


def forward(q: Tensor, k: Tensor, v: Tensor, ready: Any) -> Callable[[], object]:
    """Return a call of attention that keeps nothing for a backward."""

    def call() -> object:
        with torch.no_grad():
            return mix(q, k, v, ready)

    return call


def both_ways(q: Tensor, k: Tensor, v: Tensor, ready: Any) -> Callable[[], object]:
    """Return a call of attention and of its backward."""
    q, k, v = (x.clone().requires_grad_() for x in (q, k, v))
    return lambda: torch.autograd.grad(mix(q, k, v, ready).sum(), (q, k, v))


def attending(seq_len: int, prefix_len: int) -> dict[str, Any]:
    """Time all kernels for one T and one p."""
    B = max(1, TOKENS // seq_len // 4)
    q, k, v = torch.randn(3, B, seq_len, H, D_HEAD).transpose(2, 3)  # as a layer cuts its width into heads
    sight = Sight(seq_len, prefix_len)
    ready = {name: make_ready(name, sight) for name in NAMES}
    with torch.no_grad():
        seldom = {name: make_ready(name, sight) for name in ("plain", "flex")}
    rounds = max(9, 5000 // seq_len)
    found: dict[str, Any] = {"seq_len": seq_len, "prefix_len": prefix_len, "batch": B}
    for way, timed in (("forward", forward), ("both_ways", both_ways)):
        times = measure(
            {name: timed(q, k, v, call) for name, call in ready.items()},
            rounds=rounds,
            clock=time.process_time,
        )
        slow = {n: timed(q, k, v, c) for n, c in seldom.items() if n == "plain" or way == "forward"}
        times |= measure(slow, rounds=3, clock=time.process_time)
        dense = times["dense"]["median"]
        over = {f"dense_over_{n}": round(dense / t["median"], 2) for n, t in times.items() if n != "dense"}
        found[way] = {"ratios": over, "ms": times}
    return found


def main() -> None:
    """Measure, print a table, write the JSON."""
    warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    found = []
    names = [*(n for n in NAMES if n != "dense"), "plain", "flex"]
    print("dense / each, forward and both ways")
    print(f"{'T':>5} {'p':>5}" + "".join(f"{name:>14}" for name in names))
    for seq_len in LENGTHS:
        for part in PARTS:
            found.append(attending(seq_len, int(part * seq_len)))
            ways = [found[-1][way]["ratios"] for way in ("forward", "both_ways")]
            pairs = ["/".join(str(way.get(f"dense_over_{name}", "-")) for way in ways) for name in names]
            row = "".join(f"{pair:>14}" for pair in pairs)
            print(f"{seq_len:>5} {found[-1]['prefix_len']:>5}{row}", flush=True)
    what = f"attention of {H} heads of {D_HEAD} numbers under a prefix mask, processor time"
    write("attention", {"what": what, "found": found})


if __name__ == "__main__":
    main()
