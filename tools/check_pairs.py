"""Check that every chapter's notebook is what its text says, freshly and fully executed.

`make test` calls this. It prints one line for each thing that is wrong, and ends non-zero if there is one.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import exercises
import toc
from IPython.core.inputtransformer2 import TransformerManager
from jupytext.compare import NotebookDifference, compare_notebooks
from nbformat import NotebookNode
from notebooks import (
    code_cells,
    code_hash,
    read_notebook,
    read_text,
    stored_hash,
    was_edited,
    was_run_in_order,
)


def order_complaints(project: Path) -> Iterator[str]:
    """Yield what is wrong with `_toc.yml`, and notebooks that belong to no chapter."""
    try:
        listed, chapters = toc.pages(project), toc.chapters(project)
    except ValueError as error:
        yield str(error)
        return
    folder = project / "chapters"
    for page in sorted(set(folder.glob("*.md")) - set(listed)):
        yield f"{page.name} is not in _toc.yml."
    paired = {page.with_suffix(".ipynb") for page in chapters}
    for notebook in sorted(set(folder.glob("*.ipynb")) - paired):
        yield f"{notebook.name} has no text: every notebook is made from the .md of its name."


def exercise_complaints(project: Path = toc.PROJECT) -> Iterator[str]:
    """Yield the chapters that don't hold the exercises of their page of solutions."""
    for page in exercises.solution_pages(project):
        chapter = project / "chapters" / page.name
        if not chapter.is_file():
            yield f"solutions/{page.name} belongs to no chapter: there is no {page.name}."
            continue
        text = chapter.read_text(encoding="utf-8")
        if text != exercises.with_section(text, exercises.section(page)):
            yield f"{page.name} holds other exercises than solutions/{page.name}: run `make chapters`."


def pair_complaints(page: Path) -> Iterator[str]:
    """Yield what is wrong with a chapter's notebook, given its text."""
    path = page.with_suffix(".ipynb")
    if not path.exists():
        yield f"{path.name} is missing: `make chapters` makes it."
        return
    try:
        text, notebook = read_text(page), read_notebook(path)
    except ValueError as error:
        yield str(error)
        return
    try:
        compare_notebooks(notebook, text, fmt="md:myst", compare_outputs=False)
    except NotebookDifference as difference:
        yield f"{path.name} and {page.name} differ. {difference}"
    else:
        if was_edited(notebook):
            yield f"{path.name} was saved since `make chapters` last wrote it: run that again."
    if stored_hash(notebook) != code_hash(text):
        yield f"{path.name} holds outputs of other code than {page.name}: `make chapters` runs it again."
    if not was_run_in_order(notebook):
        yield f"{path.name} was not run from top to bottom."
    if "widgets" in notebook.metadata:
        yield f"{path.name} carries widget state."
    yield from (f"{path.name}: {complaint}" for complaint in cell_complaints(notebook))


def cell_complaints(notebook: NotebookNode) -> Iterator[str]:
    """Yield cells that ignore their output without an assert, or that show warnings or errors."""
    cells = code_cells(notebook)
    for cell, following in zip(cells, [*cells[1:], NotebookNode(source="")], strict=True):
        tags = cell.metadata.get("tags", [])
        start = cell.source.splitlines()[0]
        ignored = "nbval-ignore-output" in tags
        if ignored and not (_asserts(cell.source) or _asserts(following.source)):
            yield f"the cell {start!r} ignores its output, and no assert in it or in the next one bounds it."
        if "NBVAL_" in cell.source:
            yield f"the cell {start!r} steers nbval by a comment; use a tag, which this check can see."
        for output in cell.outputs:
            if output.output_type == "error" and "raises-exception" not in tags:
                yield f"the cell {start!r} ends in an error; tag it raises-exception if that is meant."
            if output.get("name") == "stderr":
                yield f"the cell {start!r} shows a warning: {output.text.strip().splitlines()[-1]}"


def _asserts(source: str) -> bool:
    code = ast.parse(TransformerManager().transform_cell(source))
    return any(isinstance(node, ast.Assert) for node in ast.walk(code))


def main() -> int:
    """Print every complaint; return the exit status."""
    complaints, chapters = list(order_complaints(toc.PROJECT)), []
    if not complaints:
        chapters = [*toc.chapters(), *exercises.solution_pages()]
        complaints = [complaint for page in chapters for complaint in pair_complaints(page)]
        complaints += exercise_complaints()
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if not complaints:
        print(f"{len(chapters)} chapters agree with their notebooks.")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
