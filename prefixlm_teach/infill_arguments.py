"""Checks on what is to be rearranged or covered: each `check_...` raises in the reader's words beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prefixlm_teach.arguments import check_int, check_share, kind_of
from prefixlm_teach.row_arguments import check_list, check_rows


def check_mask_ids(masks: Any) -> None:
    """Raise unless `masks` is a tuple with at least one id."""
    if not isinstance(masks, tuple):
        raise TypeError(f"masks must be a tuple of ids, not {kind_of(masks)}")
    if not masks:
        raise ValueError("masks is empty: a span that is moved away needs a mask in its place")


def check_texts(name: str, texts: Any) -> None:
    """Raise unless `texts` has at least one text, each a string of at least one character."""
    check_list(name, texts, "strings, as encode is given")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{name}[{i}] must be a string, as encode is given, not {kind_of(text)}")
        if not text:
            raise ValueError(f"{name}[{i}] is empty: it needs at least one character")


def check_segments(pairs: Any, special: Mapping[int, str], vocab_size: int) -> None:
    """Raise unless `pairs` has at least one pair of segments, each a list of at least one id of a text."""
    check_list("pairs", pairs, "pairs of lists of ids")
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"pairs[{i}] must be a tuple of two lists of ids, not {_size_of(pair)}")
        check_rows(pair, vocab_size, special=special, name=f"pairs[{i}]")


def check_function(name: str, function: Any) -> None:
    """Raise unless `function` is None or can be called."""
    if function is not None and not callable(function):
        raise TypeError(f"{name} must be a function, not {kind_of(function)}")


def check_tokeniser(encode: Any, decode: Any) -> None:
    """Raise unless both can be called, or both are None."""
    check_function("encode", encode)
    check_function("decode", decode)
    if (encode is None) != (decode is None):
        raise TypeError(
            "give encode and decode, or neither: to cut in characters, ids become text, and text ids"
        )


def check_decoded(text: Any) -> None:
    """Raise unless what `decode` returned is a string."""
    if not isinstance(text, str):
        raise TypeError(f"decode must return a string, not {kind_of(text)}: join the symbols")


def check_mask_ratio(bounds: Any) -> None:
    """Raise unless `bounds` is a pair of shares above 0, the lower first."""
    low, high = _check_bounds("mask_ratio", bounds)
    check_share("mask_ratio[0]", low, whole=True)
    check_share("mask_ratio[1]", high, whole=True)
    if low > high:
        raise ValueError(f"mask_ratio must have the lower share first, not {bounds}")


def check_span_lens(bounds: Any) -> None:
    """Raise unless `bounds` is a pair of whole numbers of at least 1, the lower first."""
    low, high = _check_bounds("span_lens", bounds)
    check_int("span_lens[0]", low, minimum=1)
    check_int("span_lens[1]", high, minimum=1)
    if low > high:
        raise ValueError(f"span_lens must have the lower length first, not {bounds}")


def check_spans_fit(lengths: Sequence[Sequence[int]], longest: int) -> None:
    """Raise if a document, of which `lengths` has the tokens row by row, is shorter than the longest span."""
    for i, row in enumerate(lengths):
        for length in row:
            if 0 < length < longest:
                raise ValueError(
                    f"rows[{i}] has a document of {length} tokens, but span_lens go up to {longest}: "
                    "leave it out, or let spans be shorter"
                )


def check_enough_masks(
    lengths: Sequence[Sequence[int]], masks: Sequence[int], most_spans: Callable[[int], int]
) -> None:
    """Raise if a document could be given more spans than there are masks; `most_spans` says how many."""
    for i, row in enumerate(lengths):
        for length in row:
            if length > 0 and most_spans(length) > len(masks):
                raise ValueError(
                    f"rows[{i}] has a document of {length} tokens that may be given {most_spans(length)} "
                    f"spans, but ids.masks has {len(masks)} ids: give more masks, a smaller mask_ratio or "
                    "longer span_lens"
                )


def check_kinds(kinds: Any, known: Sequence[str], examples: int) -> None:
    """Raise unless `kinds` has one of the `known` names for each example."""
    check_list("kinds", kinds, "names")
    for i, kind in enumerate(kinds):
        if kind not in known:
            raise ValueError(f"kinds[{i}] is {kind!r}, but it must be one of {', '.join(known)}")
    if len(kinds) != examples:
        raise ValueError(f"kinds is for {len(kinds)} examples, but there are {examples}")


def _check_bounds(name: str, bounds: Any) -> tuple[Any, Any]:
    if not isinstance(bounds, tuple) or len(bounds) != 2:
        raise TypeError(f"{name} must be a pair such as (low, high), not {_size_of(bounds)}")
    return bounds


def _size_of(value: Any) -> str:
    return f"a tuple of {len(value)}" if isinstance(value, tuple) else kind_of(value)
