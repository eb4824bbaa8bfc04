"""Fill in the middle: rearranged so that its middle comes last, a text teaches a causal model to infill.

The attention stays causal and nothing is covered: what makes the model see the suffix is that the suffix now
stands before the middle. Every token is scored, the special ones and the end too.

Sources: Bavarian et al. 2022 (arXiv:2207.14255), section 3 and appendices C and D; the data loader of
StarCoder (bigcode-project/Megatron-LM, `megatron/data/gpt_dataset.py`), whose draws these are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prefixlm_teach.arguments import check_flag, check_share
from prefixlm_teach.examples import Examples, examples_of_rows
from prefixlm_teach.infill_arguments import (
    check_decoded,
    check_function,
    check_texts,
    check_tokeniser,
)
from prefixlm_teach.row_arguments import check_kind, check_row, check_row_seed, check_rows
from prefixlm_teach.rows import chance, documents_of, draw_int, row_draws
from prefixlm_teach.special_ids import SpecialIds

ToIds = Callable[[Any], list[int]]  # a part of a document, text or already ids, to ids


@dataclass(frozen=True, kw_only=True)
class FimIds(SpecialIds):
    """The ids of the special tokens, all different, that no document may hold.

    Attributes:
        prefix: begins every rearranged document, `<fim_prefix>` in StarCoder's vocabulary.
        middle: what follows is to be filled in, `<fim_middle>`.
        suffix: begins the suffix, `<fim_suffix>`.
        end: ends a document, `<|endoftext|>`. A model that fills in says with it that it has reached the
            suffix.
        pad: fills a row up; it is never scored.

    Raises:
        TypeError, ValueError: an id is no whole number of at least 0, or two are equal.
    """

    prefix: int
    middle: int
    suffix: int
    end: int
    pad: int


def arrange_parts(
    prefix: Sequence[int], middle: Sequence[int], suffix: Sequence[int], ids: FimIds, *, spm: bool
) -> list[int]:
    """Return the three parts of a document with the middle last; without a middle, that is the prompt.

    PSM is `<prefix> prefix <suffix> suffix <middle> middle`. SPM, here the paper's variant 2, is
    `<prefix> <suffix> suffix <middle> prefix middle`: a PSM document with an empty prefix, whose middle is
    the prefix and the middle in one.

    Args:
        prefix: ids, none of them special; each part may be empty.
        middle: ids.
        suffix: ids.
        ids: the special tokens.
        spm: True for SPM, False for PSM.

    Returns:
        The ids in their new order, without an end.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, or a part holds a special id.
    """
    check_kind("ids", ids, FimIds)
    for name, part in (("prefix", prefix), ("middle", middle), ("suffix", suffix)):
        check_row(name, part, special=ids.names())
    check_flag("spm", spm)
    return _arrange(prefix, middle, suffix, ids, spm)


def _arrange(
    prefix: Sequence[int], middle: Sequence[int], suffix: Sequence[int], ids: FimIds, spm: bool
) -> list[int]:
    if spm:
        arranged = [ids.prefix, ids.suffix, *suffix, ids.middle, *prefix, *middle]
    else:
        arranged = [ids.prefix, *prefix, ids.suffix, *suffix, ids.middle, *middle]
    return [operator.index(id_) for id_ in arranged]


def fill_in_the_middle(
    documents: Sequence[str | Sequence[int]],
    ids: FimIds,
    *,
    seed: int,
    rate: float = 0.5,
    spm_rate: float = 0.5,
    encode: Callable[[str], list[int]] | None = None,
) -> Examples:
    """Return an example of each document, rearranged with a probability of `rate`, and its end.

    Where to cut: two whole numbers from 0 to the document's length, each drawn uniformly, the smaller first.
    So each part may be empty.

    Args:
        documents: rows of ids, cut between ids. With `encode`, strings, cut between characters, within a
            word too; then each part is encoded on its own, and a document that stays as it is, as a whole.
        ids: the special tokens.
        seed: draws what is rearranged, and how. The draws of document i depend on the seed and on i alone.
        rate: the share of documents that are rearranged; 0.5 in the paper's main models.
        spm_rate: the share of these that are SPM, the others being PSM; 0.5 there.
        encode: text to ids: `Vocabulary.encode` for a vocabulary of characters.

    Returns:
        Causal examples (`prefix_len` is 0): B documents of T columns. Every token but the first is a label.

    Raises:
        TypeError, ValueError: an argument has the wrong kind or range; a document is empty or holds a
            special id, or `encode` returns one.
    """
    check_kind("ids", ids, FimIds)
    check_function("encode", encode)
    if encode is None:
        check_rows(documents, special=ids.names(), name="documents")
    else:
        check_texts("documents", documents)
    check_share("rate", rate, none=True, whole=True)
    check_share("spm_rate", spm_rate, none=True, whole=True)
    check_row_seed(seed)

    to_ids: ToIds = list if encode is None else _checked(encode, ids)
    rows = []
    for i, document in enumerate(documents):
        draws = row_draws(seed, i)
        row = _rearrange(document, ids, spm_rate, to_ids, draws) if chance(rate, draws) else to_ids(document)
        rows.append([*row, ids.end])
    return examples_of_rows(rows, [0] * len(rows), ids.pad)


def fill_in_contexts(
    rows: Sequence[Sequence[int]],
    ids: FimIds,
    *,
    seed: int,
    rate: float = 0.5,
    spm_rate: float = 0.5,
    encode: Callable[[str], list[int]] | None = None,
    decode: Callable[[list[int]], str] | None = None,
) -> Examples:
    """Return an example of each context, a chunk of a long text, whose documents are rearranged within it.

    Rearranged before chunking, a document could lose its whole prefix or suffix to another context. Here
    each context is split at the end tokens, each document in it rearranged with a probability of `rate`,
    all joined again, and what is now too long is cut off at the right. Empty documents stay as they are
    (StarCoder's loader drops the end of one, and may rearrange an empty last one).

    Args:
        rows: contexts, as lists of ids: documents with an end after each, the last of which may be missing.
        ids: the special tokens.
        seed: draws what is rearranged, and how. The draws of row i depend on the seed and on i alone.
        rate: the share of documents that are rearranged.
        spm_rate: the share of these that are SPM.
        encode: text to ids, to cut between characters; when left out, documents are cut between ids.
        decode: ids to text, with `encode`.

    Returns:
        Causal examples, as `fill_in_the_middle`, each at most as long as its row was.

    Raises:
        TypeError, ValueError: an argument has the wrong kind or range; a row is empty or holds a special
            id other than the end; only one of `encode` and `decode` is given.
    """
    check_kind("ids", ids, FimIds)
    check_tokeniser(encode, decode)
    check_rows(rows, special=ids.names(but=ids.end))
    check_share("rate", rate, none=True, whole=True)
    check_share("spm_rate", spm_rate, none=True, whole=True)
    check_row_seed(seed)

    to_ids: ToIds = list if encode is None else _checked(encode, ids)
    made = []
    for i, row in enumerate(rows):
        draws = row_draws(seed, i)
        changed: list[int] = []
        for document in documents_of(row, ids.end):
            end = [token for token in document if token == ids.end]
            text = document[: len(document) - len(end)]
            if text and chance(rate, draws):
                text = _rearrange(_text_of(text, decode), ids, spm_rate, to_ids, draws)
            changed += [*text, *end]
        made.append(changed[: len(row)])
    return examples_of_rows(made, [0] * len(made), ids.pad)


def _rearrange(
    document: str | Sequence[int], ids: FimIds, spm_rate: float, to_ids: ToIds, draws: np.random.Generator
) -> list[int]:
    start, stop = sorted(draw_int(0, len(document), draws) for _ in range(2))
    spm = chance(spm_rate, draws)
    prefix, middle, suffix = document[:start], document[start:stop], document[stop:]
    return _arrange(to_ids(prefix), to_ids(middle), to_ids(suffix), ids, spm)


def _checked(encode: Callable[[str], list[int]], ids: FimIds) -> ToIds:
    def to_ids(part: str) -> list[int]:
        encoded = encode(part)
        check_row("encode(...)", encoded, special=ids.names())
        return list(encoded)

    return to_ids


def _text_of(document: list[int], decode: Callable[[list[int]], str] | None) -> str | list[int]:
    if decode is None:
        return document
    text = decode(document)
    check_decoded(text)
    return text
