"""A small encoder-decoder for the batches of a prefix LM: it encodes the prefix and writes the target.

The last prefix token is read by the encoder, and once more by the decoder, which it starts.

Source: Vaswani et al. 2017 (arXiv:1706.03762), section 3.1; pre-norm as in `TinyPrefixLM`.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from prefixlm_teach.arguments import check_int, check_share
from prefixlm_teach.attention import PrefixLMAttention
from prefixlm_teach.mask_arguments import (
    check_cross_mask,
    check_encoder_input,
    check_heads,
    check_hidden,
    check_mask_fits,
    check_memory,
)
from prefixlm_teach.model import Block


def look(attn: PrefixLMAttention, x: Tensor, source: Tensor, mask: Tensor) -> Tensor:
    """Attend from `x` (B, R, d) to `source` (B, S, d) under `mask`, (R, S) or (B, 1, R, S): (B, R, d)."""
    q = attn.split_heads(attn.q_proj(x))  # (B, H, R, d_head)
    k = attn.split_heads(attn.k_proj(source))  # (B, H, S, d_head)
    v = attn.split_heads(attn.v_proj(source))
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # (B, H, R, d_head)
    out: Tensor = attn.out_proj(mixed.transpose(1, 2).flatten(2))  # (B, R, d)
    return out


class CrossAttention(PrefixLMAttention):
    """Attention whose queries come from one sequence, and whose keys and values come from another.

    Args and errors: as `PrefixLMAttention`.
    """

    def forward(  # type: ignore[override]  # no kernel is made ready for two sequences
        self, x: Tensor, mask: Tensor, memory: Tensor | None = None
    ) -> Tensor:
        """Mix the tokens of `memory` into those of `x`; without `memory`, as `PrefixLMAttention`.

        Args:
            x: (B, T, d) floats, what the queries are made from.
            mask: booleans, (T, S) or (B, 1, T, S), True = may attend.
            memory: (B, S, d) floats, what the keys and values are made from.

        Returns:
            (B, T, d). A query that may see nothing gets the output bias alone.

        Raises:
            TypeError: `mask` is not boolean, or `x` or `memory` has another dtype than the layer.
            ValueError: a shape or a device does not fit.
        """
        check_hidden("x", x, self.q_proj.weight)
        source = x if memory is None else memory
        check_memory(source, x, self.k_proj.weight)
        check_cross_mask("mask", mask, x, source)
        return look(self, x, source, mask)


class DecoderBlock(Block):
    """A block that looks into the encoder's output between attention and feed-forward.

    Args and errors: as `Block`.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float) -> None:
        super().__init__(d_model, n_heads, dropout)
        self.cross_norm = nn.LayerNorm(d_model)
        self.cross = CrossAttention(d_model, n_heads)

    def decode(self, h: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Return (B, T, d) from what the block below and the encoder found.

        Args:
            h: (B, T, d) floats.
            mask: booleans, (T, T) or (B, 1, T, T), True = may attend.
            memory: (B, S, d) floats, the encoder's.
            memory_mask: booleans, (T, S) or (B, 1, T, S), True = may attend.

        Raises:
            TypeError, ValueError: a kind, shape, dtype or device does not fit.
        """
        check_hidden("h", h, self.attn_norm.weight)
        check_mask_fits(mask, h)
        check_memory(memory, h, self.cross_norm.weight)
        check_cross_mask("memory_mask", memory_mask, h, memory)
        h = h + self.attn(self.attn_norm(h), mask)
        h = h + self.cross(self.cross_norm(h), memory_mask, memory)
        h = h + self.ff(self.ff_norm(h))
        return h


class TinyEncoderDecoder(nn.Module):
    """A small encoder-decoder with the interface of `TinyPrefixLM`.

    Args:
        vocab_size: V, the number of token ids; encoder and decoder share their embeddings.
        d_model: d, the width.
        n_heads: H, the number of heads; it must divide d.
        n_encoder: the number of encoder blocks.
        n_decoder: the number of decoder blocks.
        max_len: the number of positions, counted anew from the decoder's first token.
        dropout: the rate of dropout, at least 0 and below 1.

    Raises:
        TypeError, ValueError: as `TinyPrefixLM`.
    """

    decoder_block: ClassVar[type[DecoderBlock]] = DecoderBlock  # what a decoder is made of

    def __init__(
        self,
        vocab_size: int,
        d_model: int = 128,
        n_heads: int = 4,
        n_encoder: int = 2,
        n_decoder: int = 1,
        max_len: int = 128,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        check_int("vocab_size", vocab_size, minimum=1)
        check_heads(d_model, n_heads)
        check_int("n_encoder", n_encoder, minimum=1)
        check_int("n_decoder", n_decoder, minimum=1)
        check_int("max_len", max_len, minimum=1)
        check_share("dropout", dropout, none=True)
        self.vocab_size = vocab_size
        self.max_len = max_len
        self.token_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_len, d_model)
        self.layer_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.encoder = nn.ModuleList(Block(d_model, n_heads, dropout) for _ in range(n_encoder))
        self.decoder = nn.ModuleList(self.decoder_block(d_model, n_heads, dropout) for _ in range(n_decoder))
        self.output = nn.Linear(d_model, vocab_size)

    def forward(self, tokens: Tensor, prefix_len: int | Tensor, *, valid: Tensor | None = None) -> Tensor:
        """Return a guess of the next token in each row from the last prefix token on.

        Args:
            tokens: (B, T) ids.
            prefix_len: p, at least 1: an int or 0-d tensor for all examples, or (B,) for one per example.
            valid: (B, T) booleans, False at padding, left or right.

        Returns:
            (B, T, V) logits; row t is about token t + 1. Rows before the last prefix token, and rows at
            padding, mean nothing.

        Raises:
            TypeError, ValueError: an argument has the wrong kind, shape, device or range, a prefix is empty,
                or an example is longer than `max_len`.
        """
        check_encoder_input(tokens, prefix_len, valid, self.token_emb.weight, self.pos_emb.weight)
        if valid is None:
            valid = torch.ones_like(tokens, dtype=torch.bool)
        p = torch.as_tensor(prefix_len, device=tokens.device).view(-1, 1)  # (B, 1) or (1, 1)
        place = valid.cumsum(-1) - 1  # (B, T): 0 at the first real token
        in_prefix = valid & (place < p)
        in_decoder = valid & (place >= p - 1)
        T = tokens.size(1)
        causal = torch.ones(T, T, dtype=torch.bool, device=tokens.device).tril_()

        seen = in_prefix[:, None, None, :].expand(-1, 1, T, T)  # (B, 1, T, T)
        memory = self._encode(tokens, place, seen)
        h = self._embed(tokens, self._decoder_positions(place, p))
        for block in self.decoder:
            assert isinstance(block, DecoderBlock)  # noqa: S101 - for the type checker
            h = block.decode(h, causal & in_decoder[:, None, None, :], memory, seen)
        logits: Tensor = self.output(h)
        return logits

    def _encode(self, tokens: Tensor, place: Tensor, seen: Tensor) -> Tensor:
        memory = self._embed(tokens, place)
        for block in self.encoder:
            memory = block(memory, seen)
        return memory

    def _decoder_positions(self, place: Tensor, p: Tensor) -> Tensor:
        return place - (p - 1)  # 0 at the last prefix token

    def _embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        at = self.pos_emb(positions.clamp(min=0))
        h: Tensor = self.dropout(self.layer_norm(self.token_emb(tokens) + at))
        return h
