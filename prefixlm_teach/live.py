"""The loss curve of a run, drawn while it trains."""

from __future__ import annotations

import sys
import time
from typing import Any

from prefixlm_teach.arguments import check_int
from prefixlm_teach.plots import plot_loss_curve

PAUSE = 1.0  # seconds from one picture to the next


class LiveCurve:
    """Show the loss curve in a notebook while training runs: `train(..., steps=600, watch=LiveCurve(600))`.

    One picture, drawn by `plot_loss_curve`, is replaced in place, at most once a second and after the last
    step, so that what the notebook keeps is the curve of the whole run, with its alternative text. Outside of
    a notebook it shows nothing.

    Args:
        steps: how many steps the run has.
        smooth: how many steps the running mean runs over.

    Raises:
        TypeError, ValueError: a number is not whole, or below 1.
    """

    def __init__(self, steps: int, *, smooth: int = 50) -> None:
        check_int("steps", steps, minimum=1)
        check_int("smooth", smooth, minimum=1)
        self.steps = steps
        self.smooth = smooth
        self._place: Any = None  # the output that is replaced, once there is one
        self._drawn = 0.0

    def __call__(self, losses: list[float]) -> None:
        """Show the losses so far, unless the last picture is younger than a second and more steps follow."""
        waited = time.monotonic() - self._drawn
        if not in_notebook() or (self._place and len(losses) < self.steps and waited < PAUSE):
            return
        picture = plot_loss_curve(losses, smooth=self.smooth)
        if self._place is None:
            from IPython.display import display  # noqa: PLC0415 - only a notebook has it

            self._place = display(picture, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._place.update(picture)
        self._drawn = time.monotonic()


def in_notebook() -> bool:
    """Tell whether a Jupyter kernel runs this; a terminal, even IPython's, shows no pictures."""
    ipython = sys.modules.get("IPython")  # whoever runs in a kernel has imported it
    shell = ipython and ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
