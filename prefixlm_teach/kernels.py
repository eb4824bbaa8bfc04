"""The kernels by name: ways to compute one and the same attention. A model takes any of them.

    model = TinyPrefixLM(V, kernel="flex")
    model.kernel = "plain"  # weights and cache do not know of it

A kernel is a function: from what one call may see, a `Sight`, to what each layer is given, a mask of booleans
or a `ReadyKernel`. What it cannot do it refuses, before anything is computed. The `LINEAR_KERNELS` compute
another attention, which needs weights of its own; `LinearPrefixLM` takes any of them.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from prefixlm_teach.attention import plain_attention
from prefixlm_teach.kernel_arguments import check_forward_only, check_kernel
from prefixlm_teach.linear_kernels import linear, plain_linear
from prefixlm_teach.sight import ReadyKernel, Sight, check_ready, check_sight, dense
from prefixlm_teach.two_calls import cut, mend

Kernel = Callable[[Sight], Tensor | ReadyKernel]

LONG = 1024  # tokens from which, on a CPU, two calls beat a dense mask (benchmarks/results/attention.json)


def plain(sight: Sight) -> ReadyKernel:
    """Make ready `plain_attention`, the reference, under the mask of `sight`; errors as `dense`."""
    mask = dense(sight)
    return ReadyKernel(sight, lambda q, k, v: plain_attention(q, k, v, mask))


def flex(sight: Sight) -> ReadyKernel:
    """Make ready FlexAttention, with a block mask of its own for each call; errors as `FlexBlocks`."""
    from prefixlm_teach.flex import FlexBlocks  # noqa: PLC0415 - import torch does not bring what it needs

    check_sight(sight)
    check_forward_only(sight.device)
    return FlexBlocks(sight)(sight)


def auto(sight: Sight) -> Tensor | ReadyKernel:
    """Choose by T and p: a dense mask, or where they are faster, two calls without one.

    `mend` computes T * T / 2 + p * p pairs, `cut` p * p + (T - p) * T, and a mask T * T. Short sequences,
    splits that differ, padding on the left and masks of any kind get the mask.

    Args:
        sight: what may be seen.

    Raises:
        TypeError: `sight` is none.
    """
    check_sight(sight)
    if sight.seq_len < LONG or sight.mask is not None or sight.padded_left:
        return dense(sight)
    p = sight.shared_prefix_len
    if p is None:
        return dense(sight)
    return mend(sight) if p <= sight.seq_len // 2 else cut(sight)


KERNELS: dict[str, Kernel] = {
    "auto": auto,
    "plain": plain,
    "dense": dense,
    "cut": cut,
    "mend": mend,
    "flex": flex,
}
LINEAR_KERNELS: dict[str, Kernel] = {"linear": linear, "plain_linear": plain_linear}


def make_ready(kernel: str | Kernel, sight: Sight) -> Tensor | ReadyKernel:
    """Return what each layer is given: a mask of booleans, or the kernel made ready.

    Args:
        kernel: a name in `KERNELS` or `LINEAR_KERNELS`, or a function as they are, such as a `FlexBlocks`.
        sight: what may be seen.

    Raises:
        TypeError, ValueError: there is no such kernel, or it cannot do what is asked.
    """
    known = KERNELS | LINEAR_KERNELS
    check_kernel(kernel, known)
    ready = (known[kernel] if isinstance(kernel, str) else kernel)(sight)
    check_ready(ready)
    return ready
