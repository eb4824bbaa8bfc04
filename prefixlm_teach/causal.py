"""The same model with its eyes closed to what follows: a causal LM that is called as a prefix LM is.

Source: Radford et al. 2018, Improving language understanding by generative pre-training, section 3.1.
"""

from __future__ import annotations

import torch
from torch import Tensor

from prefixlm_teach.model import TinyPrefixLM


class TinyCausalLM(TinyPrefixLM):
    """TinyPrefixLM under a causal mask: `prefix_len` says where the target begins, and opens nothing.

    So that both are trained, asked and measured by the same code. Arguments and errors are those of
    `TinyPrefixLM`; a `mask` that is given takes the place of the causal one.
    """

    def _mask_for(
        self, tokens: Tensor, prefix_len: int | Tensor | None, valid: Tensor | None, mask: Tensor | None
    ) -> Tensor:
        if prefix_len is not None:
            prefix_len = torch.zeros_like(torch.as_tensor(prefix_len))
        return super()._mask_for(tokens, prefix_len, valid, mask)
