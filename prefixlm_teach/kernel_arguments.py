"""Checks on what a kernel is asked: every `check_...` raises in the reader's words beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.arguments import check_has_values, check_same_device, kind_of
from prefixlm_teach.mask_arguments import check_bool_mask, check_keys, check_values

WITH_WEIGHTS = ("auto", "plain", "dense")  # the others have no mask of all pairs, of which weights are made


def check_kernel(kernel: Any, known: Iterable[str]) -> None:
    """Raise unless `kernel` is the name of a kernel, or one of the reader's own, which can be called."""
    if isinstance(kernel, str) and kernel not in known:
        raise ValueError(f"unknown kernel {kernel!r} (there are: {', '.join(known)})")
    if not isinstance(kernel, str) and (not callable(kernel) or isinstance(kernel, type)):
        raise TypeError(f"kernel must be one of {', '.join(known)}, or a function, not {kind_of(kernel)}")


def check_softmax_kernel(kernel: Any, known: Mapping[str, Any], linear: Mapping[str, Any]) -> None:
    """Raise unless a model with softmax attention can use `kernel`: `known`, or the reader's own."""
    for name, function in linear.items():
        if kernel is function or (isinstance(kernel, str) and kernel == name):
            raise ValueError(
                f"the kernel {name!r} is linear attention, for which weights are trained apart: use "
                "LinearPrefixLM"
            )
    check_kernel(kernel, known)


def check_linear_kernel(kernel: Any, known: Iterable[str]) -> None:
    """Raise unless `kernel` is the name of one for linear attention."""
    if not isinstance(kernel, str) or kernel not in known:
        said = repr(kernel) if isinstance(kernel, str) else kind_of(kernel)
        raise (ValueError if isinstance(kernel, str) else TypeError)(
            f"the kernel of a LinearPrefixLM must be {' or '.join(known)}, not {said}: under softmax its "
            "weights would mean something else"
        )


def check_has_weights(kernel: Any, linear: Iterable[str]) -> None:
    """Raise unless attention weights can be shown for a model that uses `kernel`, none of the `linear`."""
    if isinstance(kernel, str) and kernel in linear:
        raise ValueError(
            f"the kernel is {kernel!r}: linear attention has no softmax weights to return. What sees what is "
            "shown by visibility"
        )
    if kernel not in WITH_WEIGHTS:
        name = repr(kernel) if isinstance(kernel, str) else "a kernel of your own"
        raise ValueError(
            f"the kernel is {name}, which never holds the attention weights: set model.kernel = 'plain' for "
            "as long as you look at them"
        )


def check_last_rows(mask: Any, seq_len: int, valid: Tensor | None) -> None:
    """Raise unless `mask` is boolean, (K, T) or (B, 1, K, T) with K <= T, and fits `valid` (B, T)."""
    check_bool_mask(mask)
    check_has_values("mask", mask)
    if mask.size(-1) != seq_len or mask.size(-2) > seq_len:
        raise ValueError(
            f"mask is {tuple(mask.shape)}, but {seq_len} tokens need {(seq_len, seq_len)}, or fewer rows for "
            "the last queries alone"
        )
    if valid is not None:
        check_same_device("mask", mask, "valid", valid)
        if mask.ndim == 4 and len(mask) not in (1, len(valid)):
            raise ValueError(f"mask is for {len(mask)} examples, but valid is for {len(valid)}")


def check_asked(q: Any, k: Any, v: Any, rows: int, columns: int, batch: int | None) -> None:
    """Raise unless `q`, `k` and `v` are (B, H, T, d_head) and of the sizes a kernel was made ready for."""
    check_keys(q, k)
    check_values(v, k)
    if q.ndim != 4:
        raise ValueError(f"q must be (B, H, T, d_head), not {tuple(q.shape)}")
    check_made_for(q.size(-2), k.size(-2), len(q), rows, columns, batch)


def check_made_for(q: int, k: int, examples: int, rows: int, columns: int, batch: int | None) -> None:
    """Raise unless `q` queries and `k` keys are the `rows` and `columns` a kernel was made ready for."""
    if (q, k) != (rows, columns):
        asked, made = (f"{n}" if n == m else f"{n} of {m}" for n, m in ((q, k), (rows, columns)))
        raise ValueError(
            f"the kernel was made ready for {made} tokens, but there are {asked}: make it ready for each call"
        )
    if batch not in (None, examples):
        raise ValueError(
            f"the kernel was made ready for {batch} examples, but there are {examples}: make it ready for "
            "each call"
        )


def check_no_mask(name: str, mask: Tensor | None) -> None:
    """Raise if any mask at all is given to a kernel that asks for causal attention."""
    if mask is not None:
        raise ValueError(
            f"the kernel {name!r} takes no mask: it asks for causal attention (is_causal), and PyTorch would "
            "close in a mask beside it, without a word, what is not causal. Pass prefix_len, or use 'dense'"
        )


def check_no_mask_summed(mask: Tensor | None) -> None:
    """Raise if any mask at all is given to linear attention by sums of keys and values."""
    if mask is not None:
        raise ValueError(
            "the kernel 'linear' takes no mask: it sums up what a prefix and the tokens so far have shown, "
            "and not every mask can be summed up. Pass prefix_len, or use 'plain_linear'"
        )


def check_no_left_padding(name: str, padded_left: bool) -> None:
    """Raise if padding stands before a token, where a kernel without a mask would see it."""
    if padded_left:
        raise ValueError(
            f"valid has padding on the left, which the kernel {name!r} has no mask to close: pad on the "
            "right, where no token looks, or use 'dense'"
        )


def check_shared(name: str, prefix_len: Any, shared: int | None) -> None:
    """Raise unless all examples have the same p."""
    if shared is None:
        raise ValueError(
            f"prefix_len is {prefix_len.tolist()}, but the kernel {name!r} cuts all examples at the same "
            "place: use 'mend' or 'dense'"
        )


def check_forward_only(device: torch.device) -> None:
    """Raise if FlexAttention might be asked for gradients on a device where it has none."""
    if torch.is_grad_enabled() and device.type == "cpu":
        raise ValueError(
            "the kernel 'flex' has no backward on a CPU (FlexAttention): call the model under "
            "torch.no_grad(), or train with another kernel"
        )


def check_fresh(made: dict[str, Any], asked: dict[str, Any]) -> None:
    """Raise unless a block mask was made for what is asked; each says its T, p, padding and mask.

    A p that all share serves any number of examples.
    """
    for name, was in made.items():
        now = asked[name]
        if not _alike(was, now):
            shown = "" if name in ("valid", "mask") else f" {_short(was)}"
            other = "another" if not shown else f"{name} {_short(now)}"
            raise ValueError(
                f"the block mask is stale: it was made for {name}{shown}, and this call has {other}. Make a "
                "new one whenever T, p or the padding changes, or let kernel='flex' do it in each call"
            )


def _alike(was: Any, now: Any) -> bool:
    if not isinstance(was, Tensor) or not isinstance(now, Tensor):
        return bool(was is now or (not isinstance(was, Tensor) and was == now))
    same_shape = was.shape == now.shape or was.ndim == 0
    return same_shape and bool((was.to(now.device) == now).all())


def _short(value: Any) -> str:
    return str(value.tolist() if isinstance(value, Tensor) else value)
