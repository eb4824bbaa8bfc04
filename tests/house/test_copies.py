"""Working copies: what a reader changed is kept, what they did not change follows the handbook."""

from pathlib import Path

import nbformat
import pytest
from copies import Report, update_copies
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

CHAPTER = "---\nkernelspec:\n  name: python3\n---\n\n# One\n"


def write_chapter(project: Path, source: str) -> None:
    output = new_output("stream", text="2\n")
    cell = new_code_cell(source, id="cell-001", execution_count=1, outputs=[output])
    prose = new_markdown_cell("Prose.", id="cell-002")
    nbformat.write(new_notebook(cells=[cell, prose]), project / "chapters/01_one.ipynb")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a handbook of one chapter, one page and one image."""
    project = tmp_path / "hand bók"
    (project / "chapters/images").mkdir(parents=True)
    (project / "lab").mkdir()
    (project / "lab/_config.yml").write_text("title: A book\n", encoding="utf-8")
    (project / "_toc.yml").write_text("root: chapters/index\nchapters:\n  - file: chapters/01_one\n")
    (project / "chapters/index.md").write_text("# Index\n", encoding="utf-8")
    (project / "chapters/01_one.md").write_text(CHAPTER, encoding="utf-8")
    (project / "chapters/images/a.png").write_bytes(b"\x89PNG")
    write_chapter(project, "print(1 + 1)")
    return project


@pytest.fixture
def work(project: Path) -> Path:
    """Return the folder of the working copies, made once."""
    update_copies(project, project / "work")
    return project / "work"


def edit_notebook(path: Path, source: str) -> None:
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].source = source
    nbformat.write(notebook, path)


def test_the_copies_are_the_notebooks_the_pages_the_images_and_the_order(project: Path) -> None:
    report = update_copies(project, project / "work")
    copied = {path.relative_to(project / "work").as_posix() for path in (project / "work").rglob("*.*")}
    assert copied == {
        ".handbook.json",
        "_config.yml",
        "_toc.yml",
        "chapters/01_one.ipynb",
        "chapters/images/a.png",
        "chapters/index.md",
    }
    assert set(report.made) == copied - {".handbook.json"}


def test_a_second_run_writes_nothing(project: Path, work: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in work.rglob("*.*") if path.name != ".handbook.json"}
    report = update_copies(project, work)
    assert report == Report()
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_an_untouched_copy_is_renewed(project: Path, work: Path) -> None:
    write_chapter(project, "print(2 + 2)")
    (project / "chapters/index.md").write_text("# New index\n", encoding="utf-8")
    report = update_copies(project, work)
    assert sorted(report.renewed) == ["chapters/01_one.ipynb", "chapters/index.md"]
    assert "2 + 2" in (work / "chapters/01_one.ipynb").read_text(encoding="utf-8")


def test_a_changed_copy_is_kept_and_reported_until_the_reader_takes_the_new_one(
    project: Path, work: Path
) -> None:
    mine = work / "chapters/01_one.ipynb"
    edit_notebook(mine, "print('mine')")
    assert update_copies(project, work).kept == []  # nothing newer, so nothing to say
    for newer in ("print(2 + 2)", "print(3 + 3)"):
        write_chapter(project, newer)
        before = mine.read_bytes()
        for _ in range(2):
            assert update_copies(project, work).kept == ["chapters/01_one.ipynb"]
        assert mine.read_bytes() == before
    mine.unlink()
    assert update_copies(project, work).made == ["chapters/01_one.ipynb"]
    assert "3 + 3" in mine.read_text(encoding="utf-8")
    write_chapter(project, "print(4 + 4)")
    assert update_copies(project, work).renewed == ["chapters/01_one.ipynb"]


def test_a_notebook_that_was_run_counts_as_changed(project: Path, work: Path) -> None:
    mine = work / "chapters/01_one.ipynb"
    notebook = nbformat.read(mine, as_version=4)
    notebook.cells[0].outputs = [new_output("stream", text="two\n")]
    nbformat.write(notebook, mine)
    write_chapter(project, "print(2 + 2)")
    assert update_copies(project, work).kept == ["chapters/01_one.ipynb"]


def test_a_notebook_that_was_only_opened_does_not_count_as_changed(project: Path, work: Path) -> None:
    mine = work / "chapters/01_one.ipynb"
    notebook = nbformat.read(mine, as_version=4)
    notebook.metadata.language_info = {"name": "python", "version": "3.13.1"}
    notebook.metadata.widgets = {}
    nbformat.write(notebook, mine)
    write_chapter(project, "print(2 + 2)")
    assert update_copies(project, work).renewed == ["chapters/01_one.ipynb"]


def test_a_deleted_copy_is_restored(project: Path, work: Path) -> None:
    (work / "chapters/index.md").unlink()
    assert update_copies(project, work).made == ["chapters/index.md"]
    assert (work / "chapters/index.md").read_text(encoding="utf-8") == "# Index\n"


@pytest.mark.parametrize("touched", [False, True])
def test_a_page_that_left_the_handbook_goes_unless_the_reader_changed_it(
    project: Path, work: Path, touched: bool
) -> None:
    image = work / "chapters/images/a.png"
    if touched:
        image.write_bytes(b"mine")
    (project / "chapters/images/a.png").unlink()
    report = update_copies(project, work)
    assert report.removed == ([] if touched else ["chapters/images/a.png"])
    assert image.exists() == touched


@pytest.mark.parametrize("manifest", [None, "{", "[]"])
def test_without_a_good_manifest_nothing_is_overwritten(
    project: Path, work: Path, manifest: str | None
) -> None:
    mine = work / "chapters/index.md"
    mine.write_text("# Mine\n", encoding="utf-8")
    (work / ".handbook.json").unlink()
    if manifest:
        (work / ".handbook.json").write_text(manifest, encoding="utf-8")
    assert update_copies(project, work).kept == ["chapters/index.md"]
    assert mine.read_text(encoding="utf-8") == "# Mine\n"


@pytest.mark.parametrize("what", ["tags", "attachments", "authors"])
def test_what_a_reader_adds_around_the_sources_counts_as_changed(
    project: Path, work: Path, what: str
) -> None:
    mine = work / "chapters/01_one.ipynb"
    notebook = nbformat.read(mine, as_version=4)
    if what == "tags":
        notebook.cells[0].metadata.tags = ["mine"]
    elif what == "attachments":
        notebook.cells[1].attachments = {"a.png": {"image/png": "iVBORw0KGgo="}}
    else:
        notebook.metadata.authors = [{"name": "A reader"}]
    nbformat.write(notebook, mine)
    write_chapter(project, "print(2 + 2)")
    assert update_copies(project, work).kept == ["chapters/01_one.ipynb"]


@pytest.mark.parametrize("content", ["{ not json", "[]", "null", "5", "{}", "<<<<<<< mine\n{}\n", None])
def test_a_notebook_broken_by_hand_is_kept(project: Path, work: Path, content: str | None) -> None:
    mine = work / "chapters/01_one.ipynb"
    mine.unlink()
    if content is None:
        mine.mkdir()
    else:
        mine.write_text(content, encoding="utf-8")
    write_chapter(project, "print(2 + 2)")
    assert update_copies(project, work).kept == ["chapters/01_one.ipynb"]
    assert mine.is_dir() if content is None else mine.read_text(encoding="utf-8") == content


def test_a_chapter_never_run_is_named(project: Path) -> None:
    (project / "chapters/01_one.ipynb").unlink()
    with pytest.raises(ValueError, match=r"01_one.ipynb is missing: `make chapters` makes it from 01_one.md"):
        update_copies(project, project / "work")
