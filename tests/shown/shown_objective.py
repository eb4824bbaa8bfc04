"""What the objective explorer must show, as the package's own objectives make it, called once more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from drawn import read
from pixels import kinds_in
from playwright.sync_api import Locator
from shown import Choice, Kind, Slider, trait_slider

from prefixlm_teach import (
    Examples,
    ObjectiveExplorer,
    Vocabulary,
    causal_lm,
    create_prefix_lm_mask,
    describe_mask,
    masked_lm,
    prefix_lm,
    span_corruption,
)

SENTENCE = ["the", "cat", "sat", "on", "the", "mat"]
SPECIAL = ["<pad>", "</s>", "[M]"]
SENTINELS = [f"<x{i}>" for i in range(9, -1, -1)]  # the last id is <x0>, the first sentinel


def vocabulary_of(tokens: Sequence[str]) -> Vocabulary:
    """Special tokens, the words, each once, and ten sentinels at the top."""
    return Vocabulary([*SPECIAL, *dict.fromkeys(tokens), *SENTINELS])


def backwards(rows: Sequence[Sequence[int]], *, seed: int) -> Examples:
    """A cloze of one token, drawn by the seed, in a model that reads from the right: no prefix mask."""
    row, n = rows[0], len(rows[0])
    t = seed % n
    tokens, labels = torch.tensor([row]), torch.full((1, n), -100)
    labels[0, t], tokens[0, t] = row[t], 2
    mask = torch.ones(1, 1, n, n, dtype=torch.bool).triu()
    return Examples(tokens, labels, torch.ones(1, n, dtype=torch.bool), mask=mask, cloze=True)


def objectives_of(vocabulary: Vocabulary) -> dict[str, Any]:
    """An objective without sliders, with one, with two, with three, and one whose mask is no prefix's."""
    V = len(vocabulary)
    return {
        "Causal LM": causal_lm,
        "Prefix LM": prefix_lm,
        "Masked LM": partial(masked_lm, vocab_size=V, mask_id=2),
        "Span corruption": partial(span_corruption, vocab_size=V, end_id=1),
        "From the right": backwards,
    }


def make(tokens: Sequence[str] = SENTENCE, **chosen: Any) -> ObjectiveExplorer:
    """An explorer of few stops, one of which no spans of six tokens fit."""
    vocabulary = vocabulary_of(tokens)
    given = {"rates": (0.2, 0.4, 0.7), "mean_spans": (1, 2), "draws": 3, "objective": "Span corruption"}
    return ObjectiveExplorer(objectives_of(vocabulary), tokens, vocabulary, **given | chosen)


USES = {
    "Causal LM": [],
    "Prefix LM": ["draw"],
    "Masked LM": ["rate", "draw"],
    "Span corruption": ["rate", "mean_span", "draw"],
    "From the right": ["draw"],
}


class Wanted(NamedTuple):
    """What the page has to show: the row, what is asked for at each place (None: nothing), p, the mask."""

    row: list[str]
    labels: list[str | None]
    prefix_len: int | None
    mask: torch.Tensor
    cloze: bool
    kind: str | None


def uses_of(explorer: ObjectiveExplorer) -> list[str]:
    """The sliders that the objective on show has a use for."""
    if explorer.objective in USES:
        return USES[explorer.objective]
    asked = explorer.uses[explorer.names.index(explorer.objective)]
    return [use.replace("seed", "draw") for use in asked]


