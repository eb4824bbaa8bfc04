"""Forms of answers that are rows: values one after the other, as many as the learner finds right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prefixlm_teach.checks.forms import MisreadError, as_tensor, kind_of


class Listed:
    """Ids, or True and False, one after the other; of any length, since that may be what is asked."""

    def read(self, answer: Any, expected: Sequence[int]) -> list[int]:
        """Return a list of numbers, or of True and False where those are expected."""
        if answer is None:
            raise MisreadError(f"a list or a tensor is wanted; yours is {kind_of(answer)}.")
        wanted = "one value after the other is wanted, in a list or a tensor"
        try:
            found = as_tensor(answer)
        except MisreadError as error:
            raise MisreadError(f"{wanted}; yours is {kind_of(answer)}.") from error
        while found.ndim > 1 and found.size(0) == 1:
            found = found[0]
        if found.ndim != 1:
            raise MisreadError(f"{wanted}; yours has shape {tuple(found.shape)}.")
        if found.is_complex():
            raise MisreadError("whole numbers are wanted; yours are complex.")
        values: list[float] = found.double().tolist()
        either = bool(expected) and isinstance(expected[0], bool)
        odd = [value for value in values if not (value in {0, 1} if either else value.is_integer())]
        if odd:
            kind = "True and False" if either else "whole numbers"
            raise MisreadError(f"{kind} are wanted; yours holds {odd[0]:g}.")
        return [bool(value) if either else int(value) for value in values]

    def same(self, found: list[int], expected: Sequence[int]) -> bool:
        """Whether both hold the same, in the same order."""
        return found == [*expected]

    def difference(self, found: list[int], expected: Sequence[int]) -> str:
        """Show both, whole."""
        return f"yours is {found}, and should be {[*expected]}"

    def picture(self, found: list[int], expected: Sequence[int]) -> None:
        """No picture."""


class Ids(Listed):
    """A row of ids, too long to be shown whole: the first place that differs is named.

    Args:
        names: what the special ones are called.
    """

    def __init__(self, names: Mapping[int, str] | None = None) -> None:
        self.names = names or {}

    def difference(self, found: list[int], expected: Sequence[int]) -> str:
        """Name the first place that differs, or the lengths where one row goes on longer."""
        both = min(len(found), len(expected))
        place = next((t for t in range(both) if found[t] != expected[t]), None)
        if place is None:
            return f"yours has {len(found)} ids, and should have {len(expected)}; the first {both} are right"
        held, wanted = (self.names.get(row[place], str(row[place])) for row in (found, expected))
        return f"place {place} of yours holds {held}, and should hold {wanted}"
