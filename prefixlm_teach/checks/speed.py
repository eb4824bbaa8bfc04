"""The exercises of chapter 11."""

from __future__ import annotations

from typing import Any

from prefixlm_teach.checks.blocks import WRONG_BLOCKS, block_inputs, handed_out, needed_blocks
from prefixlm_teach.checks.forms import Mask, Number, Numbers
from prefixlm_teach.checks.functions import FunctionExercise, Mistake
from prefixlm_teach.checks.summing import WRONG_SUMS, piecewise, sum_inputs
from prefixlm_teach.checks.values import StateExercise, ValueExercise

COLUMNS, LENGTHS, PREFIXES = 10, (10, 9, 7), (3, 5, 6)  # of exercise 11.1
WIDTH, LONGEST = 768, 4096  # of exercise 11.4


def targets() -> int:
    """What is expected of exercise 11.1."""
    return sum(LENGTHS) - sum(PREFIXES)


def wasteful(explorer: Any) -> bool:
    """Whether `mend` computes more pairs than a dense mask."""
    pairs = explorer.pairs
    return bool(pairs["mend"] > pairs["dense mask"])


def below_half(explorer: Any) -> bool:
    """Whether the attention of `mend` is less than half of a layer: 4 d a pair beside 24 d^2 a token."""
    return bool(explorer.pairs["mend"] < 6 * explorer.d_model * explorer.seq_len)


EXERCISES = (
    ValueExercise(
        "11.1",
        "rows_read",
        truth=targets,
        form=Number(),
        mistakes={
            "The padding counts as target in yours": lambda: COLUMNS * len(LENGTHS) - sum(PREFIXES),
            "You began at row p: row p - 1 is read too, and asks for the first target": (
                lambda: targets() - len(LENGTHS)
            ),
            "The last real row of each example is in it: it has nothing left to ask for": (
                lambda: targets() + len(LENGTHS)
            ),
            "These are all rows, with padding": lambda: COLUMNS * len(LENGTHS),
            "These are all real tokens: the loss doesn't read the prefix before row p - 1": (
                lambda: sum(LENGTHS)
            ),
            "These are the prefix tokens": lambda: sum(PREFIXES),
            "The longest prefix was taken for all": (
                lambda: sum(length - max(PREFIXES) for length in LENGTHS)
            ),
            "The shortest prefix was taken for all": (
                lambda: sum(length - min(PREFIXES) for length in LENGTHS)
            ),
        },
        hints=(
            "A row is read where it is asked for a target token. How many targets has each example?",
            "From row p - 1 to the last row but one: the padding is asked for nothing.",
            "The first example has rows 2 to 8, which are seven. Now the other two.",
        ),
    ),
    FunctionExercise(
        "11.2",
        "needed_blocks",
        inputs=block_inputs,
        truth=needed_blocks,
        form=Mask(),
        mistakes=[
            Mistake("the code is as it was handed out", handed_out, as_given=True),
            *(Mistake(says, gives) for says, gives in WRONG_BLOCKS),
        ],
        hints=(
            "Draw the mask for T = 12 and p = 6, and lines after every four tokens. Which blocks are empty?",
            "A prefix of 6 tokens begins a second block of four. Do its rows or columns have visible pairs?",
            "`//` rounds down. Round up, both times; what divides without a rest must stay as it is.",
        ),
    ),
    FunctionExercise(
        "11.3",
        "piecewise",
        inputs=sum_inputs,
        truth=piecewise,
        form=Numbers(),
        mistakes=[Mistake(says, gives) for says, gives in WRONG_SUMS],
        hints=(
            "Keep S (d, d) and z (d), both zero at first, and go through the pieces in order.",
            "Add a whole piece to both, then let all its rows read. What is different in the last piece?",
            "The target is as many pieces of one token as it has tokens.",
        ),
    ),
    StateExercise(
        "11.4",
        "wasteful_and_cheap",
        kind="CostExplorer",
        given=lambda explorer: (
            (explorer.seq_len, explorer.prefix_len, explorer.d_model) == (2048, 1024, WIDTH)
        ),
        goal=lambda explorer: (
            explorer.d_model == WIDTH
            and explorer.seq_len >= LONGEST
            and wasteful(explorer)
            and below_half(explorer)
        ),
        mistakes={
            f"leave d at {WIDTH}: it is a question of T and p": lambda explorer: explorer.d_model != WIDTH,
            "there `mend` computes no more pairs than a dense mask: lengthen the prefix": (
                lambda explorer: not wasteful(explorer)
            ),
            "there attention is half of the layer or more: try a shorter T, or a prefix that just wastes": (
                lambda explorer: not below_half(explorer)
            ),
            "both hold there, but they hold for a longer T as well": lambda _: True,
        },
        hints=(
            "From which sixteenth of T on does `mend` compute more than a dense mask? Set p there.",
            "Now T: p keeps its share while T grows. Watch the share of `mend` in a layer.",
            "At p = T it is over half too early. A prefix of twelve sixteenths is long enough to waste.",
        ),
    ),
)
