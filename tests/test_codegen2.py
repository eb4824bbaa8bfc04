"""CodeGen2's mixture: its prompt, spans that never leave their document, its shares, nothing lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import pytest
import torch
from bad_values import Wrong, count
from hypothesis import given
from hypothesis import strategies as st
from objectives import (
    assert_a_model_can_learn_from,
    assert_all_but_the_first_are_labels,
    assert_refused,
    chi_square,
    id_rows,
    real_rows,
    refusals,
    seen_by_a_model,
    wrong_shares,
)

from prefixlm_teach import CodeGen2Ids, codegen2_mixture, codegen2_prompt

MASKS = tuple(range(30, 50))
SEP, EOM, END, PAD = 20, 21, 22, 23
IDS = CodeGen2Ids(masks=MASKS, sep=SEP, eom=EOM, end=END, pad=PAD)
V = 50

seeds = st.integers(0, 2**20)
texts = st.lists(st.integers(0, 19), min_size=4, max_size=14)


@st.composite
def contexts(draw: st.DrawFn) -> list[int]:
    """Documents with an end after each; the last may have been cut off, and some may be empty."""
    documents = draw(st.lists(st.one_of(texts, st.just([])), min_size=1, max_size=3))
    row = [token for document in documents for token in [*document, END]]
    return row[:-1] if draw(st.booleans()) and documents[-1] else row


batches = st.lists(contexts(), min_size=1, max_size=4)


def documents_in(row: list[int]) -> list[tuple[list[int], list[list[int]]]]:
    """Read a row: what was left of each document, its end included, and the spans moved out of it."""
    found = []
    at = 0
    while at < len(row):
        if row[at] == END:  # an empty document
            found.append(([END], []))
            at += 1
            continue
        stop = row.index(SEP, at)
        left, spans = row[at:stop], []
        at = stop + 1
        for mask in MASKS[: sum(token in MASKS for token in left)]:
            assert row[at] == mask
            stop = row.index(EOM, at)
            spans.append(row[at + 1 : stop])
            at = stop + 1
        found.append((left, spans))
    return found


def restored(row: list[int]) -> list[int]:
    """The row as it was before."""
    whole: list[int] = []
    for left, spans in documents_in(row):
        for token in left:
            whole += spans[MASKS.index(token)] if token in MASKS else [token]
    return whole


def moved(documents: list[list[int]], **how: Any) -> list[list[int]]:
    options: dict[str, Any] = {"seed": 0, "mask_ratio": (0.2, 0.6), "span_lens": (1, 4), "rate": 1.0}
    return real_rows(codegen2_mixture(documents, IDS, **(options | how)))


def test_the_prompt_is_the_model_cards() -> None:
    assert codegen2_prompt([1, 2], [3], IDS) == [1, 2, MASKS[0], 3, END, SEP, MASKS[0]]
    assert codegen2_prompt([], [], IDS) == [MASKS[0], END, SEP, MASKS[0]]


@given(texts, seeds, st.integers(1, 4))
def test_a_row_with_one_span_is_a_prompt_and_its_answer(text: list[int], seed: int, length: int) -> None:
    (row,) = moved([[*text, END]], seed=seed, mask_ratio=(0.01, 0.01), span_lens=(length, length))
    start = row.index(MASKS[0])
    middle = text[start : start + length]
    assert row == [*codegen2_prompt(text[:start], text[start + length :], IDS), *middle, EOM]


def test_two_spans_by_hand() -> None:
    rows = {tuple(moved([[1, 2, 3]], seed=s, mask_ratio=(0.6, 0.6), span_lens=(1, 1))[0]) for s in range(60)}
    a, b = MASKS[:2]
    assert rows == {
        (a, b, 3, SEP, a, 1, EOM, b, 2, EOM),  # two spans may touch
        (a, 2, b, SEP, a, 1, EOM, b, 3, EOM),
        (1, a, b, SEP, a, 2, EOM, b, 3, EOM),
    }


@given(batches, seeds, st.sampled_from([0.0, 0.5, 1.0]))
def test_nothing_of_a_row_is_lost_and_all_of_it_is_scored(
    rows: list[list[int]], seed: int, share: float
) -> None:
    examples = codegen2_mixture(rows, IDS, seed=seed, mask_ratio=(0.1, 0.9), span_lens=(1, 4), rate=share)
    made = real_rows(examples)
    assert [restored(row) if SEP in row else row for row in made] == rows
    if share != 0.5:
        texts = [any(token != END for token in row) for row in rows]
        assert [SEP in row for row in made] == [share == 1 and text for text in texts]
    assert_all_but_the_first_are_labels(examples)
    assert (examples.tokens[~examples.valid] == PAD).all()


@given(batches, seeds, st.floats(0.01, 1), st.integers(1, 4))
def test_a_document_is_given_as_many_spans_of_one_length_as_its_ratio_says(
    rows: list[list[int]], seed: int, ratio: float, length: int
) -> None:
    made = moved(rows, seed=seed, mask_ratio=(ratio, ratio), span_lens=(length, length))
    for row, before in zip(made, rows, strict=True):
        for left, spans in documents_in(row):
            L = sum(map(len, spans)) + sum(token not in (*MASKS, END) for token in left)
            wanted = min(max(1, round(L * ratio / length)), L // length) if L else 0
            assert [len(span) for span in spans] == [length] * wanted
        assert len(row) == len(before) + sum(1 + 3 * len(s) for left, s in documents_in(row) if left != [END])


@given(batches, batches, seeds)
def test_the_draws_of_a_row_do_not_depend_on_the_others(
    few: list[list[int]], more: list[list[int]], seed: int
) -> None:
    alone = moved(few, seed=seed, rate=0.5)
    assert moved([*few, *more], seed=seed, rate=0.5)[: len(few)] == alone
    longer = [[1, 2, 3, 4, END, *few[0]], *few[1:]]
    assert moved(longer, seed=seed, rate=0.5)[1:] == alone[1:]


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_the_share_of_rows_whose_spans_are_moved(share: float) -> None:
    rows = moved([[1, 2, 3, 4, END, 5, 6, 7, 8]] * 3000, rate=share)
    separators = Counter(row.count(SEP) for row in rows)
    assert set(separators) == {0, 2}  # the row is chosen, and then each of its documents is treated
    assert abs(separators[2] - 3000 * share) < 4 * (3000 * share * (1 - share)) ** 0.5


def test_half_of_the_rows_is_what_the_paper_takes() -> None:
    examples = codegen2_mixture([[1, 2, 3, 4]] * 2000, IDS, seed=5, mask_ratio=(0.2, 0.5), span_lens=(1, 2))
    assert abs(sum(SEP in row for row in real_rows(examples)) - 1000) < 4 * 500**0.5


def test_span_lengths_are_uniform_between_their_bounds() -> None:
    rows = moved([list(range(12))] * 4000, mask_ratio=(0.3, 0.3), span_lens=(2, 5))
    lengths = Counter(len(documents_in(row)[0][1][0]) for row in rows)
    assert set(lengths) == {2, 3, 4, 5}
    assert chi_square(lengths.values(), [0.25] * 4) < 12.8  # 0.5 % at 3 degrees of freedom


def test_the_ratio_is_uniform_between_its_bounds() -> None:
    """Of 20 tokens, spans of one token: round(20 * ratio) of them, for a ratio from 0.225 to 0.775."""
    rows = moved([[1] * 20] * 5000, mask_ratio=(0.225, 0.775), span_lens=(1, 1))
    spans = Counter(row.count(EOM) for row in rows)
    assert set(spans) == set(range(5, 16))
    assert chi_square([spans[n] for n in range(5, 16)], [1 / 11] * 11) < 25.2  # 0.5 % at 10 degrees


@pytest.mark.parametrize(("L", "length", "ratio"), [(5, 1, 0.4), (6, 2, 0.7), (7, 3, 0.4), (7, 2, 0.9)])
def test_all_places_that_the_spans_can_have_are_as_likely(L: int, length: int, ratio: float) -> None:
    n = round(L * ratio / length)
    rows = moved([list(range(L))] * 3000, mask_ratio=(ratio, ratio), span_lens=(length, length))
    found = Counter(tuple(span[0] for span in documents_in(row)[0][1]) for row in rows)
    possible = [
        starts
        for starts in combinations(range(L - length + 1), n)
        if all(b - a >= length for a, b in pairwise(starts))
    ]
    assert set(found) == set(possible)
    usual = len(possible) - 1
    assert chi_square(found.values(), [1 / len(possible)] * len(possible)) < usual + 4 * (2 * usual) ** 0.5


def test_a_model_learns_from_it_and_it_is_causal_attention() -> None:
    examples = codegen2_mixture(
        [[1, 2, 3, 4, END], [5, 6, 7]], IDS, seed=0, mask_ratio=(0.3, 0.6), span_lens=(1, 2), rate=1
    )
    assert examples.prefix_len is not None
    assert examples.prefix_len.tolist() == [0, 0]
    assert_a_model_can_learn_from(examples, V)
    seen = seen_by_a_model(examples, 0, V)
    assert torch.equal(seen, torch.ones_like(seen).tril())


def test_more_spans_than_masks_and_documents_shorter_than_a_span_are_refused_whatever_is_drawn() -> None:
    few = CodeGen2Ids(masks=(30, 31), sep=SEP, eom=EOM, end=END, pad=PAD)
    how: dict[str, Any] = {"seed": 0, "mask_ratio": (0.01, 0.5), "span_lens": (1, 3)}
    codegen2_mixture([[1] * 4], few, **how)
    with pytest.raises(ValueError, match=r"rows\[1\] has a document of 6 tokens that may be given 3 spans"):
        codegen2_mixture([[1] * 4, [2, 2, 2, END, *[1] * 6]], few, **how)
    with pytest.raises(ValueError, match=r"rows\[0\] has a document of 2 tokens, but span_lens go up to 3"):
        codegen2_mixture([[1, 1, 1, END, 1, 1]], few, **how)
    untouched = codegen2_mixture([[1, 1], [1] * 9], few, rate=0, **how)
    assert real_rows(untouched) == [[1, 1], [1] * 9]


OTHER_IDS = [Wrong(str(x), x, "must be CodeGen2Ids") for x in (None, 3, {"sep": 1})]
PART = [
    Wrong("None", None, "must be a list of ids"),
    Wrong("string", "abc", "must be a list of ids"),
    Wrong("tensor", torch.tensor([1]), r"tolist\(\)"),
    Wrong("float", [1.0], "must be a whole number"),
    Wrong("special", [SEP], "holds the id 20, which is that of ids.sep"),
    Wrong("mask", [MASKS[1]], r"holds the id 31, which is that of ids.masks\[1\]"),
]
TABLE = [
    (
        "CodeGen2Ids",
        CodeGen2Ids,
        {"masks": (1, 2), "sep": 3, "eom": 4, "end": 5, "pad": 6},
        {
            "masks": [
                Wrong("None", None, "must be a tuple of ids"),
                Wrong("list", [1, 2], "must be a tuple of ids"),
                Wrong("none", (), "is empty"),
                Wrong("float", (1, 2.0), r"masks\[1\] must be a whole number"),
                Wrong("large", (1, 2**63), r"masks\[1\] is 9223372036854775808, but ids go from 0"),
                Wrong("negative", (1, -2), r"masks\[1\] must be at least 0"),
                Wrong("twice", (1, 1), r"masks\[0\] and masks\[1\] are both 1"),
            ],
            **{
                name: [
                    *count(0),
                    Wrong("large", 2**63, "but ids go from 0"),
                    Wrong("twice", 1, "are both 1: each special token needs its own id"),
                ]
                for name in ("sep", "eom", "end", "pad")
            },
        },
    ),
    (
        "codegen2_prompt",
        codegen2_prompt,
        {"prefix": [1], "suffix": [], "ids": IDS},
        {"prefix": PART, "suffix": PART, "ids": OTHER_IDS},
    ),
    (
        "codegen2_mixture",
        codegen2_mixture,
        {
            **{"rows": [[1, 2, END], [3, 4]], "ids": IDS, "seed": 0, "rate": 1.0},
            **{"mask_ratio": (0.1, 0.5), "span_lens": (1, 2)},
        },
        {
            "rows": [
                *id_rows("rows"),
                Wrong(
                    "a mask", [[1, 2], [1, 30]], r"rows\[1\] holds the id 30, which is that of ids.masks\[0\]"
                ),
                Wrong("a separator", [[1, SEP]], r"rows\[0\] holds the id 20, which is that of ids.sep"),
            ],
            "ids": OTHER_IDS,
            "seed": count(0),
            "rate": wrong_shares(none=True, whole=True),
            "mask_ratio": [
                Wrong("a number", 0.5, "must be a pair"),
                Wrong("list", [0.1, 0.5], "must be a pair"),
                Wrong("three", (0.1, 0.2, 0.3), "must be a pair"),
                Wrong("text", ("a", 0.5), r"mask_ratio\[0\] must be a number"),
                Wrong("bool", (0.1, True), r"mask_ratio\[1\] must be a number"),
                Wrong("too much", (0.1, 1.5), r"mask_ratio\[1\] must be above 0 and at most 1"),
                Wrong("nan", (float("nan"), 0.5), r"mask_ratio\[0\] must be above 0 and at most 1"),
                Wrong("nothing", (0.0, 0.5), r"mask_ratio\[0\] must be above 0 and at most 1"),
                Wrong("exchanged", (0.5, 0.1), "must have the lower share first"),
            ],
            "span_lens": [
                Wrong("a number", 2, "must be a pair"),
                Wrong("list", [1, 2], "must be a pair"),
                Wrong("three", (1, 2, 3), "must be a pair"),
                Wrong("float", (1.0, 2), r"span_lens\[0\] must be a whole number"),
                Wrong("bool", (1, True), r"span_lens\[1\] must be a whole number"),
                Wrong("nothing", (0, 2), r"span_lens\[0\] must be at least 1"),
                Wrong("exchanged", (2, 1), "must have the lower length first"),
                Wrong("too long", (1, 3), r"rows\[0\] has a document of 2 tokens, but span_lens go up to 3"),
            ],
        },
    ),
]


@pytest.mark.parametrize(("call", "good", "argument", "wrong"), refusals(TABLE))
def test_wrong_arguments_are_refused_beforehand(
    call: Callable[..., Any], good: dict[str, Any], argument: str, wrong: Wrong
) -> None:
    assert_refused(call, good, argument, wrong)
