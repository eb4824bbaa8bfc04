"""Perform the runs of an experiment, several at a time, each in its own process, and keep their results."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from prefixlm_teach.files import written_whole

HERE = Path(__file__).parent


def summary(model: nn.Module, losses: list[float], seconds: float) -> dict[str, Any]:
    """What every run says of its training."""
    return {
        "parameters": sum(weight.numel() for weight in model.parameters() if weight.requires_grad),
        "seconds": round(seconds),
        "loss_every_50": [round(sum(losses[i : i + 50]) / 50, 4) for i in range(0, len(losses), 50)],
    }


class Run(Protocol):
    """What a run has to say of itself."""

    @property
    def name(self) -> str:
        """The name of its files."""


class Experiment:
    """Parts, each a list of runs, and how one run is performed.

    Args:
        script: the name of the script; its results stand in the folder of that name.
        parts: what each part runs, in the order in which they have to be run.
        perform: trains and measures; it is given the file in which the run may be kept while it lasts.
    """

    def __init__(
        self,
        script: str,
        parts: Mapping[str, Callable[[], Iterator[Any]]],
        perform: Callable[[Any, Path], dict[str, Any]],
    ) -> None:
        self.script, self.parts, self.perform = script, parts, perform
        self.results, self.kept = HERE / "results" / script, HERE / "kept" / script

    def path(self, run: Run) -> Path:
        """Where the result of a run stands."""
        return self.results / f"{run.name}.json"

    def result(self, run: Run) -> dict[str, Any]:
        """Read the result of a run that has ended."""
        found: dict[str, Any] = json.loads(self.path(run).read_text(encoding="utf-8"))
        return found

    def perform_and_write(self, run: Run) -> None:
        """Perform a run and write its result, unless it is there."""
        if self.path(run).exists():
            return
        self.results.mkdir(parents=True, exist_ok=True)
        self.kept.mkdir(parents=True, exist_ok=True)
        kept = self.kept / f"{run.name}.pt"
        about = {"script": f"experiments/{self.script}.py", "torch": torch.__version__.partition("+")[0]}
        went_on = kept.exists()
        result = {**about, **self.perform(run, kept)}
        if went_on:
            result["seconds"] = None  # only the last stretch has been timed
        with written_whole(self.path(run)) as part:
            part.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        kept.unlink(missing_ok=True)  # a run without steps keeps nothing
        print(f"{run.name}: done", flush=True)

    def main(self) -> None:
        """Perform one part, or all, or the one run that the command line names."""
        parser = argparse.ArgumentParser(description="Run an experiment; what is there is not run again.")
        parser.add_argument("part", nargs="?", choices=self.parts, help="all in their order, when left out")
        parser.add_argument("--jobs", type=int, default=1, help="how many runs at a time")
        parser.add_argument("--only", help="perform the run of this name, here")
        asked = parser.parse_args()
        for part in [asked.part] if asked.part else self.parts:
            runs = list(self.parts[part]())
            if asked.only:
                for run in runs:
                    if run.name == asked.only:
                        self.perform_and_write(run)
            else:
                self.perform_part(part, runs, asked.jobs)

    def perform_part(self, part: str, runs: list[Run], jobs: int) -> None:
        """Perform what is not there yet, `jobs` runs at a time."""
        waiting = [run for run in runs if not self.path(run).exists()]
        print(f"{part}: {len(runs) - len(waiting)} of {len(runs)} runs are there.", flush=True)

        def in_a_process(run: Run) -> None:
            command = [sys.executable, str(HERE / f"{self.script}.py"), part, "--only", run.name]
            subprocess.run(command, check=True)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(in_a_process, waiting))
