"""Answering: the prompt is the prefix, and each new token is appended to the target."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from prefixlm_teach.arguments import check_ids, check_int, check_split
from prefixlm_teach.data import END, Pronunciation, Vocabulary, make_prompts
from prefixlm_teach.model import TinyPrefixLM
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
    answers = generate_greedy(model, prompts.tokens, valid=prompts.valid, stop_id=stop_id, max_new_tokens=30)
    return [tuple(vocabulary.decode(answer)) for answer in answers]
