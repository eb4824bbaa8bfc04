"""How fast a mask is made: ours against a Python loop, and against PyTorch's triangle alone.

    python benchmarks/mask.py

The loop fills the mask cell by cell, as introductory articles do. The triangles are no prefix masks: they are
the least that any mask has to do, so they say what the prefix, the checks and the padding cost.
"""

from __future__ import annotations

import torch
from timing import measure, write

from prefixlm_teach import create_prefix_lm_mask

LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
LONGEST_LOOP = 512  # beyond it the loop takes seconds


def mask_by_loops(seq_len: int, prefix_len: int) -> torch.Tensor:
    """Close an additive mask one cell at a time, as the source does: the same assignments, in row order."""
    mask = torch.zeros(seq_len, seq_len)
    for query in range(seq_len):
        for key in range(max(query + 1, prefix_len), seq_len):
            mask[query, key] = float("-inf")
    return mask


def main() -> None:
    """Measure, print a table, write the JSON."""
    torch.set_num_threads(1)
    found = []
    print(f"{'T':>5} {'loop/ours':>10} {'ours/float tril':>16} {'ours/bool tril_':>16}   medians in ms")
    for seq_len in LENGTHS:
        p = seq_len // 2
        fast = {
            "ours": lambda t=seq_len, p=p: create_prefix_lm_mask(t, p),
            "float_tril": lambda t=seq_len: torch.ones(t, t).tril(),
            "bool_tril": lambda t=seq_len: torch.ones(t, t, dtype=torch.bool).tril_(),
        }
        times = measure(fast, rounds=max(15, 60_000 // seq_len))
        if seq_len <= LONGEST_LOOP:
            times |= measure({"loop": lambda t=seq_len, p=p: mask_by_loops(t, p)}, rounds=5)
        middle = {name: time["median"] for name, time in times.items()}
        ratios = {f"{name}_over_ours": round(time / middle["ours"], 2) for name, time in middle.items()}
        del ratios["ours_over_ours"]
        found.append({"seq_len": seq_len, "prefix_len": p, "ratios": ratios, "ms": times})
        loop = f"{ratios['loop_over_ours']:.0f}" if "loop" in middle else "-"
        against = [f"{middle['ours'] / middle[name]:.2f}" for name in ("float_tril", "bool_tril")]
        listed = ", ".join(f"{name} {time:g}" for name, time in middle.items())
        print(f"{seq_len:>5} {loop:>10} {against[0]:>16} {against[1]:>16}   {listed}")
    write("mask", {"what": "making a mask with p = T / 2", "found": found})


if __name__ == "__main__":
    main()
