"""The exercises of chapter 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from prefixlm_teach.checks.forms import Mask, Number
from prefixlm_teach.checks.functions import FunctionExercise, Mistake
from prefixlm_teach.checks.values import StateExercise, ValueExercise

T, P = 12, 5  # of exercise 1.1


def closed(seq_len: int) -> Tensor:
    """(T, T) booleans: a row sees itself and what is before it."""
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril()


def pieces(lengths: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Return (T,) the piece of each token, (T, T) causal, and (T, T) whether the key is in the last piece."""
    piece = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    in_target = (piece == len(lengths) - 1).expand(len(piece), -1)
    return piece, closed(len(piece)), in_target


def pieces_mask(lengths: Sequence[int]) -> Tensor:
    """What is expected of exercises 1.2 and 1.3."""
    piece, causal, in_target = pieces(lengths)
    return torch.where(in_target, causal, piece <= piece[:, None])


def only_own(lengths: Sequence[int]) -> Tensor:
    """Each piece sees itself alone."""
    piece, _, _ = pieces(lengths)
    return pieces_mask(lengths) & (piece == piece[:, None])


def one_prefix(lengths: Sequence[int]) -> Tensor:
    """All pieces but the last as one prefix."""
    _, causal, in_target = pieces(lengths)
    return causal | ~in_target


def target_open(lengths: Sequence[int]) -> Tensor:
    """The target's tokens see each other, the later ones too."""
    piece, _, _ = pieces(lengths)
    return piece <= piece[:, None]


def without_itself(lengths: Sequence[int]) -> Tensor:
    """A target token doesn't see itself."""
    _, _, in_target = pieces(lengths)
    return pieces_mask(lengths) & ~(in_target & torch.eye(sum(lengths), dtype=torch.bool))


def piece_inputs(seed: int) -> list[dict[str, Any]]:
    """Lists of lengths: two by hand, with pieces of one token, and ten drawn."""
    draw = torch.Generator().manual_seed(seed)
    drawn = [
        torch.randint(1, 5, (int(torch.randint(2, 5, (), generator=draw)),), generator=draw).tolist()
        for _ in range(10)
    ]
    return [{"lengths": lengths} for lengths in ([2, 3, 2], [1, 1], [3], *drawn)]


WRONG_PIECES = {
    "rows and columns are exchanged: a row is a query, a column is a key": lambda n: pieces_mask(n).T,
    "True and False are exchanged: True means may attend": lambda n: ~pieces_mask(n),
    "everything is open, the future of the target too": lambda n: torch.ones_like(pieces_mask(n)),
    "this is the causal mask: inside a piece, a token doesn't see the later ones": lambda n: closed(sum(n)),
    "a piece sees only itself, and none of the pieces before it": only_own,
    "the pieces are one prefix: the first sees the second, which isn't there yet": one_prefix,
    "the target is open like the other pieces: its tokens see their own future": target_open,
    "a target token doesn't see itself": without_itself,
}


