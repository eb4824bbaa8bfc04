"""CodeGen2's mixture: half of the rows as they are, half with spans moved to the end, read left to right.

As in fill-in-the-middle the attention is causal and every token is scored; as in T5 there are several spans,
and a mask stands where each was. No token says which of the two a row is.

Sources: Nijkamp et al. 2023 (arXiv:2305.02309), the lesson on the objective; the prompt and the special
tokens from the model cards (Salesforce/codegen2-1B). Code for this objective was not found. Reported of the
paper are: a share of 0.5; a ratio of the text to move, drawn anew, then a span length, drawn uniformly, then
places that match the ratio; each document of a row for itself. The bounds of the ratio and of the length were
found nowhere, so they have no defaults here. That the ratio is uniform, that a document has one span length,
and that all places are as likely, is a reading of it.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prefixlm_teach.arguments import check_share
from prefixlm_teach.examples import Examples, examples_of_rows
from prefixlm_teach.infill_arguments import (
    check_enough_masks,
    check_mask_ids,
    check_mask_ratio,
    check_span_lens,
    check_spans_fit,
)
from prefixlm_teach.row_arguments import check_kind, check_row, check_row_seed, check_rows
from prefixlm_teach.rows import chance, documents_of, draw_int, row_draws
from prefixlm_teach.special_ids import SpecialIds


@dataclass(frozen=True, kw_only=True)
class CodeGen2Ids(SpecialIds):
    """The ids of the special tokens, all different, that no text may hold.

    Attributes:
        masks: `<mask_1>`, `<mask_2>`, ...: the first stands for a document's first span, and so on.
        sep: `<sep>`, between a document and the spans that were moved out of it.
        eom: `<eom>`, ends a span: a model that fills in stops here.
        end: `<|endoftext|>`, ends a document.
        pad: fills a row up; it is never scored.

    Raises:
        TypeError, ValueError: an id is no whole number of at least 0, or two are equal, or there is no mask.
    """

    masks: tuple[int, ...]
    sep: int
    eom: int
    end: int
    pad: int

    def __post_init__(self) -> None:
        check_mask_ids(self.masks)
        super().__post_init__()


def codegen2_prompt(prefix: Sequence[int], suffix: Sequence[int], ids: CodeGen2Ids) -> list[int]:
    """Return the prompt that asks for what is missing between a prefix and a suffix.

    It is `prefix <mask_1> suffix <|endoftext|> <sep> <mask_1>`; the answer ends with `<eom>`.

    Args:
        prefix: ids, none of them special; it may be empty.
        suffix: as `prefix`.
        ids: the special tokens.

    Returns:
        The ids of the prompt.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, or a part holds a special id.
    """
    check_kind("ids", ids, CodeGen2Ids)
    check_row("prefix", prefix, special=ids.names())
    check_row("suffix", suffix, special=ids.names())
    prompt = [*prefix, ids.masks[0], *suffix, ids.end, ids.sep, ids.masks[0]]
    return [operator.index(id_) for id_ in prompt]


def codegen2_mixture(
    rows: Sequence[Sequence[int]],
    ids: CodeGen2Ids,
    *,
    seed: int,
    mask_ratio: tuple[float, float],
    span_lens: tuple[int, int],
    rate: float = 0.5,
) -> Examples:
    """Return an example of each row; with a probability of `rate`, spans of its documents are moved.

    A document becomes `text <mask_1> text <mask_2> ... <|endoftext|> <sep> <mask_1> span <eom> <mask_2> ...`.
    The documents of a row are treated one by one and joined again, so that no span crosses from one into the
    next; each counts its masks from 1. A document of L tokens, its end not counted, is given
    max(1, round(L * ratio / length)) spans of one length, or as many as it has room for, if these are fewer.
    Two spans may touch.

    Args:
        rows: rows of ids, documents with an end after each, the last of which may be missing: then it has
            been cut off, and has no end before `<sep>` either.
        ids: the special tokens.
        seed: draws which rows, and which spans. The draws of row i depend on the seed and on i alone.
        mask_ratio: the lowest and the highest share of a document that is moved, drawn uniformly for each.
        span_lens: the shortest and the longest span, in tokens, both included, drawn uniformly for each
            document.
        rate: the share of rows that are treated so, 0.5 in the paper; the others stay as they are.

    Returns:
        Causal examples (`prefix_len` is 0): B rows of T columns. Every token but the first is a label. A
        treated document is longer by 1 and by 3 for each span.

    Raises:
        TypeError, ValueError: an argument has the wrong kind or range; a row is empty or holds a special id
            other than the end; a document is shorter than the longest span, or may need more masks than
            there are.
    """
    check_kind("ids", ids, CodeGen2Ids)
    check_rows(rows, special=ids.names(but=ids.end))
    check_row_seed(seed)
    check_mask_ratio(mask_ratio)
    check_span_lens(span_lens)
    check_share("rate", rate, none=True, whole=True)
    shortest, longest = (operator.index(length) for length in span_lens)
    documents = [documents_of(row, ids.end) for row in rows]
    lengths = [[len(_text_of(document, ids)) for document in row] for row in documents]
    if rate > 0:
        check_spans_fit(lengths, longest)
        check_enough_masks(lengths, ids.masks, lambda L: _number_of_spans(L, mask_ratio[1], shortest))

    made = []
    for i, row in enumerate(documents):
        draws = row_draws(seed, i)
        if chance(rate, draws):
            changed = [_move_spans(document, ids, mask_ratio, (shortest, longest), draws) for document in row]
        else:
            changed = row
        made.append([token for document in changed for token in document])
    return examples_of_rows(made, [0] * len(made), ids.pad)


def _text_of(document: list[int], ids: CodeGen2Ids) -> list[int]:
    return [token for token in document if token != ids.end]


def _number_of_spans(L: int, ratio: float, span_len: int) -> int:
    return min(max(1, round(L * ratio / span_len)), L // span_len)


def _move_spans(
    document: list[int],
    ids: CodeGen2Ids,
    mask_ratio: tuple[float, float],
    span_lens: tuple[int, int],
    draws: np.random.Generator,
) -> list[int]:
    text = _text_of(document, ids)
    if not text:
        return document
    low, high = mask_ratio
    ratio = low + (high - low) * draws.random()
    span_len = draw_int(*span_lens, draws)
    n_spans = _number_of_spans(len(text), ratio, span_len)

    # Take each span for one thing, beside the tokens that stay: any n_spans of these things may be the spans.
    things = len(text) - n_spans * (span_len - 1)
    spans = set(draws.choice(things, n_spans, replace=False).tolist())
    kept: list[int] = []
    moved: list[int] = []
    masks = iter(ids.masks)
    at = 0
    for thing in range(things):
        if thing in spans:
            mask = next(masks)
            kept.append(mask)
            moved += [mask, *text[at : at + span_len], ids.eom]
            at += span_len
        else:
            kept.append(text[at])
            at += 1
    return [*kept, *document[len(text) :], ids.sep, *moved]
