"""The first steps of a run of an experiment, trained again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Enough(Exception):  # noqa: N818 - no error
    """Ends a run that has gone on for long enough."""


def first_loss(learn: Callable[..., Any], run: Any, steps: int = 50) -> float:
    """Train the first steps of a run as its experiment does, and return the mean of their losses."""
    seen: list[float] = []

    def stop(losses: list[float]) -> None:
        if len(losses) == steps:
            seen.extend(losses)
            raise Enough

    try:
        learn(run, watch=stop)
    except Enough:
        return sum(seen) / steps
    raise AssertionError(f"the run ended before step {steps}")
