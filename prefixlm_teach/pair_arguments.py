"""Checks on encoders and decoders made of other models' blocks: each raises in the reader's words."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from prefixlm_teach.arguments import (
    check_flag,
    check_ids,
    check_int,
    check_length,
    check_prefix_len,
    check_same_device,
    kind_of,
)
from prefixlm_teach.causal import TinyCausalLM
from prefixlm_teach.model import TinyPrefixLM, other_block
from prefixlm_teach.word_arguments import check_eval_mode, check_known

STARTS = ("twice", "outside", "once")


def check_pair(encoder: Any, decoder: Any) -> None:
    """Raise unless both are a `TinyPrefixLM` in eval mode, and one can read what the other makes."""
    for name, model in (("encoder", encoder), ("decoder", decoder)):
        if type(model) is not TinyPrefixLM:  # rotary positions, say, could not be counted in two ways
            raise TypeError(f"{name} must be a TinyPrefixLM, whose blocks it lends, not {kind_of(model)}")
        check_plain_blocks(name, model)
        check_eval_mode(model)
    sizes = [_sizes(model) for model in (encoder, decoder)]
    for size, value in sizes[0].items():
        if value != sizes[1][size]:
            raise ValueError(
                f"encoder and decoder differ in {size}, {value} and {sizes[1][size]}: give them one shape"
            )
    check_same_device("decoder", decoder.output.weight, "encoder", encoder.output.weight)


def _sizes(model: TinyPrefixLM) -> dict[str, Any]:
    return {
        "vocab_size": model.vocab_size,
        "d_model": model.output.in_features,
        "n_layers": len(model.blocks),
        "max_len": model.max_len,
        "dtype": model.output.weight.dtype,
    }


def check_pair_input(
    decoder: TinyPrefixLM,
    tokens: Any,
    prefix_len: Any,
    merged: Any,
    same_layer: Any,
    continued: Any,
    start: Any,
) -> None:
    """Raise unless a pair that passed `check_pair` can read `tokens`, cut after `prefix_len` of them."""
    table: Tensor = decoder.token_emb.weight
    check_ids("tokens", tokens, len(table))
    check_same_device("tokens", tokens, "the model", table)
    check_int("prefix_len", prefix_len, minimum=2)  # one token for the encoder, and the one that starts
    check_prefix_len(prefix_len, tokens.size(1))
    check_length(tokens.size(1), decoder.max_len)
    check_flag("merged", merged)
    check_flag("same_layer", same_layer)
    check_flag("continued", continued)
    check_known("start", [start], STARTS, "there are: " + ", ".join(STARTS))


def check_adaptable(model: Any) -> None:
    """Raise unless `model` is a `TinyCausalLM`, from whose weights others can begin."""
    if type(model) is not TinyCausalLM:
        raise TypeError(
            f"model must be a TinyCausalLM, as load_checkpoint('g2p_causal') gives, not {kind_of(model)}"
        )
    check_plain_blocks("model", model)


def check_plain_blocks(name: str, model: TinyPrefixLM) -> None:
    """Raise unless each block of `model`, known as `name`, is a `Block`: others can be made of its parts."""
    kind = other_block(model)
    if kind is not None:
        raise TypeError(
            f"{name} has a block of another kind, {kind}: what is made of a model's blocks needs each to be "
            "a Block, with one attention and one feed-forward layer"
        )
