"""Notebooks are compared strictly: each way in which a stale one could pass does not."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
import toc
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

TOOLS = toc.PROJECT / "tools"


def cell(source: str, *outputs: NotebookNode, tag: str = "none") -> NotebookNode:
    return new_code_cell(source, outputs=list(outputs), metadata={"tags": [tag]})


def printed(text: str, name: str = "stdout") -> NotebookNode:
    return new_output("stream", name=name, text=text)


def result(text: str, **data: str) -> NotebookNode:
    return new_output("execute_result", data={"text/plain": text, **data})


BY_ZERO = new_output("error", ename="ZeroDivisionError", evalue="division by zero", traceback=[])

SAME = {
    "a printed line": cell("print(1 + 1)", printed("2\n")),
    "a result": cell("6 * 7", result("42")),
    "a result named by an underscore": cell("_ + 1", result("43")),
    "a result silenced by a semicolon": cell("7 * 7;"),
    "what an Output widget captured": cell(
        "import ipywidgets\nwith ipywidgets.Output():\n    print('in')\nprint('out')", printed("out\n")
    ),
    "what clear_output took away": cell(
        "from IPython.display import clear_output\nprint('first')\nclear_output()\nprint('last')",
        printed("last\n"),
    ),
    "a bar on stderr": cell(
        "from tqdm import tqdm\nfor _ in tqdm(range(2)): print('on')", printed("on\non\n")
    ),
    "a bar as a widget": cell("from tqdm.notebook import tqdm\nfor _ in tqdm(range(2)): pass"),
    "words on stderr": cell("import sys; print('now', file=sys.stderr)", printed("then\n", "stderr")),
    "another drawing of an SVG": cell(
        "from IPython.display import SVG\nSVG('<svg><g/></svg>')",
        result("<IPython.core.display.SVG object>", **{"image/svg+xml": "<svg/>"}),
    ),
    "another address": cell("print(object())", printed("<object object at 0x7f3a12345678>\n")),
    "another time": cell("print('took 12.5 s')", printed("took 3 s\n")),
    "an ignored output": cell("__import__('time').time()", result("0.0"), tag="nbval-ignore-output"),
    "an expected error": cell("1 / 0", BY_ZERO, tag="raises-exception"),
}

DIFFERENT = {
    "a changed output": cell("print(1 + 1)", printed("3\n")),
    "an output that no longer comes": cell("x = 2", printed("2\n")),
    "an output that was not there": cell("print(2)"),
    "a lost picture": cell("print()", result("<Figure>", **{"image/png": ""})),
    "a changed output after a bar": cell("for _ in tqdm(range(2)): pass\nprint(3)", printed("2\n")),
    "a cell that raises": cell("print(2)\n1 / 0", printed("2\n")),
    "an expected error that no longer comes": cell("1 / 1", BY_ZERO, tag="raises-exception"),
    "another error than the expected one": cell("{}['x']", BY_ZERO, tag="raises-exception"),
}


def numbered(*cells: NotebookNode) -> list[NotebookNode]:
    """Number cells 1, 2, 3, ..., as running them in order would."""
    for count, made in enumerate(cells, start=1):
        made.execution_count = count
        for output in made.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count
    return list(cells)


def run_nbval(folder: Path, **notebooks: list[NotebookNode]) -> subprocess.CompletedProcess[str]:
    """Compare notebooks, given as name=cells, in a pytest of their own."""
    for name, cells in notebooks.items():
        notebook = new_notebook(cells=cells)
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, folder / f"{name}.ipynb")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "nbval_strict", "--nbval", "--junitxml=report.xml"]
    command += [f"--nbval-sanitize-with={TOOLS / 'nbval_sanitize.cfg'}", "."]
    environment = os.environ | {"PYTHONPATH": str(TOOLS)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """Return, for every cell of SAME and DIFFERENT, None if it passed, else why it failed."""
    folder = tmp_path_factory.mktemp("nbval")
    tried = SAME | DIFFERENT
    ran = run_nbval(folder, tried=numbered(*tried.values()))
    assert ran.returncode == 1, ran.stdout + ran.stderr
    cases = ElementTree.parse(folder / "report.xml").iter("testcase")  # noqa: S314 (pytest wrote it just now)
    failures = [case.find("failure") for case in cases]
    return {
        name: None if failure is None else failure.text for name, failure in zip(tried, failures, strict=True)
    }


@pytest.mark.parametrize("what", SAME)
def test_passes(outcomes: dict[str, str | None], what: str) -> None:
    assert outcomes[what] is None


@pytest.mark.parametrize("what", DIFFERENT)
def test_fails(outcomes: dict[str, str | None], what: str) -> None:
    why = outcomes[what]
    assert why is not None
    assert ("ZeroDivisionError" if what == "a cell that raises" else "Cell outputs differ") in why


def test_a_notebook_that_proves_nothing_fails(tmp_path: Path) -> None:
    ran = run_nbval(
        tmp_path,
        never_run=[cell("print(2)")],
        backwards=numbered(cell("a = 1"), cell("b = 1"))[::-1],
        run_twice=numbered(cell("a = 1"), cell("a = 2"), cell("b = 1"))[::2],
        skipping=numbered(cell("a = 1", tag="nbval-skip")),
        empty=[],
    )
    assert ran.returncode != 0
    for name in ("never_run", "backwards", "run_twice"):
        assert f"{name}.ipynb was not run from top to bottom" in ran.stdout
    assert "skipping.ipynb, Cell 0: no cell may be skipped" in ran.stdout
    assert "empty.ipynb has no code to check" in ran.stdout


def test_the_project_compares_its_chapters_this_way() -> None:
    assert 'pytest_plugins = ["nbval_strict"]' in (toc.PROJECT / "conftest.py").read_text(encoding="utf-8")
