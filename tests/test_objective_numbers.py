"""Numbers in every form to the objectives: NumPy's, the largest seed, ids that a text may not hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from prefixlm_teach import (
    UL2R,
    CodeGen2Ids,
    Denoiser,
    Examples,
    FimIds,
    UniLMIds,
    arrange_parts,
    causal_lm,
    codegen2_mixture,
    codegen2_prompt,
    fill_in_contexts,
    fill_in_the_middle,
    first_fit,
    masked_lm,
    mix_denoisers,
    prefix_lm,
    raw_lengths,
    span_corruption,
    span_counts,
    unilm_cloze,
    unilm_finetuning,
)
from prefixlm_teach.rows import row_draws
from prefixlm_teach.unilm import KINDS, choose_places

V = 30
ROWS = [[1, 2, 3, 4, 5, 6], [7, 8, 9]]
FIM = FimIds(prefix=20, middle=21, suffix=22, end=23, pad=24)
CODEGEN2 = CodeGen2Ids(masks=tuple(range(30, 50)), sep=20, eom=21, end=23, pad=24)
UNILM = UniLMIds(start=20, end=21, mask=22, pad=23)


def in_numpy(value: Any, kind: Any) -> Any:
    """The same with each whole number, also in lists and dicts and among special ids, as one of NumPy's."""
    if isinstance(value, dict):  # a prefix_len that PyTorch does not know is refused, with the fix
        return {name: one if name == "prefix_len" else in_numpy(one, kind) for name, one in value.items()}
    if isinstance(value, FimIds | CodeGen2Ids | UniLMIds):
        return type(value)(**in_numpy(vars(value), kind))
    if isinstance(value, list | tuple) and not any(isinstance(one, Denoiser) for one in value):
        return type(value)(in_numpy(one, kind) for one in value)
    return kind(value) if isinstance(value, int) else value


NUMPY: dict[str, tuple[Callable[..., Examples], dict[str, Any]]] = {
    "causal LM": (causal_lm, {"rows": ROWS, "pad_id": 11}),
    "prefix LM": (prefix_lm, {"rows": ROWS, "seed": 3, "pad_id": 11}),
    "prefix LM of a length": (prefix_lm, {"rows": ROWS, "prefix_len": 2}),
    "masked LM": (
        masked_lm,
        {"rows": ROWS, "vocab_size": V, "mask_id": 20, "seed": 3, "special_ids": (1,), "pad_id": 11},
    ),
    "span corruption": (
        span_corruption,
        {"rows": ROWS, "vocab_size": V, "end_id": 23, "seed": 3, "pad_id": 11, "mean_span": 1.0},
    ),
    "denoisers": (
        mix_denoisers,
        {
            **{"rows": ROWS * 4, "denoisers": UL2R, "vocab_size": V, "end_id": 23, "seed": 3, "pad_id": 11},
            "mode_ids": {"R": 20, "S": 21, "X": 22},
        },
    ),
    "in the middle": (fill_in_the_middle, {"documents": ROWS, "ids": FIM, "seed": 3, "rate": 1.0}),
    "contexts": (fill_in_contexts, {"rows": [[1, 2, 23, 3, 4]], "ids": FIM, "seed": 3, "rate": 1.0}),
    "CodeGen2": (
        codegen2_mixture,
        {
            **{"rows": [[1, 2, 23, *[3] * 250, *[4] * 250]], "ids": CODEGEN2, "seed": 3, "rate": 1.0},
            **{"mask_ratio": (0.01, 0.01), "span_lens": (1, 2)},
        },
    ),
    "UniLM": (
        unilm_cloze,
        {
            **{"pairs": [([1, 2, 3], [4, 5])] * 4, "kinds": KINDS, "ids": UNILM, "vocab_size": V},
            **{"seed": 3, "rate": 0.5},
        },
    ),
    "UniLM, fine-tuned": (
        unilm_finetuning,
        {"pairs": [([1, 2, 3], [4, 5])], "ids": UNILM, "vocab_size": V, "seed": 3},
    ),
}


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.uint16, np.uint32, np.uint64, np.int64])
@pytest.mark.parametrize("objective", NUMPY)
def test_numpy_numbers_are_taken_for_what_they_count(objective: str, kind: type[np.integer[Any]]) -> None:
    call, known = NUMPY[objective]
    plain, all_in_numpy = call(**known), in_numpy(known, kind)
    text = {name: all_in_numpy[name] for name in ("rows", "documents", "pairs") if name in known}
    for given in (all_in_numpy, known | text):  # all numbers, or a text's ids beside plain special ones
        of_numpy = call(**given)
        assert torch.equal(of_numpy.tokens, plain.tokens)
        assert torch.equal(of_numpy.labels, plain.labels)
        assert of_numpy.tokens.dtype == torch.int64


