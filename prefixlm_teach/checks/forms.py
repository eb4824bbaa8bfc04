"""The forms an answer may have: how each is read, compared, described and drawn.

Every correct form is accepted: a mask of booleans, of 0 and 1 or to be added to scores, a tensor, an array or
nested lists, on any device and of any dtype that holds its values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from prefixlm_teach.pictures import Picture

MOST_DRAWN = 12  # tokens
MOST_READ = 1_000_000  # numbers
SEES, BLIND = "1xX#■", "0.-_□"
ROUGH = {torch.bfloat16: 1.5e-2, torch.float16: 2e-3}  # of the largest number that is expected


class MisreadError(Exception):
    """An answer can't be read; its text is a sentence for the learner."""


class Form(Protocol):
    """How answers of one kind are read and compared."""

    def read(self, answer: Any, expected: Any) -> Any:
        """Return the answer in one form for all, or raise `MisreadError`."""

    def same(self, found: Any, expected: Any) -> bool:
        """Whether two answers that have been read are the same."""

    def difference(self, found: Any, expected: Any) -> str:
        """Name the first cell or number that differs."""

    def picture(self, found: Any, expected: Any) -> Picture | None:
        """Draw what is wanted and the answer side by side, where that can be drawn."""


def read_as(form: Form, answer: Any, expected: Any) -> Any:
    """Return what a form reads in an answer; whatever looking at it raises is a `MisreadError`."""
    try:
        return form.read(answer, expected)
    except MisreadError:
        raise
    except Exception as error:
        raise MisreadError(f"this can't be read ({type(error).__name__}).") from error


def kind_of(value: Any) -> str:
    """What a value is, in a learner's words."""
    if issubclass(type(value), Tensor):
        return f"a tensor of {value.dtype} and shape {tuple(value.shape)}"
    return {
        "NoneType": "None (does it end in `return`?)",
        "str": "text",
        "tuple": "a tuple",
        "list": "a list",
        "dict": "a dict",
    }.get(type(value).__name__, f"of type {type(value).__name__}")


def as_tensor(answer: Any) -> Tensor:
    """Read a tensor, an array or nested lists as a tensor of its own, without a gradient, on the CPU."""
    if isinstance(answer, Tensor):
        return _plain(answer)
    if isinstance(answer, list | tuple) and any(isinstance(each, Tensor) for each in answer):
        try:
            return torch.stack([as_tensor(each) for each in answer])
        except (RuntimeError, TypeError) as error:
            raise MisreadError("a tensor is wanted, and your rows don't fit together.") from error
    if isinstance(answer, np.ndarray):
        if answer.size > MOST_READ:
            raise MisreadError(f"far fewer numbers are wanted; yours are {answer.size:,}.")
        wide = answer.dtype.kind == "f"
        answer = (answer.astype(np.float64) if wide else answer).tolist()  # whatever its byte order
    if isinstance(answer, list | tuple | int | float | np.generic):
        try:
            return torch.tensor(np.array(answer))
        except (TypeError, ValueError) as error:
            why = str(error).rstrip(".")
            raise MisreadError(f"a tensor is wanted, and this can't be read as one: {why}.") from error
    raise MisreadError(f"a tensor is wanted; yours is {kind_of(answer)}.")


def _plain(answer: Tensor) -> Tensor:
    """A dense copy on the CPU of any tensor, whatever its class says of itself."""
    with torch._C.DisableTorchFunctionSubclass():
        plain = Tensor.detach(answer)
        if plain.is_meta or plain.is_nested:
            raise MisreadError("a tensor with values in every cell is wanted; yours is a meta or nested one.")
        if plain.numel() > MOST_READ:
            raise MisreadError(f"far fewer numbers are wanted; yours are {plain.numel():,}.")
        dense = plain if plain.layout is torch.strided else plain.to_dense()
        return dense.as_subclass(Tensor).cpu().clone()


def _shape(found: Tensor, expected: Tensor) -> Tensor:
    """Drop or add leading dimensions of one; raise where that doesn't make the shapes equal."""
    short = found
    while short.ndim > expected.ndim and short.size(0) == 1:
        short = short[0]
    while short.ndim < expected.ndim and expected.size(expected.ndim - short.ndim - 1) == 1:
        short = short[None]
    if short.shape != expected.shape:
        raise MisreadError(f"the shape {tuple(expected.shape)} is wanted; yours is {tuple(found.shape)}.")
    return short


