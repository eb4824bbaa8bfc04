"""Pictures: what is drawn is what the data say, in the same bytes each time, with words beside it."""

from __future__ import annotations

import base64
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image
from pixels import cells_of as cut
from pixels import grids_in, kind_of, near, pixels

from prefixlm_teach import (
    bidirectional_mask,
    causal_mask,
    create_prefix_lm_mask,
    describe_mask,
    plot_attention,
    plot_loss_curve,
    plot_mask,
    plot_masks,
    plot_split,
)
from prefixlm_teach.drawing_strip import draw_strip, strip_places
from prefixlm_teach.pictures import BLOCKED, OPENED, OPENED_LINES, PAST, Picture, canvas

TOKENS = ["Quelle", "est", "la", "capitale", "de"]
KINDS = {"past": PAST, "opened": OPENED, "blocked": BLOCKED}


def cells_of(picture: Picture, seq_len: int) -> list[np.ndarray]:
    """Cut the grid out of a picture of one mask, row by row."""
    (grid,) = grids_in(picture)
    return [cell for row in cut(grid, seq_len) for cell in row]


@pytest.mark.parametrize(("seq_len", "p"), [(1, 0), (2, 1), (2, 2), (5, 0), (5, 1), (5, 3), (5, 5), (24, 11)])
def test_the_drawn_cells_are_those_of_the_mask(seq_len: int, p: int) -> None:
    mask = create_prefix_lm_mask(seq_len, p)
    cells = cells_of(plot_mask(mask, prefix_len=p), seq_len)
    wanted = [
        "past" if k <= q else "opened" if mask[q, k] else "blocked"
        for q in range(seq_len)
        for k in range(seq_len)
    ]
    assert [kind_of(cell) for cell in cells] == wanted


def test_any_mask_is_drawn_as_it_is() -> None:
    mask = torch.rand(6, 6, generator=torch.Generator().manual_seed(1)) > 0.5
    cells = cells_of(plot_mask(mask[None, None]), 6)
    assert [kind_of(cell) == "past" for cell in cells] == mask.flatten().tolist()


def test_the_kinds_differ_without_colour() -> None:
    cells = cells_of(plot_mask(create_prefix_lm_mask(5, 3), prefix_len=3), 5)
    hatched = [near(cell, OPENED_LINES).mean() for cell in cells]
    assert min(hatched[k] for k in (1, 2, 7)) > 0.02
    assert max(hatched[k] for k in range(25) if k not in (1, 2, 7)) == 0
    grey = {
        kind: np.dot([int(color[i : i + 2], 16) for i in (1, 3, 5)], [0.3, 0.59, 0.11])
        for kind, color in KINDS.items()
    }
    assert sorted(grey, key=grey.__getitem__) == ["past", "opened", "blocked"]
    assert min(grey["opened"] - grey["past"], grey["blocked"] - grey["opened"]) > 40


def test_alternative_text_is_made_from_the_mask() -> None:
    mask = create_prefix_lm_mask(5, 3)
    assert plot_mask(mask, TOKENS, prefix_len=3, title="Half").alt == (
        f"Half: {describe_mask(mask)} 18 of 25 pairs may attend, 3 of them opened by the prefix of 3. "
        "Tokens: 0 Quelle, 1 est, 2 la, 3 capitale, 4 de."
    )
    both = plot_masks({"causal": causal_mask(5), "all": bidirectional_mask(5)}).alt
    assert f"causal: {describe_mask(causal_mask(5))} 15 of 25" in both
    assert f"all: {describe_mask(bidirectional_mask(5))} 25 of 25" in both


def test_long_token_lists_are_not_read_out() -> None:
    assert "Tokens" not in plot_mask(causal_mask(40), [f"w{t}" for t in range(40)]).alt


@pytest.mark.parametrize(
    ("p", "said"),
    [
        (0, "Target: “Quelle est la capitale de”. 4 scored: rows 0 to 3 each predict the token after them."),
        (2, "Prefix: “Quelle est”. Target: “la capitale de”. 3 scored: rows 1 to 3 each predict"),
        (4, "Target: “de”. 1 scored: row 3 predicts token 4."),
        (5, "Prefix: “Quelle est la capitale de”. No token is scored."),
    ],
)
def test_a_split_is_described(p: int, said: str) -> None:
    alt = plot_split(TOKENS, p).alt
    assert alt.startswith(f"5 tokens, prefix length {p}. ")
    assert said in alt


@pytest.mark.parametrize("p", range(6))
def test_arrows_run_from_each_scoring_row_to_the_token_it_predicts(p: int) -> None:
    axes = canvas(Figure(), 0, 0, 600, 40)
    places = strip_places(TOKENS, 600)
    draw_strip(axes, TOKENS, p, places)
    scored = range(max(p, 1), 5)
    arrows = [text for text in axes.texts if hasattr(text, "arrow_patch") and text.arrow_patch]
    dots = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    assert dots == pytest.approx([places[t][0] + places[t][2] / 2 for t in scored])
    assert len(arrows) == len(scored)
    for arrow, t in zip(arrows, scored, strict=True):
        (end, _), (start, _) = arrow.xy, arrow.xyann
        assert places[t - 1][0] + places[t - 1][2] <= start < end <= places[t][0]


