"""What an objective makes of a text: tokens, labels, and who may see whom, in one form for all objectives.

A label stands where its token stands, never shifted. Most objectives predict it from the row before; a cloze
(masked LM, UniLM) predicts it in its own row, where the token has been covered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach.loss import IGNORE, label_loss


@dataclass(frozen=True)
class Examples:
    """B examples of T columns, padded on the right.

    Attributes:
        tokens: (B, T) int64 ids, what the model reads.
        labels: (B, T) int64, the token that is asked for at each place, -100 where none is.
        valid: (B, T) booleans, False at padding.
        prefix_len: (B,) int64, the number of prefix tokens; 0 is causal, the real length an encoder. None
            where `mask` says more than a prefix can.
        mask: (B, 1, T, T) booleans, True = may attend, where `prefix_len` is None.
        positions: (B, T) int64, where they are not simply counted from the first token.
        cloze: True where a label is predicted in its own row, False where in the row before.
    """

    tokens: Tensor
    labels: Tensor
    valid: Tensor
    prefix_len: Tensor | None = None
    mask: Tensor | None = None
    positions: Tensor | None = None
    cloze: bool = False

    def logits(self, model: Callable[..., Tensor]) -> Tensor:
        """Return the (B, T, V) logits of a model that is called as `TinyPrefixLM` is."""
        given: dict[str, Tensor] = {"valid": self.valid}
        if self.mask is not None:
            given["mask"] = self.mask
        if self.positions is not None:
            given["positions"] = self.positions
        return model(self.tokens, self.prefix_len, **given)

    def loss(self, logits: Tensor) -> Tensor:
        """Return the mean cross-entropy in nats per label, in float32 (float64 for float64 logits)."""
        if not self.cloze:
            return label_loss(logits, self.labels)
        guesses = logits.flatten(0, 1)  # (B * T, V)
        guesses = guesses.to(torch.promote_types(guesses.dtype, torch.float32))
        return F.cross_entropy(guesses, self.labels.flatten(), ignore_index=IGNORE)


def pad_right(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Return rows of ids as (B, T) int64 tokens, padded on the right, and (B, T) booleans, False there."""
    longest = max(len(row) for row in rows)
    tokens = torch.full((len(rows), longest), pad_id)
    valid = torch.zeros(len(rows), longest, dtype=torch.bool)
    for i, row in enumerate(rows):
        tokens[i, : len(row)] = torch.tensor(row)
        valid[i, : len(row)] = True
    return tokens, valid
