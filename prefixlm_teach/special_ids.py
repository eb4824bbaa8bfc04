"""Special tokens: the ids of an objective's own tokens, all different, which no text may hold.

An objective with one or two of them takes each as an argument; one with four or more takes them together.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from prefixlm_teach.row_arguments import check_own_ids


@dataclass(frozen=True)
class SpecialIds:
    """A field for each special token, or for a tuple of them; a subclass says which.

    Raises:
        TypeError, ValueError: an id is no whole number of at least 0, or two are equal.
    """

    def __post_init__(self) -> None:
        check_own_ids(self._by_name())

    def names(self, but: int | None = None) -> dict[int, str]:
        """Return what each id, `but` one, is the id of, in the words of a message."""
        return {id_: f"ids.{name}" for name, id_ in self._by_name().items() if id_ != but}

    def _by_name(self) -> dict[str, int]:
        named: dict[str, int] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, tuple):
                named |= {f"{field.name}[{i}]": id_ for i, id_ in enumerate(value)}
            else:
                named[field.name] = value
        return named
