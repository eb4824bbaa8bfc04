"""The loss explorer: move the end of the prefix, and see what three slices of the logits make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
import traitlets
from matplotlib.figure import Figure
from torch import Tensor

from prefixlm_teach.drawing_bars import Column, bars_size, draw_bars
from prefixlm_teach.explorer_arguments import check_answer, check_choice, check_models, check_one_example
from prefixlm_teach.pictures import PX, Picture, canvas, finish, plain_settings, write
from prefixlm_teach.widgets.base import Checked, Explorer, prefix_len_trait

SLICES = {
    "right": "row t − 1 guesses token t",
    "no shift": "row t “guesses” its own token",
    "late": "as right, but from row p on",
}


Model = Callable[[Tensor, int], Tensor]
Line = tuple[int | None, ...]


def loss_tables(name: str, model: Model, tokens: Tensor) -> tuple[tuple[Line, ...], tuple[Line, ...], int]:
    """Ask a model for every prefix length, and keep what three slices need, in hundredths of a nat.

    Args:
        name: the model's name, for an error.
        model: called with `tokens` and p, returns (1, T, V) logits.
        tokens: (1, T) ids.

    Returns:
        T lines, for p = 1 to T (p = 0 is the same mask as p = 1): what the guess of row t - 1 costs at token
        t, for t = 1 to T - 1, then what row t's own token costs it; 2T - 1 whole numbers. T + 1 lines, for
        p = 0 to T: the mean of each slice before rounding, None where nothing is scored. And V.
    """
    table: list[Line] = []
    means: list[Line] = []
    vocab_size = 0
    for p in range(1, tokens.size(1) + 1):
        with torch.no_grad():
            logits = model(tokens, p)
        check_answer(name, p, logits, tokens)
        vocab_size = logits.size(-1)
        nats = -logits[0].double().log_softmax(-1)  # (T, V)
        following = nats[:-1].gather(1, tokens[0, 1:, None].long())[:, 0].tolist()  # T - 1
        own = nats.gather(1, tokens[0, :, None].long())[:, 0].tolist()  # T
        table.append(tuple(round(100 * cost) for cost in (*following, *own)))
        if p == 1:
            means.append(_means(following, own, 0))
        means.append(_means(following, own, p))
    return tuple(table), tuple(means), vocab_size


def _means(following: list[float], own: list[float], p: int) -> Line:
    """The mean of each slice in hundredths of a nat; `following[t - 1]` is about token t."""
    slices = (following[max(p, 1) - 1 :], own[p:], following[p:])
    return tuple(round(100 * sum(costs) / len(costs)) if costs else None for costs in slices)


class LossExplorer(Explorer):
    """A slider for the prefix length, with each token's loss as three slices of the logits would have it.

    Args:
        models: a name for each model. A model is called with `tokens` and a prefix length, and returns
            (1, T, V) logits, as a `TinyPrefixLM` in eval mode does.
        tokens: (1, T) ids, T at most 64.
        symbols: T strings, the tokens as they are shown.
        prefix_len: p, 0 to T; half of the tokens when left out.

    Attributes:
        prefix_len: the slider's value, to read, set, observe or link.
        model: the name of the model on show, likewise.
        tokens: the symbols, read only.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, shape or range, a model is in training mode
            or gives numbers that are not finite.
    """

    name = "loss"
    parts = ("bars",)
    tokens = traitlets.Tuple(read_only=True).tag(sync=True)
    names = traitlets.Tuple(read_only=True).tag(sync=True)
    table = traitlets.Tuple(read_only=True).tag(sync=True)
    mean_table = traitlets.Tuple(read_only=True).tag(sync=True)
    vocab_sizes = traitlets.Tuple(read_only=True).tag(sync=True)
    prefix_len = prefix_len_trait()
    model = Checked(
        lambda explorer, name: check_choice("model", name, explorer.names, ", ".join(explorer.names)), str
    ).tag(sync=True)

    def __init__(
        self,
        models: Mapping[str, Model],
        tokens: Tensor,
        symbols: Sequence[str],
        prefix_len: int | None = None,
    ) -> None:
        check_models(models)
        check_one_example(tokens, symbols, prefix_len)
        tables, means, sizes = zip(
            *(loss_tables(name, model, tokens) for name, model in models.items()), strict=True
        )
        self.set_trait("tokens", tuple(symbols))
        self.set_trait("names", tuple(models))
        self.set_trait("table", tables)
        self.set_trait("mean_table", means)
        self.set_trait("vocab_sizes", sizes)
        super().__init__(
            model=self.names[0], prefix_len=len(symbols) // 2 if prefix_len is None else prefix_len
        )

    @property
    def losses(self) -> dict[str, list[float | None]]:
        """For each slice the loss of each token in nats, to two decimals; None where it is not scored."""
        return {
            name: [None if cost is None else cost / 100 for cost in costs]
            for name, costs in self._costs().items()
        }

    @property
    def means(self) -> dict[str, float | None]:
        """For each slice the mean loss of its tokens, to two decimals; None if nothing is scored."""
        line = self.mean_table[self._which()][self.prefix_len]
        return {name: None if mean is None else mean / 100 for name, mean in zip(SLICES, line, strict=True)}

    def _which(self) -> int:
        return int(self.names.index(self.model))

    def _costs(self) -> dict[str, list[int | None]]:
        p, seq_len = self.prefix_len, len(self.tokens)
        costs = self.table[self._which()][max(p, 1) - 1]
        following, own = [None, *costs[: seq_len - 1]], costs[seq_len - 1 :]
        return {
            "right": [following[t] if t >= max(p, 1) else None for t in range(seq_len)],
            "no shift": [own[t] if t >= p else None for t in range(seq_len)],
            "late": [following[t] if t >= p + 1 else None for t in range(seq_len)],
        }

    @property
    def description(self) -> str:
        """What stands below the bars: the mean of each slice."""
        said = []
        for name, costs in self._costs().items():
            scored = len(costs) - costs.count(None)
            mean = self.means[name]
            said.append(f"{name}: nothing is scored" if mean is None else f"{name}: {mean:.2f} over {scored}")
        begin = f"Prefix length {self.prefix_len} of {len(self.tokens)}, model “{self.model}”"
        return f"{begin}. Mean loss in nats, {'; '.join(said)}."

    def __repr__(self) -> str:
        return f"LossExplorer({len(self.tokens)} tokens, prefix_len={self.prefix_len}, model={self.model!r})"

    def picture(self) -> Picture:
        """Draw the three slices side by side as they stand."""
        columns = [
            Column(name, SLICES[name], values, self.means[name]) for name, values in self.losses.items()
        ]
        width, height = bars_size(self.tokens, columns)
        title = f"model “{self.model}”, prefix length {self.prefix_len} of {len(self.tokens)}"
        with plain_settings():
            figure = Figure(figsize=((width + 40) * PX, (height + 60) * PX))
            write(canvas(figure, 20, 0, width, 30), 0, 15, title, 14, ha="left", bold=True)
            draw_bars(
                canvas(figure, 20, 40, width, height),
                self.tokens,
                columns,
                prefix_len=self.prefix_len,
                no_idea=self.vocab_sizes[self._which()],
            )
            return finish(figure, f"{self.description} {self._said()}")

    def _said(self) -> str:
        """The loss of each token that some slice scores, in words."""
        said = []
        for t, token in enumerate(self.tokens):
            costs = [f"{name} {v[t]:.2f}" for name, v in self.losses.items() if v[t] is not None]
            if costs:
                said.append(f"{t} {token}: {', '.join(costs)}")
        return f"Token by token, {'; '.join(said)}." if said else "No token is scored."
