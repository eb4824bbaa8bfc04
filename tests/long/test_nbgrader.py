"""The whole cycle with nbgrader itself: release, fetch, submit, collect, autograde, feedback, export.

Right, empty, partly right and hostile submissions are handed in side by side, and each gets its own marks.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import answers
import exercises
import nbformat
import pytest
from build_classroom import build
from classroom_course import release
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from nbgrader.api import Gradebook
from notebooks import read_text

PAGES = exercises.solution_pages()[:3]
HOSTILE = "01_mask"
SECONDS = 40  # a cell may take, in these tests
BEFORE = """import math
import torch
from torch import nn
from torch.nn import functional as F
from prefixlm_teach import *
"""
BLOCKING = """import time
while True:
    try:
        time.sleep(1)
    except BaseException:
        pass
"""
Marks = dict[str, float]  # grade_id -> points


def cells_of(page: Path) -> dict[str, NotebookNode]:
    """The cells of a page that nbgrader knows, by their names."""
    cells = read_text(page).cells
    return {cell.metadata.nbgrader.grade_id: cell for cell in cells if "nbgrader" in cell.metadata}


def checked(page: Path) -> dict[str, tuple[str, str]]:
    """The checks of a page -> the cell with the answer, and the cell that marks it."""
    found, answer = {}, ""
    for name, cell in cells_of(page).items():
        if cell.metadata.nbgrader.solution:
            answer = name
        elif match := answers.CHECKED.search(cell.source):
            found[match[1]] = (answer, name)
    return found


def points(page: Path) -> Marks:
    """What each cell is worth that a check marks."""
    cells = cells_of(page)
    return {marks: cells[marks].metadata.nbgrader.points for _, marks in checked(page).values()}


def filled(released: NotebookNode, sources: dict[str, str]) -> NotebookNode:
    """A notebook that was handed out, with these sources in its cells."""
    notebook = deepcopy(released)
    for cell in notebook.cells:
        cell.source = sources.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    return notebook


def solutions(page: Path) -> dict[str, str]:
    return {name: cell.source for name, cell in cells_of(page).items() if cell.metadata.nbgrader.solution}


def partly(page: Path, first: int) -> tuple[dict[str, str], Marks]:
    """Every second exercise right and the others wrong, with what that is worth."""
    known, sources, marks = answers.of(page.stem), {}, points(page)
    for place, (check, (answer, marked)) in enumerate(checked(page).items()):
        wrong = [
            source for each in known.WRONG[check].values() for source in each if "while True" not in source
        ]
        right = place % 2 == first
        sources[answer] = BEFORE + (known.RIGHT[check][-1] if right else wrong[-1 if first else 0])
        marks[marked] *= right
    return sources, marks


def hostile_in_loops(page: Path, released: NotebookNode) -> tuple[NotebookNode, Marks]:
    """Loops without end, ends its kernel, and answers the rest rightly."""
    sources, marks = solutions(page), points(page)
    for name, code in {"mask-1": "while True:\n    pass\n", "mask-3": "import os\nos._exit(1)\n"}.items():
        sources[f"{name}-answer"] = code + sources[f"{name}-answer"]
        marks[f"{name}-check"] = 0
    return filled(released, sources), marks


def hostile_in_cells(page: Path, released: NotebookNode) -> tuple[NotebookNode, Marks]:
    """Changes tests, deletes cells, prints without end, can't be stopped, leaves; the last one is right."""
    sources, marks = solutions(page), points(page)
    sources["mask-1-answer"] = "pairs = 1"
    sources["mask-1-check"] = "print('all is well')"
    sources["mask-3-answer"] = f"while True:\n    print('x' * 1000)\n{sources['mask-3-answer']}"
    sources["mask-4-answer"] = BLOCKING + sources["mask-4-answer"]
    notebook = filled(released, sources)
    notebook.cells = [
        cell
        for cell in notebook.cells
        if "mask-2" not in cell.metadata.get("nbgrader", {}).get("grade_id", "")
    ]
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "mask-1-check":
            cell.metadata.nbgrader.points = 1000
    last = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells].index(
        "mask-5-answer"
    )
    notebook.cells.insert(last, new_code_cell("exit()"))
    for number in (1, 2, 3, 4):
        marks[f"mask-{number}-check"] = 0
    return notebook, marks


