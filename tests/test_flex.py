"""FlexAttention: against plain attention in a grid; its block mask, which does not follow what changes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from bad_values import Watch
from hypothesis import given, settings
from hypothesis import strategies as st
from sights import CLOSE, SIZES, real_rows, sights, vectors
from strategies import Padded, padded_batches
from torch import Tensor
from torch.nn.attention import flex_attention

from prefixlm_teach import (
    FlexBlocks,
    Sight,
    TinyCausalLM,
    TinyPrefixLM,
    create_prefix_lm_mask,
    make_ready,
    plain_attention,
    visibility,
)

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


@pytest.fixture
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch traces each shape before it runs, even uncompiled. The same code without: sooner, for many."""
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize(("T", "p"), SIZES)
@torch.no_grad()
def test_it_equals_plain_attention(T: int, p: int, dtype: torch.dtype) -> None:
    q, k, v, _ = vectors(3, T, dtype)
    for what, sight in sights(T, p).items():
        mask = create_prefix_lm_mask(T, sight.prefix_len, valid=sight.valid)
        found, wanted = make_ready("flex", sight)(q, k, v), plain_attention(q, k, v, mask)
        assert found.dtype == dtype
        assert found.isfinite().all()
        close = CLOSE[dtype]
        pair = (real_rows(x, sight).float() for x in (found, wanted))
        assert torch.allclose(*pair, atol=close, rtol=close), what


@pytest.mark.usefixtures("untraced")
@given(padded_batches(), st.integers(0, 2**20))
@settings(max_examples=25)
@torch.no_grad()
def test_it_mixes_every_row_of_every_batch_as_plain_attention_does(batch: Padded, seed: int) -> None:
    sight = Sight(len(batch.real[0]), batch.p, batch.valid)
    q, k, v, _ = vectors(len(batch.real), sight.seq_len, seed=seed)
    mask = create_prefix_lm_mask(sight.seq_len, batch.p, valid=batch.valid)
    torch.testing.assert_close(make_ready("flex", sight)(q, k, v), plain_attention(q, k, v, mask))


@pytest.mark.usefixtures("untraced")
@torch.no_grad()
def test_it_takes_any_mask_and_the_last_queries_alone() -> None:
    q, k, v, _ = vectors(2, 6)
    for mask in (torch.rand(6, 6) > 0.5, torch.rand(2, 1, 6, 6) > 0.5, torch.rand(1, 1, 6, 6) > 0.5):
        for rows in (6, 2, 1):
            last = mask[..., -rows:, :]
            found = make_ready("flex", Sight(6, mask=last))(q[:, :, -rows:], k, v)
            torch.testing.assert_close(found, plain_attention(q[:, :, -rows:], k, v, last))
    real = torch.arange(6) < torch.tensor([[6], [4]])
    found = make_ready("flex", Sight(6, valid=real, mask=mask))(q, k, v)
    torch.testing.assert_close(found, plain_attention(q, k, v, mask & real[:, None, None]))


def tiny(kind: type[TinyPrefixLM] = TinyPrefixLM) -> TinyPrefixLM:
    torch.manual_seed(0)
    return kind(7, d_model=8, n_heads=2, max_len=6).double().eval()


TOKENS = torch.tensor([[1, 2, 3, 4], [4, 3, 2, 1]])
REAL = torch.tensor([[True] * 4, [True, True, True, False]])
MASK = torch.ones(4, 4, dtype=torch.bool).tril()


@pytest.mark.usefixtures("untraced")
@torch.no_grad()
def test_blocks_made_once_serve_as_long_as_nothing_changes() -> None:
    model = tiny()
    for made, asked in [
        (Sight(4, 3), {"prefix_len": 3}),
        (Sight(4, 3), {"prefix_len": torch.tensor([3, 3])}),
        (Sight(4, 3), {"prefix_len": 3, "valid": torch.ones_like(REAL)}),
        (Sight(4, torch.tensor([1, 3])), {"prefix_len": torch.tensor([1, 3])}),
        (Sight(4, torch.tensor([1, 3]), REAL), {"prefix_len": torch.tensor([1, 3]), "valid": REAL.clone()}),
        (Sight(4, mask=MASK), {"mask": MASK}),
    ]:
        model.kernel = "plain"
        wanted = model(TOKENS, **asked)
        model.kernel = FlexBlocks(made)
        for _ in range(2):
            torch.testing.assert_close(model(TOKENS, **asked), wanted)


