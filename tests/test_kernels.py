"""The kernels: each against plain attention, forward and backward, in a grid; the choice; what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from bad_values import Watch
from hypothesis import given, settings
from hypothesis import strategies as st
from sights import CLOSE, SIZES, can, real_rows, sights, vectors
from strategies import Padded, padded_batches
from torch import Tensor, nn

from prefixlm_teach import (
    KERNELS,
    Block,
    PrefixLMAttention,
    ReadyKernel,
    Sight,
    TinyCausalLM,
    TinyPrefixLM,
    create_prefix_lm_mask,
    make_ready,
    plain_attention,
)
from prefixlm_teach.attention import mix
from prefixlm_teach.kernels import LONG, auto

NAMES = [name for name in KERNELS if name != "flex"]  # which has tests of its own, and no backward
REAL = torch.tensor([[True, True, True, True], [True, True, True, False]])
SAME_FOR_ALL = {"plain", "auto", "dense", "flex"}


def outcome(
    name: str, sight: Sight, q: Tensor, k: Tensor, v: Tensor, share: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """The rows that mean something, and the gradients of a weighted sum of them."""
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    mixed = mix(q, k, v, make_ready(name, sight))
    assert mixed.dtype == q.dtype
    assert mixed.shape == q.shape
    assert mixed.isfinite().all()
    rows = real_rows(mixed, sight)
    return rows, list(torch.autograd.grad((rows * real_rows(share, sight)).sum(), (q, k, v)))


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize(("T", "p"), SIZES)
def test_each_kernel_equals_plain_attention_forward_and_backward(T: int, p: int, dtype: torch.dtype) -> None:
    given_vectors = vectors(3, T, dtype)
    for what, sight in sights(T, p).items():
        mask = create_prefix_lm_mask(T, sight.prefix_len, valid=sight.valid)
        wanted, gradients = outcome("plain", sight, *given_vectors)
        direct = real_rows(plain_attention(*given_vectors[:3], mask), sight)
        assert torch.equal(wanted, direct)
        for name in NAMES:
            if can(name, sight):
                found = outcome(name, sight, *given_vectors)
                for one, other in zip((found[0], *found[1]), (wanted, *gradients), strict=True):
                    close = CLOSE[dtype]
                    assert torch.allclose(one.float(), other.float(), atol=close, rtol=close), (name, what)
            else:
                with pytest.raises(ValueError, match=f"the kernel '{name}'"):
                    make_ready(name, sight)


@given(padded_batches(), st.integers(0, 2**20))
@settings(max_examples=60)
def test_each_kernel_that_takes_a_batch_mixes_it_as_plain_attention_does(batch: Padded, seed: int) -> None:
    sight = Sight(len(batch.real[0]), batch.p, batch.valid)
    given_vectors = vectors(len(batch.real), sight.seq_len, seed=seed)
    wanted, gradients = outcome("plain", sight, *given_vectors)
    for name in NAMES:
        if can(name, sight):
            found, found_gradients = outcome(name, sight, *given_vectors)
            torch.testing.assert_close(found, wanted)
            torch.testing.assert_close(found_gradients, gradients)
        else:
            with pytest.raises(ValueError, match=f"the kernel '{name}'"):
                make_ready(name, sight)


@pytest.mark.parametrize("name", sorted(SAME_FOR_ALL - {"flex"}))
def test_any_mask_is_taken_and_padding_is_closed_in_it(name: str) -> None:
    q, k, v, _ = vectors(2, 4)
    for mask in (torch.rand(4, 4) > 0.5, torch.rand(2, 1, 4, 4) > 0.5, torch.rand(1, 1, 4, 4) > 0.5):
        found = mix(q, k, v, make_ready(name, Sight(4, mask=mask)))
        torch.testing.assert_close(found, plain_attention(q, k, v, mask))
        found = mix(q, k, v, make_ready(name, Sight(4, valid=REAL, mask=mask)))
        torch.testing.assert_close(found, plain_attention(q, k, v, mask & REAL[:, None, None]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("new", [1, 3])
def test_after_a_cache_the_last_queries_see_all_that_they_may(name: str, new: int) -> None:
    q, k, v, _ = vectors(2, 7)
    mask = (torch.rand(2, 1, 7, 7) > 0.3)[:, :, -new:]
    found = mix(q[:, :, -new:], k, v, make_ready(name, Sight(7, mask=mask)))
    torch.testing.assert_close(found, plain_attention(q[:, :, -new:], k, v, mask))


@pytest.mark.parametrize("p", [0, 1, LONG // 4, LONG // 2, LONG // 2 + 1, LONG])
def test_the_choice_for_a_long_sequence_is_exact_and_makes_no_mask(p: int) -> None:
    q, k, v, share = (x[:1, :1].float() for x in vectors(1, LONG))
    sight = Sight(LONG, p)
    ready = make_ready("auto", sight)
    assert isinstance(ready, ReadyKernel)
    wanted, gradients = outcome("dense", sight, q, k, v, share)
    found, found_gradients = outcome("auto", sight, q, k, v, share)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found_gradients, gradients, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("p", "wanted"), [(0, "mend"), (LONG // 2, "mend"), (LONG // 2 + 1, "cut"), (LONG, "cut")]
)
def test_a_short_prefix_is_mended_and_a_long_one_is_cut(
    p: int, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mend", "cut"):
        monkeypatch.setattr(f"prefixlm_teach.kernels.{name}", lambda sight, name=name: name)
    for same in (p, torch.tensor(p), torch.tensor([p, p])):
        assert auto(Sight(LONG, same)) == wanted
    on_the_right = torch.ones(2, LONG, dtype=torch.bool)
    on_the_right[1, p:] = False
    assert auto(Sight(LONG, torch.tensor([p, p]), on_the_right)) == wanted


def test_the_choice_is_the_dense_mask_where_two_calls_cannot_or_do_not_pay() -> None:
    on_the_left = torch.ones(2, LONG, dtype=torch.bool)
    on_the_left[0, 0] = False
    for sight in (
        Sight(LONG - 1, 5),
        Sight(5, torch.tensor([2, 2])),
        Sight(LONG, torch.tensor([5, 6])),
        Sight(LONG, torch.tensor([5, 5]), on_the_left),
        Sight(LONG, mask=torch.ones(LONG, LONG, dtype=torch.bool).tril()),
        Sight(LONG, mask=torch.ones(1, 1, 1, LONG, dtype=torch.bool)),
    ):
        mask = make_ready("auto", sight)
        assert isinstance(mask, Tensor)
        assert torch.equal(mask, make_ready("dense", sight))


def test_an_example_of_nothing_but_padding_is_finite_forward_and_backward() -> None:
    sight = Sight(4, torch.tensor([0, 2]), torch.tensor([[False] * 4, [True, True, True, False]]))
    for name in NAMES:
        if name != "cut":
            q, k, v = (x.requires_grad_() for x in vectors(2, 4)[:3])
            mixed = mix(q, k, v, make_ready(name, sight))
            gradients = torch.autograd.grad(mixed.sum(), (q, k, v))
            assert mixed.isfinite().all()
            assert all(gradient.isfinite().all() for gradient in gradients)


def test_a_function_of_the_readers_own_is_a_kernel_too() -> None:
    asked: list[Sight] = []

    def counting(sight: Sight) -> Tensor | ReadyKernel:
        asked.append(sight)
        return make_ready("mend", sight)

    model = TinyPrefixLM(7, d_model=8, n_heads=2, max_len=6, kernel=counting).eval()
    tokens = torch.tensor([[1, 2, 3, 4]])
    found = model(tokens, 2)
    assert [(sight.seq_len, int(sight.prefix_len)) for sight in asked] == [(4, 2)]  # once for both layers
    model.kernel = "plain"
    torch.testing.assert_close(found, model(tokens, 2))


TOKENS = torch.tensor([[1, 2, 3, 4], [4, 3, 2, 1]])
MIXED, SHARED = torch.tensor([1, 3]), torch.tensor([3, 3])
LEFT = REAL.flip(-1)
ANY_MASK = torch.rand(4, 4) > 0.5
IS_CAUSAL = (
    r"the kernel '{}' takes no mask: it asks for causal attention \(is_causal\), and PyTorch would close"
)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "cut",
        {"prefix_len": MIXED},
        r"prefix_len is \[1, 3\], but the kernel 'cut' cuts all examples",
    ),
    ("cut", {"prefix_len": SHARED, "valid": LEFT}, "padding on the left, which the kernel 'cut' has no mask"),
    (
        "mend",
        {"prefix_len": MIXED, "valid": LEFT},
        "padding on the left, which the kernel 'mend' has no",
    ),
    ("cut", {"mask": ANY_MASK}, IS_CAUSAL.format("cut")),
    ("mend", {"mask": ANY_MASK[None, None]}, IS_CAUSAL.format("mend")),
]


@pytest.mark.parametrize("kind", [TinyPrefixLM, TinyCausalLM])
@pytest.mark.parametrize(("name", "asked", "says"), REFUSED)
def test_what_a_kernel_cannot_do_is_refused_before_anything_is_computed(
    kind: type[TinyPrefixLM], name: str, asked: dict[str, Any], says: str
) -> None:
    model = kind(7, d_model=8, n_heads=2, max_len=6).eval()
    model.kernel = name
    if kind is TinyCausalLM and name == "cut" and asked == {"prefix_len": MIXED}:
        model(TOKENS, **asked)  # no prefix is opened, so that all are the same
        return
    with Watch() as watch, pytest.raises(ValueError, match=says):
        model(TOKENS, **asked)
    assert not watch.called & {"embedding", "linear", "scaled_dot_product_attention", "softmax", "layer_norm"}


def test_an_unknown_kernel_is_refused_when_it_is_set_and_the_old_one_stays() -> None:
    model = TinyPrefixLM(7, d_model=8, n_heads=2, max_len=6, kernel="mend").eval()
    with pytest.raises(
        ValueError, match=r"unknown kernel 'flash' \(there are: auto, plain, dense, cut, mend"
    ):
        model.kernel = "flash"
    with pytest.raises(ValueError, match="the kernel is 'mend', which never holds"):
        model.attention_weights(TOKENS, 2)


class Mending(nn.Module):
    """A kernel of one's own that is a module, with something that looks like a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, sight: Sight) -> Tensor | ReadyKernel:
        return make_ready("mend", sight)


