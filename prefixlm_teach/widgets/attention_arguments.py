"""Checks on what the attention explorer is to show, before the model is run."""

from __future__ import annotations

from typing import Any

from prefixlm_teach.arguments import (
    check_has_values,
    check_ids,
    check_int,
    check_length,
    check_same_device,
    kind_of,
)
from prefixlm_teach.causal import TinyCausalLM
from prefixlm_teach.explorer_arguments import FLOATS, check_one_example
from prefixlm_teach.model import Block, TinyPrefixLM
from prefixlm_teach.widgets.table import table_size
from prefixlm_teach.word_arguments import check_eval_mode

MOST = 2**17  # weights in a table, 350 kB of letters: a page that carries more of them opens slowly


def sizes_of(model: TinyPrefixLM) -> tuple[int, int]:
    """How many layers a model has, and how many heads in each."""
    first = model.blocks[0]
    assert isinstance(first, Block)  # noqa: S101 - for the type checker
    return len(model.blocks), first.attn.n_heads


def check_blocks(model: TinyPrefixLM) -> None:
    """Raise unless `model` has at least one block, each with as many heads as the others."""
    heads = []
    for i, block in enumerate(model.blocks):
        if not isinstance(block, Block):
            raise TypeError(f"block {i} of the model must be a Block, not {kind_of(block)}")
        heads.append(block.attn.n_heads)
    if not heads:
        raise ValueError("the model has no blocks: there is no attention to show")
    if len(set(heads)) > 1:
        raise ValueError(f"the model's blocks have {heads} heads: an explorer shows as many in each")


def check_model_weights(model: TinyPrefixLM) -> None:
    """Raise unless the weights of `model` hold values, in one dtype that PyTorch computes with."""
    dtypes = []
    for weight in model.parameters():
        check_has_values("the model", weight)
        dtypes.append(weight.dtype)
    if len(set(dtypes)) > 1 or dtypes[0] not in FLOATS:
        there = " and ".join(map(str, dict.fromkeys(dtypes)))
        raise TypeError(f"the model holds {there}: use model.float(), so that it can be run")


def check_explorable(model: Any, tokens: Any, symbols: Any, prefix_len: Any) -> None:
    """Raise unless `model` is a TinyPrefixLM in eval mode that can read one example, `tokens` (1, T).

    `symbols` must be T strings, and `prefix_len` a number from 0 to T, or None.
    """
    if not isinstance(model, TinyPrefixLM):
        raise TypeError(f"model must be a TinyPrefixLM, not {kind_of(model)}")
    if isinstance(model, TinyCausalLM):
        raise TypeError("model is a TinyCausalLM: this explorer draws a prefix mask, which it does not have")
    check_eval_mode(model)
    check_blocks(model)
    check_model_weights(model)
    check_ids("tokens", tokens, model.vocab_size)
    check_same_device("tokens", tokens, "the model", model.token_emb.weight)
    check_one_example(tokens, symbols, prefix_len)
    seq_len = tokens.size(1)
    check_length(seq_len, model.max_len)
    n_layers, n_heads = sizes_of(model)
    size = table_size(seq_len, n_layers, n_heads)
    if size > MOST:
        raise ValueError(
            f"{seq_len} tokens in {n_layers} layers of {n_heads} heads have {size:,} weights to choose from, "
            f"one map for each prefix length, and the page carries them all: at most {MOST:,}. "
            "Take fewer tokens"
        )


def check_place(name: str, value: Any, count: int) -> None:
    """Raise unless `value` is the number of one of the `count` layers or heads that `name` counts."""
    check_int(name, value, minimum=0)
    if value >= count:
        there = f"the {name}s are 0 to {count - 1}" if count > 1 else f"the only one is {name} 0"
        raise ValueError(f"there is no {name} {value}: {there}")
