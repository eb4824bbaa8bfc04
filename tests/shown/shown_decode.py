"""What the decode explorer must show, counted cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drawn import read
from pixels import kinds_in
from playwright.sync_api import Locator
from shown import Choice, Kind, trait_slider

from prefixlm_teach import DecodeExplorer, describe_mask

PROMPT, ANSWER = ["o", "x", "<sep>"], ["AA", "K", "S", "<end>"]


def expected_kinds(explorer: DecodeExplorer, step: int) -> list[list[str]]:
    """The kind of each cell after so many steps, from what each token may see and when it is read."""
    p, n = len(explorer.prompt), len(explorer.prompt) + len(explorer.answer) - 1

    def read_in(t: int) -> int:
        return max(1, t - p + 2)

    def kind(q: int, k: int) -> str:
        if max(read_in(q), read_in(k)) > step:
            return "padding"
        if k > q and not (q < p and k < p):
            return "blocked"
        if explorer.cached and read_in(q) < step:
            return "done"
        return "kept" if explorer.cached and read_in(k) < step else "past"

    return [[kind(q, k) for k in range(n)] for q in range(n)]


def expected_work(explorer: DecodeExplorer, step: int) -> tuple[int, int]:
    """The tokens and the pairs of one step, counted off its cells."""
    rows = [[kind in ("past", "kept") for kind in row] for row in expected_kinds(explorer, step)]
    return sum(map(any, rows)), sum(map(sum, rows))


def shows(root: Locator, explorer: DecodeExplorer) -> None:
    """Assert that the page shows `explorer` as it stands."""
    drawn, step, last = read(root), explorer.step, len(explorer.answer)
    tokens = [*explorer.prompt, *explorer.answer[:-1]]
    (grid,) = drawn["grids"]
    kinds = expected_kinds(explorer, step)
    assert grid["cells"] == kinds
    assert grid["words"] == describe_mask(explorer.pairs)
    assert grid["rows"] == [f"Row {q}, {token}" for q, token in enumerate(tokens)]
    slider = drawn["sliders"]["Step"]
    assert (slider["value"], slider["last"], slider["words"]) == (step, last, explorer.words)
    works = [expected_work(explorer, s) for s in range(1, step + 1)]
    now, total = works[-1] if works else (0, 0), [sum(each) for each in zip(*works, strict=True)] or [0, 0]
    there = len(explorer.prompt) + step - 1 if step else 0
    assert drawn["counts"] == {
        "Tokens read in this step": str(now[0]),
        "Tokens read in total": str(total[0]),
        "Pairs in this step": str(now[1]),
        "Pairs in total": str(total[1]),
        "In the cache after this step": str(there if explorer.cached else 0),
    }
    assert drawn["counts"] == explorer.counts()
    new = max((q for q in range(len(tokens)) if "past" in kinds[q]), default=0)
    slots = ["padding" if k >= there else kinds[new][k] for k in range(len(tokens))]
    assert drawn["slots"] == slots == explorer.slots()
    assert drawn["pressed"] == ["With a cache" if explorer.cached else "Without a cache"]
    assert drawn["readout"].startswith(explorer.words)


def moves(by: int) -> Callable[[DecodeExplorer], None]:
    """Go on by some steps, no further than there are."""

    def move(explorer: DecodeExplorer) -> None:
        explorer.step = min(max(explorer.step + by, 0), len(explorer.answer))

    return move


def keeps(cached: bool) -> Callable[[DecodeExplorer], None]:
    """Set whether there is a cache."""
    return lambda explorer: setattr(explorer, "cached", cached)


def make_hard(tokens: Sequence[str]) -> DecodeExplorer:
    """A prompt of four tokens and an answer of the rest and an end."""
    return DecodeExplorer(tokens[:4], [*tokens[4:], "<end>"], 3)


KIND = Kind(
    make=lambda: DecodeExplorer(PROMPT, ANSWER, 2),
    make_hard=make_hard,
    shows=shows,
    sliders=lambda _: [trait_slider("Step", "step", lambda explorer: len(explorer.answer))],
    cells=lambda drawn: [grid["cells"] for grid in drawn["grids"]],
    png_cells=lambda explorer: kinds_in(explorer.picture(), len(explorer.tokens)),
    choices=[
        Choice("Next", moves(1)),
        Choice("Without a cache", keeps(False)),
        Choice("Back", moves(-1)),
        Choice("With a cache", keeps(True)),
    ],
)
