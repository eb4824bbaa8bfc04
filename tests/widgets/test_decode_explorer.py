"""The decode explorer without a browser: its cells, its counts, its errors, its words."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pixels import kinds_in
from shown_decode import ANSWER, PROMPT, expected_kinds, expected_work
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach import DecodeExplorer, TinyPrefixLM, count_work, create_prefix_lm_mask, generate


@given(st.integers(1, 8), st.integers(1, 8), st.booleans(), st.data())
def test_every_cell_and_every_count_is_what_a_loop_finds(
    prompt: int, new: int, cached: bool, data: st.DataObject
) -> None:
    step = data.draw(st.integers(0, new))
    explorer = DecodeExplorer(["a"] * prompt, ["b"] * new, step, cached=cached)
    wanted = expected_kinds(explorer, step)
    kinds = explorer.kinds()
    for q, row in enumerate(wanted):
        for k, kind in enumerate(row):
            assert [name for name, cells in kinds.items() if cells[q, k]] == [kind]
    works = [expected_work(explorer, s) for s in range(1, step + 1)]
    assert explorer.work == (works[-1] if works else (0, 0))
    assert explorer.total == (sum(work[0] for work in works), sum(work[1] for work in works))
    if step:
        assert explorer.total == count_work(prompt, prompt, step, cached=cached)
    assert int(explorer.pairs.sum()) == explorer.work.pairs


def test_its_steps_are_the_calls_that_generate_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    masks: list[Tensor] = []
    real = F.scaled_dot_product_attention

    def watched(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor) -> Any:
        masks.append(attn_mask[0, 0])
        return real(q, k, v, attn_mask=attn_mask)

    monkeypatch.setattr(F, "scaled_dot_product_attention", watched)
    model = TinyPrefixLM(7, d_model=8, n_heads=2, n_layers=1, max_len=12).eval()
    generate(model, torch.tensor([[1, 2, 3]]), max_new_tokens=4)
    explorer = DecodeExplorer(PROMPT, ANSWER)
    assert len(masks) == len(ANSWER)
    for step, mask in enumerate(masks, start=1):
        explorer.step = step
        rows = explorer.pairs.any(1)
        assert torch.equal(explorer.pairs[rows][:, : mask.size(1)], mask)


def test_all_steps_together_are_the_mask() -> None:
    explorer = DecodeExplorer(PROMPT, ANSWER)
    seen = torch.zeros(6, 6, dtype=torch.int64)
    for step in range(1, 5):
        explorer.step = step
        seen += explorer.pairs
    assert torch.equal(seen, create_prefix_lm_mask(6, 3).long())  # each pair once


def test_its_words() -> None:
    explorer = DecodeExplorer(PROMPT, ANSWER, 0)
    assert explorer.description == (
        "Step 0 of 4: nothing has been read. Work of this step: 0 tokens, 0 pairs; of all so far: "
        "0 tokens, 0 pairs."
    )
    explorer.step = 1
    assert explorer.words == (
        "Step 1 of 4, prefill: the prompt is read at once, 3 tokens. The last row chooses “AA”."
    )
    explorer.step = 4
    assert explorer.picture().alt == (
        "Step 4 of 4, decode: “S” is read; it sees 5 keys from the cache, and its own. The last row chooses "
        "“<end>”. That ends the answer, and nothing reads it. Work of this step: 1 token, 6 pairs; of all so "
        "far: 6 tokens, 24 pairs. In this step: 6 rows (queries) by 6 columns (keys): rows 0 to 4 see "
        "nothing; row 5 sees columns 0 to 5."
    )
    explorer.cached = False
    assert explorer.words.startswith(
        "Step 4 of 4, no cache: everything so far is read again, 6 tokens. The last row chooses “<end>”."
    )
    assert repr(explorer) == "DecodeExplorer(3 + 4 tokens, step=4, cached=False)"
    assert repr(DecodeExplorer(PROMPT, ANSWER)) == "DecodeExplorer(3 + 4 tokens, step=1)"


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize(("prompt", "new"), [(1, 1), (1, 3), (11, 9), (20, 12)])
def test_the_picture_shows_every_kind_of_cell(prompt: int, new: int, cached: bool) -> None:
    explorer = DecodeExplorer(["a"] * prompt, ["b"] * new, (new + 1) // 2, cached=cached)
    (cells,) = kinds_in(explorer.picture(), prompt + new - 1)
    assert cells == expected_kinds(explorer, explorer.step)


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"prompt": "ox"}, TypeError, "prompt must be a list of strings, one per token, not str ('ox')"),
    ({"answer": None}, TypeError, "answer must be a list of strings, one per token, not NoneType"),
    ({"prompt": []}, ValueError, "prompt is empty: it needs at least one token"),
    ({"answer": []}, ValueError, "answer is empty: it needs at least one token"),
    ({"answer": ["AA", 3]}, TypeError, "answer must be strings, but token 1 is int (3)"),
    (
        {"prompt": ["a"] * 62},
        ValueError,
        "prompt and answer have 66 tokens, and an explorer shows at most 65",
    ),
    ({"step": 5}, ValueError, "step 5 comes after the last: this answer has 4"),
    ({"step": -1}, ValueError, "step must be at least 0"),
    ({"step": 1.0}, TypeError, "step must be a whole number"),
    ({"cached": 1}, TypeError, "cached must be True or False, not int (1)"),
]


@pytest.mark.parametrize(("change", "error", "words"), BAD)
def test_bad_input_is_named(change: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        DecodeExplorer(**{"prompt": PROMPT, "answer": ANSWER} | change)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("trait", "value", "error"),
    [("step", 5, ValueError), ("step", None, TypeError), ("cached", None, TypeError)],
)
def test_a_bad_value_raises_and_the_old_one_stays(trait: str, value: Any, error: type[Exception]) -> None:
    explorer = DecodeExplorer(PROMPT, ANSWER, 2)
    before = explorer.state()
    for set_it in (lambda: setattr(explorer, trait, value), lambda: explorer.set_state({trait: value})):
        with pytest.raises(error, match=trait):
            set_it()
        assert explorer.state() == before
