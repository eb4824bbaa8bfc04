"""Spoken masks: the sentence must say exactly what the mask shows, so it is read back and compared."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import Padded, padded_batches
from torch import Tensor

from prefixlm_teach import bidirectional_mask, causal_mask, create_prefix_lm_mask, describe_mask


def read_back(sentence: str) -> list[list[bool]]:
    """Rebuild a mask from its description, by the words alone."""
    found = re.fullmatch(r"(\d+) rows \(queries\) by (\d+) columns \(keys\): (.*)\.", sentence)
    assert found, sentence
    rows: list[list[bool] | None] = [None] * int(found[1])
    for part in found[3].split("; "):
        who = re.match(r"rows? (\d+)(?: to (\d+))? (?:each )?sees? (.*)", part)
        assert who, part
        for row in range(int(who[1]), int(who[2] or who[1]) + 1):
            assert rows[row] is None, f"row {row} is spoken of twice"
            seen = [False] * int(found[2])
            for first, last, own in re.findall(r"(\d+)(?: to (\d+)|( up to their own))?", who[3]):
                end = row if own else int(last or first)
                seen[int(first) : end + 1] = [True] * (end + 1 - int(first))
            rows[row] = seen
    assert None not in rows, "a row is not spoken of"
    return rows  # type: ignore[return-value]


@pytest.mark.parametrize(("seq_len", "p"), [(n, p) for n in range(1, 9) for p in range(n + 1)])
def test_the_sentence_of_a_prefix_mask_reads_back_as_the_mask(seq_len: int, p: int) -> None:
    mask = create_prefix_lm_mask(seq_len, p)
    assert read_back(describe_mask(mask)) == mask.tolist()


@given(st.integers(1, 7), st.integers(1, 7), st.data())
def test_the_sentence_of_any_mask_reads_back_as_the_mask(
    rows: int, columns: int, data: st.DataObject
) -> None:
    row = st.lists(st.booleans(), min_size=columns, max_size=columns)
    mask = data.draw(st.lists(row, min_size=rows, max_size=rows))
    assert read_back(describe_mask(torch.tensor(mask))) == mask


@given(padded_batches())
def test_each_example_of_a_batch_has_its_sentence(batch: Padded) -> None:
    mask = create_prefix_lm_mask(len(batch.real[0]), batch.p, valid=batch.valid)
    said = describe_mask(mask)
    parts = re.split(r"\s?Example \d+: ", said)[1:] if len(mask) > 1 else [said]
    assert [read_back(part) for part in parts] == mask[:, 0].tolist()
    assert re.findall(r"Example (\d+)", said) == ([str(b) for b in range(len(mask))] if len(mask) > 1 else [])


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        (causal_mask(1), "1 rows (queries) by 1 columns (keys): row 0 sees column 0."),
        (
            causal_mask(4),
            "4 rows (queries) by 4 columns (keys): rows 0 to 3 each see column 0 up to their own.",
        ),
        (
            bidirectional_mask(4),
            "4 rows (queries) by 4 columns (keys): rows 0 to 3 see columns 0 to 3.",
        ),
        (
            create_prefix_lm_mask(6, 3),
            "6 rows (queries) by 6 columns (keys): rows 0 to 2 see columns 0 to 2; "
            "rows 3 to 5 each see column 0 up to their own.",
        ),
        (
            torch.tensor([[False, False], [True, True]]),
            "2 rows (queries) by 2 columns (keys): row 0 sees nothing; row 1 sees columns 0 to 1.",
        ),
    ],
)
def test_the_sentences_of_the_usual_masks(mask: Tensor, sentence: str) -> None:
    assert describe_mask(mask) == sentence


def test_the_sentence_of_a_long_prefix_mask_stays_short() -> None:
    assert len(describe_mask(create_prefix_lm_mask(128, 40))) < 150
