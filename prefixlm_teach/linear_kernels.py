"""Linear attention as kernels: another attention than softmax, in two ways to compute it.

Weights that were trained under the one mean nothing under the other, so that no model takes both:
`LinearPrefixLM` takes these, and they are none of `KERNELS`.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from prefixlm_teach.kernel_arguments import check_asked, check_no_mask_summed
from prefixlm_teach.linear_attention import plain_linear_attention, prefix_linear_attention
from prefixlm_teach.linear_state import LinearState
from prefixlm_teach.sight import ReadyKernel, Sight, check_sight, dense


@dataclass(frozen=True, eq=False)
class LinearKernel(ReadyKernel):
    """Linear attention made ready for a sight; it can also go on from a state."""

    def read_on(self, q: Tensor, k: Tensor, v: Tensor, state: LinearState) -> tuple[Tensor, LinearState]:
        """Mix the values of tokens that follow others, by the split of the sight.

        Args:
            q: (B, H, T, d_head) queries of the new tokens, and of no others.
            k: (B, H, T, d_head) their keys.
            v: (B, H, T, d_head) their values.
            state: what was read before them, which all of them see.

        Returns:
            (B, H, T, d_head), and the state after them, no larger than before.

        Raises:
            TypeError, ValueError: a kind, shape, dtype or device does not fit, or the sight has a mask.
        """
        check_no_mask_summed(self.sight.mask)
        check_asked(q, k, v, self.sight.rows, self.sight.seq_len, self.sight.batch)
        assert self.sight.prefix_len is not None  # noqa: S101 - for the type checker
        return prefix_linear_attention(q, k, v, self.sight.prefix_len, valid=self.sight.valid, state=state)


def linear(sight: Sight) -> LinearKernel:
    """Make ready `prefix_linear_attention`: one sum for the prefix, then the recurrence.

    Args:
        sight: a split, shared or one per example; padding may stand on either side.

    Raises:
        TypeError, ValueError: `sight` is none, or it has a mask.
    """
    check_sight(sight)
    check_no_mask_summed(sight.mask)
    p, valid = sight.prefix_len, sight.valid
    assert p is not None  # noqa: S101 - for the type checker
    return LinearKernel(sight, lambda q, k, v: prefix_linear_attention(q, k, v, p, valid=valid)[0])


def plain_linear(sight: Sight) -> LinearKernel:
    """Make ready `plain_linear_attention`, the reference, under the mask of `sight`; errors as `dense`."""
    mask = dense(sight)
    return LinearKernel(sight, lambda q, k, v: plain_linear_attention(q, k, v, mask))
