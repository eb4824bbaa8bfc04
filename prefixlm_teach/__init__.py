"""Plotting widgets and checks for prefix language models.

Torch is imported at once; matplotlib, ipywidgets, tqdm and the dictionary only when something that needs
them is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from prefixlm_teach.attention import PrefixLMAttention, attention_weights, plain_attention
from prefixlm_teach.descriptions import describe_mask
from prefixlm_teach.kernels import KERNELS, LINEAR_KERNELS, make_ready
from prefixlm_teach.loss import (
    compute_prefix_lm_loss,
    label_loss,
    prefix_lm_labels,
    read_loss,
    read_rows,
)
from prefixlm_teach.masks import bidirectional_mask, causal_mask, create_prefix_lm_mask, to_additive
from prefixlm_teach.model import Block, TinyPrefixLM
from prefixlm_teach.sight import ReadyKernel, Sight

if TYPE_CHECKING:
    from prefixlm_teach.adaptation import adapt_to_encoder_decoder, adapt_to_prefix
    from prefixlm_teach.balanced import BalancedEncoderDecoder
    from prefixlm_teach.cache import KeyValueCache
    from prefixlm_teach.causal import TinyCausalLM
    from prefixlm_teach.checkpoints import load_checkpoint, save_checkpoint
    from prefixlm_teach.checks import check, hint, progress
    from prefixlm_teach.codegen2 import CodeGen2Ids, codegen2_mixture, codegen2_prompt
    from prefixlm_teach.curves import plot_curves
    from prefixlm_teach.data import (
        Batch,
        Vocabulary,
        g2p_vocabulary,
        load_words,
        make_batch,
        make_prompts,
        split_of,
        training_batches,
        words_of,
    )
    from prefixlm_teach.decoding import decode, prefill
    from prefixlm_teach.denoisers import MODE_TOKENS, UL2_CODE, UL2_TABLE, UL2R, Denoiser, mix_denoisers
    from prefixlm_teach.encoder_decoder import TinyEncoderDecoder
    from prefixlm_teach.errors import error_rates
    from prefixlm_teach.examples import Examples
    from prefixlm_teach.experts import ExpertBlock, MixtureOfExperts, balance_losses
    from prefixlm_teach.findings import explain
    from prefixlm_teach.flex import FlexBlocks
    from prefixlm_teach.generation import generate, generate_greedy, pronounce
    from prefixlm_teach.infilling import FimIds, arrange_parts, fill_in_contexts, fill_in_the_middle
    from prefixlm_teach.linear_attention import (
        causal_linear_attention,
        plain_linear_attention,
        prefix_linear_attention,
    )
    from prefixlm_teach.linear_layer import PrefixLMLinearAttention
    from prefixlm_teach.linear_model import LinearPrefixLM
    from prefixlm_teach.linear_state import LinearState, elu_features
    from prefixlm_teach.live import LiveCurve
    from prefixlm_teach.merged import encode_and_decode
    from prefixlm_teach.objectives import causal_lm, masked_lm, prefix_lm
    from prefixlm_teach.packing import first_fit, pack
    from prefixlm_teach.plots import plot_attention, plot_loss_curve, plot_mask, plot_masks, plot_split
    from prefixlm_teach.probe import visibility
    from prefixlm_teach.results import compare, load_benchmark, load_results
    from prefixlm_teach.rotary import RotaryPrefixLM
    from prefixlm_teach.routing import balance_loss, expert_choice, token_choice
    from prefixlm_teach.rule_language import parse_rule
    from prefixlm_teach.rules import find_leaks, mask_from_rule, mask_parts
    from prefixlm_teach.sampling import choose
    from prefixlm_teach.spans import raw_lengths, span_corruption, span_counts
    from prefixlm_teach.spread import plot_spread
    from prefixlm_teach.training import train
    from prefixlm_teach.unilm import (
        UniLMIds,
        draw_unilm_kinds,
        right_to_left_mask,
        unilm_cloze,
        unilm_finetuning,
    )
    from prefixlm_teach.widgets import (
        AttentionExplorer,
        BatchExplorer,
        CostExplorer,
        DecodeExplorer,
        LossExplorer,
        ObjectiveExplorer,
        RuleExplorer,
        SplitExplorer,
        StateExplorer,
    )
    from prefixlm_teach.work import count_work

_LATER = {
    "adaptation": ("adapt_to_encoder_decoder", "adapt_to_prefix"),
    "balanced": ("BalancedEncoderDecoder",),
    "cache": ("KeyValueCache",),
    "causal": ("TinyCausalLM",),
    "checks": ("check", "hint", "progress"),
    "checkpoints": ("load_checkpoint", "save_checkpoint"),
    "codegen2": ("CodeGen2Ids", "codegen2_mixture", "codegen2_prompt"),
    "data": (
        "Batch",
        "Vocabulary",
        "g2p_vocabulary",
        "load_words",
        "make_batch",
        "make_prompts",
        "split_of",
        "training_batches",
        "words_of",
    ),
    "decoding": ("decode", "prefill"),
    "denoisers": ("MODE_TOKENS", "UL2R", "UL2_CODE", "UL2_TABLE", "Denoiser", "mix_denoisers"),
    "encoder_decoder": ("TinyEncoderDecoder",),
    "errors": ("error_rates",),
    "examples": ("Examples",),
    "experts": ("ExpertBlock", "MixtureOfExperts", "balance_losses"),
    "findings": ("explain",),
    "flex": ("FlexBlocks",),
    "generation": ("generate", "generate_greedy", "pronounce"),
    "infilling": ("FimIds", "arrange_parts", "fill_in_contexts", "fill_in_the_middle"),
    "linear_attention": ("causal_linear_attention", "plain_linear_attention", "prefix_linear_attention"),
    "linear_layer": ("PrefixLMLinearAttention",),
    "linear_model": ("LinearPrefixLM",),
    "linear_state": ("LinearState", "elu_features"),
    "live": ("LiveCurve",),
    "merged": ("encode_and_decode",),
    "objectives": ("causal_lm", "masked_lm", "prefix_lm"),
    "packing": ("first_fit", "pack"),
    "plots": ("plot_attention", "plot_loss_curve", "plot_mask", "plot_masks", "plot_split"),
    "probe": ("visibility",),
    "results": ("compare", "load_benchmark", "load_results"),
    "rotary": ("RotaryPrefixLM",),
    "routing": ("balance_loss", "expert_choice", "token_choice"),
    "rule_language": ("parse_rule",),
    "rules": ("find_leaks", "mask_from_rule", "mask_parts"),
    "sampling": ("choose",),
    "spread": ("plot_spread",),
    "curves": ("plot_curves",),
    "spans": ("raw_lengths", "span_corruption", "span_counts"),
    "training": ("train",),
    "unilm": (
        "UniLMIds",
        "draw_unilm_kinds",
        "right_to_left_mask",
        "unilm_cloze",
        "unilm_finetuning",
    ),
    "widgets": (
        "AttentionExplorer",
        "BatchExplorer",
        "CostExplorer",
        "DecodeExplorer",
        "LossExplorer",
        "ObjectiveExplorer",
        "RuleExplorer",
        "SplitExplorer",
        "StateExplorer",
    ),
    "work": ("count_work",),
}
_HOME = {name: module for module, names in _LATER.items() for name in names}

__all__ = [
    "KERNELS",
    "LINEAR_KERNELS",
    "MODE_TOKENS",
    "UL2R",
    "UL2_CODE",
    "UL2_TABLE",
    "AttentionExplorer",
    "BalancedEncoderDecoder",
    "Batch",
    "BatchExplorer",
    "Block",
    "CodeGen2Ids",
    "CostExplorer",
    "DecodeExplorer",
    "Denoiser",
    "Examples",
    "ExpertBlock",
    "FimIds",
    "FlexBlocks",
    "KeyValueCache",
    "LinearPrefixLM",
    "LinearState",
    "LiveCurve",
    "LossExplorer",
    "MixtureOfExperts",
    "ObjectiveExplorer",
    "PrefixLMAttention",
    "PrefixLMLinearAttention",
    "ReadyKernel",
    "RotaryPrefixLM",
    "RuleExplorer",
    "Sight",
    "SplitExplorer",
    "StateExplorer",
    "TinyCausalLM",
    "TinyEncoderDecoder",
    "TinyPrefixLM",
    "UniLMIds",
    "Vocabulary",
    "adapt_to_encoder_decoder",
    "adapt_to_prefix",
    "arrange_parts",
    "attention_weights",
    "balance_loss",
    "balance_losses",
    "bidirectional_mask",
    "causal_linear_attention",
    "causal_lm",
    "causal_mask",
    "check",
    "choose",
    "codegen2_mixture",
    "codegen2_prompt",
    "compare",
    "compute_prefix_lm_loss",
    "count_work",
    "create_prefix_lm_mask",
    "decode",
    "describe_mask",
    "draw_unilm_kinds",
    "elu_features",
    "encode_and_decode",
    "error_rates",
    "expert_choice",
    "explain",
    "fill_in_contexts",
    "fill_in_the_middle",
    "find_leaks",
    "first_fit",
    "g2p_vocabulary",
    "generate",
    "generate_greedy",
    "hint",
    "label_loss",
    "load_benchmark",
    "load_checkpoint",
    "load_results",
    "load_words",
    "make_batch",
    "make_prompts",
    "make_ready",
    "mask_from_rule",
    "mask_parts",
    "masked_lm",
    "mix_denoisers",
    "pack",
    "parse_rule",
    "plain_attention",
    "plain_linear_attention",
    "plot_attention",
    "plot_curves",
    "plot_loss_curve",
    "plot_mask",
    "plot_masks",
    "plot_split",
    "plot_spread",
    "prefill",
    "prefix_linear_attention",
    "prefix_lm",
    "prefix_lm_labels",
    "progress",
    "pronounce",
    "raw_lengths",
    "read_loss",
    "read_rows",
    "right_to_left_mask",
    "save_checkpoint",
    "span_corruption",
    "span_counts",
    "split_of",
    "to_additive",
    "token_choice",
    "train",
    "training_batches",
    "unilm_cloze",
    "unilm_finetuning",
    "visibility",
    "words_of",
]


def __getattr__(name: str) -> Any:
    """Import what is not needed at once when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
