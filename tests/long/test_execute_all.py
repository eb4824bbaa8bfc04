"""Whatever a cell does to its kernel, the cells after it run as if it had not been there."""

import pytest
from execute_all import ExecuteAll
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
LOOPS = "while True:\n    pass"
CATCHES_ALL = """while True:
    try:
        while True:
            {}
    except BaseException:
        pass
"""
FLOODS = {
    "lines": "while True:\n    print('x' * 1000)",
    "errors": "import sys\nwhile True:\n    sys.stderr.write('x' * 10_000)",
    "pictures": "while True:\n    display('x' * 5000)",
    "a widget": "import ipywidgets\nwidget = ipywidgets.Text()\nwhile True:\n    widget.value += 'x' * 1000",
    "lines, and can't be stopped": CATCHES_ALL.format("print('x' * 1000)"),
}


def executed(*sources: str) -> list[NotebookNode]:
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    notebook.metadata.kernelspec = KERNEL
    notebook, _ = ExecuteAll(timeout=10).preprocess(notebook, {})
    return notebook.cells


def errors(cell: NotebookNode) -> list[str]:
    return [output.evalue for output in cell.outputs if output.output_type == "error"]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import os\nos._exit(0)", "this cell ended or blocked the kernel (DeadKernelError)"),
        ("exit()", "this cell ended or blocked the kernel (DeadKernelError)"),
        (CATCHES_ALL.format("pass"), "this cell ended or blocked the kernel (CellTimeoutError)"),
        *((source, "this cell put out more and more (DeadKernelError)") for source in FLOODS.values()),
    ],
    ids=["os._exit", "exit", "a loop that can't be stopped", *FLOODS],
)
def test_a_cell_that_loses_the_kernel_is_an_error_and_the_rest_runs(source: str, why: str) -> None:
    before, lost, after = executed("kept = 41\nprint('once')", source, "kept + 1")
    assert [output.text for output in before.outputs] == ["once\n"]
    assert errors(lost) == [why]
    assert [output.data["text/plain"] for output in after.outputs] == ["42"]


def test_a_loop_that_can_be_stopped_costs_no_kernel() -> None:
    before, loops, after = executed("import os\nprint(os.getpid())", LOOPS, "print(os.getpid())")
    assert "KeyboardInterrupt" in [output.ename for output in loops.outputs]
    assert after.outputs == before.outputs, "the same kernel"


def test_long_output_is_cut_and_an_error_after_it_is_kept() -> None:
    (cell,) = executed("for i in range(3):\n    print('x' * 600_000, flush=True)\n1 / 0")
    assert errors(cell) == ["division by zero"]
    assert sum(len(output.get("text", "")) for output in cell.outputs) < 1_300_000
    (cell,) = executed("for i in range(5000):\n    print(i)")
    assert cell.outputs[-1].text.endswith("4999\n")


def test_a_notebook_that_ends_kernel_after_kernel_is_given_up() -> None:
    cells = executed(*["import os\nos._exit(0)"] * 9, "print('here')")
    assert errors(cells[-1]) == ["not run: this notebook has ended or blocked too many kernels"]
    assert all(errors(cell) for cell in cells)


def test_what_a_cell_returns_counts_as_points_only_if_it_is_a_number() -> None:
    number, verdict = executed("0.5", "from IPython.display import HTML\nHTML('<p>right</p>')")
    assert [output.output_type for output in number.outputs] == ["execute_result"]
    assert [output.output_type for output in verdict.outputs] == ["display_data"]
