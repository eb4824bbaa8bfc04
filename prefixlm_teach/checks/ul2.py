"""The exercises of chapter 9."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Number, Numbers, Words
from prefixlm_teach.checks.functions import FunctionExercise, Mistake
from prefixlm_teach.checks.row_forms import Ids
from prefixlm_teach.checks.values import StateExercise, ValueExercise
from prefixlm_teach.spans import span_counts

MODES = ("[NLU]", "[S2S]", "[NLG]")
END = 1


def first_length(tokens: int) -> int:
    """The shortest text of which R hides so many tokens."""
    return next(length for length in range(8, 99) if span_counts(length, 0.15, 3.0)[0] >= tokens)


def second_hole() -> int:
    """What is expected of exercise 9.2."""
    return next(length for length in range(8, 99) if span_counts(length, 0.15, 3.0)[1] == 2)


def summed_to_one(numbers: Tensor) -> Tensor:
    """Divide numbers by their sum."""
    return numbers / numbers.sum()


def floats(numbers: Sequence[int]) -> Tensor:
    """Numbers as a tensor of float64."""
    return torch.tensor(numbers, dtype=torch.float64)


def quotients(labels: Sequence[int], wanted: Sequence[int]) -> Tensor:
    """How often to draw each, up to a factor."""
    return floats(wanted) / floats(labels)


def draw_shares(labels: Sequence[int], wanted: Sequence[int]) -> Tensor:
    """What is expected of exercise 9.3."""
    return summed_to_one(quotients(labels, wanted))


def share_inputs(seed: int) -> list[dict[str, Any]]:
    """Two denoisers, then three, one alone, one that isn't wanted, and ten drawn."""
    draw = torch.Generator().manual_seed(seed)
    cases = [([20, 60], [1, 1]), ([104, 342, 129], [1, 1, 2]), ([50], [3]), ([10, 40], [1, 0])]
    for i in range(10):
        count = 2 + i % 3
        labels = torch.randint(5, 400, (count,), generator=draw).tolist()
        cases.append((labels, torch.randint(1, 6, (count,), generator=draw).tolist()))
    return [{"labels": labels, "wanted": wanted} for labels, wanted in cases]


Hole = tuple[int, int]


def replaced(row: Sequence[int], spans: Sequence[Hole], sentinels: Sequence[int]) -> list[int]:
    """Return a row with a sentinel in the place of each span."""
    made, at = list[int](), 0
    for (start, stop), sentinel in zip(spans, sentinels, strict=False):
        made += [*row[at:start], sentinel]
        at = stop
    return [*made, *row[at:]]


def named(symbols: Sequence[str], first: int = 0) -> list[int]:
    """Return the ids of the sentinels, found by their names."""
    ids = {symbol: id_ for id_, symbol in enumerate(symbols)}
    return [ids[f"<x{i}>"] for i in range(first, 13)]


def with_holes(row: Sequence[int], spans: Sequence[Hole], symbols: Sequence[str]) -> list[int]:
    """What is expected of exercise 9.4."""
    return replaced(row, spans, named(symbols))


def counted_down(
    row: Sequence[int], spans: Sequence[Hole], symbols: Sequence[str], *, first: int
) -> list[int]:
    """The sentinels are counted down from an id."""
    return replaced(row, spans, range(first, first - 13, -1))


def sorted_by_name(row: Sequence[int], spans: Sequence[Hole], symbols: Sequence[str]) -> list[int]:
    """As text, <x10> comes before <x2>."""
    return replaced(
        row,
        spans,
        [id_ for _, id_ in sorted(zip(symbols, range(999), strict=False)) if id_ in named(symbols)],
    )


def stop_too(row: Sequence[int], spans: Sequence[Hole], symbols: Sequence[str]) -> list[int]:
    """The token behind a span is taken for its last one."""
    return replaced(row, [(start, stop + 1) for start, stop in spans], named(symbols))


def one_for_each_token(row: Sequence[int], spans: Sequence[Hole], symbols: Sequence[str]) -> list[int]:
    """Each hidden token leaves a sentinel."""
    made = list(row)
    for (start, stop), sentinel in zip(spans, named(symbols), strict=False):
        made[start:stop] = [sentinel] * (stop - start)
    return made


def vocabularies(draw: torch.Generator) -> list[list[str]]:
    """As it was when the code was written, with modes behind, with more behind, and in other orders."""
    usual = ["<pad>", "<end>", *(f"w{i}" for i in range(20))]
    falling = [f"<x{i}>" for i in range(12, -1, -1)]
    mixed = [falling[i] for i in torch.randperm(13, generator=draw)]
    return [
        [*usual, *falling, *MODES],
        [*usual, *falling],
        [*usual, *falling, "<sep>"],
        [*MODES, *falling, *usual],
        [*usual, *reversed(falling), *MODES],
        [*usual, *mixed, *MODES],
        [*mixed, *usual],
    ]


