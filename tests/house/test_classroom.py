"""What a class gets is made of the one source: nothing is lost, nothing is told, and bytes are the same."""

import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import classroom_pages
import exercises
import jupytext
import nbformat
import pytest
import toc
from classroom_zips import FOR_STUDENTS, FOR_TEACHERS, make_zips
from find_solutions import search
from jupytext.compare import compare_notebooks
from notebooks import read_notebook, read_text
from solution_traces import traces

PAGES = exercises.solution_pages()
ADDRESS = "https://example.org/prefixlm.zip"


@pytest.fixture(scope="module")
def zips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "zips"
    make_zips(PAGES, folder)
    return folder


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name.removeprefix(f"{path.stem}/"): archive.read(name) for name in archive.namelist()}


def page_of(path: Path, page: Path) -> nbformat.NotebookNode:
    return nbformat.reads(contents(path)[f"{page.stem}.ipynb"].decode(), as_version=4)


def test_each_zip_has_all_pages_twice_and_the_package(zips: Path) -> None:
    assert sorted(path.name for path in zips.iterdir()) == sorted([FOR_STUDENTS, FOR_TEACHERS])
    for name in (FOR_STUDENTS, FOR_TEACHERS):
        pages = {f"{page.stem}.{kind}" for page in PAGES for kind in ("ipynb", "md")}
        others = contents(zips / name).keys() - pages
        assert len(others) == 2
        assert "README.md" in others
        (wheel,) = (other for other in others if other.endswith(".whl"))
        assert wheel in contents(zips / name)["README.md"].decode() or name == FOR_TEACHERS


def test_the_package_in_the_zip_is_the_package(zips: Path) -> None:
    (wheel,) = (content for name, content in contents(zips / FOR_STUDENTS).items() if name.endswith(".whl"))
    with zipfile.ZipFile(io.BytesIO(wheel)) as packed:
        for module in (toc.PROJECT / "prefixlm_teach").rglob("*.*"):
            if "__pycache__" not in module.parts:
                name = module.relative_to(toc.PROJECT).as_posix()
                assert packed.read(name) == module.read_bytes(), name


def test_two_builds_are_alike_byte_for_byte(zips: Path, tmp_path: Path) -> None:
    make_zips(PAGES, tmp_path / "again")
    for name in (FOR_STUDENTS, FOR_TEACHERS):
        assert (zips / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_students_get_the_exercises_as_the_chapter_shows_them_and_no_output(zips: Path, page: Path) -> None:
    student, shown = page_of(zips / FOR_STUDENTS, page), exercises.handed_out(page)
    added = [cell.id for cell in student.cells[1:3]]
    assert added == ["handing-in", "install"]
    cells = [student.cells[0], *student.cells[3:]]
    assert [cell.source for cell in cells if cell.cell_type == "code"] == [
        cell.source for cell in shown.cells if cell.cell_type == "code"
    ]
    for cell in student.cells:
        assert "nbgrader" not in cell.metadata
        assert not cell.get("outputs")
        assert "](../" not in cell.source, "no link leads out of the zip"
    text = jupytext.reads(contents(zips / FOR_STUDENTS)[f"{page.stem}.md"].decode(), fmt="md:myst")
    compare_notebooks(student, text, fmt="md:myst", compare_outputs=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_teachers_get_solutions_with_what_they_put_out_and_the_hidden_tests(zips: Path, page: Path) -> None:
    teacher, full = page_of(zips / FOR_TEACHERS, page), read_notebook(page.with_suffix(".ipynb"))
    added = [cell for cell in teacher.cells if cell.id not in ("handing-in", "install")]
    for cell, own in zip(added, full.cells, strict=True):
        if cell.cell_type == "code":
            assert cell.source == own.source
            assert cell.outputs == own.outputs
    assert "### BEGIN HIDDEN TESTS" in contents(zips / FOR_TEACHERS)[f"{page.stem}.md"].decode()


def test_the_table_has_every_exercise_and_all_points(zips: Path) -> None:
    readme = contents(zips / FOR_TEACHERS)["README.md"].decode()
    rows = re.findall(
        r"^\| (\d\S*) .*\| (\w+) \| (\w+) \| (\d+) \| (\d+) \| (its check|you) \|$", readme, re.M
    )
    numbers = [
        number
        for page in PAGES
        for number in re.findall(r"^### Exercise (\S+): ", page.read_text(encoding="utf-8"), re.M)
    ]
    assert [row[0] for row in rows] == numbers
    points = [
        cell.metadata.nbgrader.points
        for page in PAGES
        for cell in read_text(page).cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    ]
    assert [int(row[4]) for row in rows] == points
    assert {row[1] for row in rows} <= {"predict", "write", "repair", "explore", "explain"}


def test_students_get_no_solution_and_teachers_do(zips: Path) -> None:
    secret = traces()
    assert search(zips / FOR_STUDENTS, secret) == []
    assert search(zips / FOR_TEACHERS, secret)


def test_a_solution_that_another_exercise_gives_away_is_found(tmp_path: Path) -> None:
    page = tmp_path / "chapters/solutions/01_mask.md"
    page.parent.mkdir(parents=True)
    body = """    piece = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    place = torch.arange(len(piece))
    prompt = piece < len(lengths) - 1
"""
    text = PAGES[0].read_text(encoding="utf-8")
    assert body in text
    given = f"```{{code-cell}} ipython3\ndef first_try(lengths):\n{body}    return prompt\n```\n"
    page.write_text(text + f"\n{given}", encoding="utf-8", newline="\n")
    (tmp_path / "01_mask.ipynb").write_text(
        nbformat.writes(classroom_pages.for_students(page, "a.whl")), encoding="utf-8"
    )
    assert any("mask-3-answer" in found for found in search(tmp_path / "01_mask.ipynb", traces(tmp_path)))


def test_links_lead_to_the_published_book_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFIXLM_BOOK_URL", raising=False)
    words = "\n".join(cell.source for cell in classroom_pages.for_nbgrader(PAGES[0]).cells)
    assert "Look back at “How much does a prefix open?” in chapter 1*" in words
    monkeypatch.setenv("PREFIXLM_BOOK_URL", "https://example.org/book/")
    for page in PAGES:
        words = "\n".join(cell.source for cell in classroom_pages.for_nbgrader(page).cells)
        assert "](../" not in words
        assert f"](https://example.org/book/{page.stem}.html#" in words


def run_first_cell(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    cell = next(
        cell for cell in classroom_pages.for_students(PAGES[0], "it.whl").cells if cell.cell_type == "code"
    )
    return subprocess.run(
        [sys.executable, *options, "-c", cell.source], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_first_cell_does_nothing_where_the_package_is(tmp_path: Path) -> None:
    ran = run_first_cell(tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_first_cell_says_what_to_do_where_the_package_is_missing(tmp_path: Path) -> None:
    ran = run_first_cell(tmp_path, "-I", "-S")  # -S: without what is installed, pip among it
    assert "The package prefixlm_teach is missing. Put it.whl beside this notebook" in ran.stderr
    (tmp_path / "prefixlm_teach-0.1.0-py3-none-any.whl").write_bytes(b"")
    ran = run_first_cell(tmp_path, "-I", "-S")
    assert "pip could not install prefixlm_teach; it says why above." in ran.stderr


def test_the_first_cell_may_take_the_package_from_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFIXLM_PACKAGE", ADDRESS)
    assert f'*["{ADDRESS}"]' in classroom_pages.for_students(PAGES[0], "it.whl").cells[2].source
