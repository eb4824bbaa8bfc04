"""How fast linear attention is: the prefix by one sum, against a causal pass over everything.

    python benchmarks/linear.py

The same queries, keys and values go through the prefix form, through the causal form in chunks of 64, through
the causal recurrence token by token, and through the quadratic form under the prefix mask. The causal ones
compute something else: they are what a model with no prefix has to do. The times are those of the one thread
that computes; beside them stands the count of multiplications, which no machine changes. That prefix form and
quadratic form agree is proved by `tests/test_linear_attention.py`.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from timing import measure, write

from prefixlm_teach import (
    causal_linear_attention,
    create_prefix_lm_mask,
    plain_linear_attention,
    prefix_linear_attention,
)

HEADS, D_HEAD, CHUNK = 4, 64, 64
LENGTHS = (512, 2048, 4096)
LONGEST_PLAIN = 2048  # beyond it the recurrence and the quadratic form take long
PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # p / T


def multiplications(seq_len: int, prefix_len: int) -> int:
    """Count those of one head: each token is added and read; in a chunk, it also meets the chunk's tokens."""
    add_and_read = 2 * D_HEAD * D_HEAD
    in_chunk = 2 * CHUNK * D_HEAD
    return seq_len * add_and_read + (seq_len - prefix_len) * in_chunk


def one_length(seq_len: int) -> list[dict[str, Any]]:
    """Time all forms of one length, with a prefix of each size, in the same rounds."""
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, HEADS, seq_len, D_HEAD)
    splits = [int(part * seq_len) for part in PARTS]
    forms = {f"prefix {p}": lambda p=p: prefix_linear_attention(q, k, v, p, chunk=CHUNK) for p in splits} | {
        "causal": lambda: causal_linear_attention(q, k, v, chunk=CHUNK)
    }
    with torch.no_grad():
        times = measure(forms, rounds=41, clock=time.thread_time)
        if seq_len <= LONGEST_PLAIN:
            mask = create_prefix_lm_mask(seq_len, seq_len // 2)
            slow = {
                "recurrence": lambda: causal_linear_attention(q, k, v, chunk=1),
                "quadratic": lambda: plain_linear_attention(q, k, v, mask),
            }
            # Apart, or the form whose turn comes after the slowest would pay for it.
            times |= measure(slow, rounds=15, clock=time.thread_time)
    found = []
    for p in splits:
        ours = times[f"prefix {p}"]
        others = {name: time for name, time in times.items() if not name.startswith("prefix")}
        found.append(
            {
                "seq_len": seq_len,
                "prefix_len": p,
                "over_prefix_form": {
                    name: round(time["median"] / ours["median"], 2) for name, time in others.items()
                },
                "causal_counted": round(multiplications(seq_len, 0) / multiplications(seq_len, p), 2),
                "ms": {"prefix_form": ours, **others},
            }
        )
    return found


def main() -> None:
    """Measure, print a table, write the JSON."""
    torch.set_num_threads(1)
    found = []
    print(f"{'T':>5} {'p':>5} {'causal/prefix form':>18} {'counted':>8} {'recurrence':>11} {'quadratic':>10}")
    for seq_len in LENGTHS:
        for row in one_length(seq_len):
            found.append(row)
            ratios = row["over_prefix_form"]
            against = [ratios.get(name, "-") for name in ("recurrence", "quadratic")]
            print(
                f"{seq_len:>5} {row['prefix_len']:>5} {ratios['causal']:>18} {row['causal_counted']:>8} "
                f"{against[0]:>11} {against[1]:>10}"
            )
    sizes = {"batch": 1, "heads": HEADS, "d_head": D_HEAD, "chunk": CHUNK}
    write("linear", {"what": "linear attention, forward, CPU time", "sizes": sizes, "found": found})


if __name__ == "__main__":
    main()
