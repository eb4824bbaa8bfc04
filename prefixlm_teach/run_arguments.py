"""Checks on a training run: every `check_...` raises in the reader's words before a step is taken."""

from __future__ import annotations

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
        check_new_file(keep)


def check_same_run(path: Path, kept: dict[str, Any], asked: dict[str, Any]) -> None:
    """Raise if the run in `path` was asked for something else than this one."""
    if not isinstance(kept, dict):
        raise ValueError(f"{path} is no run that train kept: delete it to begin anew")
    for name, value in asked.items():
        if kept.get(name) != value:
            raise ValueError(
                f"{path} holds a run with {name}={kept.get(name)}, and this one has {name}={value}: "
                "delete it to begin anew, or ask for what it was"
            )


def check_enough(found: int, wanted: int, steps_done: int, steps: int) -> None:
    """Raise if the batches ran out before a step had all of its own."""
    if found < wanted:
        raise ValueError(f"the batches ran out after {steps_done} of {steps} steps")


def check_watch(watch: Any) -> None:
    """Raise unless `watch` is None or can be called with the losses."""
    if watch is not None and not callable(watch):
        raise TypeError(f"watch must be called with the list of losses, not {kind_of(watch)}")
