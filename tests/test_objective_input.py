"""Bad input to the objectives: refused in the reader's words, before anything is drawn or computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from bad_values import Wrong, count, number
from objectives import assert_refused, id_rows, refusals, wrong_shares

from prefixlm_teach import (
    UL2R,
    Denoiser,
    causal_lm,
    first_fit,
    masked_lm,
    mix_denoisers,
    pack,
    prefix_lm,
    raw_lengths,
    span_corruption,
    span_counts,
)
from prefixlm_teach.rows import pad_right

V = 30
ROWS = [[1, 2, 3, 4, 5, 6], [7, 8, 9]]
SOME, LONG = id_rows("rows"), id_rows("rows", fewest=2)
KNOWN = [Wrong("unknown", [[1, 2], [3, V]], rf"rows\[1\] holds the id {V}, but ids go from 0 to {V - 1}")]
PAD = [*count(0), Wrong("large", 2**63, f"is {2**63}, but ids go from 0 to {2**63 - 1}")]
OF_VOCABULARY = [*count(0), Wrong("unknown", V, f"is {V}, but ids go from 0 to {V - 1}")]
TAKEN = Wrong("sentinel", V - 1, r"holds the id 29, but the ids from \d+ to 29 have to be free")
SIZE = [
    *count(1),
    Wrong("large", 2**63, "no int64 can hold"),
]
SHARE = wrong_shares()
MEAN = number("must be at least 1 token", 0, 0.99, -3, float("nan"), float("inf"))
FLAG = [Wrong(str(x), x, "must be True or False") for x in (0, 1, None, "yes", np.True_)]
SPLIT = [
    Wrong("neither", None, "pass a seed to draw the prefix, or a prefix_len"),
    Wrong("bool", True, "must be a whole number"),
    Wrong("float", 2.0, "must be a whole number"),
    Wrong("list", [1, 1], r"use torch.tensor\(\[1, 1\]\)"),
    Wrong("float tensor", torch.tensor([1.0, 1.0]), "must be an integer tensor"),
    Wrong("three for two", torch.tensor([1, 1, 1]), "is for 3 examples, but there are 2"),
    Wrong("negative", -1, "must be at least 0"),
    Wrong("too long", 7, r"7 is longer than the sequence \(6 tokens\)"),
    Wrong("no target", 3, r"leaves no target to rows\[1\], which has 3 tokens"),
    Wrong("no target of one", torch.tensor([6, 1]), r"leaves no target to rows\[0\], which has 6 tokens"),
]
SPECIAL = [
    Wrong("None", None, "must be a list or a set of ids"),
    Wrong("number", 3, "must be a list or a set of ids"),
    Wrong("text", "3", "must be a list or a set of ids"),
    Wrong("tensor", torch.tensor([3]), "must be a list or a set of ids"),
    Wrong("float", [3.0], "must be a whole number"),
    Wrong("bool", {True}, "must be a whole number"),
    Wrong("negative", {-1}, "must be at least 0"),
    Wrong("all", {7, 8, 9}, r"rows\[1\] holds nothing but special_ids"),
]
DENOISERS = [
    Wrong("None", None, "must be a list of denoisers"),
    Wrong("one", UL2R[0], "must be a list of denoisers"),
    Wrong("text", "UL2", "must be a list of denoisers"),
    Wrong("none", [], "is empty"),
    Wrong("numbers", [(0.15, 3)], r"denoisers\[0\] must be Denoiser, not tuple"),
]
MODES = {"R": 20, "S": 21, "X": 22}
MODE_IDS = [
    Wrong("list", [20, 21, 22], "must be a dict from mode to id"),
    Wrong("text", "RSX", "must be a dict from mode to id"),
    Wrong("one lacks", {"R": 20, "S": 21}, "lacks the mode 'X'"),
    Wrong("float", MODES | {"X": 22.0}, "must be a whole number"),
    Wrong("bool", MODES | {"X": True}, "must be a whole number"),
    Wrong("negative", MODES | {"X": -1}, "must be at least 0"),
    Wrong("unknown", MODES | {"X": V}, "ids go from 0 to 29"),
    Wrong(
        "twice",
        MODES | {"X": 20},
        r"mode_ids\['R'\] and mode_ids\['X'\] are both 20: each special token",
    ),
    Wrong("sentinel", MODES | {"X": V - 1}, "have to be free for"),
]
EXAMPLES = [Wrong(type(x).__name__, x, "must be Examples, not") for x in (None, ROWS, torch.tensor(ROWS[:1]))]
TO_PACK = prefix_lm(ROWS, prefix_len=1)
ROW_LEN = [*count(1), Wrong("short", 5, r"lengths\[0\] is 6, longer than max_len 5")]
LENGTHS = [
    Wrong("None", None, "must be a list of whole numbers"),
    Wrong("number", 3, "must be a list of whole numbers"),
    Wrong("text", "32", "must be a list of whole numbers"),
    Wrong("tensor", torch.tensor([3, 2]), "must be a list of whole numbers"),
    Wrong("none", [], "is empty"),
    Wrong("float", [3, 2.0], "must be a whole number"),
    Wrong("bool", [3, True], "must be a whole number"),
    Wrong("no token", [3, 0], "must be at least 1"),
    Wrong("long", [3, 9], r"lengths\[1\] is 9, longer than max_len 8"),
]
CORRUPT = {"rows": ROWS, "vocab_size": V, "end_id": 23, "seed": 0, "pad_id": 0}
DENSE = Wrong("dense", 0.9, "ask for 2 spans in 3 tokens|ask for 5 spans in 6 tokens, but only 1 stay")

# function, call, good arguments, and for each argument the ways in which it can be wrong
TABLE: list[tuple[str, Callable[..., Any], dict[str, Any], dict[str, list[Wrong]]]] = [
    ("pad_right", pad_right, {"rows": ROWS, "pad_id": 0}, {"rows": SOME, "pad_id": PAD}),
    ("causal_lm", causal_lm, {"rows": ROWS, "pad_id": 0}, {"rows": LONG, "pad_id": PAD}),
    (
        "prefix_lm",
        prefix_lm,
        {"rows": ROWS, "prefix_len": 2, "pad_id": 0},
        {"rows": LONG, "prefix_len": SPLIT, "pad_id": PAD},
    ),
    (
        "prefix_lm by seed",
        prefix_lm,
        {"rows": ROWS, "seed": 0},
        {"rows": LONG, "seed": [wrong for wrong in count(0) if wrong.value is not None]},
    ),
    (
        "masked_lm",
        masked_lm,
        {
            **{"rows": ROWS, "vocab_size": V, "mask_id": 20, "seed": 0, "rate": 0.15},
            **{"special_ids": {1}, "pad_id": 0},
        },
        {
            **{"rows": SOME + KNOWN, "vocab_size": SIZE, "mask_id": OF_VOCABULARY, "seed": count(0)},
            **{"rate": SHARE, "special_ids": SPECIAL, "pad_id": OF_VOCABULARY},
        },
    ),
    (
        "span_corruption",
        span_corruption,
        {**CORRUPT, "rate": 0.15, "mean_span": 1.0, "wrap": False},
        {
            "rows": [*LONG, *KNOWN, Wrong("sentinel", [[1, V - 1]], TAKEN.says)],
            "vocab_size": [
                *SIZE,
                Wrong("small", 24, "have to be free for 1 sentinels: use a larger vocab_size"),
            ],
            **{"end_id": [*OF_VOCABULARY, TAKEN], "pad_id": [*OF_VOCABULARY, TAKEN], "seed": count(0)},
            **{"rate": [*SHARE, DENSE], "mean_span": MEAN, "wrap": FLAG},
        },
    ),
    (
        "span_counts",
        span_counts,
        {"length": 6, "rate": 0.15, "mean_span": 1.0},
        {"length": count(2), "rate": [*SHARE, DENSE], "mean_span": MEAN},
    ),
    (
        "raw_lengths",
        raw_lengths,
        {"prefix_len": 6, "rate": 0.15, "mean_span": 1.0},
        {
            "prefix_len": count(3),
            "rate": [*SHARE, Wrong("dense", 0.9, r"rate and mean_span ask for \d+ spans")],
            "mean_span": MEAN,
        },
    ),
    (
        "mix_denoisers",
        mix_denoisers,
        {**CORRUPT, "denoisers": UL2R, "mode_ids": MODES},
        {
            "rows": [*LONG, *KNOWN, Wrong("sentinel", [[1, V - 1]], TAKEN.says)],
            **{"denoisers": DENOISERS, "vocab_size": SIZE, "seed": count(0), "mode_ids": MODE_IDS},
            **{"end_id": [*OF_VOCABULARY, TAKEN], "pad_id": [*OF_VOCABULARY, TAKEN]},
        },
    ),
    (
        "pack",
        pack,
        {"examples": TO_PACK, "max_len": 9, "pad_id": 0},
        {"examples": EXAMPLES, "max_len": ROW_LEN, "pad_id": PAD},
    ),
    (
        "first_fit",
        first_fit,
        {"lengths": [3, 2], "max_len": 8},
        {"lengths": LENGTHS, "max_len": [*count(1), Wrong("short", 2, "longer than max_len 2")]},
    ),
]


@pytest.mark.parametrize(("call", "good", "argument", "wrong"), refusals(TABLE))
def test_wrong_arguments_are_refused_beforehand(
    call: Callable[..., Any], good: dict[str, Any], argument: str, wrong: Wrong
) -> None:
    assert_refused(call, good, argument, wrong)


def test_a_seed_and_a_prefix_length_together_are_refused() -> None:
    with pytest.raises(TypeError, match="pass prefix_len or seed, not both"):
        prefix_lm(ROWS, seed=0, prefix_len=1)


def test_a_vocabulary_without_room_for_its_sentinels_is_refused() -> None:
    with pytest.raises(ValueError, match="vocab_size 3 has no room for 3 sentinels"):
        span_corruption([[0] * 6], vocab_size=3, end_id=1, seed=0, rate=0.5, mean_span=1.0)


def test_modes_that_no_denoiser_has_need_no_id_and_may_have_any() -> None:
    mix_denoisers(**CORRUPT, denoisers=UL2R[:1], mode_ids={"S": 20})
    mix_denoisers(**CORRUPT, denoisers=UL2R[:1], mode_ids={"S": 20, "X": None})


def test_a_denoiser_of_whole_numbers_is_one() -> None:
    assert Denoiser("R", 0.15, 3) == Denoiser("R", 0.15, 3.0)
