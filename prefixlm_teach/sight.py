"""What one call may see, said once for all layers, and a kernel made ready for it.

A kernel is one way to compute attention. It is told once per call what may be seen, a `Sight`, and makes of
it what each layer is given: a mask of booleans, or a `ReadyKernel`, which needs none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.arguments import check_int, check_prefix_len, check_valid, kind_of
from prefixlm_teach.kernel_arguments import check_asked, check_last_rows, check_made_for
from prefixlm_teach.mask_arguments import check_mask_fits, check_one_mask
from prefixlm_teach.masks import create_prefix_lm_mask


@dataclass(frozen=True, eq=False)
class Sight:
    """What each query may see: by a split, or by any mask. Padding is closed in both.

    Attributes:
        seq_len: T, the number of columns, padding included.
        prefix_len: p, an int or 0-d tensor for all examples, or (B,) for one split per example.
        valid: (B, T) booleans, False at padding.
        mask: instead of `prefix_len`, any boolean mask, (T, T) or (B, 1, T, T), True = may attend. With fewer
            rows than columns it is for the last queries alone, those that follow what a cache holds.

    Raises:
        TypeError, ValueError: an attribute has the wrong kind, shape, device or range, or both or neither of
            `prefix_len` and `mask` are given.
    """

    seq_len: int
    prefix_len: int | Tensor | None = None
    valid: Tensor | None = None
    mask: Tensor | None = None

    def __post_init__(self) -> None:
        check_int("seq_len", self.seq_len, minimum=1)
        check_one_mask(self.prefix_len, self.mask)
        if self.valid is not None:
            check_valid(self.valid, self.seq_len)
        if self.prefix_len is not None:
            check_prefix_len(self.prefix_len, self.seq_len, valid=self.valid)
        else:
            check_last_rows(self.mask, self.seq_len, self.valid)

    @property
    def rows(self) -> int:
        """The number of queries: T, or fewer after a cache."""
        return self.seq_len if self.mask is None else self.mask.size(-2)

    @property
    def continues(self) -> bool:
        """Whether only the last queries ask, after a cache."""
        return self.rows < self.seq_len

    @property
    def device(self) -> torch.device:
        """The device of what says it; with numbers alone it is the CPU."""
        said = (self.mask, self.valid, self.prefix_len)
        return next((each.device for each in said if isinstance(each, Tensor)), torch.device("cpu"))

    @property
    def batch(self) -> int | None:
        """B where examples differ, or None where what is said serves any number of them."""
        for each, ndim in ((self.valid, 2), (self.prefix_len, 1), (self.mask, 4)):
            if isinstance(each, Tensor) and each.ndim == ndim and len(each) > 1:
                return len(each)
        return None

    @property
    def shared_prefix_len(self) -> int | None:
        """The p that all examples have, or None where they differ, or where a mask says what is seen."""
        if self.prefix_len is None:
            return None
        low, high = torch.as_tensor(self.prefix_len).aminmax()
        return int(low) if bool(low == high) else None

    @property
    def padded_left(self) -> bool:
        """Whether padding stands before a token, and not only after the last one."""
        return self.valid is not None and bool((self.valid[:, 1:] > self.valid[:, :-1]).any())


def dense(sight: Sight) -> Tensor:
    """Return the mask of a sight, for `F.scaled_dot_product_attention`: the kernel that can do anything.

    Args:
        sight: what may be seen.

    Returns:
        Booleans, True = may attend: (T, T), or (B, 1, T, T) where examples differ or there is padding.
    """
    check_sight(sight)
    if sight.mask is None:
        assert sight.prefix_len is not None  # noqa: S101 - for the type checker
        return create_prefix_lm_mask(sight.seq_len, sight.prefix_len, valid=sight.valid)
    return sight.mask if sight.valid is None else sight.mask & sight.valid[:, None, None, :]


@dataclass(frozen=True, eq=False)
class ReadyKernel:
    """Attention made ready for one sight, to be called in every layer instead of being given a mask.

    Attributes:
        sight: what may be seen.
        attend: from q (B, H, T, d_head), k and v to the mixed values, in the shape and dtype of q.
    """

    sight: Sight
    attend: Callable[[Tensor, Tensor, Tensor], Tensor]

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Return the values `v` mixed as the sight allows, (B, H, T, d_head).

        Args:
            q: (B, H, T, d_head) queries; after a cache, the last ones alone.
            k: (B, H, T, d_head) keys.
            v: (B, H, T, d_head) values.

        Raises:
            TypeError, ValueError: a kind, shape, dtype or device does not fit, or the kernel was made ready
                for another T or B.
        """
        check_asked(q, k, v, self.sight.rows, self.sight.seq_len, self.sight.batch)
        return self.attend(q, k, v)


def check_sight(sight: Any) -> None:
    """Raise unless `sight` is a `Sight`."""
    if not isinstance(sight, Sight):
        raise TypeError(f"sight must be a Sight, as in Sight(seq_len, prefix_len), not {kind_of(sight)}")


def check_ready(ready: Any) -> None:
    """Raise unless `ready`, what a kernel made of a sight, is a mask of booleans or a `ReadyKernel`."""
    if isinstance(ready, ReadyKernel):
        return
    if not isinstance(ready, Tensor):
        raise TypeError(f"kernel must return a mask or a ReadyKernel, not {kind_of(ready)}")
    if ready.dtype != torch.bool:
        raise TypeError(f"kernel must return a mask of booleans, not of {ready.dtype}: True = may attend")


def check_seen_fits(mask: Any, of: Tensor) -> None:
    """Raise unless `mask`, or what a kernel made of one, fits `of`, whose first two dimensions are (B, T)."""
    if isinstance(mask, ReadyKernel):
        sight = mask.sight
        check_made_for(of.size(1), of.size(1), len(of), sight.rows, sight.seq_len, sight.batch)
    else:
        check_mask_fits(mask, of)
