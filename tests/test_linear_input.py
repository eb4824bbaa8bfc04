"""Bad input to linear attention: refused in the reader's words, before anything is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import test_bad_input
import torch
from bad_values import (
    HEADS,
    HIDDEN,
    KEYS,
    MASK,
    NO_PREFIX_LEN,
    PREFIX_LEN,
    QUERIES,
    READY_KEYS,
    REAL,
    SCORE_MASK,
    VALID,
    VALID_OF_BATCH,
    VALUES,
    WIDTH,
    D,
    H,
    Q,
    T,
    Wrong,
    X,
    count,
)
from test_bad_input import Watch

from prefixlm_teach import (
    LinearState,
    PrefixLMLinearAttention,
    Sight,
    causal_linear_attention,
    make_ready,
    plain_linear_attention,
    prefix_linear_attention,
)

LAYER = PrefixLMLinearAttention(D, H)
_, STATE = LAYER.prefill(X, 2)


def heads(last: str, fits: list[Wrong]) -> list[Wrong]:
    """How (B, H, T, `last`) vectors can be wrong; `fits` is how they can fail to fit the others."""
    shape = rf"must be a \(B, H, T, {last}\) tensor"
    return [
        Wrong("None", None, shape),
        Wrong("list", Q.tolist(), shape),
        Wrong("ints", Q.long(), "must be float16, bfloat16, float32 or float64, not torch.int64"),
        Wrong("float8", Q.to(torch.float8_e5m2), "must be float16, bfloat16, float32 or float64"),
        Wrong("three dimensions", Q[0], rf"must be \(B, H, T, {last}\), not \(2, 5, 4\)"),
        Wrong("empty", Q[:0], "is empty"),
        Wrong("double", Q.double(), "is torch.float.., but q is torch.float.."),
        Wrong("meta", Q.to("meta"), "meta"),
        *fits,
    ]


OTHERS = [
    Wrong("other batch", Q[:1], "which does not fit q"),
    Wrong("other heads", Q[:, :1], "which does not fit q"),
    Wrong("other length", Q[:, :, 1:], "which does not fit q"),
]
NARROW = Wrong("other width", Q[..., 1:], "which does not fit q")
LINEAR = {
    **{"q": heads("d_k", [*OTHERS, NARROW]), "k": heads("d_k", [*OTHERS, NARROW])},
    **{"v": heads("d_v", OTHERS), "valid": VALID + VALID_OF_BATCH, "chunk": count(1)},
}
STATES = [
    Wrong("tuple", (STATE.memory, STATE.normaliser), "must be the LinearState that came second before"),
    Wrong("tensor", STATE.memory, "must be the LinearState that came second before"),
    Wrong("other batch", LAYER.prefill(X[:1], 2)[1], "made by another layer, or for another batch"),
    Wrong("other heads", PrefixLMLinearAttention(D, 4).prefill(X, 2)[1], "made by another layer"),
    Wrong("swapped", LinearState(STATE.normaliser, STATE.memory), "made by another layer"),
    Wrong(
        "double", LinearState(STATE.memory.double(), STATE.normaliser.double()), "are summed in torch.float32"
    ),
    Wrong("half", LinearState(STATE.memory.half(), STATE.normaliser.half()), "are summed in torch.float32"),
    Wrong("meta", LinearState(STATE.memory.to("meta"), STATE.normaliser.to("meta")), "meta"),
]
SPLIT = PREFIX_LEN + NO_PREFIX_LEN
PADDING = VALID + VALID_OF_BATCH

TABLE: list[tuple[str, Callable[..., Any], dict[str, Any], dict[str, list[Wrong]]]] = [
    (
        "plain_linear_attention",
        plain_linear_attention,
        {"q": Q, "k": Q, "v": Q, "mask": MASK},
        {"q": QUERIES, "k": KEYS, "v": VALUES, "mask": SCORE_MASK},
    ),
    (
        "causal_linear_attention",
        causal_linear_attention,
        {"q": Q, "k": Q, "v": Q, "valid": REAL, "chunk": 2, "state": STATE},
        LINEAR | {"state": STATES},
    ),
    (
        "prefix_linear_attention",
        prefix_linear_attention,
        {"q": Q, "k": Q, "v": Q, "valid": REAL, "chunk": 2, "prefix_len": 2, "state": STATE},
        LINEAR | {"prefix_len": SPLIT, "state": STATES},
    ),
    (
        "LinearKernel.read_on",
        make_ready("linear", Sight(T, 2)).read_on,
        {"q": Q, "k": Q, "v": Q, "state": STATE},
        {"q": QUERIES, "k": READY_KEYS, "v": VALUES, "state": STATES},
    ),
    (
        "PrefixLMLinearAttention",
        PrefixLMLinearAttention,
        {"d_model": 8, "n_heads": 2},
        {"d_model": WIDTH, "n_heads": HEADS},
    ),
    *[
        (
            name,
            call,
            {"x": X, "prefix_len": 2, "valid": REAL},
            {"x": HIDDEN, "prefix_len": SPLIT, "valid": PADDING},
        )
        for name, call in (("forward", LAYER), ("prefill", LAYER.prefill))
    ],
    (
        "decode",
        LAYER.decode,
        {"x": X, "state": STATE, "valid": REAL},
        {"x": HIDDEN, "state": [Wrong("None", None, "must be the LinearState"), *STATES], "valid": PADDING},
    ),
]


@pytest.mark.parametrize(("call", "good", "argument", "wrong"), list(test_bad_input.cases(TABLE)))
def test_wrong_arguments_are_refused_beforehand(
    call: Callable[..., Any], good: dict[str, Any], argument: str, wrong: Wrong
) -> None:
    test_bad_input.test_it_is_refused_in_the_readers_words_before_anything_is_computed(
        call, good, argument, wrong
    )


@pytest.mark.parametrize(("name", "call", "good", "arguments"), TABLE, ids=[row[0] for row in TABLE])
def test_the_same_call_with_good_arguments_works(
    name: str, call: Callable[..., Any], good: dict[str, Any], arguments: dict[str, list[Wrong]]
) -> None:
    with Watch() as watch:
        call(**good)
    assert watch.called & test_bad_input.WORK
    assert set(arguments) == set(good)
