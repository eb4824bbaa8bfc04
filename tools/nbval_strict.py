"""Make nbval strict: a pytest plugin that the `conftest.py` at the top loads.

nbval collects the cells, compares outputs and reports. Stock nbval 0.11 passes a notebook that was never run,
takes what an Output widget captured for output of the cell, ignores `clear_output` and a trailing `;`. Here
nbclient runs the cells, exactly as it does when `run_chapters.py` makes the outputs, and a notebook must have
been run in order and may skip nothing.
"""

import os
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import nbclient
import pytest
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, IPyNbFile
from notebooks import KERNEL_ENVIRONMENT, is_progress_bar, was_run_in_order


class StrictFile(IPyNbFile):
    """A notebook whose cells nbclient runs in one kernel."""

    def collect(self) -> Iterator["StrictCell"]:
        """Yield one test for each code cell of a notebook that was run from top to bottom."""
        cells = list(super().collect())
        if not was_run_in_order(self.nb):
            raise self.CollectError(f"{self.path.name} was not run from top to bottom: `make chapters` does.")
        if not cells:
            raise self.CollectError(f"{self.path.name} has no code to check.")
        self.skip_compare += ("image/svg+xml",)
        for cell in cells:
            if cell.options["skip"]:
                raise self.CollectError(f"{self.path.name}, {cell.name}: no cell may be skipped.")
            yield StrictCell.from_parent(
                self, name=cell.name, cell_num=cell.cell_num, cell=cell.cell, options=cell.options
            )

    def setup(self) -> None:
        """Start the kernel."""
        self.setup_sanitize_files()
        self.client = nbclient.NotebookClient(
            deepcopy(self.nb),
            timeout=self.config.option.nbval_cell_timeout,
            coalesce_streams=True,
            resources={"metadata": {"path": str(self.path.parent)}},
        )
        self.client.create_kernel_manager()
        self.client.start_new_kernel()
        self.client.start_new_kernel_client()

    def teardown(self) -> None:
        """Stop the kernel."""
        self.client._cleanup_kernel()


class StrictCell(IPyNbCell):
    """A code cell: run it, and compare what it shows with what the notebook holds."""

    def setup(self) -> None:
        """Nothing to prepare: the kernel is the file's."""

    def runtest(self) -> None:
        """Run the cell in the notebook's kernel and compare the outputs."""
        client: Any = self.parent.client
        place = self.parent.nb.cells.index(self.cell)
        run = client.nb.cells[place]
        run.outputs = []
        try:
            client.execute_cell(run, place)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            self.raise_cell_error("It did not run through", str(error))
        if self.options["check"] and not self.compare_outputs(_kept(run), _kept(self.cell)):
            self.raise_cell_error("Cell outputs differ", "\n".join(self.comparison_traceback))


def _kept(cell: NotebookNode) -> list[NotebookNode]:
    """Return the outputs that count: no progress bars, nothing from stderr."""
    return [out for out in cell.outputs if not is_progress_bar(out) and out.get("name") != "stderr"]


def pytest_configure(config: pytest.Config) -> None:
    """Give the kernels the environment the outputs were made in."""
    if config.option.nbval:
        os.environ.update(KERNEL_ENVIRONMENT)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(parent: pytest.Collector) -> Iterator[None]:
    """Collect a notebook as a `StrictFile` where nbval would collect its own kind."""
    collected = yield
    return [
        StrictFile.from_parent(parent, path=found.path) if type(found) is IPyNbFile else found
        for found in collected
    ]
