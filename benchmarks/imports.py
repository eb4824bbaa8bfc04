"""How long `import prefixlm_teach` takes beyond `import torch`, in fresh processes.

python benchmarks/imports.py
"""

from __future__ import annotations

import subprocess
import sys

from timing import spread, write

ROUNDS = 11
CODE = """
import time
began = time.perf_counter()
import torch
between = time.perf_counter()
import prefixlm_teach
print(between - began, time.perf_counter() - between)
"""


def main() -> None:
    """Measure, print a table, write the JSON."""
    torch_ms, ours_ms = [], []
    for round_ in range(ROUNDS + 1):
        done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, encoding="utf-8", check=True)
        first, second = (1000 * float(seconds) for seconds in done.stdout.split())
        if round_ > 0:  # the first one reads the files from the disk
            torch_ms.append(first)
            ours_ms.append(second)
    times = {"torch": spread(torch_ms), "ours_beyond_torch": spread(ours_ms)}
    ratio = round(1 + times["ours_beyond_torch"]["median"] / times["torch"]["median"], 3)
    print(f"import prefixlm_teach takes {ratio} times as long as import torch")
    for name, time in times.items():
        print(f"{name:>18}: {time['median']:.0f} ms ({time['quarter']:.0f} to {time['three_quarters']:.0f})")
    write("imports", {"what": "importing in a fresh process", "ratio_to_torch": ratio, "ms": times})


if __name__ == "__main__":
    main()
