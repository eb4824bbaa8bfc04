"""Checks on what is to be probed, on what a model answers, and on what is to be explained."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from prefixlm_teach.arguments import (
    check_has_values,
    check_ids,
    check_int,
    check_prefix_len,
    check_same_device,
    check_split,
    check_valid,
    kind_of,
)
from prefixlm_teach.rule_arguments import check_lengths

WAYS = ("change", "gradient")


def check_probe(
    model: Any,
    tokens: Any,
    prefix_len: Any,
    valid: Any,
    how: Any,
    ids: Any,
    embedding: Any,
    tolerance: Any,
) -> None:
    """Raise unless `visibility` can begin."""
    if not callable(model):
        raise TypeError(f"model must be something to call, model(tokens, prefix_len), not {kind_of(model)}")
    if isinstance(model, nn.Module) and model.training:
        raise ValueError("the model is in training mode, where dropout is at work: call model.eval() first")
    check_ids("tokens", tokens)
    check_split(tokens, prefix_len, valid)
    if how not in WAYS:
        raise ValueError(f"how must be 'change' or 'gradient', not {kind_of(how)}")
    if ids is not None:
        check_only(how, "change", "ids")
        check_other_ids(ids)
        check_an_other_id(ids, tokens)
    if embedding is not None:
        check_only(how, "gradient", "embedding")
        if not isinstance(embedding, nn.Module):
            raise TypeError(f"embedding must be a layer, such as model.token_emb, not {kind_of(embedding)}")
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float):
        raise TypeError(f"tolerance must be a number, not {kind_of(tolerance)}")
    if not 0 <= tolerance < float("inf"):
        raise ValueError(f"tolerance must be 0 or more, not {tolerance}")


def check_only(how: str, needed: str, name: str) -> None:
    """Raise if an argument is given that this way of probing does not use."""
    if how != needed:
        raise ValueError(f"{name} is only used by how={needed!r}, but how is {how!r}")


def check_other_ids(ids: Any) -> None:
    """Raise unless `ids` is a sequence of whole numbers, at least one."""
    if not isinstance(ids, Sequence) or isinstance(ids, str):
        raise TypeError(f"ids must be a list of whole numbers, not {kind_of(ids)}")
    if not ids:
        raise ValueError("ids is empty: there is nothing to put in a token's place")
    for i, other in enumerate(ids):
        check_int(f"ids[{i}]", other, minimum=0)


def check_an_other_id(ids: Sequence[int], tokens: Tensor) -> None:
    """Raise unless there is an id other than each token's own to put in its place."""
    if len(set(ids)) == 1 and bool((tokens == ids[0]).any()):
        raise ValueError(
            f"nothing to exchange the id {ids[0]} for: use a vocabulary of at least two ids, or more ids"
        )


def check_output(logits: Any, tokens: Tensor, real: Tensor) -> None:
    """Raise unless a model has returned floating (B, T, V) logits for `tokens`, no NaN at `real` ones."""
    wanted = f"({tokens.size(0)}, {tokens.size(1)}, V)"
    if not isinstance(logits, Tensor) or not logits.is_floating_point():
        what = logits.dtype if isinstance(logits, Tensor) else kind_of(logits)
        raise TypeError(
            f"the model must return {wanted} logits, not {what}: wrap it, as in "
            "lambda tokens, prefix_len: model(tokens).logits"
        )
    if logits.ndim != 3 or logits.shape[:2] != tokens.shape or logits.size(-1) == 0:
        raise ValueError(
            f"the model must return {wanted} logits, one row for each token, not {tuple(logits.shape)}"
        )
    check_same_device("tokens", tokens, "the model's answer", logits)
    nan = logits.isnan().any(-1) & real
    if bool(nan.any()):
        b, q = nan.nonzero()[0].tolist()
        raise ValueError(
            f"row {q} of example {b} is NaN: does a softmax run over nothing but -inf? A query that may see "
            "nothing (a pad, say) needs a weight of 0 for every key, or the NaN spreads to every later layer"
        )


