"""Hints come step by step, progress is kept on this machine only, and names that are wrong are told so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import answers
import pytest

from prefixlm_teach import check, hint, progress
from prefixlm_teach.checks import catalogue, ledger


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PREFIXLM_HOME", str(tmp_path))
    monkeypatch.setattr(ledger, "_in_memory", {})
    return tmp_path


def test_hints_go_a_step_further_each_time_and_stop_at_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_given", {})
    said = [repr(hint("1.2")) for _ in range(4)]
    assert [text[:11] for text in said] == ["Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3", "Hint 3 of 3"]
    assert "last hint" not in said[1]
    assert "That was the last hint." in said[2]


@pytest.mark.parametrize(
    ("number", "error", "words"),
    [(1.2, TypeError, 'hint\\("1.2"\\)'), ("9.9", ValueError, "there are for 9.1, 9.2")],
)
def test_a_hint_for_no_exercise_is_refused(number: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        hint(number)  # type: ignore[arg-type]


def test_every_exercise_has_two_hints_or_more_each_its_own() -> None:
    hints = [text for each in catalogue.BY_NUMBER.values() for text in each.hints]
    assert all(len(each.hints) >= 2 for each in catalogue.BY_NUMBER.values())
    assert len(hints) == len(set(hints))


def test_a_name_that_is_none_is_told_the_nearest() -> None:
    with pytest.raises(AttributeError, match="did you mean 'pieces_mask'"):
        _ = check.piece_mask
    assert "pieces_mask" in dir(check)
    assert "exercise 1.3" in repr(check.pieces_mask)


def test_numbers_and_names_are_those_of_the_pages() -> None:
    numbers = [number for page in answers.PAGES.values() for number in answers.exercise_cells(page)]
    assert len(numbers) == len(set(numbers))
    named = {name for chapter in answers.PAGES for name in answers.variables(chapter)}
    assert set(catalogue.BY_NAME) == named
    assert set(catalogue.BY_NUMBER) <= set(numbers)


def test_progress_is_kept_and_a_solved_exercise_stays_solved(home: Path) -> None:
    check.target_pairs(1)
    assert "… 1.1" in repr(progress())
    check.target_pairs(63)
    check.target_pairs(1)
    assert "✓ 1.1" in repr(progress())
    assert "○ 1.2" in progress()._repr_html_()
    assert (home / "progress" / "1.1").read_text(encoding="utf-8") == "right"


def test_looking_at_a_check_without_an_answer_leaves_no_trace(home: Path) -> None:
    check.target_pairs(None)
    assert list(home.iterdir()) == []


def test_progress_is_found_by_another_python(home: Path) -> None:
    check.target_pairs(63)
    code = "from prefixlm_teach import progress; print(ascii(repr(progress())[:40]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert "\\u2713 1.1" in done.stdout


def test_where_nothing_can_be_written_progress_lasts_as_long_as_the_kernel(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = home / "a file"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("PREFIXLM_HOME", str(blocked))
    check.target_pairs(63)
    assert "✓ 1.1" in repr(progress())


def test_a_spoilt_file_of_progress_is_passed_over(home: Path) -> None:
    (home / "progress").mkdir()
    (home / "progress" / "1.1").write_bytes(b"\xff\xfe")
    assert "○ 1.1" in repr(progress())
