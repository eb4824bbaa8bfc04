"""An exercise: what answers it, which wrong answers are known, and what to say to each."""

from __future__ import annotations

import dis
import types
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from prefixlm_teach.checks.ledger import keep
from prefixlm_teach.checks.original_torch import overwritten
from prefixlm_teach.checks.verdict import Verdict

RETURNING = {"LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
NOTHING = {"RESUME", "NOP", "CACHE"}
MOST_SAID = 700  # characters


class Exercise(ABC):
    """What all exercises have in common. Called with an answer, it returns a `Verdict`.

    Args:
        number: the chapter and the place in it, as "1.2".
        name: what it is called as `check.<name>`.
        hints: sentences that help on, a step each.
    """

    start = "Write your answer in the cell above, run it, then run this cell again."

    def __init__(self, number: str, name: str, *, hints: Sequence[str]) -> None:
        self.number, self.name, self.hints = number, name, tuple(hints)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """What `check.<name>?` shows."""
        return f"Check an answer to exercise {self.number}. hint({self.number!r}) helps on."

    def __repr__(self) -> str:
        return f"check.{self.name}(answer): exercise {self.number}"

    def __call__(self, answer: Any, *, seed: int = 0) -> Verdict:
        """Judge an answer.

        Args:
            answer: whatever the learner made.
            seed: for other inputs than usual, as a teacher's hidden test wants them.
        """
        if answer is None or answer is Ellipsis or is_stub(answer):
            return self.untouched()
        if name := overwritten():
            return self.wrong(
                f"here {name} is not what it was: it has been written over. Restart the kernel."
            )
        with as_usual():
            verdict = self.judge(answer, seed)
        if verdict.state != "not attempted":
            keep(self.number, right=bool(verdict))
        return verdict

    @abstractmethod
    def judge(self, answer: Any, seed: int) -> Verdict:
        """Judge an answer that has been attempted."""

    def untouched(self) -> Verdict:
        """The verdict on what was handed out."""
        return Verdict(self.number, "not attempted", self.start)

    def right(self, printed: str = "") -> Verdict:
        """The verdict on a right answer."""
        return Verdict(self.number, "right", printed=printed)

    def wrong(self, sentence: str, **more: Any) -> Verdict:
        """The verdict on a wrong answer, and why."""
        short = sentence if len(sentence) <= MOST_SAID else f"{sentence[:MOST_SAID]} ..."
        return Verdict(self.number, "wrong", short[0].upper() + short[1:], **more)


@contextmanager
def as_usual() -> Iterator[None]:
    """PyTorch as it is in a fresh kernel, whatever the reader has set; theirs comes back afterwards."""
    dtype = torch.get_default_dtype()
    usual = (torch.device("cpu"), torch.inference_mode(False), torch.enable_grad())
    with ExitStack() as stack:
        for each in (*usual, torch.autocast("cpu", enabled=False)):
            stack.enter_context(each)
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(dtype)


def is_stub(answer: Any) -> bool:
    """Whether a function has no code yet, but a docstring and `...` perhaps."""
    if type(answer) is not types.FunctionType:
        return False
    steps = [step for step in dis.get_instructions(answer) if step.opname not in NOTHING]
    returned = [step.argval for step in steps if step.opname.endswith("CONST")]
    return {step.opname for step in steps} <= RETURNING and returned in ([None], [Ellipsis])
