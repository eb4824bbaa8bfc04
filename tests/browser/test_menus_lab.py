"""What a reader sees in JupyterLab where nbgrader is installed too, as it is for a teacher: nothing of it."""

from importlib.util import find_spec

from playwright.sync_api import Page
from servers import TOKEN, Lab


def test_a_reader_sees_no_menu_of_nbgrader(page: Page, lab: Lab) -> None:
    assert find_spec("nbgrader"), "or there would be nothing to hide"
    page.goto(f"{lab.url}/lab/workspaces/of-its-own?token={TOKEN}")  # others leave notebooks open
    page.locator(".jp-Launcher").wait_for(timeout=120_000)
    menus = page.locator("#jp-MainMenu .lm-MenuBar-itemLabel").all_inner_texts()
    assert {"File", "Kernel", "Help"} <= set(menus)
    assert "Nbgrader" not in menus
