"""A balanced encoder-decoder: each half is shaped as one decoder-only model, and as like it as can be.

Only what makes it an encoder-decoder differs from a `TinyPrefixLM`: the encoder looks both ways, and each
decoder block looks into the encoder between attention and feed-forward. Positions go on from prefix to
target, and what is read from the encoder is normalised as a block's own input is.

Source: Zhang et al. 2025 (Encoder-Decoder Gemma, arXiv:2504.06225), section 3.1; section 6 for the
causal encoder.
"""

from __future__ import annotations

from torch import Tensor

from prefixlm_teach.arguments import check_flag, check_int
from prefixlm_teach.encoder_decoder import DecoderBlock, TinyEncoderDecoder


class BalancedDecoderBlock(DecoderBlock):
    """A decoder block that normalises what it reads from the encoder, as it does its own input."""

    def decode(self, h: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Return (B, T, d); arguments and errors as `DecoderBlock`."""
        return super().decode(h, mask, self.cross_norm(memory), memory_mask)


class BalancedEncoderDecoder(TinyEncoderDecoder):
    """An encoder and a decoder of as many blocks, called as `TinyEncoderDecoder` is.

    Args:
        vocab_size: V, the number of token ids; encoder and decoder share their embeddings.
        d_model: d, the width.
        n_heads: H, the number of heads; it must divide d.
        n_layers: the number of encoder blocks, and that of decoder blocks.
        max_len: the number of positions: no example may have more real tokens.
        dropout: the rate of dropout, at least 0 and below 1.
        causal_encoder: let a prefix token see only itself and what stands before it.

    Raises:
        TypeError, ValueError: as `TinyPrefixLM`, or `causal_encoder` is neither True nor False.
    """

    decoder_block = BalancedDecoderBlock

    def __init__(
        self,
        vocab_size: int,
        d_model: int = 128,
        n_heads: int = 4,
        n_layers: int = 2,
        max_len: int = 128,
        dropout: float = 0.1,
        *,
        causal_encoder: bool = False,
    ) -> None:
        check_int("n_layers", n_layers, minimum=1)
        check_flag("causal_encoder", causal_encoder)
        super().__init__(vocab_size, d_model, n_heads, n_layers, n_layers, max_len, dropout)
        self.causal_encoder = causal_encoder

    def _encode(self, tokens: Tensor, place: Tensor, seen: Tensor) -> Tensor:
        return super()._encode(tokens, place, seen.tril() if self.causal_encoder else seen)

    def _decoder_positions(self, place: Tensor, p: Tensor) -> Tensor:
        return place
