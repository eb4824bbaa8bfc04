"""What the runner, the checks and nbval agree on about an executed chapter.

A chapter's notebook is its text (`.md`, MyST) plus outputs, the hash of the code cells that made them, and
the hash of all its cells, by which an edit of the notebook itself is noticed. What differs from run to run
(progress bars, widget state, random cell ids) is left out.
"""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from jupytext.myst import MystMetadataParsingError
from nbformat import NotebookNode

# Chapters run side by side on few cores, and sets of strings must print in the same order every time.
# What they solve is nobody's progress: it is kept nowhere.
KERNEL_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PREFIXLM_HOME": os.devnull}
CELL_TIMEOUT = 600  # seconds

_BAR = re.compile(r"\d+%\||\d+it \[")


def read_text(page: Path) -> NotebookNode:
    """Read a chapter's text as a notebook without outputs, with cell ids that are the same every time.

    Raises:
        ValueError: It is not MyST that jupytext can read.
    """
    try:
        notebook = jupytext.read(page, fmt="md:myst")
    except (ValueError, MystMetadataParsingError, nbformat.ValidationError) as error:
        why = str(error).splitlines()[0]
        raise ValueError(f"{page.name} cannot be read as a chapter: {why}") from error
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number:03}"
    # The `kernelspec` is the reader's; how the text is written concerns the text alone.
    notebook.metadata.pop("jupytext", None)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def read_notebook(path: Path) -> NotebookNode:
    """Read an executed notebook.

    Raises:
        ValueError: It is not a valid notebook.
    """
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook, relax_add_props=False)
    except (OSError, ValueError, AttributeError, KeyError, TypeError, nbformat.ValidationError) as error:
        # nbformat meets JSON that is no notebook with whichever of these comes first.
        raise ValueError(
            f"{path.name} is not a valid notebook: delete it and run `make chapters`, which makes it again."
        ) from error
    return notebook


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook, whole or not at all.

    Raises:
        nbformat.ValidationError: It is not a valid notebook.
    """
    nbformat.validate(notebook, relax_add_props=False)
    part = path.with_name(path.name + ".part")
    part.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8", newline="\n")
    part.replace(path)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the code cells that have code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def code_hash(notebook: NotebookNode) -> str:
    """Return the SHA-256 of the code cells' sources and tags, in order."""
    code = [[cell.source, cell.metadata.get("tags", [])] for cell in code_cells(notebook)]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()


def cells_hash(notebook: NotebookNode) -> str:
    """Return the SHA-256 of the kinds and sources of all cells, in order."""
    cells = [[cell.cell_type, cell.source] for cell in notebook.cells]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def stored_hash(notebook: NotebookNode) -> str | None:
    """Return the hash of the code whose outputs the notebook holds; None if it was never run."""
    return notebook.metadata.get("prefixlm", {}).get("code_sha256")


def was_edited(notebook: NotebookNode) -> bool:
    """Tell whether the cells are not those the notebook was written with; False where that was not stored."""
    now = cells_hash(notebook)
    return notebook.metadata.get("prefixlm", {}).get("cells_sha256", now) != now


def was_run_in_order(notebook: NotebookNode) -> bool:
    """Tell whether the code cells are numbered 1, 2, 3, ..."""
    counts = [cell.execution_count for cell in code_cells(notebook)]
    return counts == list(range(1, len(counts) + 1))


def is_progress_bar(output: dict[str, Any]) -> bool:
    """Tell whether an output is a tqdm bar, on stderr or as a widget: made to be watched, not kept."""
    if output["output_type"] == "stream":
        lines = output["text"].split("\n")
        return output["name"] == "stderr" and all(_BAR.search(line) for line in lines if line.strip())
    return bool(_BAR.search(str(output.get("data", {}).get("text/plain", ""))))
