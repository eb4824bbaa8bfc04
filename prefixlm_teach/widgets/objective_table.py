"""What objectives make of one sentence at each setting of their sliders: the table of an explorer.

A page can't draw what the package draws, so all there is to see is made here, once for each setting, and kept
once where settings agree.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from prefixlm_teach.widgets.objective_arguments import LARGEST, check_one_made, sliders_of
from prefixlm_teach.widgets.objective_reading import Objective, Seen, call, read
from prefixlm_teach.widgets.objective_trace import noise_of


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
            setting, makes too long a row, does not show where each token goes, or the table grows too large.
        RuntimeError: an objective raises any other error.
    """
    numbers: dict[Made | str, int] = {}
    which, uses = [], []
    for name, objective in objectives.items():
        uses.append(sliders_of(objective))
        settings = itertools.product(*(stops[slider] for slider in uses[-1]))
        made = [
            _apply(name, objective, ids, dict(zip(uses[-1], setting, strict=True)), vocab_size, noise_after)
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


def _apply(
    name: str,
    objective: Objective,
    ids: Sequence[int],
    setting: Mapping[str, Any],
    vocab_size: int,
    noise_after: Collection[int],
) -> Made | str:
    def see(row: Sequence[int]) -> Seen:
        made = call(name, objective, row, setting)
        check_one_made(name, made, vocab_size)
        return read(made, noise_after)

    try:
        made = call(name, objective, ids, setting)
    except ValueError as error:
        return str(error).strip().rstrip(".") or "the objective raised a ValueError without words"
    check_one_made(name, made, vocab_size)
    seen = read(made, noise_after)
    noise = noise_of(name, ids, seen, see)
    return Made(seen.row, seen.labels, seen.prefix_len, seen.mask, seen.cloze, noise, seen.kind)
