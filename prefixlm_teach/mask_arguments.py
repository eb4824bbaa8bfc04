"""Checks on masks and on what goes into attention, as `arguments` has them for the rest."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.arguments import (
    check_has_values,
    check_ids,
    check_int,
    check_length,
    check_positions,
    check_same_device,
    check_split,
    kind_of,
)


def check_bool(mask: Any, name: str = "mask") -> None:
    """Raise unless `mask`, known as `name`, is a tensor of booleans."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"{name} must be a tensor of booleans, not {kind_of(mask)}")
    if mask.dtype != torch.bool:
        raise TypeError(
            f"{name} must be boolean (True = may attend), not {mask.dtype}. A 0/1 float mask would be added "
            f"to the scores and hide nothing: use {name}.bool(), or {name} == 0 for one made of 0 and -inf"
        )


def check_bool_mask(mask: Any) -> None:
    """Raise unless `mask` is a boolean tensor, (T, T) or (B, 1, T, T), with at least one row."""
    check_bool(mask)
    if mask.ndim == 3:
        raise ValueError(
            f"mask must be (T, T) or (B, 1, T, T), not {tuple(mask.shape)}, whose first dimension would be "
            "taken for heads: use mask[:, None]"
        )
    if mask.ndim not in (2, 4) or (mask.ndim == 4 and mask.shape[1] != 1):
        raise ValueError(f"mask must be (T, T) or (B, 1, T, T), not {tuple(mask.shape)}")
    if mask.numel() == 0:
        raise ValueError(f"mask is empty: its shape is {tuple(mask.shape)}")


def check_score_dtype(dtype: Any) -> None:
    """Raise unless `dtype` is one in which PyTorch computes attention, and which has an infinity."""
    if dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError(f"dtype must be torch.float16, bfloat16, float32 or float64, not {dtype}")


def check_mask_fits(mask: Any, of: Tensor) -> None:
    """Raise unless `mask` is boolean and fits `of`, whose first two dimensions are (B, T)."""
    check_bool_mask(mask)
    check_same_device("mask", mask, "the input", of)
    batch, seq_len = of.shape[:2]
    if mask.shape[-2:] != (seq_len, seq_len) or (mask.ndim == 4 and mask.shape[0] not in (1, batch)):
        raise ValueError(
            f"mask is {tuple(mask.shape)}, but {batch} examples of {seq_len} tokens need "
            f"{(seq_len, seq_len)} or {(batch, 1, seq_len, seq_len)}"
        )


def check_one_mask(prefix_len: Any, mask: Any) -> None:
    """Raise unless exactly one of `prefix_len` and `mask` says who may attend to whom."""
    if prefix_len is None and mask is None:
        raise TypeError("say where the prefix ends: pass prefix_len (0 for a causal model), or a mask")
    if prefix_len is not None and mask is not None:
        raise TypeError("pass prefix_len or mask, not both: a mask already says where the prefix ends")


def check_model_input(
    tokens: Any,
    prefix_len: Any,
    valid: Any,
    mask: Any,
    positions: Any,
    token_table: Tensor,
    position_table: Tensor,
) -> None:
    """Raise unless a model with these embedding tables, (V, d) and (max_len, d), can take the rest."""
    check_ids("tokens", tokens, len(token_table))
    check_same_device("tokens", tokens, "the model", token_table)
    check_one_mask(prefix_len, mask)
    check_split(tokens, 0 if prefix_len is None else prefix_len, valid)
    if mask is not None:
        check_mask_fits(mask, tokens)
    if positions is not None:
        check_positions(positions, tokens, len(position_table))
    else:
        check_length(tokens.size(1) if valid is None else int(valid.sum(-1).max()), len(position_table))


def check_heads(d_model: Any, n_heads: Any) -> None:
    """Raise unless the width `d_model` can be cut into `n_heads` equal heads."""
    check_int("d_model", d_model, minimum=1)
    check_int("n_heads", n_heads, minimum=1)
    if d_model % n_heads:
        raise ValueError(f"d_model {d_model} cannot be cut into {n_heads} equal heads (n_heads)")


def check_even_heads(d_model: Any, n_heads: Any) -> None:
    """Raise unless each of the equal heads has an even number of numbers, which rotate in pairs."""
    check_heads(d_model, n_heads)
    if d_model // n_heads % 2:
        raise ValueError(
            f"rotary positions turn pairs of numbers, but d_model {d_model} in {n_heads} heads (n_heads) "
            f"gives a head {d_model // n_heads} numbers, which is odd"
        )


def check_even_vectors(x: Any) -> None:
    """Raise unless `x` is a floating (..., T, d_head) tensor whose vectors can be cut into pairs."""
    _check_vectors("x", x)
    check_has_values("x", x)
    if x.shape[-1] % 2:
        raise ValueError(f"x has vectors of {x.shape[-1]} numbers, but rotary positions turn pairs of them")


def check_no_positions(positions: Any) -> None:
    """Raise if `positions` are passed to a model whose positions are the columns themselves."""
    if positions is not None:
        raise ValueError(
            "positions cannot be passed to a model with rotary positions, where a token's column is its "
            "position: leave positions out"
        )