@pytest.mark.parametrize("objective", NUMPY)
def test_examples_are_made_on_the_cpu_whatever_the_default_device_is(objective: str) -> None:
    call, known = NUMPY[objective]
    plain = call(**known)
    with torch.device("meta"):
        made = call(**known)
    assert torch.equal(made.tokens, plain.tokens)
    assert torch.equal(made.labels, plain.labels)
    for shown, wanted in ((made.prefix_len, plain.prefix_len), (made.mask, plain.mask)):
        assert (shown is None) == (wanted is None)
        assert shown is None or (wanted is not None and torch.equal(shown, wanted))


@pytest.mark.parametrize("objective", [name for name in NUMPY if "seed" in NUMPY[name][1]])
def test_the_largest_seed_is_taken_and_one_more_refused(objective: str) -> None:
    call, known = NUMPY[objective]
    call(**known | {"seed": 2**32 - 1})
    for seed in (2**32, np.uint64(2**32), 2**70):
        with pytest.raises(ValueError, match=r"seed must be below 2 \*\* 32, not"):
            call(**known | {"seed": seed})


class OnlyIndex:
    """A number to nobody but `operator.index`."""

    def __index__(self) -> int:
        return 3


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"seed": np.array(3)}, r"seed must be a whole number, not ndarray: use int\(seed\)"),
        ({"seed": torch.tensor(3)}, r"seed must be a whole number, not Tensor: use int\(seed\)"),
        ({"seed": OnlyIndex()}, r"seed must be a whole number, not OnlyIndex: use int\(seed\)"),
        ({"rows": [[1, OnlyIndex()]]}, r"rows\[0\]\[1\] must be a whole number, not OnlyIndex: use int"),
        ({"rows": [deque([1, 2])]}, r"rows\[0\] must be a list of ids, not deque: use list\(rows\[0\]\)"),
        ({"rows": deque(ROWS)}, r"rows must be a list of lists of ids, not deque: use list\(rows\)"),
        ({"rate": np.float32(0.2)}, r"rate must be a number, not float32: use float\(rate\)"),
        ({"rate": np.array(0.2)}, r"rate must be a number, not ndarray: use float\(rate\)"),
        ({"rate": np.array([0.2])}, "rate must be a number, not ndarray$"),
        ({"rate": True}, r"rate must be a number, not bool \(True\)$"),
        ({"special_ids": np.array([1])}, r"not ndarray: use special_ids.tolist\(\)"),
    ],
)
def test_what_is_nearly_right_is_refused_with_the_way_to_make_it_right(
    wrong: dict[str, Any], says: str
) -> None:
    known = {"rows": ROWS, "vocab_size": V, "mask_id": 20, "seed": 0}
    with pytest.raises(TypeError, match=says):
        masked_lm(**known | wrong)


@pytest.mark.parametrize("special_ids", [range(10, 20_000), list(range(10, 20_000))])
def test_special_ids_may_be_many_and_are_never_asked_for(special_ids: Any) -> None:
    rows = [[1, 15, 30_000] * 4] * 20
    made = masked_lm(rows, vocab_size=2**16, mask_id=0, seed=0, special_ids=special_ids, rate=0.6)
    asked = made.labels[made.labels != -100]
    assert set(asked.tolist()) == {1, 30_000}