def sentinel_inputs(seed: int) -> list[dict[str, Any]]:
    """A row with one hole, drawn ones with none to five in each vocabulary, and one in which two touch."""
    draw = torch.Generator().manual_seed(seed)
    cases = []
    for i, symbols in enumerate(vocabularies(draw) + vocabularies(draw)):
        words = [symbols.index(f"w{j}") for j in torch.randperm(20, generator=draw).tolist()]
        cuts = torch.randperm(17, generator=draw)[: 2 * (i % 6)].sort().values.tolist()
        spans = [(2, 4)] if i == 0 else list(zip(cuts[::2], cuts[1::2], strict=True))
        cases.append({"row": words[: 6 if i == 0 else 16], "spans": spans, "symbols": symbols})
    cases.append(
        {"row": list(range(2, 10)), "spans": [(0, 2), (2, 5), (6, 8)], "symbols": vocabularies(draw)[0]}
    )
    return cases


def is_long(explorer: Any) -> bool:
    """Whether the spans alone would make a denoiser extreme."""
    return bool(explorer.mean_span >= 12)


def many(explorer: Any) -> bool:
    """Whether the rate alone would."""
    return bool(explorer.rate >= 0.3)


def holes_in(explorer: Any) -> int:
    """How many sentinels the prefix holds."""
    return sum(symbol.startswith("<x") for symbol in explorer.row[: explorer.made.prefix_len])


