"""The runner runs what is stale and nothing else; the checks find every way in which a pair can be off."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from check_pairs import order_complaints, pair_complaints
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_output
from notebooks import is_progress_bar, read_notebook
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
