"""Reading with a cache: against one pass over each example alone, without batch, padding and cache."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import visible_pairs
from strategies import Padded, padded_batches
from torch import Tensor, nn

from prefixlm_teach import (
    Block,
    KeyValueCache,
    LinearPrefixLM,
    PrefixLMAttention,
    TinyPrefixLM,
    decode,
    prefill,
)
from prefixlm_teach.encoder_decoder import TinyEncoderDecoder
from prefixlm_teach.rotary import RotaryPrefixLM

V, MAX_LEN = 11, 20
KINDS: dict[str, type[TinyPrefixLM]] = {
    "learned": TinyPrefixLM,
    "rotary": RotaryPrefixLM,
    "linear": LinearPrefixLM,
}
kinds = pytest.mark.parametrize("kind", KINDS)
with_keys = pytest.mark.parametrize("kind", ["learned", "rotary"])  # the others keep a state


@cache
def tiny(kind: str, n_layers: int = 2) -> TinyPrefixLM:
    torch.manual_seed(0)
    model = KINDS[kind](V, d_model=8, n_heads=2, n_layers=n_layers, max_len=MAX_LEN).double().eval()
    with torch.no_grad():
        for block in model.blocks:  # untrained, but made to listen
            for layer in (block.attn.q_proj, block.attn.v_proj, block.attn.out_proj):
                layer.weight *= 4
    return model


def ids(batch: int, seq_len: int, seed: int = 0) -> Tensor:
    return torch.randint(V, (batch, seq_len), generator=torch.Generator().manual_seed(seed))


@dataclass(frozen=True)
class Story:
    """A batch of prompts, and what follows them in several calls; each example in its own way."""

    prompt: Padded
    calls: list[list[list[bool]]]  # for each call B lists of k: where a token is real
    seed: int

    def tokens(self) -> list[Tensor]:
        sizes = [len(self.prompt.real[0]), *(len(call[0]) for call in self.calls)]
        return list(ids(len(self.prompt.real), sum(sizes), self.seed).split(sizes, dim=1))


@st.composite
def stories(draw: st.DrawFn) -> Story:
    prompt = draw(padded_batches(max_len=6))
    calls = []
    for _ in range(draw(st.integers(1, 4))):
        k = draw(st.integers(1, 3))
        spans = [(n, draw(st.integers(0, k - n))) for n in (draw(st.integers(0, k)) for _ in prompt.real)]
        calls.append([[left <= t < left + n for t in range(k)] for n, left in spans])
    return Story(prompt, calls, draw(st.integers(0, 2**20)))


@kinds
@given(stories())
@settings(max_examples=60)
def test_every_step_of_every_example_equals_one_pass_over_it_alone(kind: str, story: Story) -> None:
    model, tokens = tiny(kind), story.tokens()
    valid = [story.prompt.valid, *map(torch.tensor, story.calls)]
    logits, kept = prefill(model, tokens[0], story.prompt.p, valid=valid[0])
    so_far = [list(tokens[0][b, valid[0][b]]) for b in range(len(tokens[0]))]
    for step in range(len(tokens)):
        if step > 0:
            logits, kept = decode(model, tokens[step], kept, valid=valid[step])
            for b, row in enumerate(so_far):
                row += list(tokens[step][b, valid[step][b]])
        assert kept.length.tolist() == [len(row) for row in so_far]
        for b, row in enumerate(so_far):
            new = int(valid[step][b].sum())
            if new:
                alone = model(torch.stack(row)[None], story.prompt.prefix_len[b])[0]
                torch.testing.assert_close(logits[b, valid[step][b]], alone[-new:])


@kinds
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_ragged_batch_continues_as_one_uncached_pass_over_the_padded_batch(
    kind: str, side: str, k: int
) -> None:
    """The same tokens, padded on the left in one tensor: what a loop without a cache computes."""
    lengths, p = [5, 1, 3], torch.tensor([5, 1, 2])
    examples = [ids(1, n + 4, seed=n)[0] for n in lengths]
    prompts = torch.zeros(3, 5, dtype=torch.int64)
    valid = torch.zeros(3, 5, dtype=torch.bool)
    whole = torch.zeros(3, 9, dtype=torch.int64)
    real = torch.zeros(3, 9, dtype=torch.bool)
    for b, n in enumerate(lengths):
        where = slice(5 - n, 5) if side == "left" else slice(0, n)
        prompts[b, where], valid[b, where] = examples[b][:n], True
        whole[b, 5 - n :], real[b, 5 - n :] = examples[b], True
    wanted = tiny(kind)(whole, p, valid=real)[:, -4:]
    _, kept = prefill(tiny(kind), prompts, p, valid=valid)
    for start in range(0, 4, k):
        logits, kept = decode(tiny(kind), whole[:, 5 + start : 5 + start + k], kept)
        torch.testing.assert_close(logits, wanted[:, start : start + k])


@kinds
@given(padded_batches(min_real=1), st.integers(0, 2**20))
@settings(max_examples=25)
def test_prefill_keeps_a_cache_and_gives_the_logits_of_a_forward_pass(
    kind: str, batch: Padded, seed: int
) -> None:
    """Where a mask was skipped whenever there was a cache, the prompt saw its own target (TinyLLM 17)."""
    tokens = ids(len(batch.real), len(batch.real[0]), seed)
    logits, kept = prefill(tiny(kind), tokens, batch.p, valid=batch.valid)
    wanted = tiny(kind)(tokens, batch.p, valid=batch.valid)
    torch.testing.assert_close(logits[batch.valid], wanted[batch.valid])
    assert torch.equal(kept.valid, batch.valid)
    assert torch.equal(kept.prefix_len, batch.p)


@kinds
@pytest.mark.parametrize("p", [0, 1, 3, 6])
def test_step_t_equals_row_t_of_the_full_pass(kind: str, p: int) -> None:
    """A decoder that read position 0, or empty slots of its cache, answered plausibly (gpt-fast 233)."""
    tokens = ids(2, 12)
    full = tiny(kind)(tokens, p)
    _, kept = prefill(tiny(kind), tokens[:, :6], p)
    for t in range(6, 12):
        logits, kept = decode(tiny(kind), tokens[:, t : t + 1], kept)
        torch.testing.assert_close(logits[:, 0], full[:, t])


@kinds
def test_three_tokens_at_once_equal_one_by_one(kind: str) -> None:
    """Aligned at the upper left, as is_causal is, three tokens saw three old keys (executorch 21749)."""
    tokens = ids(2, 9)
    _, kept = prefill(tiny(kind), tokens[:, :6])
    together, _ = decode(tiny(kind), tokens[:, 6:], kept)
    for t in range(3):
        alone, kept = decode(tiny(kind), tokens[:, 6 + t : 7 + t], kept)
        torch.testing.assert_close(together[:, t], alone[:, 0])


def test_a_prefix_in_two_chunks_is_refused_and_would_have_been_wrong() -> None:
    """Served without an error, it gave wrong logits (sglang 10707)."""
    model, tokens = tiny("learned"), ids(1, 8)
    whole, _ = prefill(model, tokens)
    _, half = prefill(model, tokens[:, :4])
    with pytest.raises(ValueError, match=r"cache is given, .* one more changes the keys and values of all"):
        prefill(model, tokens[:, 4:], cache=half)
    in_chunks, _ = decode(model, tokens[:, 4:], half)
    assert (in_chunks[0, -1] - whole[0, -1]).abs().max() > 0.01


@pytest.mark.parametrize("longer", [5, torch.tensor(5), torch.tensor([4, 5])])
def test_appending_to_the_prefix_is_refused(longer: int | Tensor) -> None:
    _, kept = prefill(tiny("learned"), ids(2, 4))
    row = 1 if isinstance(longer, Tensor) and longer.ndim else 0
    with pytest.raises(
        ValueError, match=rf"prefix_len 5 is not the 4 that example {row} .*one more changes the keys"
    ):
        decode(tiny("learned"), ids(2, 1), kept, prefix_len=longer)


@pytest.mark.parametrize("same", [4, torch.tensor(4), torch.tensor([4, 4], dtype=torch.int32)])
def test_saying_again_where_the_prefix_ends_changes_nothing(same: int | Tensor) -> None:
    _, kept = prefill(tiny("learned"), ids(2, 4))
    said, _ = decode(tiny("learned"), ids(2, 1), kept, prefix_len=same)
    unsaid, _ = decode(tiny("learned"), ids(2, 1), kept)
    assert torch.equal(said, unsaid)


@with_keys
def test_a_longer_prefix_changes_the_keys_above_the_first_layer_and_a_longer_target_none(kind: str) -> None:
    """Why the one is refused, and the other is what a cache is for."""
    model, tokens = tiny(kind, n_layers=3), ids(1, 7)
    _, before = prefill(model, tokens[:, :6], 6)
    for p, same in [(7, [True, False, False]), (6, [True, True, True])]:
        _, after = prefill(model, tokens, p)
        for layer, (old, new) in enumerate(zip(before.layers, after.layers, strict=True)):
            for i in range(2):  # keys and values
                assert torch.allclose(old[i], new[i][:, :, :6]) == same[layer]


def test_a_cache_can_be_continued_in_many_ways() -> None:
    model = tiny("learned")
    _, kept = prefill(model, ids(1, 4))
    before = [tensor.clone() for pair in kept.layers for tensor in pair]
    one, _ = decode(model, torch.tensor([[1, 2]]), kept)
    decode(model, torch.tensor([[3, 4, 5]]), kept)
    again, _ = decode(model, torch.tensor([[1, 2]]), kept)
    assert torch.equal(one, again)
    assert all(
        torch.equal(a, b)
        for a, b in zip(before, [tensor for pair in kept.layers for tensor in pair], strict=True)
    )
    with pytest.raises(AttributeError):
        kept.valid = torch.ones(1, 4, dtype=torch.bool)


def test_ids_at_padding_move_nothing_that_follows() -> None:
    valid = torch.tensor([[True] * 4, [True, True, False, False], [False, False, True, True]])
    tokens = ids(3, 4)
    answers = []
    for x in (tokens, torch.where(valid, tokens, (tokens + 1) % V)):
        _, kept = prefill(tiny("learned"), x, valid=valid)
        first, kept = decode(tiny("learned"), ids(3, 2, seed=1), kept)
        second, _ = decode(tiny("learned"), ids(3, 1, seed=2), kept)
        answers.append(torch.cat([first, second], dim=1))
    assert torch.equal(answers[0], answers[1])


def test_the_whole_prompt_is_prefix_unless_said_otherwise() -> None:
    valid = torch.tensor([[True] * 4, [True, True, False, False]])
    _, kept = prefill(tiny("learned"), ids(2, 4), valid=valid)
    assert kept.prefix_len.tolist() == [4, 2]
    by_default, _ = prefill(tiny("learned"), ids(2, 4))
    assert torch.equal(by_default, prefill(tiny("learned"), ids(2, 4), 4)[0])


def test_a_new_token_costs_one_token_and_every_token_is_read_once() -> None:
    model, read = tiny("learned"), []
    hook = model.token_emb.register_forward_hook(lambda module, inputs, output: read.append(output.shape[1]))
    _, kept = prefill(model, ids(2, 5))
    _, kept = decode(model, ids(2, 1), kept)
    decode(model, ids(2, 3), kept)
    hook.remove()
    assert read == [5, 1, 3]


@with_keys
def test_a_cache_holds_what_it_says_in_the_dtype_of_the_model(kind: str) -> None:
    model = KINDS[kind](V, d_model=12, n_heads=3, n_layers=2, max_len=6).to(torch.bfloat16).eval()
    _, kept = prefill(model, ids(2, 4).int(), 3)
    logits, kept = decode(model, ids(2, 2).int(), kept)
    assert logits.shape == (2, 2, V)
    assert logits.dtype == torch.bfloat16
    assert [x.shape for pair in kept.layers for x in pair] == [(2, 3, 6, 4)] * 4
    assert {x.dtype for pair in kept.layers for x in pair} == {torch.bfloat16}


@kinds
def test_under_autocast_a_cache_gives_what_one_pass_gives(kind: str) -> None:
    model = KINDS[kind](V, d_model=8, n_heads=2, max_len=9).eval()
    tokens = ids(2, 9)
    with torch.autocast("cpu", torch.bfloat16):
        full = model(tokens, 6)
        _, kept = prefill(model, tokens[:, :6])
        for t in range(6, 9):
            logits, kept = decode(model, tokens[:, t : t + 1], kept)
            torch.testing.assert_close(logits[:, 0], full[:, t])
    assert logits.dtype == torch.bfloat16


def test_no_gradients_are_kept() -> None:
    logits, kept = prefill(tiny("learned"), ids(1, 3))
    after, kept = decode(tiny("learned"), ids(1, 1), kept)
    assert torch.is_grad_enabled()
    assert not any(x.requires_grad for x in (logits, after, kept.layers[0][0], kept.layers[1][1]))


def test_the_whole_of_max_len_can_be_used_and_no_more() -> None:
    model = tiny("learned")
    _, kept = prefill(model, ids(2, MAX_LEN - 2))
    _, kept = decode(model, ids(2, 2), kept)
    read = []
    hook = model.token_emb.register_forward_hook(lambda *call: read.append(1))
    with pytest.raises(ValueError, match=r"has 21 of them, but this model has 20 positions \(max_len\)"):
        decode(model, ids(2, 1), kept, valid=torch.tensor([[False], [True]]))
    assert read == []
    hook.remove()


@kinds
def test_an_example_that_is_full_can_wait_while_another_goes_on(kind: str) -> None:
    tokens = ids(2, MAX_LEN)
    valid = torch.tensor([[True] * MAX_LEN, [True] * 3 + [False] * (MAX_LEN - 3)])
    _, kept = prefill(tiny(kind), tokens, valid=valid)
    logits, kept = decode(tiny(kind), torch.tensor([[7], [7]]), kept, valid=torch.tensor([[False], [True]]))
    alone = tiny(kind)(torch.tensor([[*tokens[1, :3], 7]]), 3)
    torch.testing.assert_close(logits[1, 0], alone[0, -1])
    assert kept.length.tolist() == [MAX_LEN, 4]


def other(**changes: int) -> TinyPrefixLM:
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 2, "max_len": MAX_LEN} | changes
    return TinyPrefixLM(V, **sizes).double().eval()


@pytest.mark.parametrize("changes", [{"n_layers": 1}, {"n_heads": 4}, {"d_model": 16}])
def test_the_cache_of_another_model_is_refused(changes: dict[str, int]) -> None:
    _, kept = prefill(other(**changes), ids(1, 3))
    with pytest.raises(ValueError, match="cache was made by another model"):
        decode(tiny("learned"), ids(1, 1), kept)


def test_a_model_that_has_changed_since_prefill_is_refused() -> None:
    model = other()
    _, kept = prefill(model, ids(1, 3))
    with pytest.raises(
        ValueError, match=r"cache is torch.float64 on cpu, but the model is now torch.float32"
    ):
        decode(model.float(), ids(1, 1), kept)
    with pytest.raises(ValueError, match=r"but the model is now torch.float64 on meta: prefill again"):
        decode(model.double().to("meta"), ids(1, 1), kept)


def test_another_number_of_examples_is_refused() -> None:
    _, kept = prefill(tiny("learned"), ids(2, 3))
    with pytest.raises(ValueError, match="tokens is for 1 examples, but the cache holds 2"):
        decode(tiny("learned"), ids(1, 1), kept)


def test_a_model_in_training_mode_is_refused() -> None:
    model = other()
    _, kept = prefill(model, ids(1, 3))
    model.train()
    with pytest.raises(ValueError, match=r"model\.eval\(\)"):
        prefill(model, ids(1, 3))
    with pytest.raises(ValueError, match=r"model\.eval\(\)"):
        decode(model, ids(1, 1), kept)


@pytest.mark.parametrize("model", [None, nn.Linear(8, 8).eval(), TinyEncoderDecoder(V, 8, 2).eval()])
def test_a_model_whose_layers_are_unknown_is_refused(model: nn.Module | None) -> None:
    _, kept = prefill(tiny("learned"), ids(1, 3))
    with pytest.raises(TypeError, match="model must be a TinyPrefixLM"):
        prefill(model, ids(1, 3))
    with pytest.raises(TypeError, match="model must be a TinyPrefixLM"):
        decode(model, ids(1, 1), kept)


def test_a_model_that_does_something_else_in_forward_is_refused() -> None:
    """A cache would follow the layers as they are in TinyPrefixLM, and answer for another model."""

    class Causal(TinyPrefixLM):
        def forward(self, tokens: Tensor, *how: int, **named: Tensor) -> Tensor:
            return super().forward(tokens, 0)

    class Blind(PrefixLMAttention):
        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            return torch.zeros_like(x)

    class Plain(Block):
        def forward(self, h: Tensor, mask: Tensor) -> Tensor:
            return h + self.attn(h, mask)

    blind, plain = other(), other()
    blind.blocks[1].attn = Blind(8, 2).double()
    plain.blocks[0] = Plain(8, 2, 0.0).double()
    for model in (Causal(V, 8, 2).eval(), blind.eval(), plain.eval()):
        with pytest.raises(TypeError, match="model must be a TinyPrefixLM, whose layers a cache knows"):
            prefill(model, ids(1, 3))


def test_the_test_models_listen_to_positions_padding_and_prefix() -> None:
    """Otherwise the comparisons above would compare nothing."""
    tokens = ids(1, 6)
    for kind in KINDS:
        causal, prefix = tiny(kind)(tokens, 0)[0, -1], tiny(kind)(tokens, 5)[0, -1]
        assert (causal - prefix).abs().max() > 0.01
        turned = tiny(kind)(tokens[:, [1, 0, 2, 3, 4, 5]], 6)[0, -1]
        assert (tiny(kind)(tokens, 6)[0, -1] - turned).abs().max() > 0.01
    assert visible_pairs(5, [True] * 6) != visible_pairs(0, [True] * 6)
    assert isinstance(prefill(tiny("learned"), tokens)[1], KeyValueCache)
