"""The exercises of chapter 3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from prefixlm_teach.attention import plain_attention
from prefixlm_teach.checks.forms import Mask, Number, Numbers, Words
from prefixlm_teach.checks.functions import FunctionExercise, Mistake
from prefixlm_teach.checks.reach import WRONG_REACHES, reach, reach_inputs, slipped, slipped_and
from prefixlm_teach.checks.values import ValueExercise
from prefixlm_teach.masks import causal_mask, create_prefix_lm_mask

D, H, BLOCKS = 128, 8, 3  # of exercise 3.1
WHOLE, ONE_HEAD = D * D + D, D * (D // H) + D // H  # numbers of a projection
SPARED = WHOLE - ONE_HEAD


def own(h: Tensor) -> Tensor:
    """Each token normalised by itself."""
    return F.layer_norm(h, h.shape[-1:])


def over_tokens(h: Tensor) -> Tensor:
    """All tokens of an example normalised together."""
    return F.layer_norm(h, h.shape[1:])


def over_batch(h: Tensor) -> Tensor:
    """All tokens of all examples normalised together."""
    return F.layer_norm(h, h.shape)


def across_tokens(h: Tensor) -> Tensor:
    """Each of the d numbers normalised along the tokens."""
    return own(h.transpose(1, 2)).transpose(1, 2)


def by_one_less(h: Tensor) -> Tensor:
    """Each token by itself, its variance divided by d - 1."""
    return (h - h.mean(-1, keepdim=True)) / h.std(-1, keepdim=True)


Half = Callable[..., Tensor]
Made = Callable[[Tensor, Tensor, Half, Half], Tensor]


def block_of(norm: Callable[[Tensor], Tensor], *, stays: bool, feed_late: bool) -> Made:
    """A block by what can be wrong in it.

    Args:
        norm: what normalises.
        stays: whether what came in is kept, and not the normalised.
        feed_late: whether the feed-forward layer reads what attention has left, and not the normalised.
    """

    def gives(h: Tensor, mask: Tensor, attend: Half, feed: Half) -> Tensor:
        x = norm(h)
        mixed = (h if stays else x) + attend(x, mask)
        return mixed + feed(mixed if feed_late else x)

    return gives


def one_after_the_other(h: Tensor, mask: Tensor, attend: Half, feed: Half) -> Tensor:
    """The block of the chapter."""
    h = h + attend(own(h), mask)
    return h + feed(own(h))


side_by_side = block_of(own, stays=True, feed_late=False)


def block_inputs(seed: int) -> list[dict[str, Any]]:
    """One token, one example, several, under prefix, causal and full masks; numbers far from normalised."""
    draw = torch.Generator().manual_seed(seed)
    cases = []
    for B, T, p in [(1, 4, 2), (1, 1, 0), (2, 5, 3), (3, 3, 0), (2, 4, 4), (2, 6, 1)]:
        d = 6
        weights = torch.randn(4, d, d, generator=draw) / 2
        h = 3 * torch.randn(B, T, d, generator=draw) + torch.randn(B, T, 1, generator=draw) + 1
        cases.append(
            {
                "h": h,
                "mask": create_prefix_lm_mask(T, p),
                "attend": attention_of(weights),
                "feed": feed_of(weights),
            }
        )
    return cases


def attention_of(weights: Tensor) -> Half:
    """A layer of attention, one head."""
    return lambda x, mask: plain_attention(x @ weights[0], x @ weights[1], x @ weights[2], mask)


def feed_of(weights: Tensor) -> Half:
    """A layer that works on each token alone."""
    return lambda x: F.gelu(x @ weights[3] + 0.5)


OVER_TOKENS = "all tokens are still normalised together: so each knows of all others, the future too"
NORMALISED = "the results are added to the normalised tokens: what came in is lost"
FEED_LATE = "the feed-forward layer reads what attention has made, and not the tokens that attention reads"
WRONG_BLOCKS: list[tuple[str, Made]] = [
    (OVER_TOKENS, block_of(over_tokens, stays=True, feed_late=False)),
    (OVER_TOKENS, block_of(over_tokens, stays=True, feed_late=True)),
    (OVER_TOKENS, block_of(over_tokens, stays=False, feed_late=False)),
    (NORMALISED, block_of(own, stays=False, feed_late=False)),
    (NORMALISED, block_of(own, stays=False, feed_late=True)),
    (FEED_LATE, block_of(own, stays=True, feed_late=True)),
    (
        "this is the block of the chapter, one half after the other; side by side is wanted",
        one_after_the_other,
    ),
    (
        "each of the d numbers is normalised along the tokens; a token is normalised by itself",
        block_of(across_tokens, stays=True, feed_late=False),
    ),
    (
        "the whole batch is normalised together: now one example knows of another",
        block_of(over_batch, stays=True, feed_late=False),
    ),
    (
        "`std` divides by d - 1, a layer normalisation by d: take F.layer_norm, or unbiased=False",
        block_of(by_one_less, stays=True, feed_late=False),
    ),
    ("nothing is normalised any more", block_of(lambda h: h, stays=True, feed_late=False)),
    (
        "what came in is added twice, once with each half",
        lambda h, mask, attend, feed: (h + attend(own(h), mask)) + (h + feed(own(h))),
    ),
    (
        "nothing is added to what came in: the two results alone are returned",
        lambda h, mask, attend, feed: attend(own(h), mask) + feed(own(h)),
    ),
    (
        "the feed-forward layer reads what came in as it is: it has to be normalised",
        lambda h, mask, attend, feed: h + attend(own(h), mask) + feed(h),
    ),
    (
        "attention reads what came in as it is: it has to be normalised",
        lambda h, mask, attend, feed: h + attend(h, mask) + feed(own(h)),
    ),
    (
        "the sum is normalised: what came in has to pass through unchanged",
        lambda h, mask, attend, feed: own(h + attend(own(h), mask) + feed(own(h))),
    ),
    (
        "the mask was right; you have turned it round",
        lambda h, mask, attend, feed: side_by_side(h, ~mask, attend, feed),
    ),
]

EXERCISES = (
    ValueExercise(
        "3.1",
        "fewer_parameters",
        truth=lambda: BLOCKS * 2 * SPARED,
        form=Number(),
        mistakes={
            "this is one of the two, keys or values": lambda: BLOCKS * SPARED,
            "this is one block; there are three": lambda: 2 * SPARED,
            "mind the bias: a linear layer has one for each number that it returns, so it shrinks as well": (
                lambda: BLOCKS * 2 * (D * D - D * (D // H))
            ),
            "this is what keys and values still have; asked is what they have lost": (
                lambda: BLOCKS * 2 * ONE_HEAD
            ),
            "this is what keys and values had before; a part of it stays": lambda: BLOCKS * 2 * WHOLE,
            "the output projection keeps its size: it reads the results of all heads": (
                lambda: BLOCKS * 3 * SPARED
            ),
            "queries and the output projection keep their size: each head asks its own question": (
                lambda: BLOCKS * 4 * SPARED
            ),
            "this is d to d over H as if H were the width of a head: a head has d / H = 16 numbers": (
                lambda: BLOCKS * 2 * (WHOLE - D * H - H)
            ),
        },
        hints=(
            "How many numbers has `k_proj` before? It leads from 128 numbers to 128, and has a bias.",
            "Afterwards it leads from 128 to 16. How long is its bias then?",
            "The difference comes once for keys and once for values, in each of three blocks.",
        ),
    ),
    ValueExercise(
        "3.2",
        "slip_by_hand",
        truth=lambda: reach([slipped()] * 2),
        form=Mask(),
        mistakes={
            "this is the mask itself, and one block; the second passes on what the first took in": slipped,
            "this is the causal mask: the cell in row 2 counts": lambda: causal_mask(6),
            "the slip travels: who sees token 2 learns what token 2 has taken in": lambda: slipped_and(
                (2, 3)
            ),
            "row 2 reads token 4, and token 4 has read token 3 by then": lambda: slipped_and((3, 4)),
            "rows 0 and 1 don't see token 2, so that the slip doesn't reach them": (
                lambda: slipped_and((0, 4), (1, 4), (2, 3), (3, 4))
            ),
            "rows 0 and 1 don't see token 2, in no block": (
                lambda: slipped_and(*((q, k) for q in range(4) for k in range(5)))
            ),
            "token 5 is seen by row 5 alone, and by nobody on the way": (
                lambda: slipped_and(*((q, k) for q in (2, 3, 4) for k in range(6)))
            ),
            "every output moves with every token here; ask row by row who sees whom": (
                lambda: torch.ones(6, 6, dtype=torch.bool)
            ),
            "rows and columns are exchanged: a row is an output": lambda: reach([slipped()] * 2).T,
            "the signs are exchanged: # is where the token moves the output": lambda: ~reach([slipped()] * 2),
        },
        hints=(
            "After the first block each token holds what its row of the mask shows. Write that down.",
            "In the second block row 3 sees tokens 0 to 3. What do these four hold by then?",
            "Token 2 holds 0, 1, 2 and 4. Now do row 2 itself: it sees token 4 as well.",
        ),
    ),
    FunctionExercise(
        "3.3",
        "reach",
        inputs=reach_inputs,
        truth=reach,
        form=Mask(),
        mistakes=[Mistake(says, gives) for says, gives in WRONG_REACHES],
        hints=(
            "Before the first block each token holds itself alone: which table is that?",
            "In a block, an output holds what is held by any token that it sees, and what it held before.",
            "As floats, `mask @ held` is above 0 wherever one of the seen tokens holds it.",
        ),
    ),
    FunctionExercise(
        "3.4",
        "side_by_side",
        inputs=block_inputs,
        truth=side_by_side,
        form=Numbers(),
        mistakes=[
            Mistake(
                "the code is as it was handed out",
                block_of(over_tokens, stays=False, feed_late=True),
                as_given=True,
            ),
            *(Mistake(says, gives) for says, gives in WRONG_BLOCKS),
        ],
        hints=(
            "There are three faults. The first: over which numbers does `h.shape[1:]` normalise?",
            "The second: with halves that return 0, what does the function return? It should be `h`.",
            "The third: what does each half read? Give x and h a name each, and change neither.",
        ),
    ),
    ValueExercise(
        "3.5",
        "free_blocks",
        truth=lambda: ("fourth",),
        form=Words(["none", "first", "second", "third", "fourth"]),
        mistakes={
            "there is one: what a prefix row takes in is of use only if a later block reads it": lambda: (
                ("none",)
            ),
            "what the prefix reads ahead in the first block is read by the target in the second": lambda: (
                ("first",)
            ),
            "what the prefix reads ahead there is read by the target in the next block": lambda: ("second",),
            "what the prefix reads ahead there is read by the target in the last block": lambda: ("third",),
            "these are the ones that the target needs": lambda: ("first", "second", "third"),
            "then it would be a causal model, and the target would gain nothing": (
                lambda: ("first", "second", "third", "fourth")
            ),
            "one of the two: the first block is followed by others that read what it made": (
                lambda: ("first", "fourth")
            ),
            "one of the two: the third block is followed by another that reads what it made": (
                lambda: ("third", "fourth")
            ),
        },
        hints=(
            "In which rows do the two masks differ? Only there can a block return something else at once.",
            "These are rows before p - 1. In which block can a target row read what they have become?",
            "After which block does nobody read them any more?",
        ),
    ),
)
