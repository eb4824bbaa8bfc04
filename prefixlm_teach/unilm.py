"""UniLM: one model, four masks. What is covered is asked for in its own row, whatever the mask.

Three of the masks are one rule with three prefix lengths: the whole text, the source, nothing. The fourth
looks to the right.

Sources: Dong et al. 2019 (arXiv:1905.03197), sections 2.1 and 2.3 to 2.5, and the released loader
(microsoft/unilm, `unilm-v1/src/biunilm/seq2seq_loader.py`), which shows fine-tuning, for how many tokens are
covered and how n-grams are. Left out are next sentence prediction, and the segment embeddings that also tell
the model its objective: `TinyPrefixLM` has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from prefixlm_teach.arguments import check_int, check_share
from prefixlm_teach.cover import cover
from prefixlm_teach.examples import Examples
from prefixlm_teach.infill_arguments import (
    check_kinds,
    check_segments,
)
from prefixlm_teach.masks import causal_mask, create_prefix_lm_mask
from prefixlm_teach.row_arguments import check_kind, check_row_seed, check_vocab_size
from prefixlm_teach.rows import chance, draw_int, row_draws
from prefixlm_teach.special_ids import SpecialIds

Kind = Literal["bidirectional", "sequence-to-sequence", "left-to-right", "right-to-left"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Pair = tuple[Sequence[int], Sequence[int]]


@dataclass(frozen=True, kw_only=True)
class UniLMIds(SpecialIds):
    """The ids of the special tokens, all different, that no segment may hold.

    Attributes:
        start: `[SOS]`, begins a row.
        end: `[EOS]`, ends a segment.
        mask: `[MASK]`, covers a token.
        pad: fills a row up; it is never scored.

    Raises:
        TypeError, ValueError: an id is no whole number of at least 0, or two are equal.
    """

    start: int
    end: int
    mask: int
    pad: int


def right_to_left_mask(seq_len: int, *, valid: Tensor | None = None) -> Tensor:
    """Return the mask of a model that reads from the right: each token sees itself and what stands after it.

    It is the causal mask turned over; arguments, shapes and errors are those of `create_prefix_lm_mask`.
    """
    mask = causal_mask(seq_len, valid=valid)
    backwards = torch.ones_like(mask).triu()
    return backwards if valid is None else backwards & valid[:, None, None, :]


def draw_unilm_kinds(examples: int, *, seed: int) -> list[Kind]:
    """Return a kind for each example of a batch, drawn as in pre-training (section 2.4).

    One third is bidirectional, one third sequence-to-sequence, one sixth each left-to-right and
    right-to-left.

    Args:
        examples: B, how many.
        seed: draws the kinds. That of example i depends on the seed and on i alone.

    Returns:
        B names, for `unilm_cloze`.

    Raises:
        TypeError, ValueError: a number is not whole or too small.
    """
    check_int("examples", examples, minimum=1)
    check_row_seed(seed)
    sixths: list[Kind] = [*KINDS[:2], *KINDS]  # the first two have two sixths each
    return [sixths[draw_int(0, 5, row_draws(seed, i))] for i in range(examples)]


def unilm_cloze(
    pairs: Sequence[Pair],
    kinds: Sequence[Kind],
    ids: UniLMIds,
    *,
    vocab_size: int,
    seed: int,
    rate: float = 0.15,
) -> Examples:
    """Return examples that cover some tokens of two segments, and ask for them under the mask of their kind.

    A bidirectional or sequence-to-sequence row is `[SOS] first [EOS] second [EOS]`, and what a
    sequence-to-sequence model sees from both sides ends with the first [EOS]. The others read one segment:
    `[SOS] first second [EOS]`. Special tokens are never covered. Of n others max(1, round(n * rate)) are:
    chosen one by one with a probability of 0.8, as a bigram or a trigram with one of 0.2; if the last n-gram
    makes them too many, some are dropped, any of them. A chosen token becomes [MASK] with a probability of
    0.8, any id of the vocabulary with 0.1, and stays itself with 0.1.

    Args:
        pairs: two segments for each example, rows of ids that follow each other in a text.
        kinds: the objective of each example, as `draw_unilm_kinds` draws them.
        ids: the special tokens.
        vocab_size: V; a random token is any id from 0 to V - 1, a special one too.
        seed: draws places and covers. The draws of example i depend on the seed and on i alone.
        rate: the share of tokens that is covered; 0.15 in the paper.

    Returns:
        A cloze with a (B, 1, T, T) mask: each label is predicted in its own row.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, range or length; a segment is empty or holds a
            special id or one beyond the vocabulary.
    """
    check_kind("ids", ids, UniLMIds)
    check_vocab_size(vocab_size, ids.names())
    check_segments(pairs, ids.names(), vocab_size)
    check_kinds(kinds, KINDS, len(pairs))
    check_row_seed(seed)
    check_share("rate", rate, whole=True)

    rows, prefix_len = [], []
    for (first, second), kind in zip(pairs, kinds, strict=True):
        one_segment = kind in ("left-to-right", "right-to-left")
        between = [] if one_segment else [ids.end]
        row = [ids.start, *first, *between, *second, ids.end]
        rows.append(row)
        prefix_len.append({"bidirectional": len(row), "sequence-to-sequence": len(first) + 2}.get(kind, 0))
    special = ids.names()
    may_cover = [[t for t, token in enumerate(row) if token not in special] for row in rows]
    return _cloze(rows, may_cover, prefix_len, kinds, ids, vocab_size, seed, rate, n_gram_rate=0.2)


def unilm_finetuning(
    pairs: Sequence[Pair], ids: UniLMIds, *, vocab_size: int, seed: int, rate: float = 0.7
) -> Examples:
    """Return examples that cover some tokens of a target, under the sequence-to-sequence mask (section 2.5).

    The model is not asked for the next token, as a causal model is: it fills in covered tokens of a target
    whose others it sees, to their left. The [EOS] after the target can be covered too, so that the model
    learns when to stop. As in the released loader, max(1, round(n * rate)) of the n = len(target) tokens are
    covered, one by one.

    Args:
        pairs: source and target of each example, rows of ids.
        ids: the special tokens.
        vocab_size: V, as in `unilm_cloze`.
        seed: draws places and covers. The draws of example i depend on the seed and on i alone.
        rate: the share of the target that is covered; 0.7 in the paper's summaries.

    Returns:
        A cloze with a (B, 1, T, T) mask: each label is predicted in its own row.

    Raises:
        TypeError, ValueError: as `unilm_cloze`.
    """
    check_kind("ids", ids, UniLMIds)
    check_vocab_size(vocab_size, ids.names())
    check_segments(pairs, ids.names(), vocab_size)
    check_row_seed(seed)
    check_share("rate", rate, whole=True)

    rows = [[ids.start, *source, ids.end, *target, ids.end] for source, target in pairs]
    prefix_len = [len(source) + 2 for source, _ in pairs]
    may_cover = [list(range(p, len(row))) for p, row in zip(prefix_len, rows, strict=True)]
    kinds: list[Kind] = ["sequence-to-sequence"] * len(pairs)
    return _cloze(rows, may_cover, prefix_len, kinds, ids, vocab_size, seed, rate, n_gram_rate=0.0)


def _cloze(
    rows: list[list[int]],
    may_cover: list[list[int]],
    prefix_len: list[int],
    kinds: Sequence[Kind],
    ids: UniLMIds,
    vocab_size: int,
    seed: int,
    rate: float,
    n_gram_rate: float,
) -> Examples:
    draws = [row_draws(seed, i) for i in range(len(rows))]
    places = []
    for row, may, own in zip(rows, may_cover, draws, strict=True):
        words = sum(row[t] != ids.end for t in may)
        places.append(choose_places(may, max(1, round(words * rate)), n_gram_rate, own))
    tokens, labels, valid = cover(
        rows, places, draws, mask_id=ids.mask, vocab_size=vocab_size, pad_id=ids.pad
    )
    with torch.device("cpu"):  # where the tokens are, whatever the default device is
        mask = create_prefix_lm_mask(tokens.size(1), torch.tensor(prefix_len), valid=valid)
        backwards = torch.tensor([kind == "right-to-left" for kind in kinds])[:, None, None, None]
        mask = torch.where(backwards, right_to_left_mask(tokens.size(1), valid=valid), mask)
    return Examples(tokens, labels, valid, mask=mask, cloze=True)


def choose_places(may: list[int], n: int, n_gram_rate: float, draws: np.random.Generator) -> list[int]:
    """Return n of the places that may be covered, chosen one by one or some in a row."""
    allowed = set(may)
    chosen: set[int] = set()
    for place in draws.permutation(may).tolist():
        if len(chosen) >= n:
            break
        if place in chosen:
            continue
        length = draw_int(2, 3, draws) if chance(n_gram_rate, draws) else 1
        for t in range(place, place + length):
            if t not in allowed:
                break  # an n-gram ends where its segment does
            chosen.add(t)
    kept: list[int] = draws.permutation(sorted(chosen))[:n].tolist()
    return kept
