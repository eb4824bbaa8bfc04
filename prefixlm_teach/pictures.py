"""A picture and its alternative text; the pens with which `plots` draws.

Rests on matplotlib's object interface only: no pyplot, no open figures, no global settings. Every text is
set in the DejaVu Sans that matplotlib carries, so that the same data gives the same bytes.
"""

from __future__ import annotations

import base64
import html
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from PIL import Image

INK, MUTED, FAINT, PAPER = "#1f2328", "#59636e", "#d0d5da", "#ffffff"
PAST, OPENED, OPENED_LINES, BLOCKED = "#2f6fab", "#f3b13e", "#7a4a00", "#eff1f3"
LEAKED, LOST_LINES, GREY_LINES = "#d55e00", "#7b3fa0", "#b8bfc6"
KEPT, KEPT_LINES, DONE, DONE_LINES = "#8fd3bb", "#00543b", "#dbe6f2", "#8fa9c4"
PREFIX, SCORED = "#fdf0d5", "#00704f"
DPI = 192  # two dots per CSS pixel
MISSING = "Glyph .* missing"  # matplotlib's warning; a box then stands for the character
HALVES = re.compile("[\ud800-\udfff]")  # half of a character beyond U+FFFF: alone it is none
Corners = Sequence[tuple[float, float]]
PX = 1 / 96  # a CSS pixel in inches
FONTS = Path(mpl.get_data_path()) / "fonts" / "ttf"


class Picture:
    """A PNG and the words that stand for it.

    As a cell's result it shows the PNG, with its words as alternative text.

    Args:
        png: the bytes of the picture, two dots per CSS pixel.
        alt: the alternative text.
    """

    def __init__(self, png: bytes, alt: str) -> None:
        self.png = png
        self.alt = alt

    @property
    def width(self) -> int:
        """The width on the page, in CSS pixels."""
        return int.from_bytes(self.png[16:20], "big") // 2

    def save(self, path: str | Path) -> None:
        """Write the PNG to `path`."""
        Path(path).write_bytes(self.png)

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Give a notebook the picture in three forms.

        JupyterLab gives an image/png no alternative text, whatever its metadata say, so it gets an <img>;
        exports that read the metadata get the same words there.
        """
        png = base64.b64encode(self.png).decode("ascii")
        img = (
            f'<img src="data:image/png;base64,{png}" alt="{html.escape(self.alt)}" width="{self.width}" '
            'style="max-width: 100%; height: auto">'
        )
        return (
            {"text/html": img, "image/png": png, "text/plain": self.alt},
            {"image/png": {"alt": self.alt, "width": self.width}},
        )


@contextmanager
def plain_settings() -> Iterator[None]:
    """Draw with matplotlib's defaults, whatever the reader has set, and leave the reader's as they were."""
    with mpl.style.context("default"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", MISSING, UserWarning)
        yield


def finish(figure: Figure, alt: str) -> Picture:
    """Cut the figure to what is drawn on it, and turn it into a `Picture`."""
    buffer = io.BytesIO()
    figure.savefig(
        buffer,
        format="png",
        dpi=DPI,
        facecolor=PAPER,
        bbox_inches="tight",
        pad_inches=12 * PX,
        metadata={"Software": None},
    )
    few_colors = Image.open(buffer).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    png = io.BytesIO()
    few_colors.save(png, format="png", optimize=True)  # a third of the size: a notebook carries it twice
    return Picture(png.getvalue(), alt)


def canvas(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """An empty part of the figure, in CSS pixels: x to the right, y down, 0 at its own upper left corner."""
    total_width, total_height = (side / PX for side in figure.get_size_inches())
    axes = figure.add_axes(
        (left / total_width, 1 - (top + height) / total_height, width / total_width, height / total_height)
    )
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return axes


def font(size: float, *, bold: bool = False) -> FontProperties:
    """DejaVu Sans, `size` in CSS pixels."""
    return FontProperties(
        fname=str(FONTS / ("DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf")), size=size * 0.75
    )


def write(axes: Axes, x: float, y: float, text: str, size: float = 12, **style: Any) -> None:
    """Write `text` as it stands ($ is no formula; · for half a character), `size` in CSS pixels."""
    axes.text(
        x,
        y,
        HALVES.sub("·", text),
        fontproperties=font(size, bold=style.pop("bold", False)),
        parse_math=False,
        clip_on=False,
        **{"color": INK, "va": "center", "ha": "center"} | style,
    )


def width_of(text: str, size: float) -> float:
    """How wide `text` is in CSS pixels when set at `size`."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", MISSING, UserWarning)
        return float(text_to_path.get_text_width_height_descent(text, font(size), ismath=False)[0]) / 0.75


def shown(token: str, longest: int = 14) -> str:
    """How a token is written on a label: control characters made visible, a long one cut."""
    visible = "".join({"\n": "↵", "\t": "⇥"}.get(c, c if c.isprintable() else "·") for c in token)
    return visible if len(visible) <= longest else visible[: longest - 1] + "…"


def outline(
    axes: Axes, left: float, top: float, width: float, height: float, color: str = MUTED, line: float = 0.5
) -> None:
    """Draw the frame of a box."""
    right, bottom = left + width, top + height
    across, down = [left, right, right, left, left], [top, top, bottom, bottom, top]
    axes.plot(across, down, color=color, linewidth=line, clip_on=False, solid_joinstyle="miter")


def fill(axes: Axes, boxes: Sequence[tuple[float, float, float, float]], color: Any, **style: Any) -> None:
    """Fill boxes (left, top, width, height) with a colour, and with a hatch where `style` has one."""
    corners = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h in boxes]
    fill_shapes(axes, corners, color, **style)


def fill_shapes(axes: Axes, shapes: Sequence[Corners], color: Any, **style: Any) -> None:
    """Fill shapes, each given by its corners, as `fill` fills boxes."""
    axes.add_collection(
        PolyCollection(
            shapes, facecolors=color, linewidths=0, clip_on=False, **{"edgecolors": "none"} | style
        ),
        autolim=False,
    )
