"""The exercises: written once, in `chapters/solutions/NN_name.md`, with nbgrader's metadata and markers.

A chapter shows the same cells without the solutions. `make chapters` writes them into its section
"Exercises", which stands before "What you can do now"; nothing else may be written there.
"""

import re
from pathlib import Path

import jupytext
import toc
from nbformat import NotebookNode
from notebooks import read_text

SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION\n?", re.MULTILINE | re.DOTALL)
HIDDEN = re.compile(r"^ *### BEGIN HIDDEN TESTS\n.*?^ *### END HIDDEN TESTS\n?", re.MULTILINE | re.DOTALL)
STUB = "...  # your code here"
ANSWER = "*Your answer here.*"
BEGINS, ENDS = "## Exercises\n", "\n## What you can do now\n"


def solution_pages(project: Path = toc.PROJECT) -> list[Path]:
    """Return the texts in which exercises are written, in the order of the chapters."""
    return sorted((project / "chapters" / "solutions").glob("*.md"))


def handed_out(page: Path) -> NotebookNode:
    """Return the exercises of a solutions page as a learner gets them.

    Args:
        page: the text of a solutions page.

    Raises:
        ValueError: it cannot be read, or a marker of a solution or a hidden test has no partner.
    """
    notebook = read_text(page)
    for cell in notebook.cells:
        grading = cell.metadata.pop("nbgrader", {})
        if cell.cell_type == "markdown":
            if grading.get("solution"):
                cell.source = ANSWER
            continue
        cell.source = HIDDEN.sub("", SOLUTION.sub(_stub, cell.source)).rstrip("\n")
        if "### BEGIN" in cell.source or "### END" in cell.source:
            raise ValueError(f"{page.name}: a marker has no partner in the cell {cell.source[:60]!r}.")
    return notebook


def _stub(region: re.Match[str]) -> str:
    """What stands in the place of a solution: nothing beside a first value, `...` inside a function."""
    return f"{region[1]}{STUB}\n" if region[1] else ""


def section(page: Path) -> str:
    """Return the section "Exercises" of the chapter that a solutions page belongs to, as MyST."""
    notebook = handed_out(page)
    title, *cells = notebook.cells
    if not title.source.startswith("# "):
        raise ValueError(f"{page.name} must begin with its title and nothing else in that cell.")
    notebook.cells = cells
    notebook.metadata.language_info = {"name": "python", "pygments_lexer": "ipython3"}
    text = jupytext.writes(notebook, fmt="md:myst")
    body = text.split("---\n", 2)[-1].strip() if text.startswith("---") else text.strip()
    up = re.compile(rf"\]\(\.\./(?:{re.escape(page.stem)}\.ipynb(?=#))?")  # solutions stand a folder lower
    return f"{BEGINS}\n{up.sub('](', body)}\n"


def with_section(chapter: str, exercises: str) -> str:
    """Return a chapter's text with its exercises in their place.

    Raises:
        ValueError: the chapter has no "What you can do now", before which they stand.
    """
    before, found, after = chapter.partition(ENDS)
    if not found:
        raise ValueError("there is no heading 'What you can do now', before which the exercises stand.")
    return before.partition(f"\n{BEGINS}")[0].rstrip("\n") + f"\n\n{exercises}{found}{after}"


def write_sections(project: Path = toc.PROJECT) -> list[str]:
    """Bring the exercises of all chapters up to date; return the names of those that changed."""
    changed = []
    for page in solution_pages(project):
        chapter = project / "chapters" / page.name
        old = chapter.read_text(encoding="utf-8")
        if (new := with_section(old, section(page))) != old:
            chapter.write_text(new, encoding="utf-8", newline="\n")
            changed.append(page.stem)
    return changed
