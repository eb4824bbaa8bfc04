"""Checks on what is read with a cache: every `check_...` raises in the reader's words beforehand."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.arguments import (
    check_ids,
    check_int,
    check_prefix_len,
    check_same_device,
    check_split,
    kind_of,
)
from prefixlm_teach.cache import KeyValueCache
from prefixlm_teach.linear_model import LinearPrefixLM
from prefixlm_teach.linear_state import LinearState
from prefixlm_teach.mask_arguments import check_model_input
from prefixlm_teach.model import Block, TinyPrefixLM, other_block
from prefixlm_teach.word_arguments import check_eval_mode, check_known, check_room

WHOLE = (
    "Prefix tokens see each other, so one more changes the keys and values of all of them above the first "
    "layer, and a cache would go on with the old ones"
)


def check_decoder(model: Any) -> None:
    """Raise unless a cache can be made for `model`, and it is in eval mode."""
    if not knows_cache(model):
        raise TypeError(f"model must be a TinyPrefixLM, whose layers a cache knows, not {kind_of(model)}")
    check_eval_mode(model)


def knows_cache(model: Any) -> bool:
    """Return whether `model` is a `TinyPrefixLM`, rotary or not, whose forward passes are all as there."""
    if not isinstance(model, TinyPrefixLM) or type(model).forward is not TinyPrefixLM.forward:
        return False
    return other_block(model) is None


def check_prefill(model: Any, tokens: Any, prefix_len: Any, valid: Any, cache: Any) -> None:
    """Raise unless `model` can read the prompts `tokens` at once, with nothing before them."""
    check_decoder(model)
    if cache is not None:
        raise ValueError(
            f"cache is given, but a prefix is prefilled whole, in one call. {WHOLE}. Prefill all of it "
            "together; tokens of the target go to decode, as many at once as you like"
        )
    p = 0 if prefix_len is None else prefix_len
    check_model_input(tokens, p, valid, None, None, model.token_emb.weight, model.pos_emb.weight)


def check_prompting(
    model: Any, tokens: Any, prefix_len: Any, valid: Any, stop_id: Any, max_new_tokens: Any
) -> None:
    """Raise unless `model` can answer the prompts `tokens`: each has a token, and room for its answer."""
    check_prefill(model, tokens, prefix_len, valid, None)
    if stop_id is not None:
        check_int("stop_id", stop_id, minimum=0)
        check_known("stop_id", [stop_id], range(model.vocab_size))
    check_int("max_new_tokens", max_new_tokens, minimum=1)
    real = torch.ones_like(tokens, dtype=torch.bool) if valid is None else valid
    if not bool(real.any(-1).all()):
        row = int((~real.any(-1)).int().argmax())
        raise ValueError(f"valid leaves example {row} without a token: nothing is there to be continued")
    check_room(real, max_new_tokens, model.max_len)


def check_decode(model: Any, tokens: Any, cache: Any, prefix_len: Any, valid: Any) -> None:
    """Raise unless `model` made `cache` and can read `tokens` after it, all of them target."""
    check_decoder(model)
    check_cache(cache, model)
    check_ids("tokens", tokens, model.vocab_size)
    check_same_device("tokens", tokens, "the model", model.token_emb.weight)
    if len(tokens) != len(cache.valid):
        raise ValueError(f"tokens is for {len(tokens)} examples, but the cache holds {len(cache.valid)}")
    check_split(tokens, 0, valid)
    if prefix_len is not None:
        check_same_prefix(prefix_len, cache, cache.valid.size(1) + tokens.size(1))
    new = torch.full_like(cache.prefix_len, tokens.size(1)) if valid is None else valid.sum(-1)
    longest = int((cache.length + new).max())
    if longest > model.max_len:
        raise ValueError(
            f"with these tokens an example has {longest} of them, but this model has {model.max_len} "
            "positions (max_len)"
        )


def check_cache(cache: Any, model: TinyPrefixLM) -> None:
    """Raise unless `cache` has the layers, the heads, the dtype and the device of `model`."""
    if not isinstance(cache, KeyValueCache):
        raise TypeError(f"cache must be what prefill or decode returned second, not {kind_of(cache)}")
    weight = model.token_emb.weight
    heads = [
        (block.attn.n_heads, block.attn.d_model // block.attn.n_heads)
        for block in model.blocks
        if isinstance(block, Block)
    ]
    linear = isinstance(model, LinearPrefixLM)
    kept = [layer.memory if isinstance(layer, LinearState) else layer[0] for layer in cache.layers]
    if heads != [(each.size(1), each.size(3)) for each in kept] or any(
        isinstance(layer, LinearState) != linear for layer in cache.layers
    ):
        raise ValueError("the cache was made by another model: its layers or heads are not this model's")
    dtype = torch.promote_types(weight.dtype, torch.float32) if linear else weight.dtype  # a state sums up
    if (kept[0].dtype, kept[0].device) != (dtype, weight.device):
        raise ValueError(
            f"the cache is {kept[0].dtype} on {kept[0].device}, but the model is now {weight.dtype} on "
            f"{weight.device}: prefill again"
        )


def check_same_prefix(prefix_len: Any, cache: KeyValueCache, seq_len: int) -> None:
    """Raise unless `prefix_len` is what it was at `prefill`; it has to fit into `seq_len` columns."""
    B = len(cache.prefix_len)
    check_prefix_len(prefix_len, seq_len, batch=B)
    if isinstance(prefix_len, Tensor):
        check_same_device("prefix_len", prefix_len, "the cache", cache.prefix_len)
    now = torch.as_tensor(prefix_len).to(cache.prefix_len).expand(B)
    if bool((now != cache.prefix_len).any()):
        row = int((now != cache.prefix_len).int().argmax())
        raise ValueError(
            f"prefix_len {int(now[row])} is not the {int(cache.prefix_len[row])} that example {row} was "
            f"prefilled with. {WHOLE}. Prefill the longer prefix anew, or append the tokens as target"
        )