def _drawn(text: str) -> Tensor:
    """Read a mask that is drawn in text, a line for each query: 1, x or # where it sees, 0 or . where not."""
    rows = [line.replace(" ", "") for line in text.strip().splitlines()]
    if odd := set("".join(rows)) - set(SEES + BLIND):
        raise MisreadError(f"a mask is drawn with 1 and 0, or with # and a dot; yours holds {min(odd)!r}.")
    if len({len(row) for row in rows}) != 1:
        raise MisreadError(
            "the rows of your mask have different lengths: a dot stands where a query doesn't see."
        )
    return torch.tensor([[character in SEES for character in row] for row in rows])


class Mask:
    """A mask: True, 1 or, in one that is added to scores, 0 where a query may attend."""

    def read(self, answer: Any, expected: Tensor) -> Tensor:
        """Return booleans of the expected shape."""
        if isinstance(answer, list | tuple) and answer and all(isinstance(row, str) for row in answer):
            answer = "\n".join(answer)
        mask = _shape(_drawn(answer) if isinstance(answer, str) else as_tensor(answer), expected)
        if mask.dtype == torch.bool:
            return mask
        if mask.is_complex():
            raise MisreadError("a mask holds no complex numbers.")
        if mask.is_floating_point() and bool(((mask == 0) | (mask <= -1e4)).all()):
            return mask == 0
        if bool(((mask == 0) | (mask == 1)).all()):
            return mask == 1
        odd = mask[(mask != 0) & (mask != 1)].flatten()[0].item()
        raise MisreadError(
            f"a mask holds booleans, or 0 and 1, or 0 and -inf (to be added to scores); yours holds {odd:g}."
        )

    def same(self, found: Tensor, expected: Tensor) -> bool:
        """Whether every cell agrees."""
        return bool((found == expected).all())

    def difference(self, found: Tensor, expected: Tensor) -> str:
        """Name the first cell that differs."""
        *batch, row, column = (found != expected).nonzero()[0].tolist()
        where = f"in example {batch[0]}, " if batch and expected.size(0) > 1 else ""
        sees = "sees" if bool(found[(*batch, row, column)]) else "doesn't see"
        should = "shouldn't" if sees == "sees" else "should"
        return f"{where}row {row} {sees} column {column}, and {should}"

    def picture(self, found: Tensor, expected: Tensor | None) -> Picture | None:
        """Draw the masks of the first example that differs; the answer alone, if nothing is expected."""
        from prefixlm_teach.plots import plot_masks  # noqa: PLC0415 - matplotlib only where it is drawn

        side = found.size(-1)
        if side > MOST_DRAWN or found.size(-2) != side:
            return None
        if expected is None:
            return plot_masks({"yours": found.reshape(side, side)})
        pairs = zip(expected.reshape(-1, side, side), found.reshape(-1, side, side), strict=True)
        wanted, yours = next(pair for pair in pairs if not torch.equal(*pair))
        return plot_masks({"wanted": wanted, "yours": yours})


class Numbers:
    """A tensor of numbers, equal but for rounding.

    Args:
        tolerance: the relative and the absolute error that float32 and float64 may have.
    """

    def __init__(self, tolerance: float = 1e-4) -> None:
        self.tolerance = tolerance

    def read(self, answer: Any, expected: Tensor) -> Tensor:
        """Return numbers of the expected shape."""
        found = _shape(as_tensor(answer), expected)
        if found.is_complex():
            raise MisreadError("real numbers are wanted; yours are complex.")
        return found

    def near(self, found: Tensor, expected: Tensor) -> Tensor:
        """Which numbers agree; NaN agrees with NaN only."""
        rough = ROUGH.get(found.dtype) if self.tolerance else None
        finite = expected.double()[expected.double().isfinite()]
        size = float(finite.abs().max()) if finite.numel() else 0.0
        near = self.tolerance if rough is None else rough * size
        return torch.isclose(found.double(), expected.double(), rough or self.tolerance, near, equal_nan=True)

    def same(self, found: Tensor, expected: Tensor) -> bool:
        """Whether all numbers agree."""
        return bool(self.near(found, expected).all())

    def difference(self, found: Tensor, expected: Tensor) -> str:
        """Name the first number that differs."""
        place = tuple((~self.near(found, expected)).nonzero()[0].tolist())
        where = f" at {list(place)}" if place else ""
        return f"yours is {found[place].item():.4g}{where}, and should be {expected[place].item():.4g}"

    def picture(self, found: Tensor, expected: Tensor) -> None:
        """No picture."""


