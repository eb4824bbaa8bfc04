"""Two real processes, started by torchrun, train as one does: loss, gradients, weights, resumed runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import distributed
import pytest
import torch
from distributed import launch

from prefixlm_teach.ranks import rank_count, sum_over_ranks


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each of the two processes found; they are started once for all tests."""
    folder = tmp_path_factory.mktemp("rangs à deux")
    path = [str(Path(distributed.__file__).parent), os.environ.get("PYTHONPATH", "")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, path)))  # where it finds the experiments
        launch(Path(__file__).with_name("two_ranks.py"), str(folder))
    return [json.loads((folder / f"{rank}.json").read_text(encoding="utf-8")) for rank in range(2)]


@pytest.mark.parametrize(
    "what",
    [
        "gradients, each token counted alike",
        "losses of 20 steps",
        "weights after 20 steps",
        "accumulated losses",
        "accumulated weights",
        "resumed losses",
        "resumed weights",
        "a rank without targets",
        "a rank without rows that are read",
        "its loss",
    ],
)
def test_two_processes_find_what_one_finds(found: list[dict[str, Any]], what: str) -> None:
    assert max(each[what] for each in found) < 1e-12


def test_the_mean_of_the_processes_as_it_is_would_be_told_apart(found: list[dict[str, Any]]) -> None:
    for each in found:
        fewer, more = sorted(each["targets of each"])
        assert fewer < 0.8 * more
        assert each["gradients, each process counted alike"] > 0.01


def test_the_run_that_was_resumed_had_been_stopped_halfway(found: list[dict[str, Any]]) -> None:
    assert [each["stopped"] for each in found] == ["the batches ran out after 10 of 20 steps"] * 2


def test_each_process_knows_of_all(found: list[dict[str, Any]]) -> None:
    assert [(each["rank_count"], each["sum_over_ranks"]) for each in found] == [(2, 42)] * 2


def test_without_other_processes_there_is_one() -> None:
    assert rank_count() == 1
    assert sum_over_ranks(7, torch.device("cpu")) == 7
