"""Solutions are pages of the book only when they are asked for."""

import fnmatch
import runpy

import build_book
import exercises
import pytest
import toc
import yaml


def excluded(name: str) -> bool:
    patterns = runpy.run_path(str(toc.PROJECT / "book/conf.py"))["exclude_patterns"]
    return any(fnmatch.fnmatch(name, pattern) or name.startswith(f"{pattern}/") for pattern in patterns)


@pytest.mark.parametrize("asked", ["", "0", "1"])
def test_solutions_are_listed_and_read_only_with_solutions_1(
    asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOLUTIONS", asked)
    order = yaml.safe_load(build_book.order_within_chapters())
    listed = [entry["file"] for part in order["parts"] for entry in part["chapters"]]
    own = [f"solutions/{page.stem}" for page in exercises.solution_pages()]
    assert own
    assert [name for name in listed if "/" in name] == (own if asked == "1" else [])
    assert [name for name in listed if "/" not in name] == [page.stem for page in toc.pages()[1:]]
    for name in own:
        assert excluded(f"{name}.ipynb") == (asked != "1")
        assert excluded(f"{name}.md"), "the notebook beside it is the page"
    assert not excluded("01_mask.ipynb")
