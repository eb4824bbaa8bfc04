"""Exercises answered by a function: it is run on many inputs, and its faults are told apart."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from prefixlm_teach.checks.exercise import Exercise
from prefixlm_teach.checks.forms import Form, MisreadError, kind_of
from prefixlm_teach.checks.running import LIMIT_S, OutOfTime, Ran, run_bounded
from prefixlm_teach.checks.verdict import Verdict

Inputs = Mapping[str, Any]


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
        if isinstance(ran.error, OutOfTime):
            return self.wrong(self._endless(ran, given[min(len(returned), len(given) - 1)]))
        untouched = self.inputs(seed)
        if changed := _changed(given, untouched):
            sentence = f"your function changes its input: after the call {changed} isn't what it was."
            return self.wrong(f"{sentence} Work on a copy.", printed=ran.printed)
        expected = [self.truth(**case) for case in untouched]
        found = self._read(returned, expected)
        if all(self._agree(*pair) for pair in zip(found, (Outcome(each) for each in expected), strict=True)):
            return self.right(ran.printed)
        mistake = next((each for each in self.mistakes if self._is(each, found, expected, seed)), None)
        if mistake and mistake.as_given:
            return self.untouched()
        return self._explain(mistake.says if mistake else "", found, expected, answer, seed, ran.printed)

    def _endless(self, ran: Ran, case: Inputs) -> str:
        left = " It can't be stopped and still runs: restart the kernel." if ran.left_behind else ""
        return (
            f"your code didn't come to an end within {self.limit_s:g} seconds, for {describe(case)}. "
            f"Is there a loop whose condition never changes?{left}"
        )

    def _read(self, returned: Sequence[Any], expected: Sequence[Any]) -> list[Outcome]:
        found = []
        for value, wanted in zip(returned, expected, strict=True):
            if isinstance(value, Outcome):
                found.append(value)
                continue
            try:
                found.append(Outcome(self.form.read(value, wanted)))
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
            returned.append(function(*case.values()))
        except OutOfTime:
            raise
        except BaseException as error:  # noqa: BLE001 - a learner's code may raise anything, SystemExit too
            returned.append(Outcome(error=error))


def _changed(given: Sequence[Inputs], before: Sequence[Inputs]) -> str:
    """Name the first input that isn't what it was; nothing if all are."""
    pairs = zip(given, before, strict=True)
    names = (name for case, was in pairs for name in was if not _same(case[name], was[name]))
    return next(names, "")


def _same(value: Any, before: Any) -> bool:
    if isinstance(before, Tensor):
        return (
            isinstance(value, Tensor)
            and value.shape == before.shape
            and torch.equal(value.nan_to_num(7.0), before.nan_to_num(7.0))
        )
    if isinstance(before, nn.Module):
        return all(map(torch.equal, value.state_dict().values(), before.state_dict().values()))
    if isinstance(before, dict):
        return value.keys() == before.keys() and all(_same(value[name], before[name]) for name in before)
    if isinstance(before, list | tuple):
        return len(value) == len(before) and all(map(_same, value, before))
    return callable(before) or bool(value == before)


def describe(case: Inputs) -> str:
    """Say what an input was: short values as they are, long tensors by their shape."""
    parts = []
    for name, value in case.items():
        if isinstance(value, Tensor):
            short = value.ndim < 2 and value.numel() <= 12 and not value.is_floating_point()
            parts.append(f"{name} = {value.tolist()}" if short else f"{name} of shape {tuple(value.shape)}")
        elif isinstance(value, list) and value and all(isinstance(each, Tensor) for each in value):
            parts.append(f"{len(value)} {name} of shape {tuple(value[0].shape)}")
        elif isinstance(value, bool | int | float | str) or (
            isinstance(value, list) and len(repr(value)) <= 60
        ):
            parts.append(f"{name} = {value!r}")
    return ", ".join(parts) or "the input"


def said(error: BaseException) -> str:
    """An error in a line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}{f' ({lines[0][:160]})' if lines else ''}"


def line_of(error: BaseException, answer: Any) -> str:
    """Name the last line of the learner's code that an error went through, where it can be found."""
    code = getattr(answer, "__code__", None)
    if code is None:
        return ""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == code.co_filename]
    if not own or own[-1].lineno is None:
        return ""
    line = linecache.getline(code.co_filename, own[-1].lineno).strip()
    return f" in the line `{line}`" if line else ""
