"""The count of the work: against a count in loops, and against what real calls let through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import visible_pairs
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach import TinyPrefixLM, count_work, decode, generate, generate_greedy, prefill


@st.composite
def answers(draw: st.DrawFn) -> tuple[int, int, int]:
    prompt = draw(st.integers(1, 9))
    return prompt, draw(st.integers(0, prompt)), draw(st.integers(1, 9))


def pairs_in(rows: list[list[bool]]) -> int:
    return sum(map(sum, rows))


@given(answers())
def test_the_work_is_what_a_loop_over_every_call_counts(answer: tuple[int, int, int]) -> None:
    prompt, p, new = answer
    tokens = pairs = 0
    for step in range(new):
        tokens += prompt + step
        pairs += pairs_in(visible_pairs(p, [True] * (prompt + step)))
    assert count_work(*answer, cached=False) == (tokens, pairs)

    tokens, pairs = prompt, pairs_in(visible_pairs(p, [True] * prompt))
    for step in range(1, new):
        tokens += 1
        pairs += pairs_in(visible_pairs(p, [True] * (prompt + step))[-1:])
    assert count_work(*answer, cached=True) == (tokens, pairs)


@pytest.mark.parametrize("p", [0, 3, 5])
@pytest.mark.parametrize("new", [1, 2, 6])
def test_the_work_is_what_the_models_calls_let_through(
    monkeypatch: pytest.MonkeyPatch, p: int, new: int
) -> None:
    masks: list[Tensor] = []
    real: Callable[..., Tensor] = F.scaled_dot_product_attention

    def watched(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor) -> Any:
        assert attn_mask.shape[-2:] == (q.size(2), k.size(2))
        masks.append(attn_mask)
        return real(q, k, v, attn_mask=attn_mask)

    monkeypatch.setattr(F, "scaled_dot_product_attention", watched)
    model = TinyPrefixLM(7, d_model=8, n_heads=2, n_layers=1, max_len=12).eval()
    prompt = torch.tensor([[1, 2, 3, 4, 5]])

    def counted() -> tuple[int, int]:
        found = sum(mask.size(-2) for mask in masks), sum(int(mask.sum()) for mask in masks)
        masks.clear()
        return found

    generate(model, prompt, prefix_len=p, max_new_tokens=new)
    assert counted() == count_work(5, p, new, cached=True)
    for step in range(new):
        model(torch.ones(1, 5 + step, dtype=torch.int64), p)
    assert counted() == count_work(5, p, new, cached=False)
    if p == 5:
        model.output.bias.data[0] = -1e6
        generate_greedy(model, prompt, stop_id=0, max_new_tokens=new)
        assert counted() == count_work(5, p, new, cached=False)
    _, kept = prefill(model, prompt, p)
    if new > 1:
        decode(model, torch.ones(1, new - 1, dtype=torch.int64), kept)
    assert counted() == count_work(5, p, new, cached=True)


def test_a_cache_makes_the_work_that_of_one_pass_over_everything() -> None:
    assert count_work(4, 2, 5, cached=True) == count_work(8, 2, 1, cached=False)


def test_a_prefix_costs_the_same_tokens_and_more_pairs_than_a_causal_prompt() -> None:
    causal, prefix = (count_work(32, p, 128, cached=True) for p in (0, 32))
    assert causal.tokens == prefix.tokens == 159
    assert prefix.pairs - causal.pairs == 32 * 31 // 2
