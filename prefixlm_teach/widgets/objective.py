"""The objective explorer: one sentence, and what each objective makes of it at each setting."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import traitlets
from torch import Tensor

from prefixlm_teach.data import Vocabulary
from prefixlm_teach.explorer_arguments import check_choice
from prefixlm_teach.pictures import Picture
from prefixlm_teach.widgets.base import Checked, Explorer
from prefixlm_teach.widgets.objective_arguments import (
    check_draw,
    check_objectives,
    check_sentence,
    check_stop,
    check_stops,
    plain,
)
from prefixlm_teach.widgets.objective_picture import draw_objective
from prefixlm_teach.widgets.objective_table import Made, Objective, prefix_mask, tabulate


class ObjectiveExplorer(Explorer):
    """A choice of objectives, with sliders for what is random in them, and what each makes of one sentence.

    An objective is called with `[ids]`, the sentence as the only row, and by name with those of `rate`,
    `mean_span` and `seed` that its signature names; each of them has a slider, `seed` as the number of the
    draw. It returns `Examples`. The functions of this package are such objectives as they are, what else they
    need filled in by `functools.partial`. What is filled in has no slider: fill in the `rate` of
    `fill_in_the_middle`, which is how many of the texts are changed, not how much of one.

        ObjectiveExplorer(
            {
                "Causal LM": causal_lm,
                "Prefix LM": prefix_lm,
                "Span corruption": partial(span_corruption, vocab_size=len(vocabulary), end_id=1),
            },
            "the cat sat on the mat .".split(),
            vocabulary,
        )

    All is drawn here, once for each setting, and the page carries what came of it. Where an objective raises
    a ValueError, the setting is shown as impossible, in its words.

    Args:
        objectives: a name for each objective.
        tokens: the sentence, at most 32 symbols of the vocabulary, not all alike.
        vocabulary: the ids and symbols of words, sentinels and special tokens.
        rates: the stops of a slider, rising: shares between 0 and 1.
        mean_spans: the stops of a slider, rising: tokens, from 1 to 64.
        draws: how many draws there are; they have the seeds 0 to draws - 1.
        objective: the name to begin with; the first when left out.
        rate: the stop to begin with; the first when left out.
        mean_span: likewise.
        draw: the draw to begin with.
        noise_after: symbols after the first of which a row that is asked for whole, such as one of
            fill-in-the-middle, holds what was moved there. It is marked as noise in the sentence; in all
            other rows that is what is asked for.

    Attributes:
        objective, rate, mean_span, draw: what is chosen: read, set, `observe` or `jslink` them.
        tokens, names, rates, mean_spans, draws: what there is to choose from, read only.

    Raises:
        TypeError: an argument is of the wrong kind, or an objective can't be called so, or returns something
            else than one example.
        ValueError: an argument is out of range, an objective is impossible at every setting, or the page
            would have to carry too much; what the explorer showed before stays.
    """

    name = "objective"
    parts = ("grid", "strip")
    tokens = traitlets.Tuple(read_only=True).tag(sync=True)
    names = traitlets.Tuple(read_only=True).tag(sync=True)
    rates = traitlets.Tuple(read_only=True).tag(sync=True)
    mean_spans = traitlets.Tuple(read_only=True).tag(sync=True)
    draws = traitlets.Int(read_only=True).tag(sync=True)
    symbols = traitlets.Tuple(read_only=True).tag(sync=True)
    table = traitlets.Tuple(read_only=True).tag(sync=True)
    uses = traitlets.Tuple(read_only=True).tag(sync=True)
    which = traitlets.Tuple(read_only=True).tag(sync=True)
    objective = Checked(
        lambda explorer, name: check_choice("objective", name, explorer.names, ", ".join(explorer.names)), str
    ).tag(sync=True)
    rate = Checked(lambda explorer, rate: check_stop("rate", rate, explorer.rates), float).tag(sync=True)
    mean_span = Checked(lambda explorer, span: check_stop("mean_span", span, explorer.mean_spans), float).tag(
        sync=True
    )
    draw = Checked(lambda explorer, draw: check_draw(draw, explorer.draws), operator.index).tag(sync=True)

    def __init__(
        self,
        objectives: Mapping[str, Objective],
        tokens: Sequence[str],
        vocabulary: Vocabulary,
        *,
        rates: Sequence[float] = (0.15, 0.25, 0.35, 0.5),
        mean_spans: Sequence[float] = (1.0, 2.0, 3.0, 8.0),
        draws: int = 8,
        objective: str | None = None,
        rate: float | None = None,
        mean_span: float | None = None,
        draw: int = 0,
        noise_after: Sequence[str] = (),
    ) -> None:
        check_objectives(objectives)
        check_sentence(tokens, vocabulary, noise_after)
        check_stops(rates, mean_spans, draws)
        self.set_trait("tokens", tuple(tokens))
        self.set_trait("names", tuple(objectives))
        self.set_trait("rates", tuple(map(float, rates)))
        self.set_trait("mean_spans", tuple(map(float, mean_spans)))
        self.set_trait("draws", operator.index(draws))
        chosen = {
            "objective": self.names[0] if objective is None else objective,
            "rate": self.rates[0] if rate is None else rate,
            "mean_span": self.mean_spans[0] if mean_span is None else mean_span,
            "draw": draw,
        }
        for name, value in chosen.items():
            self.traits()[name].validate(self, value)  # before anything is drawn
        stops = {"rate": self.rates, "mean_span": self.mean_spans, "seed": range(self.draws)}
        table = tabulate(
            *(objectives, vocabulary.encode(tokens), stops, len(vocabulary)), vocabulary.encode(noise_after)
        )
        self.set_trait("symbols", tuple(vocabulary.decode(table.ids)))
        self.set_trait("table", table.made)
        self.set_trait("uses", table.uses)
        self.set_trait("which", table.which)
        super().__init__(**chosen)

    @property
    def made(self) -> Made | None:
        """What the objective makes of the sentence; None where the setting is impossible."""
        entry = self._entry()
        return None if isinstance(entry, str) else Made._make(entry)

    @property
    def row(self) -> tuple[str, ...]:
        """The T symbols that the model reads, none where the setting is impossible."""
        return tuple(self.symbols[i] for i in self.made.row) if self.made else ()

    @property
    def labels(self) -> tuple[str | None, ...]:
        """The symbol that is asked for at each of the T places, None where nothing is."""
        return tuple(None if i is None else self.symbols[i] for i in self.made.labels) if self.made else ()

    @property
    def mask(self) -> Tensor | None:
        """The (T, T) mask, True = may attend; None where the setting is impossible."""
        if self.made is None:
            return None
        if self.made.prefix_len is not None:
            return prefix_mask(len(self.row), self.made.prefix_len)
        assert self.made.mask is not None  # noqa: S101 - for the type checker: one of the two is there
        return torch.tensor([[cell == "1" for cell in row] for row in self.made.mask], device="cpu")

    def _entry(self) -> str | tuple[Any, ...]:
        """The entry of the table at the setting on show."""
        at = {
            "rate": (self.rates.index(self.rate), len(self.rates)),
            "mean_span": (self.mean_spans.index(self.mean_span), len(self.mean_spans)),
            "seed": (self.draw, self.draws),
        }
        chosen, place = self.names.index(self.objective), 0
        for slider in self.uses[chosen]:
            stop, stops = at[slider]
            place = place * stops + stop
        entry: str | tuple[Any, ...] = self.table[self.which[chosen][place]]
        return entry

    @property
    def setting(self) -> str:
        """The objective, and where those of its sliders stand that it uses."""
        said = {
            "rate": f"rate {plain(self.rate)}",
            "mean_span": f"mean span {plain(self.mean_span)}",
            "seed": f"draw {self.draw}",
        }
        uses = self.uses[self.names.index(self.objective)]
        kind = f" ({self.made.kind})" if self.made and self.made.kind else ""
        return ", ".join([self.objective, *(said[slider] for slider in uses)]) + kind

    @property
    def description(self) -> str:
        """What is read and what is asked for, or why the setting is impossible."""
        made, row = self.made, self.row
        if made is None:
            return f"{self.setting}: impossible. {self._entry()}."
        p = made.prefix_len
        parts = {"row": row} if p is None else {"prefix": row[:p], "target": row[p:]}
        said = [f"{part} “{' '.join(tokens)}”" if tokens else f"no {part}" for part, tokens in parts.items()]
        asked = [f"{t} “{label}”" for t, label in enumerate(self.labels) if label is not None]
        count = f"{len(asked)} label{'' if len(asked) == 1 else 's'}"
        each = "each predicted" if len(asked) > 1 else "predicted"
        how = f"its own row: {', '.join(asked)}" if made.cloze else "the row before it"
        said.append(f"{count}, {each} in {how}" if asked else "no label")
        return f"{self.setting}: {'; '.join(said)}."

    def __repr__(self) -> str:
        return f"ObjectiveExplorer({len(self.tokens)} tokens, {self.setting!r})"

    def picture(self) -> Picture:
        """Draw the sentence, what is read and asked for, and the mask as they stand."""
        return draw_objective(
            self.tokens, self.setting, self.made, self.row, self.labels, self.mask, self.description
        )
