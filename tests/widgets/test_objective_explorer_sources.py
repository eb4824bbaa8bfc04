"""Where each token of an example comes from: ends that come twice, documents, objectives that change rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from shown_objective import SENTENCE, vocabulary_of

from prefixlm_teach import (
    CodeGen2Ids,
    Examples,
    FimIds,
    ObjectiveExplorer,
    Vocabulary,
    causal_lm,
    codegen2_mixture,
    fill_in_contexts,
    fill_in_the_middle,
    masked_lm,
    prefix_lm,
)
from prefixlm_teach.examples import examples_of_pairs
from prefixlm_teach.rows import row_draws
from prefixlm_teach.spans import cut_out, noise_mask

WORDS = ["the", "cat", "sat", "on", "a", "mat", "."]
SPECIAL = ["<pad>", "</s>", "<sep>", "<eom>", "<pre>", "<mid>", "<suf>"]
VOCABULARY = Vocabulary([*SPECIAL, *WORDS, *(f"<x{i}>" for i in range(19, -1, -1))])
V = len(VOCABULARY)
CODEGEN2 = CodeGen2Ids(masks=tuple(range(V - 1, V - 21, -1)), sep=2, eom=3, end=1, pad=0)
FIM = FimIds(prefix=4, middle=5, suffix=6, end=1, pad=0)
moved_spans = partial(codegen2_mixture, ids=CODEGEN2, mask_ratio=(0.2, 0.4), span_lens=(1, 2), rate=1)


def shown(objective: Any, tokens: Sequence[str], **given: Any) -> ObjectiveExplorer:
    """An explorer of one objective."""
    return ObjectiveExplorer({"a": objective}, tokens, VOCABULARY, **given)


def noise(explorer: ObjectiveExplorer) -> list[int]:
    """The tokens of the sentence that are marked."""
    assert explorer.made is not None
    return list(explorer.made.noise)


def corrupt(rows: list[list[int]], *, seed: int, rate: float = 0.15, mean_span: float = 3.0) -> Examples:
    """Span corruption of somebody who lets a text hold the very end that is added to it."""
    where = noise_mask(len(rows[0]), rate, mean_span, row_draws(seed, 0))
    prefix, target = cut_out(rows[0], where, V)
    return examples_of_pairs([([*prefix, 1], [*target, 1])], 0)


@given(st.lists(st.sampled_from([*WORDS, "</s>"]), min_size=2, max_size=12), st.integers(0, 11))
def test_an_end_of_the_sentence_is_told_from_those_that_are_added(tokens: list[str], at: int) -> None:
    tokens.insert(at % len(tokens), "</s>")
    if set(tokens) == {"</s>"}:
        tokens.append("cat")
    explorer = shown(corrupt, tokens, rates=[0.2, 0.4], mean_spans=[1.0], draws=4)
    for explorer.draw in range(4):
        where = noise_mask(len(tokens), 0.2, 1, row_draws(explorer.draw, 0))
        assert noise(explorer) == np.flatnonzero(where).tolist()


@pytest.mark.parametrize("text", ["the cat sat on </s> a mat .", "the cat sat on a mat . </s>"])
def test_the_one_end_of_a_sentence_is_noise_only_if_it_is_taken_out(text: str) -> None:
    explorer = shown(corrupt, text.split(), mean_spans=[1.0])
    for explorer.draw in range(8):
        where = noise_mask(8, 0.15, 1, row_draws(explorer.draw, 0))
        assert noise(explorer) == np.flatnonzero(where).tolist()


def test_an_end_that_cannot_be_told_from_those_that_are_added_is_refused() -> None:
    def ended(rows: list[list[int]], *, seed: int) -> Examples:
        if rows[0].index(1) != len(rows[0]) - 1:
            raise ValueError("a text has one end")
        return corrupt(rows, seed=seed)

    with pytest.raises(
        ValueError, match=r"a token that it adds cannot be told from the sentence's own: leave"
    ):
        shown(ended, [*WORDS, "</s>"])


def test_a_token_that_is_asked_for_twice_is_noise_once() -> None:
    def copied(rows: list[list[int]]) -> Examples:
        return prefix_lm([[*rows[0], *rows[0][:2], *rows[0][:2]]], prefix_len=len(rows[0]))

    assert noise(shown(copied, WORDS)) == [0, 1]


@pytest.mark.parametrize(
    "text", ["the cat sat on the mat . </s>", "the cat sat on a mat . </s>", "the cat sat on the mat ."]
)
def test_a_sentence_of_one_document_keeps_its_end_where_the_objective_needs_it(text: str) -> None:
    tokens = text.split()
    explorer = shown(moved_spans, tokens, draws=16, noise_after=["<sep>"])
    for explorer.draw in range(16):
        behind = explorer.row[explorer.row.index("<sep>") :]
        assert sorted(tokens[i] for i in noise(explorer)) == sorted(t for t in behind if t in tokens)
        kept = [t for t in explorer.row[: explorer.row.index("<sep>")] if t in tokens]
        assert [t for i, t in enumerate(tokens) if i not in noise(explorer)] == kept


@pytest.mark.parametrize("text", ["the cat sat on the mat . </s>", "the cat sat on a mat . </s>"])
@pytest.mark.parametrize("spm_rate", [0, 1])
def test_the_end_of_the_document_is_not_moved(text: str, spm_rate: int) -> None:
    tokens = text.split()

    def ended(rows: list[list[int]], *, seed: int) -> Examples:
        if rows[0].index(1) != len(rows[0]) - 1:
            raise ValueError("a text has one end")
        return fill_in_the_middle([rows[0][:-1]], FIM, seed=seed, rate=1, spm_rate=spm_rate)

    explorer = shown(ended, tokens, draws=16, noise_after=["<mid>"])
    for explorer.draw in range(16):
        middle = explorer.row[explorer.row.index("<mid>") + 1 : -1]
        assert [tokens[i] for i in noise(explorer)] == list(middle)


@pytest.mark.parametrize("objective", [moved_spans, partial(fill_in_contexts, ids=FIM, rate=0.5)])
@pytest.mark.parametrize("text", ["the cat sat </s> on a mat .", "the cat </s> </s> on the mat . </s>"])
def test_two_documents_are_refused_where_what_is_moved_would_be_noise(objective: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r"use a sentence of one document|words that come twice"):
        shown(objective, text.split(), noise_after=["<sep>", "<mid>"])
    explorer = shown(objective, text.split())  # without noise, there is nothing to tell
    assert noise(explorer) == []


def test_two_documents_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match="objective 'a' makes more than one document of the sentence"):
        shown(moved_spans, [*WORDS[:3], "</s>", *WORDS[3:]], noise_after=["<sep>"])


def reversing(rows: list[list[int]], *, seed: int) -> Examples:
    """A prefix LM that spoils what it was given."""
    made = prefix_lm(rows, seed=seed)
    rows[0].reverse()
    rows.append([1])
    return made


def growing(rows: list[list[int]], *, seed: int) -> Examples:
    """A prefix LM that adds an end to the row itself."""
    rows[0].append(1)
    return prefix_lm(rows, seed=seed)


@pytest.mark.parametrize("tokens", [WORDS, [*WORDS, *WORDS]])
@pytest.mark.parametrize(("objective", "end"), [(reversing, []), (growing, ["</s>"])])
def test_an_objective_that_changes_its_rows_changes_no_later_state(
    objective: Any, end: list[str], tokens: list[str]
) -> None:
    explorer = ObjectiveExplorer({"a": objective, "b": causal_lm}, tokens, VOCABULARY)
    for explorer.draw in range(8):
        explorer.objective = "a"
        assert list(explorer.row) == [*tokens, *end]
        assert explorer.made is not None
        assert noise(explorer) == list(range(explorer.made.prefix_len or 0, len(tokens)))
        explorer.objective = "b"
        assert list(explorer.row) == tokens


def test_a_mask_of_two_dimensions_is_shown_as_one_of_four() -> None:
    vocabulary = vocabulary_of(SENTENCE)

    def backwards(rows: list[list[int]], *, dims: int) -> Examples:
        made = masked_lm(rows, vocab_size=len(vocabulary), mask_id=2, seed=0)
        mask = torch.ones(6, 6, dtype=torch.bool).triu()
        mask = mask if dims == 2 else mask[None, None]
        return Examples(made.tokens, made.labels, made.valid, mask=mask, cloze=True)

    explorer = ObjectiveExplorer(
        {str(dims): partial(backwards, dims=dims) for dims in (2, 4)}, SENTENCE, vocabulary
    )
    assert explorer.mask is not None
    assert torch.equal(explorer.mask, torch.ones(6, 6, dtype=torch.bool).triu())
    two = explorer.made
    explorer.objective = "4"
    assert explorer.made == two
