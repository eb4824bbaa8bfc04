"""The mask algebra explorer in a real JupyterLab, with a kernel behind it."""

from collections.abc import Callable, Iterator

import pytest
from jupyter_client import BlockingKernelClient
from notebook import Notebook, ask, eventually, write_notebook
from playwright.sync_api import Locator, Page
from servers import Lab
from shown_rule import NAMED, shows

from prefixlm_teach import RuleExplorer, parse_rule

DOCUMENTS = [["Who", "sings", "?", "Bo"], ["cat", "K", "T"]]
RIGHT, WRONG_ORDER = NAMED["Open, then close"], NAMED["Close, then open"]
CELLS = [
    "from prefixlm_teach import RuleExplorer",
    f"explorer = RuleExplorer({DOCUMENTS!r}, [3, 1], pads=2, rule={RIGHT!r})\nseen = []\n"
    "explorer.observe(lambda change: seen.append(change.new), 'rule')\nexplorer",
    "'a cell that stays'",
]
COUNT = "jupyterapp.shell.currentWidget.content.widgets.length"


@pytest.fixture(scope="module")
def notebook(long_page: tuple[Page, list[str]], lab: Lab) -> Notebook:
    write_notebook(lab, "rule.ipynb", CELLS)
    notebook = Notebook(long_page[0], lab, "rule.ipynb")
    notebook.run_all()
    return notebook


@pytest.fixture
def page(notebook: Notebook, long_page: tuple[Page, list[str]]) -> Iterator[Page]:
    """JupyterLab with the notebook; the test fails if it complains of anything."""
    page, complaints = long_page
    yield page
    assert complaints == []


@pytest.fixture
def here() -> RuleExplorer:
    """The same explorer in this process, to hold against the one in the notebook."""
    return RuleExplorer(DOCUMENTS, [3, 1], pads=2, rule=RIGHT)


@pytest.fixture
def root(page: Page, notebook: Notebook, kernel: BlockingKernelClient, here: RuleExplorer) -> Locator:
    """The explorer, with the rule that is right."""
    (root,) = notebook.explorers()
    ask(
        kernel,
        f"explorer.rule = 'causal'; explorer.rule = {RIGHT!r}; explorer.prefix_lens = [3, 1]; seen.clear()",
    )
    eventually(lambda: shows(root, here))
    return root


def field_of(root: Locator) -> Locator:
    return root.get_by_role("textbox", name="Rule", exact=True)


def agrees(kernel: BlockingKernelClient, here: RuleExplorer) -> Callable[[], None]:
    """A check that the notebook's explorer has the rule, the mask and the faults of this one."""

    def check() -> None:
        assert ask(kernel, "print(explorer.rule)") == here.rule
        assert ask(kernel, "print(explorer.mask.tolist())") == str(here.mask.tolist())
        assert ask(kernel, "print(explorer.faults)") == str(here.faults)

    return check


def test_a_typed_rule_changes_pythons_mask(
    root: Locator, kernel: BlockingKernelClient, here: RuleExplorer
) -> None:
    field_of(root).fill("")
    field_of(root).press_sequentially(WRONG_ORDER)
    here.rule = WRONG_ORDER
    shows(root, here)
    eventually(agrees(kernel, here))
    assert here.faults["Pads are visible"]


def test_python_hears_of_rules_only_never_of_what_is_none(
    root: Locator, kernel: BlockingKernelClient
) -> None:
    field_of(root).fill("")
    typed = "casual or prefix and (valid)"
    field_of(root).press_sequentially(typed)
    assert ask(kernel, "print(explorer.rule)") == RIGHT
    field_of(root).fill(typed.replace("casual", "causal"))
    eventually(lambda: _heard(kernel, typed.replace("casual", "causal")))
    seen = ask(kernel, "print(*seen, sep='\\n')").splitlines()
    assert all(parse_rule(rule) for rule in seen)
    assert "casual" not in " ".join(seen)


def _heard(kernel: BlockingKernelClient, rule: str) -> None:
    assert ask(kernel, "print(explorer.rule)") == rule


def test_letters_that_are_commands_to_jupyterlab_stay_in_the_field(page: Page, root: Locator) -> None:
    before = page.evaluate(COUNT)
    field = field_of(root)
    field.fill("")
    for key in "abddxcvzmyrlo0011":
        field.press(key)
    field.press("Shift+Enter")
    field.press("Escape")
    field.press("Shift+M")
    assert field.input_value() == "abddxcvzmyrlo0011M"
    assert field.evaluate("(field) => document.activeElement === field")
    assert page.evaluate(COUNT) == before
    assert (
        page.evaluate("jupyterapp.shell.currentWidget.content.widgets.map((c) => c.model.type)")
        == ["code"] * 3
    )
    assert page.locator(".jp-Dialog").count() == 0


def test_python_sets_the_rule_and_refuses_a_wrong_one(
    root: Locator, kernel: BlockingKernelClient, here: RuleExplorer
) -> None:
    for here.rule in NAMED.values():
        ask(kernel, f"explorer.rule = {here.rule!r}")
        eventually(lambda: shows(root, here))
    ask(kernel, "try:\n    explorer.rule = 'casual'\nexcept ValueError as error:\n    print(error)")
    shows(root, here)
    assert ask(kernel, "print(explorer.rule)") == here.rule


def test_a_slider_of_a_document_reaches_python(
    root: Locator, kernel: BlockingKernelClient, here: RuleExplorer
) -> None:
    slider = root.get_by_role("slider", name="Document 1: p", exact=True)
    slider.press("End")
    here.prefix_lens = (3, 3)
    shows(root, here)
    eventually(agrees(kernel, here))
    assert ask(kernel, "print(explorer.prefix_lens)") == "(3, 3)"