def wanted_of(explorer: ObjectiveExplorer) -> Wanted | str:
    """What the objective on show makes of the sentence, or in words why it can't.

    The package's objective is called once more. Where a chapter shows others, whose functions a page does not
    carry, it is what Python has, whose table is held to the objectives elsewhere.
    """
    if explorer.objective not in USES:
        made = explorer.made
        if made is None:
            return explorer.description.partition(": impossible. ")[2].removesuffix(".")
        return Wanted(
            list(explorer.row), list(explorer.labels), made.prefix_len, explorer.mask, made.cloze, made.kind
        )
    vocabulary = vocabulary_of(explorer.tokens)
    arguments = {"rate": explorer.rate, "mean_span": explorer.mean_span, "draw": explorer.draw}
    given = {use.replace("draw", "seed"): arguments[use] for use in USES[explorer.objective]}
    objective = objectives_of(vocabulary)[explorer.objective]
    try:
        examples: Examples = objective([vocabulary.encode(explorer.tokens)], **given)
    except ValueError as error:
        return str(error)
    labels = [None if i == -100 else vocabulary.symbols[i] for i in examples.labels[0].tolist()]
    p = None if examples.prefix_len is None else int(examples.prefix_len[0])
    row = vocabulary.decode(examples.tokens[0])
    kind = examples.kinds[0] if examples.kinds else None
    return Wanted(row, labels, p, mask_of(examples), examples.cloze, kind)


def mask_of(examples: Examples) -> torch.Tensor:
    """The (T, T) mask of the one example."""
    if examples.mask is not None:
        return examples.mask[0, 0]
    assert examples.prefix_len is not None
    return create_prefix_lm_mask(examples.tokens.size(1), int(examples.prefix_len[0]))


def visible(token: str) -> str:
    """A token as a label shows it, of those that the tests use."""
    return token.replace("\n", "↵")


def said(tokens: Sequence[str]) -> str:
    """Tokens in quotes, turned nowhere."""
    text = " ".join(map(visible, tokens))
    return f"“\u2068{text}\u2069”" if any("\u0590" <= c <= "\u08ff" for c in text) else f"“{text}”"


def setting_of(explorer: ObjectiveExplorer) -> str:
    """The name of the objective, and what is said of the sliders that it uses."""
    words = {
        "rate": f"rate {explorer.rate:g}",
        "mean_span": f"mean span {explorer.mean_span:g}",
        "draw": f"draw {explorer.draw}",
    }
    return ", ".join([explorer.objective, *(words[use] for use in uses_of(explorer))])


def words_of(explorer: ObjectiveExplorer) -> str:
    """The sentence that says what is on show."""
    wanted = wanted_of(explorer)
    if isinstance(wanted, str):
        return f"{setting_of(explorer)}: impossible. {wanted}."
    row, p = wanted.row, wanted.prefix_len
    asked = {t: label for t, label in enumerate(wanted.labels) if label is not None}
    if p is None:
        parts = [f"row {said(row)}"]
    else:
        parts = [f"prefix {said(row[:p])}" if p else "no prefix"]
        parts.append(f"target {said(row[p:])}" if row[p:] else "no target")
    how = "its own row: " + ", ".join(f"{t} {said([label])}" for t, label in asked.items())
    each = "1 label, predicted" if len(asked) == 1 else f"{len(asked)} labels, each predicted"
    where = how if wanted.cloze else "the row before it"
    made_by = f" ({wanted.kind})" if wanted.kind else ""
    return f"{setting_of(explorer)}{made_by}: {'; '.join(parts)}; {each} in {where}."


