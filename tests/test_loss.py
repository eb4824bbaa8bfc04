"""The loss: against a loop, its shift, its mean, its padding, and the mistakes it must not make."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import loss_terms
from strategies import Padded, padded_batches
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach import compute_prefix_lm_loss, label_loss, prefix_lm_labels

V = 5
seeds = st.integers(0, 2**20)


def guess(batch: int, seq_len: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Random logits (B, T, V) and tokens (B, T)."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(batch, seq_len, V, generator=generator, dtype=torch.float64)
    return logits, torch.randint(V, (batch, seq_len), generator=generator)


def copying_logits(tokens: Tensor) -> Tensor:
    """What a model says that gives back its input: row t is sure of token t."""
    return 50.0 * F.one_hot(tokens, V)


@given(padded_batches(), seeds)
def test_loss_equals_the_mean_of_the_terms_one_by_one(batch: Padded, seed: int) -> None:
    logits, tokens = guess(len(batch.real), len(batch.real[0]), seed)
    terms = [
        term
        for b, (real, p) in enumerate(zip(batch.real, batch.prefix_len, strict=True))
        for term in loss_terms(logits[b].tolist(), tokens[b].tolist(), p, real)
    ]
    if terms:
        loss = compute_prefix_lm_loss(logits, tokens, batch.p, valid=batch.valid)
        assert loss.shape == ()
        assert loss.item() == pytest.approx(sum(terms) / len(terms))
    else:
        with pytest.raises(ValueError, match="nothing to score"):
            compute_prefix_lm_loss(logits, tokens, batch.p, valid=batch.valid)


@given(padded_batches())
def test_labels_are_the_target_tokens_themselves(batch: Padded) -> None:
    tokens = torch.arange(len(batch.real[0])).repeat(len(batch.real), 1)
    labels = prefix_lm_labels(tokens, batch.p, valid=batch.valid)
    assert labels.dtype == torch.int64
    for row, real, p in zip(labels.tolist(), batch.real, batch.prefix_len, strict=True):
        places = [t for t, is_real in enumerate(real) if is_real]
        assert [t for t in row if t != -100] == places[max(p, 1) :]
        assert [t for t, label in enumerate(row) if label != -100] == places[max(p, 1) :]


@pytest.mark.parametrize("p", range(6))
def test_row_before_the_target_carries_the_loss_and_t_minus_p_tokens_count(p: int) -> None:
    logits, tokens = guess(1, 6)
    logits.requires_grad_()
    compute_prefix_lm_loss(logits, tokens, p).backward()
    assert logits.grad is not None
    scoring = logits.grad[0].abs().sum(-1) > 0
    assert scoring.tolist() == [max(p, 1) - 1 <= t < 5 for t in range(6)]
    assert int(scoring.sum()) == 6 - max(p, 1)


@pytest.mark.parametrize("p", range(6))
def test_loss_equals_cross_entropy_of_the_right_slices(p: int) -> None:
    logits, tokens = guess(3, 6)
    s = max(p, 1)
    by_hand = F.cross_entropy(logits[:, s - 1 : -1].reshape(-1, V), tokens[:, s:].reshape(-1))
    torch.testing.assert_close(compute_prefix_lm_loss(logits, tokens, p), by_hand)


def test_a_model_that_copies_its_input_scores_badly_and_the_wrong_slice_rewards_it() -> None:
    tokens = torch.tensor([[0, 1, 2, 3, 4, 0, 1]])  # no token repeats its neighbour
    logits = copying_logits(tokens)
    assert compute_prefix_lm_loss(logits, tokens, 3).item() == pytest.approx(50.0)
    assert F.cross_entropy(logits[0, 3:], tokens[0, 3:]).item() == pytest.approx(0.0, abs=1e-6)


def test_a_model_that_knows_the_next_token_scores_well() -> None:
    tokens = torch.tensor([[0, 1, 2, 3, 4, 0, 1]])
    logits = copying_logits(tokens.roll(-1, 1))
    assert compute_prefix_lm_loss(logits, tokens, 3).item() == pytest.approx(0.0, abs=1e-6)


def test_the_first_target_token_is_trained() -> None:
    tokens = torch.tensor([[0, 1, 2, 3, 4]])
    logits = copying_logits(tokens.roll(-1, 1))
    logits[0, 1] = copying_logits(tokens)[0, 1]  # wrong about token 2, the first of the target, only
    assert compute_prefix_lm_loss(logits, tokens, 2).item() == pytest.approx(50.0 / 3)


def test_prefixes_of_no_token_and_of_one_token_score_alike() -> None:
    logits, tokens = guess(2, 5)
    assert torch.equal(compute_prefix_lm_loss(logits, tokens, 0), compute_prefix_lm_loss(logits, tokens, 1))
    assert not torch.equal(
        compute_prefix_lm_loss(logits, tokens, 1), compute_prefix_lm_loss(logits, tokens, 2)
    )


def test_an_example_without_target_contributes_nothing() -> None:
    logits, tokens = guess(2, 5)
    both = compute_prefix_lm_loss(logits, tokens, torch.tensor([5, 2]))
    torch.testing.assert_close(both, compute_prefix_lm_loss(logits[1:], tokens[1:], 2))


@pytest.mark.parametrize(("seq_len", "p"), [(1, 0), (1, 1), (4, 4)])
def test_nothing_to_score_is_an_error_not_a_nan(seq_len: int, p: int) -> None:
    with pytest.raises(ValueError, match="nothing to score"):
        compute_prefix_lm_loss(*guess(2, seq_len), p)


def test_labels_that_are_all_ignored_or_only_in_column_0_are_an_error() -> None:
    logits, tokens = guess(1, 3)
    for labels in (torch.full_like(tokens, -100), torch.tensor([[2, -100, -100]])):
        with pytest.raises(ValueError, match="nothing to score"):
            label_loss(logits, labels)


def test_label_loss_scores_each_label_against_the_row_before_it() -> None:
    logits, _ = guess(1, 4)
    labels = torch.tensor([[3, -100, 1, -100]])
    by_hand = -logits[0, 1].log_softmax(-1)[1]
    torch.testing.assert_close(label_loss(logits, labels), by_hand)


@given(padded_batches(min_real=2), seeds)
def test_gradients_of_one_batch_equal_those_of_its_examples_weighted_by_their_tokens(
    batch: Padded, seed: int
) -> None:
    logits, tokens = guess(len(batch.real), len(batch.real[0]), seed)
    counts = [sum(real) - max(p, 1) for real, p in zip(batch.real, batch.prefix_len, strict=True)]
    assume(sum(counts) > 0)
    logits.requires_grad_()
    compute_prefix_lm_loss(logits, tokens, batch.p, valid=batch.valid).backward()
    whole, logits.grad = logits.grad, None
    for b, count in enumerate(counts):
        if count:
            one = slice(b, b + 1)
            loss = compute_prefix_lm_loss(logits[one], tokens[one], batch.p[one], valid=batch.valid[one])
            (loss * count / sum(counts)).backward()
    torch.testing.assert_close(whole, logits.grad)


@given(st.lists(st.integers(2, 6), min_size=1, max_size=4), seeds)
def test_padding_left_and_right_score_alike(lengths: list[int], seed: int) -> None:
    logits, tokens = guess(len(lengths), 6, seed)
    p = torch.tensor([length // 2 for length in lengths])
    real = torch.tensor(lengths)[:, None] > torch.arange(6)
    right = compute_prefix_lm_loss(logits, tokens, p, valid=real)
    shift = [6 - length for length in lengths]
    moved = [
        torch.stack([row.roll(n, 0) for row, n in zip(x, shift, strict=True)]) for x in (logits, tokens, real)
    ]
    torch.testing.assert_close(compute_prefix_lm_loss(moved[0], moved[1], p, valid=moved[2]), right)


@given(padded_batches(min_real=1), seeds)
def test_prefix_positions_and_padding_get_a_gradient_of_exactly_zero(batch: Padded, seed: int) -> None:
    logits, tokens = guess(len(batch.real), len(batch.real[0]), seed)
    scored = prefix_lm_labels(tokens, batch.p, valid=batch.valid) != -100
    assume(bool(scored[:, 1:].any()))
    logits.requires_grad_()
    compute_prefix_lm_loss(logits, tokens, batch.p, valid=batch.valid).backward()
    assert logits.grad is not None
    predicts_a_label = F.pad(scored[:, 1:], (0, 1))
    assert (logits.grad[~predicts_a_label] == 0).all()
    assert (logits.grad[predicts_a_label].abs().sum(-1) > 0).all()


def test_ids_at_padding_do_not_matter_and_neither_do_broken_logits_there() -> None:
    logits, tokens = guess(2, 5)
    valid = torch.tensor([[True] * 5, [True, True, True, False, False]])
    loss = compute_prefix_lm_loss(logits, tokens, 1, valid=valid)
    tokens[1, 3:], logits[1, 3:] = 0, float("nan")
    assert torch.equal(compute_prefix_lm_loss(logits, tokens, 1, valid=valid), loss)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_ids_may_be_int32(dtype: torch.dtype) -> None:
    logits, tokens = guess(2, 5)
    loss = compute_prefix_lm_loss(logits, tokens, 2)
    assert torch.equal(compute_prefix_lm_loss(logits, tokens.to(dtype), 2), loss)
    assert torch.equal(label_loss(logits, prefix_lm_labels(tokens.to(dtype), 2).to(dtype)), loss)


@pytest.mark.parametrize("p", [torch.tensor(2), torch.tensor([2, 2]), torch.tensor([2, 2], dtype=torch.int8)])
def test_a_split_may_be_a_number_or_a_tensor(p: Tensor) -> None:
    logits, tokens = guess(2, 5)
    loss = compute_prefix_lm_loss(logits, tokens, 2)
    assert torch.equal(compute_prefix_lm_loss(logits, tokens, p), loss)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_logits_lose_nothing_in_the_sum(dtype: torch.dtype) -> None:
    tokens = torch.zeros(4, 12_000, dtype=torch.int64)
    logits = torch.zeros(4, 12_000, 8, dtype=dtype)  # 48,000 times log(8): beyond float16's 65504
    loss = compute_prefix_lm_loss(logits, tokens, 1)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(math.log(8), rel=1e-5)
