"""Greedy answers: against one example at a time, without batch and padding, token by token."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from prefixlm_teach import Batch, TinyPrefixLM, g2p_vocabulary, generate_greedy, load_words, pronounce, train
from prefixlm_teach.data import make_batch

V, MAX_LEN, STOP = 7, 16, 0


@cache
def tiny() -> TinyPrefixLM:
    torch.manual_seed(0)
    model = TinyPrefixLM(V, d_model=8, n_heads=2, max_len=MAX_LEN).double().eval()
    with torch.no_grad():
        for block in model.blocks:  # untrained, but made to listen, so that its answers differ
            for layer in (block.attn.q_proj, block.attn.v_proj, block.attn.out_proj):
                layer.weight *= 4
    return model


@cache
def speaker() -> TinyPrefixLM:
    """A model that has learnt three words by heart."""
    torch.manual_seed(0)
    model = TinyPrefixLM(69, d_model=32, n_heads=2, max_len=64, dropout=0.0)
    words = ("cat", "a", "letter")
    batch = make_batch([(word, load_words()[word][0]) for word in words], g2p_vocabulary())
    train(model, [batch] * 80, steps=80, lr=1e-2, progress=False)
    return model


def answer_alone(prompt: list[int], max_new_tokens: int) -> list[int]:
    answer: list[int] = []
    while len(answer) < max_new_tokens:
        tokens = torch.tensor([prompt + answer])
        best = int(tiny()(tokens, len(prompt))[0, -1].argmax())
        if best == STOP:
            break
        answer.append(best)
    return answer


def left_padded(prompts: list[list[int]]) -> Batch:
    longest = max(map(len, prompts))
    tokens = torch.tensor([[3] * (longest - len(prompt)) + prompt for prompt in prompts])
    valid = torch.tensor([[t >= longest - len(prompt) for t in range(longest)] for prompt in prompts])
    return Batch(tokens, valid.sum(-1), valid)


prompts_of_ids = st.lists(st.lists(st.integers(0, V - 1), min_size=1, max_size=6), min_size=1, max_size=4)


@given(prompts_of_ids, st.integers(1, 9))
@settings(max_examples=50)
def test_ragged_prompts_are_answered_as_each_would_be_alone(prompts: list[list[int]], limit: int) -> None:
    batch = left_padded(prompts)
    answers = generate_greedy(tiny(), batch.tokens, valid=batch.valid, stop_id=STOP, max_new_tokens=limit)
    assert answers == [answer_alone(prompt, limit) for prompt in prompts]


def test_answers_of_the_test_model_differ_and_some_stop_early() -> None:
    """Otherwise the comparison above would compare nothing."""
    answers = [answer_alone([a, b], 9) for a in range(V) for b in range(V)]
    assert len({tuple(answer) for answer in answers}) > 5
    assert len({len(answer) for answer in answers}) > 2
    assert any(len(answer) == 9 for answer in answers)


def test_prompts_without_padding_need_no_valid() -> None:
    prompts = torch.tensor([[1, 2, 3], [4, 5, 6]])
    answers = generate_greedy(tiny(), prompts, stop_id=STOP, max_new_tokens=5)
    assert answers == [answer_alone(prompt, 5) for prompt in prompts.tolist()]


def test_generation_stops_when_every_example_has_stopped() -> None:
    batch = left_padded([[a, b] for a in range(V) for b in range(V) if len(answer_alone([a, b], 9)) < 3])
    assert len(batch.tokens) > 0
    calls = []
    hook = tiny().register_forward_hook(lambda *call: calls.append(1))
    generate_greedy(tiny(), batch.tokens, stop_id=STOP, max_new_tokens=12)
    hook.remove()
    assert len(calls) <= 3


def test_the_whole_of_max_len_can_be_used_and_no_more() -> None:
    prompt = torch.tensor([[1, 2, 3]])
    never = V - 1
    with torch.no_grad():
        tiny().output.bias[never] -= 1e6
    room = MAX_LEN - 3 + 1  # the last new token needs no position: nothing follows it
    assert len(generate_greedy(tiny(), prompt, stop_id=never, max_new_tokens=room)[0]) == room
    with pytest.raises(ValueError, match=r"max_new_tokens 15 need 17 positions, but this model has 16"):
        generate_greedy(tiny(), prompt, stop_id=never, max_new_tokens=room + 1)
    tiny.cache_clear()


def test_an_answer_too_long_for_the_model_is_refused_before_anything_is_computed() -> None:
    calls = []
    hook = tiny().register_forward_pre_hook(lambda *call: calls.append(1))
    with pytest.raises(ValueError, match="max_new_tokens"):
        generate_greedy(tiny(), torch.tensor([[1]]), stop_id=STOP, max_new_tokens=MAX_LEN + 1)
    hook.remove()
    assert calls == []


def test_a_prompt_padded_on_the_right_is_refused() -> None:
    valid = torch.tensor([[True, True], [True, False]])
    with pytest.raises(ValueError, match="pad on the left"):
        generate_greedy(tiny(), torch.tensor([[1, 2], [3, 4]]), valid=valid, stop_id=STOP, max_new_tokens=2)


def test_a_model_in_training_mode_is_refused() -> None:
    model = TinyPrefixLM(V, d_model=8, n_heads=2)
    with pytest.raises(ValueError, match=r"model\.eval\(\)"):
        generate_greedy(model, torch.tensor([[1]]), stop_id=STOP, max_new_tokens=2)


def test_generation_keeps_no_gradients() -> None:
    generate_greedy(tiny(), torch.tensor([[1]]), stop_id=STOP, max_new_tokens=2)
    assert torch.is_grad_enabled()
    assert all(parameter.grad is None for parameter in tiny().parameters())


def test_words_learnt_by_heart_are_pronounced_in_any_order_and_company() -> None:
    said = {word: load_words()[word][0] for word in ("cat", "a", "letter")}
    for words in (["cat", "a", "letter"], ["letter", "cat"], ["a"]):
        assert pronounce(speaker(), g2p_vocabulary(), words) == [said[word] for word in words]


def test_a_single_string_is_not_a_list_of_words() -> None:
    with pytest.raises(TypeError, match=r"use \['cat'\]"):
        pronounce(speaker(), g2p_vocabulary(), "cat")