def shows(root: Locator, explorer: ObjectiveExplorer) -> None:
    """Assert that the page shows `explorer` as it stands."""
    drawn = read(root)
    wanted = wanted_of(explorer)
    assert drawn["pressed"] == [explorer.objective]
    _shows_sliders(drawn, explorer)
    assert drawn["readout"] == words_of(explorer)
    n = len(explorer.tokens)
    sentence, reads = drawn["items"][:n], drawn["items"][n:]
    assert [item["token"] for item in sentence] == [visible(token) for token in explorer.tokens]
    if isinstance(wanted, str):
        assert (reads, drawn["grids"], drawn["figures"]) == ([], [], ["–", "–", "–"])
        assert [item["state"] for item in sentence] == ["plain"] * n
        return
    row, labels, p, mask, cloze, _ = wanted
    asked = [label is not None for label in labels]
    assert [item["token"] for item in reads] == [visible(token) for token in row]
    assert [item["arrow"] != "none" for item in reads] == [each and not cloze for each in asked]
    parts = ["plain" if p is None else "prefix" if t < p else "target" for t in range(len(row))]
    assert [item["state"] for item in reads] == [
        "scored" if each and not cloze else part for each, part in zip(asked, parts, strict=True)
    ]
    assert [item["answer"] for item in reads] == [
        visible(label) if cloze and label is not None else None for label in labels
    ]
    assert [i for i, item in enumerate(sentence) if item["state"] == "noise"] == list(explorer.made.noise)
    (grid,) = drawn["grids"]
    assert grid["cells"] == kinds_of(mask)
    assert grid["words"] == describe_mask(mask)
    assert grid["rows"] == [f"Row {q}, {token}" for q, token in enumerate(row)]
    assert drawn["figures"] == [str(len(row)), str(sum(asked)), f"{int(mask.sum())} of {mask.numel()}"]


def kinds_of(mask: torch.Tensor) -> list[list[str]]:
    """The kind of each cell."""
    return [
        [("past" if k <= q else "opened") if may else "blocked" for k, may in enumerate(row)]
        for q, row in enumerate(mask.tolist())
    ]


def _shows_sliders(drawn: dict[str, Any], explorer: ObjectiveExplorer) -> None:
    stops = {
        "rate": ("Rate", list(explorer.rates), explorer.rate, f"rate {explorer.rate:g}"),
        "mean_span": (
            *("Mean span", list(explorer.mean_spans), explorer.mean_span),
            f"mean span {explorer.mean_span:g}",
        ),
        "draw": ("Draw", list(range(explorer.draws)), explorer.draw, f"draw {explorer.draw}"),
    }
    for use, (label, values, value, words) in stops.items():
        slider, used = drawn["sliders"][label], use in uses_of(explorer)
        assert (slider["value"], slider["first"], slider["last"]) == (values.index(value), 0, len(values) - 1)
        assert slider["disabled"] is not used
        assert slider["figures"] == (words.split()[-1] if used else "not used")
        assert slider["words"] == (words if used else f"{words}, not used by {explorer.objective}")


def stop_slider(label: str, trait: str) -> Slider:
    """A slider over the stops of a trait."""
    return Slider(
        label,
        last=lambda explorer: len(getattr(explorer, f"{trait}s")) - 1,
        value=lambda explorer: getattr(explorer, f"{trait}s").index(getattr(explorer, trait)),
        move=lambda explorer, i: setattr(explorer, trait, getattr(explorer, f"{trait}s")[i]),
    )


def cells(drawn: dict[str, Any]) -> Any:
    """The kinds of the cells of the grid, if there is one."""
    return [grid["cells"] for grid in drawn["grids"]] or "no grid"


def png_cells(explorer: ObjectiveExplorer) -> Any:
    """The same from the PNG."""
    return kinds_in(explorer.picture(), max(len(explorer.row), 1)) or "no grid"


SLIDERS = {
    "rate": stop_slider("Rate", "rate"),
    "mean_span": stop_slider("Mean span", "mean_span"),
    "draw": trait_slider("Draw", "draw", lambda explorer: explorer.draws - 1),
}

KIND = Kind(
    make=make,
    make_hard=lambda tokens: make(tokens, objective="Masked LM", rate=0.7),
    shows=shows,
    sliders=lambda explorer: [SLIDERS[use] for use in SLIDERS if use in uses_of(explorer)],
    cells=cells,
    png_cells=png_cells,
    choices=[
        Choice(name, lambda explorer, name=name: setattr(explorer, "objective", name))
        for name in ("Causal LM", "Prefix LM", "Masked LM", "From the right", "Span corruption")
    ],
)
