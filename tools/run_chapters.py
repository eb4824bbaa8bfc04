"""Execute the chapters whose notebooks are missing or stale; a second run changes no byte.

`make chapters` calls this. The pages of `chapters/solutions/` are chapters here, and the exercises that they
hold are first written into the chapters. Name chapters (`04_loss`, `solutions/04_loss`) to run just those, or
give `--all`. A chapter is stale when its code cells are not those its outputs came from; where only prose
changed, the outputs are kept. A notebook that was edited apart from its text is never overwritten.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import exercises
import nbclient
import toc
from jupyter_client.kernelspec import NoSuchKernel
from jupytext.compare import NotebookDifference, compare_notebooks
from nbformat import NotebookNode
from notebooks import (
    CELL_TIMEOUT,
    KERNEL_ENVIRONMENT,
    cells_hash,
    code_cells,
    code_hash,
    is_progress_bar,
    read_notebook,
    read_text,
    stored_hash,
    was_edited,
    was_run_in_order,
    write_notebook,
)

FAILURES = {
    nbclient.exceptions.CellExecutionError: "a cell raised",
    nbclient.exceptions.CellTimeoutError: f"a cell took longer than {CELL_TIMEOUT} seconds",
    RuntimeError: "its kernel died or did not start",
    NoSuchKernel: "its kernel is not installed",
}


def execute(notebook: NotebookNode, folder: Path, label: str) -> None:
    """Run a notebook in place, in a kernel whose current folder is `folder`.

    Raises:
        CellExecutionError: A cell raised.
        CellTimeoutError: A cell took longer than `CELL_TIMEOUT` seconds.
        RuntimeError: The kernel died, or did not start.
        NoSuchKernel: The kernel that the chapter names is not installed.
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


def read_pair(page: Path) -> tuple[NotebookNode, NotebookNode | None]:
    """Return a chapter's text as a notebook, and its notebook as it is (None if there is none).

    Raises:
        ValueError: Either cannot be read, or the notebook holds edits that its text lacks.
    """
    path = page.with_suffix(".ipynb")
    text = read_text(page)
    if not path.exists():
        return text, None
    notebook = read_notebook(path)
    if was_edited(notebook):
        try:  # saving in JupyterLab edits both, which loses nothing
            compare_notebooks(notebook, text, fmt="md:myst", compare_outputs=False)
        except NotebookDifference as difference:
            raise ValueError(
                f"{path.name} was edited apart from its text. To keep these edits, replace "
                f"{page.name} by them: `{Path(sys.executable).name} -m jupytext --to md:myst "
                f"{path.parent.name}/{path.name}`. To take the version of {page.name}, delete {path.name}."
            ) from difference
    return text, notebook


def bring_up_to_date(page: Path, rerun: bool) -> bool:
    """Make a chapter's notebook agree with its text; return whether it had to be run.

    Args:
        page: The chapter's text.
        rerun: Run it even if the outputs are fresh.

    Raises:
        ValueError: As in `read_pair`; nothing is run or written then.
        CellExecutionError, CellTimeoutError, RuntimeError, NoSuchKernel: As in `execute`; nothing is written.
    """
    notebook, old = read_pair(page)
    fresh = old is not None and stored_hash(old) == code_hash(notebook) and was_run_in_order(old)
    if fresh and not rerun:
        for cell, before in zip(code_cells(notebook), code_cells(old), strict=True):
            cell.outputs, cell.execution_count = before.outputs, before.execution_count
        notebook.metadata.language_info = old.metadata.language_info
    else:
        execute(notebook, page.parent, page.stem)
    notebook.metadata.prefixlm = {"cells_sha256": cells_hash(notebook), "code_sha256": code_hash(notebook)}
    write_notebook(notebook, page.with_suffix(".ipynb"))
    return rerun or not fresh


def main() -> int:
    """Run what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description="Execute the chapters whose outputs are stale.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="run these chapters (04_loss), stale or not")
    parser.add_argument("--all", action="store_true", help="run every chapter, stale or not")
    asked = parser.parse_args()
    try:
        for name in exercises.write_sections():
            print(f"{name}: its exercises were brought up to date")
        pages = {page.stem: page for page in toc.chapters()}
        pages |= {f"solutions/{page.stem}": page for page in exercises.solution_pages()}
        if unknown := set(asked.names) - pages.keys():
            parser.error(f"no chapter is called {', '.join(sorted(unknown))}; there are {', '.join(pages)}.")
        wanted = {name: page for name, page in pages.items() if not asked.names or name in asked.names}
        for page in wanted.values():
            read_pair(page)  # so that a chapter which cannot be written is named before any is run
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    os.environ.update(KERNEL_ENVIRONMENT)
    for name, page in wanted.items():
        try:
            if not bring_up_to_date(page, rerun=asked.all or name in asked.names):
                print(f"{name}: fresh")
        except tuple(FAILURES) as error:
            why = next(reason for kind, reason in FAILURES.items() if isinstance(error, kind))
            print(f"\n{name}.md: {why}, so its notebook was left as it was.\n{error}", file=sys.stderr)
            return 1
        except ValueError as error:  # edited while another chapter ran
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
