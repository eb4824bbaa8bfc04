"""Packed rows: the loss and the gradients of separate rows, and no document that sees another."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from prefixlm_teach import (
    Examples,
    RotaryPrefixLM,
    TinyCausalLM,
    TinyEncoderDecoder,
    TinyPrefixLM,
    causal_lm,
    explain,
    first_fit,
    masked_lm,
    pack,
    prefix_lm,
    visibility,
)

V = 20
ROWS = [[1, 2, 3, 4, 5], [6, 7], [8, 9, 10], [11, 12, 13, 14]]
P = torch.tensor([3, 1, 2, 1])
seeds = st.integers(0, 2**20)
texts = st.lists(st.lists(st.integers(0, V - 2), min_size=2, max_size=7), min_size=1, max_size=6)


def tiny(kind: type[TinyPrefixLM] = TinyPrefixLM, max_len: int = 8) -> TinyPrefixLM:
    torch.manual_seed(0)
    model = kind(V, 8, 2, 2, max_len=max_len).double().eval()
    assert isinstance(model, TinyPrefixLM)
    return model


def made(rows: list[list[int]], objective: str, seed: int) -> Examples:
    if objective == "causal":
        return causal_lm(rows)
    if objective == "prefix":
        return prefix_lm(rows, seed=seed)
    return masked_lm(rows, vocab_size=V, mask_id=V - 1, seed=seed, rate=0.4)


def loss_and_gradients(model: nn.Module, examples: Examples) -> tuple[Tensor, list[Tensor]]:
    """The sum of all losses, and its gradients by each parameter."""
    total = examples.loss(examples.logits(model)) * examples.label_count
    wanted = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return total, list(torch.autograd.grad(total, wanted, materialize_grads=True))


def assert_equal_training(model: nn.Module, separate: Examples, packed: Examples) -> None:
    assert packed.label_count == separate.label_count
    (loss, gradients), (packed_loss, packed_gradients) = (
        loss_and_gradients(model, examples) for examples in (separate, packed)
    )
    torch.testing.assert_close(packed_loss, loss)
    for gradient, other in zip(gradients, packed_gradients, strict=True):
        torch.testing.assert_close(other, gradient)


@settings(max_examples=40)
@given(
    texts,
    st.sampled_from(["causal", "prefix", "masked"]),
    st.integers(7, 20),
    seeds,
    st.sampled_from([TinyPrefixLM, TinyCausalLM]),
)
def test_loss_and_gradients_are_those_of_separate_rows(
    rows: list[list[int]], objective: str, max_len: int, seed: int, kind: type[TinyPrefixLM]
) -> None:
    separate = made(rows, objective, seed)
    packed = pack(separate, max_len)
    assert packed.tokens.size(1) <= max_len
    assert_equal_training(tiny(kind), separate, packed)


def test_a_packed_prefix_opens_nothing_to_a_causal_model() -> None:
    separate = prefix_lm(ROWS, prefix_len=P)
    assert_equal_training(tiny(TinyCausalLM), separate, pack(separate, 14))


def test_a_label_of_a_first_token_is_not_asked_of_the_document_before() -> None:
    separate = prefix_lm([[1, 2, 3], [4, 5]], prefix_len=1)
    labelled = replace(separate, labels=separate.tokens.masked_fill(~separate.valid, -100))
    assert_equal_training(tiny(), labelled, pack(labelled, 8))


def test_a_packed_row_says_what_stands_where() -> None:
    packed = pack(prefix_lm(ROWS, prefix_len=P), 9, pad_id=19)
    assert packed.tokens.tolist() == [[1, 2, 3, 4, 5, 6, 7, 19, 19][:7], [8, 9, 10, 11, 12, 13, 14]]
    assert packed.labels.tolist() == [
        [-100, -100, -100, 4, 5, -100, 7],
        [-100, -100, 10, -100, 12, 13, 14],
    ]
    assert packed.positions is not None
    assert packed.positions.tolist() == [[0, 1, 2, 3, 4, 0, 1], [0, 1, 2, 0, 1, 2, 3]]
    assert packed.valid.all()
    assert packed.prefix_len is None
    assert packed.mask is not None
    drawn = ["".join("#" if seen else "." for seen in row) for row in packed.mask[0, 0].tolist()]
    assert drawn == ["###....", "###....", "###....", "####...", "#####..", ".....#.", ".....##"]


def test_what_is_left_of_a_row_is_padding_that_nobody_sees() -> None:
    packed = pack(prefix_lm(ROWS[:3], prefix_len=P[:3]), 8, pad_id=19)
    assert packed.tokens.tolist() == [[1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 19, 19, 19, 19]]
    assert packed.valid.tolist() == [[True] * 7, [True] * 3 + [False] * 4]
    assert (packed.labels[1, 3:] == -100).all()
    assert packed.mask is not None
    assert not packed.mask[1, 0, :, 3:].any()
    assert not packed.mask[1, 0, 3:].any()


def looks(packed: Examples, how: str) -> str:
    """What a probe finds in one packed row of documents of 5, 2 and 3 tokens, with a pad after them."""
    model = tiny(max_len=20)

    def call(tokens: Tensor, prefix_len: Tensor, valid: Tensor) -> Tensor:
        return model(tokens, valid=valid, mask=packed.mask, positions=packed.positions)

    seen = visibility(call, packed.tokens[:1], 0, valid=packed.valid[:1], how=how)
    return explain(seen, P[:3], lengths=[5, 2, 3], valid=packed.valid[:1])


@pytest.mark.parametrize("how", ["change", "gradient"])
def test_no_document_sees_another(how: str) -> None:
    both = pack(prefix_lm([*ROWS[:3], [1] * 11], prefix_len=torch.tensor([3, 1, 2, 1])), 11)
    assert both.mask is not None
    packed = replace(
        both,
        mask=both.mask[:1],
        **{name: getattr(both, name)[:1] for name in ("tokens", "labels", "valid", "positions")},
    )
    assert packed.valid.sum() == 10
    assert looks(packed, how).startswith("Right: each row sees what a prefix LM with its own p shows it")
    open_mask = both.mask[:1].clone()
    open_mask[0, 0, 6, 0] = True
    assert "A neighbour leaks" in looks(replace(packed, mask=open_mask), how)


def test_another_document_in_the_row_changes_no_bit() -> None:
    model = tiny()
    one = pack(prefix_lm([[1, 2, 3], [4, 5, 6, 7]], prefix_len=2), 7)
    other = pack(prefix_lm([[9, 8, 9], [4, 5, 6, 7]], prefix_len=2), 7)
    assert torch.equal(one.logits(model)[0, 3:], other.logits(model)[0, 3:])
    assert not torch.equal(one.logits(model)[0, :3], other.logits(model)[0, :3])


def test_a_packed_row_may_have_more_tokens_than_the_model_has_positions() -> None:
    packed = pack(prefix_lm(ROWS, prefix_len=P), 14)
    assert packed.tokens.shape == (1, 14)
    assert packed.logits(tiny(max_len=5)).isfinite().all()


def test_without_reset_positions_a_model_with_learned_ones_reads_another_text() -> None:
    packed, model = pack(prefix_lm(ROWS, prefix_len=P), 14), tiny(max_len=14)
    counted_on = replace(packed, positions=None)
    assert not torch.allclose(packed.loss(packed.logits(model)), counted_on.loss(counted_on.logits(model)))


def test_a_rotary_model_needs_no_positions_and_has_the_same_loss() -> None:
    model, separate = tiny(RotaryPrefixLM, max_len=14), prefix_lm(ROWS, prefix_len=P)
    packed = pack(separate, 14)
    with pytest.raises(ValueError, match="leave positions out"):
        packed.logits(model)
    assert_equal_training(model, separate, replace(packed, positions=None))


def test_packed_rows_can_be_packed_again() -> None:
    separate = prefix_lm(ROWS, prefix_len=P)
    twice = pack(pack(separate, 7), 14)
    assert twice.tokens.shape == (1, 14)
    assert_equal_training(tiny(), separate, twice)


def test_one_mask_for_all_examples_can_be_packed() -> None:
    rows = [[1, 2, 3], [4, 5, 6]]
    separate = causal_lm(rows)
    window = torch.ones(3, 3).tril().triu(-1).bool()
    shared = replace(separate, prefix_len=None, mask=window)
    assert_equal_training(tiny(), shared, pack(shared, 6))


def test_positions_of_their_own_stay_with_the_documents() -> None:
    separate = prefix_lm(ROWS[:2], prefix_len=P[:2])
    moved = replace(separate, positions=torch.tensor([[2, 1, 0, 3, 4], [5, 6, 0, 0, 0]]))
    packed = pack(moved, 8)
    assert packed.positions is not None
    assert packed.positions.tolist() == [[2, 1, 0, 3, 4, 5, 6]]
    assert_equal_training(tiny(), moved, packed)


def test_an_encoder_decoder_says_that_it_cannot_read_a_packed_row() -> None:
    with pytest.raises(TypeError, match="need a model that takes mask, and this model does not"):
        pack(prefix_lm(ROWS, prefix_len=P), 14).logits(TinyEncoderDecoder(V, 8, 2))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(9, 20))
def test_first_fit_puts_each_document_into_the_first_row_with_room(lengths: list[int], max_len: int) -> None:
    rows = first_fit(lengths, max_len)
    assert sorted(d for row in rows for d in row) == list(range(len(lengths)))
    assert all(row == sorted(row) for row in rows)
    for r, row in enumerate(rows):
        assert sum(lengths[d] for d in row) <= max_len
        for d in row:
            for earlier in rows[:r]:  # had no room for it when its turn came
                assert sum(lengths[e] for e in earlier if e < d) + lengths[d] > max_len


def test_first_fit_goes_back_to_an_earlier_row() -> None:
    assert first_fit([5, 4, 6, 1, 2], 8) == [[0, 3, 4], [1], [2]]
