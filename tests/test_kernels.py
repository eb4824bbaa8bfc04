"""The kernels: each against plain attention, in a grid; the models over each; what each of them refuses."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Padded, padded_batches
from test_model import ids
from torch import Tensor

from prefixlm_teach import (
    KERNELS,
    FlexBlocks,
    PrefixLMAttention,
    ReadyKernel,
    RotaryPrefixLM,
    Sight,
    TinyCausalLM,
    TinyPrefixLM,
    causal_mask,
    create_prefix_lm_mask,
    decode,
    explain,
    generate,
    generate_greedy,
    make_ready,
    plain_attention,
    prefill,
    visibility,
)
from prefixlm_teach.attention import mix
from prefixlm_teach.kernels import LONG

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
NAMES = list(KERNELS)
WITH_BACKWARD = [name for name in NAMES if name != "flex"]
SIZES = [(T, p) for T in (1, 2, 127, 128, 129) for p in sorted({0, 1, T - 1, T})]
CLOSE = {torch.float32: 1e-5, torch.bfloat16: 3e-2}
V, MAX_LEN = 11, 20


def vectors(batch: int, seq_len: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(batch, 2, seq_len, 4, dtype=torch.float64, generator=generator).to(dtype)
        for _ in range(3)
    ]


def padded(T: int, p: int, side: str) -> Sight | None:
    """Three examples with prefixes of their own, two of them padded on one side."""
    lengths = [T, max(1, T - 1), (T + 1) // 2]
    place = torch.arange(T)
    real = torch.stack([place < n if side == "right" else place >= T - n for n in lengths])
    return Sight(T, torch.tensor([min(p, n) for n in lengths]), real)


def sights(T: int, p: int) -> dict[str, Sight]:
    return {
        "shared": Sight(T, p),
        "mixed": Sight(T, torch.tensor([p, T // 2, 0])),
        "right": padded(T, p, "right"),
        "left": padded(T, p, "left"),
    }


def can(name: str, what: str, sight: Sight) -> bool:
    """What the two-call forms are documented to do; the others do everything."""
    if name == "cut":
        return sight.shared_prefix_len is not None and not sight.padded_left
    return name != "mend" or not sight.padded_left


def real_rows(sight: Sight, batch: int) -> Tensor:
    return (
        torch.ones(batch, sight.seq_len, dtype=torch.bool) if sight.valid is None else sight.valid
    )


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize(("T", "p"), SIZES)
def test_each_kernel_equals_plain_attention(T: int, p: int, dtype: torch.dtype) -> None:
    q, k, v = vectors(3, T, dtype)
    for what, sight in sights(T, p).items():
        mask = create_prefix_lm_mask(T, sight.prefix_len, valid=sight.valid)
        wanted = plain_attention(q, k, v, mask)
        real = real_rows(sight, 3)
        for name in NAMES:
            if not can(name, what, sight):
                with pytest.raises(ValueError, match=f"the kernel '{name}'"):
                    make_ready(name, sight)
                continue
            with torch.no_grad():
                mixed = mix(q, k, v, make_ready(name, sight))
            assert mixed.dtype == dtype
            assert mixed.isfinite().all()
            found, right = (x.transpose(1, 2)[real].float() for x in (mixed, wanted))
            torch.testing.assert_close(found, right, atol=CLOSE[dtype], rtol=CLOSE[dtype], msg=f"{name} {what}")
