"""The course for nbgrader: an assignment for each page of exercises, released by nbgrader itself.

A course's folder has `source/` (with solutions), `release/` (what students get), nbgrader's settings from
`classroom/`, and the gradebook. Whatever else lies there is the teacher's: submissions, feedback, their own
assignments.
"""

import os
import shutil
import sysconfig
from pathlib import Path

import classroom_pages
import toc
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import capture_log
from notebooks import write_notebook
from traitlets.config.loader import PyFileConfigLoader

CONFIG, EXECUTION, GRADEBOOK = "nbgrader_config.py", "execute_all.py", "gradebook.db"


def make_course(pages: list[Path], course: Path, gradebook: Path) -> None:
    """Make a course in a new folder.

    Args:
        pages: the texts of pages of solutions.
        course: the folder.
        gradebook: the one to go on with, if there is one at this place.

    Raises:
        ValueError: nbgrader refused an assignment.
    """
    for page in pages:
        folder = course / "source" / page.stem
        folder.mkdir(parents=True)
        write_notebook(classroom_pages.for_nbgrader(page), folder / f"{page.stem}.ipynb")
    for name in (CONFIG, EXECUTION):
        shutil.copy(toc.PROJECT / "classroom" / name, course)
    if gradebook.is_file():
        shutil.copy(gradebook, course / GRADEBOOK)
    for page in pages:
        release(page.stem, course)


def release(assignment: str, course: Path) -> None:
    """Let nbgrader make what students get of an assignment, and note it in the gradebook.

    Raises:
        ValueError: it refused.
    """
    # nbgrader calls a program that is installed beside it by its name.
    os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    config = PyFileConfigLoader(CONFIG, path=str(course)).load_config()
    coursedir = CourseDirectory(config=config, assignment_id=assignment)
    did = capture_log(GenerateAssignment(coursedir=coursedir, config=config, force=True))
    if not did["success"]:
        raise ValueError(f"nbgrader could not make the assignment {assignment}:\n{did['log']}")


def lay(made: Path, course: Path) -> list[str]:
    """Bring a course up to date: what we make is renewed, what the teacher has there stays.

    Args:
        made: a course that was made a moment ago; it is taken apart.
        course: where it goes.

    Returns:
        What the teacher should know, in sentences.
    """
    for part in ("source", "release"):
        (course / part).mkdir(parents=True, exist_ok=True)
        for assignment in (made / part).iterdir():
            shutil.rmtree(course / part / assignment.name, ignore_errors=True)
            shutil.move(assignment, course / part)
    for name in (GRADEBOOK, EXECUTION):
        (made / name).replace(course / name)
    if not (course / CONFIG).exists():
        (made / CONFIG).replace(course / CONFIG)
    elif (course / CONFIG).read_bytes() != (made / CONFIG).read_bytes():
        return [f"Kept the course's own {CONFIG}; the handbook's is classroom/{CONFIG}."]
    return []