class Guesses(Numbers):
    """Numbers that a learner predicts: which one differs is said, but not what it should be.

    Args:
        tolerance: the relative and the absolute error that an answer may have; none for whole numbers.
    """

    def __init__(self, tolerance: float = 0.0) -> None:
        super().__init__(tolerance)

    def difference(self, found: Tensor, expected: Tensor) -> str:
        """Name the first number that differs."""
        place = tuple((~self.near(found, expected)).nonzero()[0].tolist())
        if not bool(found[place].isfinite()):
            return f"{found[place].item()} at {list(place)} is no number to go by"
        low = bool(found[place] < expected[place])
        return f"{found[place].item():g} at {list(place)} is too {'small' if low else 'large'}"


class Number:
    """A single number, such as a count that is predicted.

    Args:
        tolerance: how far an answer may be from the expected one.
    """

    def __init__(self, tolerance: float = 0.0) -> None:
        self.tolerance = tolerance

    def read(self, answer: Any, expected: float) -> float:
        """Return the number as a float."""
        if isinstance(answer, bool | np.bool_):
            raise MisreadError("a number is wanted; yours is True or False.")
        if isinstance(answer, Tensor | np.ndarray) and math.prod(answer.shape) == 1:
            answer = as_tensor(answer).item()
        if not isinstance(answer, int | float | np.integer | np.floating):
            raise MisreadError(f"a number is wanted; yours is {kind_of(answer)}.")
        if not -1e300 < answer < 1e300:
            raise MisreadError(f"a number is wanted; yours is {answer}.")
        return float(answer)

    def same(self, found: float, expected: float) -> bool:
        """Whether the two agree."""
        return abs(found - expected) <= self.tolerance

    def difference(self, found: float, expected: float) -> str:
        """Say whether it is too small or too large: the number itself would be the answer."""
        return f"{found:g} is too {'small' if found < expected else 'large'}"

    def picture(self, found: float, expected: float) -> None:
        """No picture."""


class Words:
    """One or several words out of a list that is given; case, order of a set and blanks don't matter.

    Args:
        options: the words to choose from.
    """

    def __init__(self, options: Sequence[str]) -> None:
        self.options = options

    def read(self, answer: Any, expected: Any) -> tuple[str, ...]:
        """Return the words, each once, in the order of the options."""
        said = [answer] if isinstance(answer, str) else answer
        if not isinstance(said, list | tuple | set) or not all(isinstance(word, str) for word in said):
            raise MisreadError(f"one of the words is wanted, in quotation marks; yours is {kind_of(answer)}.")
        known = {option.casefold(): option for option in self.options}
        for word in said:
            if word.strip().casefold() not in known:
                raise MisreadError(f"{word!r} is none of the words; they are {', '.join(self.options)}.")
        chosen = {known[word.strip().casefold()] for word in said}
        return tuple(option for option in self.options if option in chosen)

    def same(self, found: tuple[str, ...], expected: tuple[str, ...]) -> bool:
        """Whether the same words are chosen."""
        return set(found) == set(expected)

    def difference(self, found: tuple[str, ...], expected: tuple[str, ...]) -> str:
        """Say how many of several are right, and nothing more."""
        if len(expected) == 1:
            return f"it isn't {' and '.join(found) or 'nothing'}"
        return f"of yours {len(set(found) & set(expected))} belong there, and {len(expected)} do in all"

    def picture(self, found: Any, expected: Any) -> None:
        """No picture."""


class Findings(Words):
    """Words that a function finds for its inputs: the expected one is said, to be compared with."""

    def difference(self, found: tuple[str, ...], expected: tuple[str, ...]) -> str:
        """Say both."""
        return f"yours says {' and '.join(found) or 'nothing'}, and should say {' and '.join(expected)}"
