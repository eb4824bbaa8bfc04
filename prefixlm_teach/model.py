"""TinyPrefixLM: a decoder-only Transformer whose only prefix-LM part is the mask it is given.

Blocks are pre-norm (Xiong et al. 2020, arXiv:2002.04745), positions are learned and absolute.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from prefixlm_teach.arguments import check_int, check_share
from prefixlm_teach.attention import PrefixLMAttention
from prefixlm_teach.kernel_arguments import check_has_weights, check_softmax_kernel
from prefixlm_teach.kernels import KERNELS, LINEAR_KERNELS, Kernel, make_ready
from prefixlm_teach.mask_arguments import check_heads, check_hidden, check_model_input
from prefixlm_teach.read_arguments import check_read
from prefixlm_teach.sight import ReadyKernel, Sight, check_seen_fits, dense


class Block(nn.Module):
    """Attention, then a feed-forward layer, each normalised before and added to what came in.

    Args:
        d_model: d, the width.
        n_heads: H, the number of heads.
        dropout: the rate of dropout after the feed-forward layer, at least 0 and below 1.

    Raises:
        TypeError, ValueError: as `TinyPrefixLM`.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        check_share("dropout", dropout, none=True)
        self.attn_norm = nn.LayerNorm(d_model)
        self.attn = PrefixLMAttention(d_model, n_heads)
        self.ff_norm = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(
            nn.Linear(d_model, 4 * d_model),
            nn.GELU(),
            nn.Linear(4 * d_model, d_model),
            nn.Dropout(dropout),
        )

    def forward(self, h: Tensor, mask: Tensor | ReadyKernel, read: Tensor | None = None) -> Tensor:
        """Return (B, T, d) from `h` (B, T, d) under `mask`; arguments and errors as `PrefixLMAttention`.

        With `read`, (B, T) booleans, return (N, d): only the rows where it is True, example after example.
        The feed-forward layer then computes no others.
        """
        check_hidden("h", h, self.attn_norm.weight)
        check_seen_fits(mask, h)
        check_read(read, h)
        h = h + self.attn(self.attn_norm(h), mask)
        if read is not None:
            h = h[read]
        h = h + self.ff(self.ff_norm(h))
        return h