UNEQUAL = torch.tensor([3, 2])
STALE: list[tuple[Sight, dict[str, Any], str]] = [
    (Sight(4, 3), {"prefix_len": 2}, "it was made for prefix_len 3, and this call has prefix_len 2"),
    (Sight(5, 3), {"prefix_len": 3}, "it was made for seq_len 5, and this call has seq_len 4"),
    (Sight(3, 3), {"prefix_len": 3}, "it was made for seq_len 3, and this call has seq_len 4"),
    (
        Sight(4, 3),
        {"prefix_len": torch.tensor([3, 2])},
        r"prefix_len 3, and this call has prefix_len \[3, 2\]",
    ),
    (
        Sight(4, torch.tensor([3, 2])),
        {"prefix_len": 3},
        r"prefix_len \[3, 2\], and this call has prefix_len 3",
    ),
    (
        Sight(4, torch.tensor([3, 2])),
        {"prefix_len": torch.tensor([2, 3])},
        r"this call has prefix_len \[2, 3\]",
    ),
    (Sight(4, torch.tensor([3] * 3)), {"prefix_len": torch.tensor([3, 3])}, r"prefix_len \[3, 3, 3\], and"),
    (Sight(4, 3), {"prefix_len": 3, "valid": REAL}, "it was made for valid, and this call has another"),
    (Sight(4, 3, REAL), {"prefix_len": 3}, "it was made for valid, and this call has another"),
    (Sight(4, 3, REAL), {"prefix_len": 3, "valid": REAL.flip(0)}, "valid, and this call has another"),
    (Sight(4, 3), {"mask": MASK}, "it was made for prefix_len 3, and this call has prefix_len None"),
    (Sight(4, mask=MASK), {"mask": ~MASK}, "it was made for mask, and this call has another"),
]


@pytest.mark.parametrize(("made", "asked", "says"), STALE)
@torch.no_grad()
def test_a_stale_block_mask_is_refused_before_anything_is_computed(
    made: Sight, asked: dict[str, Any], says: str
) -> None:
    model = tiny()
    model.kernel = FlexBlocks(made)
    with Watch() as watch, pytest.raises(ValueError, match=f"the block mask is stale: .*{says}"):
        model(TOKENS, **asked)
    assert not watch.called & {"embedding", "linear", "layer_norm", "flex_attention"}


@torch.no_grad()
def test_a_causal_model_asks_for_no_prefix() -> None:
    model = tiny(TinyCausalLM)
    model.kernel = FlexBlocks(Sight(4, 3))
    with pytest.raises(ValueError, match="it was made for prefix_len 3, and this call has prefix_len 0"):
        model(TOKENS, 3)
    model.kernel = FlexBlocks(Sight(4, 0))
    found = model(TOKENS, 3)
    model.kernel = "dense"
    torch.testing.assert_close(found, model(TOKENS, 3))


@pytest.mark.parametrize("kernel", ["flex", FlexBlocks(Sight(4, 3))])
def test_backward_on_a_cpu_is_refused_before_anything_is_computed(kernel: Any) -> None:
    model = tiny()
    model.kernel = kernel
    with Watch() as watch, pytest.raises(ValueError, match=r"has no backward on a CPU .* torch\.no_grad"):
        model(TOKENS, 3)
    assert not watch.called & {"embedding", "linear", "layer_norm", "flex_attention"}
    assert "argmax" not in watch.called  # no block mask is made in vain
    with torch.no_grad():
        assert model(TOKENS, 3).isfinite().all()
    with pytest.raises(ValueError, match="has no backward on a CPU"):
        visibility(model, TOKENS, 3, how="gradient")


def test_a_class_is_no_kernel_yet() -> None:
    with pytest.raises(TypeError, match=r"must be one of auto, .*, or a function, not type"):
        tiny().__class__(7, kernel=FlexBlocks)


def seen_by(model: TinyPrefixLM) -> Tensor:
    return visibility(model, TOKENS[:1], 3)


def test_a_probe_takes_blocks_that_were_made_for_its_tokens() -> None:
    model = tiny()
    model.kernel = FlexBlocks(Sight(4, 3))
    assert torch.equal(seen_by(model), create_prefix_lm_mask(4, 3))


def test_a_prefix_length_that_is_changed_in_place_makes_the_block_mask_stale() -> None:
    p, valid = torch.tensor([1, 2]), torch.ones(2, 6, dtype=torch.bool)
    blocks = FlexBlocks(Sight(6, p, valid))
    p += 2
    with torch.no_grad(), pytest.raises(ValueError, match="the block mask is stale"):
        blocks(Sight(6, p, valid))
    p -= 2
    valid[1, 4:] = False
    with torch.no_grad(), pytest.raises(ValueError, match="the block mask is stale"):
        blocks(Sight(6, p, valid))
