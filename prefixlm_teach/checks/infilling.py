"""Exercises 8.3 and 8.4: holes that are filled, and a middle that is not to be lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from prefixlm_teach.checks.functions import FunctionExercise, Mistake
from prefixlm_teach.checks.row_forms import Ids

PAD, END, PRE, MID, SUF = 0, 1, 4, 5, 6  # as on the page
SENTINELS = [60, 59, 58, 57]

Spans = dict[int, list[int]]


def spans_of(answer: Sequence[int], sentinels: Sequence[int]) -> Spans:
    """Return the span behind each sentinel of an answer, up to its end if it has one."""
    read = list(answer)
    return all_spans(read[: read.index(END)] if END in read else read, sentinels)


def all_spans(answer: Sequence[int], sentinels: Sequence[int]) -> Spans:
    """Return the span behind each sentinel, whatever is in it."""
    spans: Spans = {}
    for id_ in answer:
        if id_ in sentinels:
            spans[id_] = []
        else:
            spans[[*spans][-1]].append(id_)
    return spans


def filled(prefix: Sequence[int], span: Callable[[int], Sequence[int]]) -> list[int]:
    """Return a text without its end, each id replaced by what `span` gives for it."""
    return [id_ for hole in prefix if hole != END for id_ in span(hole)]


def fill_holes(prefix: Sequence[int], answer: Sequence[int], sentinels: Sequence[int]) -> list[int]:
    """What is expected of exercise 8.3."""
    spans = spans_of(answer, sentinels)
    return filled(prefix, lambda id_: spans.get(id_, [id_]))


def in_their_order(prefix: Sequence[int], answer: Sequence[int], sentinels: Sequence[int]) -> list[int]:
    """The first hole gets the first span."""
    holes = [id_ for id_ in prefix if id_ in sentinels]
    spans = dict(zip(holes, spans_of(answer, sentinels).values(), strict=False))
    return filled(prefix, lambda id_: spans.get(id_, [id_]))


def sentinels_stay(prefix: Sequence[int], answer: Sequence[int], sentinels: Sequence[int]) -> list[int]:
    """The sentinel stands in front of what was filled in."""
    spans = spans_of(answer, sentinels)
    return filled(prefix, lambda id_: [id_, *spans.get(id_, [])])


def end_stays(prefix: Sequence[int], answer: Sequence[int], sentinels: Sequence[int]) -> list[int]:
    """The end of the prefix is still there."""
    return [*fill_holes(prefix, answer, sentinels), END]


def past_the_end(prefix: Sequence[int], answer: Sequence[int], sentinels: Sequence[int]) -> list[int]:
    """The end of the answer, and what follows, is taken for a part of the last span."""
    spans = all_spans(answer, sentinels)
    return filled(prefix, lambda id_: spans.get(id_, [id_]))


def one_token_each(prefix: Sequence[int], answer: Sequence[int], sentinels: Sequence[int]) -> list[int]:
    """A hole gets the first token of its span."""
    spans = spans_of(answer, sentinels)
    return filled(prefix, lambda id_: spans.get(id_, [id_])[:1])


def last_span_lost(prefix: Sequence[int], answer: Sequence[int], sentinels: Sequence[int]) -> list[int]:
    """A span is kept only when the next sentinel comes."""
    spans = spans_of(answer, sentinels)
    spans.popitem()
    return filled(prefix, lambda id_: spans.get(id_, [id_]))


def span_in_front(prefix: Sequence[int], answer: Sequence[int], sentinels: Sequence[int]) -> list[int]:
    """A hole gets what stands in front of its sentinel."""
    found = spans_of(answer, sentinels)
    spans = dict(zip(found, [[], *found.values()], strict=False))
    return filled(prefix, lambda id_: spans.get(id_, [id_]))


def holes_vanish(prefix: Sequence[int], answer: Sequence[int], sentinels: Sequence[int]) -> list[int]:
    """A hole that the answer doesn't name is gone."""
    spans = spans_of(answer, sentinels)
    return filled(prefix, lambda id_: spans.get(id_, [] if id_ in sentinels else [id_]))


def at_the_end(prefix: Sequence[int], answer: Sequence[int], sentinels: Sequence[int]) -> list[int]:
    """The spans follow the text."""
    spans = spans_of(answer, sentinels)
    kept = [id_ for id_ in prefix if id_ != END and id_ not in sentinels]
    return [*kept, *(id_ for span in spans.values() for id_ in span)]


