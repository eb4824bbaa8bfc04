"""Exercises answered by a value: a count, a mask drawn by hand, a word, or the state of an explorer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prefixlm_teach.checks.exercise import Exercise
from prefixlm_teach.checks.forms import Form, MisreadError, kind_of, read_as
from prefixlm_teach.checks.verdict import Verdict


class ValueExercise(Exercise):
    """An exercise that is answered by a value.

    Args:
        number, name, hints: as for `Exercise`.
        truth: makes the value that is expected.
        form: how answers are read and compared.
        mistakes: sentence, without the last full stop -> makes the wrong value that it belongs to.
    """

    def __init__(
        self,
        number: str,
        name: str,
        *,
        truth: Callable[[], Any],
        form: Form,
        mistakes: Mapping[str, Callable[[], Any]],
        hints: Sequence[str],
    ) -> None:
        super().__init__(number, name, hints=hints)
        self.truth, self.form, self.mistakes = truth, form, mistakes

    def judge(self, answer: Any, seed: int) -> Verdict:
        """Compare a value with the expected one, then with those of known mistakes."""
        expected = self.truth()
        if callable(answer):
            return self.wrong("a value is wanted; yours is a function. Call it.")
        try:
            found = read_as(self.form, answer, expected)
        except MisreadError as error:
            return self.wrong(str(error))
        if self.form.same(found, expected):
            return self.right()
        known = (says for says, makes in self.mistakes.items() if self.form.same(found, makes()))
        difference = self.form.difference(found, expected)
        sentence = f"{next(known, '')}. {difference[0].upper()}{difference[1:]}.".removeprefix(". ")
        return self.wrong(sentence, picture=self.form.picture(found, None))


class StateExercise(Exercise):
    """An exercise that is answered by an explorer in a state with a given property.

    Args:
        number, name, hints: as for `Exercise`.
        kind: the name of the explorer's class.
        given: whether an explorer is still as it was handed out.
        goal: whether its state has the property.
        mistakes: sentence -> whether it fits this state; the first that fits is said.
    """

    start = "Run the cell above, move the explorer, then run this cell again."

    def __init__(
        self,
        number: str,
        name: str,
        *,
        kind: str,
        given: Callable[[Any], bool],
        goal: Callable[[Any], bool],
        mistakes: Mapping[str, Callable[[Any], bool]],
        hints: Sequence[str],
    ) -> None:
        super().__init__(number, name, hints=hints)
        self.kind, self.given, self.goal, self.mistakes = kind, given, goal, mistakes

    def judge(self, answer: Any, seed: int) -> Verdict:
        """Read an explorer's state."""
        from prefixlm_teach import widgets  # noqa: PLC0415 - ipywidgets only where an explorer is judged

        if not issubclass(type(answer), getattr(widgets, self.kind)):
            article = "an" if self.kind[0] in "AEIOU" else "a"
            return self.wrong(f"{article} {self.kind} is wanted; yours is {kind_of(answer)}.")
        if self.goal(answer):
            return self.right()
        if self.given(answer):
            return self.untouched()
        return self.wrong(next(says for says, fits in self.mistakes.items() if fits(answer)) + ".")
