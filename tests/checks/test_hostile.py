"""Whatever a learner's code does, the check goes on and says what happened."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import pytest
import torch

from prefixlm_teach import check
from prefixlm_teach.checks.functions import FunctionExercise
from prefixlm_teach.checks.running import MOST_PRINTED, OutOfTime, run_bounded

PIECES = check.pieces_mask


@pytest.fixture(autouse=True)
def _nothing_is_kept(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFIXLM_HOME", str(tmp_path))
    monkeypatch.setattr(PIECES, "limit_s", 0.5)


def forever(lengths: list[int]) -> None:
    while True:
        pass


def holds_on(lengths: list[int]) -> None:
    while True:
        with suppress(Exception):
            time.sleep(0.001)


def lets_nothing_through(lengths: list[int]) -> None:
    ends = time.monotonic() + 4
    while time.monotonic() < ends:
        with suppress(BaseException):
            time.sleep(0.001)


@pytest.mark.parametrize("endless", [forever, holds_on])
def test_a_loop_without_end_is_stopped_and_named(endless: object) -> None:
    before = threading.active_count()
    verdict = PIECES(endless)
    assert "didn't come to an end within 0.5 seconds, for lengths = [2, 3, 2]" in verdict.sentence
    assert threading.active_count() == before


def test_code_that_catches_everything_is_left_behind_and_said_to_run_on() -> None:
    assert "still runs: restart the kernel" in PIECES(lets_nothing_through).sentence


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), RecursionError("too deep"), GeneratorExit()]
)
def test_every_error_is_survived_and_named(error: BaseException) -> None:
    def fails(lengths: list[int]) -> None:
        raise error

    assert f"stops with {type(error).__name__}" in PIECES(fails).sentence


def test_an_error_comes_with_the_learners_own_line() -> None:
    def fails(lengths: list[int]) -> object:
        return torch.zeros(2).index_select(0, torch.tensor([5]))

    sentence = PIECES(fails).sentence
    assert "in the line `return torch.zeros(2).index_select(0, torch.tensor([5]))`" in sentence


def test_output_without_end_is_cut() -> None:
    printed = run_bounded(lambda: [print("x" * 1000) for _ in range(5000)] and None).printed
    assert len(printed) == MOST_PRINTED


def test_what_a_learner_prints_is_shown_with_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    def prints(lengths: list[int]) -> object:
        print("<b>so far</b>")
        return torch.ones(2)

    verdict = PIECES(prints)
    assert "Your code printed: <b>so far</b>" in repr(verdict)
    assert "&lt;b&gt;so far&lt;/b&gt;" in verdict._repr_mimebundle_()["text/html"]
    assert capsys.readouterr().out == ""


def test_random_numbers_go_on_as_if_nothing_had_been_drawn() -> None:
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    run_bounded(lambda: torch.manual_seed(5) and None)
    assert torch.equal(torch.rand(3), expected)


def test_out_of_time_is_no_exception_that_code_catches_by_habit() -> None:
    assert not issubclass(OutOfTime, Exception)
    assert isinstance(run_bounded(lambda: time.sleep(30), limit_s=0.1).error, OutOfTime)


@pytest.mark.parametrize(
    "answer", [3, "text", torch.ones(2), [1, 2], object()], ids=["int", "text", "tensor", "list", "object"]
)
def test_what_is_no_function_is_named(answer: object) -> None:
    assert "A function is wanted" in PIECES(answer).sentence


def test_a_function_that_takes_too_few_arguments_is_told_so() -> None:
    assert "takes 0 positional arguments but 1 was given" in PIECES(lambda: 1).sentence


@pytest.mark.parametrize("answer", [None, ..., lambda lengths: ..., lambda lengths: None])
def test_nothing_yet_is_not_attempted(answer: object) -> None:
    assert PIECES(answer).state == "not attempted"
    assert not PIECES(answer)


def test_a_stub_with_words_in_it_is_not_attempted_and_a_forgotten_return_is() -> None:
    def stub(lengths: list[int]) -> None:
        """Return (T, T) booleans."""
        ...

    def forgets(lengths: list[int]) -> None:
        lengths = [*lengths]

    assert PIECES(stub).state == "not attempted"
    assert "does it end in `return`?" in PIECES(forgets).sentence


def test_no_check_of_a_function_takes_a_mistake_for_the_truth() -> None:
    for name in dir(check):
        exercise = getattr(check, name)
        if isinstance(exercise, FunctionExercise):
            for mistake in exercise.mistakes:
                assert exercise(mistake.gives).state != "right", (name, mistake.says)