def check_encoder_input(
    tokens: Any, prefix_len: Any, valid: Any, token_table: Tensor, position_table: Tensor
) -> None:
    """Raise unless an encoder-decoder with these embedding tables can take the rest; p is at least 1."""
    check_ids("tokens", tokens, len(token_table))
    check_same_device("tokens", tokens, "the model", token_table)
    check_split(tokens, prefix_len, valid)
    check_length(tokens.size(1) if valid is None else int(valid.sum(-1).max()), len(position_table))
    if bool((torch.as_tensor(prefix_len) < 1).any()):
        raise ValueError(
            "prefix_len must be at least 1 for an encoder-decoder: the last prefix token starts the decoder"
        )


def check_memory(memory: Any, x: Tensor, weight: Tensor) -> None:
    """Raise unless `memory` is (B, S, d) for the examples of `x` (B, T, d), which passed `check_hidden`."""
    check_hidden("memory", memory, weight)
    if len(memory) != len(x):
        raise ValueError(f"memory is for {len(memory)} examples, but there are {len(x)}")


def check_cross_mask(name: str, mask: Any, x: Tensor, memory: Tensor) -> None:
    """Raise unless `mask`, known as `name`, is boolean and says what each token of `x` sees of `memory`."""
    check_bool(mask, name)
    check_same_device(name, mask, "the input", x)
    wanted = (len(x), 1, x.size(1), memory.size(1))  # (B, 1, T, S)
    if mask.shape not in (wanted, wanted[2:], (1, *wanted[1:])):
        raise ValueError(
            f"{name} is {tuple(mask.shape)}, but {x.size(1)} tokens that look at {memory.size(1)}, in "
            f"{len(x)} examples, need {wanted[2:]} or {wanted}"
        )


def check_hidden(name: str, x: Any, weight: Tensor) -> None:
    """Raise unless `x` is a (B, T, d) tensor that a layer with this `weight` (..., d) can take."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a (B, T, d) tensor, not {kind_of(x)}")
    if not x.is_floating_point():
        raise TypeError(f"{name} must be floating point, not {x.dtype}")
    if x.ndim != 3 or x.shape[-1] != weight.shape[-1]:
        raise ValueError(f"{name} must be (B, T, {weight.shape[-1]}), not {tuple(x.shape)}")
    if x.numel() == 0:
        raise ValueError(f"{name} is empty: its shape is {tuple(x.shape)}")
    check_same_device(name, x, "the layer", weight)
    if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
        raise TypeError(
            f"{name} is {x.dtype}, but the layer is {weight.dtype}: use {name}.to({weight.dtype})"
        )


def check_keys(q: Any, k: Any) -> None:
    """Raise unless the queries `q` (..., T, d_head) and the keys `k` (..., K, d_head) fit each other."""
    _check_vectors("q", q)
    _check_vectors("k", k)
    _check_alike("k", k, "q", q)
    if k.shape[:-2] != q.shape[:-2] or k.shape[-1] != q.shape[-1]:
        raise ValueError(f"k is {tuple(k.shape)}, which does not fit q, {tuple(q.shape)}")


def check_queries(q: Any, k: Any, mask: Any) -> None:
    """Raise unless `q` (..., T, d_head), `k` (..., K, d_head) and the boolean `mask` fit each other."""
    check_keys(q, k)
    check_bool(mask)
    check_same_device("mask", mask, "q", q)
    wanted = (*q.shape[:-1], k.shape[-2])  # (..., T, K)
    fits = mask.ndim in (2, q.ndim) and mask.shape[-2:] == wanted[-2:]
    if not fits or any(m not in (1, w) for m, w in zip(mask.shape[::-1], wanted[::-1], strict=False)):
        raise ValueError(
            f"mask is {tuple(mask.shape)}, but the scores of q and k are {wanted}: give {wanted[-2:]}, or "
            "each dimension, with a 1 where all share it (one fewer would be taken for one mask per head)"
        )


def check_values(v: Any, k: Tensor) -> None:
    """Raise unless the values `v` (..., K, d_head) fit the keys `k`, which have passed `check_queries`."""
    _check_vectors("v", v)
    _check_alike("v", v, "k", k)
    if v.shape[:-1] != k.shape[:-1]:
        raise ValueError(f"v is {tuple(v.shape)}, which does not fit k, {tuple(k.shape)}")


def _check_vectors(name: str, x: Any) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a (..., T, d_head) tensor, not {kind_of(x)}")
    if not x.is_floating_point():
        raise TypeError(f"{name} must be floating point, not {x.dtype}")
    if x.ndim < 2:
        raise ValueError(f"{name} must be (..., T, d_head), not {tuple(x.shape)}")
    if x.numel() == 0:
        raise ValueError(f"{name} is empty: its shape is {tuple(x.shape)}")


def _check_alike(name: str, x: Tensor, other_name: str, other: Tensor) -> None:
    check_same_device(name, x, other_name, other)
    if x.dtype != other.dtype:
        raise TypeError(f"{name} is {x.dtype}, but {other_name} is {other.dtype}")
