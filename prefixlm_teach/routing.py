"""Which expert computes which token: tokens choose experts, or experts choose tokens.

By token choice each token decides for itself, so it sees no more than before. By expert choice each expert
takes the tokens that suit it best of all, and whether it takes one depends on all the others, those that come
later too: under a causal mask or a prefix mask the labels leak. A capacity makes token choice depend on other
tokens as well: an expert that is full drops whoever comes next. Counted in order within an example, that is
the past; counted over a batch, it is the neighbours.

Sources: token choice, capacity and balance loss, Fedus et al. 2021 (Switch Transformer, arXiv:2101.03961),
equations 1 to 6 and appendix F; expert choice, Zhou et al. 2022 (arXiv:2202.09368), equations 1 and 2, and
its limitation, section 6. Here padding takes part in nothing.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach.arguments import check_rate
from prefixlm_teach.expert_arguments import check_capacity, check_probabilities, check_some_token

ROUNDING = 1e-9  # 50 * 1.1 / 5 is a little more than 11 in floats, and an expert has room for 11


def token_choice(
    probabilities: Tensor,
    valid: Tensor | None = None,
    *,
    capacity_factor: float | None = None,
    over_batch: bool = False,
) -> Tensor:
    """Let each token go to the one expert that it finds likeliest.

    Args:
        probabilities: (B, T, E) floats, of each expert for each token; they sum to 1 over the experts.
        valid: (B, T) booleans, False at padding.
        capacity_factor: an expert has room for so many times its equal share of the tokens, rounded up, and
            drops those that come after. Without it, there is room for all. An example's share grows with its
            length: what is dropped from a short one may be kept in a longer one that begins alike.
        over_batch: count the room over the whole batch, example after example, as the paper's pseudocode
            does, and not for each example alone.

    Returns:
        (B, T, E): the probability of the chosen expert, by which its output is multiplied, and 0 for every
        other; 0 for all where a token was dropped, or is padding.

    Raises:
        TypeError, ValueError: a kind, shape, device or range does not fit.
    """
    check_capacity(capacity_factor, over_batch)
    check_probabilities(probabilities, valid)
    B, T, E = probabilities.shape
    chosen = F.one_hot(probabilities.argmax(-1), E).bool()  # (B, T, E)
    if valid is not None:
        chosen &= valid[..., None]
    if capacity_factor is not None:
        rows = chosen.reshape(1, B * T, E) if over_batch else chosen
        tokens = rows.sum((1, 2), keepdim=True)  # (B, 1, 1), or (1, 1, 1) for the batch
        room = (tokens.double() * capacity_factor / E - ROUNDING).ceil()
        chosen = (rows & (rows.cumsum(1) <= room)).view(B, T, E)
    return probabilities.masked_fill(~chosen, 0.0)


def expert_choice(
    probabilities: Tensor, valid: Tensor | None = None, *, capacity_factor: float = 1.0
) -> Tensor:
    """Let each expert take the tokens of the batch for which it is likeliest.

    Args:
        probabilities: (B, T, E) floats, of each expert for each token; they sum to 1 over the experts.
        valid: (B, T) booleans, False at padding.
        capacity_factor: how many experts compute a token, on average; each expert takes its equal share of
            so many times all tokens, rounded up. Of two that suit it alike it takes the first.

    Returns:
        (B, T, E): the probability of each expert that took the token, and 0 for every other. A token may be
        taken by several experts, or by none.

    Raises:
        TypeError, ValueError: a kind, shape, device or range does not fit.
    """
    check_rate("capacity_factor", capacity_factor)
    check_probabilities(probabilities, valid)
    B, T, E = probabilities.shape
    if valid is None:
        valid = torch.ones(B, T, dtype=torch.bool, device=probabilities.device)
    tokens = int(valid.sum())
    take = min(math.ceil(tokens * capacity_factor / E - ROUNDING), tokens)
    suits = probabilities.masked_fill(~valid[..., None], -1.0).view(B * T, E)
    best = suits.argsort(dim=0, descending=True, stable=True)[:take]  # (take, E) tokens of the batch
    chosen = torch.zeros_like(suits, dtype=torch.bool).scatter_(0, best, True)
    return probabilities.masked_fill(~chosen.view(B, T, E), 0.0)


def balance_loss(probabilities: Tensor, valid: Tensor | None = None) -> Tensor:
    """Return how unevenly tokens choose experts: 1 when all are chosen alike, E when one is chosen by all.

    It is E times the sum over experts of the share of tokens that chose it, times its mean probability. Only
    the latter has a gradient. The paper adds it to the loss a hundredth as strong.

    Args:
        probabilities: (B, T, E) floats, of each expert for each token; they sum to 1 over the experts.
        valid: (B, T) booleans, False at padding, which counts in neither.

    Returns:
        A 0-d tensor. Before any token is dropped: what counts is what was chosen.

    Raises:
        TypeError, ValueError: a kind, shape or device does not fit, or there is no token at all.
    """
    check_probabilities(probabilities, valid)
    check_some_token(valid)
    E = probabilities.size(-1)
    real = probabilities.flatten(0, 1) if valid is None else probabilities[valid]  # (N, E)
    share = F.one_hot(real.argmax(-1), E).to(real.dtype).mean(0)  # (E,)
    return E * (share * real.mean(0)).sum()
