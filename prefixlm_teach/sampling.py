"""Choosing the next token from the logits: the likeliest, or one drawn from the likely ones.

Sources: Fan et al. 2018 (top-k, arXiv:1805.04833); Holtzman et al. 2020 (top-p, arXiv:1904.09751).
"""

from __future__ import annotations

import torch
from torch import Tensor

from prefixlm_teach.sampling_arguments import check_generator, check_sampling, check_scores


def choose(
    logits: Tensor,
    *,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return one token for each example.

    Args:
        logits: (B, V) floats, all finite.
        temperature: 0 takes the likeliest token, and of equals the lowest id. Otherwise the logits are
            divided by it and a token is drawn: below 1 the likely ones gain, above 1 they lose.
        top_k: draw only from the k likeliest, of equals from the lowest ids; all, if there are fewer.
        top_p: then draw only from the fewest likeliest tokens that have at least this share together; there
            is always one.
        generator: draws the numbers, on the device of `logits`; by default PyTorch's own.

    Returns:
        (B,) int64 ids.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, shape or range, or a logit is not finite.
    """
    check_scores(logits)
    check_sampling(temperature, top_k, top_p)
    check_generator(generator)
    if temperature == 0:
        return logits.argmax(-1)
    ids, shares = candidates(logits, temperature, top_k, top_p)
    drawn = torch.multinomial(shares, 1, generator=generator)  # (B, 1)
    return ids.gather(-1, drawn)[:, 0]


def candidates(
    logits: Tensor, temperature: float, top_k: int | None, top_p: float | None
) -> tuple[Tensor, Tensor]:
    """Return the ids that `choose` may draw, likeliest first, and each one's share: (B, K) both.

    Arguments are those of `choose`, the temperature above 0. What `top_p` leaves out has a share of 0.
    """
    scores = logits.to(torch.promote_types(logits.dtype, torch.float32))
    scores, ids = scores.sort(dim=-1, descending=True, stable=True)  # (B, V)
    K = min(top_k or len(ids[0]), len(ids[0]))
    scores, ids = scores[:, :K], ids[:, :K]  # (B, K)
    shares = ((scores - scores[:, :1]) / temperature).softmax(-1)
    if top_p is not None and top_p < 1:
        before = shares.cumsum(-1) - shares  # what the likelier ones have together
        shares = shares.masked_fill(before >= top_p, 0.0)
    return ids, shares / shares.sum(-1, keepdim=True)
