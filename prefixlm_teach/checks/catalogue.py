"""All exercises of all chapters: their checks by name, their hints by number, and what is done."""

from __future__ import annotations

import difflib
import html
from typing import Any

from prefixlm_teach.checks import (
    architectures,
    attention,
    bugs,
    evidence,
    generation,
    loss,
    mask,
    model,
    objectives,
    on_real_words,
    speed,
    training,
    ul2,
    when_it_helps,
)
from prefixlm_teach.checks.exercise import Exercise
from prefixlm_teach.checks.ledger import RIGHT, TRIED, state_of

CHAPTERS = {
    "1. The mask": mask.EXERCISES,
    "2. Attention": attention.EXERCISES,
    "3. The model": model.EXERCISES,
    "4. The loss": loss.EXERCISES,
    "5. Training": training.EXERCISES,
    "5b. When should an open prefix help?": when_it_helps.EXERCISES,
    "5c. Does it help on real words?": on_real_words.EXERCISES,
    "6. Generation": generation.EXERCISES,
    "7. Bugs from the wild": bugs.EXERCISES,
    "8. One sentence, seven objectives": objectives.EXERCISES,
    "9. UL2 and its relatives": ul2.EXERCISES,
    "10. Architectures": architectures.EXERCISES,
    "11. Speed": speed.EXERCISES,
    "12. Evidence": evidence.EXERCISES,
}
BY_NUMBER = {each.number: each for chapter in CHAPTERS.values() for each in chapter}
BY_NAME = {each.name: each for each in BY_NUMBER.values()}
SIGNS = {RIGHT: "✓", TRIED: "…", "": "○"}
_given: dict[str, int] = {}


class Checks:
    """The checks of all exercises: `check.<exercise>(answer)`."""

    def __getattr__(self, name: str) -> Exercise:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in BY_NAME:
            near = difflib.get_close_matches(name, BY_NAME, 1)
            raise AttributeError(
                f"no exercise is called {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
            )
        return BY_NAME[name]

    def __dir__(self) -> list[str]:
        return list(BY_NAME)

    def __repr__(self) -> str:
        return "\n".join(repr(each) for each in BY_NUMBER.values())


class Said(str):
    """Text that a notebook shows as it stands."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def hint(number: str) -> Said:
    """Return the next hint for an exercise, a step further each time.

    Args:
        number: the exercise, as "1.2".

    Raises:
        TypeError: `number` is not text.
        ValueError: there is no such exercise.
    """
    if not isinstance(number, str):
        raise TypeError(f'an exercise is named in quotation marks, as hint("1.2"), not {number!r}')
    if number not in BY_NUMBER:
        near = [other for other in BY_NUMBER if other.partition(".")[0] == number.partition(".")[0]]
        raise ValueError(
            f"there are no hints for {number!r} (an exercise that is answered in words has none); "
            f"there are for {', '.join(near or BY_NUMBER)}"
        )
    hints = BY_NUMBER[number].hints
    step = _given[number] = min(_given.get(number, 0) + 1, len(hints))
    last = " That was the last hint." if step == len(hints) else ""
    return Said(f"Hint {step} of {len(hints)}: {hints[step - 1]}{last}")


class Progress:
    """Which exercises are done (✓), tried (…) or untouched (○), chapter by chapter."""

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {'  '.join(cells)}" for name, cells in self._rows())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align: left'>{html.escape(name)}</th>"
            f"{''.join(f'<td>{html.escape(cell)}</td>' for cell in cells)}</tr>"
            for name, cells in self._rows()
        )
        return f"<table><caption>✓ done, … tried, ○ untouched</caption>{rows}</table>"

    def _rows(self) -> list[tuple[str, list[str]]]:
        return [
            (name, [f"{SIGNS[state_of(each.number)]} {each.number}" for each in exercises])
            for name, exercises in CHAPTERS.items()
        ]


def progress() -> Progress:
    """Return what is done so far, on this machine."""
    return Progress()


check: Any = Checks()
