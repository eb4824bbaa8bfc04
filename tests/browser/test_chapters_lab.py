"""Every chapter that has an explorer, in a real JupyterLab: run all, move each slider through every value."""

import json
import shutil
from pathlib import Path

import pytest
import toc
from notebook import Notebook, ask, eventually
from playwright.sync_api import Page
from servers import Lab
from shown import kind_of, restore
from sliders import by_keys

WITH_EXPLORER = [text for text in toc.chapters() if "Explorer(" in text.read_text(encoding="utf-8")]
FIND = """
import json
from ipywidgets.widgets.widget import _instances
from prefixlm_teach.widgets.base import Explorer
_explorers = [widget for widget in _instances.values() if isinstance(widget, Explorer)]
"""


@pytest.mark.parametrize("text", WITH_EXPLORER, ids=lambda text: text.stem)
def test_each_explorer_of_a_chapter_follows_its_sliders(page: Page, lab: Lab, text: Path) -> None:
    shutil.copy(text.with_suffix(".ipynb"), lab.folder)
    page.set_viewport_size({"width": 1280, "height": 1000})
    notebook = Notebook(page, lab, f"{text.stem}.ipynb")
    notebook.run_all()
    kernel = notebook.kernel()
    ask(kernel, FIND)
    roots = notebook.explorers()
    assert len(roots) == int(ask(kernel, "print(len(_explorers))")) > 0
    for i, root in enumerate(roots):
        name, state = json.loads(
            ask(kernel, f"print(json.dumps([_explorers[{i}].name, _explorers[{i}].state()]))")
        )
        explorer = restore(name, state)
        by_keys(root, explorer, kind_of(name))

        def python_has_it(i: int = i, state: dict[str, object] = explorer.state()) -> None:  # noqa: B008
            assert json.loads(ask(kernel, f"print(json.dumps(_explorers[{i}].state()))")) == state

        eventually(python_has_it)
    kernel.stop_channels()


def test_there_is_a_chapter_with_an_explorer() -> None:
    assert WITH_EXPLORER
