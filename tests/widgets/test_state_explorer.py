"""The state explorer without a browser: its states, its counts, its words, its errors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from shown_state import (
    TOKENS,
    draw_heads,
    expected_counts,
    expected_out,
    expected_shares,
    expected_state,
    make,
    png_shares,
)

from prefixlm_teach import StateExplorer, causal_linear_attention
from prefixlm_teach.widgets.state_numbers import share_of, write_number


@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 99), st.data())
def test_every_state_is_that_of_linear_attention_and_every_count_that_of_a_loop(
    seq_len: int, d: int, seed: int, data: st.DataObject
) -> None:
    p = data.draw(st.integers(0, seq_len))
    explorer = StateExplorer(["a"] * seq_len, *draw_heads(seq_len, d, seed), p)
    found = torch.zeros(d, d + 1, dtype=torch.float64)
    for explorer.row in range(seq_len):
        state = explorer.linear_state
        grid = torch.cat([state.memory[0, 0], state.normaliser[0, 0, :, None]], -1)
        assert torch.allclose(grid, torch.tensor(expected_state(explorer), dtype=torch.float64))
        assert torch.allclose(explorer.out, torch.tensor(expected_out(explorer), dtype=torch.float64))
        assert explorer.counts == expected_counts(explorer)
        found[:, :d] += explorer.added.memory[0, 0]
        found[:, d] += explorer.added.normaliser[0, 0]
        assert torch.allclose(found, grid)  # what the rows add comes to what they read


@pytest.mark.parametrize("p", [2, 4, 6])
def test_all_rows_of_the_prefix_read_one_state_and_each_later_row_another(p: int) -> None:
    explorer, states = make(p=p), []
    for explorer.row in range(len(TOKENS)):
        states.append(explorer.linear_state.memory)
    assert all(torch.equal(state, states[0]) for state in states[:p])
    assert all(not torch.equal(one, two) for one, two in zip(states[p - 1 :], states[p:], strict=False))


@pytest.mark.parametrize("p", [0, 1])
def test_without_an_open_prefix_it_is_the_causal_recurrence(p: int) -> None:
    explorer = make(p=p)
    q, k, v = torch.tensor(explorer.table, dtype=torch.float64)[:, None, None]
    out, state = causal_linear_attention(q, k, v, chunk=1)
    for explorer.row in range(len(TOKENS)):
        assert torch.allclose(explorer.out, out[0, 0, explorer.row])
        assert explorer.words.startswith(f"Row {explorer.row}, “{TOKENS[explorer.row]}”, adds its key")
        forms = [list(figures.values())[:2] for figures in explorer.counts.values()]
        assert forms[0][0] == forms[0][1]
        assert forms[1][0] == forms[1][1]
    assert torch.allclose(explorer.linear_state.memory, state.memory)


def test_the_forms_end_level_in_multiplications_and_the_state_never_grows() -> None:
    explorer, sizes, caches = make(p=4), set(), []
    for explorer.row in range(len(TOKENS)):
        kept = explorer.counts["Numbers kept for what follows"]
        sizes.add(kept["state (S and z)"])
        caches.append(kept["key-value cache"])
    work = explorer.counts["Multiplications so far"]
    assert work["prefix form"] == work["causal form"] == 6 * (2 * 9 + 3)
    assert sizes == {12}
    assert caches == [24, 24, 24, 24, 30, 36]


def test_its_words() -> None:
    explorer = make()
    assert explorer.words == (
        "Row 0, “o”, reads the state of the whole prefix, which was added first, at once: tokens 0 to 2. "
        "States made so far: 1; by the causal form: 1."
    )
    explorer.row = 2
    assert explorer.words == (
        "Row 2, “<sep>”, adds nothing, and reads the same state as row 0: tokens 0 to 2. "
        "States made so far: 1; by the causal form: 3."
    )
    explorer.row = 3
    assert explorer.words == (
        "Row 3, “AA”, adds its key to the state, and reads it: tokens 0 to 3. "
        "States made so far: 2; by the causal form: 4."
    )
    explorer.row, explorer.prefix_len = 0, 1
    assert explorer.words == (
        "Row 0, “o”, adds its key to the state, and reads it: token 0. "
        "States made so far: 1; by the causal form: 1."
    )
    assert repr(explorer) == "StateExplorer(6 tokens, row=0, prefix_len=1)"


def test_its_picture_is_described_with_its_numbers() -> None:
    ones = torch.ones(2, 2)
    explorer = StateExplorer(["a", "b"], torch.zeros(2, 2), ones, ones * torch.tensor([0.5, -3.0]), 2, row=1)
    assert explorer.picture().alt == (
        "Row 1, “b”, adds nothing, and reads the same state as row 0: tokens 0 to 1. States made so far: 1; "
        "by the causal form: 2. S, a line for each feature of the key: +2.00 −12.0; +2.00 −12.0. z: "
        "4.00 4.00. The row reads +0.50 −3.00. Multiplications so far: prefix form 20, causal form 20, pair "
        "by pair 16. Numbers kept for what follows: state (S and z) 6, key-value cache 8."
    )


@pytest.mark.parametrize(("seq_len", "d"), [(1, 4), (6, 3), (12, 4), (20, 6)])
def test_the_picture_shows_every_number_by_its_tint(seq_len: int, d: int) -> None:
    explorer = make(["a"] * seq_len, seq_len // 2, d, row=seq_len // 3)
    for line, tints in zip(expected_shares(explorer), png_shares(explorer), strict=True):
        assert [share.expected for share in line] == tints


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0.0, "0.00"),
        (-0.004, "0.00"),
        (-0.006, "−0.01"),
        (0.125, "+0.13"),
        (-9.994, "−9.99"),
        (9.996, "+10.0"),
        (99.96, "+100"),
        (-1234.5, "−1235"),
    ],
)
def test_a_number_is_written_in_three_digits_with_its_sign(number: float, written: str) -> None:
    assert write_number(number) == written
    assert write_number(abs(number), signed=False) == written.strip("+−")


def test_where_nothing_is_summed_up_nothing_is_tinted() -> None:
    assert share_of(0.0, 0.0) == 0
    explorer = StateExplorer(["a", "b"], *torch.zeros(3, 2, 3), 1)
    assert explorer.picture().png
    assert explorer.out.tolist() == [0.0, 0.0, 0.0]


def test_the_table_is_small_and_rounded() -> None:
    explorer = make()
    q, k, v = (part.double() for part in draw_heads(len(TOKENS)))
    for part, table in zip((q, k, v), explorer.table, strict=True):
        assert torch.allclose(torch.tensor(table, dtype=torch.float64), part, atol=0.00501)
    assert all(
        f"{x:.2f}" == f"{x:.12f}".rstrip("0").ljust(len(f"{x:.2f}"), "0") for x in explorer.table[0][0]
    )


HEADS = draw_heads(6)
BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"tokens": "o x"}, TypeError, "tokens must be a list of strings, one per token: use 'o x'.split()"),
    ({"tokens": []}, ValueError, "tokens is empty: there is nothing to show"),
    ({"tokens": ["a"] * 65}, ValueError, "there are 65 tokens, and an explorer shows at most 64"),
    ({"tokens": ["a"] * 5}, ValueError, "q has 6 rows, but there are 5 tokens"),
    ({"q": None}, TypeError, "q must be a (T, d) tensor, not NoneType"),
    ({"k": HEADS[1].tolist()}, TypeError, "k must be a (T, d) tensor, not list"),
    ({"v": HEADS[2].long()}, TypeError, "v must be float16, bfloat16, float32 or float64, not torch.int64"),
    (
        {"k": HEADS[1][None, None]},
        ValueError,
        "k must be (T, d), not (1, 1, 6, 3): choose one head of one example, k[0, 0]",
    ),
    ({"v": HEADS[2][:, 0]}, ValueError, "v must be (T, d), not (6,)"),
    ({"v": HEADS[2][:5]}, ValueError, "v has 5 rows, but there are 6 tokens"),
    ({"k": HEADS[1][:, :2]}, ValueError, "k has 2 numbers per token, but q has 3"),
    ({"q": torch.ones(6, 7)}, ValueError, "q has 7 numbers per token: this explorer shows 1 to 6"),
    ({"q": torch.ones(6, 0)}, ValueError, "q has 0 numbers per token: this explorer shows 1 to 6"),
    ({"v": HEADS[2] * torch.nan}, ValueError, "v must hold numbers from -10 to 10, and none may be NaN"),
    ({"k": HEADS[1] + 9e9}, ValueError, "k must hold numbers from -10 to 10"),
    ({"k": torch.ones(6, 3, device="meta")}, ValueError, "k is on the meta device, which holds no values"),
    ({"prefix_len": 7}, ValueError, "prefix_len 7 is longer than the sequence (6 tokens)"),
    ({"prefix_len": True}, TypeError, "prefix_len must be a whole number, not bool (True)"),
    ({"row": 6}, ValueError, "there is no row 6: the rows are 0 to 5"),
    ({"row": -1}, ValueError, "row must be at least 0, not -1"),
    ({"row": 1.0}, TypeError, "row must be a whole number, not float (1.0)"),
]


@pytest.mark.parametrize(("change", "error", "words"), BAD)
def test_bad_input_is_named(change: dict[str, Any], error: type[Exception], words: str) -> None:
    q, k, v = HEADS
    with pytest.raises(error) as raised:
        StateExplorer(**{"tokens": TOKENS, "q": q, "k": k, "v": v, "prefix_len": 3} | change)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("trait", "value", "error"),
    [
        ("row", 6, ValueError),
        ("row", None, TypeError),
        ("prefix_len", 7, ValueError),
        ("prefix_len", "3", TypeError),
    ],
)
def test_a_bad_value_raises_and_the_old_one_stays(trait: str, value: Any, error: type[Exception]) -> None:
    explorer = make(row=2)
    before = explorer.state()
    for set_it in (lambda: setattr(explorer, trait, value), lambda: explorer.set_state({trait: value})):
        with pytest.raises(error, match=trait):
            set_it()
        assert explorer.state() == before


def test_the_only_row_is_named() -> None:
    with pytest.raises(ValueError, match="there is no row 1: the only one is row 0"):
        StateExplorer(["a"], *draw_heads(1), 0, row=1)


def test_half_of_the_tokens_is_the_default() -> None:
    assert StateExplorer(TOKENS, *HEADS).prefix_len == 3
