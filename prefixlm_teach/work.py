"""Counting the work of an answer, with and without a cache."""

from __future__ import annotations

from typing import NamedTuple

from prefixlm_teach.arguments import check_int, check_prefix_len


class Work(NamedTuple):
    """What a model has to do, in numbers that no machine changes.

    Attributes:
        tokens: how often a token passes through the layers.
        pairs: how many pairs of a query and a key the mask lets through, in each layer and head.
    """

    tokens: int
    pairs: int


def count_work(prompt: int, prefix_len: int, new: int, *, cached: bool) -> Work:
    """Return the work of answering one prompt with `new` tokens.

    Without a cache everything so far is read again for each new token. With one, a token is read once, and
    the work is that of one pass over everything. Nothing is read after the last new token.

    Args:
        prompt: the number of tokens in the prompt, at least 1.
        prefix_len: p, how many of them are prefix: 0 for a causal model.
        new: the number of new tokens, at least 1.
        cached: whether the keys and values are kept.

    Raises:
        TypeError, ValueError: a number is not whole, too small, or the prefix is longer than the prompt.
    """
    check_int("prompt", prompt, minimum=1)
    check_int("prefix_len", prefix_len, minimum=0)
    check_prefix_len(prefix_len, prompt)
    check_int("new", new, minimum=1)
    lengths = range(prompt, prompt + new)  # of what stands before each new token
    read = lengths[-1:] if cached else lengths
    return Work(sum(read), sum(visible_pairs(T, prefix_len) for T in read))


def visible_pairs(seq_len: int, prefix_len: int) -> int:
    """Return how many pairs the mask of a prefix LM lets through: the causal ones, and those that p opens."""
    return seq_len * (seq_len + 1) // 2 + prefix_len * (prefix_len - 1) // 2
