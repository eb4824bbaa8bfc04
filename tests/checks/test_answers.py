"""Every exercise takes each right answer, in any form, and tells the wrong ones apart."""

from __future__ import annotations

from collections.abc import Iterator

import answers
import pytest

from prefixlm_teach import check
from prefixlm_teach.checks.functions import FunctionExercise
from prefixlm_teach.checks.verdict import Verdict


@pytest.fixture(autouse=True)
def _nothing_is_kept(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFIXLM_HOME", str(tmp_path))


def listed(kind: str) -> Iterator[tuple[str, str, str, str]]:
    for chapter in answers.PAGES:
        for name, found in getattr(answers.of(chapter), kind).items():
            by_words = found if isinstance(found, dict) else {"": found}
            for words, sources in by_words.items():
                for source in sources:
                    yield chapter, name, words, source


def verdict(chapter: str, name: str, source: str, seed: int = 0) -> Verdict:
    return getattr(check, name)(answers.make(source, answers.variables(chapter)[name]), seed=seed)


@pytest.mark.parametrize(("chapter", "name", "_", "source"), [*listed("RIGHT")])
def test_a_right_answer_passes(chapter: str, name: str, _: str, source: str) -> None:
    for seed in (0, 1):
        assert repr(verdict(chapter, name, source, seed)).startswith("✓")


@pytest.mark.parametrize(("chapter", "name", "words", "source"), [*listed("WRONG")])
def test_a_wrong_answer_gets_its_own_words(chapter: str, name: str, words: str, source: str) -> None:
    found = verdict(chapter, name, source)
    assert repr(found).startswith("✗")
    others = [other for other in answers.of(chapter).WRONG[name] if other != words]
    said = found.sentence.partition(". ")[0].casefold()  # what was wrong; then comes where
    assert words.casefold() in said
    assert not [other for other in others if other.casefold() in said]


@pytest.mark.parametrize(("chapter", "name", "_", "source"), [*listed("UNTOUCHED")])
def test_what_was_handed_out_counts_as_untouched(chapter: str, name: str, _: str, source: str) -> None:
    assert repr(verdict(chapter, name, source)).startswith("○")


@pytest.mark.parametrize("chapter", answers.PAGES)
def test_every_exercise_that_has_a_check_has_answers(chapter: str) -> None:
    found = answers.of(chapter)
    names = set(answers.variables(chapter))
    assert names == set(found.RIGHT) == set(found.WRONG)
    numbers = answers.exercise_cells(answers.PAGES[chapter])
    assert {getattr(check, name).number for name in names} <= set(numbers)
    assert 3 <= len(numbers) <= 6
    for name in names:
        assert len(found.WRONG[name]) >= (6 if isinstance(getattr(check, name), FunctionExercise) else 3)
