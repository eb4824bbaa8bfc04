"""Adapting a causal language model: to a prefix LM by another mask, to an encoder-decoder by copied weights.

A causal model already holds every weight of a prefix LM. Of an encoder-decoder it lacks the cross-attention,
which is begun as a copy of the self-attention that stands beside it.

Sources: Wang et al. 2022 (arXiv:2204.05832) and Tay et al. 2022 (U-PaLM, arXiv:2210.11399) for causal to
prefix; Zhang et al. 2025 (Encoder-Decoder Gemma, arXiv:2504.06225), section 3.2, for the encoder-decoder.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from prefixlm_teach.balanced import BalancedEncoderDecoder
from prefixlm_teach.causal import TinyCausalLM
from prefixlm_teach.model import TinyPrefixLM, config_of
from prefixlm_teach.pair_arguments import check_adaptable


def adapt_to_prefix(model: TinyCausalLM) -> TinyPrefixLM:
    """Return a prefix LM with a copy of a causal model's weights, in the same mode, dtype and device.

    What is tied stays tied, and the kernel stays what it is.

    Until it is trained it computes what the causal model does where nothing is opened: for a prefix of 0 or
    1 token.

    Args:
        model: the causal model, which stays as it is.

    Raises:
        TypeError: `model` is no `TinyCausalLM`, or has a block of another kind, such as an `ExpertBlock`.
    """
    check_adaptable(model)
    adapted = TinyPrefixLM(**config_of(model), kernel=model.kernel).to(model.output.weight)
    copy_weights(model, adapted, lambda name: name)
    return adapted.train(model.training)


def adapt_to_encoder_decoder(model: TinyCausalLM, *, causal_encoder: bool = False) -> BalancedEncoderDecoder:
    """Return an encoder-decoder whose halves each begin as a copy of a causal model's blocks.

    Embeddings and output layer are copied too. Cross-attention, and the normalisation before it, begin as
    those of the self-attention in the same block. What is tied stays tied, in each half apart.

    Args:
        model: the causal model, which stays as it is.
        causal_encoder: keep the encoder causal, to see what it costs.

    Raises:
        TypeError: `model` is no `TinyCausalLM`, or has a block of another kind, such as an `ExpertBlock`, or
            `causal_encoder` is neither True nor False.
    """
    check_adaptable(model)
    adapted = BalancedEncoderDecoder(**config_of(model), causal_encoder=causal_encoder)
    adapted.to(model.output.weight)
    copy_weights(
        model,
        adapted,
        lambda name: name.replace("blocks.", "encoder.", 1),
        lambda name: name.replace("blocks.", "decoder.", 1),
        lambda name: name.replace("blocks.", "decoder.", 1).replace(".attn", ".cross", 1),
    )
    return adapted.train(model.training)


@torch.no_grad()
def copy_weights(model: nn.Module, adapted: nn.Module, *homes: Callable[[str], str]) -> None:
    """Copy each weight of `model` into `adapted`, once for each of the `homes`: what its name is there.

    Weights that are one in the model are one in each home.
    """
    for home in homes:
        copies: dict[int, nn.Parameter] = {}
        for name, weight in model.named_parameters(remove_duplicate=False):
            layer, _, own = home(name).rpartition(".")  # attn.q_proj.weight, attn_norm.weight, ...
            part = adapted.get_submodule(layer)
            copy = copies.setdefault(id(weight), getattr(part, own))
            copy.copy_(weight)
            setattr(part, own, copy)
