"""Answers, with a cache and without: against one example at a time, no batch, no padding, no cache."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from prefixlm_teach import (
    Batch,
    TinyPrefixLM,
    choose,
    g2p_vocabulary,
    generate,
    generate_greedy,
    load_checkpoint,
    load_words,
    make_prompts,
    pronounce,
    train,
    words_of,
)
from prefixlm_teach.data import END, make_batch
from prefixlm_teach.rotary import RotaryPrefixLM

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


def answer_alone(prompt: list[int], max_new_tokens: int, p: int | None = None) -> list[int]:
    answer: list[int] = []
    while len(answer) < max_new_tokens:
        tokens = torch.tensor([prompt + answer])
        best = int(tiny()(tokens, len(prompt) if p is None else p)[0, -1].argmax())
        if best == STOP:
            break
        answer.append(best)
    return answer


def padded(prompts: list[list[int]], *, left: bool) -> Batch:
    longest = max(map(len, prompts))
    tokens = torch.full((len(prompts), longest), 3)
    valid = torch.zeros(len(prompts), longest, dtype=torch.bool)
    for b, prompt in enumerate(prompts):
        where = slice(longest - len(prompt), longest) if left else slice(0, len(prompt))
        tokens[b, where], valid[b, where] = torch.tensor(prompt), True
    return Batch(tokens, valid.sum(-1), valid)


def left_padded(prompts: list[list[int]]) -> Batch:
    return padded(prompts, left=True)


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
    for answer in (generate_greedy, generate):
        with pytest.raises(ValueError, match=r"model\.eval\(\)"):
            answer(model, torch.tensor([[1]]), stop_id=STOP, max_new_tokens=2)


def test_generation_keeps_no_gradients() -> None:
    generate_greedy(tiny(), torch.tensor([[1]]), stop_id=STOP, max_new_tokens=2)
    assert torch.is_grad_enabled()
    assert all(parameter.grad is None for parameter in tiny().parameters())


@pytest.mark.parametrize("left", [True, False])
@given(prompts_of_ids, st.integers(1, 9), st.data())
@settings(max_examples=50)
def test_cached_answers_are_those_of_each_prompt_alone_without_a_cache(
    left: bool, prompts: list[list[int]], limit: int, data: st.DataObject
) -> None:
    batch = padded(prompts, left=left)
    p = [data.draw(st.integers(0, len(prompt))) for prompt in prompts]
    answers = generate(
        tiny(),
        batch.tokens,
        prefix_len=torch.tensor(p),
        valid=batch.valid,
        stop_id=STOP,
        max_new_tokens=limit,
    )
    assert answers == [answer_alone(prompt, limit, p[b]) for b, prompt in enumerate(prompts)]


@given(prompts_of_ids, st.integers(1, 9))
@settings(max_examples=50)
def test_cached_answers_in_float32_are_the_uncached_ones_token_for_token(
    prompts: list[list[int]], limit: int
) -> None:
    batch = left_padded(prompts)
    how = {"valid": batch.valid, "stop_id": STOP, "max_new_tokens": limit}
    model = single()
    assert generate(model, batch.tokens, **how) == generate_greedy(model, batch.tokens, **how)


@cache
def single() -> TinyPrefixLM:
    model = TinyPrefixLM(V, d_model=8, n_heads=2, max_len=MAX_LEN).eval()
    model.load_state_dict(tiny().state_dict())
    return model


def test_a_trained_model_pronounces_alike_with_and_without_a_cache() -> None:
    model, vocabulary = load_checkpoint()
    words = words_of("test")[::60]
    prompts = make_prompts(words, vocabulary)
    how = {"valid": prompts.valid, "stop_id": vocabulary.ids[END], "max_new_tokens": 30}
    cached = generate(model, prompts.tokens, **how)
    assert cached == generate_greedy(model, prompts.tokens, **how)
    assert pronounce(model, vocabulary, words) == [tuple(vocabulary.decode(answer)) for answer in cached]
    assert len(set(map(tuple, cached))) > 50


class Stranger(nn.Module):
    """A model of another kind, which answers like the one within: there is no cache for it."""

    def __init__(self, model: TinyPrefixLM) -> None:
        super().__init__()
        self.model, self.vocab_size, self.max_len = model, model.vocab_size, model.max_len

    def forward(self, tokens: Tensor, prefix_len: Tensor, *, valid: Tensor) -> Tensor:
        return self.model(tokens, prefix_len, valid=valid)


def test_a_model_of_another_kind_pronounces_without_a_cache() -> None:
    stranger = Stranger(speaker()).eval()
    assert pronounce(stranger, g2p_vocabulary(), ["cat"]) == pronounce(speaker(), g2p_vocabulary(), ["cat"])


def test_a_model_with_its_own_forward_pronounces_by_that() -> None:
    class Mute(TinyPrefixLM):
        def forward(self, tokens: Tensor, *how: int, **named: Tensor) -> Tensor:
            logits = torch.zeros(*tokens.shape, 69)
            logits[..., g2p_vocabulary().ids[END]] = 1.0
            return logits

    assert pronounce(Mute(69, 8, 2, max_len=64).eval(), g2p_vocabulary(), ["cat", "a"]) == [(), ()]


def drawn_alone(prompt: list[int], seed: int, **how: float) -> list[int]:
    generator, answer = torch.Generator().manual_seed(seed), []
    while len(answer) < 8:
        logits = tiny()(torch.tensor([prompt + answer]), len(prompt))[:, -1]
        answer.append(int(choose(logits, generator=generator, **how)))
    return answer


@pytest.mark.parametrize("how", [{}, {"top_k": 3}, {"top_p": 0.7}, {"top_k": 4, "top_p": 0.5}])
def test_what_is_drawn_from_a_cache_is_what_would_be_drawn_without_one(how: dict[str, float]) -> None:
    prompt = [1, 2, 3]
    found = [
        generate(
            tiny(),
            torch.tensor([prompt]),
            max_new_tokens=8,
            temperature=5.0,
            seed=seed,
            **how,
        )[0]
        for seed in range(20)
    ]
    assert found == [drawn_alone(prompt, seed, temperature=5.0, **how) for seed in range(20)]
    assert len(set(map(tuple, found))) > 3


@pytest.mark.parametrize("left", [True, False])
def test_a_rotary_model_answers_from_a_cache_as_it_does_without(left: bool) -> None:
    torch.manual_seed(0)
    model = RotaryPrefixLM(V, d_model=8, n_heads=2, max_len=MAX_LEN).double().eval()
    prompts = [[1, 2, 3, 4], [5], [6, 2]]
    batch = padded(prompts, left=left)
    answers = generate(model, batch.tokens, valid=batch.valid, stop_id=STOP, max_new_tokens=8)
    how = {"stop_id": STOP, "max_new_tokens": 8}
    assert answers == [generate_greedy(model, torch.tensor([prompt]), **how)[0] for prompt in prompts]


def test_the_same_seed_gives_the_same_answers_whatever_was_drawn_before() -> None:
    prompts, how = torch.tensor([[1, 2], [3, 4]]), {"max_new_tokens": 9, "temperature": 1.0}
    first = generate(tiny(), prompts, seed=3, **how)
    torch.rand(5)
    before = torch.get_rng_state()
    assert generate(tiny(), prompts, seed=3, **how) == first
    assert torch.equal(torch.get_rng_state(), before)
    assert generate(tiny(), prompts, seed=4, **how) != first
    free = []
    for _ in range(2):
        torch.manual_seed(9)
        free.append(generate(tiny(), prompts, **how))
    assert free[0] == free[1]


def test_without_a_stop_token_every_answer_has_its_full_length() -> None:
    answers = generate(tiny(), torch.tensor([[a, b] for a in range(V) for b in range(V)]), max_new_tokens=9)
    assert {len(answer) for answer in answers} == {9}
    assert any(STOP in answer for answer in answers)


def passes(prompts: Tensor, **how: int) -> list[int]:
    """How many tokens of an example each call of the model reads."""
    read: list[int] = []
    hook = tiny().token_emb.register_forward_hook(lambda module, inputs, out: read.append(out.size(1)))
    generate(tiny(), prompts, **how)
    hook.remove()
    return read


def test_a_cached_answer_reads_one_token_a_step_and_nothing_after_the_last() -> None:
    assert passes(torch.tensor([[1, 2, 3]]), max_new_tokens=4) == [3, 1, 1, 1]
    assert passes(torch.tensor([[1, 2, 3]]), max_new_tokens=1) == [3]


def test_a_cached_answer_stops_when_every_example_has_stopped() -> None:
    short = torch.tensor([[a, b] for a in range(V) for b in range(V) if len(answer_alone([a, b], 9)) < 3])
    assert len(short) > 0
    longest = max(len(answer_alone(prompt, 9)) for prompt in short.tolist())
    assert passes(short, stop_id=STOP, max_new_tokens=12) == [2] + [1] * longest


def test_the_whole_of_max_len_can_be_answered_from_a_cache_and_no_more() -> None:
    prompts = torch.tensor([[1, 2, 3], [1, 2, 3]])
    valid = torch.tensor([[True] * 3, [True, False, False]])
    room = MAX_LEN - 3 + 1
    assert [len(answer) for answer in generate(tiny(), prompts, valid=valid, max_new_tokens=room)] == [
        room
    ] * 2
    with pytest.raises(ValueError, match="max_new_tokens 15 need 17 positions, but this model has 16"):
        generate(tiny(), prompts, valid=valid, max_new_tokens=room + 1)


def test_a_prompt_without_a_token_is_refused() -> None:
    valid = torch.tensor([[True, True], [False, False]])
    with pytest.raises(ValueError, match="valid leaves example 1 without a token"):
        generate(tiny(), torch.tensor([[1, 2], [3, 4]]), valid=valid, max_new_tokens=2)


def test_a_bar_is_shown_to_those_who_ask(capsys: pytest.CaptureFixture[str]) -> None:
    generate(tiny(), torch.tensor([[1, 2]]), max_new_tokens=3)
    assert capsys.readouterr() == ("", "")
    generate(tiny(), torch.tensor([[1, 2]]), max_new_tokens=3, progress=True)
    shown = capsys.readouterr().err
    assert "3/3" in shown
    assert "token" in shown


def test_a_diverged_model_is_named_and_not_drawn_from() -> None:
    model = TinyPrefixLM(V, d_model=8, n_heads=2).eval()
    model.output.bias.data[1] = float("nan")
    with pytest.raises(ValueError, match="logits of example 0 are not all finite"):
        generate(model, torch.tensor([[1, 2]]), max_new_tokens=2)


def test_words_learnt_by_heart_are_pronounced_in_any_order_and_company() -> None:
    said = {word: load_words()[word][0] for word in ("cat", "a", "letter")}
    for words in (["cat", "a", "letter"], ["letter", "cat"], ["a"]):
        assert pronounce(speaker(), g2p_vocabulary(), words) == [said[word] for word in words]


def test_a_single_string_is_not_a_list_of_words() -> None:
    with pytest.raises(TypeError, match=r"use \['cat'\]"):
        pronounce(speaker(), g2p_vocabulary(), "cat")
