"""Notice a PyTorch that has been written over: checks compare tensors with its functions."""

from __future__ import annotations

import sysconfig
import types
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

PLACES = {"torch": torch, "torch.Tensor": Tensor, "torch.nn.functional": functional, "torch.nn": nn}
TORCH = Path(torch.__file__).parent
INSTALLED = (TORCH.parent, Path(sysconfig.get_path("stdlib")))
_AT_FIRST = {(place, name): value for place, owner in PLACES.items() for name, value in vars(owner).items()}


def overwritten() -> str | None:
    """Return the name of one of PyTorch's functions that is not PyTorch's own any more, None if all are."""
    for place, owner in PLACES.items():
        for name, value in vars(owner).items():
            before = _AT_FIRST.get((place, name), value)
            replaced = before is not value and callable(before) and not _wrapped_by_torch(value, before)
            if replaced or _is_a_readers(name, value):
                return f"{place}.{name}"
    return None


def _wrapped_by_torch(value: Any, before: Any) -> bool:
    """Whether PyTorch itself has wrapped a function, as the first optimizer does with `manual_seed`."""
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