def check_steady(moved: Tensor, real: Tensor) -> None:
    """Raise if two equal calls gave different logits: `moved` (B, T) says in which rows."""
    if bool((moved & real).any()):
        raise ValueError(
            "the model gave different logits for the same tokens, so a change would show nothing: call "
            "model.eval() if it has dropout, start from an empty cache, or set a tolerance for rounding"
        )


def check_an_embedding(found: Collection[nn.Module]) -> None:
    """Raise unless a layer was found that turns the tokens into vectors."""
    if not found:
        raise ValueError(
            "no nn.Embedding is given the tokens: say which layer is, with embedding=, or use how='change'"
        )


def check_vectors_of(vectors: Any, tokens: Tensor) -> None:
    """Raise unless the layer given as `embedding` returned floating (B, T, d) vectors."""
    if (
        not isinstance(vectors, Tensor)
        or not vectors.is_floating_point()
        or vectors.ndim != 3
        or vectors.shape[:2] != tokens.shape
    ):
        what = tuple(vectors.shape) if isinstance(vectors, Tensor) else kind_of(vectors)
        raise ValueError(f"embedding must return a vector for each token, {(*tokens.shape, 'd')}, not {what}")


def check_a_gradient(logits: Tensor, vectors: Sequence[Tensor]) -> None:
    """Raise unless the embedding was called and the logits can be differentiated."""
    if not vectors:
        raise ValueError("embedding is not called by the model: give the layer that is given the tokens")
    if not logits.requires_grad:
        raise ValueError(
            "the logits have no gradient: the model cuts it, by torch.no_grad() or detach(). Use how='change'"
        )


def check_no_nan(gradient: Tensor, example: int, row: int) -> None:
    """Raise if a row of logits without NaN has a gradient with NaN."""
    if bool(gradient.isnan().any()):
        raise ValueError(
            f"the gradient of row {row} of example {example} is NaN, though its logits are not: does a "
            "softmax run over nothing but -inf, and is its NaN filled in afterwards? Let such a query see a "
            "key before the softmax, and fill in its weights of 0 after it"
        )


def check_seen(seen: Any) -> None:
    """Raise unless `seen` is what `visibility` returns: booleans, (T, T) or (B, B, T, T)."""
    if not isinstance(seen, Tensor):
        raise TypeError(f"seen must be a tensor of booleans, not {kind_of(seen)}")
    if seen.dtype != torch.bool:
        raise TypeError(f"seen must be boolean (True = seen), not {seen.dtype}")
    if seen.ndim not in (2, 4) or seen.shape[-1] != seen.shape[-2] or seen.shape[0] != seen.shape[1]:
        raise ValueError(
            f"seen must be (T, T) or (B, B, T, T), as visibility returns it, not {tuple(seen.shape)}"
        )
    if seen.numel() == 0:
        raise ValueError(f"seen is empty: its shape is {tuple(seen.shape)}")
    check_has_values("seen", seen)


def check_explained(seen: Any, prefix_len: Any, valid: Any, lengths: Any) -> None:
    """Raise unless `prefix_len`, `valid` and `lengths` fit the table `seen`."""
    check_seen(seen)
    batch, seq_len = (1 if seen.ndim == 2 else len(seen)), seen.shape[-1]
    if valid is not None:
        check_valid(valid, seq_len, batch)
        check_same_device("valid", valid, "seen", seen)
    if lengths is None:
        check_prefix_len(prefix_len, seq_len, valid=valid, batch=batch)
        return
    if batch > 1:
        raise ValueError(f"lengths are of documents packed in one row, but seen is for {batch} examples")
    check_lengths(lengths)
    real = seq_len if valid is None else int(valid.sum())
    if sum(lengths) != real:
        raise ValueError(f"lengths add up to {sum(lengths)}, but the row has {real} real tokens")
    check_prefix_len(prefix_len, seq_len)
    ends = torch.as_tensor(prefix_len).reshape(-1).tolist()
    if len(ends) not in (1, len(lengths)):
        raise ValueError(f"prefix_len is for {len(ends)} documents, but there are {len(lengths)}")
    for d, length in enumerate(lengths):
        p = ends[d if len(ends) > 1 else 0]
        if p > length:
            raise ValueError(f"prefix_len {p} is longer than document {d} ({length} tokens)")
