"""Checks on words, on what is to be answered, and on the files that hold models."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from prefixlm_teach.arguments import kind_of


def check_known(name: str, values: Iterable[Any], known: Container[Any], hint: str = "") -> None:
    """Raise if one of `values` is not among the `known`; `hint` says which there are."""
    for value in values:
        if value not in known:
            raise ValueError(f"unknown {name} {value!r}" + (f" ({hint})" if hint else ""))


def check_words(words: Any) -> None:
    """Raise unless `words` holds at least one word, each a string of at least one letter."""
    if isinstance(words, str):
        raise TypeError(f"words must be a list of words, not one string: use [{words!r}]")
    if not isinstance(words, Sequence):
        raise TypeError(f"words must be a list of words, not {kind_of(words)}")
    if not words:
        raise ValueError("words is empty: there is no word")
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"words must be strings, not {kind_of(word)}")
        if not word:
            raise ValueError("words holds an empty word: it has no letters")


def check_pairs(pairs: Any) -> None:
    """Raise unless `pairs` holds at least one word with its pronunciation, a tuple of phonemes."""
    if not isinstance(pairs, Sequence) or any(not isinstance(p, tuple) or len(p) != 2 for p in pairs):
        raise TypeError('pairs must be a list of pairs such as ("cat", ("K", "AE", "T"))')
    if not pairs:
        raise ValueError("pairs is empty: there is no word")
    check_words([word for word, _ in pairs])
    for word, said in pairs:
        if isinstance(said, str) or not isinstance(said, Sequence):
            raise TypeError(f"pairs must say {word!r} as a tuple of phonemes, not as {kind_of(said)}")


def check_spelling(words: Iterable[str], letters: Container[str]) -> None:
    """Raise if a word holds anything but `letters`: an upper-case K, say, would be taken for a phoneme."""
    for word in words:
        check_known(f"letter in {word!r}:", word, letters, "words are spelt with a to z and apostrophes")


def check_sounds(pairs: Iterable[tuple[str, Sequence[str]]], phonemes: Container[str]) -> None:
    """Raise if a pronunciation holds anything but `phonemes`."""
    for word, said in pairs:
        check_known(f"phoneme in {word!r}:", said, phonemes, "they are the dictionary's, without stress")


def check_answers(words: Any, answers: Any, listed: Container[str]) -> None:
    """Raise unless `answers` has a tuple of phonemes for each of the `words`, all of them `listed`."""
    check_words(words)
    check_known("word", words, listed, "only words of the dictionary can be marked")
    if isinstance(answers, str) or not isinstance(answers, Sequence):
        raise TypeError(f"answers must be a list of tuples of phonemes, not {kind_of(answers)}")
    if len(answers) != len(words):
        raise ValueError(f"there are {len(words)} words, but {len(answers)} answers")
    for word, answer in zip(words, answers, strict=True):
        if not isinstance(answer, tuple) or not all(isinstance(phoneme, str) for phoneme in answer):
            raise TypeError(f"answers must say {word!r} as a tuple of phonemes, not {kind_of(answer)}")


def check_float32(model: nn.Module) -> None:
    """Raise unless every weight of `model` is float32."""
    for name, weight in model.named_parameters():
        if weight.dtype != torch.float32:
            raise TypeError(
                f"model holds {name} in {weight.dtype}, but a file holds float32: use model.float()"
            )


def check_kind(kind: str, known: Container[str]) -> None:
    """Raise unless a model of this kind can be built again from a file: another computes something else."""
    if kind not in known:
        raise TypeError(
            f"model is a {kind}, but a checkpoint holds a TinyPrefixLM, a TinyCausalLM, a RotaryPrefixLM or "
            "a LinearPrefixLM"
        )


def check_eval_mode(model: nn.Module) -> None:
    """Raise if `model`, or a part of it, is in training mode."""
    if any(part.training for part in model.modules()):
        raise ValueError("the model is in training mode, where dropout is at work: call model.eval() first")


def check_prompts(valid: Tensor, max_new_tokens: int, max_len: int) -> None:
    """Raise if a prompt ends with padding, or if its answer may outgrow the model's positions."""
    if not bool(valid[:, -1].all()):
        raise ValueError("a prompt ends with padding: pad on the left, so that its answer can follow it")
    check_room(valid, max_new_tokens, max_len)


def check_room(valid: Tensor, max_new_tokens: int, max_len: int) -> None:
    """Raise if an answer may outgrow the model's positions."""
    longest = int(valid.sum(-1).max())
    needed = longest + max_new_tokens - 1  # nothing has to follow the last new token
    if needed > max_len:
        raise ValueError(
            f"a prompt of {longest} tokens and max_new_tokens {max_new_tokens} need {needed} positions, "
            f"but this model has {max_len} (max_len)"
        )


def check_file(name: str, path: Any) -> None:
    """Raise unless `path` is the path of a file."""
    if not isinstance(path, Path):
        raise TypeError(f"{name} must be a name or a pathlib.Path, not {kind_of(path)}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no {name} at {path}")


def check_new_file(name: str, path: Any) -> None:
    """Raise unless a file can be made at `path`: its folder is there, and it is none itself."""
    if not isinstance(path, Path):
        raise TypeError(f"{name} must be a pathlib.Path, not {kind_of(path)}: use Path(...)")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{name} is {path}, but there is no folder {path.parent}: make it first")
    if path.is_dir():
        raise IsADirectoryError(f"{name} is {path}, which is a folder: name a file in it")


def check_vocabulary_fits(symbols: int, vocab_size: int) -> None:
    """Raise unless a vocabulary has as many symbols as its model has ids."""
    if symbols != vocab_size:
        raise ValueError(f"the vocabulary has {symbols} symbols, but the model has {vocab_size} ids")
