"""The batch explorer without a browser: its masks, its differences, its errors, its words."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from shown_batch import expected_kinds

from prefixlm_teach import BatchExplorer, create_prefix_lm_mask

EXAMPLES = [["What", "time", "?", "Noon", "."], ["Who", "?", "Me"]]


@st.composite
def batches(draw: st.DrawFn) -> BatchExplorer:
    """A batch of any shape, with any p, either padding, and perhaps one p for all."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    ps = [draw(st.integers(0, n)) for n in lengths]
    return BatchExplorer(
        [[f"w{t}" for t in range(n)] for n in lengths],
        ps,
        side=draw(st.sampled_from(["left", "right"])),
        borrowed=draw(st.none() | st.integers(0, len(lengths) - 1)),
    )


@given(batches())
def test_the_masks_and_the_differences_are_those_of_the_rule(explorer: BatchExplorer) -> None:
    lengths = [len(tokens) for tokens in explorer.examples]
    for b, n in enumerate(lengths):
        real = [symbol != "<pad>" for symbol in explorer.padded(b)]
        assert explorer.valid[b].tolist() == real
        assert sum(real) == n
        kinds = explorer.kinds(b)
        assert torch.stack(list(kinds.values())).sum(0).eq(1).all()  # each cell is of one kind
        wanted = expected_kinds(explorer, b)
        for kind, cells in kinds.items():
            assert cells.tolist() == [[each == kind for each in row] for row in wanted]
    assert torch.equal(
        explorer.mask,
        create_prefix_lm_mask(max(lengths), torch.tensor(explorer.prefix_lens), valid=explorer.valid),
    )
    if explorer.borrowed is None:
        assert torch.equal(explorer.mask, explorer.borrowed_mask)


def test_a_longer_int_leaks_and_a_shorter_one_loses() -> None:
    explorer = BatchExplorer(EXAMPLES, [3, 2], borrowed=0)
    assert {kind: int(cells.sum()) for kind, cells in explorer.kinds(1).items()} == {
        "past": 12,
        "opened": 1,
        "blocked": 0,
        "padding": 10,
        "leaked": 2,
        "lost": 0,
    }
    explorer.borrowed = 1
    assert int(explorer.kinds(0)["lost"].sum()) == 2
    assert int(explorer.kinds(0)["leaked"].sum()) == 0


def test_its_words() -> None:
    explorer = BatchExplorer(EXAMPLES, [3, 2], borrowed=0)
    assert explorer.picture().alt == explorer.description
    assert explorer.description == (
        "2 examples, padded on the right (0: What time ? Noon .; 1: Who ? Me <pad> <pad>). "
        "One int for all: p = 3, which is right for example 0. "
        "Example 0: 5 rows (queries) by 5 columns (keys): rows 0 to 2 see columns 0 to 2; rows 3 to 4 each "
        "see column 0 up to their own. Example 1: 5 rows (queries) by 5 columns (keys): rows 0 to 4 see "
        "columns 0 to 2. 2 cells leaked, 0 lost."
    )
    explorer.borrowed = None
    assert "Each has its own p: 3, 2." in explorer.description
    assert repr(explorer) == "BatchExplorer(2 examples, prefix_lens=[3, 2])"


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"examples": []}, ValueError, "examples is empty: there is nothing to show"),
    ({"examples": "a b"}, TypeError, "examples must be a list of lists of tokens, not str ('a b')"),
    (
        {"examples": ["a b"]},
        TypeError,
        "examples[0] must be a list of strings, one per token, not str ('a b')",
    ),
    ({"examples": [["a"], []]}, ValueError, "examples[1] is empty: it needs at least one token"),
    ({"examples": [["a"], ["b", 3]]}, TypeError, "examples[1] must be strings, but token 1 is int (3)"),
    ({"examples": [["a"]] * 9}, ValueError, "there are 9 examples, and an explorer shows at most 8"),
    ({"examples": [["a"] * 65]}, ValueError, "examples[0] has 65 tokens, and an explorer shows at most 64"),
    ({"prefix_lens": [1]}, ValueError, "prefix_lens is for 1 examples, but there are 2"),
    (
        {"prefix_lens": 3},
        TypeError,
        "prefix_lens must be a list of whole numbers, one per example, not int",
    ),
    ({"prefix_lens": [3, 4]}, ValueError, "prefix_lens[1] is 4, longer than example 1 (3 tokens)"),
    ({"prefix_lens": [3, 1.0]}, TypeError, "prefix_lens[1] must be a whole number"),
    ({"prefix_lens": torch.tensor([3, 2])}, TypeError, "use prefix_lens.tolist()"),
    ({"side": "top"}, ValueError, "side 'top' is not one of right, left"),
    ({"side": None}, TypeError, "side must be a string, not NoneType"),
    ({"borrowed": 2}, ValueError, "borrowed is 2, and the last example is number 1"),
    ({"borrowed": -1}, ValueError, "borrowed must be at least 0, not -1"),
    ({"borrowed": True}, TypeError, "borrowed must be a whole number"),
]


@pytest.mark.parametrize(("change", "error", "words"), BAD)
def test_bad_input_is_named_and_changes_nothing(
    change: dict[str, Any], error: type[Exception], words: str
) -> None:
    good = {"examples": EXAMPLES, "prefix_lens": [3, 2], "side": "right", "borrowed": None}
    with pytest.raises(error) as raised:
        BatchExplorer(**good | change)
    assert words in str(raised.value)
    if "examples" in change:
        return
    explorer = BatchExplorer(**good)
    before = explorer.state()
    ((trait, value),) = change.items()
    for set_it in (lambda: setattr(explorer, trait, value), lambda: explorer.set_state({trait: value})):
        with pytest.raises(error) as raised:
            set_it()
        assert words in str(raised.value)
        assert explorer.state() == before


def test_the_tokens_cannot_be_changed_behind_the_explorers_back() -> None:
    examples = [["a", "b"]]
    explorer = BatchExplorer(examples, [1])
    examples[0].append("c")
    assert explorer.examples == (("a", "b"),)
