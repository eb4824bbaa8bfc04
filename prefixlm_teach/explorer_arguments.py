"""Checks on what an explorer is to show: every `check_...` raises in the reader's words."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from prefixlm_teach.arguments import (
    check_has_values,
    check_ids,
    check_int,
    check_logits,
    check_prefix_len,
    kind_of,
)
from prefixlm_teach.picture_arguments import check_split_of, check_strings, check_token_lists
from prefixlm_teach.word_arguments import check_eval_mode

MOST = 8  # examples of a batch that find room side by side
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)  # what PyTorch computes with
SHORTEST_TEXT, LONGEST_TEXT, WIDEST = 16, 2**17, 2**16  # of which pairs are counted: T, T and d
LONGEST = 64  # an explorer holds one table for each prefix length: they grow with the square of T


def check_one_example(tokens: Any, symbols: Any, prefix_len: Any) -> None:
    """Raise unless `tokens` is one example, (1, T) ids, with a string in `symbols` for each, and p fits."""
    check_ids("tokens", tokens)
    if len(tokens) != 1:
        raise ValueError(f"an explorer shows one example, not a batch of {len(tokens)}: pass tokens[:1]")
    if tokens.size(1) > LONGEST:
        raise ValueError(
            f"tokens has {tokens.size(1)} columns, and an explorer shows at most {LONGEST}: "
            "it holds the model's answers for every prefix length"
        )
    check_symbols(symbols, tokens.size(1))
    if prefix_len is not None:
        check_split_of(symbols, prefix_len)


def check_symbols(symbols: Any, seq_len: int) -> None:
    """Raise unless `symbols` has a string for each of `seq_len` tokens."""
    check_strings("symbols", symbols, "symbol")
    if len(symbols) != seq_len:
        raise ValueError(f"symbols must name each token once: there are {len(symbols)} for {seq_len} tokens")


def check_models(models: Any) -> None:
    """Raise unless `models` names at least one model, each something to call, in eval mode."""
    if not isinstance(models, Mapping):
        raise TypeError(f"models must be a dict from name to model, not {kind_of(models)}")
    if not models:
        raise ValueError("models is empty: there is nothing to show")
    for name, model in models.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a model must be a string, not {kind_of(name)}")
        if not callable(model):
            raise TypeError(f"model {name!r} must be called with (tokens, prefix_len), not {kind_of(model)}")
        if isinstance(model, nn.Module):
            check_eval_mode(model)


def check_answer(name: str, prefix_len: int, logits: Any, tokens: Tensor) -> None:
    """Raise unless `logits`, what a model said of `tokens`, has the right shape and only finite numbers."""
    if isinstance(logits, Tensor) and (logits.is_nested or logits.layout != torch.strided):
        raise TypeError(f"model {name!r} gives sparse or nested logits: they must be an ordinary tensor")
    check_logits(logits, "tokens", tokens)
    if logits.dtype not in FLOATS:
        raise TypeError(f"model {name!r} gives logits in {logits.dtype}: use logits.float()")
    check_ids("tokens", tokens, logits.size(-1))
    check_has_values("logits", logits)
    if not bool(torch.isfinite(logits).all()):
        raise ValueError(f"model {name!r} gives logits that are not finite, with prefix_len {prefix_len}")


def check_choice(name: str, value: Any, choices: Container[str], said: str) -> None:
    """Raise unless `value` is one of the `choices`; `said` lists them."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {kind_of(value)}")
    if value not in choices:
        raise ValueError(f"{name} {value!r} is not one of {said}")


def check_examples(examples: Any) -> None:
    """Raise unless `examples` is a list of one to eight examples, each a list of at most 64 strings."""
    check_token_lists("examples", examples)
    if len(examples) > MOST:
        raise ValueError(f"there are {len(examples)} examples, and an explorer shows at most {MOST}")
    for b, tokens in enumerate(examples):
        if len(tokens) > LONGEST:
            raise ValueError(
                f"examples[{b}] has {len(tokens)} tokens, and an explorer shows at most {LONGEST}"
            )


def check_example_number(examples: Sequence[Sequence[str]], number: Any) -> None:
    """Raise unless `number` is None or the number of an example."""
    if number is None:
        return
    check_int("borrowed", number, minimum=0)
    if number >= len(examples):
        raise ValueError(f"borrowed is {number}, and the last example is number {len(examples) - 1}")


def check_conversation(prompt: Any, answer: Any) -> None:
    """Raise unless `prompt` and `answer` are lists of strings, none empty, with at most 65 in all."""
    for name, tokens in (("prompt", prompt), ("answer", answer)):
        check_strings(name, tokens)
        if not tokens:
            raise ValueError(f"{name} is empty: it needs at least one token")
    if len(prompt) + len(answer) - 1 > LONGEST:
        raise ValueError(
            f"prompt and answer have {len(prompt) + len(answer)} tokens, and an explorer shows at most "
            f"{LONGEST + 1}, of which the last is never read"
        )


def check_step(step: Any, last: int) -> None:
    """Raise unless `step` is a whole number from 0 to `last`."""
    check_int("step", step, minimum=0)
    if step > last:
        raise ValueError(f"step {step} comes after the last: this answer has {last}")


def check_sizes(sizes: Any) -> None:
    """Raise unless `sizes` is a pair (T, p) of whole numbers: T from 16 to 131,072, p from 0 to T."""
    if not isinstance(sizes, list | tuple) or len(sizes) != 2:
        length = f" of {len(sizes)}" if isinstance(sizes, list | tuple) else ""
        raise TypeError(f"sizes must be a pair (seq_len, prefix_len), not {kind_of(sizes)}{length}")
    seq_len, prefix_len = sizes
    check_int("seq_len", seq_len, minimum=SHORTEST_TEXT)
    if seq_len > LONGEST_TEXT:
        raise ValueError(f"seq_len {seq_len:,} is too long: this explorer counts up to {LONGEST_TEXT:,}")
    if isinstance(prefix_len, Tensor):
        raise TypeError("prefix_len must be one whole number here, not a tensor: use int(prefix_len)")
    check_prefix_len(prefix_len, seq_len)


def check_width(d_model: Any) -> None:
    """Raise unless `d_model` is a whole number from 1 to 65,536."""
    check_int("d_model", d_model, minimum=1)
    if d_model > WIDEST:
        raise ValueError(f"d_model {d_model:,} is too wide: this explorer counts up to {WIDEST:,}")
