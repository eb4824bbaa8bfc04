"""The same model with its eyes closed to what follows: a causal LM that is called as a prefix LM is.

Source: Radford et al. 2018, Improving language understanding by generative pre-training, section 3.1.
"""

from __future__ import annotations

from torch import Tensor

from prefixlm_teach.model import TinyPrefixLM
from prefixlm_teach.sight import Sight


class TinyCausalLM(TinyPrefixLM):
    """TinyPrefixLM under a causal mask: `prefix_len` says where the target begins, and opens nothing.

    So that both are trained, asked and measured by the same code. Arguments and errors are those of
    `TinyPrefixLM`; a mask that is given is cut to its causal part, so that a packed row, which says by its
    mask where its documents end, opens nothing either.
    """

    def _sight_of(
        self, tokens: Tensor, prefix_len: int | Tensor | None, valid: Tensor | None, mask: Tensor | None
    ) -> Sight:
        if mask is not None:  # columns stand in the order of the tokens, whatever is padded or packed
            return super()._sight_of(tokens, None, valid, mask.tril())
        return super()._sight_of(tokens, 0, valid, None)
