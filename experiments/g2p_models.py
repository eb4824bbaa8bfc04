"""The models that the pronunciation experiment compares: one call, `model(tokens, prefix_len, valid=valid)`.

`prefix_len` always says where the target begins. What a model lets the prefix see is its own affair.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from prefixlm_teach.encoder_decoder import TinyEncoderDecoder
from prefixlm_teach.model import TinyPrefixLM
from prefixlm_teach.rotary import RotaryPrefixLM


class Decoder(nn.Module):
    """A decoder-only model under a prefix mask or a causal one, with one of three kinds of position.

    Args:
        mask: "prefix" or "causal".
        position: "learned" (absolute, as in TinyPrefixLM), "restarting" (learned, and counted anew from the
            first target token) or "rotary".
        config: as for `TinyPrefixLM`.
    """

    def __init__(self, mask: str, position: str, **config: Any) -> None:
        super().__init__()
        self.mask, self.position = mask, position
        self.model = (RotaryPrefixLM if position == "rotary" else TinyPrefixLM)(**config)
        self.vocab_size, self.max_len = self.model.vocab_size, self.model.max_len

    def forward(self, tokens: Tensor, prefix_len: Tensor, *, valid: Tensor) -> Tensor:
        """Return (B, T, V) logits."""
        seen = prefix_len if self.mask == "prefix" else torch.zeros_like(prefix_len)
        positions = None
        if self.position == "restarting":
            place = valid.cumsum(-1) - 1  # (B, T): 0 at the first real token
            p = prefix_len[:, None]
            positions = torch.where(place < p, place, place - p).clamp(min=0)
        out: Tensor = self.model(tokens, seen, valid=valid, positions=positions)
        return out


def make_model(kind: str, **config: Any) -> nn.Module:
    """Build a model by its name: "prefix-rotary", "causal-learned", ..., or "encdec-<blocks>-<blocks>"."""
    family, _, rest = kind.partition("-")
    if family == "encdec":
        encoder, decoder = map(int, rest.split("-"))
        config.pop("n_layers")
        return TinyEncoderDecoder(n_encoder=encoder, n_decoder=decoder, **config)
    return Decoder(family, rest, **config)
