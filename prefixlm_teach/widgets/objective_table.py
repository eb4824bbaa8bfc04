"""What objectives make of one sentence at each setting of their sliders: the table of an explorer.

A page can't draw what the package draws, so all there is to see is made here, once for each setting, and kept
once where settings agree.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from prefixlm_teach.examples import Examples
from prefixlm_teach.loss import IGNORE
from prefixlm_teach.masks import create_prefix_lm_mask
from prefixlm_teach.widgets.objective_arguments import LARGEST, check_one_made, sliders_of

Objective = Callable[..., Examples]


class Made(NamedTuple):
    """What an objective makes of the sentence.

    Attributes:
        row: what the model reads, T places of `Table.ids`.
        labels: what is asked for at each place, likewise; None where nothing is.
        prefix_len: p, None where the mask is no prefix mask.
        mask: where it is none, T strings of T letters, "1" where a row may see a column, "0" where not.
        cloze: whether a label is predicted in its own row, not in the one before.
        noise: numbers of tokens of the sentence, those that were taken out, covered or moved.
        kind: what made it, where the objective is a mixture.
    """

    row: tuple[int, ...]
    labels: tuple[int | None, ...]
    prefix_len: int | None
    mask: tuple[str, ...] | None
    cloze: bool
    noise: tuple[int, ...]
    kind: str | None


class Table(NamedTuple):
    """All that there is to see.

    Attributes:
        ids: the ids that occur anywhere.
        made: what there is to see, each once: a `Made`, or in words why a setting is impossible.
        uses: for each objective which of rate, mean_span and seed it asks for.
        which: for each objective the place in `made` of each setting of what it asks for, the last counting
            fastest.
    """

    ids: tuple[int, ...]
    made: tuple[Made | str, ...]
    uses: tuple[tuple[str, ...], ...]
    which: tuple[tuple[int, ...], ...]


def tabulate(
    objectives: Mapping[str, Objective],
    ids: Sequence[int],
    stops: Mapping[str, Sequence[float]],
    vocab_size: int,
    noise_after: Collection[int],
) -> Table:
    """Apply each objective to the sentence at each setting.

    Args:
        objectives: called with rows, and by name with those of `stops` that they ask for.
        ids: the sentence, of at least two different ids.
        stops: the values of "rate", "mean_span" and "seed".
        vocab_size: V.
        noise_after: ids after the first of which a row that is asked for whole holds noise.

    Raises:
        TypeError, ValueError: an objective returns something else than one example, can be applied at no
            setting, its draws depend on which tokens there are, or the table grows too large.
    """
    tracers = tracing_rows(ids)
    numbers: dict[Made | str, int] = {}
    which, uses = [], []
    for name, objective in objectives.items():
        uses.append(sliders_of(objective))
        settings = itertools.product(*(stops[slider] for slider in uses[-1]))
        made = [
            _apply(
                name, objective, tracers, dict(zip(uses[-1], setting, strict=True)), vocab_size, noise_after
            )
            for setting in settings
        ]
        if all(isinstance(each, str) for each in made):
            raise ValueError(f"objective {name!r} is impossible at every setting: {made[0]}")
        which.append(tuple(numbers.setdefault(each, len(numbers)) for each in made))
    table = Table(*_renumber(list(numbers)), tuple(uses), tuple(which))
    if (size := len(json.dumps(table))) > LARGEST:
        raise ValueError(
            f"the table of all settings has {size} letters, and an explorer carries at most {LARGEST}: "
            "use a shorter sentence, fewer objectives, or fewer stops"
        )
    return table


def _renumber(made: list[Made | str]) -> tuple[tuple[int, ...], tuple[Made | str, ...]]:
    """Return the ids that occur, and what was made, each id replaced by its place among them."""
    found = {i for each in made if isinstance(each, Made) for i in (*each.row, *each.labels)}
    ids = sorted(i for i in found if i is not None)
    place = {id_: i for i, id_ in enumerate(ids)}

    def renumbered(each: Made) -> Made:
        labels = tuple(None if label is None else place[label] for label in each.labels)
        return each._replace(row=tuple(place[token] for token in each.row), labels=labels)

    return tuple(ids), tuple(each if isinstance(each, str) else renumbered(each) for each in made)


def tracing_rows(ids: Sequence[int]) -> list[list[int]]:
    """Return the sentence, and with it rows that together give each of its places an id of its own.

    Where a word comes twice, an objective is applied to the sentence and, drawing alike, to rows in which the
    number of each place is written in digits; the digits are ids of the sentence. What then stands at a place
    of the example says which of the two it is.
    """
    rows, digits = [list(ids)], sorted(set(ids))
    step = 1
    while len(set(zip(*rows, strict=True))) < len(ids):
        rows.append([digits[i // step % len(digits)] for i in range(len(ids))])
        step *= len(digits)
    return rows


def _apply(
    name: str,
    objective: Objective,
    tracers: list[list[int]],
    setting: Mapping[str, Any],
    vocab_size: int,
    noise_after: Collection[int],
) -> Made | str:
    try:
        with torch.device("cpu"):  # whatever the reader's default device is
            made = [objective([row], **setting) for row in tracers]
    except ValueError as error:
        return str(error)
    for each in made:
        check_one_made(name, each, vocab_size)
    row, labels = _row_of(made[0])
    p, mask = _mask_of(made[0])
    cloze = made[0].cloze
    if p == 0 and not cloze:
        divided = [t for t, token in enumerate(row) if token in noise_after]
        is_noise = [bool(divided) and t > divided[0] for t in range(len(row))]
    else:
        is_noise = [label is not None for label in labels]
    sources = _trace(name, tracers, made)
    noise = sorted(i for i, here in zip(sources, is_noise, strict=True) if here and i is not None)
    kind = None if made[0].kinds is None else made[0].kinds[0]
    return Made(row, labels, p, mask, cloze, tuple(noise), kind)


def _row_of(made: Examples) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    """The ids that are read, without padding, and those that are asked for."""
    real = made.valid[0]
    asked = made.labels[0, real].tolist()
    labels = [
        None if label == IGNORE or (t == 0 and not made.cloze) else label for t, label in enumerate(asked)
    ]
    return tuple(made.tokens[0, real].tolist()), tuple(labels)


def _mask_of(made: Examples) -> tuple[int | None, tuple[str, ...] | None]:
    """The prefix length that the mask amounts to; if there is none, the mask."""
    if made.prefix_len is not None:
        return int(made.prefix_len[0]), None
    assert made.mask is not None  # noqa: S101 - for the type checker: one of the two is always given
    n = int(made.valid[0].sum())
    mask = made.mask[0, 0, :n, :n].cpu()
    for p in range(n + 1):
        if torch.equal(mask, prefix_mask(n, p)):
            return p, None
    return None, tuple("".join(map(str, row)) for row in mask.int().tolist())


def prefix_mask(seq_len: int, prefix_len: int) -> Tensor:
    """The (T, T) mask of a prefix LM, on the CPU."""
    with torch.device("cpu"):
        return create_prefix_lm_mask(seq_len, prefix_len)


def _trace(name: str, tracers: list[list[int]], made: list[Examples]) -> list[int | None]:
    """For each place of the example, the number of the token of the sentence that it reads or covers."""
    columns = []
    for each in made:
        row, labels = _row_of(each)
        covered = [
            label if each.cloze and label is not None else token
            for token, label in zip(row, labels, strict=True)
        ]
        columns.append(covered)
    numbers = {source: i for i, source in enumerate(zip(*tracers, strict=True))}
    known = set(tracers[0])
    if len({len(column) for column in columns}) == 1:
        places = list(zip(*columns, strict=True))
        if all(place in numbers for place in places if place[0] in known):
            return [numbers.get(place) for place in places]
    raise ValueError(
        f"objective {name!r} draws by which tokens there are, and one comes twice, so that it cannot be told "
        "where each goes: give each token of the sentence a symbol of its own"
    )
