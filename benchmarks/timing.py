"""What the benchmarks share: timing in rounds, so that all contenders meet the same machine, and a record."""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

RESULTS = Path(__file__).with_name("results")


def measure(
    contenders: dict[str, Callable[[], object]],
    *,
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, dict[str, float]]:
    """Time each contender once a round; return the median and the quartiles of its times, in milliseconds.

    What runs in one thread can be timed by `time.thread_time`, which stands still while others run.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for call in contenders.values():
        call()  # warm up
    there = list(contenders.items())
    for round_ in range(rounds):
        for name, call in there[:: -1 if round_ % 2 else 1]:  # there and back: what ran before leaves a trace
            began = clock()
            call()
            times[name].append(1000 * (clock() - began))
    return {name: spread(found) for name, found in times.items()}


def spread(times: list[float]) -> dict[str, float]:
    """Return the median and the quartiles of `times`, to four digits."""
    low, middle, high = statistics.quantiles(times, n=4)
    return {"median": _short(middle), "quarter": _short(low), "three_quarters": _short(high)}


def ninetieth(times: list[float]) -> float:
    """Return what nine in ten of `times` stay below, to four digits."""
    return _short(statistics.quantiles(times, n=10)[-1])


def write(name: str, found: dict[str, Any]) -> None:
    """Write what was found, and on what, as `benchmarks/results/NAME.json`."""
    RESULTS.mkdir(exist_ok=True)
    machine = {
        "python": platform.python_version(),
        "torch": torch.__version__.partition("+")[0],
        "system": f"{platform.system()} {platform.machine()}",
        "threads": torch.get_num_threads(),
    }
    text = json.dumps({"on": machine, **found}, indent=1) + "\n"
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")


def _short(number: float) -> float:
    return float(f"{number:.4g}")