def hole_inputs(seed: int) -> list[dict[str, Any]]:
    """Texts and answers: in order, out of order, cut short, padded, with holes left out; and twelve drawn."""
    draw = torch.Generator().manual_seed(seed)

    def number(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=draw))

    def words(count: int) -> list[int]:
        return torch.randint(10, 50, (count,), generator=draw).tolist()

    cases = [
        ([11, 60, 12, END], [60, 21, 22, END]),
        ([60, 11, 59, END], [59, 21, 22, 60, 23, END, PAD]),
        ([11, 60, 12, 59, 13, END], [60, 21, 59, 22, 23, 58, END]),
        ([11, 60, 12, 59, 13, END], [59, 21, 22]),
        ([11, 12, END], [60, END]),
    ]
    for i in range(12):
        count = number(1, 3)
        holes = SENTINELS[:count]
        prefix = [id_ for hole in holes for id_ in (*words(number(0, 2)), hole)]
        named = [holes[j] for j in torch.randperm(count, generator=draw)[: number(1, count)]]
        answer = [id_ for hole in named for id_ in (hole, *words(number(1, 3)))]
        ending = ([END], [END, PAD, PAD], [], [SENTINELS[count], END])[i % 4]
        cases.append(([*prefix, *words(number(0, 2)), END], [*answer, *ending]))
    return [{"prefix": prefix, "answer": answer, "sentinels": SENTINELS[:]} for prefix, answer in cases]


def psm(before: Sequence[int], middle: Sequence[int], after: Sequence[int]) -> list[int]:
    """Return a whole row: prefix, suffix, middle, and the end."""
    return [PRE, *before, SUF, *after, MID, *middle, END]


def fim_row(
    before: list[int], middle: list[int], after: list[int], longest: int, *, room: int = 4
) -> list[int]:
    """What is expected of exercise 8.4; `room` is kept for the special tokens."""
    left = max(longest - room - len(middle), 0)
    kept_after = max(left - len(before), 0)
    start = max(len(before) - left, 0)
    return psm(before[start:], middle, after[:kept_after])


def cut_at_the_right(before: list[int], middle: list[int], after: list[int], longest: int) -> list[int]:
    """The code that is handed out."""
    return psm(before, middle, after)[:longest]


def cut_at_the_left(before: list[int], middle: list[int], after: list[int], longest: int) -> list[int]:
    """The row loses its beginning."""
    return psm(before, middle, after)[-longest:]


def near_the_gap(before: list[int], middle: list[int], after: list[int], longest: int) -> list[int]:
    """The suffix loses its first tokens."""
    kept = fim_row(before, middle, after, longest)
    count = kept.index(MID) - kept.index(SUF) - 1
    return [*kept[: kept.index(SUF) + 1], *after[len(after) - count :], *kept[kept.index(MID) :]]


def prefix_from_its_end(before: list[int], middle: list[int], after: list[int], longest: int) -> list[int]:
    """The prefix loses its last tokens."""
    kept = fim_row(before, middle, after, longest)
    return [PRE, *before[: kept.index(SUF) - 1], *kept[kept.index(SUF) :]]


def prefix_goes_first(before: list[int], middle: list[int], after: list[int], longest: int) -> list[int]:
    """The prefix is shortened before the suffix is."""
    left = longest - 4 - len(middle)
    start = min(max(len(before) + len(after) - left, 0), len(before))
    return psm(before[start:], middle, after[:left])


def empty_slices(before: list[int], middle: list[int], after: list[int], longest: int) -> list[int]:
    """`after[:-0]` is empty: where nothing is too long, the suffix goes."""
    fits = len(psm(before, middle, after)) <= longest
    return psm(before, middle, []) if fits else fim_row(before, middle, after, longest)


def all_or_nothing(before: list[int], middle: list[int], after: list[int], longest: int) -> list[int]:
    """A row that is too long loses its whole suffix."""
    fits = len(psm(before, middle, after)) <= longest
    return psm(before, middle, after) if fits else fim_row(before, middle, [], longest)


def only_the_suffix(before: list[int], middle: list[int], after: list[int], longest: int) -> list[int]:
    """The suffix is cut, and where that isn't enough, the row stays too long."""
    return psm(before, middle, after[: max(longest - 4 - len(middle) - len(before), 0)])


def middle_lost(room: int) -> Callable[..., list[int]]:
    """The parts are cut with room for too few marks, and what is then too long goes at the right."""
    return lambda before, middle, after, longest: fim_row(before, middle, after, longest, room=room)[:longest]


def spm_instead(before: list[int], middle: list[int], after: list[int], longest: int) -> list[int]:
    """The parts are cut well, and stand in the other order."""
    kept = fim_row(before, middle, after, longest)
    b, a = kept[1 : kept.index(SUF)], kept[kept.index(SUF) + 1 : kept.index(MID)]
    return [PRE, SUF, *a, MID, *b, *middle, END]


