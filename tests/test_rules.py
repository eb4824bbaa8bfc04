"""Rules: what they mean, held against Python's own operators, and what is said of broken ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from prefixlm_teach import create_prefix_lm_mask, find_leaks, mask_from_rule, mask_parts, parse_rule
from prefixlm_teach.rule_arguments import LONGEST, MOST
from prefixlm_teach.rule_language import DEEPEST, PARTS

LENGTHS, PREFIX_LENS, PADS, WINDOW = [3, 4, 1], [2, 0, 1], 2, 3
MADE = mask_parts(LENGTHS, PREFIX_LENS, window=WINDOW, pads=PADS)
KNOWN = "the parts are causal, prefix, window, document, valid, joined by and, or, not"


@dataclass(frozen=True)
class Said:
    """A piece of a rule as words, what it is by Python's own operators, and how tightly it binds."""

    words: list[str]
    mask: Tensor
    level: int  # 0 or, 1 and, 2 not, 3 a part or parentheses


@st.composite
def pieces(draw: st.DrawFn, depth: int = 3) -> Said:
    """Rules of all shapes, with no more parentheses than they need, or some more."""
    what = draw(st.sampled_from(["part", "not", "and", "or"] if depth else ["part"]))
    if what == "part":
        name = draw(st.sampled_from(PARTS))
        return Said([draw(st.sampled_from([name, name.upper(), name.title()]))], MADE[name], 3)
    sign = draw(st.sampled_from([{"not": "~", "and": "&", "or": "|"}[what], what, what.upper()]))
    if what == "not":
        inner = draw(within(pieces(depth - 1), 2))
        return Said([sign, *inner.words], ~inner.mask, 2)
    level = ["or", "and"].index(what)
    left, right = draw(within(pieces(depth - 1), level)), draw(within(pieces(depth - 1), level + 1))
    mask = left.mask & right.mask if what == "and" else left.mask | right.mask
    return Said([*left.words, sign, *right.words], mask, level)


@st.composite
def within(draw: st.DrawFn, inner: st.SearchStrategy[Said], level: int) -> Said:
    """A piece that may stand where something of this level stands."""
    piece = draw(inner)
    if piece.level >= level and draw(st.booleans()):
        return piece
    return Said(["(", *piece.words, ")"], piece.mask, 3)


@st.composite
def rules(draw: st.DrawFn) -> tuple[str, Tensor]:
    """A rule, and its mask by Python's own `~`, `&` and `|`."""
    piece = draw(pieces())
    text = ""
    for word in piece.words:
        needed = text[-1:].isalpha() and word[0].isalpha()
        text += draw(st.sampled_from([" ", "  ", "\n", "\t", "\u00a0"] + ([] if needed else [""]))) + word
    text += draw(st.sampled_from(["", " "]))
    assume(len(text) <= LONGEST)
    return text, piece.mask


@given(rules())
def test_a_rule_means_what_pythons_own_operators_mean(rule: tuple[str, Tensor]) -> None:
    text, mask = rule
    assert torch.equal(mask_from_rule(text, MADE), mask)


@given(rules())
def test_more_parentheses_and_blanks_change_nothing(rule: tuple[str, Tensor]) -> None:
    text, _ = rule
    assume(len(text) <= LONGEST - 4)
    assert parse_rule(f" ({text} )") == parse_rule(text)


@given(st.text(alphabet="causl prefixwndot&|~()\u00a0é🙂+", max_size=40))
def test_any_text_is_a_rule_or_is_refused_in_words(text: str) -> None:
    try:
        order = parse_rule(text)
    except ValueError as error:
        order = []
        words = str(error)
    else:
        words = "the rule is read"
    assert set(order) <= {*PARTS, "and", "or", "not"}
    assert "rule" in words


@given(st.lists(st.sampled_from([*PARTS, "and", "or", "not", "(", ")"]), max_size=9))
def test_python_and_we_refuse_the_same_rules(words: list[str]) -> None:
    text = " ".join(words)
    try:
        compile(text, "a rule", "eval")
        is_python = "( )" not in text and not is_call(words)
    except SyntaxError:
        is_python = False
    try:
        parse_rule(text)
        is_rule = True
    except ValueError:
        is_rule = False
    assert is_rule == is_python


def is_call(words: list[str]) -> bool:
    """Does a part or a parenthesis stand right before an opening one? Python takes that for a call."""
    return any(word == "(" and words[i - 1] in (*PARTS, ")") for i, word in enumerate(words) if i)