def test_a_module_can_be_the_kernel_is_none_of_the_weights_and_can_be_exchanged_again() -> None:
    model = TinyPrefixLM(7, d_model=8, n_heads=2, max_len=6, kernel="plain").eval()
    names, wanted = list(model.state_dict()), model(TOKENS, 2)
    for kernel in (Mending(), "dense", Mending(), KERNELS["cut"], "plain"):
        model.kernel = kernel
        assert model.kernel is kernel
        torch.testing.assert_close(model(TOKENS, 2), wanted)
        assert list(model.state_dict()) == names
    assert list(TinyPrefixLM(7, d_model=8, n_heads=2, max_len=6, kernel=Mending()).state_dict()) == names


@pytest.mark.parametrize("name", ["cut", "mend", "flex"])
def test_weights_are_refused_by_a_kernel_that_never_holds_them(name: str) -> None:
    model = TinyPrefixLM(7, d_model=8, n_heads=2, max_len=6, kernel=name).eval()
    with Watch() as watch, pytest.raises(ValueError, match=f"the kernel is '{name}', which never holds"):
        model.attention_weights(TOKENS, 2)
    assert not watch.called & {"embedding", "linear", "softmax"}
    model.kernel = lambda sight: make_ready("mend", sight)
    with pytest.raises(ValueError, match="a kernel of your own, which never holds the attention weights"):
        model.attention_weights(TOKENS, 2)
    model.kernel = "plain"
    weights = model.attention_weights(TOKENS, 2)
    for other in ("auto", "dense"):
        model.kernel = other
        assert torch.equal(model.attention_weights(TOKENS, 2), weights)


