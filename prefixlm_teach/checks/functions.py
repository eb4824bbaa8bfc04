"""Exercises answered by a function: it is run on many inputs, and its faults are told apart."""

from __future__ import annotations

import inspect
import linecache
import traceback
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from prefixlm_teach.checks.exercise import Exercise
from prefixlm_teach.checks.forms import Form, MisreadError, kind_of, read_as
from prefixlm_teach.checks.inputs import Inputs, changed, describe
from prefixlm_teach.checks.original_torch import overwritten, restore
from prefixlm_teach.checks.running import LIMIT_S, OutOfTime, Ran, run_bounded
from prefixlm_teach.checks.verdict import Verdict


@dataclass(frozen=True)
class Mistake:
    """A wrong way that is known.

    Attributes:
        says: what to tell whoever went it, one sentence without the last full stop.
        gives: what it makes of the inputs, given by name.
        as_given: whether it is the code that was handed out to be repaired.
    """

    says: str
    gives: Callable[..., Any]
    as_given: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a function made of one input: a value that was read, or why there is none."""

    value: Any = None
    problem: str = ""
    error: BaseException | None = None


class FunctionExercise(Exercise):
    """An exercise that is answered by a function.

    Args:
        number, name, hints: as for `Exercise`.
        inputs: makes, from a seed, the inputs on which the function is tried, each by name and in the order
            in which the function takes them; the simplest first.
        truth: what is expected for an input; called by name.
        form: how answers are read and compared.
        mistakes: wrong ways that are known; each must differ from the truth on one of the inputs.
        limit_s: seconds that the function may take for all inputs.
    """

    start = "Write your code in the cell above, run it, then run this cell again."

    def __init__(
        self,
        number: str,
        name: str,
        *,
        inputs: Callable[[int], Sequence[Inputs]],
        truth: Callable[..., Any],
        form: Form,
        mistakes: Sequence[Mistake],
        hints: Sequence[str],
        limit_s: float = LIMIT_S,
    ) -> None:
        super().__init__(number, name, hints=hints)
        self.inputs, self.truth, self.form = inputs, truth, form
        self.mistakes, self.limit_s = tuple(mistakes), limit_s

    def judge(self, answer: Any, seed: int) -> Verdict:
        """Run a function on all inputs and compare."""
        if not callable(answer):
            return self.wrong(f"a function is wanted; yours is {kind_of(answer)}.")
        given, returned = self.inputs(seed), list[Any]()
        ran = run_bounded(lambda: _call_all(answer, given, returned), limit_s=self.limit_s)
        untouched = self.inputs(seed)
        if sentence := self._spoilt(ran, given, untouched, len(returned)):
            return self.wrong(sentence, printed=ran.printed)
        expected = [self.truth(**case) for case in untouched]
        found = self._read(returned, expected)
        if all(self._agree(*pair) for pair in zip(found, (Outcome(each) for each in expected), strict=True)):
            return self.right(ran.printed)
        mistake = next((each for each in self.mistakes if self._is(each, found, expected, seed)), None)
        if mistake and mistake.as_given:
            return self.untouched()
        return self._explain(mistake.says if mistake else "", found, expected, answer, seed, ran.printed)

    def _spoilt(self, ran: Ran, given: Sequence[Inputs], before: Sequence[Inputs], done: int) -> str:
        """Say why what came back can't be judged; nothing if it can."""
        if name := overwritten():
            restore()
            return f"your function writes over {name}, which others rely on. It was put back."
        if isinstance(ran.error, OutOfTime):
            left = " It can't be stopped and still runs: restart the kernel." if ran.left_behind else ""
            return (
                f"your code didn't come to an end within {self.limit_s:g} seconds, for "
                f"{describe(before[min(done, len(before) - 1)])}. "
                f"Is there a loop whose condition never changes?{left}"
            )
        if name := changed(given, before):
            return (
                f"your function changes its input: after the call {name} isn't what it was. Work on a copy."
            )
        return ""

    def _read(self, returned: Sequence[Any], expected: Sequence[Any]) -> list[Outcome]:
        found = []
        for value, wanted in zip(returned, expected, strict=True):
            if type(value) is Outcome:
                found.append(value)
                continue
            try:
                found.append(Outcome(read_as(self.form, value, wanted)))
            except MisreadError as error:
                found.append(Outcome(problem=str(error)))
        return found

    def _agree(self, found: Outcome, other: Outcome) -> bool:
        if found.error is not None or other.error is not None:
            return type(found.error) is type(other.error)
        if found.problem or other.problem:
            return found.problem == other.problem
        return bool(self.form.same(found.value, other.value))

    def _is(self, mistake: Mistake, found: list[Outcome], expected: list[Any], seed: int) -> bool:
        """Whether a mistake makes of every input what the learner's function made of it."""
        returned: list[Any] = []
        _call_all(mistake.gives, self.inputs(seed), returned)
        made = self._read(returned, expected)
        return all(self._agree(*pair) for pair in zip(found, made, strict=True))

    def _explain(
        self,
        says: str,
        found: list[Outcome],
        expected: list[Any],
        answer: Any,
        seed: int,
        printed: str,
    ) -> Verdict:
        agree = [self._agree(one, Outcome(wanted)) for one, wanted in zip(found, expected, strict=True)]
        first = agree.index(False)
        one, wanted, case = found[first], expected[first], describe(self.inputs(seed)[first])
        if one.error is not None:
            what = f"for {case} your code stops with {said(one.error)}{line_of(one.error, answer)}"
        elif one.problem:
            what = f"for {case}: {one.problem.rstrip('.')}"
        else:
            what = f"for {case}: {self.form.difference(one.value, wanted)}"
        begun = f"{says}. " if says else ""
        if not says and any(agree):
            begun = f"right for {sum(agree)} of {len(agree)} inputs. "
        drawn = None if one.error or one.problem else self.form.picture(one.value, wanted)
        return self.wrong(f"{begun}{what[0].upper()}{what[1:]}.", picture=drawn, printed=printed)


def _call_all(function: Callable[..., Any], cases: Sequence[Inputs], returned: list[Any]) -> None:
    """Call a function on each input and add what it returns, or an `Outcome` that holds what it raised."""
    for case in cases:
        try:
            returned.append(_kept(function(*case.values())))
        except OutOfTime:
            raise
        except BaseException as error:  # noqa: BLE001 - a learner's code may raise anything, SystemExit too
            returned.append(Outcome(error=error))


def _kept(value: Any) -> Any:
    """What was returned, as it is now: a function may go on to write into the same list or tensor."""
    with suppress(Exception):  # what can't be copied is kept as it is
        return deepcopy(value.detach() if isinstance(value, Tensor) else value)
    return value


def said(error: BaseException) -> str:
    """An error in a line."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # noqa: BLE001 - a learner's own error may not even say what it is
        lines = []
    return f"{type(error).__name__}{f' ({lines[0][:160]})' if lines else ''}"


def line_of(error: BaseException, answer: Any) -> str:
    """Name the last line of the learner's code that an error went through, where it can be found."""
    code = inspect.getattr_static(answer, "__code__", None) and answer.__code__
    if not isinstance(code, types.CodeType):
        return ""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == code.co_filename]
    if not own or own[-1].lineno is None:
        return ""
    line = linecache.getline(code.co_filename, own[-1].lineno).strip()
    return f" in the line `{line}`" if line else ""
