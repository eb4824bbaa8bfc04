"""Checks on how tokens are chosen: every `check_...` raises in the reader's words beforehand."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.arguments import check_has_values, check_int, check_number, kind_of

COLDEST = 1e-6  # colder, and dividing by it leaves the numbers that float32 has


def check_scores(logits: Any) -> None:
    """Raise unless `logits` is a floating (B, V) tensor, not empty, whose numbers are all finite."""
    if not isinstance(logits, Tensor):
        raise TypeError(f"logits must be a (B, V) tensor, not {kind_of(logits)}")
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating point, not {logits.dtype}")
    if logits.ndim != 2:
        raise ValueError(
            f"logits must be (B, V), one row for each example, not {tuple(logits.shape)}: "
            "of a (B, T, V) tensor choose the row of the last token"
        )
    if logits.numel() == 0:
        raise ValueError(f"logits are empty: their shape is {tuple(logits.shape)}")
    check_has_values("logits", logits)
    if not bool(logits.isfinite().all()):
        row = int((~logits.isfinite().all(-1)).int().argmax())
        raise ValueError(f"logits of example {row} are not all finite: there is no share to draw from")


def check_sampling(temperature: Any, top_k: Any, top_p: Any) -> None:
    """Raise unless the numbers say how to choose a token."""
    check_number("temperature", temperature)
    if temperature != 0 and not COLDEST <= temperature < float("inf"):
        raise ValueError(
            f"temperature must be 0 (the likeliest token) or at least {COLDEST}, not {temperature}"
        )
    if top_k is not None:
        check_int("top_k", top_k, minimum=1)
    if top_p is not None:
        check_number("top_p", top_p)
        if not 0 < top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {top_p}")


def check_generator(generator: Any) -> None:
    """Raise unless `generator` is None or a generator of PyTorch."""
    if generator is not None and not isinstance(generator, torch.Generator):
        raise TypeError(f"generator must be a torch.Generator, not {kind_of(generator)}")


def check_seed(seed: Any) -> None:
    """Raise unless `seed` is None or a number that PyTorch takes as a seed."""
    if seed is not None:
        check_int("seed", seed, minimum=0)
        if seed >= 2**64:
            raise ValueError(f"seed must be below 2 ** 64, not {seed}")
