"""Results of the experiments, and whether two of them differ by more than their seeds do."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, variance
from typing import Any, NamedTuple

from prefixlm_teach.result_arguments import check_experiment, check_folder, check_values

HOME = Path(__file__).parent.parent
RESULTS = HOME / "experiments" / "results"
BENCHMARKS = HOME / "benchmarks" / "results"


def load_results(experiment: str) -> list[dict[str, Any]]:
    """Return what every run of an experiment wrote down: its settings, seconds, loss curve and outcome.

    Args:
        experiment: the name of a folder in experiments/results/, as "g2p".

    Returns:
        A dict for each run, in the order of their names.

    Raises:
        TypeError, ValueError: `experiment` is no string, or there is no such experiment.
        FileNotFoundError: the package was installed without the handbook's folder.
    """
    check_folder(RESULTS)
    check_experiment(experiment, [path.name for path in sorted(RESULTS.iterdir()) if path.is_dir()])
    paths = sorted((RESULTS / experiment).glob("*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def load_benchmark(benchmark: str) -> dict[str, Any]:
    """Return what a benchmark measured when it was last run: on which machine, and what it found.

    Args:
        benchmark: the name of a file in benchmarks/results/, as "mask".

    Raises:
        TypeError, ValueError: `benchmark` is no string, or there is no such benchmark.
        FileNotFoundError: the package was installed without the handbook's folder.
    """
    check_folder(BENCHMARKS)
    check_experiment(benchmark, [path.stem for path in sorted(BENCHMARKS.glob("*.json"))], "benchmark")
    found: dict[str, Any] = json.loads((BENCHMARKS / f"{benchmark}.json").read_text(encoding="utf-8"))
    return found


class Difference(NamedTuple):
    """By how much one mean is above another, and how sure that is.

    Attributes:
        mean: the first mean minus the second.
        error: the standard error of that difference.
    """

    mean: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether the difference is larger than twice its standard error."""
        return abs(self.mean) > 2 * self.error

    def __str__(self) -> str:
        digits = decimals(self.error or abs(self.mean))
        return f"{self.mean:+.{digits}f} ± {self.error:.{digits}f}, {'clear' if self.clear else 'not clear'}"


def decimals(scale: float) -> int:
    """Return how many decimals show two digits of a number of this size, one at least."""
    return max(1, 1 - math.floor(math.log10(scale))) if scale else 1


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of a mean, 0 for a single number."""
    return math.sqrt(variance(values) / len(values)) if len(values) > 1 else 0.0


def compare(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Return the difference of two means and its standard error, each sample with a variance of its own.

    Args:
        first: at least two numbers, one per seed.
        second: likewise; there may be another number of them.

    Raises:
        TypeError, ValueError: there are fewer than two numbers, or one is not a finite number.

    Source: Welch 1947, The generalization of "Student's" problem.
    """
    check_values("first", first, least=2)
    check_values("second", second, least=2)
    error = math.hypot(standard_error(first), standard_error(second))
    return Difference(mean(first) - mean(second), error)
