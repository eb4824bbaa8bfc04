"""The exercises as a class gets them: pages for nbgrader, and pages for students and teachers without it."""

import json
import os
import re
from pathlib import Path

import exercises
import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from notebooks import read_notebook, read_text

LINK = re.compile(r"\[([^\]]+)\]\(\.\./([\w.-]+)\.(ipynb|md)(?:#([^)\s]+))?\)")
HEAD = re.compile(r"^### Exercise (\S+): (.+)\n+\*(\w+)\. (\w+), ([^.]+?)\.", re.MULTILINE)
HANDING_IN = """Before you hand this notebook in, restart the kernel and run all cells: that is what happens
when it is graded. What you only moved with the mouse is back at its start by then: set an explorer by code,
as in `explorer.prefix_len = 3`."""
INSTALL = """# Brings the handbook's package to where it is missing, as on Colab. Elsewhere this does nothing.
import importlib.util
import subprocess
import sys
from pathlib import Path

if importlib.util.find_spec("prefixlm_teach") is None:
    found = [*map(str, Path().glob("prefixlm_teach-*.whl")), *{elsewhere}]
    if not found:
        raise RuntimeError(
            "The package prefixlm_teach is missing. Put {wheel} beside this notebook (on Colab: the "
            "folder on the left, then the arrow) and run this cell again. It came with this notebook."
        )
    if subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", found[0]]).returncode:
        raise RuntimeError(
            "pip could not install prefixlm_teach; it says why above. Without a network it can use "
            "only what is here already: connect, run this cell again, and you can do without from then on."
        )
    importlib.invalidate_caches()"""


def for_nbgrader(page: Path) -> NotebookNode:
    """Return a page with everything in it, from which nbgrader makes what it hands out."""
    return _dressed(read_text(page), page)


def for_students(page: Path, wheel: str) -> NotebookNode:
    """Return a page without solutions, which installs the package from the wheel of this name if need be."""
    return _dressed(exercises.handed_out(page), page, wheel)


def for_teachers(page: Path, wheel: str) -> NotebookNode:
    """Return a page with its solutions and what they put out."""
    notebook = read_notebook(page.with_suffix(".ipynb"))
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)
    return _dressed(notebook, page, wheel)


def as_text(notebook: NotebookNode) -> str:
    """Return a notebook as the text it may be paired with."""
    return jupytext.writes(notebook, fmt="md:myst")


def _dressed(notebook: NotebookNode, page: Path, wheel: str = "") -> NotebookNode:
    """Say how to hand a page in, let it install the package, and let its links lead to the book, if any."""
    notebook.metadata.pop("prefixlm", None)
    new = [new_markdown_cell(HANDING_IN.replace("\n", " "), id="handing-in")]
    if wheel:
        elsewhere = [address] if (address := os.environ.get("PREFIXLM_PACKAGE")) else []
        source = INSTALL.format(wheel=wheel, elsewhere=json.dumps(elsewhere))
        new.append(new_code_cell(source, id="install"))
    notebook.cells[1:1] = new
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(lambda link: _linked(link, page.parent.parent), cell.source)
    return notebook


def _linked(link: re.Match[str], chapters: Path) -> str:
    """A link to a page, as one to the published book; only its words, where there is none."""
    words, page, kind, anchor = link.groups()
    if not (book := os.environ.get("PREFIXLM_BOOK_URL")):
        return words if kind == "md" else f"“{words}” in chapter {page.partition('_')[0].lstrip('0')}"
    if anchor and kind == "ipynb":
        anchor = _anchor_in_book(chapters / f"{page}.md", anchor)
    return f"[{words}]({book.rstrip('/')}/{page}.html{f'#{anchor}' if anchor else ''})"


def _anchor_in_book(chapter: Path, anchor: str) -> str:
    """The anchor that a heading has on the published page, given the one that it has in JupyterLab."""
    for title in re.findall(r"^#+ (.+)$", chapter.read_text(encoding="utf-8"), re.MULTILINE):
        if re.sub(r"[^\w\- ]", "", title.strip().lower().replace(" ", "-")) == anchor:
            return re.sub(r"^[-\d]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", title.lower()))
    raise ValueError(f"{chapter.name} has no heading #{anchor}, to which an exercise links.")


def table(pages: list[Path]) -> str:
    """Return the exercises of some pages as a table: kind, minutes, points, and who gives them."""
    rows = ["| exercise | kind | difficulty | minutes | points | marked by |", "|---|---|---|---|---|---|"]
    for page in pages:
        number = ""
        for cell in read_text(page).cells:
            if head := HEAD.search(cell.source):
                number, title, kind, difficulty, minutes = head.groups()
            grading = cell.metadata.get("nbgrader", {})
            if grading.get("grade"):
                by = "you" if grading["solution"] else "its check"
                minutes = minutes.removesuffix(" minutes").removesuffix(" minute")
                rows.append(
                    f"| {number} {title} | {kind.lower()} | {difficulty.lower()} | {minutes} "
                    f"| {grading['points']} | {by} |"
                )
    return "\n".join(rows)
