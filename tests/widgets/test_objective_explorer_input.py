"""Bad input to the objective explorer: named in the reader's words, before anything is drawn."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from shown_objective import SENTENCE, make, vocabulary_of

from prefixlm_teach import (
    Examples,
    ObjectiveExplorer,
    causal_lm,
    masked_lm,
    prefix_lm,
    span_corruption,
)

VOCABULARY = vocabulary_of(SENTENCE)
V = len(VOCABULARY)
FRESH = np.random.default_rng(0)


def in_order(rows: list[list[int]]) -> Examples:
    """An objective that looks at which tokens there are: it sorts them."""
    return prefix_lm([sorted(rows[0])], prefix_len=2)


def in_any_order(rows: list[list[int]]) -> Examples:
    """An objective that draws anew at each call."""
    return prefix_lm([[rows[0][i] for i in FRESH.permutation(len(rows[0]))]], prefix_len=2)


def knows_only(rows: list[list[int]]) -> Examples:
    """An objective that takes one sentence, and no other of its words."""
    if VOCABULARY.decode(rows[0]) != SENTENCE:
        raise ValueError("no such text")
    return prefix_lm(rows, prefix_len=2)


def raising(error: Exception) -> Any:
    """An objective that raises an error."""

    def raises(rows: list[list[int]], *, rate: float, seed: int) -> Examples:
        raise error

    return raises


def doubled(rows: list[list[int]], times: int) -> Examples:
    """An objective whose row grows."""
    return causal_lm([rows[0] * times])


GOOD: dict[str, Any] = {"objectives": {"a": causal_lm}, "tokens": SENTENCE, "vocabulary": VOCABULARY}
BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"objectives": [causal_lm]}, TypeError, "objectives must be a dict from name to objective, not list"),
    ({"objectives": {}}, ValueError, "objectives is empty: there is nothing to show"),
    ({"objectives": {1: causal_lm}}, TypeError, "the name of an objective must be a string, not int (1)"),
    ({"objectives": {"a": 3}}, TypeError, "objective 'a' must be called with a list of rows, not int (3)"),
    (
        {"objectives": {"a": span_corruption}},
        TypeError,
        "missing a required argument: 'vocab_size'. Use functools",
    ),
    (
        {"objectives": {"a": lambda: None}},
        TypeError,
        "objective 'a' must be called with a list of rows and, by name",
    ),
    ({"objectives": {"a": dict}}, TypeError, "objective 'a' must "),
    ({"objectives": {"a": lambda rows: rows}}, TypeError, "objective 'a' must return Examples, not list"),
    (
        {"objectives": {"a": lambda rows: causal_lm([*rows, *rows])}},
        TypeError,
        "objective 'a' makes 2 examples of one row: one can be shown",
    ),
    (
        {"objectives": {"a": lambda rows: causal_lm([[*rows[0], V]])}},
        TypeError,
        f"objective 'a' gives the id {V}, but the vocabulary's go from 0 to {V - 1}",
    ),
    (
        {"objectives": {"a": partial(masked_lm, vocab_size=V, mask_id=V)}},
        ValueError,
        f"objective 'a' is impossible at every setting: mask_id is {V}, but ids go from 0 to",
    ),
    ({"objectives": {"a": partial(prefix_lm, prefix_len=2)}}, TypeError, "pass prefix_len or seed, not both"),
    (
        {"objectives": {"a": in_order}},
        ValueError,
        "objective 'a' draws by which tokens there are, so that words that come twice cannot be told apart: "
        "give each token of the sentence a symbol of its own",
    ),
    (
        {"objectives": {"a": in_any_order}},
        ValueError,
        "objective 'a' makes something else of the same sentence when it is called again",
    ),
    (
        {"objectives": {"a": knows_only}},
        ValueError,
        "objective 'a' takes the sentence, but not other tokens in its places (no such text), so that words "
        "that come twice cannot be told apart: give",
    ),
    (
        {"objectives": {"a": raising(KeyError("cat"))}},
        RuntimeError,
        "objective 'a', rate 0.15, seed 0 raised KeyError: 'cat'",
    ),
    (
        {"objectives": {"a": raising(RuntimeError("no room"))}},
        RuntimeError,
        "objective 'a', rate 0.15, seed 0 raised RuntimeError: no room",
    ),
    (
        {"objectives": {"a": raising(TypeError("no list"))}},
        TypeError,
        "objective 'a', rate 0.15, seed 0 raised TypeError: no list",
    ),
    (
        {"objectives": {"a": raising(ValueError(""))}},
        ValueError,
        "objective 'a' is impossible at every setting: the objective raised a ValueError without words",
    ),
    (
        {"objectives": {"a": partial(doubled, times=43)}},
        ValueError,
        "objective 'a' makes a row of 258 tokens, and this explorer shows at most 256: use a shorter",
    ),
    (
        {"tokens": "the cat"},
        TypeError,
        "tokens must be a list of strings, one per token: use 'the cat'.split()",
    ),
    ({"tokens": 3}, TypeError, "tokens must be a list of strings, not int (3)"),
    ({"tokens": ["the", 3]}, TypeError, "token 1 must be a string, not int (3)"),
    ({"tokens": []}, ValueError, "tokens is empty: there is nothing to show"),
    ({"tokens": ["the"]}, ValueError, "tokens are all 'the': where each of them goes could not be told"),
    ({"tokens": ["the", "the"]}, ValueError, "tokens are all 'the'"),
    ({"tokens": ["the", "dog"]}, ValueError, "unknown token 'dog'"),
    ({"tokens": ["the", "cat"] * 17}, ValueError, "tokens has 34 tokens, and this explorer shows at most 32"),
    ({"vocabulary": list(VOCABULARY.symbols)}, TypeError, "vocabulary must be a Vocabulary, not list"),
    ({"rates": 0.2}, TypeError, "rates must be a list of numbers, not float (0.2)"),
    ({"rates": "0.2"}, TypeError, "rates must be a list of numbers, not str"),
    ({"rates": []}, ValueError, "rates is empty: a slider needs at least one value"),
    ({"rates": [0.2, "x"]}, TypeError, "rates[1] must be a number, not str ('x')"),
    ({"rates": [True]}, TypeError, "rates[0] must be a number, not bool (True)"),
    ({"rates": [0.0]}, ValueError, "rates[0] must be above 0 and below 1, not 0.0"),
    ({"rates": [math.nan]}, ValueError, "rates[0] must be above 0 and below 1, not nan"),
    ({"rates": [0.2, 1]}, ValueError, "rates[1] must be above 0 and below 1, not 1"),
    ({"rates": [0.3, 0.3]}, ValueError, "rates must rise, but 0.3 comes after 0.3"),
    ({"rates": [0.12345]}, ValueError, "rates[0] is 0.12345, and a slider names at most three decimals"),
    ({"mean_spans": 2}, TypeError, "mean_spans must be a list of numbers, not int (2)"),
    ({"mean_spans": ()}, ValueError, "mean_spans is empty"),
    ({"mean_spans": [None]}, TypeError, "mean_span must be a number, not NoneType"),
    ({"mean_spans": [0.5]}, ValueError, "mean_span must be at least 1 token, and finite, not 0.5"),
    ({"mean_spans": [math.inf]}, ValueError, "mean_span must be at least 1 token, and finite, not inf"),
    ({"mean_spans": [3, 65]}, ValueError, "mean_spans has 65, and a slider goes up to 64"),
    ({"mean_spans": [3, 2]}, ValueError, "mean_spans must rise, but 2 comes after 3"),
    ({"draws": 0}, ValueError, "draws must be at least 1, not 0"),
    ({"draws": 2.0}, TypeError, "draws must be a whole number, not float (2.0)"),
    ({"draws": 100}, ValueError, "4 rates, 4 mean_spans and 100 draws are more than 1024 settings"),
    ({"objective": "b"}, ValueError, "objective 'b' is not one of a"),
    ({"objective": 1}, TypeError, "objective must be a string, not int (1)"),
    ({"rate": 0.2}, ValueError, "rate 0.2 is not one of 0.15, 0.25, 0.35, 0.5"),
    ({"rate": "0.15"}, TypeError, "rate must be a number, not str ('0.15')"),
    ({"mean_span": 4}, ValueError, "mean_span 4 is not one of 1, 2, 3, 8"),
    ({"mean_span": True}, TypeError, "mean_span must be a number, not bool (True)"),
    ({"draw": 8}, ValueError, "draw is 8, and the last is number 7"),
    ({"draw": -1}, ValueError, "draw must be at least 0, not -1"),
    ({"draw": 1.0}, TypeError, "draw must be a whole number, not float (1.0)"),
    ({"noise_after": "</s>"}, TypeError, "noise_after must be a list of strings"),
    ({"noise_after": [1]}, TypeError, "noise_after must be strings, but symbol 0 is int (1)"),
    ({"noise_after": ["<sep>"]}, ValueError, "unknown symbol of noise_after '<sep>'"),
    ({"noise_after": ["</s>", "cat"]}, ValueError, "noise_after has 'cat', and so has the sentence"),
]


@pytest.mark.parametrize(("change", "error", "words"), BAD)
def test_bad_input_is_named(change: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        ObjectiveExplorer(**GOOD | change)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    "change", [{"rates": [2.0]}, {"draws": 0}, {"tokens": ["x", "y"]}, {"draw": 9}, {"rate": 0.9}]
)
def test_bad_input_is_refused_before_anything_is_drawn(change: dict[str, Any]) -> None:
    def never(rows: list[list[int]], *, seed: int) -> Examples:
        raise AssertionError("it was asked")

    with pytest.raises(ValueError, match=r"."):
        ObjectiveExplorer(**GOOD | {"objectives": {"a": never}} | change)


def test_a_table_that_would_slow_a_page_down_is_refused() -> None:
    words = [f"w{i}" for i in range(32)]
    vocabulary = vocabulary_of(words)

    def later(rows: list[list[int]], *, seed: int, rate: float, mean_span: float, by: int) -> Examples:
        given = {"vocab_size": len(vocabulary), "end_id": 1, "rate": rate, "mean_span": mean_span}
        return span_corruption(rows, seed=seed + by, **given)

    objectives = {f"from {by}": partial(later, by=by) for by in range(0, 400, 100)}
    words_of_error = r"the table of all settings has \d+ letters, and an explorer carries at most 262144"
    stops = {"rates": [i / 50 for i in range(10, 21)], "mean_spans": [3, 4, 5, 8], "draws": 16}
    with pytest.raises(ValueError, match=words_of_error):
        ObjectiveExplorer(objectives, words, vocabulary, **stops)


@pytest.mark.parametrize(
    ("trait", "value", "error", "words"),
    [
        ("objective", "best", ValueError, "objective 'best' is not one of Causal LM, Prefix LM, Masked LM"),
        ("objective", 1, TypeError, "objective must be a string, not int (1)"),
        ("rate", 0.3, ValueError, "rate 0.3 is not one of 0.2, 0.4, 0.7"),
        ("rate", math.nan, ValueError, "rate nan is not one of 0.2, 0.4, 0.7"),
        ("mean_span", None, TypeError, "mean_span must be a number, not NoneType"),
        ("mean_span", 3, ValueError, "mean_span 3 is not one of 1, 2"),
        ("draw", 3, ValueError, "draw is 3, and the last is number 2"),
        ("draw", 1.5, TypeError, "draw must be a whole number, not float (1.5)"),
    ],
)
def test_a_bad_value_raises_and_the_old_one_stays(
    trait: str, value: Any, error: type[Exception], words: str
) -> None:
    explorer = make()
    before = explorer.state()
    for set_it in (lambda: setattr(explorer, trait, value), lambda: explorer.set_state({trait: value})):
        with pytest.raises(error) as raised:
            set_it()
        assert words in str(raised.value)
        assert explorer.state() == before


@pytest.mark.parametrize("order", [1, -1])
def test_values_of_which_one_is_refused_leave_all_as_it_was(order: int) -> None:
    explorer = make()
    before = explorer.state()
    values = {"objective": "Masked LM", "rate": 0.4, "mean_span": 2, "draw": 99}
    with pytest.raises(ValueError, match="draw is 99, and the last is number 2"):
        explorer.set_state(dict(list(values.items())[::order]))
    assert explorer.state() == before
    explorer.set_state(values | {"draw": 2})
    assert (explorer.objective, explorer.rate, explorer.mean_span, explorer.draw) == ("Masked LM", 0.4, 2, 2)


def test_a_setting_that_is_impossible_without_words_says_so() -> None:
    def refuses(rows: list[list[int]], *, seed: int) -> Examples:
        if seed:
            raise ValueError(["", "too short. "][seed - 1])
        return causal_lm(rows)

    explorer = ObjectiveExplorer({"a": refuses}, SENTENCE, VOCABULARY, draws=3, draw=1)
    assert explorer.description == "a, draw 1: impossible. the objective raised a ValueError without words."
    explorer.draw = 2
    assert explorer.description == "a, draw 2: impossible. too short."
    assert explorer.row == ()


def test_the_error_of_an_objective_is_kept_as_the_cause() -> None:
    cause = KeyError("cat")
    with pytest.raises(RuntimeError) as raised:
        ObjectiveExplorer(**GOOD | {"objectives": {"a": raising(cause)}})
    assert raised.value.__cause__ is cause


def test_a_row_as_long_as_can_be_shown_is_shown() -> None:
    explorer = ObjectiveExplorer({"a": partial(doubled, times=8)}, SENTENCE * 5 + ["the"] * 2, VOCABULARY)
    assert len(explorer.row) == 256
