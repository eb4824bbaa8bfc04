"""What an objective makes of one row, called with a copy of it and read at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from prefixlm_teach.examples import Examples
from prefixlm_teach.loss import IGNORE
from prefixlm_teach.masks import create_prefix_lm_mask

Objective = Callable[..., Examples]


class Seen(NamedTuple):
    """An example of one row as plain values; what is not said here is as in `Made`.

    Attributes:
        row: the T ids that are read, without padding.
        labels: the ids that are asked for, None where nothing is.
        divisions: in a row that is asked for whole, the places of the symbols after the first of which it
            holds noise; none in any other.
    """

    row: tuple[int, ...]
    labels: tuple[int | None, ...]
    prefix_len: int | None
    mask: tuple[str, ...] | None
    cloze: bool
    kind: str | None
    divisions: tuple[int, ...]

    @property
    def covered(self) -> tuple[int, ...]:
        """At each place the id that is read, or, where it is covered, the one below the cover."""
        return tuple(
            label if self.cloze and label is not None else token
            for token, label in zip(self.row, self.labels, strict=True)
        )

    @property
    def is_noise(self) -> tuple[bool, ...]:
        """Whether each place holds noise, if it holds a token of the sentence."""
        if self.prefix_len == 0 and not self.cloze:
            return tuple(t > min(self.divisions, default=t) for t in range(len(self.row)))
        return tuple(label is not None for label in self.labels)


def call(name: str, objective: Objective, row: Sequence[int], setting: Mapping[str, Any]) -> Examples:
    """Return what `objective` makes of a copy of `row`, on the CPU.

    Raises:
        ValueError: the objective's own.
        TypeError: the objective's own, with its name and setting before it.
        RuntimeError: the objective raised any other error.
    """
    try:
        with torch.device("cpu"):  # whatever the reader's default device is
            return objective([list(row)], **setting)
    except ValueError:
        raise
    except Exception as error:
        at = "".join(f", {slider} {value}" for slider, value in setting.items())
        kind = TypeError if isinstance(error, TypeError) else RuntimeError
        raise kind(f"objective {name!r}{at} raised {type(error).__name__}: {error}") from error


def read(made: Examples, noise_after: Collection[int]) -> Seen:
    """Read the one example in `made`; `noise_after` as in `tabulate`."""
    real = made.valid[0]
    row = tuple(made.tokens[0, real].tolist())
    labels = tuple(
        None if label == IGNORE or (t == 0 and not made.cloze) else label
        for t, label in enumerate(made.labels[0, real].tolist())
    )
    p, mask = _mask_of(made)
    whole = p == 0 and not made.cloze
    divisions = tuple(t for t, token in enumerate(row) if whole and token in noise_after)
    kind = None if made.kinds is None else made.kinds[0]
    return Seen(row, labels, p, mask, made.cloze, kind, divisions)


def _mask_of(made: Examples) -> tuple[int | None, tuple[str, ...] | None]:
    """The prefix length that the mask amounts to; if there is none, the mask."""
    if made.prefix_len is not None:
        return int(made.prefix_len[0]), None
    assert made.mask is not None  # noqa: S101 - for the type checker: one of the two is always given
    n = int(made.valid[0].sum())
    mask = made.mask.expand(1, 1, -1, -1)[0, 0, :n, :n].cpu()  # it may be (T, T)
    for p in range(n + 1):
        if torch.equal(mask, prefix_mask(n, p)):
            return p, None
    return None, tuple("".join(map(str, row)) for row in mask.int().tolist())


def prefix_mask(seq_len: int, prefix_len: int) -> Tensor:
    """The (T, T) mask of a prefix LM, on the CPU."""
    with torch.device("cpu"):
        return create_prefix_lm_mask(seq_len, prefix_len)
