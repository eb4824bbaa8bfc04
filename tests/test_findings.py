"""What is said of a table: right if and only if it is, each wrong look by its name, each doubt aloud."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import visible_pairs
from strategies import Padded, padded_batches
from torch import Tensor

from prefixlm_teach import TinyPrefixLM, explain, visibility

Table = list[list[bool]]


def prefix(n: int, p: int) -> Table:
    return visible_pairs(p, [True] * n)


def upside_down(n: int, p: int) -> Table:
    return [[q == k or not cell for k, cell in enumerate(row)] for q, row in enumerate(prefix(n, p))]


def windowed(table: Table, reach: int) -> Table:
    return [[cell and abs(q - k) <= reach for k, cell in enumerate(row)] for q, row in enumerate(table)]


def window_on_target(n: int, p: int, reach: int) -> Table:
    return [[k < p or (k <= q and q - k <= reach) for k in range(n)] for q in range(n)]


def looks(n: int, p: int) -> dict[str, Table]:
    """The tables of one example of n tokens, by the first words of what is to be said of each."""
    found = {
        "Right": prefix(n, p),
        "Causal: the prefix is not open": prefix(n, 0),
        "All visible: the labels leak": [[True] * n] * n,
        "Transposed: rows and columns are exchanged": [list(row) for row in zip(*prefix(n, p), strict=True)],
        "Upside down: True and False are exchanged": upside_down(n, p),
    }
    if p > 0:
        found[f"Prefix one token too short: as if p were {p - 1}, not {p}"] = prefix(n, p - 1)
    if p < n:
        found[f"Prefix one token too long: as if p were {p + 1}, not {p}"] = prefix(n, p + 1)
    return found


NAMES = {
    "Causal": "causal",
    "All visible": "all visible",
    "Transposed": "transposed",
    "Upside down": "upside down",
    "Prefix one token too short": "a prefix one token short",
    "Prefix one token too long": "a prefix one token long",
}
sizes = st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
clear_sizes = st.integers(5, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(3, n - 2)))


def cells_in(said: str) -> list[tuple[int, int, bool]]:
    """The cells that a text names: row, column, is it seen?"""
    found = re.findall(r"row (\d+) (sees|does not see) column (\d+)", said)
    return [(int(q), int(k), verb == "sees") for q, verb, k in found]


@given(sizes, st.data())
def test_a_table_is_right_if_and_only_if_it_is_the_mask_and_the_cells_named_are_wrong(
    size: tuple[int, int], data: st.DataObject
) -> None:
    n, p = size
    wanted = torch.tensor(prefix(n, p))
    flips = data.draw(st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=4))
    seen = wanted.clone()
    for q, k in flips:
        seen[q, k] = ~seen[q, k]
    said = explain(seen, p)
    assert said.startswith("Right") == (not flips)
    named = cells_in(said)
    assert bool(named) == bool(flips)
    assert all((q, k) in flips and bool(seen[q, k]) == is_seen for q, k, is_seen in named)
    if flips:
        assert min(flips) == named[0][:2]  # the first in reading order


@given(clear_sizes)
def test_each_look_is_called_by_its_name_and_no_other_where_the_input_is_long_enough(
    size: tuple[int, int],
) -> None:
    for name, table in looks(*size).items():
        said = explain(torch.tensor(table), size[1])
        assert said.startswith(name)
        assert "also" not in said


def test_what_looks_alike_on_a_short_input_is_said() -> None:
    doubts = 0
    for n in range(1, 7):
        for p in range(n + 1):
            for (one, table), (other, same) in combinations(looks(n, p).items(), 2):
                said = explain(torch.tensor(table), p)
                head = other.split(":")[0]
                if said.startswith(one.split(":")[0]) and head in NAMES:
                    also = re.search(r"This table is also that of: (.*)\.\nTo tell these apart", said)
                    assert (table == same) == (also is not None and NAMES[head] in also[1].split(", "))
                    doubts += table == same
    assert doubts > 30


def test_no_prefix_and_a_prefix_of_one_token_look_alike_and_it_says_so() -> None:
    for p, other in ((0, "a prefix one token long"), (1, "a prefix one token short")):
        said = explain(torch.tensor(prefix(6, p)), p)
        assert f"\nThis table is also that of: causal, {other}.\nTo tell these apart, probe with" in said


@given(clear_sizes)
def test_a_model_without_residual_may_be_upside_down_too(size: tuple[int, int]) -> None:
    said = explain(~torch.tensor(prefix(*size)), size[1])
    assert said.startswith("Upside down: True and False are exchanged (row 0 does not see column 0)")


@given(clear_sizes, st.data())
def test_another_prefix_is_called_by_its_length(size: tuple[int, int], data: st.DataObject) -> None:
    n, p = size
    other = data.draw(st.integers(2, n - 1))
    assume(abs(other - p) > 1)
    said = explain(torch.tensor(prefix(n, other)), p)
    assert said.startswith(f"Another prefix: as if p were {other}, not {p} (row 0 ")


@given(clear_sizes, st.data())
def test_windows_are_called_by_their_reach(size: tuple[int, int], data: st.DataObject) -> None:
    n, p = size
    reach = data.draw(st.integers(1, n - 2))
    tokens = f"{reach} token{'s' if reach > 1 else ''}"
    said = explain(torch.tensor(windowed(prefix(n, p), reach)), p)
    assert said.startswith(f"Window: no row sees further than {tokens} away (row ")
    said = explain(torch.tensor(windowed(prefix(n, 0), reach)), p)
    assert said.startswith(f"Causal, with a window: no row sees further than {tokens} back (row ")
    said = explain(torch.tensor(window_on_target(n, p, reach)), p)
    if reach < n - 1 - p:
        assert said.startswith(
            f"Window on the target alone: it reaches {tokens} back, but the prefix is open"
        )
    else:
        assert said.startswith("Right")  # such a window hides nothing


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_through_several_layers_a_window_reaches_further(n_layers: int) -> None:
    torch.manual_seed(0)
    model = TinyPrefixLM(7, d_model=8, n_heads=2, n_layers=n_layers, max_len=8).double().eval()
    mask = torch.tensor(windowed(prefix(8, 4), 1))
    seen = visibility(lambda tokens, p: model(tokens, mask=mask), torch.arange(8)[None] % 7, 4)
    assert explain(seen, 4).startswith(f"Window: no row sees further than {n_layers} token")


def test_a_table_like_nothing_known_is_shown_by_its_first_cells() -> None:
    seen = torch.tensor(prefix(6, 3))
    seen[0, 5] = seen[1, 4] = True
    assert explain(seen, 3) == "Not recognised (row 0 sees column 5; row 1 sees column 4)."
    seen[3, 0] = seen[4, 0] = seen[5, 5] = False
    assert explain(seen, 3) == (
        "Not recognised (row 0 sees column 5; row 1 sees column 4; row 3 does not see column 0; and 2 more)."
    )


def test_a_correct_prefix_is_no_bug_and_a_reader_who_expects_a_causal_model_is_told_what_it_is() -> None:
    """transformers 30993."""
    seen = torch.tensor(prefix(7, 4))
    assert explain(seen, 0) == "Another prefix: as if p were 4, not 0 (row 0 sees column 1)."


# Batches


def batch_table(batch: Padded) -> Tensor:
    """What a right model shows of a batch, (B, B, T, T): nothing of a neighbour, nothing at padding."""
    B, T = batch.valid.shape
    seen = torch.zeros(B, B, T, T, dtype=torch.bool)
    for b, (real, p) in enumerate(zip(batch.real, batch.prefix_len, strict=True)):
        seen[b, b] = torch.tensor(visible_pairs(p, real)) & batch.valid[b][:, None]
    return seen


@given(padded_batches(min_real=1), st.data())
def test_one_cell_that_should_be_hidden_is_found_in_any_batch(batch: Padded, data: st.DataObject) -> None:
    B, T = batch.valid.shape
    wanted = batch_table(batch)
    assert explain(wanted if B > 1 else wanted[0, 0], batch.p, valid=batch.valid).startswith("Right")
    a, b = data.draw(st.integers(0, B - 1)), data.draw(st.integers(0, B - 1))
    q, k = data.draw(st.integers(0, T - 1)), data.draw(st.integers(0, T - 1))
    seen = wanted.clone()
    seen[a, b, q, k] = ~seen[a, b, q, k]
    said = explain(seen if B > 1 else seen[0, 0], batch.p, valid=batch.valid)
    if not batch.real[a][q]:
        assert said.startswith("Right")  # what a row at padding sees means nothing
        return
    who = f"Example {a}: " if B > 1 else ""
    cell = f"row {q} {'sees' if seen[a, b, q, k] else 'does not see'} column {k}"
    if a != b:
        assert f"{who}A neighbour leaks ({cell}, example {b})." in said
    elif not batch.real[b][k]:
        assert f"{who}Padding is visible ({cell}, a pad)." in said
    else:
        assert re.search(rf"{who}[A-Z].* \({cell}\)\.", said)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=2, max_size=4), st.data())
def test_packed_documents_are_spoken_of_as_the_examples_of_a_batch(
    sizes: list[tuple[int, int]], data: st.DataObject
) -> None:
    lengths = [n for n, _ in sizes]
    prefix_lens = torch.tensor([min(p, n) for n, p in sizes])
    T, B = max(lengths), len(lengths)
    valid = torch.tensor([[t < n for t in range(T)] for n in lengths])
    table = torch.block_diag(
        *[torch.tensor(prefix(n, int(p))).int() for n, p in zip(lengths, prefix_lens, strict=True)]
    ).bool()
    q, k = (data.draw(st.integers(0, len(table) - 1)) for _ in "qk")
    table[q, k] = ~table[q, k]
    batch = torch.zeros(B * T, B * T, dtype=torch.bool)
    places = valid.flatten().nonzero().flatten()
    batch[places[:, None], places] = table
    of_batch = explain(batch.view(B, T, B, T).transpose(1, 2), prefix_lens, valid=valid)
    of_packed = explain(table, prefix_lens, lengths=lengths)

    def without_cells(said: str) -> list[str]:
        said = (
            re.sub(r"\b(row|column) \d+", r"\1", said)
            .replace("Document", "Example")
            .replace("document", "example")
        )
        return said.splitlines()

    assert without_cells(of_packed) == without_cells(of_batch)
    assert f"row {q} {'sees' if table[q, k] else 'does not see'} column {k}" in of_packed


def test_one_prefix_may_stand_for_all_examples_and_all_documents() -> None:
    batch = torch.zeros(2, 2, 6, 6, dtype=torch.bool)
    batch[0, 0] = batch[1, 1] = torch.tensor(prefix(6, 3))
    packed = torch.block_diag(batch[0, 0].int(), batch[0, 0].int()).bool()
    for p in (3, torch.tensor(3)):
        for said in (explain(batch, p), explain(packed, p, lengths=[6, 6])):
            assert said.startswith("Right")
            assert "Not tried: a prefix borrowed from a neighbour (all have the same p)." in said


def test_padding_of_a_packed_row_belongs_to_no_document() -> None:
    valid = torch.tensor([[False] + [True] * 5])
    seen = torch.zeros(6, 6, dtype=torch.bool)
    seen[1:4, 1:4], seen[4:, 4:] = torch.tensor(prefix(3, 2)), torch.tensor(prefix(2, 0))
    p = torch.tensor([2, 0])
    assert explain(seen, p, valid=valid, lengths=[3, 2]).startswith("Right")
    seen[5, 0] = True
    said = explain(seen, p, valid=valid, lengths=[3, 2])
    assert "Document 0: Right.\nDocument 1: Padding is visible (row 5 sees column 0, a pad)." in said


def test_earlier_documents_are_not_taken_for_pads() -> None:
    valid = torch.tensor([[False] + [True] * 10])
    seen = torch.zeros(11, 11, dtype=torch.bool)
    seen[1:3, 1:3], seen[3:, 3:] = torch.tensor(prefix(2, 2)), torch.tensor(prefix(8, 3))
    said = explain(seen, torch.tensor([2, 6]), valid=valid, lengths=[2, 8])
    assert "Document 1: Another prefix: as if p were 3, not 6 (row 3 does not see column 6)." in said


def test_pads_that_are_counted_as_prefix_are_told_from_another_prefix() -> None:
    valid = torch.tensor([[False, False] + [True] * 8])
    seen = torch.zeros(10, 10, dtype=torch.bool)
    seen[2:, 2:] = torch.tensor(prefix(8, 3))
    said = explain(seen, 5, valid=valid)
    assert said == (
        "Pads are counted as prefix: 2 before the text, and the prefix ends too soon "
        "(row 2 does not see column 5)."
    )


def test_an_example_of_nothing_but_padding_is_right() -> None:
    valid = torch.tensor([[True] * 4, [False] * 4])
    seen = torch.zeros(2, 2, 4, 4, dtype=torch.bool)
    seen[0, 0] = torch.tensor(prefix(4, 2))
    assert explain(seen, torch.tensor([2, 0]), valid=valid).startswith("Right")


def test_a_prefix_longer_than_the_example_could_be_borrowed_unseen() -> None:
    valid = torch.tensor([[True] * 8, [True] * 4 + [False] * 4])
    batch = batch_table(Padded(valid.tolist(), [6, 4]))
    said = explain(batch, torch.tensor([6, 4]), valid=valid)
    assert said.startswith("Right")
    assert "Example 1: This table is also that of: all visible, transposed, the p of example 0." in said


# What is left open


def test_a_right_table_says_what_it_leaves_open() -> None:
    alone = explain(torch.tensor(prefix(6, 3)), 3).splitlines()
    assert alone == [
        "Right: each row sees what a prefix LM with p = 3 shows it, and nothing else.",
        "Not tried: neighbours (there is one example).",
        "Not tried: padding (there is none).",
        "Not told by any table: the loss, positions, which layer sees, how much a row makes of it.",
    ]
    batch = batch_table(Padded([[True] * 8, [False] + [True] * 7], [3, 5]))
    valid = torch.tensor([[True] * 8, [False] + [True] * 7])
    assert explain(batch, torch.tensor([3, 5]), valid=valid).splitlines() == [
        "Right: each row sees what a prefix LM with its own p shows it, and nothing else.",
        alone[-1],
    ]


def test_what_was_not_tried_is_no_matter_where_something_is_wrong() -> None:
    assert "Not tried" not in explain(torch.tensor(prefix(6, 0)), 3)


# What does not fit together

SEEN = torch.tensor(prefix(5, 2))


@pytest.mark.parametrize(
    ("lengths", "prefix_len", "says"),
    [
        ([3, 3], 1, "lengths add up to 6, but the row has 5 real tokens"),
        ([2, 2], 1, "lengths add up to 4, but the row has 5 real tokens"),
        ([3, 2], torch.tensor([1, 1, 1]), "prefix_len is for 3 documents, but there are 2"),
        ([3, 2], torch.tensor([1, 3]), r"prefix_len 3 is longer than document 1 \(2 tokens\)"),
        ([3, 2], 3, r"prefix_len 3 is longer than document 1 \(2 tokens\)"),
    ],
)
def test_lengths_have_to_fit_the_row_and_its_prefixes(
    lengths: list[int], prefix_len: int | Tensor, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        explain(SEEN, prefix_len, lengths=lengths)


def test_lengths_are_for_one_row() -> None:
    with pytest.raises(ValueError, match="documents packed in one row, but seen is for 2 examples"):
        explain(SEEN.expand(2, 2, 5, 5), 1, lengths=[3, 2])