@pytest.mark.parametrize("kind", [np.uint8, np.uint64])
def test_lengths_and_prompts_are_those_of_plain_numbers(kind: type[np.integer[Any]]) -> None:
    assert span_counts(kind(250), 0.5, 3.0) == span_counts(250, 0.5, 3.0)
    assert raw_lengths(kind(250)) == raw_lengths(250)
    assert raw_lengths(kind(250), rate=0.5, mean_span=1.5) == raw_lengths(250, rate=0.5, mean_span=1.5)
    assert first_fit([kind(200), kind(55), kind(3)], kind(255)) == [[0, 1], [2]]
    parts, ids = ([1, 2], [3], []), in_numpy(FIM, kind)
    for spm in (False, True):
        arranged = arrange_parts(*in_numpy(parts, kind), ids, spm=spm)
        assert torch.tensor(arranged).tolist() == arrange_parts(*parts, FIM, spm=spm)
    prompt = codegen2_prompt(in_numpy([1, 2], kind), in_numpy([3], kind), in_numpy(CODEGEN2, kind))
    assert torch.tensor(prompt).tolist() == codegen2_prompt([1, 2], [3], CODEGEN2)


@pytest.mark.parametrize("rows", [[[1, 2, 3, 4, 5, 6], [7, 23, 9]], [[1, 2, 3, 4], [np.uint16(23), 8, 9]]])
def test_an_id_of_its_own_may_not_stand_in_a_text(rows: list[list[int]]) -> None:
    with pytest.raises(ValueError, match=r"rows\[1\] holds the id 23, which is that of mask_id"):
        masked_lm(rows, vocab_size=V, mask_id=23, seed=0)
    with pytest.raises(ValueError, match=r"rows\[1\] holds the id 23, which is that of end_id"):
        span_corruption(rows, vocab_size=V, end_id=23, seed=0)
    with pytest.raises(ValueError, match=r"rows\[1\] holds the id 23, which is that of end_id"):
        mix_denoisers(rows, UL2R, vocab_size=V, end_id=23, seed=0, mode_ids=None)
    modes = {"R": 20, "S": 23, "X": 22}
    with pytest.raises(ValueError, match=r"rows\[1\] holds the id 23, which is that of mode_ids\['S'\]"):
        mix_denoisers(rows, UL2R, vocab_size=V, end_id=19, seed=0, mode_ids=modes)
    with pytest.raises(ValueError, match=r"mode_ids\['S'\] and end_id are both 23: each special token"):
        mix_denoisers(ROWS, UL2R, vocab_size=V, end_id=23, seed=0, mode_ids=modes)


@pytest.mark.parametrize("share", [1e308, 10**30, 5e-324])
def test_shares_count_by_their_proportions_however_large(share: float) -> None:
    def kinds(share: float) -> Any:
        denoisers = [Denoiser("R", 0.15, 3.0, share=share), Denoiser("S", 0.25, None, share=share)]
        return mix_denoisers([[1] * 8] * 20, denoisers, vocab_size=V, end_id=23, seed=0, mode_ids=None).kinds

    assert kinds(share) == kinds(1)


@pytest.mark.parametrize("share", [10**400, float("inf")])
def test_a_share_that_no_float_holds_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="share must be above 0 and finite, not"):
        Denoiser("R", 0.15, 3.0, share=share)
    with pytest.raises(ValueError, match="mean_span must be at least 1 token, and finite, not"):
        Denoiser("R", 0.15, share)


def test_a_pair_says_how_many_it_has_when_they_are_not_two() -> None:
    known: dict[str, Any] = {"rows": [[1, 2, 3]], "ids": CODEGEN2, "seed": 0}
    with pytest.raises(TypeError, match=r"mask_ratio must be a pair such as \(low, high\), not a tuple of 1"):
        codegen2_mixture(**known, mask_ratio=(0.1,), span_lens=(1, 2))
    with pytest.raises(TypeError, match=r"span_lens must be a pair such as \(low, high\), not a tuple of 3"):
        codegen2_mixture(**known, mask_ratio=(0.1, 0.2), span_lens=(1, 2, 3))
    with pytest.raises(TypeError, match=r"pairs\[0\] must be a tuple of two lists of ids, not a tuple of 1"):
        unilm_finetuning([([1],)], UNILM, vocab_size=V, seed=0)


def test_many_documents_are_packed_and_many_places_chosen() -> None:
    assert first_fit([8] * 20_000, 8) == [[d] for d in range(20_000)]
    assert len(choose_places(list(range(20_000)), 20_000, 0.2, row_draws(0, 0))) == 20_000
