"""What every objective has to do: be learnt from, hide what it hides, refuse what is wrong beforehand."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from bad_values import Wrong
from torch import Tensor
from torch.overrides import TorchFunctionMode

import prefixlm_teach
from prefixlm_teach import TinyPrefixLM, visibility
from prefixlm_teach.examples import Examples

DRAWING_OR_BUILDING = {"rand", "randint", "randperm", "full", "zeros", "ones", "masked_fill", "tril_", "triu"}


class Watch(TorchFunctionMode):
    """Remembers the names of the torch functions that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.called: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.called.add(func.__name__)
        return func(*args, **(kwargs or {}))


def real_rows(examples: Examples) -> list[list[int]]:
    """The tokens of each example, without padding."""
    return [row[real].tolist() for row, real in zip(examples.tokens, examples.valid, strict=True)]


def assert_all_but_the_first_are_labels(examples: Examples) -> None:
    """Each real token is asked for, but the first of a row, which nothing stands before to predict."""
    wanted = examples.tokens.masked_fill(~examples.valid, -100)
    wanted[:, 0] = -100
    assert torch.equal(examples.labels, wanted)


def small_model(vocab_size: int, max_len: int) -> TinyPrefixLM:
    torch.manual_seed(0)
    return TinyPrefixLM(vocab_size, d_model=8, n_heads=2, n_layers=2, max_len=max_len).double().eval()


def assert_a_model_can_learn_from(examples: Examples, vocab_size: int) -> None:
    """The loss is finite and a step against its gradient makes it smaller."""
    model = small_model(vocab_size, examples.tokens.size(1))
    loss = examples.loss(examples.logits(model))
    loss.backward()
    for weight in model.parameters():
        assert weight.grad is not None
        assert weight.grad.isfinite().all()
    torch.optim.SGD(model.parameters(), lr=0.01).step()
    assert examples.loss(examples.logits(model)) < loss


def seen_by_a_model(examples: Examples, row: int, vocab_size: int) -> Tensor:
    """(T, T) booleans of one example without its padding: whose logits move with which token."""
    n = int(examples.valid[row].sum())
    tokens = examples.tokens[row : row + 1, :n]
    model = small_model(vocab_size, n)
    if examples.mask is None:
        assert examples.prefix_len is not None
        return visibility(model, tokens, examples.prefix_len[row : row + 1])
    mask = examples.mask[row : row + 1, :, :n, :n]
    return visibility(lambda tokens, prefix_len: model(tokens, mask=mask), tokens, 0)


def assert_refused(call: Callable[..., Any], good: dict[str, Any], argument: str, wrong: Wrong) -> None:
    """A wrong argument is named by an error of the package, before anything is drawn or built."""
    with Watch() as watch, pytest.raises((TypeError, ValueError)) as caught:
        call(**{**good, argument: wrong.value})
    message = str(caught.value)
    assert re.search(rf"\b{argument}\b", message), message
    assert re.search(wrong.says, message), message
    raised_in = Path(traceback.extract_tb(caught.tb)[-1].filename)
    assert raised_in.parent == Path(prefixlm_teach.__file__).parent, f"{raised_in}: {message}"
    assert not watch.called & DRAWING_OR_BUILDING


def refusals(
    table: Iterable[tuple[str, Callable[..., Any], dict[str, Any], dict[str, list[Wrong]]]],
) -> list[Any]:
    """The cases of a table of functions, their good arguments, and the ways in which each can be wrong."""
    found = []
    for name, call, good, arguments in table:
        assert set(arguments) == set(good)
        call(**good)
        for argument, wrongs in arguments.items():
            for wrong in wrongs:
                found.append(pytest.param(call, good, argument, wrong, id=f"{name}-{argument}-{wrong.kind}"))
    return found


def chi_square(counts: Iterable[int], shares: Iterable[float]) -> float:
    """How far counts lie from what their shares let expect; with k of them, k - 1 is usual."""
    counts, shares = list(counts), list(shares)
    total = sum(counts)
    return sum((c - total * s) ** 2 / (total * s) for c, s in zip(counts, shares, strict=True))


def id_rows(name: str) -> list[Wrong]:
    """How a list of rows of ids can be wrong."""
    return [
        Wrong("None", None, "must be a list of"),
        Wrong("one string", "abc", "must be a list of"),
        Wrong("tensor", torch.tensor([[1, 2]]), rf"use {name}.tolist\(\)"),
        Wrong("no row", [], "is empty: there is no example"),
        Wrong("one row", [1, 2], rf"{name}\[0\] must be a list of ids, not int"),
        Wrong("an empty row", [[1], []], rf"{name}\[1\] is empty: there is nothing to learn from"),
        Wrong("a string", [[1], "b"], rf"{name}\[1\] must be a list of ids, not str"),
        Wrong("a tensor", [torch.tensor([1])], rf"use {name}\[0\].tolist\(\)"),
        Wrong("a float", [[1, 2.0]], rf"an id of {name}\[0\] must be a whole number"),
        Wrong("a bool", [[1, True]], rf"an id of {name}\[0\] must be a whole number"),
        Wrong("negative", [[1, -1]], rf"an id of {name}\[0\] must be at least 0, not -1"),
    ]


SHARE = [
    *[Wrong(str(x), x, "must be a number") for x in (True, None, "0.5", [0.5], torch.tensor(0.5))],
    *[Wrong(str(x), x, "must be from 0 to 1, not") for x in (-0.1, 1.1, float("nan"), float("inf"))],
]
