"""The exercises of chapter 6: what is kept, what it saves, and what new tokens may see."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Mask, Number
from prefixlm_teach.checks.functions import FunctionExercise, Mistake
from prefixlm_teach.checks.next_token import CUT, DRAFT
from prefixlm_teach.checks.values import StateExercise, ValueExercise

LAYERS, T, P, CHANGED = 4, 10, 6, 3  # of exercise 6.1: token 3 is exchanged
QUARTERS = 4  # of exercise 6.2


def pairs(seq_len: int, p: int) -> int:
    """Return how many pairs one pass over a prefix works out."""
    return sum(p if q < p else q + 1 for q in range(seq_len))


def worked(explorer: Any, step: int) -> tuple[float, float]:
    """Return the pairs and the tokens of all steps up to one, without a cache in terms of those with one."""
    p = len(explorer.prompt)
    lengths = range(p, p + max(step, 1))
    return sum(pairs(n, p) for n in lengths) / pairs(lengths[-1], p), sum(lengths) / lengths[-1]


def first_step(explorer: Any, which: int) -> int:
    """Return the first step at which pairs (0) or tokens (1) are four times those with a cache, or -1."""
    steps = range(1, len(explorer.answer) + 1)
    return next((step for step in steps if worked(explorer, step)[which] >= QUARTERS), -1)


def block_mask(seen: Tensor, question: int, answer: int) -> Tensor:
    """What is expected of exercise 6.4."""
    return blocks(seen, question, answer)


def blocks(seen: Tensor, question: int, answer: int, *, corner: int = 0, block: int = 0) -> Tensor:
    """Return the mask whose causal part is moved by `corner` columns, and whose block ends `block` later."""
    kept = len(seen) - question - answer
    rows, columns = torch.arange(question + answer)[:, None], torch.arange(len(seen))
    return ((columns <= kept + rows + corner) | (columns < kept + question + block)) & seen


def as_for_the_first(seen: Tensor, question: int, answer: int) -> Tensor:
    """The code that is handed out: the cache is forgotten."""
    kept = len(seen) - question - answer
    return blocks(seen, question, answer, corner=-kept, block=-kept)


def only_the_corner(seen: Tensor, question: int, answer: int) -> Tensor:
    """The causal part is mended, the block isn't."""
    return blocks(seen, question, answer, block=question + answer - len(seen))


def only_the_block(seen: Tensor, question: int, answer: int) -> Tensor:
    """The block is mended, the causal part isn't."""
    return blocks(seen, question, answer, corner=question + answer - len(seen))


def left_to_right(seen: Tensor, question: int, answer: int) -> Tensor:
    """The question is causal like the answer."""
    return blocks(seen, question, answer, block=-len(seen))


def without_the_cache(seen: Tensor, question: int, answer: int) -> Tensor:
    """The new tokens see each other and nothing else."""
    return block_mask(seen, question, answer) & (torch.arange(len(seen)) >= len(seen) - question - answer)


def dialogues(seed: int) -> list[dict[str, Any]]:
    """Caches of a few columns, of none, of one, with padding; no answer; and ten dialogues drawn."""
    draw = torch.Generator().manual_seed(seed)
    by_hand = [(3, 0, 2, 2), (0, 0, 3, 2), (1, 0, 3, 1), (4, 2, 2, 0), (5, 1, 1, 2)]
    for _ in range(10):
        kept, pads, question, answer = torch.randint(0, 5, (4,), generator=draw).tolist()
        by_hand.append((kept, min(pads, kept), question + 1, answer))
    return [
        {"seen": torch.arange(kept + question + answer) >= pads, "question": question, "answer": answer}
        for kept, pads, question, answer in by_hand
    ]


