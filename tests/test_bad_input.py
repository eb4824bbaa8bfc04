"""Bad input: each wrong argument is refused in the reader's words, before anything is computed.

The table is made from three axes: the functions, their arguments, and the ways an argument of that sort can
be wrong. An error must name the argument, come from the package itself and not from inside PyTorch.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
import torch
from bad_values import (
    ANSWERS,
    AT_LEAST_ONE,
    CACHE,
    CAT,
    CROSS_MASK,
    CROSS_MASKS,
    DRAWS,
    DROPOUT,
    DTYPE,
    EMBEDDING,
    EVEN_HEADS,
    EVEN_WIDTH,
    EXCHANGES,
    FITTED_MASK,
    FLAG,
    GUESSES,
    HEADS,
    HIDDEN,
    HOW,
    IDS,
    KEEP,
    KERNEL,
    KEYS,
    LABELS,
    LENGTHS,
    LINEAR_KERNEL,
    LOGITS,
    LONE_LABELS,
    LONE_MASK,
    LONG,
    MASK,
    MEMORY,
    META_MASK,
    NEW,
    NEW_P,
    NO_CACHE,
    NO_EXAMPLES,
    NO_PREFIX_LEN,
    NO_SPLIT,
    OTHER_HIDDEN,
    OWN_STOP,
    PACKED_LENGTHS,
    PACKED_PREFIX_LEN,
    PADS,
    PAIR_P,
    PAIRS,
    PARTS,
    POSITIONS,
    PREFIX_LEN,
    PREFIX_LENS,
    PROBED,
    QUERIES,
    RATE,
    READ,
    READ_LOGITS,
    READY_KEYS,
    REAL,
    RULE,
    RULE_PARTS,
    SAID,
    SCORE_MASK,
    SCORED_LABELS,
    SCORES,
    SEED,
    SEEN,
    SIGHT,
    SIGHT_MASK,
    SPLIT,
    START,
    STOP,
    TABLE_SEEN,
    TEMPERATURE,
    TOKENS,
    TOLERANCE,
    TOP_K,
    TOP_P,
    TURNED,
    UNKNOWN_IDS,
    USED_BY_THE_OTHER,
    VALID,
    VALID_OF_BATCH,
    VALUES,
    WATCH,
    WIDTH,
    WORDS,
    D,
    H,
    Q,
    T,
    V,
    Watch,
    Wrong,
    X,
    count,
)

import prefixlm_teach
from prefixlm_teach import (
    KERNELS,
    LINEAR_KERNELS,
    AttentionExplorer,
    BalancedEncoderDecoder,
    Batch,
    Block,
    ExpertBlock,
    FlexBlocks,
    LinearPrefixLM,
    LiveCurve,
    LossExplorer,
    MixtureOfExperts,
    PrefixLMAttention,
    RotaryPrefixLM,
    Sight,
    TinyEncoderDecoder,
    TinyPrefixLM,
    attention_weights,
    bidirectional_mask,
    causal_mask,
    choose,
    compute_prefix_lm_loss,
    count_work,
    create_prefix_lm_mask,
    decode,
    describe_mask,
    encode_and_decode,
    error_rates,
    explain,
    find_leaks,
    g2p_vocabulary,
    generate,
    generate_greedy,
    label_loss,
    make_batch,
    make_prompts,
    make_ready,
    mask_from_rule,
    mask_parts,
    parse_rule,
    plain_attention,
    prefill,
    prefix_lm_labels,
    pronounce,
    read_loss,
    read_rows,
    to_additive,
    train,
    training_batches,
    visibility,
    words_of,
)
from prefixlm_teach.encoder_decoder import CrossAttention, DecoderBlock
from prefixlm_teach.rotary import rotate

MODEL = TinyPrefixLM(V, d_model=D, n_heads=H, n_layers=1, max_len=6).eval()
SPEAKER = TinyPrefixLM(69, d_model=D, n_heads=H, n_layers=1, max_len=64).eval()
_, KEPT = prefill(MODEL, TOKENS[:, :1])
TRAINED = TinyPrefixLM(V, D, H, 1, 6)
SAFE = {name: torch.no_grad()(kernel) for name, kernel in (KERNELS | LINEAR_KERNELS).items()}
BY_SUMS, BY_PAIRS = (LinearPrefixLM(V, D, H, 1, 6, kernel=name) for name in LINEAR_KERNELS)
LAYER, BLOCK = PrefixLMAttention(D, H), Block(D, H, 0.1)
EXPERTS = ExpertBlock(D, H, MixtureOfExperts(D, 2))

# Operations that only the work itself needs: no check may get as far as these.
WORK = {"softmax", "matmul", "linear", "embedding", "layer_norm", "scaled_dot_product_attention"} | {
    *("cross_entropy", "tril_", "masked_fill", "arange", "full", "randperm", "normal_", "uniform_", "cat")
}

BATCH = Batch(TOKENS, torch.tensor([2, 2]), torch.ones_like(TOKENS, dtype=torch.bool))


def model_rows(
    name: str, call: Callable[..., Any]
) -> list[tuple[str, Any, dict[str, Any], dict[str, list[Wrong]]]]:
    by_split = {"tokens": IDS, "prefix_len": PREFIX_LEN + NO_SPLIT, "valid": VALID + VALID_OF_BATCH}
    by_mask = {"tokens": IDS, "mask": FITTED_MASK, "valid": VALID + VALID_OF_BATCH, "positions": POSITIONS}
    split = {"tokens": TOKENS, "prefix_len": 2, "valid": REAL}
    mask = {"tokens": TOKENS, "mask": MASK, "valid": REAL, "positions": torch.arange(T)}
    return [(name, call, split, by_split), (f"{name} by mask", call, mask, by_mask)]


# function, call, good arguments, and for each argument the ways in which it can be wrong
TABLE: list[tuple[str, Callable[..., Any], dict[str, Any], dict[str, list[Wrong]]]] = [
    (
        "create_prefix_lm_mask",
        create_prefix_lm_mask,
        {"seq_len": T, "prefix_len": 2, "valid": REAL},
        {"seq_len": count(1), "prefix_len": PREFIX_LEN + NO_PREFIX_LEN, "valid": VALID + NO_EXAMPLES},
    ),
    *[
        (f.__name__, f, {"seq_len": T, "valid": REAL}, {"seq_len": count(1), "valid": VALID + NO_EXAMPLES})
        for f in (causal_mask, bidirectional_mask)
    ],
    ("to_additive", to_additive, {"mask": MASK, "dtype": torch.float32}, {"mask": LONE_MASK, "dtype": DTYPE}),
    ("describe_mask", describe_mask, {"mask": MASK}, {"mask": LONE_MASK + META_MASK}),
    (
        "mask_parts",
        mask_parts,
        {"lengths": [3, 2], "prefix_lens": [1, 2], "window": 3, "pads": 1},
        {"lengths": LENGTHS, "prefix_lens": PREFIX_LENS, "window": count(1), "pads": PADS},
    ),
    ("parse_rule", parse_rule, {"rule": "causal"}, {"rule": RULE}),
    *[
        (f.__name__, f, {"rule": "causal", "parts": PARTS}, {"rule": RULE, "parts": RULE_PARTS})
        for f in (mask_from_rule, find_leaks)
    ],
    (
        "attention_weights",
        attention_weights,
        {"q": Q, "k": Q, "mask": MASK},
        {"q": QUERIES, "k": KEYS, "mask": SCORE_MASK},
    ),
    (
        "plain_attention",
        plain_attention,
        {"q": Q, "k": Q, "v": Q, "mask": MASK},
        {"q": QUERIES, "k": KEYS, "v": VALUES, "mask": SCORE_MASK},
    ),
    (
        "PrefixLMAttention",
        PrefixLMAttention,
        {"d_model": 8, "n_heads": 2},
        {"d_model": WIDTH, "n_heads": HEADS},
    ),
    *[
        (name, call, {arg: X, "mask": MASK}, {arg: HIDDEN, "mask": LONE_MASK[:1] + FITTED_MASK})
        for name, call, arg in [
            ("PrefixLMAttention.forward", LAYER, "x"),
            ("PrefixLMAttention.weights", LAYER.weights, "x"),
            ("Block.forward", BLOCK, "h"),
        ]
    ],
    (
        "Block",
        Block,
        {"d_model": 8, "n_heads": 2, "dropout": 0.1},
        {"d_model": WIDTH, "n_heads": HEADS, "dropout": DROPOUT},
    ),
    (
        "TinyPrefixLM",
        TinyPrefixLM,
        {"vocab_size": 7, "d_model": 8, "n_heads": 2, "n_layers": 1, "max_len": 6, "dropout": 0.1},
        {
            **{name: count(1) for name in ("vocab_size", "n_layers", "max_len")},
            **{"d_model": WIDTH, "n_heads": HEADS, "dropout": DROPOUT},
        },
    ),
    (
        "TinyPrefixLM over a kernel",
        TinyPrefixLM,
        {"vocab_size": 7, "kernel": "mend"},
        {"vocab_size": count(1), "kernel": KERNEL},
    ),
    (
        "Sight",
        Sight,
        {"seq_len": T, "prefix_len": 2, "valid": REAL},
        {"seq_len": count(1), "prefix_len": PREFIX_LEN + NO_SPLIT, "valid": VALID + NO_EXAMPLES},
    ),
    (
        "Sight by mask",
        Sight,
        {"seq_len": T, "mask": MASK, "valid": REAL},
        {"seq_len": count(1), "mask": SIGHT_MASK, "valid": VALID + NO_EXAMPLES},
    ),
    (
        "make_ready",
        make_ready,
        {"kernel": "plain", "sight": Sight(T, 2)},
        {"kernel": KERNEL, "sight": SIGHT},
    ),
    *[(f"kernel {name}", kernel, {"sight": Sight(T, 2)}, {"sight": SIGHT}) for name, kernel in SAFE.items()],
    ("FlexBlocks", FlexBlocks, {"sight": Sight(T, 2)}, {"sight": SIGHT}),
    (
        "ReadyKernel",
        make_ready("mend", Sight(T, 2)),
        {"q": Q, "k": Q, "v": Q},
        {"q": QUERIES, "k": READY_KEYS, "v": VALUES},
    ),
    *model_rows("TinyPrefixLM.forward", MODEL),
    (
        "TinyPrefixLM.forward of some rows",
        partial(MODEL, TOKENS, 2, valid=REAL),
        {"read": REAL},
        {"read": READ},
    ),
    ("Block.forward of some rows", partial(BLOCK, X, MASK), {"read": REAL}, {"read": READ}),
    ("ExpertBlock.forward of some rows", partial(EXPERTS, X, MASK), {"read": REAL}, {"read": READ}),
    *model_rows("TinyPrefixLM.attention_weights", MODEL.attention_weights),
    (
        "LinearPrefixLM",
        LinearPrefixLM,
        {"vocab_size": 7, "kernel": "plain_linear"},
        {"vocab_size": count(1), "kernel": LINEAR_KERNEL},
    ),
    model_rows("LinearPrefixLM.forward", BY_SUMS)[0],
    *model_rows("LinearPrefixLM.forward over pairs", BY_PAIRS),
    (
        "RotaryPrefixLM",
        RotaryPrefixLM,
        {"vocab_size": 7, "d_model": 8, "n_heads": 2, "n_layers": 1, "max_len": 6, "dropout": 0.1},
        {
            **{name: count(1) for name in ("vocab_size", "n_layers", "max_len")},
            **{"d_model": WIDTH + EVEN_WIDTH, "n_heads": HEADS + EVEN_HEADS, "dropout": DROPOUT},
        },
    ),
    (
        "RotaryPrefixLM.forward",
        RotaryPrefixLM(V, D, H, 1, 6),
        {"tokens": TOKENS, "prefix_len": 2, "valid": REAL},
        {"tokens": IDS, "prefix_len": PREFIX_LEN + NO_SPLIT, "valid": VALID + VALID_OF_BATCH},
    ),
    ("rotate", rotate, {"x": Q}, {"x": TURNED}),
    (
        "TinyEncoderDecoder",
        TinyEncoderDecoder,
        {
            **{"vocab_size": 7, "d_model": 8, "n_heads": 2, "n_encoder": 1, "n_decoder": 1},
            **{"max_len": 6, "dropout": 0.1},
        },
        {
            **{name: count(1) for name in ("vocab_size", "n_encoder", "n_decoder", "max_len")},
            **{"d_model": WIDTH, "n_heads": HEADS, "dropout": DROPOUT},
        },
    ),
    (
        "TinyEncoderDecoder.forward",
        TinyEncoderDecoder(V, D, H, 1, 1, 6),
        {"tokens": TOKENS, "prefix_len": 2, "valid": REAL},
        {
            "tokens": IDS,
            "prefix_len": PREFIX_LEN + NO_PREFIX_LEN + AT_LEAST_ONE,
            "valid": VALID + VALID_OF_BATCH,
        },
    ),
    (
        "CrossAttention.forward",
        CrossAttention(D, H),
        {"x": X, "mask": CROSS_MASK, "memory": MEMORY},
        {"x": HIDDEN, "mask": CROSS_MASKS, "memory": OTHER_HIDDEN},
    ),
    (
        "DecoderBlock.decode",
        DecoderBlock(D, H, 0.1).decode,
        {"h": X, "mask": MASK, "memory": MEMORY, "memory_mask": CROSS_MASK},
        {
            "h": HIDDEN,
            "mask": LONE_MASK[:1] + FITTED_MASK,
            "memory": [Wrong("None", None, r"must be a \(B, T, d\) tensor"), *OTHER_HIDDEN],
            "memory_mask": CROSS_MASKS,
        },
    ),
    (
        "BalancedEncoderDecoder",
        BalancedEncoderDecoder,
        {
            **{"vocab_size": 7, "d_model": 8, "n_heads": 2, "n_layers": 1, "max_len": 6, "dropout": 0.1},
            "causal_encoder": True,
        },
        {
            **{name: count(1) for name in ("vocab_size", "n_layers", "max_len")},
            **{"d_model": WIDTH, "n_heads": HEADS, "dropout": DROPOUT, "causal_encoder": FLAG},
        },
    ),
    (
        "encode_and_decode",
        lambda **given: encode_and_decode(MODEL, MODEL, **given),
        {
            **{"tokens": TOKENS, "prefix_len": 2, "merged": True, "same_layer": True},
            **{"continued": True, "start": "once"},
        },
        {
            **{"tokens": IDS, "prefix_len": PAIR_P, "start": START},
            **dict.fromkeys(("merged", "same_layer", "continued"), FLAG),
        },
    ),
    (
        "error_rates",
        error_rates,
        {"words": ["cat"], "answers": SAID},
        {
            "words": [
                *WORDS,
                Wrong("unknown", ["qqq"], r"unknown word 'qqq' \(only words of the dictionary"),
            ],
            "answers": ANSWERS,
        },
    ),
    (
        "LiveCurve",
        LiveCurve,
        {"steps": 20, "smooth": 5},
        {"steps": count(1), "smooth": count(1)},
    ),
    (
        "prefix_lm_labels",
        prefix_lm_labels,
        {"tokens": TOKENS, "prefix_len": 2, "valid": REAL},
        {
            "tokens": UNKNOWN_IDS,
            "prefix_len": PREFIX_LEN + NO_PREFIX_LEN,
            "valid": VALID + VALID_OF_BATCH,
        },
    ),
    ("read_rows", read_rows, {"labels": TOKENS}, {"labels": LONE_LABELS}),
    (
        "read_loss",
        read_loss,
        {"logits": LOGITS.view(-1, V)[:8], "labels": TOKENS},
        {"logits": READ_LOGITS, "labels": SCORED_LABELS},
    ),
    ("label_loss", label_loss, {"logits": LOGITS, "labels": TOKENS}, {"logits": GUESSES, "labels": LABELS}),
    (
        "compute_prefix_lm_loss",
        compute_prefix_lm_loss,
        {"logits": LOGITS, "tokens": TOKENS, "prefix_len": 2, "valid": REAL},
        {
            "logits": GUESSES,
            "tokens": IDS,
            "prefix_len": PREFIX_LEN + NO_PREFIX_LEN,
            "valid": VALID + VALID_OF_BATCH,
        },
    ),
    (
        "generate_greedy",
        lambda **given: generate_greedy(MODEL, **given),
        {"tokens": TOKENS, "stop_id": 0, "max_new_tokens": 2, "valid": REAL},
        {"tokens": IDS, "stop_id": STOP, "max_new_tokens": NEW, "valid": VALID + VALID_OF_BATCH},
    ),
    (
        "generate",
        lambda **given: generate(MODEL, **given),
        {
            **{"tokens": TOKENS, "prefix_len": 2, "valid": REAL, "stop_id": 0, "max_new_tokens": 2},
            **{"temperature": 1.0, "top_k": 2, "top_p": 0.5, "seed": 0},
        },
        {
            **{"tokens": IDS, "prefix_len": PREFIX_LEN, "valid": VALID + VALID_OF_BATCH, "stop_id": OWN_STOP},
            **{
                "max_new_tokens": NEW,
                "temperature": TEMPERATURE,
                "top_k": TOP_K,
                "top_p": TOP_P,
                "seed": SEED,
            },
        },
    ),
    (
        "prefill",
        lambda **given: prefill(MODEL, **given),
        {"tokens": TOKENS, "prefix_len": 2, "valid": REAL, "cache": None},
        {"tokens": IDS, "prefix_len": PREFIX_LEN, "valid": VALID + VALID_OF_BATCH, "cache": NO_CACHE},
    ),
    (
        "decode",
        lambda **given: decode(MODEL, **given),
        {"tokens": TOKENS, "cache": KEPT, "prefix_len": 1, "valid": REAL},
        {"tokens": IDS, "cache": CACHE, "prefix_len": NEW_P, "valid": VALID + VALID_OF_BATCH},
    ),
    (
        "choose",
        choose,
        {"logits": LOGITS[0], "temperature": 1.0, "top_k": 2, "top_p": 0.5, "generator": torch.Generator()},
        {"logits": SCORES, "temperature": TEMPERATURE, "top_k": TOP_K, "top_p": TOP_P, "generator": DRAWS},
    ),
    (
        "count_work",
        lambda **given: count_work(**given, cached=True),
        {"prompt": 5, "prefix_len": 2, "new": 3},
        {"prompt": count(1), "prefix_len": [*count(0), PREFIX_LEN[18]], "new": count(1)},
    ),
    (
        "pronounce",
        lambda **given: pronounce(SPEAKER, g2p_vocabulary(), **given),
        {"words": ["cat"]},
        {"words": WORDS},
    ),
    (
        "make_prompts",
        lambda **given: make_prompts(**given, vocabulary=g2p_vocabulary()),
        {"words": ["cat"]},
        {"words": WORDS},
    ),
    (
        "make_batch",
        lambda **given: make_batch(**given, vocabulary=g2p_vocabulary()),
        {"pairs": [CAT]},
        {"pairs": PAIRS},
    ),
    ("words_of", words_of, {"split": "test"}, {"split": SPLIT}),
    (
        "training_batches",
        lambda **given: training_batches(g2p_vocabulary(), **given),
        {"batch_size": 2, "seed": 0, "split": "test"},
        {"batch_size": count(1), "seed": count(0), "split": SPLIT},
    ),
    *[
        (
            f"visibility by {how}",
            visibility,
            {"model": MODEL, "tokens": TOKENS, "prefix_len": 2, "valid": REAL, "how": how, "tolerance": 0.0}
            | {own: value},
            {
                "model": PROBED,
                "tokens": IDS,
                "prefix_len": PREFIX_LEN + NO_PREFIX_LEN,
                "valid": VALID + VALID_OF_BATCH,
                "how": HOW,
                "tolerance": TOLERANCE,
                own: wrongs,
            },
        )
        for how, own, value, wrongs in [
            ("change", "ids", [2, 5], EXCHANGES),
            ("gradient", "embedding", MODEL.token_emb, EMBEDDING),
        ]
    ],
    (
        "explain",
        explain,
        {"seen": SEEN, "prefix_len": 2, "valid": REAL},
        {"seen": TABLE_SEEN, "prefix_len": PREFIX_LEN + NO_PREFIX_LEN, "valid": VALID + VALID_OF_BATCH},
    ),
    (
        "explain a packed row",
        explain,
        {"seen": SEEN[0, 0], "prefix_len": torch.tensor([1, 2]), "lengths": [3, 2]},
        {"seen": TABLE_SEEN, "prefix_len": PACKED_PREFIX_LEN, "lengths": PACKED_LENGTHS},
    ),
    (
        "train",
        lambda **given: train(TRAINED, repeat(BATCH), progress=False, **given),
        {
            **{"steps": 20, "lr": 1e-3, "accumulate": 1, "keep": None, "every": 1, "watch": None},
            "only_read": True,
        },
        {
            **{"steps": count(20), "lr": RATE, "accumulate": count(1), "keep": KEEP},
            **{"every": count(1), "watch": WATCH, "only_read": FLAG},
        },
    ),
]


def cases(table: Sequence[tuple[str, Callable[..., Any], dict[str, Any], dict[str, Any]]]) -> Iterator[Any]:
    for name, call, good, arguments in table:
        for argument, wrongs in arguments.items():
            for wrong in wrongs:
                yield pytest.param(call, good, argument, wrong, id=f"{name}-{argument}-{wrong.kind}")


@pytest.mark.parametrize(("call", "good", "argument", "wrong"), list(cases(TABLE)))
def test_it_is_refused_in_the_readers_words_before_anything_is_computed(
    call: Callable[..., Any], good: dict[str, Any], argument: str, wrong: Wrong
) -> None:
    with Watch() as watch, pytest.raises((TypeError, ValueError)) as caught:
        call(**{**good, argument: wrong.value})
    message = str(caught.value)
    assert re.search(rf"\b{argument}\b", message), message
    assert re.search(wrong.says, message), message
    raised_in = Path(traceback.extract_tb(caught.tb)[-1].filename)
    assert raised_in.parent == Path(prefixlm_teach.__file__).parent, f"{raised_in}: {message}"
    assert not watch.called & WORK


@pytest.mark.parametrize(("name", "call", "good", "arguments"), TABLE, ids=[row[0] for row in TABLE])
def test_the_same_call_with_good_arguments_works(
    name: str, call: Callable[..., Any], good: dict[str, Any], arguments: dict[str, list[Wrong]]
) -> None:
    with Watch() as watch:
        call(**good)
    computes_nothing_in_torch = {
        *("describe_mask", "words_of", "training_batches", "error_rates", "LiveCurve", "count_work"),
        *(
            "parse_rule",
            "mask_from_rule",
            "find_leaks",
            "Sight",
            "Sight by mask",
            "kernel cut",
            "kernel mend",
            "kernel linear",
            "read_rows",
        ),
    }
    assert bool(watch.called & WORK) == (name not in computes_nothing_in_torch)
    assert set(arguments) == set(good)


@pytest.mark.parametrize("argument", USED_BY_THE_OTHER)
def test_what_only_the_other_way_of_probing_uses_is_refused(argument: str) -> None:
    for wrong in USED_BY_THE_OTHER[argument]:
        how = "gradient" if argument == "ids" else "change"
        with pytest.raises(ValueError, match=f"{argument} {wrong.says}"):
            visibility(MODEL, TOKENS, 2, how=how, **{argument: wrong.value})


def test_a_prefix_and_a_mask_together_are_refused() -> None:
    with pytest.raises(TypeError, match="pass prefix_len or mask, not both"):
        MODEL(TOKENS, 2, mask=MASK)


@pytest.mark.parametrize("call", [MODEL, MODEL.attention_weights])
def test_more_tokens_than_positions_are_refused(call: Callable[..., Any]) -> None:
    with pytest.raises(
        ValueError, match=r"an example has 7 tokens, but this model has 6 positions \(max_len\)"
    ):
        call(LONG, 2)
    with pytest.raises(ValueError, match="an example has 7 tokens"):
        call(LONG, 2, valid=LONG.bool())


@pytest.mark.parametrize(
    "call",
    [
        lambda model: prefill(model, TOKENS),
        lambda model: generate(model, TOKENS, stop_id=0, max_new_tokens=1),
        lambda model: generate_greedy(model, TOKENS, stop_id=0, max_new_tokens=1),
        lambda model: LossExplorer({"a": model}, TOKENS[:1], list("abcde")),
        lambda model: AttentionExplorer(model, TOKENS[:1], list("abcde")),
    ],
)
@pytest.mark.parametrize("part", ["dropout", "blocks.0", "blocks.0.attn"])
def test_a_model_that_is_in_training_mode_in_one_part_is_refused(
    call: Callable[[TinyPrefixLM], Any], part: str
) -> None:
    model = TinyPrefixLM(V, D, H, 1, 6).eval()
    call(model)
    model.get_submodule(part).train()
    with pytest.raises(ValueError, match=r"in training mode, .* call model.eval\(\) first"):
        call(model)


def test_a_model_elsewhere_is_named() -> None:
    with pytest.raises(ValueError, match="tokens is on cpu and the model is on meta"):
        TinyPrefixLM(V, D, H, 1, 6).to("meta")(TOKENS, 2)


@pytest.mark.parametrize("words", [["Cat"], ["TV"], ["über"], ["a b"]])
def test_letters_outside_the_vocabulary_are_named(words: list[str]) -> None:
    with pytest.raises(ValueError, match="unknown letter in"):
        pronounce(SPEAKER, g2p_vocabulary(), words)
