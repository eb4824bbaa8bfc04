"""The exercises of chapter 8."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Guesses, Mask
from prefixlm_teach.checks.infilling import FILL_HOLES, FIM_ROW
from prefixlm_teach.checks.values import StateExercise, ValueExercise

ORDERS = {"SPM": "efabcd", "PSM": "abefcd", "sentence": "abcdef"}  # of exercise 8.2; the middle is c d


def in_own_order(read: str) -> Tensor:
    """(6, 6) booleans: who sees whom in the order of the sentence when it is read in the order `read`."""
    when = torch.tensor([read.index(word) for word in ORDERS["sentence"]])
    return when <= when[:, None]


def suffix_first() -> Tensor:
    """What is expected of exercise 8.2."""
    return in_own_order(ORDERS["SPM"])


def suffix_columns() -> Tensor:
    """(6, 6) booleans: the key is a word of the suffix."""
    return (torch.arange(6) >= 4).expand(6, 6)


def both_sides_open() -> Tensor:
    """A prefix mask: what is in front of the middle sees all of itself."""
    place = torch.arange(6)
    return in_own_order(ORDERS["SPM"]) | (place < 2) | (place >= 4)


def suffix_looks_back() -> Tensor:
    """The suffix is seen by all, and itself sees what stands before it in the sentence."""
    return torch.ones(6, 6, dtype=torch.bool).tril() | (suffix_columns() & ~suffix_columns().T)


WORD = "both"  # of exercise 8.5


def is_causal(explorer: Any) -> bool:
    """Whether an explorer shows a causal mask, a prefix of one token included."""
    return explorer.made is not None and explorer.made.prefix_len in {0, 1}


def in_sentence_order(explorer: Any) -> bool:
    """Whether the words that are read stand as they do in the sentence."""
    words = [symbol for symbol in explorer.row if symbol in explorer.tokens]
    return words == list(explorer.tokens)


def has_read_behind(explorer: Any) -> bool:
    """Whether a word that comes later in the sentence stands before `WORD` in the row."""
    before = explorer.row[: explorer.row.index(WORD)]
    behind = explorer.tokens[explorer.tokens.index(WORD) + 1 :]
    return not set(before).isdisjoint(behind)


def rows(*answer: int) -> Callable[[], Tensor]:
    """Make the rows of one answer to exercise 8.1."""
    return partial(torch.tensor, answer)


EXERCISES = (
    ValueExercise(
        "8.1",
        "rows_that_answer",
        truth=rows(4, 5, 9, 10),
        form=Guesses(),
        mistakes={
            "These are the places where the word stands: the row before answers, except in a cloze": (
                rows(5, 5, 10, 11)
            ),
            "You shifted the cloze too: a covered word is asked for in its own row": rows(4, 4, 9, 10),
            "In a, c and d you shifted the wrong way: a row answers for the next place": (rows(6, 5, 11, 12)),
            "A mark is missing in c: the prefix ends with one, and each span of the target has one": (
                rows(4, 5, 8, 10)
            ),
            "In c the target's own sentinels are missing: each span stands behind one": rows(4, 5, 7, 10),
            "In c every word got a sentinel of its own: a whole span becomes one": rows(4, 5, 12, 10),
            "In d the middle still stands where it stood: it comes last": rows(4, 5, 9, 5),
            "In d the three marks are missing: `<pre>`, `<suf>` and `<mid>` are tokens too": rows(4, 5, 9, 7),
            "In c and d you took the places of the sentence: there, words have been moved": rows(4, 5, 4, 4),
        },
        hints=(
            "Write down the row that is read, with every mark, and number its places from 0.",
            "A label is asked for in the row before its place, except where the word itself was covered.",
            "In c: we, a sentinel, both ways and, a sentinel, the end. Then the target: each span behind its "
            "sentinel.",
        ),
    ),
    ValueExercise(
        "8.2",
        "suffix_first",
        truth=suffix_first,
        form=Mask(),
        mistakes={
            "This is PSM: there the suffix is read after the prefix, here before it": (
                lambda: in_own_order(ORDERS["PSM"])
            ),
            "This is the causal mask of the sentence as it stands: it is read in another order": (
                lambda: in_own_order(ORDERS["sentence"])
            ),
            "Rows and columns are exchanged: a row is a query, a column is a key": lambda: suffix_first().T,
            "You marked what is hidden: # is where a row sees": lambda: ~suffix_first(),
            "What stands in front is open in yours, as under a prefix mask: the attention is causal": (
                both_sides_open
            ),
            "The suffix looks back in yours: it is read first, when nothing else is there": suffix_looks_back,
            "A token doesn't see itself in yours": (lambda: suffix_first() & ~torch.eye(6, dtype=torch.bool)),
            "Everything is open in yours": lambda: torch.ones(6, 6, dtype=torch.bool),
        },
        hints=(
            "In which order does the model read the six words? Write it down.",
            "It reads e f a b c d. A word sees itself and what was read before it.",
            "Row a, the first of yours, sees e and f, and itself. Row e sees only itself.",
        ),
    ),
    FILL_HOLES,
    FIM_ROW,
    StateExercise(
        "8.5",
        "both_sides",
        kind="ObjectiveExplorer",
        given=lambda explorer: explorer.objective == "prefix LM" and explorer.draw == 0,
        goal=lambda explorer: is_causal(explorer) and has_read_behind(explorer),
        mistakes={
            "the mask isn't causal there: some rows see what stands behind them in the row": (
                lambda explorer: not is_causal(explorer)
            ),
            "the words stand as in the sentence there, so that nothing behind the word has been read": (
                in_sentence_order
            ),
            "something was moved there, but nothing from behind the word to its front: try another draw": (
                lambda _: True
            ),
        },
        hints=(
            "Which objectives leave the mask causal and yet don't read in the sentence's order?",
            "Fill-in-the-middle does. The suffix is read early: which words must be in it, and which not?",
            "In PSM the word has to be in the middle, in SPM before the suffix; and the suffix not empty.",
        ),
    ),
)
