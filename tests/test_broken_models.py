"""Every bug of the catalogue is called by its name, by both ways of looking; the right model is right."""

from __future__ import annotations

import inspect
import re

import broken_models
import pytest
from broken_models import CASES, PADDED, TOKENS, Case, P, right
from torch import Tensor

from prefixlm_teach import explain, visibility

WAYS = ("change", "gradient")


def said_of(case: Case, how: str) -> str:
    packed = case.lengths is not None
    try:
        seen = visibility(
            case.model, case.tokens, 0 if packed else case.prefix_len, valid=case.valid, how=how
        )
    except ValueError as refusal:
        return str(refusal)
    return explain(seen, case.prefix_len, valid=case.valid, lengths=case.lengths)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_a_bug_is_called_by_its_name(name: str, how: str) -> None:
    said = said_of(CASES[name], how)
    assert CASES[name].says in said
    assert not said.startswith("Right")


def kinds(said: str) -> set[str]:
    """What is said of a model, without where."""
    heads = [re.split(r" \(|: as if| is NaN:|: \d|: it reaches", line)[0] for line in said.splitlines()]
    return {re.sub(r"^(Example|Document) \d: |^row \d of example \d", "", head) for head in heads} - {
        "Right."
    }


def test_each_kind_of_bug_has_a_sentence_of_its_own_and_nothing_else_is_said() -> None:
    said = {name: kinds(said_of(case, "change")) for name, case in CASES.items()}
    assert said.pop("padding_mask_instead") == {  # the first example has no padding
        "All visible: the labels leak",
        "Padding alone is masked: all else is visible, and the labels leak",
    }
    assert all(len(found) == 1 for found in said.values()), said
    same = [
        {"one_mask_for_all", "boundary_of_the_longest", "mask_without_heads"},
        {"all_ones", "zeros_and_ones"},
        {"inverted", "two_readings"},
        {"window_before_prefix", "upper_left"},
        {"blind_rows", "too_large_for_half"},
        {"batch_second", "packed_by_precedence"},
    ]
    groups = {frozenset(name for name in said if said[name] == kind) for kind in said.values()}
    assert {group for group in groups if len(group) > 1} == {frozenset(group) for group in same}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("valid", [None, PADDED])
def test_the_model_that_they_were_made_from_is_right(valid: Tensor | None, how: str) -> None:
    seen = visibility(right, TOKENS, P, valid=valid, how=how)
    assert explain(seen, P, valid=valid).startswith(
        "Right: each row sees what a prefix LM with its own p shows it"
    )


def test_every_model_of_the_catalogue_is_tried() -> None:
    source = inspect.getsource(broken_models)
    assert set(re.findall(r"^def (\w+)\(", source, re.MULTILINE)) - {"lm", "right"} == set(CASES)
