"""Masks: the one-line form against loops, the ends, padding, dtypes and devices."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import additive_mask, visible_pairs
from strategies import Padded, padded_batches

from prefixlm_teach import bidirectional_mask, causal_mask, create_prefix_lm_mask, to_additive

ALL_SPLITS = [(seq_len, p) for seq_len in range(1, 10) for p in range(seq_len + 1)]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize(("seq_len", "p"), ALL_SPLITS)
def test_mask_equals_the_definition_at_every_split(seq_len: int, p: int) -> None:
    mask = create_prefix_lm_mask(seq_len, p)
    assert mask.dtype == torch.bool
    assert mask.tolist() == visible_pairs(p, [True] * seq_len)


@pytest.mark.parametrize(("seq_len", "p"), ALL_SPLITS)
def test_mask_equals_the_loop_that_fills_it_cell_by_cell(seq_len: int, p: int) -> None:
    assert torch.equal(to_additive(create_prefix_lm_mask(seq_len, p)), additive_mask(seq_len, p))


@given(st.integers(1, 60).flatmap(lambda seq_len: st.tuples(st.just(seq_len), st.integers(0, seq_len))))
def test_visible_pairs_are_those_of_the_formula(split: tuple[int, int]) -> None:
    seq_len, p = split
    assert int(create_prefix_lm_mask(seq_len, p).sum()) == seq_len * (seq_len + 1) // 2 + p * (p - 1) // 2


@given(padded_batches())
def test_padded_mask_equals_the_definition(batch: Padded) -> None:
    mask = create_prefix_lm_mask(len(batch.real[0]), batch.p, valid=batch.valid)
    assert mask[:, 0].tolist() == [
        visible_pairs(p, real) for p, real in zip(batch.prefix_len, batch.real, strict=True)
    ]


@given(padded_batches())
def test_padding_is_never_visible(batch: Padded) -> None:
    mask = create_prefix_lm_mask(len(batch.real[0]), batch.p, valid=batch.valid)
    hidden = ~batch.valid[:, None, None, :].expand_as(mask)
    assert not mask[hidden].any()


@given(padded_batches(min_real=1))
def test_the_columns_of_the_prefix_begin_after_the_pads(batch: Padded) -> None:
    mask = create_prefix_lm_mask(len(batch.real[0]), batch.p, valid=batch.valid)
    for one, real, p in zip(mask[:, 0], batch.real, batch.prefix_len, strict=True):
        first = real.index(True)
        seen_by_first_token = one[first].nonzero().flatten().tolist()
        assert seen_by_first_token == list(range(first, first + max(p, 1)))


@pytest.mark.parametrize("seq_len", range(1, 8))
def test_prefixes_of_no_token_and_of_one_token_are_causal(seq_len: int) -> None:
    causal = torch.ones(seq_len, seq_len).tril().bool()
    for p in (0, 1):
        assert torch.equal(create_prefix_lm_mask(seq_len, p), causal)
    assert torch.equal(causal_mask(seq_len), causal)


@pytest.mark.parametrize("seq_len", range(1, 8))
def test_a_prefix_of_all_tokens_is_bidirectional(seq_len: int) -> None:
    assert create_prefix_lm_mask(seq_len, seq_len).all()
    assert bidirectional_mask(seq_len).shape == (seq_len, seq_len)
    assert bidirectional_mask(seq_len).all()


def test_true_means_may_attend() -> None:
    assert causal_mask(3)[0].tolist() == [True, False, False]
    assert create_prefix_lm_mask(4, 2)[0].tolist() == [True, True, False, False]


def test_two_prefix_lengths_give_two_masks() -> None:
    mask = create_prefix_lm_mask(5, torch.tensor([1, 3]))  # the shortest first
    assert torch.equal(mask[0, 0], create_prefix_lm_mask(5, 1))
    assert torch.equal(mask[1, 0], create_prefix_lm_mask(5, 3))
    assert not torch.equal(mask[0], mask[1])


VALID = torch.tensor([[True, True, True], [False, True, True]])


@pytest.mark.parametrize(
    ("prefix_len", "valid", "shape"),
    [
        (2, None, (3, 3)),
        (np.int64(2), None, (3, 3)),
        (torch.tensor(2), None, (3, 3)),
        (torch.tensor([2]), None, (1, 1, 3, 3)),
        (torch.tensor([2, 1]), None, (2, 1, 3, 3)),
        (2, VALID, (2, 1, 3, 3)),
        (2, VALID[:1], (1, 1, 3, 3)),
        (torch.tensor(2), VALID, (2, 1, 3, 3)),
        (torch.tensor([2, 1]), VALID, (2, 1, 3, 3)),
    ],
)
def test_a_shared_split_has_no_batch_dimension_and_anything_else_has(
    prefix_len: int | torch.Tensor, valid: torch.Tensor | None, shape: tuple[int, ...]
) -> None:
    assert create_prefix_lm_mask(3, prefix_len, valid=valid).shape == shape


@given(padded_batches())
def test_a_shared_split_equals_the_same_number_for_each_example(batch: Padded) -> None:
    seq_len, p = len(batch.real[0]), min(batch.prefix_len)
    each = create_prefix_lm_mask(seq_len, torch.full((len(batch.real),), p), valid=batch.valid)
    assert torch.equal(create_prefix_lm_mask(seq_len, p, valid=batch.valid), each)
    assert torch.equal(create_prefix_lm_mask(seq_len, torch.tensor(p), valid=batch.valid), each)


@given(padded_batches())
def test_causal_and_bidirectional_masks_close_padding(batch: Padded) -> None:
    seq_len = len(batch.real[0])
    causal, full = (
        make(seq_len, valid=batch.valid)[:, 0].tolist() for make in (causal_mask, bidirectional_mask)
    )
    assert causal == [visible_pairs(0, real) for real in batch.real]
    assert full == [[real] * seq_len for real in batch.real]


@pytest.mark.parametrize(
    "whole",
    [np.int8, np.int16, np.int32, np.int64, np.uint8],
)
def test_numpy_integers_count_as_integers(whole: type) -> None:
    assert torch.equal(create_prefix_lm_mask(whole(5), whole(3)), create_prefix_lm_mask(5, 3))


@pytest.mark.parametrize("whole", [np.uint16, np.uint32, np.uint64])
def test_numpy_integers_that_torch_cannot_mix_are_refused(whole: type) -> None:
    with pytest.raises(TypeError, match="prefix_len must be an int, not uint"):
        create_prefix_lm_mask(5, whole(3))
    assert torch.equal(create_prefix_lm_mask(whole(5), 3), create_prefix_lm_mask(5, 3))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_any_integer_tensor_is_a_prefix_length(dtype: torch.dtype) -> None:
    each = create_prefix_lm_mask(200, torch.tensor([3, 127], dtype=dtype))  # 200 is beyond int8
    assert torch.equal(each, create_prefix_lm_mask(200, torch.tensor([3, 127])))
    shared = create_prefix_lm_mask(200, torch.tensor(127, dtype=dtype))
    assert torch.equal(shared, create_prefix_lm_mask(200, 127))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("batched", [False, True])
def test_additive_masks_are_exactly_zero_and_minus_infinity(dtype: torch.dtype, batched: bool) -> None:
    mask = create_prefix_lm_mask(6, torch.tensor([0, 4]) if batched else 3)
    additive = to_additive(mask, dtype)
    assert additive.dtype == dtype
    assert additive.shape == mask.shape
    assert (additive[mask] == 0).all()
    assert (additive[~mask] == float("-inf")).all()


def test_additive_masks_are_float32_unless_told() -> None:
    assert to_additive(causal_mask(2)).dtype == torch.float32


def test_additive_masks_hide_the_same_in_attention() -> None:
    q, k, v = torch.randn(3, 2, 4, 6, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mask = create_prefix_lm_mask(6, torch.tensor([2, 5]))
    attend = torch.nn.functional.scaled_dot_product_attention
    torch.testing.assert_close(
        attend(q, k, v, attn_mask=mask), attend(q, k, v, attn_mask=to_additive(mask, torch.float64))
    )


def test_the_mask_belongs_to_its_caller() -> None:
    create_prefix_lm_mask(3, 1).fill_(True)
    assert torch.equal(create_prefix_lm_mask(3, 1), torch.ones(3, 3).tril().bool())