@pytest.mark.parametrize("pads", [0, 2])
@pytest.mark.parametrize("p", range(6))
def test_the_rule_of_chapter_1_is_the_prefix_lm_mask(p: int, pads: int) -> None:
    parts = mask_parts([5], [p], window=3, pads=pads)
    valid = torch.tensor([[False] * pads + [True] * 5])
    mask = create_prefix_lm_mask(5 + pads, p, valid=valid)[0, 0]
    assert torch.equal(mask_from_rule("(causal or prefix) and valid", parts), mask)
    assert find_leaks("(causal or prefix) and valid", parts) == {}


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_numpys_whole_numbers_are_as_good_as_pythons(kind: type[np.integer[Any]]) -> None:
    lengths, prefix_lens = [100, 90], [99, 3]
    made = mask_parts([*map(kind, lengths)], [*map(kind, prefix_lens)], window=kind(7), pads=kind(100))
    expected = mask_parts(lengths, prefix_lens, window=7, pads=100)
    assert made.keys() == expected.keys()
    assert all(torch.equal(made[name], part) for name, part in expected.items())


@pytest.mark.parametrize("window", [8, 9, 2**63, 10**30])
def test_a_window_wider_than_the_sequence_hides_nothing(window: int) -> None:
    assert mask_parts([5, 2], [1, 0], window=window, pads=1)["window"].all()
    assert not mask_parts([5, 2], [1, 0], window=7, pads=1)["window"].all()


def test_as_many_tokens_as_there_may_be() -> None:
    parts = mask_parts([MOST - 2], [3], window=1, pads=2)
    assert {tuple(part.shape) for part in parts.values()} == {(MOST, MOST)}


def test_packed_documents_are_the_masks_of_each_side_by_side() -> None:
    parts = mask_parts(LENGTHS, PREFIX_LENS, window=3)
    alone = [create_prefix_lm_mask(n, p).int() for n, p in zip(LENGTHS, PREFIX_LENS, strict=True)]
    assert torch.equal(
        mask_from_rule("(causal or prefix) and document", parts), torch.block_diag(*alone).bool()
    )


@pytest.mark.parametrize("pads", [0, 1, 3])
@pytest.mark.parametrize("window", [1, 2, 40])
@pytest.mark.parametrize(
    ("lengths", "prefix_lens"), [([1], [0]), ([3], [3]), ([2, 3], [1, 2]), ([1, 1, 4], [0, 1, 0])]
)
def test_each_part_is_what_it_says_cell_by_cell(
    lengths: list[int], prefix_lens: list[int], window: int, pads: int
) -> None:
    parts = mask_parts(lengths, prefix_lens, window=window, pads=pads)
    assert tuple(parts) == PARTS
    documents = [0] * pads + [d for d, length in enumerate(lengths) for _ in range(length)]
    ends = [pads + sum(lengths[:d]) + p for d, p in enumerate(prefix_lens)]
    for q, of_q in enumerate(documents):
        for k, of_k in enumerate(documents):
            assert {name: bool(part[q, k]) for name, part in parts.items()} == {
                "causal": k <= q,
                "prefix": k < ends[of_k],
                "window": abs(q - k) < window,
                "document": of_q == of_k,
                "valid": k >= pads,
            }
    assert all(part.dtype == torch.bool and part.shape == (len(documents),) * 2 for part in parts.values())


@pytest.mark.parametrize(
    ("rule", "order"),
    [
        ("causal", "causal"),
        ("causal or prefix and valid", "causal prefix valid and or"),
        ("(causal or prefix) and valid", "causal prefix or valid and"),
        ("not causal and prefix", "causal not prefix and"),
        ("not (causal and prefix)", "causal prefix and not"),
        ("~~causal|~prefix", "causal not not prefix not or"),
        ("causal and prefix and valid", "causal prefix and valid and"),
        ("CAUSAL Or Prefix", "causal prefix or"),
    ],
)
def test_not_binds_tighter_than_and_and_and_tighter_than_or(rule: str, order: str) -> None:
    assert parse_rule(rule) == order.split()


