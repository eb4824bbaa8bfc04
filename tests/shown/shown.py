"""What the tests that every explorer must pass need to know of each kind of explorer."""

import importlib
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Locator

from prefixlm_teach.widgets.base import Explorer

NAMES = sorted(explorer.name for explorer in Explorer.__subclasses__())


@dataclass(frozen=True)
class Slider:
    """A slider: its label, its last and first value, and how Python reads and sets the same value."""

    label: str
    last: Callable[[Any], int]
    value: Callable[[Any], int]
    move: Callable[[Any, int], None]
    first: int = 0


def trait_slider(label: str, trait: str, last: Callable[[Any], int], first: int = 0) -> Slider:
    """A slider that stands for one trait of the explorer."""
    return Slider(
        label,
        last=last,
        value=operator.attrgetter(trait),
        move=lambda explorer, value: setattr(explorer, trait, value),
        first=first,
    )


@dataclass(frozen=True)
class Choice:
    """A button: its name, and how Python sets what it sets."""

    label: str
    choose: Callable[[Any], None]


@dataclass(frozen=True)
class Kind:
    """A kind of explorer.

    Args:
        make: makes one whose sliders have few values.
        make_hard: makes one of the tokens it is given, eight or more, which could break a page; None for an
            explorer that shows no tokens.
        shows: asserts that all that stands on the page is what an explorer in Python says.
        sliders: the sliders of an explorer, in their order on the page.
        cells: what `read` found, cut down to what the PNG shows as well: the cells, the bars.
        png_cells: the same, read off the pixels of the explorer's PNG.
        choices: its buttons.
    """

    make: Callable[[], Explorer]
    make_hard: Callable[[Sequence[str]], Explorer] | None
    shows: Callable[[Locator, Any], None]
    sliders: Callable[[Any], list[Slider]]
    cells: Callable[[dict[str, Any]], Any]
    png_cells: Callable[[Any], Any]
    choices: list[Choice] = field(default_factory=list)


def kind_of(name: str) -> Kind:
    """Return what is known of the explorers of this name, which stands in `shown_<name>.py`."""
    kind: Kind = importlib.import_module(f"shown_{name}").KIND
    return kind


def names_with_tokens() -> list[str]:
    """The names of the explorers that show tokens."""
    return [name for name in NAMES if kind_of(name).make_hard]


def restore(name: str, state: dict[str, Any]) -> Explorer:
    """Return an explorer in a state that `Explorer.state` gave: that of a page, say."""
    (cls,) = [each for each in Explorer.__subclasses__() if each.name == name]
    explorer = cls.__new__(cls)
    for trait in sorted(state, key=lambda trait: not cls.class_traits()[trait].read_only):
        explorer.set_trait(trait, _tuples(state[trait]))
    return explorer


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
