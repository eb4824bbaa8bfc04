"""Checks on a mixture of experts: every `check_...` raises in the reader's words beforehand."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.arguments import (
    check_flag,
    check_has_values,
    check_int,
    check_rate,
    check_same_device,
    check_share,
    kind_of,
)
from prefixlm_teach.mask_arguments import check_hidden


def check_experts(d_model: Any, n_experts: Any, route: Any, dropout: Any) -> None:
    """Raise unless a layer can have this width, this many experts, this router and this rate of dropout."""
    check_int("d_model", d_model, minimum=1)
    check_int("n_experts", n_experts, minimum=1)
    if not callable(route):
        raise TypeError(f"route must be called, as token_choice and expert_choice are, not {kind_of(route)}")
    check_share("dropout", dropout, none=True)


def check_expert_input(x: Any, valid: Any, weight: Tensor) -> None:
    """Raise unless `x` is (B, T, d) for a router with this `weight`, and `valid` None or (B, T) booleans."""
    check_hidden("x", x, weight)
    check_real(valid, x, "x")


def check_real(valid: Any, of: Tensor, name: str) -> None:
    """Raise unless `valid` is None, or (B, T) booleans for `of` (B, T, ...), known as `name`.

    A hole is no error: where a mask was made by hand, what nobody sees may stand anywhere.
    """
    if valid is None:
        return
    if not isinstance(valid, Tensor):
        raise TypeError(f"valid must be a (B, T) tensor of booleans, not {kind_of(valid)}")
    if valid.dtype != torch.bool:
        raise TypeError(f"valid must be boolean (True = a real token), not {valid.dtype}: use valid.bool()")
    if valid.shape != of.shape[:2]:
        raise ValueError(f"valid is {tuple(valid.shape)}, but {name} is for {tuple(of.shape[:2])} (B, T)")
    check_same_device("valid", valid, name, of)


def check_probabilities(probabilities: Any, valid: Any) -> None:
    """Raise unless `probabilities` is (B, T, E) and sums to 1 over the experts, and `valid` fits."""
    if not isinstance(probabilities, Tensor):
        raise TypeError(f"probabilities must be a (B, T, E) tensor, not {kind_of(probabilities)}")
    if not probabilities.is_floating_point():
        raise TypeError(f"probabilities must be floating point, not {probabilities.dtype}")
    if probabilities.ndim != 3:
        raise ValueError(f"probabilities must be (B, T, E), not {tuple(probabilities.shape)}")
    if probabilities.numel() == 0:
        raise ValueError(f"probabilities are empty: their shape is {tuple(probabilities.shape)}")
    check_has_values("probabilities", probabilities)
    check_real(valid, probabilities, "probabilities")
    shown = probabilities if valid is None else probabilities[valid]
    close = (shown.float().sum(-1) - 1).abs() <= 0.02  # half precision rounds; NaN is not close to anything
    if not bool(close.all()) or bool((shown < 0).any()):
        raise ValueError(
            "probabilities must sum to 1 over the experts: give the router's scores through a softmax"
        )


def check_gates(gates: Any, x: Tensor, n_experts: int) -> None:
    """Raise unless `gates`, a route's answer for `x` (B, T, d), has a factor for each token and expert."""
    if not isinstance(gates, Tensor):
        raise TypeError(f"route must return a (B, T, E) tensor, not {kind_of(gates)}")
    wanted = (*x.shape[:2], n_experts)
    if gates.shape != wanted:
        raise ValueError(f"route must return factors of shape {wanted}, not {tuple(gates.shape)}")


def check_some_token(valid: Any) -> None:
    """Raise if `valid` leaves no token at all."""
    if valid is not None and not bool(valid.any()):
        raise ValueError("valid leaves no token: a mean over none would be NaN")


def check_capacity(capacity_factor: Any, over_batch: Any) -> None:
    """Raise unless `capacity_factor` is None or a number above 0; to count it over a batch needs one."""
    check_flag("over_batch", over_batch)
    if capacity_factor is not None:
        check_rate("capacity_factor", capacity_factor)
    elif over_batch:
        raise ValueError("over_batch says how a capacity is counted, but there is no capacity_factor")


def check_feed_forward(experts: Any, kind: type, d_model: int) -> None:
    """Raise unless `experts` is a layer of this `kind`, of the width `d_model`."""
    if not isinstance(experts, kind):
        raise TypeError(f"experts must be a MixtureOfExperts, not {kind_of(experts)}")
    width = experts.d_model  # type: ignore[attr-defined]
    if width != d_model:
        raise ValueError(f"experts have the width {width}, but the block has {d_model} (d_model)")


def check_model(model: Any) -> None:
    """Raise unless `model` is a layer, or a model made of layers."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, not {kind_of(model)}")