BROKEN = [
    ("casual", f"I don't know “casual” (character 1 of the rule): {KNOWN}"),
    ("(causal or Präfix)", f"I don't know “Präfix” (character 12 of the rule): {KNOWN}"),
    ("🙂 and causal + prefix", f"I don't know “🙂” (character 1 of the rule): {KNOWN}"),
    ("causal + prefix", f"I don't know “+” (character 8 of the rule): {KNOWN}"),
    ("x" * 30, f"I don't know “{'x' * 19}…” (character 1 of the rule): {KNOWN}"),
    ("", f"the rule is empty: {KNOWN}"),
    (" \n", f"the rule is empty: {KNOWN}"),
    ("and causal", "“and” (character 1 of the rule) has nothing before it"),
    ("(| causal)", "“|” (character 2 of the rule) has nothing before it"),
    ("causal and", "“and” (character 8 of the rule) has nothing after it"),
    ("causal AND or prefix", "“AND” (character 8 of the rule) has nothing after it"),
    ("(causal and) or prefix", "“and” (character 9 of the rule) has nothing after it"),
    ("not", "“not” (character 1 of the rule) has nothing after it"),
    ("causal and ()", "“(” (character 12 of the rule) has nothing after it"),
    ("causal or (prefix and valid", "“(” (character 11 of the rule) is never closed"),
    ("((causal)", "“(” (character 1 of the rule) is never closed"),
    ("causal) or prefix", "“)” (character 7 of the rule) closes nothing"),
    (")", "“)” (character 1 of the rule) closes nothing"),
    ("causal prefix", "there is no “and” or “or” before “prefix” (character 8 of the rule)"),
    ("causal not prefix", "there is no “and” or “or” before “not” (character 8 of the rule)"),
    ("(causal (prefix))", "there is no “and” or “or” before “(” (character 9 of the rule)"),
    ("causal" + " " * 195, "the rule has 201 characters: 200 are the most"),
    ("(" * 21 + "causal", "“(” (character 21 of the rule) is too deep: 20 inside each other are the most"),
]


@pytest.mark.parametrize(("rule", "words"), BROKEN, ids=[rule[:20] or "empty" for rule, _ in BROKEN])
def test_a_broken_rule_is_refused_in_the_readers_words(rule: str, words: str) -> None:
    for refuse in (parse_rule, lambda rule: mask_from_rule(rule, MADE), lambda rule: find_leaks(rule, MADE)):
        with pytest.raises(ValueError, match="rule") as raised:
            refuse(rule)
        assert str(raised.value) == words


def test_the_deepest_and_the_longest_rules_are_read() -> None:
    deepest = "(" * DEEPEST + "causal" + ")" * DEEPEST
    assert torch.equal(mask_from_rule(deepest, MADE), MADE["causal"])
    assert torch.equal(mask_from_rule("~" * 194 + "causal", MADE), MADE["causal"])
    many = "|".join(["valid"] * 33)
    assert torch.equal(mask_from_rule(many, MADE), MADE["valid"])


def test_the_mask_is_the_readers_to_change() -> None:
    parts = mask_parts([3], [1], window=2)
    mask_from_rule("causal", parts).fill_(True)
    assert not parts["causal"].all()


@pytest.mark.parametrize(
    ("rule", "cells"),
    [
        ("(causal or prefix) and document and valid", {}),
        (
            "(causal and document and valid) or prefix",
            {"Pads are visible": 12, "Another document is visible": 6},
        ),
        ("document and valid", {"The target's future is visible": 4}),
        ("(causal or prefix) and document and valid and window", {}),
        ("(causal and window or prefix) and document and valid", {"Keys beyond the window are visible": 1}),
        ("(causal or prefix) and valid", {"Another document is visible": 8}),
        (
            "causal or prefix and document and valid",
            {"Pads are visible": 11, "Another document is visible": 4},
        ),
    ],
)
def test_what_leaks_is_found(rule: str, cells: dict[str, int]) -> None:
    parts = mask_parts([2, 2], [1, 1], window=2, pads=2)
    assert {law: int(where.sum()) for law, where in find_leaks(rule, parts).items()} == cells


@given(rules())
def test_a_leak_is_an_open_cell_that_breaks_its_law(rule: tuple[str, Tensor]) -> None:
    text, mask = rule
    hidden = {
        "Pads are visible": ~MADE["valid"],
        "The target's future is visible": ~MADE["causal"] & ~MADE["prefix"],
        "Another document is visible": MADE["valid"] & ~MADE["document"],
        "Keys beyond the window are visible": MADE["valid"] & ~MADE["window"] & ("window" in text.lower()),
    }
    expected = {law: mask & cells for law, cells in hidden.items() if (mask & cells).any()}
    found = find_leaks(text, MADE)
    assert list(found) == list(expected)
    assert all(torch.equal(found[law], cells) for law, cells in expected.items())
