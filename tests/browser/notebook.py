"""Drive a notebook in a real JupyterLab, and look at its kernel from outside."""

import json
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client import BlockingKernelClient
from playwright.sync_api import Locator, Page
from servers import TOKEN, Lab


def write_notebook(lab: Lab, name: str, cells: Sequence[str]) -> None:
    """Write a notebook of code cells that were never run into the server's folder."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, lab.folder / name)


class Notebook:
    """A notebook that is open in JupyterLab.

    Args:
        page: an empty page.
        lab: the server.
        name: the notebook's file name in the server's folder.
    """

    def __init__(self, page: Page, lab: Lab, name: str) -> None:
        self.page, self.lab, self.name = page, lab, name
        page.goto(f"{lab.url}/lab/tree/{name}?token={TOKEN}&reset", wait_until="domcontentloaded")
        page.wait_for_function(
            """() => {
              const panel = window.jupyterapp?.shell?.currentWidget;
              return panel?.content?.widgets?.length > 0
                && panel.sessionContext?.session?.kernel?.connectionStatus === "connected";
            }""",
            timeout=90_000,
        )

    def command(self, name: str, **arguments: Any) -> None:
        """Execute one of JupyterLab's commands and wait until it has done its work."""
        self.page.evaluate("([name, how]) => void jupyterapp.commands.execute(name, how)", [name, arguments])

    def run_all(self, timeout: float = 240) -> None:
        """Run every cell, and wait until the last one has its number; fail if a cell raises."""
        self.command("notebook:run-all-cells")
        self._wait_for_numbers(timeout)

    def _wait_for_numbers(self, timeout: float) -> None:
        self.page.wait_for_function(
            """() => {
              const cells = jupyterapp.shell.currentWidget.content.widgets.map((cell) => cell.model)
                .filter((model) => model.type === "code" && model.sharedModel.getSource().trim());
              const failed = (model) => {
                for (let i = 0; i < model.outputs.length; i++) {
                  if (model.outputs.get(i).type === "error") return true;
                }
              };
              return cells.some(failed) || cells.every((model) => model.executionCount && !model.isDirty
                && model.executionState !== "running");
            }""",
            timeout=timeout * 1000,
        )
        errors = self.page.locator("[data-mime-type='application/vnd.jupyter.stderr'] .ansi-red-fg")
        assert errors.count() == 0, errors.first.text_content()

    def restart_and_run_all(self, timeout: float = 240) -> None:
        """Restart the kernel and run every cell, as a reader would from the menu."""
        before = "document.querySelectorAll('.plx-root').forEach((root) => root.dataset.before = '')"
        self.page.evaluate(before)
        self.command("notebook:restart-run-all")
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        self.page.wait_for_selector(".plx-root:not([data-before])", timeout=timeout * 1000)
        self._wait_for_numbers(timeout)

    def explorers(self) -> list[Locator]:
        """The explorers on the page, in order, each scrolled into the notebook at least once."""
        cells = self.page.evaluate(
            """() => jupyterapp.shell.currentWidget.content.widgets
              .map((cell, i) => [i, JSON.stringify(cell.model.toJSON().outputs ?? [])])
              .filter(([, outputs]) => outputs.includes('"explorer"')).map(([i]) => i)"""
        )
        found = []
        for i in cells:
            self.page.evaluate("(i) => jupyterapp.shell.currentWidget.content.scrollToItem(i, 'center')", i)
            root = self.page.locator(f".jp-Cell[data-windowed-list-index='{i}'] .plx-root")
            root.wait_for(timeout=30_000)
            found.append(root)
        return found

    def kernel(self) -> BlockingKernelClient:
        """A client of the notebook's kernel."""
        with urllib.request.urlopen(f"{self.lab.url}/api/sessions?token={TOKEN}") as answer:  # noqa: S310
            sessions = json.load(answer)
        kernel = next(each["kernel"]["id"] for each in sessions if Path(each["path"]).name == self.name)
        client = BlockingKernelClient(connection_file=str(self.lab.runtime / f"kernel-{kernel}.json"))
        client.load_connection_file()
        client.start_channels()
        client.wait_for_ready(timeout=60)
        return client


def ask(kernel: BlockingKernelClient, code: str) -> str:
    """Run code in the kernel, silently for the page, and return what it printed."""
    printed: list[str] = []

    def keep(message: dict[str, Any]) -> None:
        content = message["content"]
        if message["msg_type"] == "stream":
            printed.append(content["text"])
        assert message["msg_type"] != "error", content

    kernel.execute_interactive(code, store_history=False, timeout=60, output_hook=keep)
    return "".join(printed).strip()


def eventually(check: Callable[[], None], seconds: float = 10) -> None:
    """Repeat a check until it passes; let its last failure out when the time is up."""
    end = time.monotonic() + seconds
    while True:
        try:
            check()
        except AssertionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return
