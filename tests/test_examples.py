"""What an objective makes of a text: the loss of a cloze, what a model is asked, parts that do not fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from prefixlm_teach import Examples, RotaryPrefixLM, TinyEncoderDecoder, TinyPrefixLM, create_prefix_lm_mask
from prefixlm_teach.examples import examples_of_pairs

V = 7
PARTS: dict[str, Any] = {
    "tokens": torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0]]),
    "labels": torch.tensor([[-100, -100, 3, 4], [-100, 6, -100, -100]]),
    "valid": torch.tensor([[True, True, True, True], [True, True, False, False]]),
}
P = torch.tensor([2, 1])
MASK = create_prefix_lm_mask(4, P, valid=PARTS["valid"])
POSITIONS = torch.arange(4).expand(2, 4)


def tiny() -> TinyPrefixLM:
    torch.manual_seed(0)
    return TinyPrefixLM(V, 8, 2, 2, max_len=8).double().eval()


@given(st.integers(0, 2**20), st.lists(st.booleans(), min_size=6, max_size=6).filter(any))
def test_a_cloze_scores_each_label_in_its_own_row(seed: int, asked: list[bool]) -> None:
    torch.manual_seed(seed)
    logits, ids = torch.randn(2, 3, V, dtype=torch.float64), torch.randint(V, (2, 3))
    labels = ids.masked_fill(~torch.tensor(asked).view(2, 3), -100)
    everyone = torch.ones(2, 3, dtype=torch.bool)
    examples = Examples(torch.zeros_like(ids), labels, everyone, torch.tensor([3, 3]), cloze=True)
    terms = []
    for b in range(2):
        for t in range(3):
            if asked[3 * b + t]:
                row = logits[b, t].tolist()
                terms.append(math.log(sum(math.exp(x) for x in row)) - row[int(ids[b, t])])
    assert examples.loss(logits).item() == pytest.approx(sum(terms) / len(terms))
    assert examples.label_count == len(terms)


def test_a_label_in_the_first_column_counts_in_a_cloze_only() -> None:
    labels = torch.tensor([[1, -100, 3, 4], [5, 6, -100, -100]])
    assert Examples(**PARTS | {"labels": labels}, prefix_len=P).label_count == 3
    assert Examples(**PARTS | {"labels": labels}, prefix_len=P, cloze=True).label_count == 5


def test_the_loss_is_the_mean_over_the_label_count() -> None:
    examples, model = Examples(**PARTS, prefix_len=P), tiny()
    logits = examples.logits(model)
    logs = logits.log_softmax(-1)
    total = -(logs[0, 1, 3] + logs[0, 2, 4] + logs[1, 0, 6])
    assert examples.label_count == 3
    torch.testing.assert_close(examples.loss(logits) * 3, total)


def test_a_cloze_in_half_precision_is_summed_in_float32() -> None:
    logits = torch.full((1, 2, V), 60_000.0, dtype=torch.float16)
    both = torch.tensor([[1, 2]])
    examples = Examples(both, both, both > 0, torch.tensor([2]), cloze=True)
    assert examples.loss(logits).dtype == torch.float32
    assert examples.loss(logits).item() == pytest.approx(math.log(V))


def test_a_mask_and_positions_reach_the_model() -> None:
    model, moved = tiny(), POSITIONS + 3
    plain = Examples(**PARTS, prefix_len=P)
    masked = Examples(**PARTS, mask=MASK)
    torch.testing.assert_close(masked.logits(model), plain.logits(model), rtol=0, atol=0)
    moved_logits = Examples(**PARTS, mask=MASK, positions=moved).logits(model)
    wanted = model(PARTS["tokens"], P, valid=PARTS["valid"], positions=moved)
    torch.testing.assert_close(moved_logits, wanted, rtol=0, atol=0)
    assert not torch.allclose(moved_logits, masked.logits(model))


def test_an_encoder_decoder_is_called_alike() -> None:
    model = TinyEncoderDecoder(V, 8, 2, 1, 1, max_len=8).eval()
    examples = Examples(**PARTS, prefix_len=P)
    wanted = model(PARTS["tokens"], P, valid=PARTS["valid"])
    torch.testing.assert_close(examples.logits(model), wanted, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"mask": MASK}, "a model that takes mask, and this model does not"),
        ({"prefix_len": P, "positions": POSITIONS}, "a model that takes positions, and this model does not"),
        ({"prefix_len": P, "cloze": True}, "only the decoder guesses, and only what comes next"),
    ],
)
@pytest.mark.parametrize(
    "wrapped",
    [
        lambda model: model,
        lambda model: torch.compile(model, backend="eager"),
        torch.nn.DataParallel,
        lambda model: torch.nn.DataParallel(torch.compile(model, backend="eager")),
        lambda model: model.forward,
        lambda model: model.__call__,
    ],
)
def test_what_an_encoder_decoder_cannot_do_is_said_however_it_is_wrapped(
    parts: dict[str, Any], says: str, wrapped: Callable[[Any], Any]
) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        Examples(**PARTS, **parts).logits(wrapped(TinyEncoderDecoder(V, 8, 2, 1, 1)))


def test_a_rotary_model_refuses_positions_in_its_own_words() -> None:
    with pytest.raises(ValueError, match="leave positions out"):
        Examples(**PARTS, prefix_len=P, positions=POSITIONS).logits(RotaryPrefixLM(V, 8, 2, 1))


def test_a_function_with_any_names_is_given_all_of_them() -> None:
    examples = Examples(**PARTS, mask=MASK, positions=POSITIONS)
    given_names: set[str] = set()

    def model(tokens: Tensor, prefix_len: Tensor, **named: Tensor) -> Tensor:
        given_names.update(named)
        return tokens

    examples.logits(model)
    assert given_names == {"valid", "mask", "positions"}


def test_a_class_is_no_model_and_a_function_in_c_is_called() -> None:
    examples = Examples(**PARTS, prefix_len=P)
    with pytest.raises(TypeError, match="model is the class TinyPrefixLM: make one of it first"):
        examples.logits(TinyPrefixLM)
    with pytest.raises(TypeError, match="max"):
        examples.logits(max)


@pytest.mark.parametrize("model", [None, "TinyPrefixLM", 3])
def test_what_is_no_model_is_named(model: Any) -> None:
    with pytest.raises(TypeError, match="model must be something to call"):
        Examples(**PARTS, prefix_len=P).logits(model)


def test_pairs_follow_each_other_and_only_the_second_is_asked_for() -> None:
    examples = examples_of_pairs([([1, 2], [3]), ([4], [5, 6, 7])], pad_id=9, kinds=["a", "b"])
    assert examples.tokens.tolist() == [[1, 2, 3, 9], [4, 5, 6, 7]]
    assert examples.labels.tolist() == [[-100, -100, 3, -100], [-100, 5, 6, 7]]
    assert examples.valid.tolist() == [[True, True, True, False], [True] * 4]
    assert examples.prefix_len is not None
    assert examples.prefix_len.tolist() == [2, 1]
    assert examples.kinds == ("a", "b")


TOKENS, LABELS, VALID = PARTS["tokens"], PARTS["labels"], PARTS["valid"]
WRONG_PARTS: dict[str, tuple[dict[str, Any], str]] = {
    "tokens list": ({"tokens": TOKENS.tolist()}, "tokens must be a .* tensor of ids"),
    "tokens float": ({"tokens": TOKENS.float()}, "tokens must be int64 or int32"),
    "tokens negative": ({"tokens": TOKENS - 1}, "tokens holds the id -1"),
    "tokens one dimension": ({"tokens": TOKENS[0]}, r"tokens must be \(B, T\)"),
    "tokens empty": ({"tokens": TOKENS[:0]}, "tokens is empty"),
    "labels list": ({"labels": LABELS.tolist()}, r"labels must be a \(B, T\) tensor, not list"),
    "labels float": ({"labels": LABELS.float()}, "labels must be int64 or int32"),
    "labels bool": ({"labels": VALID}, "labels must be int64 or int32"),
    "labels short": ({"labels": LABELS[:, 1:]}, r"labels are \(2, 3\), but tokens is \(2, 4\)"),
    "labels negative": ({"labels": LABELS.clamp(min=-1)}, "labels hold -1: ids begin at 0, and -100"),
    "labels meta": ({"labels": LABELS.to("meta")}, "labels is on meta"),
    "labels at padding": ({"labels": TOKENS}, "labels ask for padding"),
    "valid list": ({"valid": VALID.tolist()}, "valid must be a"),
    "valid ints": ({"valid": VALID.long()}, "valid must be boolean"),
    "valid short": ({"valid": VALID[:, 1:]}, "valid is for 3 tokens"),
    "valid with a hole": ({"valid": torch.tensor([[True, False, True, True]]).expand(2, 4)}, "has a hole"),
    "valid to the left": ({"valid": VALID.flip(-1), "labels": LABELS.flip(-1)}, "padded on the right"),
    "valid without a token": ({"valid": VALID & torch.tensor([[True], [False]])}, "padded on the right"),
    "neither": ({"prefix_len": None}, "say where the prefix ends"),
    "both": ({"mask": MASK}, "pass prefix_len or mask, not both"),
    "prefix_len int": ({"prefix_len": 1}, r"prefix_len must be a \(B,\) tensor"),
    "prefix_len 0-d": ({"prefix_len": torch.tensor(1)}, r"prefix_len must be a \(B,\) tensor"),
    "prefix_len float": ({"prefix_len": P.float()}, "prefix_len counts tokens"),
    "prefix_len for one": ({"prefix_len": P[:1]}, "prefix_len is for 1 examples"),
    "prefix_len long": ({"prefix_len": P + 2}, r"prefix_len 3 is longer than example 1 \(2 real tokens\)"),
    "prefix_len negative": ({"prefix_len": P - 2}, "prefix_len must be at least 0"),
    "mask list": ({"prefix_len": None, "mask": MASK.tolist()}, "mask must be a tensor of booleans"),
    "mask float": ({"prefix_len": None, "mask": MASK.float()}, "mask must be boolean"),
    "mask small": ({"prefix_len": None, "mask": MASK[..., 1:, 1:]}, r"mask is \(2, 1, 3, 3\)"),
    "positions list": ({"positions": POSITIONS.tolist()}, "positions must be a"),
    "positions float": ({"positions": POSITIONS.float()}, "positions must be int64 or int32"),
    "positions short": ({"positions": POSITIONS[:, 1:]}, r"positions are \(2, 3\), but tokens is \(2, 4\)"),
    "positions negative": ({"positions": POSITIONS - 1}, "positions begin at 0, not at -1"),
    "cloze int": ({"cloze": 1}, "cloze must be True or False"),
    "cloze None": ({"cloze": None}, "cloze must be True or False"),
    "kinds list": ({"kinds": ["a", "b"]}, "kinds must be a tuple of strings"),
    "kinds text": ({"kinds": "ab"}, "kinds must be a tuple of strings"),
    "kinds numbers": ({"kinds": (1, 2)}, "kinds must be a tuple of strings"),
    "kinds for one": ({"kinds": ("a",)}, "kinds is for 1 examples, but there are 2"),
}


@pytest.mark.parametrize("case", WRONG_PARTS)
def test_parts_that_do_not_fit_are_refused(case: str) -> None:
    wrong, says = WRONG_PARTS[case]
    with pytest.raises((TypeError, ValueError), match=says):
        Examples(**{**PARTS, "prefix_len": P, **wrong})


@pytest.mark.parametrize("by_mask", [False, True])
@pytest.mark.parametrize("column", [1, 2])
def test_a_label_that_its_row_sees_is_refused_but_in_a_cloze(column: int, by_mask: bool) -> None:
    labels = torch.full_like(LABELS, -100)
    labels[0, column] = TOKENS[0, column]
    p = torch.tensor([3, 1])
    shown = create_prefix_lm_mask(4, p, valid=VALID) if by_mask else None
    split = {"mask": shown} if by_mask else {"prefix_len": p}
    with pytest.raises(ValueError, match=rf"labels ask for token {column} of example 0, .* sees it"):
        Examples(TOKENS, labels, VALID, **split)
    assert Examples(TOKENS, labels, VALID, **split, cloze=True).label_count == 1
    for asked in (0, 3):  # asked of no row, and after the prefix
        Examples(TOKENS, labels.roll(asked - column, 1), VALID, **split)


def test_an_example_of_one_token_can_be_made_and_asks_nothing() -> None:
    one = torch.tensor([[3]])
    for shown in ({"mask": torch.tensor([[[[True]]]])}, {"prefix_len": torch.tensor([1])}):
        assert Examples(one, one, one > 0, **shown).label_count == 0


def test_a_label_that_a_mask_for_all_examples_shows_is_refused() -> None:
    with pytest.raises(ValueError, match="labels ask for token 1 of example 1, but the mask shows it"):
        Examples(**PARTS, mask=create_prefix_lm_mask(4, 2))


LOGITS = torch.zeros(2, 4, V)


@pytest.mark.parametrize("cloze", [False, True])
@pytest.mark.parametrize(
    ("logits", "says"),
    [
        (LOGITS.tolist(), "logits must be a"),
        (LOGITS.long(), "logits must be floating point"),
        (LOGITS[:, 1:], "logits are for"),
        (LOGITS[..., :4], "labels hold 6, but ids go from 0 to 3"),
        (LOGITS[..., :0], "logits are empty"),
    ],
)
def test_logits_that_do_not_fit_are_refused(cloze: bool, logits: Any, says: str) -> None:
    labels = LABELS.masked_fill(LABELS == 4, -100)
    examples = Examples(**PARTS | {"labels": labels}, prefix_len=P, cloze=cloze)
    with pytest.raises((TypeError, ValueError), match=says):
        examples.loss(logits)


@pytest.mark.parametrize("cloze", [False, True])
def test_examples_without_a_label_have_no_loss(cloze: bool) -> None:
    nothing = Examples(**PARTS | {"labels": torch.full_like(LABELS, -100)}, prefix_len=P, cloze=cloze)
    assert nothing.label_count == 0
    with pytest.raises(ValueError, match="nothing to score"):
        nothing.loss(LOGITS)