class Course:
    """A course that was built, the students in it and what their submissions should get."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home, self.expected = folder / "out/course", folder, dict[tuple[str, str], Marks]()
        build(PAGES, folder / "out")
        (folder / "exchange").mkdir(mode=0o777)
        (folder / "exchange").chmod(0o777)

    def run(self, *command: str, at: Path | None = None) -> str:
        """Run nbgrader as a teacher would, in the course's folder, or as a student in another."""
        scripts = sysconfig.get_path("scripts")
        ran = subprocess.run(
            [
                *(sys.executable, "-m", "nbgrader", *command),
                f"--Exchange.root={self.home / 'exchange'}",
                f"--Exchange.cache={self.home / 'cache'}",
            ],
            cwd=at or self.folder,
            env=os.environ
            | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "PREFIXLM_HOME": os.devnull},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    def released(self, page: Path) -> NotebookNode:
        return nbformat.read(self.folder / f"release/{page.stem}/{page.stem}.ipynb", as_version=4)

    def submit(self, student: str, page: Path, notebook: NotebookNode, expected: Marks) -> None:
        """Lay a notebook where nbgrader collects submissions to."""
        place = self.folder / "submitted" / student / page.stem
        place.mkdir(parents=True)
        nbformat.write(notebook, place / f"{page.stem}.ipynb")
        self.expected[student, page.stem] = expected

    def marks(self, student: str, page: Path) -> Marks:
        """What a submission got from the checks."""
        with Gradebook(f"sqlite:///{self.folder / 'gradebook.db'}") as gradebook:
            notebook = gradebook.find_submission_notebook(page.stem, page.stem, student)
            return {
                grade.name: grade.auto_score or 0 for grade in notebook.grades if grade.name in points(page)
            }


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course in which every submission is graded."""
    course = Course(tmp_path_factory.mktemp("class"))
    for page in PAGES:
        course.run("release_assignment", page.stem)
        own = course.home / "a student"
        own.mkdir(exist_ok=True)
        course.run("fetch_assignment", page.stem, "--course=prefix-lm", at=own)
        fetched = nbformat.read(own / page.stem / f"{page.stem}.ipynb", as_version=4)
        nbformat.write(filled(fetched, solutions(page)), own / page.stem / f"{page.stem}.ipynb")
        course.run("submit", page.stem, "--course=prefix-lm", "--student=right", at=own)
        course.run("collect", page.stem)
        course.expected["right", page.stem] = points(page)

        given = course.released(page)
        course.submit("empty", page, given, dict.fromkeys(points(page), 0))
        for first in (0, 1):
            sources, marks = partly(page, first)
            course.submit(f"partly_{first}", page, filled(given, sources), marks)
        if page.stem == HOSTILE:
            hostile: dict[str, Callable[[Path, NotebookNode], tuple[NotebookNode, Marks]]]
            hostile = {"a_hostile_one": hostile_in_loops, "n_hostile_one": hostile_in_cells}
            for student, makes in hostile.items():
                course.submit(student, page, *makes(page, given))
        course.run("autograde", page.stem, f"--Execute.timeout={SECONDS}")
        course.run("generate_feedback", page.stem)
    course.run("export")
    return course


def test_every_submission_gets_its_marks(course: Course) -> None:
    for (student, name), expected in course.expected.items():
        page = next(page for page in PAGES if page.stem == name)
        assert course.marks(student, page) == expected, student
    assert sum(course.expected["right", HOSTILE].values()) > 0


def test_written_answers_wait_for_the_teacher_and_untouched_ones_do_not(course: Course) -> None:
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}") as gradebook:
        for page in PAGES:
            by_hand = [
                name
                for name, cell in cells_of(page).items()
                if cell.metadata.nbgrader.grade and cell.metadata.nbgrader.solution
            ]
            for student, waits in (("right", True), ("empty", False)):
                notebook = gradebook.find_submission_notebook(page.stem, page.stem, student)
                waiting = {grade.name for grade in notebook.grades if grade.needs_manual_grade}
                assert waiting == (set(by_hand) if waits else set())


def test_everybody_gets_feedback_of_a_bearable_size(course: Course) -> None:
    for student, name in course.expected:
        page = course.folder / "feedback" / student / name / f"{name}.html"
        assert page.stat().st_size < 2_000_000, student
    text = (course.folder / f"feedback/n_hostile_one/{HOSTILE}/{HOSTILE}.html").read_text(encoding="utf-8")
    assert "ended or blocked the kernel" in text
    assert "all is well" not in text, "the test that was changed is the teacher's again"


def test_the_exported_table_has_the_marks(course: Course) -> None:
    with (course.folder / "grades.csv").open(encoding="utf-8") as table:
        rows = {(row["student_id"], row["assignment"]): row for row in csv.DictReader(table)}
    for (student, name), expected in course.expected.items():
        assert float(rows[student, name]["score"]) == sum(expected.values())


def test_what_is_released_is_what_the_chapter_shows(course: Course) -> None:
    for page in PAGES:
        given, shown = course.released(page), exercises.handed_out(page)
        cells = [cell for cell in given.cells if cell.id != "handing-in"]
        for cell, own in zip(cells, shown.cells, strict=True):
            if cell.cell_type == "code":
                assert (
                    re.sub(rf"^{re.escape(exercises.STUB)}\n?", "", cell.source, flags=re.M).rstrip()
                    == own.source
                )
                assert cell.outputs == []


def test_building_again_keeps_the_gradebook_and_what_the_teacher_has_changed(course: Course) -> None:
    before = {
        key: course.marks(key[0], page) for page in PAGES for key in course.expected if key[1] == page.stem
    }
    released = course.folder / f"release/{HOSTILE}/{HOSTILE}.ipynb"
    bytes_before = released.read_bytes()
    own = course.folder / "source/my_own/my_own.ipynb"
    own.parent.mkdir()
    shutil.copy(course.folder / f"source/{HOSTILE}/{HOSTILE}.ipynb", own)
    release("my_own", course.folder)
    config = course.folder / "nbgrader_config.py"
    config.write_text(config.read_text(encoding="utf-8") + "c.Execute.timeout = 7\n", encoding="utf-8")
    said = build(PAGES, course.home / "out")
    assert said == [
        "Kept the course's own nbgrader_config.py; the handbook's is classroom/nbgrader_config.py."
    ]
    assert released.read_bytes() == bytes_before
    assert own.is_file()
    assert {
        key: course.marks(key[0], page) for page in PAGES for key in before if key[1] == page.stem
    } == before


def test_a_page_that_gives_a_solution_away_stops_the_build_and_nothing_is_laid(tmp_path: Path) -> None:
    page = tmp_path / "chapters/solutions" / PAGES[0].name
    page.parent.mkdir(parents=True)
    answer = next(iter(solutions(PAGES[0]).values())).split("### BEGIN SOLUTION\n")[1].split("###")[0]
    text = PAGES[0].read_text(encoding="utf-8")
    told = text.replace("### Exercise", f"The answer:\n\n```python\n{answer}```\n\n### Exercise", 1)
    page.write_text(told, encoding="utf-8", newline="\n")
    shutil.copy(PAGES[0].with_suffix(".ipynb"), page.parent)
    with pytest.raises(ValueError, match="Students would get solutions"):
        build([page], tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
