"""An explorer lives three lives, and they agree: JupyterLab, the published page, the PNG; value by value."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import toc
from bare_book import put_on_a_page
from drawn import read
from notebook import Notebook, ask, eventually, write_notebook
from playwright.sync_api import Page
from servers import Lab
from shown import NAMES, kind_of
from sliders import range_of

SHOWN = str(toc.PROJECT / "tests" / "shown")
CELLS = [
    f"import sys\nsys.path.insert(0, {SHOWN!r})\nfrom shown import kind_of",
    *(f"{name} = kind_of({name!r}).make()\n{name}" for name in NAMES),
]


@pytest.fixture(scope="module")
def notebook(long_page: tuple[Page, list[str]], lab: Lab) -> Iterator[Notebook]:
    """A notebook with an explorer of each kind."""
    write_notebook(lab, "lives.ipynb", CELLS)
    notebook = Notebook(long_page[0], lab, "lives.ipynb")
    notebook.run_all()
    yield notebook
    assert long_page[1] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_three_lives_agree(notebook: Notebook, reader: Page, book: Path, name: str) -> None:
    kind = kind_of(name)
    explorer = kind.make()
    on_the_page = put_on_a_page(reader, book, explorer)
    in_the_lab = notebook.explorers()[NAMES.index(name)]
    kernel = notebook.kernel()
    for number, slider in enumerate(kind.sliders(explorer)):
        start = slider.value(explorer)
        range_of(on_the_page, slider).press("Home")
        for value in range(slider.first, slider.last(explorer) + 1):
            slider.move(explorer, value)
            ask(kernel, f"kind_of({name!r}).sliders({name})[{number}].move({name}, {value})")
            eventually(lambda: kind.shows(in_the_lab, explorer))
            kind.shows(on_the_page, explorer)
            cells = kind.cells(read(in_the_lab))
            assert cells
            assert cells == kind.cells(read(on_the_page)) == kind.png_cells(explorer)
            range_of(on_the_page, slider).press("ArrowRight")
        for _ in range(slider.last(explorer) - start):
            range_of(on_the_page, slider).press("ArrowLeft")
        slider.move(explorer, start)
        ask(kernel, f"kind_of({name!r}).sliders({name})[{number}].move({name}, {start})")
    kernel.stop_channels()


@pytest.mark.parametrize("name", NAMES)
def test_what_a_reader_does_in_jupyterlab_reaches_python(notebook: Notebook, name: str) -> None:
    kind = kind_of(name)
    root = notebook.explorers()[NAMES.index(name)]
    kernel = notebook.kernel()
    for number, slider in enumerate(kind.sliders(kind.make())):
        element = range_of(root, slider)
        element.press("Home")
        for value in range(slider.first, int(element.get_attribute("max")) + 1):

            def check(number: int = number, value: int = value) -> None:
                held = ask(kernel, f"print(kind_of({name!r}).sliders({name})[{number}].value({name}))")
                assert held == str(value)

            eventually(check)
            element.press("ArrowRight")
    kernel.stop_channels()
