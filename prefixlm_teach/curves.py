"""A picture of how results change: a line for each series, over steps, lengths or sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import mean

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from prefixlm_teach.curve_arguments import check_curves, check_log
from prefixlm_teach.pictures import FAINT, INK, PX, Picture, finish, font, plain_settings
from prefixlm_teach.result_arguments import check_label
from prefixlm_teach.results import standard_error
from prefixlm_teach.spread import MARKS

WIDTH, HEIGHT, LINE = 560, 340, 17  # CSS pixels; LINE is the least distance of two names
SHORT = 200  # a logarithmic scale whose ends differ by less has ticks between the powers of ten
Curves = Mapping[str, Mapping[float, Sequence[float]]]


def plot_curves(curves: Curves, *, across: str, up: str, log: str = "") -> Picture:
    """Draw a line through each series' means, with two standard errors on either side where there are runs.

    Args:
        curves: series -> place on the scale across -> one number per run there. A series is named at its
            right end; no two have the same mark, up to four.
        across: what the scale across counts, with its unit.
        up: what the numbers are, with their unit.
        log: which scales are logarithmic, "", "x", "y" or "xy"; all there must then be above 0.

    Returns:
        The picture; its alternative text gives each series' mean at its ends, its lowest and its highest.

    Raises:
        TypeError, ValueError: `curves` is no dict of dicts of lists of finite numbers, one is empty, a number
            is not above 0 on a logarithmic scale, or a label is no text.
    """
    check_log(log)
    check_curves(curves, log)
    check_label(across, "across")
    check_label(up, "up")
    with plain_settings():
        figure = Figure(figsize=(WIDTH * PX, HEIGHT * PX))
        axes = figure.add_axes((0.12, 0.15, 0.64, 0.8))
        ends = []
        for i, (name, places) in enumerate(curves.items()):
            mark, color, pale = MARKS[i % len(MARKS)]
            xs = sorted(places)
            middle = [mean(places[x]) for x in xs]
            error = [2 * standard_error(places[x]) for x in xs]
            least = min(min(places[x]) for x in xs)  # on a logarithmic scale a band can't reach 0
            low = [max(m - e, least) if "y" in log else m - e for m, e in zip(middle, error, strict=True)]
            high = [m + e for m, e in zip(middle, error, strict=True)]
            axes.fill_between(xs, low, high, color=pale, linewidth=0, zorder=1)
            axes.plot(xs, middle, marker=mark, color=color, markersize=4.5, linewidth=1.6, fillstyle="none")
            ends.append((xs[-1], middle[-1], name, color))
        axes.set_xscale("log" if "x" in log else "linear")
        axes.set_yscale("log" if "y" in log else "linear")
        for axis, logarithmic in ((axes.xaxis, "x" in log), (axes.yaxis, "y" in log)):
            if logarithmic:
                low_end, high_end = axis.get_view_interval()
                few = high_end / low_end < SHORT  # so that there would be a tick or two
                axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                axis.set_minor_formatter(NullFormatter())
        axes.grid(color=FAINT, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel(across, fontproperties=font(12), color=INK, parse_math=False)
        axes.set_ylabel(up, fontproperties=font(12), color=INK, parse_math=False)
        for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
            label.set_fontproperties(font(11))
        heights = [float(axes.transData.transform((x, y))[1]) for x, y, *_ in ends]
        right = axes.transAxes.transform((1, 0))[0]
        scale = figure.dpi * PX  # display units in a CSS pixel
        for (_, _, name, color), height in zip(ends, _apart(heights, LINE * scale), strict=True):
            x, y = figure.transFigure.inverted().transform((right + 8 * scale, height))
            figure.text(
                x, y, name, fontproperties=font(12, bold=True), color=color, va="center", parse_math=False
            )
        return finish(figure, caption_curves(curves, across, up))


def _apart(heights: Sequence[float], least: float) -> list[float]:
    """Move heights up, as little as it takes, until any two are `least` apart."""
    moved = list(heights)
    order = sorted(range(len(moved)), key=moved.__getitem__)
    for below, above in pairwise(order):
        moved[above] = max(moved[above], moved[below] + least)
    return moved


def caption_curves(curves: Curves, across: str, up: str) -> str:
    """Say of each series where it begins and ends, and where it is lowest and highest."""
    said = []
    for name, places in curves.items():
        means = {x: mean(values) for x, values in sorted(places.items())}
        first, last = next(iter(means)), next(reversed(means))
        lowest, highest = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
        if len(means) == 1:
            said.append(f"{name}: {means[first]:.3g} at {first:g}")
            continue
        said.append(
            f"{name}: from {means[first]:.3g} at {first:g} to {means[last]:.3g} at {last:g}, lowest "
            f"{means[lowest]:.3g} at {lowest:g}, highest {means[highest]:.3g} at {highest:g}"
        )
    return f"{up}, over {across}. {'; '.join(said)}."
