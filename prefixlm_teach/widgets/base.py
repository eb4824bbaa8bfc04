"""What every explorer has: one ES module, a fixed id, and a picture where nothing can run.

An explorer lives three lives. With a kernel it is an ipywidget; on a page without one, the state that rides
in its widget-view lets the same module draw it; where nothing runs, there are a PNG and a sentence.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import anywidget
import ipywidgets

from prefixlm_teach.pictures import Picture

FOLDER = Path(__file__).parent
VIEW = "application/vnd.jupyter.widget-view+json"
_numbers = itertools.count(1)


def module(*names: str) -> str:
    """Join the JavaScript files of these names, in this order, to the text of one ES module."""
    return "\n".join((FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in names)


class Explorer(anywidget.AnyWidget):
    """The base of all explorers.

    A subclass gives its ES module as `_esm`, its name as `name`, its traits, and the method `picture`. The
    widget's id follows from how many explorers the session has made before, so that running a chapter again
    in a fresh kernel changes no byte of it.
    """

    _css = (FOLDER / "base.css").read_text(encoding="utf-8")
    name: str

    def __init__(self, **traits: Any) -> None:
        number = next(_numbers)
        layout = ipywidgets.Layout(model_id=_id_of("layout", number))
        super().__init__(model_id=_id_of(self.name, number), layout=layout, **traits)

    def picture(self) -> Picture:
        """Draw the explorer as it stands: a PNG, with a description as its alternative text."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """What the ES module needs to draw the explorer: the value of each trait of its own."""
        own = set(self.trait_names(sync=True)) - set(ipywidgets.DOMWidget.class_trait_names(sync=True))
        values = {name: getattr(self, name) for name in sorted(own) if not name.startswith("_")}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

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


def _id_of(part: str, number: int) -> str:
    return uuid5(NAMESPACE_URL, f"prefixlm_teach/{part}/{number}").hex
