"""Run a learner's code so that whatever it does, the check goes on: an error, a loop or output without end.

The code runs in a thread of its own. When its time is up, an exception is raised in that thread, which works
on every system and inside a kernel; code that catches even that, or sleeps, is left behind. What runs in C
without a break (`sum(range(10**13))`) can't be stopped from within Python: interrupt the kernel.
"""

from __future__ import annotations

import ctypes
import io
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import torch

LIMIT_S = 10.0
PATIENCE_S = 1.0  # how long a thread may take to notice that its time is up
MOST_PRINTED = 400


class OutOfTime(BaseException):
    """Raised inside code that runs too long; no `except Exception` catches it."""


class Ran(NamedTuple):
    """What came of running somebody's code.

    Attributes:
        error: what it raised, None if nothing. `OutOfTime` if it was stopped.
        printed: what it printed, cut after 400 characters.
        left_behind: whether it could not be stopped and still runs.
    """

    error: BaseException | None
    printed: str
    left_behind: bool


class _Bounded(io.StringIO):
    """Takes any amount of output and keeps the beginning."""

    def write(self, text: str) -> int:
        super().write(text[: max(0, MOST_PRINTED - self.tell())])
        return len(text)

    def close(self) -> None:
        """Stay open: code that closes its output is no reason to lose what it printed."""


def run_bounded(work: Callable[[], None], *, limit_s: float = LIMIT_S) -> Ran:
    """Call `work`, catch what it raises and prints, and stop it when its time is up.

    PyTorch's random numbers go on afterwards as if nothing had been drawn.

    Args:
        work: takes nothing; whatever it finds it keeps itself.
        limit_s: seconds until it is stopped.
    """
    caught: list[BaseException] = []
    printed = _Bounded()

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - a learner's code may raise anything, SystemExit too
            caught.append(error)

    thread = threading.Thread(target=guarded, daemon=True, name="a learner's answer")
    with torch.random.fork_rng(devices=[]), redirect_stdout(printed), redirect_stderr(printed):
        thread.start()
        try:
            thread.join(limit_s)
        finally:  # also when the reader interrupts the kernel
            stopped = _stop(thread)
    if not stopped:
        return Ran(OutOfTime(), printed.getvalue(), left_behind=True)
    return Ran(caught[0] if caught else None, printed.getvalue(), left_behind=False)


def _stop(thread: threading.Thread) -> bool:
    """Raise `OutOfTime` in a thread until it ends; return whether it did."""
    deadline = time.monotonic() + PATIENCE_S
    while thread.is_alive() and time.monotonic() < deadline:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(OutOfTime)
        )
        thread.join(0.05)
    return not thread.is_alive()
