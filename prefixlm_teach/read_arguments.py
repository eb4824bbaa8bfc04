"""Checks on which rows are read: every `check_...` raises in the reader's words beforehand."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn

from prefixlm_teach.arguments import check_flag, check_has_values, check_same_device, kind_of


def check_read(read: Any, of: Tensor) -> None:
    """Raise unless `read` is None, or a boolean for each row of `of`, whose first dimensions are (B, T)."""
    if read is None:
        return
    if not isinstance(read, Tensor):
        raise TypeError(f"read must be a (B, T) tensor of booleans, not {kind_of(read)}")
    if read.dtype != torch.bool:
        raise TypeError(
            f"read must be boolean (True = a row that is read), not {read.dtype}: use read.bool()"
        )
    check_same_device("read", read, "the input", of)
    if read.shape != of.shape[:2]:
        raise ValueError(f"read is {tuple(read.shape)}, but the input is for {tuple(of.shape[:2])} (B, T)")


def check_labels(labels: Any) -> None:
    """Raise unless `labels` is a (B, T) int64 or int32 tensor, not empty."""
    if not isinstance(labels, Tensor):
        raise TypeError(f"labels must be a (B, T) tensor, not {kind_of(labels)}")
    if labels.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"labels must be int64 or int32 ids, not {labels.dtype}")
    if labels.ndim != 2:
        raise ValueError(f"labels must be (B, T), not {tuple(labels.shape)}")
    if labels.numel() == 0:
        raise ValueError(f"labels is empty: its shape is {tuple(labels.shape)}")
    check_has_values("labels", labels)


def check_read_logits(logits: Any, labels: Tensor, scored: int) -> None:
    """Raise unless `logits` is a floating (N, V) tensor, one row for each of the `scored` labels."""
    if not isinstance(logits, Tensor):
        raise TypeError(f"logits must be an (N, V) tensor, not {kind_of(logits)}")
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating point, not {logits.dtype}")
    if logits.ndim != 2:
        raise ValueError(f"logits must be (N, V), those of the rows read alone, not {tuple(logits.shape)}")
    if logits.size(1) == 0:
        raise ValueError(f"logits are empty: their shape is {tuple(logits.shape)}")
    if len(logits) != scored:
        raise ValueError(
            f"logits are for {len(logits)} rows, but {scored} labels are scored: call the model with "
            "read=read_rows(labels)"
        )
    check_same_device("logits", logits, "labels", labels)


def check_only_read(only_read: Any, model: nn.Module) -> None:
    """Raise unless `only_read` is a flag, and if it is set, `model` can be told which rows are read."""
    check_flag("only_read", only_read)
    inner = getattr(model, "module", model)  # of a DistributedDataParallel
    if only_read and "read" not in inspect.signature(inner.forward).parameters:
        raise TypeError(
            f"only_read needs a model that is called with read, as a TinyPrefixLM is, not {kind_of(inner)}"
        )
