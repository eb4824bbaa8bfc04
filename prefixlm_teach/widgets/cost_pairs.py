"""The pairs that each way to compute an open prefix works out: how many, and which area of the square.

A way is one or two calls of attention. Which pairs a call computes follows from what it is told: with a mask
all, without one all, and with "causal" those that a row may see; routines that skip the rest do it in whole
blocks, so that along the diagonal they compute some more than is counted here. Nothing here is a table of all
pairs: a million tokens cost what sixteen do.

Source: PyTorch's `scaled_dot_product_attention` and `causal_lower_right`, as `two_calls` uses them.
"""

from __future__ import annotations

WAYS = ("dense mask", "cut on a CPU", "mend", "cut on a GPU", "causal call")
AREAS = {  # the kinds of pairs: how a stylesheet calls them, and how a reader does
    "past": "past",
    "opened": "opened by the prefix",
    "kept": "computed twice",
    "lost": "computed, thrown away",
    "padding": "visible, not computed",
    "blocked": "not computed",
}
STEPPED = 512  # tokens up to which the diagonal is drawn step by step: then a step is less than a pixel

Outline = list[tuple[int, int]]


def count_areas(way: str, seq_len: int, prefix_len: int) -> dict[str, int]:
    """Return how many pairs of each kind a way leaves, the kinds that it can have in the order of `AREAS`."""
    causal, opened = seq_len * (seq_len + 1) // 2, prefix_len * (prefix_len - 1) // 2
    hidden = seq_len**2 - causal - opened
    after = seq_len - prefix_len  # rows that on a CPU get a mask, unless p < 2: then one causal call will do
    corner = after * (after - 1) // 2 if prefix_len > 1 else 0
    return {
        "dense mask": {"past": causal, "opened": opened, "lost": hidden},
        "cut on a CPU": {"past": causal, "opened": opened, "lost": corner, "blocked": hidden - corner},
        "mend": {"past": causal - opened, "opened": opened, "kept": opened, "blocked": hidden},
        "cut on a GPU": {"past": causal, "opened": opened, "blocked": hidden},
        "causal call": {"past": causal, "padding": opened, "blocked": hidden},
    }[way]


def count_computed(way: str, seq_len: int, prefix_len: int) -> int:
    """Return how many pairs a way computes; one that it computes twice counts twice."""
    often = {"past": 1, "opened": 1, "kept": 2, "lost": 1}
    return sum(often.get(kind, 0) * n for kind, n in count_areas(way, seq_len, prefix_len).items())


def outline_areas(way: str, seq_len: int, prefix_len: int) -> dict[str, Outline]:
    """Return the corners (key, query) of each area that is not empty; what is left over is not computed."""
    end, p = seq_len, prefix_len

    def stairs(first: int, last: int) -> Outline:
        """From (first, first) down to (last, last), the diagonal's own cells on the left."""
        if end > STEPPED:
            return [(last, last)]
        return [corner for q in range(first, last) for corner in ((q + 1, q), (q + 1, q + 1))]

    lower = [(0, 0), *stairs(0, end), (0, end)]
    opened = [(0, 0), *stairs(0, p), (p, 0)]
    hidden = [(p, p), *stairs(p, end), (end, 0), (p, 0)]
    corner = [(p, p), *stairs(p, end), (end, p)]
    drawn = {
        "dense mask": {"past": lower, "opened": opened, "lost": hidden},
        "cut on a CPU": {"past": lower, "opened": opened, "lost": corner},
        "mend": {"past": lower, "opened": opened},
        "cut on a GPU": {"past": lower, "opened": opened},
        "causal call": {"past": lower, "padding": opened},
    }[way]
    if way == "mend" and p > 1:
        drawn["past"] = [(0, p - 1), (p - 1, p - 1), *stairs(p - 1, end), (0, end)]
        drawn["kept"] = [(0, 0), *stairs(0, p - 1), (0, p - 1)]
    counts = count_areas(way, seq_len, prefix_len)
    return {kind: corners for kind, corners in drawn.items() if counts[kind]}


def tenths(part: int, whole: int) -> int:
    """Return a share in tenths of a percent, a half rounded up: in whole numbers, as the page does it."""
    return (2000 * part + whole) // (2 * whole)


def percent(in_tenths: int) -> str:
    """Write tenths of a percent: 531 is 53.1%."""
    return f"{in_tenths // 10}.{in_tenths % 10}%"


def attention_share(pairs: int, seq_len: int, d_model: int) -> int:
    """Return the share of attention in a layer's operations, in tenths of a percent.

    A pair takes 4 d operations; a token 24 d**2, for four projections and a feed-forward layer of width 4 d.
    """
    return tenths(pairs, pairs + 6 * d_model * seq_len)
