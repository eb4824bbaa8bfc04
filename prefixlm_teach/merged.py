"""An encoder-decoder made of a prefix LM's own blocks: what lies between the two, one gap at a time.

An encoder-decoder has other weights for the target, a separate softmax for the prefix, reads the last
encoder layer from every decoder layer, counts positions anew, and shows its start token to both halves. Each
of these can be closed here. When all are, the pair computes what the prefix LM computes.

Sources: Raffel et al. 2020 (T5, arXiv:1910.10683), section 3.2, for the two architectures; Zhang et al. 2025
(T5Gemma 2, arXiv:2512.14856), section 2, for the merged softmax.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from prefixlm_teach.encoder_decoder import look
from prefixlm_teach.masks import bidirectional_mask, causal_mask
from prefixlm_teach.model import TinyPrefixLM
from prefixlm_teach.pair_arguments import check_pair, check_pair_input


def encode_and_decode(
    encoder: TinyPrefixLM,
    decoder: TinyPrefixLM,
    tokens: Tensor,
    prefix_len: int,
    *,
    merged: bool = False,
    same_layer: bool = False,
    continued: bool = False,
    start: Literal["twice", "outside", "once"] = "twice",
) -> Tensor:
    """Encode the prefix with one model's blocks, decode the target with another's, started by its last token.

    With the same model twice, and `merged`, `same_layer` and `continued`, the result is that of the prefix
    LM: with the start token "once" of `model(tokens, prefix_len)`, with it "outside" of
    `model(tokens, prefix_len - 1)`.

    Args:
        encoder: its blocks read the prefix, both ways.
        decoder: its blocks read the last prefix token and the target, looking back; in eval mode, as the
            encoder. The same model for shared weights.
        tokens: (B, T) ids, without padding.
        prefix_len: p, 2 to T, the same for all examples.
        merged: one softmax over what the encoder made and the decoder's own past. Otherwise the decoder
            attends to its past, and then, with the same weights, to the encoder.
        same_layer: a decoder layer reads what the encoder's layer of that number reads. Otherwise all of them
            read what comes out of the encoder's last.
        continued: the target's positions follow the prefix's. Otherwise they begin at 0 again.
        start: the last prefix token starts the decoder. Is it in the encoder too? "twice": yes, and the
            decoder sees both; "outside": no; "once": yes, but the decoder sees only its own.

    Returns:
        (B, T - p + 1, V) logits: row i is about token p + i.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, shape, device or range, the models have unlike
            shapes, or one is in training mode, or has a block of another kind, such as an `ExpertBlock`.
    """
    check_pair(encoder, decoder)
    check_pair_input(decoder, tokens, prefix_len, merged, same_layer, continued, start)
    first = prefix_len - 1  # the column of the token that starts the decoder
    states = encode(encoder, tokens[:, :first] if start == "outside" else tokens[:, :prefix_len])
    target = tokens[:, first:]
    positions = torch.arange(target.size(1), device=tokens.device) + (first if continued else 0)
    h = decoder._embed(target, None, positions)  # (B, T - p + 1, d)
    for layer, block in enumerate(decoder.blocks):
        memory = states[layer if same_layer else -1]
        h = decode_block(block, h, memory[:, :first] if start == "once" else memory, merged)
    logits: Tensor = decoder.output(h)
    return logits


def encode(model: TinyPrefixLM, tokens: Tensor) -> list[Tensor]:
    """Return what goes into each block, and what comes out of the last: (B, S, d) each, nothing hidden."""
    h = model._embed(tokens, None, None)
    states = [h]
    for block in model.blocks:
        h = block(h, bidirectional_mask(tokens.size(1)).to(h.device))
        states.append(h)
    return states


def decode_block(block: Any, h: Tensor, memory: Tensor, merged: bool) -> Tensor:
    """Return (B, R, d) from a decoder's `h` (B, R, d) and an encoder's `memory` (B, S, d), by a `Block`."""
    past = causal_mask(h.size(1)).to(h.device)  # (R, R)
    everything = past.new_ones(h.size(1), memory.size(1))  # (R, S)
    if merged:
        both = block.attn_norm(torch.cat([memory, h], dim=1))  # (B, S + R, d)
        h = h + look(block.attn, block.attn_norm(h), both, torch.cat([everything, past], dim=1))
    else:
        x = block.attn_norm(h)
        h = h + look(block.attn, x, x, past)
        h = h + look(block.attn, block.attn_norm(h), block.attn_norm(memory), everything)
    h = h + block.ff(block.ff_norm(h))
    return h
