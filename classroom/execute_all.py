"""Execute a submission to its end, whatever is in it. `nbgrader_config.py` puts this in the place of Execute.

nbgrader interrupts a cell that takes too long, and goes on. But if the kernel dies, or a cell can't be
interrupted, it gives up, and the submission gets no marks; and output without end fills the memory. Here such
a cell is an error like any other: a new kernel runs the cells before it again that went well, and goes on
after it.
"""

import asyncio
from copy import deepcopy
from typing import Any

from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import Execute
from traitlets import Integer

LOST = (DeadKernelError, CellTimeoutError)


class ExecuteAll(Execute):
    """Executes every cell of a notebook; a lost kernel costs the cell that lost it."""

    most_restarts = Integer(6, help="How often a submission may lose its kernel.").tag(config=True)
    most_output = Integer(1_000_000, help="Characters of a cell's output that are kept.").tag(config=True)
    flood = Integer(10_000_000, help="Characters of output at which a kernel is ended.").tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: Any = None, km: Any = None
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Execute a notebook."""
        self._restarts = 0
        return super().preprocess(nb, resources, km)

    def preprocess_cell(
        self, cell: NotebookNode, resources: Any, index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Execute a cell; if that costs the kernel, note an error and start again after it."""
        if cell.cell_type != "code" or not cell.source.strip():
            return cell, resources
        if self._restarts > self.most_restarts:
            self._fail(cell, "not run: this notebook has ended or blocked too many kernels")
            return cell, resources
        try:
            self._put_out, self._killing = 0, None
            return super().preprocess_cell(cell, resources, index)
        except LOST as error:
            self._lose(cell, error)
            self._start_again(index)
            return cell, resources

    def on_cell_executed(self, **kwargs: Any) -> None:
        """Take a cell that asks the kernel to end, as `exit()` does, for one that has ended it.

        What a check returns is shown instead: nbgrader would look for a number of points in it.
        """
        super().on_cell_executed(**kwargs)
        for output in kwargs["cell"].outputs:
            if output.output_type == "execute_result" and "text/html" in output.data:
                output.output_type = "display_data"
                del output["execution_count"]
        payloads = kwargs["execute_reply"]["content"].get("payload", ())
        if any(payload["source"] == "ask_exit" for payload in payloads):
            raise DeadKernelError("the cell asks the kernel to end")

    def process_message(
        self, msg: dict[str, Any], cell: NotebookNode, cell_index: int
    ) -> NotebookNode | None:
        """Keep what a cell puts out as long as there is room for it; end a kernel that floods us."""
        if msg["msg_type"] in ("error", "status"):  # what is graded, and whether the cell has ended
            return super().process_message(msg, cell, cell_index)
        self._put_out += len(repr(msg["content"]))
        if self._put_out > self.flood and not self._killing:
            self._killing = asyncio.ensure_future(self.km.provisioner.kill())
        if self._put_out > self.most_output:
            return None
        return super().process_message(msg, cell, cell_index)

    def _start_again(self, index: int) -> None:
        """Bring a new kernel to where the old one was before the cell of this index."""
        while self._restarts <= self.most_restarts:
            self._restarts += 1
            self.shutdown_kernel = "immediate"
            self._cleanup_kernel()
            self.km = self.create_kernel_manager()
            self.start_new_kernel()
            self.start_new_kernel_client()
            if self._run_again(index):
                return

    def _run_again(self, index: int) -> bool:
        """Run the cells before this index that went well, once more; whether the kernel lived through it."""
        for place, cell in enumerate(self.nb.cells[:index]):
            if cell.cell_type != "code" or any(output.output_type == "error" for output in cell.outputs):
                continue
            try:
                self._put_out, self._killing = 0, None
                self.execute_cell(deepcopy(cell), place)
            except LOST as error:
                self._lose(cell, error)
                return False
            finally:
                self.nb.cells[place] = cell  # with the outputs of its first run
        return True

    def _lose(self, cell: NotebookNode, error: Exception) -> None:
        did = "put out more and more" if self._killing else "ended or blocked the kernel"
        self._fail(cell, f"this cell {did} ({type(error).__name__})")

    def _fail(self, cell: NotebookNode, why: str) -> None:
        self.log.warning("A cell failed: %s", why)
        cell.outputs = [new_output("error", ename="Lost", evalue=why, traceback=[f"Lost: {why}"])]
