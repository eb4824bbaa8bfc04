"""Execute the chapters whose notebooks are missing or stale; a second run changes no byte.

`make chapters` calls this. Name chapters (`04_loss`) to run just those, or give `--all`. A chapter is stale
when its code cells are not those its outputs came from; where only prose changed, the outputs are kept.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import nbclient
import toc
from nbformat import NotebookNode
from notebooks import (
    CELL_TIMEOUT,
    KERNEL_ENVIRONMENT,
    code_cells,
    code_hash,
    is_progress_bar,
    read_notebook,
    read_text,
    stored_hash,
    was_run_in_order,
    write_notebook,
)


def execute(notebook: NotebookNode, folder: Path, label: str) -> None:
    """Run a notebook in place, in a kernel whose current folder is `folder`.

    Raises:
        CellExecutionError: A cell raised.
        CellTimeoutError: A cell took longer than `CELL_TIMEOUT` seconds.
        DeadKernelError: The kernel died.
    """
    total = len(code_cells(notebook))

    def show(cell: NotebookNode, cell_index: int, execute_reply: dict[str, object]) -> None:
        done = sum(
            cell is not None for cell in code_cells(NotebookNode(cells=notebook.cells[: cell_index + 1]))
        )
        print(f"\r{label}: cell {done} of {total}", end="", flush=True)

    client = nbclient.NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
        on_cell_executed=show,
    )
    started = time.monotonic()
    client.execute()
    print(f", {time.monotonic() - started:.0f} s")
    for cell in code_cells(notebook):
        cell.outputs = [output for output in cell.outputs if not is_progress_bar(output)]
    # Widget state differs from run to run; without it every viewer takes the picture beside the widget.
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info.pop("version", None)


def bring_up_to_date(page: Path, rerun: bool) -> bool:
    """Make a chapter's notebook agree with its text; return whether it had to be run.

    Args:
        page: The chapter's text.
        rerun: Run it even if the outputs are fresh.
    """
    path = page.with_suffix(".ipynb")
    notebook = read_text(page)
    old = read_notebook(path) if path.exists() else None
    fresh = old is not None and stored_hash(old) == code_hash(notebook) and was_run_in_order(old)
    if fresh and not rerun:
        for cell, before in zip(code_cells(notebook), code_cells(old), strict=True):
            cell.outputs, cell.execution_count = before.outputs, before.execution_count
        notebook.metadata.language_info = old.metadata.language_info
    else:
        execute(notebook, page.parent, page.stem)
    notebook.metadata.prefixlm = {"code_sha256": code_hash(notebook)}
    write_notebook(notebook, path)
    return rerun or not fresh


def main() -> int:
    """Run what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description="Execute the chapters whose outputs are stale.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="run these chapters (04_loss), stale or not")
    parser.add_argument("--all", action="store_true", help="run every chapter, stale or not")
    asked = parser.parse_args()
    pages = {page.stem: page for page in toc.chapters()}
    if unknown := set(asked.names) - pages.keys():
        parser.error(f"no chapter is called {', '.join(sorted(unknown))}; there are {', '.join(pages)}.")
    os.environ.update(KERNEL_ENVIRONMENT)
    for name, page in pages.items():
        if asked.names and name not in asked.names:
            continue
        try:
            if not bring_up_to_date(page, rerun=asked.all or name in asked.names):
                print(f"{name}: fresh")
        except nbclient.exceptions.CellExecutionError as error:
            print(
                f"\n{name}.md: a cell raised, so its notebook was left as it was.\n{error}", file=sys.stderr
            )
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