def test_a_long_strip_is_broken_into_lines() -> None:
    places = strip_places(TOKENS * 6, 300)
    assert max(left + width for left, _, width in places) <= 300
    assert len({top for _, top, _ in places}) > 3


def test_weights_are_shaded_by_size_and_blocked_cells_are_marked() -> None:
    weights = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5], [0.0, 0.4, 0.6]])
    mask = torch.tensor([[True, True, False], [True, True, True], [True, True, True]])
    image = pixels(plot_attention(weights, ["a", "b", "c"], mask=mask))
    assert near(image, "#0b2545").sum() > 1000  # the largest weight has the darkest shade
    marked = [
        near(pixels(plot_attention(weights, ["a", "b", "c"], mask=m)), "#b8bfc6").sum() for m in (mask, None)
    ]
    assert marked[0] > 3 * marked[1]  # a few pixels at the edges of letters look like it


def test_attention_is_described_row_by_row_and_head_by_head() -> None:
    weights = torch.tensor([[[1.0, 0.0], [0.25, 0.75]], [[0.5, 0.5], [0.9, 0.1]]])
    assert plot_attention(weights[0], ["a", "b"], title="One").alt == (
        "One: row 0 (a) looks most at column 0 (a), 1.00; row 1 (b) looks most at column 1 (b), 0.75."
    )
    assert plot_attention(weights, ["a", "b"], title="Layer 0").alt.startswith(
        "Layer 0. Head 0: row 0 (a) looks"
    )
    assert (
        "Head 1: row 0 (a) looks most at column 0 (a), 0.50; row 1 (b) looks most at column 0 (a), 0.90."
        in (plot_attention(weights, ["a", "b"]).alt)
    )


def test_weights_that_carry_a_gradient_are_drawn() -> None:
    weights = torch.zeros(2, 2, requires_grad=True).softmax(-1)
    assert plot_attention(weights, ["a", "b"]).png


def test_a_loss_curve_is_described() -> None:
    losses = [4.0, 2.0, 3.0, 1.0]
    assert plot_loss_curve(losses, smooth=2).alt == (
        "Loss in nats per target token over 4 steps: 4.00 at the first step; the mean of the last 2 ends at "
        "2.00; its lowest is 2.00, at step 4."
    )


SCRIPT = """
import hashlib, sys
{before}
from prefixlm_teach import *  # noqa
from prefixlm_teach import create_prefix_lm_mask, plot_attention, plot_loss_curve, plot_mask, plot_split
mask = create_prefix_lm_mask(5, 3)
tokens = ["a", "$b$", "c", "d", "e"]
pictures = [
    plot_mask(mask, tokens, prefix_len=3), plot_split(tokens, 3), plot_loss_curve([3.0, 2.0, 1.5]),
    plot_attention(mask.float() / mask.sum(-1, keepdim=True), tokens, mask=mask),
]
assert "matplotlib.pyplot" not in sys.modules
{after}
print(hashlib.sha256(b"".join(picture.png for picture in pictures)).hexdigest())
"""


def run(before: str = "", after: str = "") -> str:
    script = SCRIPT.format(before=before, after=after).replace("from prefixlm_teach import *  # noqa\n", "")
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, encoding="utf-8"
    )
    return done.stdout


def test_the_same_bytes_in_every_session_whatever_the_readers_settings() -> None:
    settings = "{'font.size': 30, 'axes.facecolor': 'black', 'text.usetex': True}"
    own = f"import matplotlib; matplotlib.rcParams.update({settings})"
    kept = "assert matplotlib.rcParams['font.size'] == 30 and matplotlib.rcParams['text.usetex']"
    assert run() == run() == run(own, kept)


def test_matplotlib_waits_until_something_is_drawn() -> None:
    script = (
        "import sys, prefixlm_teach; assert 'matplotlib' not in sys.modules; "
        "prefixlm_teach.plot_mask; assert 'matplotlib' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_cell_shows_the_picture_with_its_words() -> None:
    picture = plot_mask(causal_mask(2), ['"<b>"', "b"])
    data, metadata = picture._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]) == picture.png
    assert data["text/plain"] == repr(picture) == picture.alt
    assert metadata["image/png"] == {"alt": picture.alt, "width": picture.width}
    assert 'alt="2 rows (queries) by 2 columns' in data["text/html"]
    assert "0 &quot;&lt;b&gt;&quot;, 1 b." in data["text/html"]


def test_a_picture_is_saved(tmp_path: Path) -> None:
    picture = plot_mask(causal_mask(2))
    picture.save(tmp_path / "mask.png")
    with Image.open(tmp_path / "mask.png") as image:
        assert image.width in (2 * picture.width, 2 * picture.width + 1)
        assert image.info == {}


