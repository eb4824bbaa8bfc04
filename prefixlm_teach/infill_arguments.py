"""Checks on what is to be rearranged or covered: each `check_...` raises in the reader's words beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prefixlm_teach.arguments import check_int, kind_of


def check_special_ids(named: Mapping[str, Any]) -> None:
    """Raise unless each special token has an id, a whole number of at least 0, that no other has."""
    owner: dict[int, str] = {}
    for name, id_ in named.items():
        check_int(name, id_, minimum=0)
        if id_ in owner:
            raise ValueError(f"{owner[id_]} and {name} are both {id_}: each special token needs its own id")
        owner[id_] = name


def check_mask_ids(masks: Any) -> None:
    """Raise unless `masks` is a tuple with at least one id."""
    if not isinstance(masks, tuple):
        raise TypeError(f"masks must be a tuple of ids, not {kind_of(masks)}")
    if not masks:
        raise ValueError("masks is empty: a span that is moved away needs a mask in its place")


def check_kind_of_ids(ids: Any, wanted: type) -> None:
    """Raise unless `ids` are the special tokens of this objective."""
    if not isinstance(ids, wanted):
        raise TypeError(f"ids must be {wanted.__name__}, not {kind_of(ids)}")


def check_id_row(name: str, row: Any, special: Mapping[int, str]) -> None:
    """Raise unless `row` is a list of ids, none of them `special` (an id and what it is the id of)."""
    if isinstance(row, str) or not isinstance(row, Sequence):
        fix = f": use {name}.tolist()" if hasattr(row, "tolist") else ""
        raise TypeError(f"{name} must be a list of ids, not {kind_of(row)}{fix}")
    for id_ in row:
        check_int(f"an id of {name}", id_, minimum=0)
        if id_ in special:
            raise ValueError(f"{name} holds the id {id_}, which is that of {special[id_]}")


def check_id_rows(name: str, rows: Any, special: Mapping[int, str]) -> None:
    """Raise unless `rows` has at least one row, each a list of at least one id, none of them `special`."""
    _check_list(name, rows, "lists of ids")
    for i, row in enumerate(rows):
        check_id_row(f"{name}[{i}]", row, special)
        if not row:
            raise ValueError(f"{name}[{i}] is empty: there is nothing to learn from")


def check_texts(name: str, texts: Any) -> None:
    """Raise unless `texts` has at least one text, each a string of at least one character."""
    _check_list(name, texts, "strings, as encode is given")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{name}[{i}] must be a string, as encode is given, not {kind_of(text)}")
        if not text:
            raise ValueError(f"{name}[{i}] is empty: there is nothing to learn from")


def check_segments(pairs: Any, special: Mapping[int, str], vocab_size: int) -> None:
    """Raise unless `pairs` has at least one pair of segments, each a list of at least one id."""
    _check_list("pairs", pairs, "pairs of lists of ids")
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"pairs[{i}] must be a tuple of two lists of ids, not {kind_of(pair)}")
        check_id_rows(f"pairs[{i}]", pair, special)
        highest = max(max(segment) for segment in pair)
        if highest >= vocab_size:
            raise ValueError(f"pairs[{i}] holds the id {highest}, but ids go from 0 to {vocab_size - 1}")


def check_vocab_size(vocab_size: Any, special: Mapping[int, str]) -> None:
    """Raise unless `vocab_size` is a whole number that has room for the `special` ids."""
    check_int("vocab_size", vocab_size, minimum=1)
    highest = max(special)
    if highest >= vocab_size:
        raise ValueError(f"vocab_size is {vocab_size}, but {special[highest]} has the id {highest}")


def check_tokeniser(encode: Any, decode: Any) -> None:
    """Raise unless both can be called, or both are None."""
    for name, function in (("encode", encode), ("decode", decode)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be a function, not {kind_of(function)}")
    if (encode is None) != (decode is None):
        raise TypeError(
            "give encode and decode, or neither: to cut in characters, ids become text, and text ids"
        )


def check_encode(encode: Any) -> None:
    """Raise unless `encode` is None or can be called."""
    if encode is not None and not callable(encode):
        raise TypeError(f"encode must be a function, not {kind_of(encode)}")


def check_decoded(text: Any) -> None:
    """Raise unless what `decode` returned is a string."""
    if not isinstance(text, str):
        raise TypeError(f"decode must return a string, not {kind_of(text)}: join the symbols")


def check_yes_or_no(name: str, value: Any) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {kind_of(value)}")


def check_share(name: str, value: Any) -> None:
    """Raise unless `value` is a number from 0 to 1, both included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {kind_of(value)}")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be from 0 to 1, not {value}")


def check_cover_rate(rate: Any) -> None:
    """Raise unless `rate` is a share above 0: something has to be asked for."""
    check_share("rate", rate)
    if rate == 0:
        raise ValueError("rate must be above 0: something has to be covered")


def check_mask_ratio(bounds: Any) -> None:
    """Raise unless `bounds` is a pair of shares above 0, the lower first."""
    low, high = _check_bounds("mask_ratio", bounds)
    check_share("mask_ratio[0]", low)
    check_share("mask_ratio[1]", high)
    if not 0 < low <= high:
        raise ValueError(f"mask_ratio must be two shares above 0, the lower first, not {bounds}")


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
    _check_list("kinds", kinds, "names")
    for i, kind in enumerate(kinds):
        if kind not in known:
            raise ValueError(f"kinds[{i}] is {kind!r}, but it must be one of {', '.join(known)}")
    if len(kinds) != examples:
        raise ValueError(f"kinds is for {len(kinds)} examples, but there are {examples}")


def _check_list(name: str, value: Any, of_what: str) -> None:
    if isinstance(value, str) or not isinstance(value, Sequence):
        fix = f": use {name}.tolist()" if hasattr(value, "tolist") else ""
        raise TypeError(f"{name} must be a list of {of_what}, not {kind_of(value)}{fix}")
    if not value:
        raise ValueError(f"{name} is empty: there is no example")


def _check_bounds(name: str, bounds: Any) -> tuple[Any, Any]:
    if not isinstance(bounds, tuple) or len(bounds) != 2:
        raise TypeError(f"{name} must be a pair such as (low, high), not {kind_of(bounds)}")
    return bounds
