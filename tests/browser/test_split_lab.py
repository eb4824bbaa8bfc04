"""The split explorer in a real JupyterLab, with a kernel behind it."""

from collections.abc import Callable, Iterator

import pytest
from drawn import read
from jupyter_client import BlockingKernelClient
from notebook import Notebook, ask, eventually, write_notebook
from playwright.sync_api import Locator, Page
from servers import Lab
from shown_split import TOKENS, assert_split

CELLS = [
    "import ipywidgets as ipw\nfrom prefixlm_teach import SplitExplorer",
    f"explorer = SplitExplorer({TOKENS!r}, prefix_len=3)\nseen = []\n"
    "explorer.observe(lambda change: seen.append(change.new), 'prefix_len')\nexplorer",
    "twin = ipw.IntSlider(3, max=7)\nipw.jslink((twin, 'value'), (explorer, 'prefix_len'))\ntwin",
]


@pytest.fixture(scope="module")
def notebook(long_page: tuple[Page, list[str]], lab: Lab) -> Notebook:
    write_notebook(lab, "split.ipynb", CELLS)
    notebook = Notebook(long_page[0], lab, "split.ipynb")
    notebook.run_all()
    return notebook


@pytest.fixture
def page(notebook: Notebook, long_page: tuple[Page, list[str]]) -> Iterator[Page]:
    """JupyterLab with the notebook; the test fails if it complains of anything."""
    page, complaints = long_page
    page.set_viewport_size({"width": 1280, "height": 1000})
    yield page
    assert complaints == []


@pytest.fixture
def root(page: Page, notebook: Notebook, kernel: BlockingKernelClient) -> Locator:
    """The explorer, at prefix length 3."""
    (root,) = notebook.explorers()
    ask(kernel, "explorer.prefix_len = 3")
    eventually(shows(root, TOKENS, 3))
    return root


def value_is(kernel: BlockingKernelClient, name: str, p: int) -> Callable[[], None]:
    def check() -> None:
        assert ask(kernel, f"print({name})") == str(p)

    return check


def shows(root: Locator, tokens: list[str], p: int) -> Callable[[], None]:
    return lambda: assert_split(root, tokens, p)


def test_every_value_by_arrow_keys_reaches_python(root: Locator, kernel: BlockingKernelClient) -> None:
    slider = root.get_by_role("slider")
    slider.focus()
    slider.press("Home")
    for p in [*range(8), *reversed(range(7))]:
        assert_split(root, TOKENS, p)
        eventually(value_is(kernel, "explorer.prefix_len", p))
        eventually(value_is(kernel, "seen[-1]", p))
        going_up = p < 7 and int(ask(kernel, "print(7 in seen)") == "False")
        slider.press("ArrowRight" if going_up else "ArrowLeft")


def test_every_value_by_mouse_reaches_python(page: Page, root: Locator, kernel: BlockingKernelClient) -> None:
    root.get_by_role("slider").scroll_into_view_if_needed()
    box = root.get_by_role("slider").bounding_box()
    assert box
    middle, thumb = box["y"] + box["height"] / 2, 16
    page.mouse.move(box["x"] + thumb / 2 + 3 / 7 * (box["width"] - thumb), middle)
    page.mouse.down()
    for p in [*range(8), *reversed(range(7))]:
        page.mouse.move(box["x"] + thumb / 2 + p / 7 * (box["width"] - thumb), middle)
        assert_split(root, TOKENS, p)
        eventually(value_is(kernel, "explorer.prefix_len", p))
    page.mouse.up()


def test_python_moves_the_picture(root: Locator, kernel: BlockingKernelClient) -> None:
    for p in range(8):
        ask(kernel, f"explorer.prefix_len = {p}")
        eventually(shows(root, TOKENS, p))


def test_a_bad_value_in_python_leaves_the_picture(root: Locator, kernel: BlockingKernelClient) -> None:
    ask(kernel, "try:\n    explorer.prefix_len = 9\nexcept ValueError as error:\n    print(error)")
    assert_split(root, TOKENS, 3)
    assert ask(kernel, "print(explorer.prefix_len)") == "3"


def test_it_is_linked_in_the_browser(page: Page, root: Locator) -> None:
    twin = page.locator(".widget-slider [role=slider], .jupyter-widgets.widget-slider .noUi-handle").first
    twin.focus()
    twin.press("ArrowRight")
    eventually(shows(root, TOKENS, 4))


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_keys_belong_to_the_explorer(page: Page, root: Locator, key: str) -> None:
    root.get_by_role("slider").focus()
    order = []
    for _ in range(4):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.className"))
    assert order == ["plx-button", "plx-button", "plx-button", "plx-row"]
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    assert read(root)["readout"].startswith("Row 1, “est”")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press(key)
    assert_split(root, TOKENS, 7)
    assert page.evaluate("document.activeElement.textContent") == "Bidirectional"
    assert page.evaluate("jupyterapp.shell.currentWidget.content.mode") == "command"


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_it_follows_the_theme(page: Page, notebook: Notebook, root: Locator, theme: str) -> None:
    dark = theme.endswith("Dark")
    notebook.command("apputils:change-theme", theme=theme)
    page.wait_for_function("(dark) => document.body.dataset.jpThemeLight === String(!dark)", arg=dark)
    ink = root.evaluate("(root) => getComputedStyle(root).color")
    assert ink == ("rgb(230, 232, 234)" if dark else "rgb(31, 35, 40)")
    assert_split(root, TOKENS, 3)


def test_it_fits_a_phone(page: Page, notebook: Notebook, root: Locator) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.evaluate("jupyterapp.shell.collapseLeft()")
    (root,) = notebook.explorers()
    sides = root.evaluate("(root) => [root.scrollWidth, root.clientWidth]")
    assert sides[0] <= sides[1]
    slider, svg = root.get_by_role("slider").bounding_box(), root.locator(".plx-svg").bounding_box()
    assert slider
    assert svg
    assert slider["width"] >= 150
    assert svg["x"] + svg["width"] <= 390
    root.get_by_role("slider").press("End")
    assert_split(root, TOKENS, 7)


def test_it_lives_on_after_a_restart(notebook: Notebook, root: Locator) -> None:
    root.get_by_role("slider").press("End")
    notebook.restart_and_run_all()
    (again,) = notebook.explorers()
    assert_split(again, TOKENS, 3)
    again.get_by_role("slider").press("ArrowRight")
    assert_split(again, TOKENS, 4)
    client = notebook.kernel()
    eventually(value_is(client, "explorer.prefix_len", 4))
    client.stop_channels()
