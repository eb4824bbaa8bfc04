"""Which tokens of the sentence are noise: where each place of an example comes from.

An id alone does not say it: a word may come twice, and an objective may add an end that the sentence has as
well. So the objective is also applied, drawing alike, to rows of the same length in which the number of each
place is written in digits; what then stands at a place of the example says where it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from prefixlm_teach.widgets.objective_reading import Seen

See = Callable[[Sequence[int]], Seen]


def noise_of(name: str, ids: Sequence[int], seen: Seen, see: See) -> tuple[int, ...]:
    """Return the numbers of the tokens of the sentence that are noise, rising, each once.

    Args:
        name: the objective's.
        ids: the sentence, of at least two different ids.
        seen: what the objective makes of it.
        see: what the objective makes of any row at the same setting; raises ValueError at an impossible one.

    Raises:
        ValueError: it can't be told where each token goes.
    """
    if not any(seen.is_noise):
        return ()
    known = set(ids)
    behind_a_second = seen.row[seen.divisions[1] :][1:] if len(seen.divisions) > 1 else ()
    if known.intersection(behind_a_second):
        raise ValueError(
            f"objective {name!r} makes more than one document of the sentence: tokens stand behind a second "
            "symbol of noise_after, so that what was moved cannot be told: use a sentence of one document"
        )
    sources = _sources(ids, seen, see)
    if isinstance(sources, str):
        raise ValueError(f"objective {name!r} {_why(ids, seen, see, sources)}")
    noise = {i for i, here in zip(sources, seen.is_noise, strict=True) if here and i is not None}
    return tuple(sorted(noise))


def tracing_rows(ids: Sequence[int], held: Collection[int] = ()) -> list[list[int]]:
    """Return the sentence, and with it rows that together give each of its places ids of its own.

    At a place that is `held` all rows have the same id. At any other the second row has another id than the
    first, so that it is not taken for a token that an objective adds to each row. Where fewer than two ids
    are left to write with, no row is returned.
    """
    free = [i for i in range(len(ids)) if i not in held]
    digits = sorted({ids[i] for i in free} - {ids[i] for i in held})
    if len(digits) < 2:
        return []
    number = {id_: i for i, id_ in enumerate(digits)}

    def written(numbers: Iterable[int]) -> list[int]:
        return [
            id_ if i in held else digits[digit % len(digits)]
            for (i, id_), digit in zip(enumerate(ids), numbers, strict=True)
        ]

    others = (number.get(id_, 0) + 1 + i % (len(digits) - 1) for i, id_ in enumerate(ids))
    rows = [list(ids), written(others)]
    step = 1
    while len({tuple(row[i] for row in rows) for i in free}) < len(free):
        rows.append(written(i // step for i in range(len(ids))))
        step *= len(digits)
    return rows


def _sources(ids: Sequence[int], seen: Seen, see: See) -> list[int | None] | str:
    """For each place of the example, the number of the token that it reads or covers; or why it is unknown.

    None stands for what the objective has added. An objective may ask for an end, or a start, where the
    sentence has it; these places are held where rows without it won't do.
    """
    known, numbers = set(ids), {id_: i for i, id_ in enumerate(ids)}
    if not seen.divisions and sorted(id_ for id_ in seen.covered if id_ in known) == sorted(
        numbers
    ) == sorted(ids):
        return [numbers.get(id_) for id_ in seen.covered]  # each once: there is nothing to tell apart
    refused, last = "", len(ids) - 1
    for held in ((), (last,), (0,), (0, last)):
        rows = tracing_rows(ids, held)
        try:
            made = [seen, *map(see, rows[1:])]
        except ValueError as error:
            refused = refused or str(error)
            continue
        if rows and (sources := _match(rows, made)) is not None:
            # An end that has to be held ends a document: it stays behind what is moved, and is not moved.
            return [None if seen.divisions and i in held else i for i in sources]
    return refused


def _match(rows: list[list[int]], made: list[Seen]) -> list[int | None] | None:
    """The sources that explain what was `made` of all `rows`, None if there are none."""
    numbers = {source: i for i, source in enumerate(zip(*rows, strict=True))}
    if len(numbers) < len(rows[0]) or len({each.is_noise for each in made}) > 1:
        return None
    places = list(zip(*(each.covered for each in made), strict=True))
    for place in places:
        added = len(set(place)) == 1  # alike in all rows: added, or held
        if place in numbers and added and places.count(place) > 1:
            return None  # which of them is held?
        if place not in numbers and not added and place[0] in rows[0]:
            return None
    sources = [numbers.get(place) for place in places]
    if any(i is None and place[0] in rows[0] for i, place in zip(sources, places, strict=True)):
        # An objective that sorts what it reads can look as if it added tokens, but then it lacks others.
        return sources if set(numbers.values()) <= set(sources) else None
    return sources


def _why(ids: Sequence[int], seen: Seen, see: See, refused: str) -> str:
    """Say why it can't be told where each token goes, and what helps."""
    if not all(_same(ids, seen, see) for _ in range(3)):
        return (
            "makes something else of the same sentence when it is called again, so that it cannot be told "
            "where each token goes: let it draw from seed alone"
        )
    cause = (
        f"takes the sentence, but not other tokens in its places ({refused})"
        if refused
        else "draws by which tokens there are"
    )
    if len(set(ids)) < len(ids):
        what = (
            "words that come twice cannot be told apart: give each token of the sentence a symbol of its own"
        )
    elif seen.divisions:
        what = "what it moved cannot be told from another document: use a sentence of one document"
    else:
        what = (
            "a token that it adds cannot be told from the sentence's own: leave that one out of the sentence"
        )
    return f"{cause}, so that {what}"


def _same(ids: Sequence[int], seen: Seen, see: See) -> bool:
    try:
        return see(ids) == seen
    except ValueError:
        return False
