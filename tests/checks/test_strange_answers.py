"""Answers of every make are read or refused in words; no setting and no trick changes a verdict."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import answers
import numpy as np
import pytest
import torch

from prefixlm_teach import check
from prefixlm_teach.checks import original_torch
from prefixlm_teach.checks.functions import FunctionExercise
from prefixlm_teach.checks.mask import pieces_mask

PIECES = check.pieces_mask
FUNCTIONS = [name for name in dir(check) if isinstance(getattr(check, name), FunctionExercise)]


@pytest.fixture(autouse=True)
def _nothing_is_kept(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFIXLM_HOME", str(tmp_path))


def all_open(lengths: list[int]) -> torch.Tensor:
    return torch.ones(sum(lengths), sum(lengths), dtype=torch.bool)


@pytest.mark.parametrize(
    "turn",
    [
        lambda mask: mask.numpy().astype(">i4"),
        lambda mask: mask.numpy().astype(object),
        lambda mask: mask.numpy().astype(np.longdouble),
        lambda mask: list(mask.bfloat16()),
        lambda mask: list(mask.float().requires_grad_()),
        lambda mask: mask.to_sparse(),
        lambda mask: mask.float().requires_grad_() * 1,
        lambda mask: tuple(map(tuple, mask.tolist())),
    ],
    ids=[
        "big-endian",
        "object",
        "longdouble",
        "bfloat16 rows",
        "rows with gradients",
        "sparse",
        "gradient",
        "tuples",
    ],
)
def test_a_right_mask_of_any_make_passes(turn: Callable[[torch.Tensor], Any]) -> None:
    assert PIECES(lambda lengths: turn(pieces_mask(lengths)))


class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        return torch.tensor(True)

    def detach(self) -> Any:
        raise ValueError("no")


class Mute(Exception):  # noqa: N818 - a learner's
    def __str__(self) -> str:
        raise RuntimeError


class Odd:
    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise RuntimeError


def raises_mute(lengths: list[int]) -> None:
    raise Mute


@pytest.mark.parametrize(
    "answer",
    [
        lambda lengths: all_open(lengths).as_subclass(Liar),
        lambda lengths: torch.zeros(3, 3, device="meta"),
        lambda lengths: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        lambda lengths: torch.zeros(1, 1).expand(10**6, 10**7),
        lambda lengths: np.broadcast_to(np.zeros(1), (10**5, 10**5)),
        lambda lengths: [torch.ones(2), torch.ones(3)],
        lambda lengths: Odd(),
        lambda lengths: torch.ones(2, 2) * 1j,
        raises_mute,
    ],
    ids=[
        "a subclass that lies",
        "meta",
        "nested",
        "huge",
        "huge array",
        "ragged",
        "odd",
        "complex",
        "mute error",
    ],
)
def test_what_cannot_be_read_is_wrong_in_words(answer: Callable[..., Any]) -> None:
    verdict = PIECES(answer)
    assert verdict.state == "wrong"
    assert len(verdict.sentence) < 800


@pytest.mark.parametrize("value", [torch.tensor(63 + 5j), 10**400, Fraction(1, 2), float("nan"), [63, 1]])
def test_what_is_no_number_is_refused(value: object) -> None:
    assert "A number is wanted" in check.target_pairs(value).sentence


@pytest.mark.parametrize("name", [name for name in dir(check) if name not in FUNCTIONS])
def test_what_cannot_even_be_looked_at_is_wrong_in_words(name: str) -> None:
    assert getattr(check, name)(Odd()).state == "wrong"


def test_a_class_that_only_bears_an_explorers_name_is_none() -> None:
    impostor = type("SplitExplorer", (), {})()
    assert check.three_quarters(impostor).sentence.startswith("A SplitExplorer is wanted")


def writes_over(owner: Any, name: str, value: Any) -> Callable[[list[int]], torch.Tensor]:
    def answer(lengths: list[int]) -> torch.Tensor:
        setattr(owner, name, value)
        return all_open(lengths)

    return answer


TRICKS = {
    "torch.Tensor.all": (torch.Tensor, "all", torch.Tensor.any),
    "torch.Tensor.__eq__": (torch.Tensor, "__eq__", torch.Tensor.__ne__),
    "torch.Tensor.nonzero": (torch.Tensor, "nonzero", functools.partial(torch.Tensor.nonzero)),
    "torch.isclose": (torch, "isclose", lambda *_, **__: torch.tensor(True)),
    "builtins.all": (builtins, "all", lambda _: True),
}


@pytest.fixture
def _put_back() -> Iterator[None]:
    yield
    original_torch.restore()
    assert original_torch.overwritten() is None


@pytest.mark.usefixtures("_put_back")
@pytest.mark.parametrize("name", TRICKS)
def test_an_answer_that_writes_over_what_the_check_rests_on_is_wrong(name: str) -> None:
    assert f"writes over {name}" in PIECES(writes_over(*TRICKS[name])).sentence
    assert original_torch.overwritten() is None


@pytest.mark.usefixtures("_put_back")
@pytest.mark.parametrize("name", TRICKS)
def test_what_was_written_over_before_is_named(name: str) -> None:
    owner, attribute, value = TRICKS[name]
    setattr(owner, attribute, value)
    found = PIECES(all_open)
    original_torch.restore()
    assert name in found.sentence


@pytest.fixture(params=["dtype", "device", "no gradient", "inference", "autocast"])
def _set_otherwise(request: pytest.FixtureRequest) -> Iterator[None]:
    contexts = {
        "device": lambda: torch.device("meta"),
        "no gradient": torch.no_grad,
        "inference": torch.inference_mode,
        "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    }
    if request.param == "dtype":
        torch.set_default_dtype(torch.float64)
        yield
        assert torch.get_default_dtype() == torch.float64
        torch.set_default_dtype(torch.float32)
    else:
        with contexts[request.param]():
            yield


RIGHT_ONES = [
    (chapter, name, answers.of(chapter).RIGHT[name][0])
    for chapter in answers.PAGES
    for name in answers.variables(chapter)
    if name in FUNCTIONS
]


@pytest.mark.usefixtures("_set_otherwise")
@pytest.mark.parametrize(("chapter", "name", "source"), RIGHT_ONES)
def test_a_right_answer_is_right_whatever_a_reader_has_set(chapter: str, name: str, source: str) -> None:
    answer = answers.make(source, answers.variables(chapter)[name])
    assert repr(getattr(check, name)(answer)).startswith("✓")


def test_a_list_that_is_used_again_for_the_next_input_is_read_in_time() -> None:
    kept: list[Any] = []

    def answer(lengths: list[int]) -> list[Any]:
        kept[:] = pieces_mask(lengths).tolist()
        return kept

    assert PIECES(answer)


def test_an_answer_that_closes_its_output_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    import sys  # noqa: PLC0415 - what is written to is looked up when it is closed

    def answer(lengths: list[int]) -> torch.Tensor:
        print("so far")
        sys.stdout.close()
        return pieces_mask(lengths)

    assert "so far" in repr(PIECES(answer))
    print("still open")
    assert capsys.readouterr().out == "still open\n"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_known_mistake_is_right_in_a_rough_dtype(name: str, dtype: torch.dtype) -> None:
    exercise = getattr(check, name)

    def rough(value: Any) -> Any:
        return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    for mistake in exercise.mistakes:
        verdict = exercise(lambda *given, gives=mistake.gives: rough(gives(*given)))
        assert verdict.state != "right", mistake.says
