"""Checks on what the objective explorer is to show, before it is made; and on what an objective makes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from prefixlm_teach.arguments import check_int, check_share, kind_of
from prefixlm_teach.data import Vocabulary
from prefixlm_teach.examples import Examples
from prefixlm_teach.objective_arguments import check_mean_span
from prefixlm_teach.picture_arguments import check_strings, check_tokens
from prefixlm_teach.word_arguments import check_known

LONGEST = 32  # tokens of a sentence: up to so many, a grid names each row
SETTINGS = 1024  # of one objective: each is applied once for each of them
LARGEST = 2**18  # letters of a table: a page that carries more of them opens slowly

# What an objective may ask for by name, each with a slider of its own.
SLIDERS = ("rate", "mean_span", "seed")


def sliders_of(objective: Callable[..., Any]) -> tuple[str, ...]:
    """Return which of `SLIDERS` an objective asks for; what a partial has filled in, it asks for no more."""
    asked = inspect.signature(objective).parameters
    filled = objective.keywords if isinstance(objective, partial) else {}
    return tuple(name for name in SLIDERS if name in asked and name not in filled)


def check_objectives(objectives: Any) -> None:
    """Raise unless `objectives` names at least one objective, each called with rows and with its sliders."""
    if not isinstance(objectives, Mapping):
        raise TypeError(f"objectives must be a dict from name to objective, not {kind_of(objectives)}")
    if not objectives:
        raise ValueError("objectives is empty: there is nothing to show")
    for name, objective in objectives.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of an objective must be a string, not {kind_of(name)}")
        if not callable(objective):
            raise TypeError(
                f"objective {name!r} must be called with a list of rows, not {kind_of(objective)}"
            )
        try:
            inspect.signature(objective).bind([[0]], **dict.fromkeys(sliders_of(objective), 1))
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"objective {name!r} must be called with a list of rows and, by name, with any of "
                f"{', '.join(SLIDERS)}: {error}. Use functools.partial to fill in the rest"
            ) from error


def check_sentence(tokens: Any, vocabulary: Any, noise_after: Any) -> None:
    """Raise unless `tokens` are strings that `vocabulary` knows, not all alike, and so are `noise_after`."""
    check_tokens(tokens)
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(f"vocabulary must be a Vocabulary, not {kind_of(vocabulary)}")
    if len(tokens) > LONGEST:
        raise ValueError(f"tokens has {len(tokens)} tokens, and this explorer shows at most {LONGEST}")
    check_known("token", tokens, vocabulary.ids)
    if len(set(tokens)) == 1:
        raise ValueError(f"tokens are all {tokens[0]!r}: where each of them goes could not be told")
    check_strings("noise_after", noise_after, "symbol")
    check_known("symbol of noise_after", noise_after, vocabulary.ids)


def check_stops(rates: Any, mean_spans: Any, draws: Any) -> None:
    """Raise unless `rates` and `mean_spans` are rising numbers in range, and `draws` is at least 1."""
    for name, stops in (("rates", rates), ("mean_spans", mean_spans)):
        if isinstance(stops, str) or not isinstance(stops, Sequence):
            raise TypeError(f"{name} must be a list of numbers, not {kind_of(stops)}")
        if not stops:
            raise ValueError(f"{name} is empty: a slider needs at least one value")
    for i, rate in enumerate(rates):
        check_share(f"rates[{i}]", rate)
    for mean_span in mean_spans:
        check_mean_span(mean_span)
        if mean_span > 64:
            raise ValueError(f"mean_spans has {mean_span}, and a slider goes up to 64")
    for name, stops in (("rates", rates), ("mean_spans", mean_spans)):
        for i, stop in enumerate(stops):
            if round(stop, 3) != stop:
                raise ValueError(f"{name}[{i}] is {stop}, and a slider names at most three decimals")
            if i and stop <= stops[i - 1]:
                raise ValueError(f"{name} must rise, but {stop} comes after {stops[i - 1]}")
    check_int("draws", draws, minimum=1)
    if len(rates) * len(mean_spans) * draws > SETTINGS:
        raise ValueError(
            f"{len(rates)} rates, {len(mean_spans)} mean_spans and {draws} draws are more than {SETTINGS} "
            "settings: leave some out"
        )


def check_stop(name: str, value: Any, stops: Sequence[float]) -> None:
    """Raise unless `value` is one of the `stops` of a slider."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {kind_of(value)}")
    if value not in stops:
        raise ValueError(f"{name} {value} is not one of {', '.join(map(plain, stops))}")


def check_draw(value: Any, draws: int) -> None:
    """Raise unless `value` is the number of a draw."""
    check_int("draw", value, minimum=0)
    if value >= draws:
        raise ValueError(f"draw is {value}, and the last is number {draws - 1}")


def check_one_made(name: str, made: Any, vocab_size: int) -> None:
    """Raise unless `made`, what an objective made of one row, is one example of known ids."""
    if not isinstance(made, Examples):
        raise TypeError(f"objective {name!r} must return Examples, not {kind_of(made)}")
    if len(made.tokens) != 1:
        raise TypeError(f"objective {name!r} makes {len(made.tokens)} examples of one row: one can be shown")
    highest = max(int(made.tokens.max()), int(made.labels.max()))
    if highest >= vocab_size:
        raise TypeError(
            f"objective {name!r} gives the id {highest}, but the vocabulary's go from 0 to {vocab_size - 1}"
        )


def plain(number: float) -> str:
    """Write a number of at most three decimals as JavaScript does: 0.15, 3."""
    return f"{number:.3f}".rstrip("0").rstrip(".")
