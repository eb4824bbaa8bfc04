"""The runner runs what is stale and nothing else; the checks find every way in which a pair can be off."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import check_pairs
import pytest
import run_chapters
import toc
from check_pairs import order_complaints, pair_complaints
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_output
from notebooks import is_progress_bar, read_notebook, read_text, write_notebook
from run_chapters import bring_up_to_date

HEAD = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3 (ipykernel)
  language: python
  name: python3
---

# One

"""

CODE = """```{code-cell} ipython3
import ipywidgets
from tqdm.auto import tqdm
for _ in tqdm(range(2)):
    pass
print(sorted({"b", "a"}), hash("a") % 1000)
```

Prose between.

```{code-cell} ipython3
:tags: [nbval-ignore-output]

import time
time.time()
```

```{code-cell} ipython3
assert time.time() > 0
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Return the text of a chapter, alone in a project of its own."""
    (tmp_path / "chapters").mkdir()
    (tmp_path / "_toc.yml").write_text("root: chapters/01_one\n", encoding="utf-8")
    page = tmp_path / "chapters/01_one.md"
    page.write_text(HEAD + CODE.replace("time.time()\n```", "round(time.time()) * 0\n```"), encoding="utf-8")
    return page


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_run_is_repeatable_and_only_code_makes_it_stale(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    notebook = page.with_suffix(".ipynb")
    assert bring_up_to_date(page, rerun=False)
    first = notebook.read_bytes()
    assert list(pair_complaints(page)) == []
    assert list(order_complaints(page.parent.parent)) == []
    assert "widgets" not in read_notebook(notebook).metadata
    assert b"it/s" not in first, "progress bars are left out"

    assert not bring_up_to_date(page, rerun=False)
    assert notebook.read_bytes() == first
    assert bring_up_to_date(page, rerun=True)
    assert notebook.read_bytes() == first

    change(page, "Prose between.", "Other prose, [é].")
    assert not bring_up_to_date(page, rerun=False)
    assert "Other prose, [é]." in notebook.read_text(encoding="utf-8")
    assert read_notebook(notebook).cells[1].outputs, "the outputs are kept"
    assert list(pair_complaints(page)) == []

    change(page, 'print(sorted({"b", "a"})', 'print(sorted({"b", "c"})')
    assert any("holds outputs of other code" in complaint for complaint in pair_complaints(page))
    assert bring_up_to_date(page, rerun=False)
    assert "['b', 'c']" in notebook.read_text(encoding="utf-8")


def test_a_warning_beside_a_bar_is_kept_for_the_check_to_find() -> None:
    bar = "100%|##########| 2/2 [00:00<00:00, 51.2it/s]\n"
    assert is_progress_bar(new_output("stream", name="stderr", text=bar))
    assert not is_progress_bar(new_output("stream", name="stderr", text=bar + "UserWarning: old\n"))
    assert not is_progress_bar(new_output("stream", name="stdout", text=bar))


def test_a_chapter_that_raises_leaves_its_notebook_as_it_was(page: Path) -> None:
    page.write_text(HEAD + "```{code-cell} ipython3\n1 / 0\n```\n", encoding="utf-8")
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        bring_up_to_date(page, rerun=False)
    assert not page.with_suffix(".ipynb").exists()


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return a chapter's text and its notebook, run once."""
    page = tmp_path_factory.mktemp("pair") / "01_one.md"
    page.write_text(HEAD + CODE, encoding="utf-8")
    bring_up_to_date(page, rerun=False)
    return page.read_text(encoding="utf-8"), page.with_suffix(".ipynb").read_text(encoding="utf-8")


WRONG: dict[str, tuple[Callable[[dict], None], str]] = {
    "other prose": (lambda nb: nb["cells"][2].update(source="Other"), "01_one.ipynb and 01_one.md differ"),
    "other code": (lambda nb: nb["cells"][3].update(source="1"), "01_one.ipynb and 01_one.md differ"),
    "another tag": (
        lambda nb: nb["cells"][4]["metadata"].update(tags=["x"]),
        "01_one.ipynb and 01_one.md differ",
    ),
    "no hash": (lambda nb: nb["metadata"].pop("prefixlm"), "holds outputs of other code"),
    "counts": (lambda nb: nb["cells"][4].update(execution_count=7), "was not run from top to bottom"),
    "state": (lambda nb: nb["metadata"].update(widgets={}), "carries widget state"),
    "invalid": (lambda nb: nb["cells"][1].pop("outputs"), "is not a valid notebook"),
    "a warning": (
        lambda nb: nb["cells"][1]["outputs"].append(
            {"output_type": "stream", "name": "stderr", "text": "UserWarning: old\n"}
        ),
        "shows a warning: UserWarning: old",
    ),
    "an unknown save": (
        lambda nb: nb["metadata"]["prefixlm"].update(cells_sha256="0"),
        "01_one.ipynb was saved since `make chapters` last wrote it",
    ),
    "an error": (
        lambda nb: nb["cells"][1]["outputs"].append(
            {"output_type": "error", "ename": "E", "evalue": "e", "traceback": []}
        ),
        "ends in an error",
    ),
    "nothing bounds it": (
        lambda nb: nb["cells"][4].update(source="time.time()"),
        "ignores its output, and no assert",
    ),
    "a comment": (
        lambda nb: nb["cells"][4].update(source="# NBVAL_IGNORE_OUTPUT\nassert 1"),
        "steers nbval by a comment",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_the_check_names_what_is_wrong(tmp_path: Path, executed: tuple[str, str], what: str) -> None:
    spoil, complaint = WRONG[what]
    page, notebook = tmp_path / "01_one.md", json.loads(executed[1])
    page.write_text(executed[0], encoding="utf-8")
    spoil(notebook)
    page.with_suffix(".ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    assert any(complaint in found for found in pair_complaints(page))


def test_the_check_misses_no_file(page: Path) -> None:
    project = page.parent.parent
    assert list(pair_complaints(page)) == ["01_one.ipynb is missing: `make chapters` makes it."]
    (page.parent / "forgotten.md").write_text("# Forgotten\n", encoding="utf-8")
    (page.parent / "orphan.ipynb").write_text("{}", encoding="utf-8")
    assert list(order_complaints(project)) == [
        "forgotten.md is not in _toc.yml.",
        "orphan.ipynb has no text: every notebook is made from the .md of its name.",
    ]


@pytest.fixture
def pair(tmp_path: Path, executed: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the text of an executed chapter, alone in the project that the tools work on."""
    for function in (toc.pages, toc.chapters):
        monkeypatch.setattr(function, "__defaults__", (tmp_path,))
    monkeypatch.setattr(toc, "PROJECT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["run_chapters.py"])
    (tmp_path / "chapters").mkdir()
    (tmp_path / "_toc.yml").write_text("root: chapters/01_one\n", encoding="utf-8")
    page = tmp_path / "chapters/01_one.md"
    page.write_text(executed[0], encoding="utf-8")
    page.with_suffix(".ipynb").write_text(executed[1], encoding="utf-8")
    return page


@pytest.mark.parametrize(("cell", "rerun"), [(2, False), (3, False), (3, True)])
def test_an_edit_of_the_notebook_alone_is_not_overwritten(
    pair: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, cell: int, rerun: bool
) -> None:
    path = pair.with_suffix(".ipynb")
    notebook = read_notebook(path)
    notebook.cells[cell].source += "\n# mine"
    write_notebook(notebook, path)
    before = path.read_bytes()
    monkeypatch.setattr(sys, "argv", ["run_chapters.py", *(["--all"] if rerun else [])])
    assert run_chapters.main() == 1
    assert capsys.readouterr().err.startswith("01_one.ipynb was edited apart from its text. To keep these")
    assert path.read_bytes() == before


def test_the_advice_for_an_edited_notebook_keeps_the_edit(pair: Path) -> None:
    path = pair.with_suffix(".ipynb")
    notebook = read_notebook(path)
    notebook.cells[2].source = "Mine."
    write_notebook(notebook, path)
    with pytest.raises(ValueError, match="-m jupytext --to md:myst") as raised:
        bring_up_to_date(pair, rerun=False)
    _, *options = str(raised.value).split("`")[1].split()
    subprocess.run([sys.executable, *options], cwd=pair.parent.parent, check=True, capture_output=True)
    assert "prefixlm" not in pair.read_text(encoding="utf-8")
    assert not bring_up_to_date(pair, rerun=False)
    assert read_notebook(path).cells[2].source == read_text(pair).cells[2].source == "Mine."
    assert list(pair_complaints(pair)) == []


def test_a_notebook_from_before_edits_were_noticed_counts_as_untouched(pair: Path) -> None:
    path = pair.with_suffix(".ipynb")
    notebook = read_notebook(path)
    del notebook.metadata.prefixlm["cells_sha256"]
    write_notebook(notebook, path)
    change(pair, "Prose between.", "Other prose.")
    assert not bring_up_to_date(pair, rerun=False)
    assert "cells_sha256" in read_notebook(path).metadata.prefixlm


@pytest.mark.parametrize("content", ["{", "[]", "null", "5", "{}", "<<<<<<< mine\n{}\n", None])
def test_a_chapters_broken_notebook_is_named(
    pair: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    path = pair.with_suffix(".ipynb")
    path.unlink()
    if content is None:
        path.mkdir()
    else:
        path.write_text(content, encoding="utf-8")
    for main in (run_chapters.main, check_pairs.main):
        assert main() == 1
        assert capsys.readouterr().err.splitlines()[-1] == (
            "01_one.ipynb is not a valid notebook: delete it and run `make chapters`, which makes it again."
        )


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        (
            "chapters/01_one.md",
            HEAD.replace("  display_name: Python 3 (ipykernel)\n", ""),
            "01_one.md cannot be read as a chapter: 'display_name' is a required property",
        ),
        ("_toc.yml", "root: chapters/01_one\nchapters:\n", "_toc.yml: `chapters:` needs a list below it"),
        ("chapters/01_one.md", "---\nkernelspec: [\n---\n", "the front matter of 01_one.md is not YAML"),
        (
            "chapters/01_one.md",
            HEAD + "```{code-cell}\n:tags: [\n\n1\n```\n",
            "01_one.md cannot be read as a chapter: ",
        ),
    ],
)
def test_an_order_or_a_text_that_cannot_be_read_is_named(
    pair: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, why: str
) -> None:
    (pair.parent.parent / name).write_text(content, encoding="utf-8")
    for main in (run_chapters.main, check_pairs.main):
        assert main() == 1
        assert capsys.readouterr().err.startswith(why)


@pytest.mark.parametrize(
    ("kernel", "code", "why"),
    [
        ("python3", "import os\nos._exit(1)", "its kernel died or did not start"),
        ("no-such-kernel", "1", "its kernel is not installed"),
    ],
)
def test_a_kernel_that_dies_or_is_not_there_is_told_with_its_chapter(
    pair: Path, capsys: pytest.CaptureFixture[str], kernel: str, code: str, why: str
) -> None:
    before = pair.with_suffix(".ipynb").read_bytes()
    text = HEAD.replace("name: python3", f"name: {kernel}") + f"```{{code-cell}} ipython3\n{code}\n```\n"
    pair.write_text(text, encoding="utf-8")
    assert run_chapters.main() == 1
    assert f"01_one.md: {why}, so its notebook was left as it was." in capsys.readouterr().err
    assert pair.with_suffix(".ipynb").read_bytes() == before