def test_odd_tokens_are_drawn_as_text_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    tokens = [r"$\frac$", "🙂", "שלום", "Donau" * 40, "a\nb"]  # as a formula, the first is an error
    assert plot_mask(causal_mask(5), tokens).width < 700
    assert plot_split(tokens, 2).png
    assert [str(warning.message) for warning in recwarn] == []


def test_nothing_is_drawn_beyond_390_pixels_that_needs_it_there() -> None:
    """A picture of one grid shrinks to at least two thirds on a phone, so that its labels stay readable."""
    for picture in (plot_mask(causal_mask(9), TOKENS + TOKENS[:4]), plot_loss_curve([1.0, 2.0])):
        assert 360 / picture.width >= 0.64


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: plot_mask(causal_mask(2).float()), TypeError, "mask must be boolean"),
    (lambda: plot_mask([[True]]), TypeError, "mask must be a tensor of booleans, not list"),
    (
        lambda: plot_mask(torch.ones(2, 3, dtype=torch.bool)),
        ValueError,
        "as many rows as columns, not (2, 3)",
    ),
    (lambda: plot_mask(torch.ones(2, 1, 3, 3, dtype=torch.bool)), ValueError, "not a batch of 2: choose one"),
    (
        lambda: plot_mask(causal_mask(2), ["a"]),
        ValueError,
        "there are 1 tokens, but 2 rows and columns to name",
    ),
    (lambda: plot_mask(causal_mask(2), "ab"), TypeError, "use 'ab'.split()"),
    (lambda: plot_mask(causal_mask(2), ["a", 3]), TypeError, "token 1 must be a string, not int (3)"),
    (lambda: plot_mask(causal_mask(2), prefix_len=3), ValueError, "longer than the sequence (2 tokens)"),
    (lambda: plot_mask(causal_mask(2), prefix_len=True), TypeError, "prefix_len must be a whole number"),
    (lambda: plot_mask(causal_mask(2), prefix_len=torch.tensor(1)), TypeError, "use int(prefix_len)"),
    (
        lambda: plot_mask(bidirectional_mask(3), prefix_len=1),
        ValueError,
        "row 0 sees column 1, which is neither past nor in the prefix (prefix_len 1)",
    ),
    (lambda: plot_masks({}), ValueError, "masks is empty"),
    (lambda: plot_masks([causal_mask(2)]), TypeError, "masks must be a dict from name to mask, not list"),
    (lambda: plot_masks({1: causal_mask(2)}), TypeError, "the name of a mask must be a string, not int (1)"),
    (
        lambda: plot_masks({"a": causal_mask(2), "b": causal_mask(3)}),
        ValueError,
        "mask is for 3 tokens, but there are 2",
    ),
    (lambda: plot_split([], 0), ValueError, "tokens is empty"),
    (lambda: plot_split(["a"], 2), ValueError, "prefix_len 2 is longer than the sequence (1 tokens)"),
    (lambda: plot_split(["a"], -1), ValueError, "prefix_len must be at least 0, not -1"),
    (lambda: plot_split(["a"], 1.0), TypeError, "prefix_len must be a whole number, not float (1.0)"),
    (
        lambda: plot_attention(torch.zeros(2, 2).bool(), ["a", "b"]),
        TypeError,
        "weights must be floating point",
    ),
    (
        lambda: plot_attention(torch.zeros(1, 1, 2, 2), ["a", "b"]),
        ValueError,
        "choose one example, weights[0]",
    ),
    (lambda: plot_attention(torch.zeros(2, 2), ["a"]), ValueError, "there are 1 tokens, but 2 rows"),
    (lambda: plot_attention(torch.full((2, 2), math.nan), ["a", "b"]), ValueError, "none may be NaN"),
    (lambda: plot_attention(torch.full((2, 2), 2.0), ["a", "b"]), ValueError, "weights must be from 0 to 1"),
    (
        lambda: plot_attention(torch.zeros(2, 2), ["a", "b"], mask=causal_mask(3)),
        ValueError,
        "mask is for 3 tokens, but there are 2",
    ),
    (lambda: plot_loss_curve([]), ValueError, "losses is empty"),
    (lambda: plot_loss_curve([1.0, math.nan]), ValueError, "the loss of step 2 is nan"),
    (lambda: plot_loss_curve([1.0, "x"]), TypeError, "the loss of step 2 must be a number, not str ('x')"),
    (lambda: plot_loss_curve([1.0], smooth=0), ValueError, "smooth must be at least 1, not 0"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD, ids=[words for _, _, words in BAD])
def test_bad_input_is_named_before_anything_is_drawn(
    call: Callable[[], Any], error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mpl.figure.Figure, "__init__", lambda *_, **__: pytest.fail("something was drawn"))
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value)


def test_weights_that_look_where_the_mask_blocks_are_refused_not_painted_over() -> None:
    everywhere = torch.full((2, 4, 4), 0.25)
    with pytest.raises(ValueError, match="row 0 looks at column 1, which mask blocks"):
        plot_attention(everywhere, list("abcd"), mask=causal_mask(4))
