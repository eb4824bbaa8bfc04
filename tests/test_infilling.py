"""Fill in the middle: its two orders, its cuts and rates, its levels, and that nothing of a text is lost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
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

from prefixlm_teach import FimIds, Vocabulary, arrange_parts, fill_in_contexts, fill_in_the_middle
from prefixlm_teach.rows import row_draws

PRE, MID, SUF, END, PAD = 20, 21, 22, 23, 24
IDS = FimIds(prefix=PRE, middle=MID, suffix=SUF, end=END, pad=PAD)
V = 25
LETTERS = Vocabulary("abcdefgh ")
WORDS = ["ab", "abc", "cde", *"abcdefgh "]  # a tokeniser that knows parts of words, the longest first

seeds = st.integers(0, 2**20)
rows = st.lists(st.integers(0, 19), min_size=1, max_size=9)
texts = st.text(alphabet="abcdefgh ", min_size=1, max_size=12)
shares = st.sampled_from([0.0, 0.3, 1.0])


def encode(text: str) -> list[int]:
    """Greedy, as many a tokeniser: what is cut in two is encoded otherwise than the whole."""
    pieces = re.findall("|".join(sorted(WORDS, key=len, reverse=True)), text)
    return [WORDS.index(piece) for piece in pieces]


def decode(ids: list[int]) -> str:
    return "".join(WORDS[id_] for id_ in ids)


def parts_of(row: list[int]) -> tuple[list[int], list[int], list[int]] | None:
    """Read a row without its end: prefix, middle, suffix (SPM: an empty prefix, and both in the middle)."""
    if PRE not in row:
        return None
    assert row[0] == PRE
    assert [row.count(id_) for id_ in (PRE, SUF, MID)] == [1, 1, 1]
    s, m = row.index(SUF), row.index(MID)
    assert s < m
    return row[1:s], row[m + 1 :], row[s + 1 : m]


def restored(row: list[int]) -> list[int]:
    parts = parts_of(row)
    return row if parts is None else [*parts[0], *parts[1], *parts[2]]


def ended(row: list[int]) -> list[int]:
    assert row[-1] == END
    assert row.count(END) == 1
    return row[:-1]


def test_psm_and_spm_variant_2_by_hand() -> None:
    assert arrange_parts([1, 2], [3], [4, 5], IDS, spm=False) == [PRE, 1, 2, SUF, 4, 5, MID, 3]
    assert arrange_parts([1, 2], [3], [4, 5], IDS, spm=True) == [PRE, SUF, 4, 5, MID, 1, 2, 3]


@given(rows, rows, rows)
def test_spm_is_psm_with_an_empty_prefix_and_not_two_parts_exchanged(
    prefix: list[int], middle: list[int], suffix: list[int]
) -> None:
    spm = arrange_parts(prefix, middle, suffix, IDS, spm=True)
    assert spm == arrange_parts([], [*prefix, *middle], suffix, IDS, spm=False)
    assert spm != arrange_parts(suffix, middle, prefix, IDS, spm=False)


@given(rows, rows, rows, st.booleans())
def test_without_a_middle_it_is_the_prompt_that_the_middle_continues(
    prefix: list[int], middle: list[int], suffix: list[int], spm: bool
) -> None:
    prompt = arrange_parts(prefix, [], suffix, IDS, spm=spm)
    assert [*prompt, *middle] == arrange_parts(prefix, middle, suffix, IDS, spm=spm)


@given(st.lists(rows, min_size=1, max_size=5), seeds, shares, shares)
def test_the_parts_of_a_row_of_ids_are_the_document(
    documents: list[list[int]], seed: int, rate: float, spm_rate: float
) -> None:
    examples = fill_in_the_middle(documents, IDS, seed=seed, rate=rate, spm_rate=spm_rate)
    made = [ended(row) for row in real_rows(examples)]
    assert [restored(row) for row in made] == documents
    if rate in (0, 1):
        assert all((parts_of(row) is not None) == (rate == 1) for row in made)


@given(st.lists(texts, min_size=1, max_size=5), seeds, shares, shares)
def test_the_parts_of_a_text_decode_to_the_text(
    documents: list[str], seed: int, rate: float, spm_rate: float
) -> None:
    examples = fill_in_the_middle(documents, IDS, seed=seed, rate=rate, spm_rate=spm_rate, encode=encode)
    for row, text in zip(real_rows(examples), documents, strict=True):
        assert decode(restored(ended(row))) == text
        if PRE not in row:
            assert ended(row) == encode(text)


@given(st.lists(texts, min_size=1, max_size=5), seeds)
def test_with_one_id_for_each_character_both_levels_are_the_same(documents: list[str], seed: int) -> None:
    by_character = fill_in_the_middle(documents, IDS, seed=seed, encode=LETTERS.encode)
    by_id = fill_in_the_middle([LETTERS.encode(text) for text in documents], IDS, seed=seed)
    assert torch.equal(by_character.tokens, by_id.tokens)


def test_a_text_is_cut_within_words_and_a_row_of_ids_is_not() -> None:
    text, n = "abc cde abc", 300
    whole = encode(text)
    assert len(whole) == 5
    by_id = real_rows(fill_in_the_middle([whole] * n, IDS, seed=0, rate=1))
    assert {len(ended(row)) for row in by_id} == {5 + 3}
    by_character = real_rows(fill_in_the_middle([text] * n, IDS, seed=0, rate=1, encode=encode))
    lengths = {len(ended(row)) for row in by_character}
    assert min(lengths) == 5 + 3
    assert max(lengths) > 5 + 3


def test_every_token_is_scored_the_special_ones_and_the_end_too() -> None:
    examples = fill_in_the_middle([[1, 2, 3], [4]], IDS, seed=0, rate=1)
    assert_all_but_the_first_are_labels(examples)
    assert (examples.tokens[~examples.valid] == PAD).all()
    logits = torch.zeros(*examples.tokens.shape, V, requires_grad=True)
    examples.loss(logits).backward()
    assert logits.grad is not None
    scoring = logits.grad.abs().sum(-1) > 0
    assert scoring.sum(-1).tolist() == [3 + 3, 1 + 3]  # all but the first of 3 + 3 + end and of 1 + 3 + end


@given(st.lists(rows, min_size=1, max_size=4), st.lists(rows, min_size=1, max_size=4), seeds)
def test_the_draws_of_a_document_do_not_depend_on_the_others(
    few: list[list[int]], more: list[list[int]], seed: int
) -> None:
    alone = real_rows(fill_in_the_middle(few, IDS, seed=seed))
    assert real_rows(fill_in_the_middle([*few, *more], IDS, seed=seed))[: len(few)] == alone
    longer = [few[0] + [7], *few[1:]]
    assert real_rows(fill_in_the_middle(longer, IDS, seed=seed))[1:] == alone[1:]


@given(st.lists(rows, min_size=1, max_size=4), seeds, shares, shares)
def test_it_draws_what_starcoders_loader_draws_and_in_its_order(
    documents: list[list[int]], seed: int, rate: float, spm_rate: float
) -> None:
    """Whether to rearrange; two whole numbers from 0 to the length, sorted; whether as SPM."""
    made = real_rows(fill_in_the_middle(documents, IDS, seed=seed, rate=rate, spm_rate=spm_rate))
    for i, (document, row) in enumerate(zip(documents, made, strict=True)):
        draws = row_draws(seed, i)
        wanted = document
        if draws.random() < rate:
            a = draws.integers(0, len(document) + 1)
            b = draws.integers(0, len(document) + 1)
            low, high = min(a, b), max(a, b)
            prefix, middle, suffix = document[:low], document[low:high], document[high:]
            if draws.random() < spm_rate:
                wanted = [PRE, SUF, *suffix, MID, *prefix, *middle]
            else:
                wanted = [PRE, *prefix, SUF, *suffix, MID, *middle]
        assert row == [*wanted, END]


def test_other_seeds_give_other_draws() -> None:
    documents = [list(range(15))] * 20
    made = [real_rows(fill_in_the_middle(documents, IDS, seed=seed)) for seed in (0, 0, 1)]
    assert made[0] == made[1]
    assert made[0] != made[2]
    assert len({tuple(row) for row in made[0]}) > 5


@pytest.mark.parametrize(("rate", "spm_rate"), [(0.5, 0.5), (0.9, 0.2), (0.1, 0.7)])
def test_the_shares_of_documents_rearranged_and_of_spm_are_the_rates(rate: float, spm_rate: float) -> None:
    n, text = 4000, list(range(19))
    examples = fill_in_the_middle([text] * n, IDS, seed=1, rate=rate, spm_rate=spm_rate)
    made = [ended(row) for row in real_rows(examples)]
    moved = [parts for parts in map(parts_of, made) if parts is not None]
    assert abs(len(moved) - n * rate) < 4 * (n * rate * (1 - rate)) ** 0.5
    # A PSM document of 19 tokens has an empty prefix where one of two draws from 0 to 19 is 0.
    empty = spm_rate + (1 - spm_rate) * (1 - (19 / 20) ** 2)
    found = sum(not prefix for prefix, _, _ in moved)
    assert abs(found - len(moved) * empty) < 4 * (len(moved) * empty * (1 - empty)) ** 0.5


def test_both_cuts_are_uniform_from_0_to_the_length_and_may_be_equal() -> None:
    n, documents = 4, 12_000
    made = real_rows(fill_in_the_middle([[0, 1, 2, 3]] * documents, IDS, seed=2, rate=1, spm_rate=0))
    cuts: Counter[tuple[int, int]] = Counter()
    for row in made:
        parts = parts_of(ended(row))
        assert parts is not None
        prefix, middle, _ = parts
        cuts[len(prefix), len(prefix) + len(middle)] += 1
    places = [(start, stop) for start in range(n + 1) for stop in range(start, n + 1)]
    shares = [(1 if start == stop else 2) / (n + 1) ** 2 for start, stop in places]
    assert set(cuts) == set(places)
    assert chi_square([cuts[place] for place in places], shares) < 31.3  # 0.5 % at 14 degrees of freedom
    mean = [sum(cuts[s, e] * length(s, e) for s, e in places) / documents for length in LENGTHS]
    # A third each is the limit for long documents; whole numbers give the middle a little more.
    assert mean[0] == pytest.approx(n * (2 * n + 1) / (6 * (n + 1)), abs=0.05)
    assert mean[1] == pytest.approx(n * (n + 2) / (3 * (n + 1)), abs=0.05)


LENGTHS = (lambda start, stop: start, lambda start, stop: stop - start)


def test_a_model_learns_from_it_and_it_is_causal_attention() -> None:
    examples = fill_in_the_middle([[1, 2, 3, 4, 5], [6, 7]], IDS, seed=0, rate=1, spm_rate=0)
    assert examples.mask is None
    assert_a_model_can_learn_from(examples, V)
    seen = seen_by_a_model(examples, 0, V)
    assert torch.equal(seen, torch.ones_like(seen).tril())
    row = real_rows(examples)[0]
    s, m = row.index(SUF), row.index(MID)
    assert s > 1  # no part is empty
    assert m > s + 1
    assert len(row) > m + 2
    assert not seen[: s + 1, s + 1 :].any()  # the prefix sees no suffix
    assert not seen[:m, m:].any()  # neither sees the middle
    assert seen[m:, :m].all()  # the middle sees both


contexts = st.lists(
    st.lists(st.one_of(st.integers(0, 8), st.just(END)), min_size=1, max_size=20), min_size=1, max_size=4
)


@given(contexts, seeds, st.booleans())
def test_a_context_keeps_its_documents_apart_and_its_length(
    given_contexts: list[list[int]], seed: int, characters: bool
) -> None:
    coders = {"encode": encode, "decode": decode} if characters else {}
    examples = fill_in_contexts(given_contexts, IDS, seed=seed, rate=1, **coders)
    for row, context in zip(real_rows(examples), given_contexts, strict=True):
        assert len(row) <= len(context)
        whole = split_at_ends(row)[:-1]  # the last one may have been cut off
        if characters:
            assert [decode(restored(document)) for document in whole] == [
                decode(document) for document in split_at_ends(context)[: len(whole)]
            ]
        else:
            assert [restored(document) for document in whole] == split_at_ends(context)[: len(whole)]
            assert len(row) == len(context)  # it only grows


def split_at_ends(row: list[int]) -> list[list[int]]:
    found: list[list[int]] = [[]]
    for token in row:
        if token == END:
            found.append([])
        else:
            found[-1].append(token)
    return found


@given(contexts, seeds)
def test_a_context_that_is_not_rearranged_stays_as_it_is(given_contexts: list[list[int]], seed: int) -> None:
    examples = fill_in_contexts(given_contexts, IDS, seed=seed, rate=0, encode=encode, decode=decode)
    assert real_rows(examples) == given_contexts


@given(rows, seeds)
def test_a_context_of_one_document_is_that_document_cut_off(document: list[int], seed: int) -> None:
    (alone,) = real_rows(fill_in_the_middle([document], IDS, seed=seed))
    (within,) = real_rows(fill_in_contexts([[*document, END]], IDS, seed=seed))
    assert within == alone[: len(document) + 1]


def test_each_document_of_a_context_has_its_own_draws_and_empty_ones_none() -> None:
    context = [1, 2, 3, 4, END, END] * 3000
    (row,) = real_rows(fill_in_contexts([context], IDS, seed=0, rate=0.3))
    documents = split_at_ends(row)
    full = [document for document in documents if document][:-1]
    moved = [document for document in full if PRE in document]
    assert abs(len(moved) - 0.3 * len(full)) < 4 * (0.21 * len(full)) ** 0.5
    assert len({tuple(document) for document in moved}) == 15  # 5 places, two cuts; SPM rows are among them
    assert all(restored(document) == [1, 2, 3, 4] for document in full)
    assert [bool(document) for document in documents[:6]] == [True, False] * 3


def test_a_document_that_was_cut_off_gets_no_end() -> None:
    (row,) = real_rows(fill_in_contexts([[1, 2, END, *[3] * 10]], IDS, seed=1, rate=1))
    assert row.count(END) == 1


@given(contexts, contexts, seeds)
def test_the_draws_of_a_context_do_not_depend_on_the_others(
    few: list[list[int]], more: list[list[int]], seed: int
) -> None:
    alone = real_rows(fill_in_contexts(few, IDS, seed=seed))
    assert real_rows(fill_in_contexts([*few, *more], IDS, seed=seed))[: len(few)] == alone
    longer = [[1, END, *few[0]], *few[1:]]
    assert real_rows(fill_in_contexts(longer, IDS, seed=seed))[1:] == alone[1:]


def special(name: str) -> list[Wrong]:
    named = [("prefix", PRE), ("middle", MID), ("suffix", SUF), ("pad", PAD)]
    return [
        Wrong(f"the {of}", [[1], [2, id_]], rf"{name}\[1\] holds the id {id_}, which is that of ids.{of}")
        for of, id_ in named
    ]


OTHER_IDS = [Wrong(str(x), x, "must be FimIds") for x in (None, 3, {"prefix": 1})]
FUNCTION = [Wrong(str(x), x, "must be a function") for x in (3, "abc", LETTERS)]
PART = [
    Wrong("None", None, "must be a list of ids"),
    Wrong("string", "abc", "must be a list of ids"),
    Wrong("bytes", b"abc", "must be a list of ids"),
    Wrong("tensor", torch.tensor([1]), r"tolist\(\)"),
    Wrong("float", [1.0], "must be a whole number"),
    Wrong("special", [MID], "holds the id 21, which is that of ids.middle"),
]
RATE = wrong_shares(none=True, whole=True)
SEED_AND_RATES = {"seed": count(0), "rate": RATE, "spm_rate": RATE}
GOOD = {"ids": IDS, "seed": 0, "rate": 0.5, "spm_rate": 0.5}
TABLE = [
    (
        "FimIds",
        FimIds,
        {"prefix": 1, "middle": 2, "suffix": 3, "end": 4, "pad": 5},
        {
            name: [
                *count(0),
                Wrong("large", 2**63, "but ids go from 0"),
                Wrong("twice", 4 if name != "end" else 5, "each special token needs its own id"),
            ]
            for name in ("prefix", "middle", "suffix", "end", "pad")
        },
    ),
    (
        "arrange_parts",
        arrange_parts,
        {"prefix": [], "middle": [1], "suffix": [], "ids": IDS, "spm": True},
        {
            **dict.fromkeys(("prefix", "middle", "suffix"), PART),
            "ids": OTHER_IDS,
            "spm": [Wrong(str(x), x, "must be True or False") for x in (None, 1, 0.5, "PSM")],
        },
    ),
    (
        "fill_in_the_middle",
        fill_in_the_middle,
        {**GOOD, "documents": [[1, 2], [3]], "encode": None},
        {
            **SEED_AND_RATES,
            "documents": [
                *id_rows("documents"),
                *special("documents"),
                Wrong("the end", [[END]], "which is that of ids.end"),
            ],
            "ids": OTHER_IDS,
            "encode": FUNCTION,
        },
    ),
    (
        "fill_in_the_middle of texts",
        fill_in_the_middle,
        {**GOOD, "documents": ["ab", "c"], "encode": encode},
        {
            **SEED_AND_RATES,
            "documents": [
                Wrong("None", None, "must be a list of strings"),
                Wrong("one string", "abc", "must be a list of strings"),
                Wrong("no text", [], "is empty: it needs at least one"),
                Wrong("an empty text", ["a", ""], r"documents\[1\] is empty"),
                Wrong("ids", [[1, 2]], r"documents\[0\] must be a string, as encode is given, not list"),
            ],
            "ids": OTHER_IDS,
            "encode": FUNCTION,
        },
    ),
    (
        "fill_in_contexts",
        fill_in_contexts,
        {**GOOD, "rows": [[1, 2], [3, END]], "encode": encode, "decode": decode},
        {
            **SEED_AND_RATES,
            "rows": [*id_rows("rows"), *special("rows")],
            "ids": OTHER_IDS,
            "encode": [*FUNCTION, Wrong("None", None, "give encode and decode, or neither")],
            "decode": [*FUNCTION, Wrong("None", None, "give encode and decode, or neither")],
        },
    ),
]


@pytest.mark.parametrize(("call", "good", "argument", "wrong"), refusals(TABLE))
def test_wrong_arguments_are_refused_beforehand(
    call: Callable[..., Any], good: dict[str, Any], argument: str, wrong: Wrong
) -> None:
    assert_refused(call, good, argument, wrong)


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        ("abc", r"encode\(...\) must be a list of ids, not str"),
        (torch.tensor([1]), r"use encode\(...\).tolist\(\)"),
        ([1.5], r"encode\(...\)\[0\] must be a whole number"),
        ([SUF], r"encode\(...\) holds the id 22, which is that of ids.suffix"),
    ],
)
@pytest.mark.parametrize("rate", [0, 1])
def test_a_tokeniser_that_does_not_return_ids_is_refused(returned: object, says: str, rate: float) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        fill_in_the_middle(["abc"], IDS, seed=0, rate=rate, encode=lambda text: returned)


def test_a_decoder_that_returns_symbols_is_told_to_join_them() -> None:
    with pytest.raises(TypeError, match="decode must return a string, not list: join the symbols"):
        fill_in_contexts([[1, 2]], IDS, seed=0, rate=1, encode=LETTERS.encode, decode=LETTERS.decode)
