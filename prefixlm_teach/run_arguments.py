"""Checks on a training run: every `check_...` raises in the reader's words before a step is taken."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

from prefixlm_teach.arguments import check_int, check_rate, kind_of
from prefixlm_teach.word_arguments import check_new_file


def check_training(steps: Any, lr: Any, accumulate: Any, keep: Any, every: Any) -> None:
    """Raise unless the numbers of a run make sense, and what it keeps can be written."""
    check_int("steps", steps, minimum=20)  # the learning rate has to rise and to fall
    check_rate("lr", lr)
    check_int("accumulate", accumulate, minimum=1)
    check_int("every", every, minimum=1)
    if keep is not None:
        check_new_file("keep", keep)


def check_archive(path: Path) -> None:
    """Raise unless each part of the zip file in `path` has its checksum, at which PyTorch does not look."""
    with zipfile.ZipFile(path) as archive:
        if archive.testzip() is not None:
            raise ValueError(f"{path} is damaged")


def check_same_run(path: Path, kept: dict[str, Any], asked: dict[str, Any]) -> None:
    """Raise if the run in `path` was asked for something else than this one."""
    for name, value in asked.items():
        if kept[name] != value:
            raise ValueError(
                f"{path} holds a run with {name}={kept[name]}, and this one has {name}={value}: "
                "delete it to begin anew, or ask for what it was"
            )


def check_same_batches(path: Path, kept: str, found: str, step: int) -> None:
    """Raise if the batches of the last step kept are not those that are found in its place now."""
    if kept != found:
        raise ValueError(
            f"{path} holds a run on other batches: step {step} was not taken on those that are there now. "
            "Give it the batches that it had, from the first on, or delete it to begin anew"
        )


def check_same_loss(path: Path, kept: float, found: float) -> None:
    """Raise if a model with the weights kept has another loss than when they were: it computes otherwise."""
    if not math.isclose(
        kept, found, rel_tol=1e-3, abs_tol=1e-4
    ):  # another machine rounds otherwise, and no more
        raise ValueError(
            f"{path} holds a run of another model: with the weights in it, the loss of its last batches was "
            f"{kept:.4f}, now it is {found:.4f}. Give it the model that it had, or delete it to begin anew"
        )


def check_enough(found: int, wanted: int, steps_done: int, steps: int) -> None:
    """Raise if the batches ran out before a step had all of its own."""
    if found < wanted:
        raise ValueError(f"the batches ran out after {steps_done} of {steps} steps")


def check_watch(watch: Any) -> None:
    """Raise unless `watch` is None or can be called with the losses."""
    if watch is not None and not callable(watch):
        raise TypeError(f"watch must be called with the list of losses, not {kind_of(watch)}")


def check_finite_loss(loss: float, step: int) -> None:
    """Raise if training has left the numbers: from here on every weight would be NaN."""
    if not math.isfinite(loss):
        raise ValueError(
            f"the loss of step {step} is {loss}: use a smaller lr, and train in float32 rather than float16"
        )
