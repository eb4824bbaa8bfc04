"""Static pictures of masks, splits, attention and training, each with alternative text made from its data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from torch import Tensor

from prefixlm_teach.arguments import check_int
from prefixlm_teach.captions import (
    caption_losses,
    caption_mask,
    caption_split,
    caption_tokens,
    caption_weights,
)
from prefixlm_teach.drawing import (
    CROSSED,
    KEY,
    NO_WEIGHT,
    Labels,
    draw_cells,
    draw_color_bar,
    draw_head,
    draw_legend,
    draw_lines,
    draw_weights,
    kinds_of,
    lay_out,
    side_of,
)
from prefixlm_teach.drawing_strip import TALL, draw_strip, strip_places
from prefixlm_teach.picture_arguments import (
    check_losses,
    check_masks,
    check_nothing_blocked,
    check_one_mask_picture,
    check_split_of,
    check_tokens,
    check_weights,
)
from prefixlm_teach.pictures import (
    FAINT,
    INK,
    PX,
    SCORED,
    Picture,
    canvas,
    finish,
    font,
    plain_settings,
    write,
)


def plot_mask(
    mask: Tensor,
    tokens: Sequence[str] | None = None,
    *,
    prefix_len: int | None = None,
    title: str | None = None,
) -> Picture:
    """Draw a mask: a row for each query, a column for each key.

    Args:
        mask: booleans, (T, T) or (1, 1, T, T), True = may attend.
        tokens: T tokens that name the rows and columns; numbers when left out.
        prefix_len: p; with it, the cells that the prefix opened (key > query) are told apart from the past.
        title: a line above the picture.

    Returns:
        The picture, with a sentence about what each row sees as its alternative text.

    Raises:
        TypeError: `mask` is not boolean, a token is not a string, `prefix_len` is not a whole number.
        ValueError: a shape or a number of tokens does not fit, `prefix_len` is longer than the sequence, or
            the mask shows a row a later column outside of that prefix.
    """
    return plot_masks({title or "": mask}, tokens, prefix_len=prefix_len)


def plot_masks(
    masks: Mapping[str, Tensor], tokens: Sequence[str] | None = None, *, prefix_len: int | None = None
) -> Picture:
    """Draw several masks side by side, each under its name.

    Args:
        masks: name -> mask, each as `plot_mask` takes it, all of one size.
        tokens: as `plot_mask` takes them.
        prefix_len: as `plot_mask` takes it; one prefix for all.

    Returns:
        The picture; its alternative text describes the masks one after the other.

    Raises:
        TypeError, ValueError: as `plot_mask`, or there is no mask, or their sizes differ.
    """
    check_masks(masks, tokens, prefix_len)
    grids = {name: mask.cpu().reshape(mask.shape[-2:]) for name, mask in masks.items()}
    seq_len = len(next(iter(grids.values())))
    names = [str(i) for i in range(seq_len)] if tokens is None else tokens
    side = side_of(seq_len, len(grids))
    labels = Labels(names, side)
    with plain_settings():
        figure, places = lay_out(len(grids), side, labels)
        for i, ((name, grid), (left, top)) in enumerate(zip(grids.items(), places, strict=True)):
            axes = canvas(figure, left, top, side, side)
            kinds = kinds_of(grid, split=prefix_len is not None)
            for kind, cells in kinds.items():
                color, style = KEY[kind]
                draw_cells(axes, cells, side, color, **style)
            draw_lines(axes, seq_len, side)
            labels.draw(axes, rows=left == places[0][0])
            draw_head(axes, side, labels, name, first=i == 0)
        draw_legend(canvas(figure, places[0][0], places[-1][1] + side + 12, side, 24), 0, 12, list(kinds))
        said = [caption_mask(name, grid, prefix_len) for name, grid in grids.items()]
        return finish(figure, " ".join([*said, caption_tokens(tokens)]).strip())


def plot_split(tokens: Sequence[str], prefix_len: int) -> Picture:
    """Draw where the loss is: prefix and target, and an arrow from each row that scores to what it predicts.

    Args:
        tokens: T tokens.
        prefix_len: p, the number of prefix tokens, 0 to T.

    Raises:
        TypeError: a token is not a string, or `prefix_len` is not a whole number.
        ValueError: there is no token, or `prefix_len` is negative or longer than the sequence.
    """
    check_split_of(tokens, prefix_len)
    places = strip_places(tokens, 620)
    height = places[-1][1] + TALL
    with plain_settings():
        figure = Figure(figsize=(660 * PX, (height + 120) * PX))
        draw_strip(canvas(figure, 20, 50, 620, height), tokens, prefix_len, places)
        axes = canvas(figure, 20, 50 + height + 24, 620, 24)
        axes.plot([6], [12], "o", color=SCORED, markersize=5)
        write(axes, 16, 12, "scored: the row before it predicts it", 12, ha="left")
        return finish(figure, caption_split(tokens, prefix_len))


def plot_attention(
    weights: Tensor, tokens: Sequence[str], *, mask: Tensor | None = None, title: str | None = None
) -> Picture:
    """Draw how much each query takes from each key.

    Args:
        weights: (T, T), or (H, T, T) for one map per head; floats from 0 to 1.
        tokens: T tokens.
        mask: booleans, (T, T) or (1, 1, T, T); blocked cells are then hatched.
        title: a line above the picture.

    Raises:
        TypeError: `weights` is not floating, `mask` is not boolean, a token is not a string.
        ValueError: a shape or a number of tokens does not fit, or a weight is outside 0 to 1 (NaN included).
    """
    check_weights(weights)
    check_tokens(tokens, weights.size(-1))
    if mask is not None:
        check_one_mask_picture(mask, weights.size(-1))
        check_nothing_blocked(weights, mask.reshape(mask.shape[-2:]))
    maps = weights.detach().cpu().float().reshape(-1, *weights.shape[-2:])
    names = [f"Head {h}" for h in range(len(maps))] if weights.ndim == 3 else [title or ""]
    highest = max(float(maps.max()), 1e-6)
    side = side_of(len(tokens), len(maps))
    labels = Labels(tokens, side)
    with plain_settings():
        figure, places = lay_out(len(maps), side, labels)
        for i, (name, one, (left, top)) in enumerate(zip(names, maps, places, strict=True)):
            axes = canvas(figure, left, top, side, side)
            draw_weights(axes, one, side, highest, numbers=len(maps) == 1)
            if mask is not None:
                draw_cells(axes, ~mask.cpu().reshape(mask.shape[-2:]), side, NO_WEIGHT, **CROSSED)
            draw_lines(axes, len(tokens), side)
            labels.draw(axes, rows=left == places[0][0])
            draw_head(axes, side, labels, name, first=i == 0)
        below = canvas(figure, places[0][0], places[-1][1] + side + 12, side, 40)
        draw_color_bar(below, highest, blocked=mask is not None)
        if title and weights.ndim == 3:
            write(canvas(figure, places[0][0], 0, side, 24), -labels.left, 6, title, 14, ha="left", bold=True)
        said = [caption_weights(name, one, tokens) for name, one in zip(names, maps, strict=True)]
        return finish(figure, " ".join([f"{title}."] * bool(title and weights.ndim == 3) + said))


def plot_loss_curve(losses: Sequence[float], *, smooth: int = 50) -> Picture:
    """Draw the loss of each training step, pale, and its running mean over the last `smooth` steps.

    Args:
        losses: one loss per step, in nats per target token.
        smooth: how many steps the mean runs over; fewer at the beginning.

    Raises:
        TypeError: a loss is not a number.
        ValueError: there is no loss, a loss is not finite, or `smooth` is below 1.
    """
    check_losses(losses)
    check_int("smooth", smooth, minimum=1)
    mean = [sum(losses[max(0, i + 1 - smooth) : i + 1]) / min(i + 1, smooth) for i in range(len(losses))]
    with plain_settings():
        figure = Figure(figsize=(560 * PX, 320 * PX))
        axes = figure.add_axes((0.11, 0.16, 0.86, 0.78))
        steps = range(1, len(losses) + 1)
        axes.plot(steps, losses, color="#a8c8e6", linewidth=0.8, label="each step")
        axes.plot(steps, mean, color="#0b2545", linewidth=1.8, label=f"mean of the last {smooth}")
        axes.set_ylim(bottom=0)
        axes.margins(x=0.01)
        axes.grid(axis="y", color=FAINT, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("step", fontproperties=font(12), color=INK)
        axes.set_ylabel("loss, nats per target token", fontproperties=font(12), color=INK)
        for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
            label.set_fontproperties(font(11))
        axes.legend(prop=font(12), frameon=False, loc="upper right")
        return finish(figure, caption_losses(losses, mean, smooth))