def pictures(is_image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return (T, T) causal, (T, T) both tokens are image, and (T, T) both are of the same picture."""
    begins = is_image & ~is_image.roll(1).index_fill(0, torch.tensor([0]), False)
    number = begins.cumsum(0)
    both = is_image & is_image[:, None]
    return closed(len(is_image)), both, both & (number == number[:, None])


def pictures_mask(is_image: Tensor) -> Tensor:
    """What is expected of exercise 1.4."""
    causal, _, same = pictures(is_image)
    return causal | same


def across_pictures(is_image: Tensor) -> Tensor:
    """The code that is handed out: all image tokens see each other."""
    causal, both, _ = pictures(is_image)
    return causal | both


def everybody_sees_pictures(is_image: Tensor) -> Tensor:
    """Every token sees every image token."""
    return closed(len(is_image)) | is_image


def runs_of_text_too(is_image: Tensor) -> Tensor:
    """Runs of text are opened like pictures."""
    changes = torch.cat([torch.zeros(1, dtype=torch.bool), is_image[1:] != is_image[:-1]])
    run = changes.cumsum(0)
    return closed(len(is_image)) | (run == run[:, None])


def counted_from_starts(is_image: Tensor) -> Tensor:
    """The text after a picture is taken for a part of it."""
    begins = is_image & ~is_image.roll(1).index_fill(0, torch.tensor([0]), False)
    number = begins.cumsum(0)
    return closed(len(is_image)) | ((number == number[:, None]) & (number > 0))


def up_to_the_last(is_image: Tensor) -> Tensor:
    """One prefix that ends with the last image token."""
    places = is_image.nonzero().flatten()
    end = int(places[-1]) + 1 if len(places) else 0
    return closed(len(is_image)) | (torch.arange(len(is_image)) < end)


def without_others(is_image: Tensor) -> Tensor:
    """A picture sees itself and the text before it, and no other picture."""
    causal, both, same = pictures(is_image)
    return (causal & ~both) | same


def without_the_past(is_image: Tensor) -> Tensor:
    """A picture sees itself and not the text before it."""
    causal, _, same = pictures(is_image)
    return torch.where(is_image[:, None], same, causal)


def picture_inputs(seed: int) -> list[dict[str, Any]]:
    """Two pictures with text around them, none, one, all of one picture, and ten drawn."""
    draw = torch.Generator().manual_seed(seed)
    by_hand = ("0110110", "000", "0011", "1101", "111", "1")
    drawn = [torch.rand(9, generator=draw) < 0.6 for _ in range(10)]
    return [
        {"is_image": row}
        for row in (*(torch.tensor([sign == "1" for sign in row]) for row in by_hand), *drawn)
    ]


def share(p: int, seq_len: int) -> float:
    """The share of all pairs that a prefix mask shows."""
    return (seq_len * (seq_len + 1) + p * (p - 1)) / 2 / seq_len**2


EXERCISES = (
    ValueExercise(
        "1.1",
        "target_pairs",
        truth=lambda: sum(range(P + 1, T + 1)),
        form=Number(),
        mistakes={
            "These are all visible pairs: count those in the target's rows only": (
                lambda: T * (T + 1) // 2 + P * (P - 1) // 2
            ),
            "These are the pairs of target with target: its rows see the prefix too": (
                lambda: (T - P) * (T - P + 1) // 2
            ),
            "These are the prefix columns only: a target row also sees target tokens, up to itself": (
                lambda: P * (T - P)
            ),
            "This is every column of the target's rows: their own future stays hidden": lambda: T * (T - P),
            "You began a row early: row p - 1 is the last of the prefix": lambda: sum(range(P, T + 1)),
            "You began a row late: the first target row is row p, since rows are counted from 0": (
                lambda: sum(range(P + 2, T + 1))
            ),
            "A row sees itself too: each of yours is one short": lambda: sum(range(P, T)),
            "This is what the prefix rows see": lambda: P * P,
            "This is the whole causal mask, with all its rows": lambda: T * (T + 1) // 2,
            "This is what the prefix opens: its own rows see that, and not the target's": lambda: (
                P * (P - 1) // 2
            ),
            "The target's tokens don't all see each other, and they do see the prefix": lambda: (T - P) ** 2,
        },
        hints=(
            "Which rows belong to the target? Rows are counted from 0, and p = 5 tokens are prefix.",
            "Row 5 is the first of them. What does it see: which keys of the prefix, which of the target?",
            "Row 5 sees 6 keys, row 6 sees 7, and so on up to row 11.",
        ),
    ),
    ValueExercise(
        "1.2",
        "two_pieces_by_hand",
        truth=lambda: pieces_mask([2, 2, 2]),
        form=Mask(),
        mistakes={says: partial(gives, [2, 2, 2]) for says, gives in WRONG_PIECES.items()},
        hints=(
            "Take one row after the other, and ask: when this token was read, what was there?",
            "Rows 0 and 1 were read together, when nothing else was there.",
            "Rows 4 and 5 are the target: each sees all before it and itself.",
        ),
    ),
    FunctionExercise(
        "1.3",
        "pieces_mask",
        inputs=piece_inputs,
        truth=pieces_mask,
        form=Mask(),
        mistakes=[Mistake(says, gives) for says, gives in WRONG_PIECES.items()],
        hints=(
            "Give each token the number of its piece: torch.repeat_interleave does it.",
            "A query sees a key whose piece isn't later than its own. Where is that too much?",
            "In the last piece the causal rule counts. Join the two rules with `&` and `|`, or torch.where.",
        ),
    ),
    FunctionExercise(
        "1.4",
        "pictures_mask",
        inputs=picture_inputs,
        truth=pictures_mask,
        form=Mask(),
        mistakes=[
            Mistake("the code is as it was handed out", across_pictures, as_given=True),
            Mistake("this is the causal mask: the pictures are closed now", lambda i: closed(len(i))),
            Mistake(
                "rows and columns are exchanged: a row is a query, a column is a key",
                lambda i: pictures_mask(i).T,
            ),
            Mistake("True and False are exchanged: True means may attend", lambda i: ~pictures_mask(i)),
            Mistake("every token sees every picture, also one that comes later", everybody_sees_pictures),
            Mistake("runs of text are opened too; only pictures may look ahead", runs_of_text_too),
            Mistake("the text after a picture is taken for a part of it", counted_from_starts),
            Mistake("all up to the last picture is one prefix, with text and pictures in it", up_to_the_last),
            Mistake("a picture sees itself only, and not what comes before it", without_the_past),
            Mistake("a picture sees those before it too: what comes before stays visible", without_others),
            Mistake("everything is open, the future of the text too", lambda i: torch.ones(len(i), len(i))),
        ],
        hints=(
            "Draw the first example with plot_mask. Which picture sees something that comes later?",
            "Give each picture a number. It begins where is_image is True and was False one token before.",
            "cumsum over the beginnings numbers them. Of one picture: both are image, and of one number.",
        ),
    ),
    StateExercise(
        "1.5",
        "three_quarters",
        kind="SplitExplorer",
        given=lambda explorer: explorer.prefix_len == 0,
        goal=lambda explorer: (
            share(explorer.prefix_len, len(explorer.tokens))
            >= 0.75
            > share(explorer.prefix_len - 1, len(explorer.tokens))
        ),
        mistakes={
            "fewer than three quarters of the pairs are visible there: open more": (
                lambda explorer: share(explorer.prefix_len, len(explorer.tokens)) < 0.75
            ),
            "three quarters are visible there, but a smaller p would do": lambda _: True,
        },
        hints=(
            "Eight tokens have 64 pairs. How many are three quarters of them, at least?",
            "36 pairs are visible at p = 0. How many has the prefix to add?",
            "It adds p (p - 1) / 2. Try p = 5 and p = 6.",
        ),
    ),
)
