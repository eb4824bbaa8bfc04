"""The exercises for classes without nbgrader: a zip for students and one for teachers.

Each has the pages as notebooks and as text, and the package, which a notebook's first cell installs where it
is missing. The same pages make the same bytes.
"""

import subprocess
import sys
import zipfile
from pathlib import Path

import classroom_pages
import nbformat
import toc
from nbformat import NotebookNode

FOR_STUDENTS = "prefix-lm-exercises.zip"
FOR_TEACHERS = "prefix-lm-exercises-with-solutions.zip"
STUDENTS_README = """# Exercises of the Prefix LM Handbook

Open the notebooks in JupyterLab, or upload one to Colab. The first cell of each installs the package
`prefixlm_teach` if it isn't there: keep `{wheel}` beside the notebooks.

Every exercise has a check that says what is wrong, and hints. When you are done, run everything once more,
from the top, and hand in the notebook.
"""
TEACHERS_README = """# Exercises of the Prefix LM Handbook, with solutions

`{students}` has the same notebooks for your students, without solutions. To mark what they hand in, restart
the kernel, run all cells, and give the points of each exercise whose check says right. The hidden tests above
the checks in these notebooks try other inputs.

The handbook is public, and its repository holds these solutions: whoever looks for them finds them. Mark for
practice, or change an exercise before you mark for real.

{table}
"""


def make_zips(pages: list[Path], folder: Path) -> None:
    """Make both zips of some pages of solutions in a new folder.

    Raises:
        CalledProcessError: the package can't be packed.
    """
    folder.mkdir()
    wheel = make_wheel(folder)
    students = {wheel.name: wheel.read_bytes()}
    teachers = dict(students)
    for page in pages:
        students |= files(page.stem, classroom_pages.for_students(page, wheel.name))
        teachers |= files(page.stem, classroom_pages.for_teachers(page, wheel.name))
    students["README.md"] = STUDENTS_README.format(wheel=wheel.name).encode()
    table = classroom_pages.table(pages)
    teachers["README.md"] = TEACHERS_README.format(students=FOR_STUDENTS, table=table).encode()
    wheel.unlink()
    write_zip(folder / FOR_STUDENTS, students)
    write_zip(folder / FOR_TEACHERS, teachers)


def make_wheel(folder: Path) -> Path:
    """Pack the handbook's package, as pip takes it, and return its path.

    Raises:
        CalledProcessError: it can't be packed.
    """
    code = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(folder)]
    ran = subprocess.run(command, cwd=toc.PROJECT, check=True, stdout=subprocess.PIPE, text=True)
    return folder / ran.stdout.split()[-1]


def files(name: str, notebook: NotebookNode) -> dict[str, bytes]:
    """Return a notebook and its text as files of a zip."""
    nbformat.validate(notebook, relax_add_props=False)
    contents = {
        f"{name}.ipynb": nbformat.writes(notebook) + "\n",
        f"{name}.md": classroom_pages.as_text(notebook),
    }
    return {path: content.encode() for path, content in contents.items()}


def write_zip(path: Path, contents: dict[str, bytes]) -> None:
    """Write a zip with one folder in it, called like itself; the same bytes for the same contents."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in sorted(contents.items()):
            entry = zipfile.ZipInfo(f"{path.stem}/{name}", date_time=(2000, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, content)
