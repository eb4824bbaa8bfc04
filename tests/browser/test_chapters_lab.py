"""Every chapter that has an explorer, in a real JupyterLab: run all, move each slider through every value."""

import shutil
from pathlib import Path

import pytest
import toc
from drawn import assert_shows
from notebook import Notebook, ask
from playwright.sync_api import Page
from servers import Lab
from test_split_lab import eventually

WITH_EXPLORER = [text for text in toc.chapters() if "Explorer(" in text.read_text(encoding="utf-8")]
FIND = """
from ipywidgets.widgets.widget import _instances
from prefixlm_teach import SplitExplorer
_explorers = [widget for widget in _instances.values() if isinstance(widget, SplitExplorer)]
"""


@pytest.mark.parametrize("text", WITH_EXPLORER, ids=lambda text: text.stem)
def test_each_explorer_of_a_chapter_follows_its_slider(page: Page, lab: Lab, text: Path) -> None:
    shutil.copy(text.with_suffix(".ipynb"), lab.folder)
    page.set_viewport_size({"width": 1280, "height": 1000})
    notebook = Notebook(page, lab, f"{text.stem}.ipynb")
    notebook.run_all()
    kernel = notebook.kernel()
    ask(kernel, FIND)
    roots = notebook.explorers()
    assert len(roots) == int(ask(kernel, "print(len(_explorers))")) > 0
    for i, root in enumerate(roots):
        tokens = ask(kernel, f"print('\\x1f'.join(_explorers[{i}].tokens))").split("\x1f")
        slider = root.get_by_role("slider")
        slider.press("Home")
        for p in range(len(tokens) + 1):
            assert_shows(root, tokens, p)
            eventually(lambda i=i, p=p: python_has(kernel, i, p))
            slider.press("ArrowRight")
        for p in range(len(tokens) + 1):
            ask(kernel, f"_explorers[{i}].prefix_len = {p}")
            eventually(lambda root=root, p=p, tokens=tokens: assert_shows(root, tokens, p))
    kernel.stop_channels()


def python_has(kernel: object, i: int, p: int) -> None:
    assert ask(kernel, f"print(_explorers[{i}].prefix_len)") == str(p)


def test_there_is_a_chapter_with_an_explorer() -> None:
    assert WITH_EXPLORER