def fim_inputs(seed: int) -> list[dict[str, Any]]:
    """Documents that fit, just don't, lose some or all of a part; parts that are empty; and ten drawn."""
    draw = torch.Generator().manual_seed(seed)
    sizes = [
        (2, 2, 3, 9),
        (2, 1, 2, 9),
        (2, 2, 2, 10),
        (3, 2, 2, 8),
        (0, 3, 4, 8),
        (3, 3, 0, 8),
        (2, 2, 2, 6),
    ]
    for _ in range(10):
        b, m, a = torch.randint(0, 6, (3,), generator=draw).tolist()
        sizes.append((b, m, a, int(torch.randint(m + 4, b + m + a + 6, (), generator=draw))))
    cases = []
    for b, m, a, longest in sizes:
        document = (torch.randperm(40, generator=draw)[: b + m + a] + 10).tolist()
        cases.append(
            {
                "before": document[:b],
                "middle": document[b : b + m],
                "after": document[b + m :],
                "longest": longest,
            }
        )
    return cases


FILL_HOLES = FunctionExercise(
    "8.3",
    "fill_holes",
    inputs=hole_inputs,
    truth=fill_holes,
    form=Ids({PAD: "<pad>", END: "<end>"}),
    mistakes=[
        Mistake("nothing was filled in", lambda prefix, answer, sentinels: prefix[:-1]),
        Mistake("a hole gets the span that comes next, not the one behind its sentinel", in_their_order),
        Mistake("the sentinels still stand in the text", sentinels_stay),
        Mistake("the end of the prefix is still there", end_stays),
        Mistake("the answer is read past its end: `<end>` and padding are no part of a span", past_the_end),
        Mistake("of each span only the first token is filled in", one_token_each),
        Mistake("the answer's last span is lost: no sentinel follows to close it", last_span_lost),
        Mistake("a hole gets what stands in front of its sentinel in the answer", span_in_front),
        Mistake("a hole that the answer doesn't name has vanished: it stays", holes_vanish),
        Mistake("the spans follow at the end of the text, and not in their holes", at_the_end),
    ],
    hints=(
        "First cut off the answer at its `<end>`, if there is one.",
        "Go through what is left and collect, for each sentinel, the ids behind it: a dict does it.",
        "Then go through the prefix: a sentinel in the dict becomes its ids, everything else stays.",
    ),
)

FIM_ROW = FunctionExercise(
    "8.4",
    "fim_row",
    inputs=fim_inputs,
    truth=fim_row,
    form=Ids({PAD: "<pad>", END: "<end>", PRE: "<pre>", MID: "<mid>", SUF: "<suf>"}),
    mistakes=[
        Mistake("the code is as it was handed out", cut_at_the_right, as_given=True),
        Mistake("the row is cut at its left, and `<pre>` goes first", cut_at_the_left),
        Mistake("the suffix loses its first tokens, those next to the gap", near_the_gap),
        Mistake("the prefix loses its last tokens, those next to the gap", prefix_from_its_end),
        Mistake("the prefix is shortened before the suffix", prefix_goes_first),
        Mistake(
            "where something is cut, `<end>` goes too: the model never learns to stop", middle_lost(room=3)
        ),
        Mistake("the special tokens were not counted: the row is too long", partial(fim_row, room=0)),
        Mistake(
            "the special tokens were not counted, so that the last cut still takes the middle",
            middle_lost(room=0),
        ),
        Mistake("`<end>` was not counted: a row is too long by one", partial(fim_row, room=3)),
        Mistake("one token less than there is room for", partial(fim_row, room=5)),
        Mistake("where nothing is too long, the suffix is gone: a slice [:-0] is empty", empty_slices),
        Mistake("a row that is too long loses its whole suffix, more than it has to", all_or_nothing),
        Mistake("where the whole suffix isn't enough, the row stays too long", only_the_suffix),
        Mistake(
            "where the whole suffix isn't enough, the middle goes next: the prefix should",
            lambda *parts: only_the_suffix(*parts)[: parts[-1]],
        ),
        Mistake("suffix and prefix have changed places: this is SPM", spm_instead),
    ],
    hints=(
        "How many ids have to go? Count the four special ones too.",
        "Cut the parts before you put them together: as many as it has off the suffix, the rest off the "
        "prefix.",
        "Compute how many are kept instead of how many go: after[:kept] is right for 0 as well, "
        "after[:-cut] isn't.",
    ),
)
