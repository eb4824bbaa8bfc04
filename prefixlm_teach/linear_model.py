"""A prefix LM with linear attention in all its layers: after the prompt it goes on from a state of one size.

Source: Katharopoulos et al. 2020 (arXiv:2006.16236), section 3.4; the forms are those of `linear_attention`.
"""

from __future__ import annotations

from typing import Any

from prefixlm_teach.kernel_arguments import check_linear_kernel
from prefixlm_teach.kernels import LINEAR_KERNELS
from prefixlm_teach.model import TinyPrefixLM


class LinearPrefixLM(TinyPrefixLM):
    """TinyPrefixLM with linear attention: the same weights by name and shape, trained to mean something else.

    The cache that `prefill` makes of it holds a `LinearState` for each layer, and no keys and values.

    Args:
        vocab_size: V, the number of token ids.
        config: the rest, as for `TinyPrefixLM`.
        kernel: "linear", or "plain_linear", the reference, which is quadratic in T and takes any mask. One
            for softmax is refused, and so is a function.
        named: the rest, by name.

    Raises:
        TypeError, ValueError: as `TinyPrefixLM`. A call with a mask is refused by the kernel "linear", since
            not every mask can be summed up, and `attention_weights` by both: there is no softmax to show.
    """

    def __init__(self, vocab_size: int, *config: Any, kernel: str = "linear", **named: Any) -> None:
        super().__init__(vocab_size, *config, kernel=kernel, **named)

    @staticmethod
    def _check_kernel(kernel: Any) -> None:
        check_linear_kernel(kernel, LINEAR_KERNELS)