class TinyPrefixLM(nn.Module):
    """A small prefix language model.

    Args:
        vocab_size: V, the number of token ids.
        d_model: d, the width.
        n_heads: H, the number of heads; it must divide d.
        n_layers: the number of blocks.
        max_len: the number of positions: no example may have more real tokens.
        dropout: the rate of dropout, at least 0 and below 1.
        kernel: how attention is computed: a name in `KERNELS`, or a function as they are. It can be set later
            too, `model.kernel = "plain"`, and is no part of the weights or of a checkpoint, not even where it
            is a module: what comes out is the same.

    Raises:
        TypeError, ValueError: a size is not a whole number of at least 1, H does not divide d, `dropout`
            is no rate, or there is no such kernel.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int = 128,
        n_heads: int = 4,
        n_layers: int = 2,
        max_len: int = 128,
        dropout: float = 0.1,
        *,
        kernel: str | Kernel = "auto",
    ) -> None:
        super().__init__()
        check_int("vocab_size", vocab_size, minimum=1)
        check_heads(d_model, n_heads)
        check_int("n_layers", n_layers, minimum=1)
        check_int("max_len", max_len, minimum=1)
        check_share("dropout", dropout, none=True)
        self.kernel = kernel
        self.vocab_size = vocab_size
        self.max_len = max_len
        self.token_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_len, d_model)
        self.layer_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(d_model, n_heads, dropout) for _ in range(n_layers))
        self.output = nn.Linear(d_model, vocab_size)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "kernel":
            self._check_kernel(value)
            self.__dict__[name] = value  # or a module would be taken in among the layers, and stay there
        else:
            super().__setattr__(name, value)

    @staticmethod
    def _check_kernel(kernel: Any) -> None:
        check_softmax_kernel(kernel, KERNELS, LINEAR_KERNELS)

    def forward(
        self,
        tokens: Tensor,
        prefix_len: int | Tensor | None = None,
        *,
        valid: Tensor | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        read: Tensor | None = None,
    ) -> Tensor:
        """Return a guess of the next token at every position.

        Args:
            tokens: (B, T) ids.
            prefix_len: p, an int or 0-d tensor for all examples, or (B,) for one split per example; 0 is a
                causal LM, the real length an encoder.
            valid: (B, T) booleans, False at padding, left or right.
            mask: instead of `prefix_len`, any boolean mask, (T, T) or (B, 1, T, T), True = may attend.
                Padding is closed in it too, where `valid` is given.
            positions: (T,) or (B, T) positions, where they are not simply counted from the first real token.
            read: (B, T) booleans, True at the rows whose logits are wanted, as `read_rows` gives them. From
                the last layer's feed-forward on, no other row is computed.

        Returns:
            (B, T, V) logits; row t is about token t + 1. Rows at padding mean nothing. With `read`, (N, V):
            those of the N rows that are read, example after example.

        Raises:
            TypeError, ValueError: an argument has the wrong kind, shape, device or range, an example is
                longer than `max_len`, both or neither of `prefix_len` and `mask` are given, or the kernel
                cannot do what is asked.
        """
        check_model_input(
            tokens, prefix_len, valid, mask, positions, self.token_emb.weight, self.pos_emb.weight
        )
        check_read(read, tokens)
        mask = self._mask_for(tokens, prefix_len, valid, mask)
        h = self._embed(tokens, valid, positions)
        if read is not None:
            return self._read(h, mask, read)
        for block in self.blocks:
            h = block(h, mask)
        logits: Tensor = self.output(h)
        return logits

    def _read(self, h: Tensor, mask: Any, read: Tensor) -> Tensor:
        *lower, last = self.blocks
        for block in lower:
            h = block(h, mask)
        logits: Tensor = self.output(last(h, mask, read))
        return logits

    def _mask_for(
        self, tokens: Tensor, prefix_len: int | Tensor | None, valid: Tensor | None, mask: Tensor | None
    ) -> Any:  # a mask of booleans, or a kernel made ready
        return make_ready(self.kernel, self._sight_of(tokens, prefix_len, valid, mask))

    def _sight_of(
        self, tokens: Tensor, prefix_len: int | Tensor | None, valid: Tensor | None, mask: Tensor | None
    ) -> Sight:
        p = None if prefix_len is None else torch.as_tensor(prefix_len, device=tokens.device)
        return Sight(tokens.size(1), p, valid, mask)

    def _embed(self, tokens: Tensor, valid: Tensor | None, positions: Tensor | None) -> Tensor:
        if valid is None:
            counted = torch.arange(tokens.size(1), device=tokens.device)  # (T,)
        else:
            counted = (valid.cumsum(-1) - 1).clamp(min=0)  # (B, T): 0 at the first real token
        at = self.pos_emb(counted if positions is None else positions)
        h: Tensor = self.dropout(self.layer_norm(self.token_emb(tokens) + at))
        return h

    def attention_weights(
        self,
        tokens: Tensor,
        prefix_len: int | Tensor | None = None,
        *,
        valid: Tensor | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Return each layer's attention weights, (n_layers, B, H, T, T); arguments and errors as `forward`.

        It runs the model beside the usual path, which never holds these weights. Call `model.eval()` first,
        or dropout makes every call differ. Kernels that have no mask of all pairs are refused.
        """
        check_model_input(
            tokens, prefix_len, valid, mask, positions, self.token_emb.weight, self.pos_emb.weight
        )
        check_has_weights(self.kernel, LINEAR_KERNELS)
        mask = dense(self._sight_of(tokens, prefix_len, valid, mask))
        h = self._embed(tokens, valid, positions)
        weights = []
        for block in self.blocks:
            assert isinstance(block, Block)  # noqa: S101 - for the type checker
            weights.append(block.attn.weights(block.attn_norm(h), mask))
            h = block(h, mask)
        return torch.stack(weights)


def other_block(model: TinyPrefixLM) -> str | None:
    """Return what the first block is that attends or goes on otherwise than a `Block`; None if none does."""
    for block in model.blocks:
        if not isinstance(block, Block) or type(block).forward is not Block.forward:
            return type(block).__name__
        if type(block.attn).forward is not PrefixLMAttention.forward:
            return f"{type(block).__name__} with {type(block.attn).__name__}"
    return None


def config_of(model: TinyPrefixLM) -> dict[str, Any]:
    """Return the arguments that build `model`, read off it, so that they cannot disagree with it."""
    first = model.blocks[0]
    assert isinstance(first, Block)  # noqa: S101 - for the type checker
    return {
        "vocab_size": model.vocab_size,
        "d_model": first.attn.d_model,
        "n_heads": first.attn.n_heads,
        "n_layers": len(model.blocks),
        "max_len": model.max_len,
        "dropout": model.dropout.p,
    }
