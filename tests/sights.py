"""What the tests of the kernels share: what may be seen, vectors to mix, and which kernel can do what."""

from __future__ import annotations

import torch
from torch import Tensor

from prefixlm_teach import Sight

SIZES = [(T, p) for T in (1, 2, 127, 128, 129) for p in sorted({0, 1, T - 1, T})]
CLOSE = {torch.float32: 1e-5, torch.bfloat16: 4e-2}


def vectors(batch: int, seq_len: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> list[Tensor]:
    """q, k, v and how much each mixed number counts, (B, 2, T, 4) each."""
    generator = torch.Generator().manual_seed(seed)
    shape = (4, batch, 2, seq_len, 4)
    return list(torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype))


def padded(T: int, p: int, side: str) -> Sight:
    """Three examples with prefixes of their own, two of them padded on one side."""
    lengths, place = [T, max(1, T - 1), (T + 1) // 2], torch.arange(T)
    real = [place < n if side == "right" else place >= T - n for n in lengths]
    return Sight(T, torch.tensor([min(p, n) for n in lengths]), torch.stack(real))


def sights(T: int, p: int) -> dict[str, Sight]:
    """The same split for three examples, splits that differ, and padding on either side."""
    return {
        "shared": Sight(T, p),
        "the same for each": Sight(T, torch.tensor([p] * 3)),
        "mixed": Sight(T, torch.tensor([p, T // 2, 0])),
        "right": padded(T, p, "right"),
        "left": padded(T, p, "left"),
    }


def padded_on_the_left(sight: Sight) -> bool:
    return sight.valid is not None and any(row != sorted(row, reverse=True) for row in sight.valid.tolist())


def can(name: str, sight: Sight) -> bool:
    """Whether a kernel is documented to do this; those with a mask or a rule of their own do everything."""
    p = torch.as_tensor(sight.prefix_len).view(-1).tolist()
    if name == "cut":
        return len(set(p)) == 1 and not padded_on_the_left(sight)
    return name != "mend" or not padded_on_the_left(sight)


def real_rows(x: Tensor, sight: Sight) -> Tensor:
    """Of (B, H, T, d_head) the rows that mean something, as (N, H, d_head)."""
    x = x.transpose(1, 2)
    return x.flatten(0, 1) if sight.valid is None else x[sight.valid]
