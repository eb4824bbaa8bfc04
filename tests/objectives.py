"""What every objective has to do: be learnt from, hide what it hides, refuse what is wrong beforehand."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
import torch
from bad_values import Watch, Wrong, number
from torch import Tensor

import prefixlm_teach
from prefixlm_teach import TinyPrefixLM, visibility
from prefixlm_teach.examples import Examples

# What no check may get as far as: the draws of a row, and the operations that build examples or masks.
DRAWING_OR_BUILDING = {"row_draws", "full", "new_full", "zeros", "ones", "arange", "masked_fill"} | {
    *("tril_", "triu")
}

# These neither draw nor build a tensor.
PLAIN = {"FimIds", "CodeGen2Ids", "UniLMIds", "arrange_parts", "codegen2_prompt"} | {
    *("span_counts", "raw_lengths", "first_fit")
}

ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # another one in every process that runs tests side by side


class WatchDraws(Watch):
    """Remembers the names of Python functions too: NumPy's draws come from `row_draws`, unseen by torch."""

    def __enter__(self) -> Self:
        self.before = sys.getprofile()
        sys.setprofile(lambda frame, event, _: self.called.add(frame.f_code.co_name))
        super().__enter__()
        return self

    def __exit__(self, *how: Any) -> None:
        super().__exit__(*how)
        sys.setprofile(self.before)


def real_rows(examples: Examples) -> list[list[int]]:
    """The tokens of each example, without padding."""
    return [row[real].tolist() for row, real in zip(examples.tokens, examples.valid, strict=True)]


def parts(examples: Examples, i: int) -> tuple[list[int], list[int]]:
    """The tokens and labels of an example, without the padding."""
    real = examples.valid[i]
    return examples.tokens[i][real].tolist(), examples.labels[i][real].tolist()


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
    with WatchDraws() as watch, pytest.raises((TypeError, ValueError)) as caught:
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
        with WatchDraws() as watch:
            call(**good)
        assert bool(watch.called & DRAWING_OR_BUILDING) == (name not in PLAIN), name
        for argument, wrongs in arguments.items():
            for wrong in wrongs:
                case = ADDRESS.sub("", f"{name}-{argument}-{wrong.kind}")
                found.append(pytest.param(call, good, argument, wrong, id=case))
    return found


def spread(count: int, share: float) -> float:
    """Five standard deviations of how often something of this share comes in `count` draws."""
    return 5 * (count * share * (1 - share)) ** 0.5


def chi_square(counts: Iterable[int], shares: Iterable[float]) -> float:
    """How far counts lie from what their shares let expect; with k of them, k - 1 is usual."""
    counts, shares = list(counts), list(shares)
    total = sum(counts)
    return sum((c - total * s) ** 2 / (total * s) for c, s in zip(counts, shares, strict=True))


def id_rows(name: str, fewest: int = 1) -> list[Wrong]:
    """How a list of rows of ids, each of `fewest` ids at least, can be wrong."""
    enough = [1] * fewest
    return [
        Wrong("None", None, "must be a list of lists of ids"),
        Wrong("number", 3, "must be a list of lists of ids"),
        Wrong("one string", "abc", "must be a list of lists of ids"),
        Wrong("bytes", b"abc", "must be a list of lists of ids"),
        Wrong("tensor", torch.tensor([[1, 2]]), rf"use {name}.tolist\(\)"),
        Wrong("numpy array", np.array([[1, 2]]), rf"use {name}.tolist\(\)"),
        Wrong("generator", iter([[1, 2]]), "must be a list of lists of ids"),
        Wrong("no row", [], f"{name} is empty: it needs at least one"),
        Wrong("one row", [1, 2], rf"{name}\[0\] must be a list of ids, not int \(1\)"),
        Wrong("an empty row", [enough, []], rf"{name}\[1\] has 0 tokens, but this needs at least {fewest}"),
        Wrong("a short row", [enough, enough[1:]], rf"{name}\[1\] has {fewest - 1} tokens"),
        Wrong("a string", [enough, "bc"], rf"{name}\[1\] must be a list of ids, not str"),
        Wrong("bytes in it", [enough, b"bc"], rf"{name}\[1\] must be a list of ids, not bytes"),
        Wrong("a tensor", [torch.tensor([1, 2])], rf"use {name}\[0\].tolist\(\)"),
        Wrong("a float", [[1, 2.0]], rf"{name}\[0\]\[1\] must be a whole number"),
        Wrong("a bool", [[1, True]], rf"{name}\[0\]\[1\] must be a whole number"),
        Wrong("nested", [[1, [2]]], rf"{name}\[0\]\[1\] must be a whole number"),
        Wrong("negative", [enough, [3, -1]], rf"{name}\[1\] holds the id -1, but ids begin at 0"),
        Wrong("numpy negative", [[1, np.int64(-1)]], rf"{name}\[0\]\[1\] must be at least 0"),
        Wrong("large", [enough, [3, 2**63]], rf"{name}\[1\] holds the id {2**63}, but ids go from 0"),
    ]


def wrong_shares(*, none: bool = False, whole: bool = False) -> list[Wrong]:
    """How a number from 0 (with `none`) to 1 (with `whole`) can be wrong."""
    low, high = "at least 0" if none else "above 0", "at most 1" if whole else "below 1"
    outside = [-0.1, 1.1, float("nan"), float("inf"), *([] if none else [0]), *([] if whole else [1])]
    return number(f"must be {low} and {high}, not", *outside)
