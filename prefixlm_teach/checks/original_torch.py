"""Notice a PyTorch, or a Python, that has been written over: checks compare answers with its functions."""

from __future__ import annotations

import builtins
import inspect
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

PLACES = {
    "torch": torch,
    "torch.Tensor": Tensor,
    "torch.nn.functional": functional,
    "torch.nn": nn,
    "builtins": builtins,
}
# Of Python's own only what the checks rest on: a kernel replaces some of the others, as print and input.
BUILTINS = [
    "abs",
    "all",
    "any",
    "bool",
    "dict",
    "enumerate",
    "float",
    "int",
    "isinstance",
    "len",
    "list",
    "map",
    "max",
    "min",
    "next",
    "range",
    "set",
    "sorted",
    "str",
    "sum",
    "tuple",
    "type",
    "zip",
]
TORCH = Path(torch.__file__).parent
INSTALLED = (TORCH.parent, Path(sysconfig.get_path("stdlib")))


def _names(owner: Any) -> Iterator[str]:
    """What is looked at: all that a module holds, and all that a class has, inherited too."""
    if owner is builtins:
        yield from BUILTINS
    elif isinstance(owner, type):
        yield from dir(owner)
    else:
        yield from tuple(vars(owner))


_MISSING = object()
_AT_FIRST = {
    (place, name): inspect.getattr_static(owner, name, _MISSING)
    for place, owner in PLACES.items()
    for name in _names(owner)
}


def overwritten() -> str | None:
    """Return the name of a function that is not PyTorch's, or Python's, own any more; None if all are."""
    for place, owner in PLACES.items():
        for name in _names(owner):
            value = inspect.getattr_static(owner, name, _MISSING)
            before = _AT_FIRST.get((place, name), value)
            if (before is not value and not _swapped_by_torch(value, before)) or _is_a_readers(name, value):
                return f"{place}.{name}"
    return None


def restore() -> None:
    """Put back everything that has been written over."""
    for (place, name), before in _AT_FIRST.items():
        value = inspect.getattr_static(PLACES[place], name, _MISSING)
        if before is not value and not _swapped_by_torch(value, before):
            setattr(PLACES[place], name, before)


def _swapped_by_torch(value: Any, before: Any) -> bool:
    """Whether PyTorch has put another in a thing's place itself.

    The first optimizer wraps `manual_seed`; another default dtype brings another class `Storage`; and what is
    neither function nor class is a setting.
    """
    if isinstance(before, type) and isinstance(value, type):
        return value.__module__.partition(".")[0] == "torch"
    if not callable(before) and not inspect.isdatadescriptor(before):
        return True
    file = getattr(getattr(value, "__code__", None), "co_filename", "")
    return getattr(value, "__wrapped__", None) is before and Path(file).is_relative_to(TORCH)


def _is_a_readers(name: str, value: Any) -> bool:
    """Whether a function stands in no installed file, as those that are written in a notebook."""
    if name.startswith("_") and not name.startswith("__"):
        return False
    value = getattr(value, "__wrapped__", value)
    if not isinstance(value, types.FunctionType) or value.__code__.co_filename.startswith("<string>"):
        return False
    file = Path(value.__code__.co_filename)
    return not any(file.is_relative_to(folder) for folder in INSTALLED)
