"""The strip of a picture: which places are marked, and with what."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prefixlm_teach.drawing_strip import TALL, draw_noise, draw_strip, strip_places
from prefixlm_teach.pictures import canvas

TOKENS = ["the", "[M]", "sat", "[M]"]
PLACES = strip_places(TOKENS, 600)
MIDDLES = [x + wide / 2 for x, _, wide in PLACES]


def axes_of_a_strip() -> Axes:
    return canvas(Figure(), 0, 0, 600, 40)


def dots(axes: Axes) -> list[float]:
    return [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]


def written(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_text()]


def arrows(axes: Axes) -> int:
    return sum(bool(getattr(text, "arrow_patch", None)) for text in axes.texts)


def test_a_cloze_has_what_it_asks_for_below_and_no_arrow() -> None:
    axes = axes_of_a_strip()
    draw_strip(axes, TOKENS, 4, PLACES, labels=[None, "cat", None, "down"], cloze=True)
    assert dots(axes) == pytest.approx([MIDDLES[1], MIDDLES[3]])
    assert arrows(axes) == 0
    below = {text.get_text(): text.get_position() for text in axes.texts if text.get_position()[1] > TALL}
    assert {word: x for word, (x, _) in below.items()} == {
        "cat": pytest.approx(MIDDLES[1]),
        "down": pytest.approx(MIDDLES[3]),
    }


def test_only_what_has_a_label_has_an_arrow() -> None:
    axes = axes_of_a_strip()
    draw_strip(axes, TOKENS, 1, PLACES, labels=[None, None, "sat", "[M]"])
    assert dots(axes) == pytest.approx(MIDDLES[2:])
    assert arrows(axes) == 2


@pytest.mark.parametrize(
    ("p", "named"), [(None, []), (0, ["target (4)"]), (1, ["prefix (1)", "target (3)"]), (4, ["prefix (4)"])]
)
def test_parts_are_named_where_there_are_parts(p: int | None, named: list[str]) -> None:
    axes = axes_of_a_strip()
    draw_strip(axes, TOKENS, p, PLACES, labels=[None] * 4)
    assert [text for text in written(axes) if text.startswith(("prefix", "target"))] == named


def test_noise_has_a_bar_below_it_and_nothing_else_has() -> None:
    axes = axes_of_a_strip()
    draw_noise(axes, TOKENS, (1, 2), PLACES)
    bars = [path.vertices for collection in axes.collections for path in collection.get_paths()]
    assert [bar[:, 0].min() for bar in bars] == pytest.approx([PLACES[1][0], PLACES[2][0]])
    assert all(bar[:, 1].min() > TALL for bar in bars)
    assert [text for text in written(axes) if not text.isdigit()] == TOKENS
