"""A whole model with linear attention: against the quadratic reference, with its cache, seen by the probe."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from bad_values import Watch
from sights import CLOSE, SIZES, real_rows, sights, vectors
from test_model import ids
from test_training import copy_task
from torch import Tensor, nn

from prefixlm_teach import (
    KERNELS,
    LINEAR_KERNELS,
    FlexBlocks,
    LinearPrefixLM,
    LinearState,
    PrefixLMAttention,
    PrefixLMLinearAttention,
    Sight,
    TinyPrefixLM,
    Vocabulary,
    adapt_to_prefix,
    compute_prefix_lm_loss,
    create_prefix_lm_mask,
    decode,
    encode_and_decode,
    explain,
    generate,
    generate_greedy,
    load_checkpoint,
    make_ready,
    plain_linear_attention,
    prefill,
    save_checkpoint,
    train,
    visibility,
)

V, MAX_LEN = 11, 130
P = torch.tensor([4, 1, 2])
RIGHT = torch.arange(6) < torch.tensor([[6], [3], [5]])
LEFT = RIGHT.flip(-1)


@cache
def tiny() -> LinearPrefixLM:
    torch.manual_seed(0)
    model = LinearPrefixLM(V, d_model=8, n_heads=2, max_len=MAX_LEN).double().eval()
    with torch.no_grad():
        for block in model.blocks:  # untrained, but made to listen
            for layer in (block.attn.q_proj, block.attn.v_proj, block.attn.out_proj):
                layer.weight *= 4
    return model


def over(kernel: str) -> LinearPrefixLM:
    model = tiny()
    model.kernel = kernel
    return model


def with_gradients(mixed: Tensor, given: list[Tensor], sight: Sight, share: Tensor) -> list[Tensor]:
    """The rows that mean something, and the gradients of a weighted sum of them."""
    rows = real_rows(mixed, sight)
    return [rows, *torch.autograd.grad((rows * real_rows(share, sight)).sum(), given)]


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize(("T", "p"), SIZES)
def test_each_kernel_equals_the_quadratic_form_forward_and_backward(
    T: int, p: int, dtype: torch.dtype
) -> None:
    *given, share = vectors(3, T, dtype)
    given = [x.requires_grad_() for x in given]
    for what, sight in sights(T, p).items():
        mask = create_prefix_lm_mask(T, sight.prefix_len, valid=sight.valid)
        wanted = with_gradients(plain_linear_attention(*given, mask), given, sight, share)
        for name in LINEAR_KERNELS:
            mixed = make_ready(name, sight)(*given)
            assert mixed.dtype == dtype
            for found, other in zip(with_gradients(mixed, given, sight, share), wanted, strict=True):
                close = CLOSE[dtype]
                assert torch.allclose(found.float(), other.float(), atol=close, rtol=close), (name, what)


@pytest.mark.parametrize(("T", "p"), SIZES)
def test_a_step_of_training_is_that_of_the_quadratic_form(T: int, p: int) -> None:
    for what, sight in sights(T, p).items():
        real = torch.ones(3, T, dtype=torch.bool) if sight.valid is None else sight.valid
        tokens, outcomes = ids(3, T), []
        for kernel in LINEAR_KERNELS:
            model = over(kernel)
            logits = model(tokens, sight.prefix_len, valid=sight.valid)[real]
            weights = [weight for weight in model.parameters() if weight is not model.pos_emb.weight]
            outcomes.append([logits, *torch.autograd.grad(logits.pow(2).sum(), weights)])
        for found, wanted in zip(*outcomes, strict=True):
            assert torch.allclose(found, wanted, atol=1e-9, rtol=1e-9), what


def test_its_layers_compute_what_the_layer_of_linear_attention_computes() -> None:
    torch.manual_seed(0)
    ours, theirs, x = PrefixLMAttention(8, 2), PrefixLMLinearAttention(8, 2), torch.randn(3, 6, 8)
    theirs.load_state_dict(ours.state_dict())
    for valid in (None, RIGHT, LEFT):
        found = ours(x, make_ready("linear", Sight(6, P, valid)))
        real = slice(None) if valid is None else valid
        torch.testing.assert_close(found[real], theirs(x, P, valid=valid)[real])


def test_a_model_of_the_same_weights_under_softmax_is_another_one() -> None:
    linear, softmax = tiny(), TinyPrefixLM(V, d_model=8, n_heads=2, max_len=MAX_LEN).double().eval()
    softmax.load_state_dict(linear.state_dict())
    assert (linear(ids(3, 6), P) - softmax(ids(3, 6), P)).abs().max() > 0.01


@pytest.mark.parametrize("valid", [None, RIGHT, LEFT])
@pytest.mark.parametrize("how", ["change", "gradient"])
@pytest.mark.parametrize("kernel", LINEAR_KERNELS)
def test_a_probe_finds_that_it_sees_what_a_prefix_lm_sees(
    kernel: str, how: str, valid: Tensor | None
) -> None:
    seen = visibility(
        over(kernel), ids(3, 6), P, valid=valid, how=how, ids=[2, 7] if how == "change" else None
    )
    assert explain(seen, P, valid=valid).startswith("Right: each row sees what a prefix LM")


@torch.no_grad()
def test_the_reference_takes_any_mask_and_closes_padding_in_it() -> None:
    mask = create_prefix_lm_mask(6, P, valid=RIGHT)
    wanted = over("linear")(ids(3, 6), P, valid=RIGHT)
    found = over("plain_linear")(ids(3, 6), mask=create_prefix_lm_mask(6, P), valid=RIGHT)
    torch.testing.assert_close(found[RIGHT], wanted[RIGHT])
    torch.testing.assert_close(over("plain_linear")(ids(3, 6), mask=mask)[RIGHT], wanted[RIGHT])


@pytest.mark.parametrize("p", [0, 1, 4, 6])
@pytest.mark.parametrize("kernel", LINEAR_KERNELS)
@torch.no_grad()
def test_its_cache_is_a_state_of_one_size_and_no_keys(kernel: str, p: int) -> None:
    model, tokens = over(kernel), ids(2, 12)
    full = over("plain_linear")(tokens, p)
    model.kernel = kernel
    logits, kept = prefill(model, tokens[:, :6], p)
    torch.testing.assert_close(logits, full[:, :6])
    for start, stop in ((6, 7), (7, 10), (10, 12)):
        logits, kept = decode(model, tokens[:, start:stop], kept)
        torch.testing.assert_close(logits, full[:, start:stop])
        assert len(kept.layers) == 2
        for layer in kept.layers:
            assert isinstance(layer, LinearState)
            assert layer.memory.shape == (2, 2, 4, 4)
            assert layer.normaliser.shape == (2, 2, 4)


@pytest.mark.parametrize("valid", [None, RIGHT, LEFT])
def test_answers_with_its_cache_are_those_without(valid: Tensor | None) -> None:
    answers = generate(over("linear"), ids(3, 6), valid=valid, max_new_tokens=5)
    assert len({tuple(answer) for answer in answers}) > 1
    assert answers == generate(over("plain_linear"), ids(3, 6), valid=valid, max_new_tokens=5)
    if valid is not RIGHT:  # which the loop without a cache refuses
        given: dict[str, Any] = {"valid": valid, "stop_id": 0, "max_new_tokens": 5}
        assert generate(over("linear"), ids(3, 6), **given) == generate_greedy(tiny(), ids(3, 6), **given)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_its_state_is_summed_in_float32_or_better(dtype: torch.dtype) -> None:
    model = LinearPrefixLM(V, d_model=8, n_heads=2, max_len=9).to(dtype).eval()
    logits, kept = prefill(model, ids(2, 4), 3)
    logits, kept = decode(model, ids(2, 2), kept)
    assert logits.dtype == dtype
    assert {part.dtype for layer in kept.layers for part in (layer.memory, layer.normaliser)} == {
        torch.float32
    }


@pytest.mark.parametrize("kernel", LINEAR_KERNELS)
@torch.no_grad()
def test_under_autocast_it_is_near_float32_and_its_cache_gives_what_one_pass_gives(kernel: str) -> None:
    torch.manual_seed(0)
    model, tokens = LinearPrefixLM(V, d_model=8, n_heads=2, max_len=9, kernel=kernel).eval(), ids(2, 9)
    exact = model(tokens, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        full = model(tokens, 6)
        _, kept = prefill(model, tokens[:, :6])
        for t in range(6, 9):
            logits, kept = decode(model, tokens[:, t : t + 1], kept)
            torch.testing.assert_close(logits[:, 0], full[:, t], atol=0.02, rtol=0.02)
    torch.testing.assert_close(full.float(), exact, atol=0.05, rtol=0.05)


def test_it_learns() -> None:
    torch.manual_seed(0)
    model = LinearPrefixLM(8, d_model=32, n_heads=4, max_len=6, dropout=0.0)
    losses = train(model, (copy_task(seed) for seed in range(60)), steps=60, lr=1e-2, progress=False)
    assert losses[-1] < 0.8 * losses[0]


def test_a_file_brings_it_back_as_what_it_is(tmp_path: Path) -> None:
    model = LinearPrefixLM(3, d_model=8, n_heads=2, max_len=6, kernel="plain_linear").eval()
    save_checkpoint(tmp_path / "m.safetensors", model, Vocabulary("abc"), made={})
    loaded, _ = load_checkpoint(tmp_path / "m.safetensors")
    assert type(loaded) is LinearPrefixLM
    assert loaded.kernel == "linear"
    tokens = torch.tensor([[0, 1, 2]])
    torch.testing.assert_close(loaded(tokens, 2), model(tokens, 2))


@pytest.mark.parametrize("mask", [torch.ones(6, 6, dtype=torch.bool), create_prefix_lm_mask(6, P)])
def test_a_mask_is_refused_where_nothing_but_a_split_can_be_summed_up(mask: Tensor) -> None:
    model = over("linear")
    with Watch() as watch, pytest.raises(ValueError, match="the kernel 'linear' takes no mask: it sums up"):
        model(ids(3, 6), mask=mask)
    assert not watch.called & {"embedding", "linear", "layer_norm"}
    by_mask = make_ready("plain_linear", Sight(6, mask=mask))
    nothing = LinearState(torch.zeros(3, 2, 4, 4), torch.zeros(3, 2, 4))
    with pytest.raises(ValueError, match="takes no mask"):
        by_mask.read_on(*torch.zeros(3, 3, 2, 6, 4), nothing)  # type: ignore[union-attr]


@pytest.mark.parametrize("kernel", LINEAR_KERNELS)
def test_weights_are_refused_since_there_is_no_softmax(kernel: str) -> None:
    model = over(kernel)
    with Watch() as watch, pytest.raises(ValueError, match=f"the kernel is '{kernel}': linear attention has"):
        model.attention_weights(ids(3, 6), P)
    assert not watch.called & {"embedding", "linear", "softmax"}


@pytest.mark.parametrize("kernel", [*KERNELS, "flash", FlexBlocks(Sight(6, 2)), KERNELS["mend"], nn.ReLU()])
def test_a_kernel_for_softmax_is_refused_by_a_linear_model(kernel: Any) -> None:
    model = LinearPrefixLM(V, d_model=8, n_heads=2, max_len=6)
    says = "the kernel of a LinearPrefixLM must be linear or plain_linear, not"
    with pytest.raises((TypeError, ValueError), match=says):
        model.kernel = kernel
    with pytest.raises((TypeError, ValueError), match=says):
        LinearPrefixLM(V, kernel=kernel)
    assert model.kernel == "linear"


@pytest.mark.parametrize("kernel", [*LINEAR_KERNELS, *LINEAR_KERNELS.values()])
def test_a_kernel_for_linear_attention_is_refused_by_a_softmax_model(kernel: Any) -> None:
    model = TinyPrefixLM(V, d_model=8, n_heads=2, max_len=6)
    with pytest.raises(ValueError, match=r"linear attention, for which .* use LinearPrefixLM"):
        model.kernel = kernel
    with pytest.raises(ValueError, match=r"linear attention, for which .* use LinearPrefixLM"):
        TinyPrefixLM(V, kernel=kernel)
    assert model.kernel == "auto"


def test_a_cache_of_the_other_attention_is_refused() -> None:
    linear, softmax = tiny(), TinyPrefixLM(V, d_model=8, n_heads=2, max_len=MAX_LEN).double().eval()
    for maker, reader in ((linear, softmax), (softmax, linear)):
        _, kept = prefill(maker, ids(2, 4))
        with pytest.raises(ValueError, match="the cache was made by another model"):
            decode(reader, ids(2, 1), kept)
    _, kept = prefill(tiny(), ids(2, 4))
    with pytest.raises(ValueError, match=r"the cache is torch.float64 .* now torch.float32"):
        decode(LinearPrefixLM(V, d_model=8, n_heads=2, max_len=MAX_LEN).eval(), ids(2, 1), kept)


def test_it_lends_no_blocks_to_what_would_attend_by_softmax() -> None:
    with pytest.raises(TypeError, match=r"encoder must be a TinyPrefixLM, .* not LinearPrefixLM"):
        encode_and_decode(tiny(), tiny(), ids(1, 6), 3)
    with pytest.raises(TypeError, match=r"model must be a TinyCausalLM, .* not LinearPrefixLM"):
        adapt_to_prefix(tiny())  # type: ignore[arg-type]


def test_a_batch_with_an_example_of_padding_alone_trains() -> None:
    model = over("linear")
    valid = torch.stack([LEFT[1], torch.zeros(6, dtype=torch.bool)])
    p = torch.tensor([2, 0])
    model.zero_grad()
    compute_prefix_lm_loss(model(ids(2, 6), p, valid=valid), ids(2, 6), p, valid=valid).backward()
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in model.parameters())
