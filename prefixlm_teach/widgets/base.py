"""What every explorer has: one ES module, a fixed id, and a picture where nothing can run.

An explorer lives three lives. With a kernel it is an ipywidget; on a page without one, the state that rides
in its widget-view lets the same module draw it; where nothing runs, there are a PNG and a sentence.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar
from uuid import NAMESPACE_URL, uuid5

import anywidget
import ipywidgets
import traitlets

from prefixlm_teach.picture_arguments import check_split_of
from prefixlm_teach.pictures import Picture

FOLDER = Path(__file__).parent
VIEW = "application/vnd.jupyter.widget-view+json"
_numbers = itertools.count(1)


def join(names: Iterable[str], suffix: str) -> str:
    """Join the files of these names, each once and in this order; a part may have no style of its own."""
    files = [FOLDER / f"{name}.{suffix}" for name in dict.fromkeys(names)]
    return "\n".join(file.read_text(encoding="utf-8") for file in files if suffix == "js" or file.exists())


class Checked(traitlets.TraitType[Any, Any]):
    """A value that a `check_...` refuses in the reader's words, from Python or from a linked widget.

    Args:
        check: called with the explorer and the new value; raises where the value is bad, and the old one
            stays.
        keep: turns the checked value into what is kept: `operator.index`, `str`, `tuple`.
    """

    def __init__(self, check: Callable[[Any, Any], None], keep: Callable[[Any], Any]) -> None:
        super().__init__(default_value=None)
        self.check = check
        self.keep = keep

    def validate(self, obj: Any, value: Any) -> Any:
        """Check, then keep."""
        self.check(obj, value)
        return self.keep(value)


def prefix_len_trait() -> Checked:
    """A prefix length that fits the explorer's `tokens`: one of the values that the page and Python share."""
    trait: Checked = Checked(lambda explorer, p: check_split_of(explorer.tokens, p), operator.index).tag(
        sync=True
    )
    return trait


class Explorer(anywidget.AnyWidget):
    """The base of all explorers.

    A subclass gives its `name`, the shared `parts` it is made of, its traits, and the method `picture`; its
    own JavaScript is in <name>.js, and its own style, if it needs one, in <name>.css. The widget's id follows
    from what it shows and from how many explorers the session has made before: running a chapter again in a
    fresh kernel changes no byte of it, and a cell that was not run again finds no other cell's explorer.
    """

    name: ClassVar[str]
    parts: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, **options: Any) -> None:
        """Join the files of the explorer to one ES module and one style."""
        if "name" in vars(cls):  # not the class that each widget derives for itself, to add traits
            cls._esm = join(cls.files(), "js")
            cls._css = join(cls.files(), "css")
        super().__init_subclass__(**options)

    @classmethod
    def files(cls) -> tuple[str, ...]:
        """The names of the files that make the explorer, in order."""
        return ("base", *cls.parts, cls.name)

    def __init__(self, **traits: Any) -> None:
        fixed = {name: getattr(self, name) for name in self.traits(sync=True) if self._is_fixed(name)}
        what = f"{next(_numbers)}/{sorted(fixed.items())}/{sorted(traits.items())}"
        layout = ipywidgets.Layout(model_id=_id_of("layout", what))
        super().__init__(model_id=_id_of(self.name, what), layout=layout, **traits)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take what the browser says of the values; what is read only stays as it is."""
        super().set_state({name: value for name, value in sync_data.items() if not self._is_fixed(name)})

    def _is_fixed(self, name: str) -> bool:
        trait = self.traits().get(name)
        return trait is not None and trait.read_only

    def picture(self) -> Picture:
        """Draw the explorer as it stands: a PNG, with a description as its alternative text."""
        raise NotImplementedError

    @classmethod
    def state_names(cls) -> list[str]:
        """The names of the traits of the explorer's own that the ES module reads, sorted."""
        own = set(cls.class_trait_names(sync=True)) - set(ipywidgets.DOMWidget.class_trait_names(sync=True))
        return sorted(name for name in own if not name.startswith("_"))

    def state(self) -> dict[str, Any]:
        """What the ES module needs to draw the explorer: the value of each trait of its own."""
        return {name: _plain(getattr(self, name)) for name in self.state_names()}

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        picture = self.picture()
        view = {
            "version_major": 2,
            "version_minor": 0,
            "model_id": self.model_id,
            "explorer": self.name,
            "state": self.state(),
        }
        shown, metadata = picture._repr_mimebundle_()
        return {VIEW: view, **shown}, metadata


def _plain(value: Any) -> Any:
    """Return a value as JSON will have it: lists for tuples, at any depth."""
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _id_of(part: str, what: str) -> str:
    return uuid5(NAMESPACE_URL, f"prefixlm_teach/{part}/{what}").hex