@pytest.mark.parametrize("layer", [PrefixLMAttention(8, 2), Block(8, 2, 0.0)])
@pytest.mark.parametrize("name", ["plain", "cut", "mend"])
def test_a_kernel_made_ready_for_another_call_is_refused(layer: Callable[..., Tensor], name: str) -> None:
    ready = make_ready(name, Sight(4, SHARED))
    assert layer(torch.randn(2, 4, 8), ready).shape == (2, 4, 8)
    for x, says in (
        (torch.randn(2, 5, 8), "the kernel was made ready for 4 tokens, but there are 5"),
        (torch.randn(3, 4, 8), "the kernel was made ready for 2 examples, but there are 3"),
    ):
        with Watch() as watch, pytest.raises(ValueError, match=says):
            layer(x, ready)
        assert not watch.called & {"linear", "layer_norm"}
    q, k, v, _ = vectors(2, 5)
    with pytest.raises(ValueError, match="for 4 tokens, but there are 5: make it ready for each call"):
        ready(q, k, v)
    with pytest.raises(ValueError, match="made ready for 4 tokens, but there are 2 of 5"):
        ready(q[:, :, -2:], k, v)
    assert layer(torch.randn(3, 4, 8), make_ready(name, Sight(4, 3))).shape == (3, 4, 8)  # serves any B
    with pytest.raises(TypeError, match="mask must be a tensor of booleans, not ReadyKernel"):
        PrefixLMAttention(8, 2).weights(torch.randn(2, 4, 8), ready)


def test_no_p_is_shared_where_a_mask_says_what_is_seen() -> None:
    assert Sight(4, mask=ANY_MASK).shared_prefix_len is None
    assert Sight(4, MIXED).shared_prefix_len is None
    assert Sight(4, SHARED).shared_prefix_len == 3


def test_a_mask_for_the_last_queries_alone_is_none_for_a_layer_that_has_all() -> None:
    ready = make_ready("plain", Sight(4, mask=ANY_MASK[-2:]))
    with pytest.raises(ValueError, match="made ready for 2 of 4 tokens, but there are 4"):
        PrefixLMAttention(8, 2)(torch.randn(1, 4, 8), ready)
