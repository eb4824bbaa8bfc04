"""Models, generation and the probe over each kernel: what comes out is what the plain one gives."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import pytest
import torch
from test_model import ids
from torch import Tensor
from torch.nn.attention import flex_attention

from prefixlm_teach import (
    KERNELS,
    RotaryPrefixLM,
    TinyCausalLM,
    TinyPrefixLM,
    Vocabulary,
    causal_mask,
    compute_prefix_lm_loss,
    create_prefix_lm_mask,
    decode,
    generate,
    generate_greedy,
    load_checkpoint,
    prefill,
    save_checkpoint,
    visibility,
)
from prefixlm_teach.kernels import LONG

KINDS = (TinyPrefixLM, TinyCausalLM, RotaryPrefixLM)
NAMES = [name for name in KERNELS if name != "plain"]
V, MAX_LEN = 11, 20
P = torch.tensor([4, 1, 2])
RIGHT = torch.arange(6) < torch.tensor([[6], [3], [5]])
LEFT = RIGHT.flip(-1)
CALLS = {
    "shared": {"prefix_len": 4},
    "mixed": {"prefix_len": P},
    "right": {"prefix_len": P, "valid": RIGHT},
    "left": {"prefix_len": P, "valid": LEFT},
    "mask": {"mask": causal_mask(6) ^ torch.eye(6).bool().roll(-2, 0), "valid": RIGHT},
}
UNABLE = {"cut": {"mixed", "right", "left", "mask"}, "mend": {"left", "mask"}}
ABLE = [(name, what) for name in NAMES for what in CALLS if what not in UNABLE.get(name, ())]


@pytest.fixture(autouse=True)
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch traces FlexAttention for each shape before it runs, even uncompiled; `test_flex` lets it."""
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


@cache
def tiny(kind: type[TinyPrefixLM]) -> TinyPrefixLM:
    torch.manual_seed(0)
    model = kind(V, d_model=8, n_heads=2, max_len=MAX_LEN).double().eval()
    with torch.no_grad():
        for block in model.blocks:  # untrained, but made to listen
            for layer in (block.attn.q_proj, block.attn.v_proj, block.attn.out_proj):
                layer.weight *= 4
    return model


def over(kernel: str, kind: type[TinyPrefixLM] = TinyPrefixLM) -> TinyPrefixLM:
    model = tiny(kind)
    model.kernel = kernel
    return model


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "what"), ABLE)
@torch.no_grad()
def test_logits_are_those_of_the_plain_kernel(kind: type[TinyPrefixLM], name: str, what: str) -> None:
    tokens, real = ids(3, 6), CALLS[what].get("valid", torch.ones(3, 6, dtype=torch.bool))
    wanted = over("plain", kind)(tokens, **CALLS[what])
    torch.testing.assert_close(over(name, kind)(tokens, **CALLS[what])[real], wanted[real])


@pytest.mark.parametrize(("name", "what"), [pair for pair in ABLE if pair[0] != "flex"])
def test_a_step_of_training_is_that_of_the_plain_kernel(name: str, what: str) -> None:
    tokens, call = ids(3, 6), CALLS[what]
    p, gradients = call.get("prefix_len", P), []
    for kernel in ("plain", name):
        model = over(kernel)
        model.zero_grad()
        compute_prefix_lm_loss(model(tokens, **call), tokens, p, valid=call.get("valid")).backward()
        gradients.append([weight.grad.clone() for weight in model.parameters()])
    assert any(bool(gradient.any()) for gradient in gradients[0])
    torch.testing.assert_close(gradients[0], gradients[1])


@pytest.mark.parametrize("kind", [TinyPrefixLM, RotaryPrefixLM])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("padded", [False, True])
def test_answers_are_those_of_the_plain_kernel(kind: type[TinyPrefixLM], name: str, padded: bool) -> None:
    prompts = ids(3, 6)
    how = {"valid": RIGHT if name == "mend" else LEFT} if padded and name != "cut" else {}
    answers = {k: generate(over(k, kind), prompts, max_new_tokens=4, **how) for k in ("plain", name)}
    assert answers[name] == answers["plain"]
    assert len({tuple(answer) for answer in answers["plain"]}) > 1
    if name != "mend":
        uncached = generate_greedy(over(name, kind), prompts, stop_id=0, max_new_tokens=4, **how)
        assert uncached == generate(over(name, kind), prompts, stop_id=0, max_new_tokens=4, **how)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p", [0, 1, 3, 6])
@torch.no_grad()
def test_tokens_read_after_a_cache_have_the_logits_of_one_call(name: str, p: int) -> None:
    model, tokens = over(name), ids(2, 12)
    full = over("plain")(tokens, p)
    model.kernel = name
    logits, kept = prefill(model, tokens[:, :6], p)
    torch.testing.assert_close(logits, full[:, :6])
    for start, stop in ((6, 7), (7, 10), (10, 12)):
        logits, kept = decode(model, tokens[:, start:stop], kept)
        torch.testing.assert_close(logits, full[:, start:stop])


