"""The split explorer without a browser: its values, its errors, and what it leaves where nothing can run."""

from __future__ import annotations

import base64
import json
from typing import Any

import ipywidgets
import pytest
import torch
from traitlets import TraitError

from prefixlm_teach import SplitExplorer, create_prefix_lm_mask, describe_mask
from prefixlm_teach.widgets.base import VIEW

TOKENS = ["Quelle", "est", "la", "capitale", "de", "la", "France"]


@pytest.mark.parametrize("seq_len", [1, 2, 7, 24])
def test_every_value_runs_through_python(seq_len: int) -> None:
    explorer = SplitExplorer([f"w{t}" for t in range(seq_len)], 0)
    seen: list[int] = []
    explorer.observe(lambda change: seen.append(change.new), "prefix_len")
    for p in range(seq_len + 1):
        explorer.prefix_len = p
        assert explorer.prefix_len == p
        assert torch.equal(explorer.mask, create_prefix_lm_mask(seq_len, p))
        assert explorer.description == describe_mask(explorer.mask)
    assert seen == list(range(1, seq_len + 1))


def test_every_value_has_its_picture() -> None:
    explorer = SplitExplorer(["a", "b", "c"])
    pictures = []
    for p in range(4):
        explorer.prefix_len = p
        pictures.append(explorer.picture())
        assert f"prefix length {p}." in pictures[-1].alt
    assert len({picture.png for picture in pictures}) == 4


def test_a_message_from_the_browser_sets_the_value() -> None:
    explorer = SplitExplorer(TOKENS)
    for p in range(8):
        explorer.set_state({"prefix_len": p})
        assert explorer.prefix_len == p


def test_half_is_the_default() -> None:
    assert [SplitExplorer(["a"] * n).prefix_len for n in (1, 2, 7)] == [0, 1, 3]


BAD = [
    (9, ValueError, "prefix_len 9 is longer than the sequence (7 tokens)"),
    (-1, ValueError, "prefix_len must be at least 0, not -1"),
    (2.0, TypeError, "prefix_len must be a whole number, not float (2.0)"),
    (True, TypeError, "prefix_len must be a whole number, not bool (True)"),
    ("3", TypeError, "prefix_len must be a whole number, not str ('3')"),
    (None, TypeError, "prefix_len must be a whole number, not NoneType"),
    (
        torch.tensor(3),
        TypeError,
        "prefix_len must be one whole number here, not a tensor: use int(prefix_len)",
    ),
]


@pytest.mark.parametrize(("value", "error", "words"), BAD, ids=[repr(value) for value, _, _ in BAD])
def test_a_bad_value_raises_and_the_old_one_stays(value: Any, error: type[Exception], words: str) -> None:
    explorer = SplitExplorer(TOKENS, 4)
    for set_it in (
        lambda: setattr(explorer, "prefix_len", value),
        lambda: explorer.set_state({"prefix_len": value}),
    ):
        with pytest.raises(error) as raised:
            set_it()
        assert str(raised.value) == words
        assert explorer.prefix_len == 4
    if value is not None:
        with pytest.raises(error):
            SplitExplorer(TOKENS, value)


@pytest.mark.parametrize(
    ("tokens", "error", "words"),
    [
        ([], ValueError, "tokens is empty"),
        ("a b", TypeError, "use 'a b'.split()"),
        (["a", 2], TypeError, "token 1 must be a string, not int (2)"),
        (7, TypeError, "tokens must be a list of strings, not int (7)"),
    ],
)
def test_bad_tokens_are_named(tokens: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        SplitExplorer(tokens)
    assert words in str(raised.value)


def test_the_tokens_stay_as_they_are() -> None:
    explorer = SplitExplorer(TOKENS)
    with pytest.raises(TraitError, match="read-only"):
        explorer.tokens = ["a"]


def test_it_can_be_linked() -> None:
    explorer, slider = SplitExplorer(TOKENS), ipywidgets.IntSlider(5, max=7)
    ipywidgets.link((slider, "value"), (explorer, "prefix_len"))
    assert explorer.prefix_len == 5
    explorer.prefix_len = 2
    assert slider.value == 2
    ipywidgets.jslink((slider, "value"), (explorer, "prefix_len"))  # raises where a trait is not synced


def test_a_cell_shows_the_live_view_a_picture_and_a_sentence() -> None:
    explorer = SplitExplorer(TOKENS, 3)
    data, metadata = explorer._repr_mimebundle_()
    view = data[VIEW]
    assert view == json.loads(json.dumps(view))
    assert view["model_id"] == explorer.model_id
    assert view["explorer"] == "split"
    # No source text: that may change without running the notebook again.
    assert view["state"] == {"prefix_len": 3, "tokens": TOKENS}
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert metadata["image/png"]["alt"] == data["text/plain"]
    assert data["text/html"].count("<img ") == 1  # what JupyterLab shows, with its words, if nothing can run
    assert f'alt="{data["text/plain"]}"' in data["text/html"]
    assert data["text/plain"] == (
        "7 tokens, prefix length 3. Prefix: “Quelle est la”. Target: “capitale de la France”. 4 scored: rows "
        "2 to 5 each predict the token after them. Mask: 7 rows (queries) by 7 columns (keys): rows 0 to 2 "
        "see columns 0 to 2; rows 3 to 6 each see column 0 up to their own. 31 of 49 pairs may attend, 3 of "
        "them opened by the prefix of 3."
    )
    assert repr(explorer) == "SplitExplorer(7 tokens, prefix_len=3)"


def test_the_picture_follows_the_value() -> None:
    explorer = SplitExplorer(TOKENS, 3)
    before = explorer._repr_mimebundle_()
    explorer.prefix_len = 4
    after = explorer._repr_mimebundle_()
    assert before[0]["image/png"] != after[0]["image/png"]
    assert after[0][VIEW]["state"]["prefix_len"] == 4


def test_the_tokens_cannot_be_changed_behind_the_explorers_back() -> None:
    explorer = SplitExplorer(TOKENS, 3)
    assert isinstance(explorer.tokens, tuple)
    with pytest.raises(TraitError):
        explorer.tokens = ["other"]
