"""The cover of a cloze: what BERT, and UniLM after it, put in the place of the tokens that they ask for.

Source: Devlin et al. 2019 (BERT, arXiv:1810.04805), section 3.1.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from prefixlm_teach.loss import IGNORE
from prefixlm_teach.rows import pad_right


def cover(
    rows: Sequence[Sequence[int]],
    places: Sequence[Sequence[int]],
    draws: Sequence[np.random.Generator],
    *,
    mask_id: int,
    vocab_size: int,
    pad_id: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return (B, T) tokens, covered at the `places` of each row, their labels, and which are real.

    A covered token becomes `mask_id` 80 % of the time, any id of the vocabulary, drawn uniformly, 10 % of the
    time, and stays as it is 10 % of the time; `draws` are those of each row.
    """
    tokens, valid = pad_right(rows, pad_id)
    labels = torch.full_like(tokens, IGNORE)
    for i, (at, own) in enumerate(zip(places, draws, strict=True)):
        labels[i, at] = tokens[i, at]
        share = torch.from_numpy(own.random(len(at)))
        any_ids = torch.from_numpy(own.integers(vocab_size, size=len(at)))
        uncovered = torch.where(share < 0.9, any_ids, tokens[i, at])
        tokens[i, at] = uncovered.masked_fill(share < 0.8, operator.index(mask_id))
    return tokens, labels, valid
