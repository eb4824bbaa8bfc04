"""Checks on the parts of `Examples`, and on the model that is to read them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor, nn

from prefixlm_teach.arguments import (
    check_has_values,
    check_ids,
    check_prefix_len,
    check_same_device,
    check_valid,
    kind_of,
)
from prefixlm_teach.encoder_decoder import TinyEncoderDecoder
from prefixlm_teach.mask_arguments import check_mask_fits, check_one_mask


def check_labels(labels: Any, tokens: Tensor, valid: Tensor, ignore: int) -> None:
    """Raise unless `labels` are ids at real tokens of `tokens` (B, T), and `ignore` everywhere else."""
    if not isinstance(labels, Tensor):
        raise TypeError(f"labels must be a (B, T) tensor, not {kind_of(labels)}")
    if labels.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"labels must be int64 or int32 ids, not {labels.dtype}")
    if labels.shape != tokens.shape:
        raise ValueError(f"labels are {tuple(labels.shape)}, but tokens is {tuple(tokens.shape)}")
    check_same_device("labels", labels, "tokens", tokens)
    check_has_values("labels", labels)
    wrong = (labels < 0) & (labels != ignore)
    if bool(wrong.any()):
        raise ValueError(
            f"labels hold {int(labels[wrong][0])}: ids begin at 0, and {ignore} asks for nothing"
        )
    if bool((labels[~valid] != ignore).any()):
        raise ValueError(f"labels ask for padding: they must be {ignore} where valid is False")


def check_unseen(labels: Tensor, prefix_len: Tensor | None, mask: Tensor | None, ignore: int) -> None:
    """Raise if a label is asked of the row before it, and that row sees the very token.

    The arguments have passed the other checks of `Examples`; the label in column 0 is asked of no row.
    """
    if mask is not None:
        squares = mask.reshape(-1, *mask.shape[-2:])  # (1 or B, T, T)
        seen = squares.diagonal(1, -2, -1)  # (1 or B, T - 1): does a row see the next token?
    else:
        assert prefix_len is not None  # noqa: S101 - for the type checker
        seen = torch.arange(1, labels.size(1), device=labels.device) < prefix_len.view(-1, 1)  # (B, T - 1)
    shown = (labels[:, 1:] != ignore) & seen
    if bool(shown.any()):
        example, column = (int(at) for at in shown.nonzero()[0])
        where = "the mask shows it" if prefix_len is None else f"prefix_len is {int(prefix_len[example])}"
        raise ValueError(
            f"labels ask for token {column + 1} of example {example}, but {where}, so the row before, which "
            f"is to predict it, sees it: make this label {ignore}"
        )


def check_counted(positions: Any, tokens: Tensor) -> None:
    """Raise unless `positions` is an integer tensor of the shape of `tokens`, from 0 on."""
    if not isinstance(positions, Tensor):
        raise TypeError(f"positions must be a (B, T) tensor, not {kind_of(positions)}")
    if positions.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"positions must be int64 or int32, not {positions.dtype}")
    if positions.shape != tokens.shape:
        raise ValueError(f"positions are {tuple(positions.shape)}, but tokens is {tuple(tokens.shape)}")
    check_same_device("positions", positions, "tokens", tokens)
    if bool((positions < 0).any()):
        raise ValueError(f"positions begin at 0, not at {int(positions.min())}")


def check_examples(
    tokens: Any,
    labels: Any,
    valid: Any,
    prefix_len: Any,
    mask: Any,
    positions: Any,
    kinds: Any,
    *,
    cloze: bool,
    ignore: int,
) -> None:
    """Raise unless the parts of `Examples` fit each other."""
    check_ids("tokens", tokens)
    check_valid(valid, tokens.size(1), len(tokens))
    check_same_device("valid", valid, "tokens", tokens)
    if not bool(valid[:, 0].all()):
        raise ValueError(
            "valid must be True in the first column: examples are padded on the right, and have a token"
        )
    check_labels(labels, tokens, valid, ignore)
    check_one_mask(prefix_len, mask)
    if mask is not None:
        check_mask_fits(mask, tokens)
    elif not isinstance(prefix_len, Tensor) or prefix_len.ndim != 1:
        raise TypeError("prefix_len must be a (B,) tensor here, one number for each example")
    else:
        check_same_device("prefix_len", prefix_len, "tokens", tokens)
        check_prefix_len(prefix_len, tokens.size(1), valid=valid)
    if not cloze:
        check_unseen(labels, prefix_len, mask, ignore)
    if positions is not None:
        check_counted(positions, tokens)
    if kinds is not None:
        if not isinstance(kinds, tuple) or not all(isinstance(kind, str) for kind in kinds):
            raise TypeError("kinds must be a tuple of strings, one for each example")
        if len(kinds) != len(tokens):
            raise ValueError(f"kinds is for {len(kinds)} examples, but there are {len(tokens)}")


def check_reader(model: Any, needed: Collection[str], cloze: bool) -> None:
    """Raise unless `model` can be called with what the examples need, and guesses what they ask."""
    if not callable(model):
        raise TypeError(f"model must be something to call, as a TinyPrefixLM is, not {kind_of(model)}")
    if isinstance(model, type):
        raise TypeError(f"model is the class {model.__name__}: make one of it first")
    model = _unwrapped(model)
    if cloze and isinstance(model, TinyEncoderDecoder):
        raise ValueError(
            "a cloze asks each row for its own token, but in this model only the decoder guesses, and only "
            "what comes next: use a model such as TinyPrefixLM"
        )
    call: Callable[..., Any] = getattr(model, "forward", model)
    try:
        takes = inspect.signature(call).parameters.values()
    except ValueError:
        return  # a function written in C does not say what it takes
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes):
        return
    for name in needed:
        if name not in {parameter.name for parameter in takes}:
            raise TypeError(
                f"these examples need a model that takes {name}, and this model does not: use one such as "
                "TinyPrefixLM, or examples without"
            )


def _unwrapped(model: Any) -> Any:
    """Return the model within what torch.compile or data parallelism made of it, or whose method it is."""
    for name in ("_orig_mod", "module", "__self__"):
        inner = getattr(model, name, None)
        if isinstance(inner, nn.Module):
            return _unwrapped(inner)
    return model


def check_some_cloze(labels: Tensor, ignore: int) -> None:
    """Raise if no label asks for anything: the mean over nothing would be NaN."""
    if not bool((labels != ignore).any()):
        raise ValueError(f"nothing to score: every label is {ignore}")
