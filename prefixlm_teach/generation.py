"""Answering: the prompt is the prefix, and each new token is appended to the target."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from tqdm import tqdm

from prefixlm_teach.arguments import check_ids, check_int, check_split
from prefixlm_teach.cache_arguments import check_prompting, knows_cache
from prefixlm_teach.data import END, Pronunciation, Vocabulary, make_prompts
from prefixlm_teach.decoding import decode, prefill
from prefixlm_teach.model import TinyPrefixLM
from prefixlm_teach.sampling import choose
from prefixlm_teach.sampling_arguments import check_sampling, check_seed
from prefixlm_teach.word_arguments import check_eval_mode, check_known, check_prompts


@torch.no_grad()
def generate_greedy(
    model: TinyPrefixLM, tokens: Tensor, *, stop_id: int, max_new_tokens: int, valid: Tensor | None = None
) -> list[list[int]]:
    """Return each example's answer: the likeliest token again and again, until `stop_id`.

    Args:
        model: the model, in eval mode.
        tokens: (B, T) ids of the prompts, padded on the *left*, so that the answers can be appended.
        stop_id: the id that ends an answer.
        max_new_tokens: the length at which an answer is cut off.
        valid: (B, T) booleans, False at padding.

    Returns:
        B lists of ids, without `stop_id`.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, shape or range, a prompt is padded on the
            right, a prompt with its answer may outgrow the model's positions, or the model is in training
            mode, in which dropout would make every answer differ.
    """
    check_eval_mode(model)
    check_ids("tokens", tokens, model.vocab_size)
    check_int("stop_id", stop_id, minimum=0)
    check_known("stop_id", [stop_id], range(model.vocab_size))
    check_int("max_new_tokens", max_new_tokens, minimum=1)
    check_split(tokens, 0, valid)
    if valid is None:
        valid = torch.ones_like(tokens, dtype=torch.bool)
    check_prompts(valid, max_new_tokens, model.max_len)
    prefix_len = valid.sum(-1)  # the whole prompt is prefix
    start = tokens.size(1)
    running = torch.ones_like(prefix_len, dtype=torch.bool)
    for _ in range(max_new_tokens):
        new = model(tokens, prefix_len, valid=valid)[:, -1].argmax(-1)  # (B,)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
        valid = torch.cat([valid, torch.ones_like(valid[:, :1])], dim=1)
        running = running & (new != stop_id)
        if not bool(running.any()):
            break
    answers = tokens[:, start:].tolist()
    return [answer[: answer.index(stop_id)] if stop_id in answer else answer for answer in answers]


@torch.no_grad()
def generate(
    model: TinyPrefixLM,
    tokens: Tensor,
    *,
    prefix_len: int | Tensor | None = None,
    valid: Tensor | None = None,
    stop_id: int | None = None,
    max_new_tokens: int,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    progress: bool = False,
) -> list[list[int]]:
    """Return each example's answer, token after token from a cache, until `stop_id`.

    Args:
        model: the model, in eval mode.
        tokens: (B, T) ids of the prompts.
        prefix_len: p, an int or 0-d tensor for all examples, or (B,) for one split per example; by default
            the whole prompt is prefix.
        valid: (B, T) booleans, False at padding, left or right.
        stop_id: the id that ends an answer; by default none does.
        max_new_tokens: the length at which an answer is cut off.
        temperature: 0 takes the likeliest token again and again; otherwise tokens are drawn, as `choose`
            does it, with these `top_k` and `top_p`.
        top_k: draw only from the k likeliest.
        top_p: draw only from the fewest likeliest tokens that have this share together.
        seed: the same seed gives the same batch the same answers; by default PyTorch's own generator draws.
        progress: show a progress bar.

    Returns:
        B lists of ids, without `stop_id`.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, shape, device or range, a prompt is empty or
            may outgrow the model's positions with its answer, or the model is in training mode.
    """
    check_prompting(model, tokens, prefix_len, valid, stop_id, max_new_tokens)
    check_sampling(temperature, top_k, top_p)
    check_seed(seed)
    if valid is None:
        valid = torch.ones_like(tokens, dtype=torch.bool)
    generator = None if seed is None else torch.Generator(tokens.device).manual_seed(seed)
    answers: list[list[int]] = [[] for _ in tokens]
    running = torch.ones_like(valid[:, 0])  # (B,)
    logits, cache = prefill(model, tokens, prefix_len, valid=valid)
    logits = last_rows(logits, valid)  # (B, V)
    for left in tqdm(range(max_new_tokens - 1, -1, -1), disable=not progress, unit="token"):
        new = choose(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)  # (B,)
        running = running & (new != (-1 if stop_id is None else stop_id))
        if not bool(running.any()):
            break
        for answer, token, goes_on in zip(answers, new.tolist(), running.tolist(), strict=True):
            if goes_on:
                answer.append(token)
        if left:
            logits, cache = decode(model, new[:, None], cache)
            logits = logits[:, 0]
    return answers


def last_rows(logits: Tensor, valid: Tensor) -> Tensor:
    """Return (B, V): from (B, T, V) `logits` the row of each example's last real token."""
    last = valid.cumsum(-1).argmax(-1)  # (B,): the first column that has counted them all
    return logits[torch.arange(len(last), device=last.device), last]


def pronounce(model: TinyPrefixLM, vocabulary: Vocabulary, words: Sequence[str]) -> list[Pronunciation]:
    """Return the model's pronunciation of each word: a tuple of phonemes.

    Args:
        model: trained on the batches of `prefixlm_teach.training_batches`, in eval mode.
        vocabulary: its ids.
        words: spelt with a-z and apostrophes.

    Raises:
        ValueError: there is no word, or one holds a letter that the vocabulary does not know.
    """
    prompts = make_prompts(words, vocabulary)
    stop_id = vocabulary.ids[END]
    answer = generate if knows_cache(model) else generate_greedy  # others have no cache
    answers = answer(model, prompts.tokens, valid=prompts.valid, stop_id=stop_id, max_new_tokens=30)
    return [tuple(vocabulary.decode(answer)) for answer in answers]