EXERCISES = (
    ValueExercise(
        "6.1",
        "stale_keys",
        truth=lambda: 1 + (LAYERS - 1) * T,
        form=Number(),
        mistakes={
            "In layer 0 only one key changes: there a key is made of its own token and position": lambda: (
                LAYERS * T
            ),
            "In layer 0 one key changes too, that of the token itself": lambda: (LAYERS - 1) * T,
            "This is the count for a causal model: here the prefix tokens before token 3 see it too": (
                lambda: 1 + (LAYERS - 1) * (T - CHANGED)
            ),
            "You count from token 3 on, in each layer: those before see it too, and layer 0 is different": (
                lambda: LAYERS * (T - CHANGED)
            ),
            "The target sees the prefix as well: its keys change with it": lambda: 1 + (LAYERS - 1) * P,
            "You count the prefix in every layer: the target sees token 3 too, and layer 0 is different": (
                lambda: LAYERS * P
            ),
            "Its own key isn't all: above layer 0 a key is made of what its token has gathered from others": (
                lambda: LAYERS
            ),
            "You count keys and values: only the keys are asked for": lambda: 2 * (1 + (LAYERS - 1) * T),
        },
        hints=(
            "Take layer 0 by itself: of what is a key made there?",
            "Above layer 0 a key changes with everything that its token sees. Who sees token 3?",
            "It is a prefix token: all of the prefix sees it, and all of the target.",
        ),
    ),
    StateExercise(
        "6.2",
        "saved_pairs",
        kind="DecodeExplorer",
        given=lambda explorer: explorer.step == 0 and explorer.cached,
        goal=lambda explorer: not explorer.cached and explorer.step == first_step(explorer, 0),
        mistakes={
            "at step 0 nothing has been read, and nothing saved": lambda explorer: explorer.step == 0,
            "that is the step; now leave it without a cache": (
                lambda explorer: explorer.step == first_step(explorer, 0)
            ),
            "there a cache saves three quarters of the tokens, but not yet of the pairs": (
                lambda explorer: explorer.step == first_step(explorer, 1)
            ),
            "that holds for this one step: compare the totals, of all steps so far": (
                lambda explorer: explorer.step == 2
            ),
            "there a cache has saved less than three quarters of all pairs": (
                lambda explorer: worked(explorer, explorer.step)[0] < QUARTERS
            ),
            "there more than three quarters are saved, but an earlier step would do": lambda _: True,
        },
        hints=(
            "Watch 'Pairs in total', and switch between the two ways at the same step.",
            "Three quarters are saved where the total with a cache is a quarter of that without, or less.",
            "At step 4 it is 94 of 314 pairs: more than a quarter. It isn't far from there.",
        ),
    ),
    DRAFT,
    FunctionExercise(
        "6.4",
        "block_mask",
        inputs=dialogues,
        truth=block_mask,
        form=Mask(),
        mistakes=[
            Mistake("the code is as it was handed out", as_for_the_first, as_given=True),
            Mistake(
                "the causal part hangs right now, but the block still stands at column 0, before the cache",
                only_the_corner,
            ),
            Mistake(
                "the block stands right now, but the causal part still hangs in the upper left corner",
                only_the_block,
            ),
            Mistake("the question is read left to right: within it all tokens see each other", left_to_right),
            Mistake(
                "everything is open: the answer sees its own future",
                lambda s, q, a: s.expand(q + a, -1),
            ),
            Mistake("padding is visible", lambda s, q, a: block_mask(torch.ones_like(s), q, a)),
            Mistake(
                "the new tokens see only each other, and nothing of what is in the cache", without_the_cache
            ),
            Mistake(
                "an answer token doesn't see itself: the diagonal lies one column too far left",
                lambda s, q, a: blocks(s, q, a, corner=-1),
            ),
            Mistake(
                "an answer token sees the next one: the diagonal lies one column too far right",
                lambda s, q, a: blocks(s, q, a, corner=1),
            ),
            Mistake(
                "the question sees the first token of the answer: the block is one column too wide",
                lambda s, q, a: blocks(s, q, a, block=1),
            ),
            Mistake(
                "the question's last token is hidden from the others: the block is one column too narrow",
                lambda s, q, a: blocks(s, q, a, block=-1),
            ),
            Mistake(
                "True and False are exchanged: True means may attend", lambda s, q, a: ~block_mask(s, q, a)
            ),
        ],
        hints=(
            "Print the mask for a cache of three columns. Which columns belong to the new tokens?",
            "Row 0 is the first new token, and stands in column S - k. Where does the diagonal begin, then?",
            "tril takes a number, by how much the diagonal moves; the block ends at S - k + question.",
        ),
    ),
    CUT,
)