@pytest.mark.parametrize("name", [name for name in NAMES if name != "flex"])
@pytest.mark.parametrize("how", ["change", "gradient"])
@pytest.mark.parametrize("p", [0, 1, 3, 5])
def test_a_probe_finds_the_mask_of_the_split_over_each(name: str, how: str, p: int) -> None:
    assert torch.equal(visibility(over(name), ids(1, 5), p, how=how), create_prefix_lm_mask(5, p))
    seen = visibility(over(name, TinyCausalLM), ids(1, 5), p, how=how)
    assert torch.equal(seen, causal_mask(5))


def test_a_probe_by_change_finds_it_over_flex_which_has_no_gradient() -> None:
    model, tokens = over("flex"), ids(1, 3)
    assert torch.equal(visibility(model, tokens, 2, ids=[1, 8]), create_prefix_lm_mask(3, 2))
    with pytest.raises(ValueError, match="the kernel 'flex' has no backward on a CPU"):
        visibility(model, tokens, 2, how="gradient")


@pytest.mark.parametrize("name", ["mend", "flex", "dense"])
def test_a_probe_finds_no_leak_between_examples_and_from_padding(name: str) -> None:
    tokens, real, p = ids(2, 3), torch.tensor([[True] * 3, [True, True, False]]), torch.tensor([3, 1])
    seen = visibility(over(name), tokens, p, valid=real, ids=[1, 8])
    mask = create_prefix_lm_mask(3, p, valid=real) & real[:, None, :, None]
    assert not seen[0, 1].any()
    assert not seen[1, 0].any()
    assert torch.equal(torch.stack([seen[0, 0], seen[1, 1]]), mask[:, 0])


@torch.no_grad()
def test_a_long_sequence_has_the_logits_of_the_dense_mask_by_default() -> None:
    torch.manual_seed(0)
    model = TinyPrefixLM(V, d_model=8, n_heads=2, max_len=LONG).eval()
    assert model.kernel == "auto"
    masks: list[object] = []
    model.blocks[0].register_forward_pre_hook(lambda layer, given: masks.append(given[1]))
    tokens = ids(1, LONG)
    for p in (3, LONG // 2 + 1):
        model.kernel = "auto"
        found = model(tokens, p)
        assert not isinstance(masks.pop(), Tensor)
        model.kernel = "dense"
        torch.testing.assert_close(found, model(tokens, p), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_under_autocast_each_kernel_is_near_float32(name: str) -> None:
    torch.manual_seed(0)
    model, tokens = TinyPrefixLM(V, d_model=8, n_heads=2, max_len=6, kernel="plain").eval(), ids(2, 5)
    exact = model(tokens, 3)
    model.kernel = name
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = model(tokens, 3)
    torch.testing.assert_close(rough.float(), exact, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("kind", [TinyPrefixLM, RotaryPrefixLM])
@pytest.mark.parametrize("name", KERNELS)
def test_under_autocast_each_kernel_answers_and_its_cache_gives_what_one_pass_gives(
    name: str, kind: type[TinyPrefixLM]
) -> None:
    torch.manual_seed(0)
    model, tokens = kind(V, d_model=8, n_heads=2, max_len=9, kernel=name).eval(), ids(2, 9)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        full = model(tokens, 6)
        _, kept = prefill(model, tokens[:, :6])
        for t in range(6, 9):
            logits, kept = decode(model, tokens[:, t : t + 1], kept)
            torch.testing.assert_close(logits[:, 0], full[:, t], atol=0.02, rtol=0.02)
        assert [len(answer) for answer in generate(model, tokens[:, :6], max_new_tokens=3)] == [3, 3]


def test_weights_and_files_do_not_know_of_the_kernel(tmp_path: Path) -> None:
    model = TinyPrefixLM(3, d_model=8, n_heads=2, max_len=6, kernel="mend").eval()
    assert model.state_dict().keys() == TinyPrefixLM(3, d_model=8, n_heads=2, max_len=6).state_dict().keys()
    save_checkpoint(tmp_path / "m.safetensors", model, Vocabulary("abc"), made={})
    loaded, _ = load_checkpoint(tmp_path / "m.safetensors")
    assert loaded.kernel == "auto"
    tokens = torch.tensor([[0, 1, 2]])
    torch.testing.assert_close(loaded(tokens, 2), model(tokens, 2))
    assert RotaryPrefixLM(3, d_model=8, n_heads=2, kernel="mend").kernel == "mend"


@pytest.mark.parametrize(
    ("made", "said"), [(None, "not None"), (torch.ones(6, 6), "not of torch.float32"), (True, "not bool")]
)
def test_a_kernel_of_ones_own_must_return_a_mask_of_booleans_wherever_it_is_asked(
    made: object, said: str
) -> None:
    model = TinyPrefixLM(11, 16, 2, 2, 16, 0.0, kernel=lambda sight: made).eval()  # type: ignore[arg-type, return-value]
    tokens = torch.ones(1, 6, dtype=torch.long)
    for ask in (model, partial(prefill, model)):
        with pytest.raises(TypeError, match=f"kernel must return a mask.*{said}"):
            ask(tokens, 2)