EXERCISES = (
    ValueExercise(
        "9.1",
        "whose_sentinel",
        truth=lambda: ("[NLU]", "[NLG]"),
        form=Words(MODES),
        mistakes={
            "R fills holes, but it is not the only kind that does": lambda: ("[NLU]",),
            "X fills holes, but it is not the only kind that does": lambda: ("[NLG]",),
            "This one announces S, whose target is the end of the text and holds no sentinel": (
                lambda: ("[S2S]",)
            ),
            "One of the three can't have stood there: its kind never writes a sentinel": lambda: MODES,
            "R belongs there; the other announces S, which never writes a sentinel": (
                lambda: ("[NLU]", "[S2S]")
            ),
            "X belongs there; the other announces S, which never writes a sentinel": (
                lambda: ("[S2S]", "[NLG]")
            ),
        },
        hints=(
            "What does each token announce: R, X or S?",
            "With what does the target of each kind begin? The first cell of the chapter prints one of each.",
        ),
    ),
    ValueExercise(
        "9.2",
        "second_hole",
        truth=second_hole,
        form=Number(),
        mistakes={
            "4.5 is a tie, and a tie is rounded to the even number: four tokens are still one hole": lambda: (
                30
            ),
            "You waited for a sixth token: five are enough, since round(5 / 3) is 2": lambda: first_length(6),
            "You waited for two whole spans, of six tokens in all, and rounded neither number": lambda: 40,
            "You rounded the number of tokens down: 4.65 becomes 5": lambda: 34,
            "You rounded the number of tokens up: it goes to the nearest whole number": lambda: 27,
            "You rounded the number of spans up: four tokens make round(4 / 3), which is 1": (
                lambda: first_length(4)
            ),
            "With so few tokens there is one span, and no more": lambda: first_length(3),
        },
        hints=(
            "Two numbers are rounded, one after the other: the tokens that are hidden, then the spans.",
            "From how many hidden tokens on are there two spans?",
            "Five. And from which length on does 0.15 of it become 5? Mind the tie.",
        ),
    ),
    FunctionExercise(
        "9.3",
        "draw_shares",
        inputs=share_inputs,
        truth=draw_shares,
        form=Numbers(),
        mistakes=[
            Mistake(
                "these would be right if every denoiser asked for as many labels as the others",
                lambda labels, wanted: summed_to_one(floats(wanted)),
            ),
            Mistake(
                "each is drawn equally often in yours, and then who asks for more has the larger share",
                lambda labels, wanted: summed_to_one(torch.ones(len(labels))),
            ),
            Mistake(
                "you multiply by the labels: who asks for more must be drawn less often, not more",
                lambda labels, wanted: summed_to_one(floats(wanted) * floats(labels)),
            ),
            Mistake(
                "you return which share of the labels each has when all are drawn equally often",
                lambda labels, wanted: summed_to_one(floats(labels)),
            ),
            Mistake(
                "you don't use `wanted`: this gives all of them equal shares of the labels",
                lambda labels, wanted: summed_to_one(1 / floats(labels)),
            ),
            Mistake("you don't divide by the sum: what you return doesn't add up to 1", quotients),
            Mistake(
                "`wanted` adds up to 1 in yours, but what you return doesn't: the quotients have to",
                lambda labels, wanted: summed_to_one(floats(wanted)) / floats(labels),
            ),
            Mistake(
                "a softmax doesn't keep proportions: divide by the sum",
                lambda labels, wanted: quotients(labels, wanted).softmax(0),
            ),
            Mistake(
                "you divide by the largest: divide by the sum",
                lambda labels, wanted: quotients(labels, wanted) / quotients(labels, wanted).max(),
            ),
            Mistake(
                "the quotient is upside down: labels stand below, what is wanted above",
                lambda labels, wanted: summed_to_one(floats(labels) / floats(wanted)),
            ),
        ],
        hints=(
            "Drawn with probability q, a denoiser of n labels has a share of them in proportion to q n.",
            "So q n has to be in proportion to what is wanted. Which q does that give, up to a factor?",
            "Wanted divided by labels. Choose the factor so that they add up to 1.",
        ),
    ),
    FunctionExercise(
        "9.4",
        "with_holes",
        inputs=sentinel_inputs,
        truth=with_holes,
        form=Ids(),
        mistakes=[
            Mistake(
                "the code is as it was handed out",
                lambda row, spans, symbols: counted_down(row, spans, symbols, first=len(symbols) - 1),
                as_given=True,
            ),
            Mistake(
                "you go down from below the three modes: another vocabulary ends otherwise",
                lambda row, spans, symbols: counted_down(row, spans, symbols, first=len(symbols) - 4),
            ),
            Mistake(
                "`<x0>` is found, but from there you count down, and `<x1>` may stand anywhere",
                lambda row, spans, symbols: counted_down(row, spans, symbols, first=named(symbols)[0]),
            ),
            Mistake(
                "`<x0>` is found, but from there you count up, and `<x1>` may stand anywhere",
                lambda row, spans, symbols: replaced(row, spans, range(named(symbols)[0], 99)),
            ),
            Mistake("sorted as text, `<x10>` comes before `<x2>`", sorted_by_name),
            Mistake(
                "you take the sentinels from the lowest id on; their names say which is first",
                lambda row, spans, symbols: replaced(row, spans, sorted(named(symbols))),
            ),
            Mistake(
                "you take the sentinels from the highest id on; their names say which is first",
                lambda row, spans, symbols: replaced(row, spans, sorted(named(symbols), reverse=True)),
            ),
            Mistake(
                "the first hole is `<x1>` in yours: they are counted from 0",
                lambda row, spans, symbols: replaced(row, spans, named(symbols, first=1)),
            ),
            Mistake(
                "every hole has the same sentinel in yours, so that the target can't tell them apart",
                lambda row, spans, symbols: replaced(row, spans, named(symbols)[:1] * len(spans)),
            ),
            Mistake("a hole takes one token more than it should: `stop` isn't included", stop_too),
            Mistake(
                "a hole leaves a sentinel for each of its tokens; it should leave one", one_for_each_token
            ),
            Mistake(
                "the holes have no sentinel at all",
                lambda row, spans, symbols: [
                    id_ for t, id_ in enumerate(row) if not any(a <= t < b for a, b in spans)
                ],
            ),
        ],
        hints=(
            "What stood at `len(symbols) - 1` before the mode tokens were appended, and what does now?",
            "Don't compute the id of a sentinel: ask the vocabulary for it, by its name.",
            "The name of hole i is f'<x{i}>', and symbols.index(name) is its id.",
        ),
    ),
    StateExercise(
        "9.5",
        "by_rate_alone",
        kind="ObjectiveExplorer",
        given=lambda explorer: (
            explorer.objective == "R or X" and explorer.rate == 0.15 and explorer.mean_span == 3
        ),
        goal=lambda explorer: (
            explorer.objective == "R or X"
            and many(explorer)
            and not is_long(explorer)
            and holes_in(explorer) == 1
        ),
        mistakes={
            "S has no holes: choose R or X": lambda explorer: explorer.objective != "R or X",
            "the spans you ask for are long there: by themselves they make it extreme": is_long,
            "it is R there, and not extreme at all": lambda explorer: not many(explorer),
            "it is extreme by its rate alone, but has more than one hole": lambda _: True,
        },
        hints=(
            "From which rate on is a denoiser extreme, whatever its spans? And from which span on?",
            "A hole is single where the hidden tokens, divided by the span, round to 1.",
            "With 28 words a rate of 0.3 hides eight. Which span below twelve makes one hole of them?",
        ),
    ),
)
