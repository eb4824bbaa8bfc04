"""What the state explorer must show, worked out from the package's linear attention and counted by loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from drawn import read
from matplotlib.colors import to_rgb
from pixels import framed_in
from playwright.sync_api import Locator
from shown import Choice, Kind, trait_slider
from torch import Tensor

from prefixlm_teach import StateExplorer, causal_linear_attention, prefix_linear_attention
from prefixlm_teach.pictures import KEPT, LEAKED, PAST

TOKENS = ["o", "x", "<sep>", "AA", "K", "S"]


def draw_heads(seq_len: int, d: int = 3, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of one head, (T, d) each."""
    q, k, v = torch.randn(3, seq_len, d, generator=torch.Generator().manual_seed(seed))
    return q, k, v


def make(tokens: Sequence[str] = TOKENS, p: int = 3, d: int = 3, **row: int) -> StateExplorer:
    """An explorer of such a head."""
    return StateExplorer(tokens, *draw_heads(len(tokens), d), p, **row)


def expected_state(explorer: StateExplorer) -> list[list[float]]:
    """S and z, as `prefix_linear_attention` leaves them after the tokens that the row sees."""
    q, k, v = torch.tensor(explorer.table, dtype=torch.float64)[:, None, None, : seen_by(explorer)]
    _, state = prefix_linear_attention(q, k, v, min(explorer.prefix_len, q.size(2)))
    return torch.cat([state.memory[0, 0], state.normaliser[0, 0, :, None]], -1).tolist()


def seen_by(explorer: StateExplorer, row: int | None = None) -> int:
    """How many tokens a row sees, by the rule of the mask."""
    t, p = explorer.row if row is None else row, explorer.prefix_len
    return sum(k <= t or k < p for k in range(len(explorer.tokens)))


def expected_out(explorer: StateExplorer) -> list[float]:
    """The row of `prefix_linear_attention`."""
    q, k, v = torch.tensor(explorer.table, dtype=torch.float64)[:, None, None]
    out, _ = prefix_linear_attention(q, k, v, explorer.prefix_len)
    return out[0, 0, explorer.row].tolist()


def expected_counts(explorer: StateExplorer) -> dict[str, dict[str, int]]:
    """Each state, each multiplication and each number kept, one by one."""
    d, states, multiplied, pairs, added = len(explorer.table[0][0]), 0, 0, 0, 0
    for row in range(explorer.row + 1):
        seen = seen_by(explorer, row)
        states += seen > added
        while added < seen:
            added += 1
            multiplied += sum(1 for _ in range(d) for _ in range(d))
        multiplied += sum(1 for _ in range(d) for _ in range(d + 1))
        pairs += sum(2 * d for _ in range(seen))
    rows = explorer.row + 1
    return {
        "States made so far": {"prefix form": states, "causal form": rows},
        "Multiplications so far": {
            "prefix form": multiplied,
            "causal form": rows * (2 * d * d + d),
            "pair by pair": pairs,
        },
        "Numbers kept for what follows": {
            "state (S and z)": d * d + d,
            "key-value cache": sum(
                len(explorer.table[1][t]) + len(explorer.table[2][t]) for t in range(added)
            ),
        },
    }


def number(text: str) -> float:
    """A number as it is written on the page."""
    return float(text.replace("−", "-").replace(",", ""))


def near(numbers: Sequence[float]) -> list[Any]:
    """Numbers that may have been rounded to three digits."""
    return [pytest.approx(x, rel=0.006, abs=0.0051) for x in numbers]


def shows(root: Locator, explorer: StateExplorer) -> None:
    """Assert that the page shows `explorer` as it stands."""
    drawn, t, p, seq_len = read(root), explorer.row, explorer.prefix_len, len(explorer.tokens)
    state, seen = expected_state(explorer), seen_by(explorer)
    before = [[0.0] * len(line) for line in state]
    if t:
        before = expected_state(at_row(explorer, t - 1))
    (table,) = drawn["state"]
    assert table["title"].startswith(f"The state that row {t}, ")
    assert [[number(x) for x in line] for line in table["numbers"]] == [near(line) for line in state]
    if 0 < t < p:
        assert {text for line in table["added"] for text in line} == {"same"}
    else:
        assert [[number(x) for x in line] for line in table["added"]] == [
            near([b - a for a, b in zip(old, new, strict=True)])
            for old, new in zip(before, state, strict=True)
        ]
    for line, shown in zip(state, table["numbers"], strict=True):
        signs = [text[0] if text[0] in "+−" else "" for text in shown[:-1]]
        assert signs == ["" if abs(x) < 0.005 else "+" if x > 0 else "−" for x in line[:-1]]
        assert shown[-1][0].isdigit()
    assert [number(x) for x in table["out"][:-1]] == near(expected_out(explorer))
    assert table["shares"] == expected_shares(explorer)
    counts = expected_counts(explorer)
    assert explorer.counts == counts
    assert list(drawn["meters"]) == list(counts)
    for heading, figures in counts.items():
        meters = drawn["meters"][heading]
        assert {name: number(text) for name, (text, _) in meters.items()} == figures
        most = highest_of(explorer)[heading]
        for name, (_, length) in meters.items():
            assert length == pytest.approx(figures[name] / most, abs=0.01)
    sliders = drawn["sliders"]
    row, prefix = sliders["Row"], sliders["Prefix length p"]
    assert (row["value"], row["first"], row["last"]) == (t, 0, seq_len - 1)
    assert row["words"] == drawn["readout"]
    assert (prefix["value"], prefix["last"], prefix["figures"]) == (p, seq_len, f"{p} of {seq_len}")
    if len(explorer.tokens[t]) < 8:
        assert drawn["readout"] == explorer.words
    assert [item["state"] for item in drawn["items"]] == ["held"] * seen + ["awaited"] * (seq_len - seen)
    assert [item["arrow"] for item in drawn["items"]] == ['"▲"' if k == t else "none" for k in range(seq_len)]
    presets = [("Causal", 0), (f"At the start: {explorer.start}", explorer.start), ("Bidirectional", seq_len)]
    assert drawn["pressed"] == [name for name, value in presets if value == p]


def at_row(explorer: StateExplorer, row: int) -> StateExplorer:
    """The same explorer at another row."""
    return StateExplorer(explorer.tokens, *torch.tensor(explorer.table), explorer.prefix_len, row=row)


def highest_of(explorer: StateExplorer) -> dict[str, int]:
    """For each heading the most that is counted at the last row, whatever the prefix."""
    last = at_row(explorer, len(explorer.tokens) - 1)
    found: dict[str, int] = {}
    for last.prefix_len in range(len(explorer.tokens) + 1):
        for heading, figures in expected_counts(last).items():
            found[heading] = max(found.get(heading, 0), *figures.values())
    return found


def expected_shares(explorer: StateExplorer) -> list[list[Any]]:
    """Each number in percent of the highest that the causal recurrence meets, with its sign."""
    q, k, v = torch.tensor(explorer.table, dtype=torch.float64)[:, None, None]
    states = [causal_linear_attention(*(x[:, :, :n] for x in (q, k, v)))[1] for n in range(1, q.size(2) + 1)]
    highest = max(float(state.memory.abs().max()) for state in states)
    highest_z = max(float(state.normaliser.max()) for state in states)
    return [
        [
            *(pytest.approx(100 * x / highest, abs=0.51) for x in line[:-1]),
            pytest.approx(100 * line[-1] / highest_z, abs=0.51),
        ]
        for line in expected_state(explorer)
    ]


def png_shares(explorer: StateExplorer) -> list[list[Any]]:
    """The shares as the tints of the PNG give them, about."""
    grid, d = framed_in(explorer.picture()) / 255, len(explorer.table[0][0])
    rows = np.linspace(0, len(grid), d + 1).round().astype(int)
    columns = np.linspace(0, grid.shape[1], d + 2).round().astype(int)
    found = []
    for i in range(d):
        line = []
        for j in range(d + 1):
            cell = grid[rows[i] : rows[i + 1], columns[j] : columns[j + 1]]
            tint = np.median(cell.reshape(-1, 3), axis=0)
            line.append(pytest.approx(share_of(tint, z=j == d), abs=4))  # the PNG has few colours
        found.append(line)
    return found


def share_of(tint: np.ndarray, *, z: bool) -> float:
    """Which share of which full colour makes a tint, in percent; with a sign for the colour of each."""
    best: list[tuple[float, float]] = []
    for sign, color in ((1, KEPT),) if z else ((1, PAST), (-1, LEAKED)):
        shares = np.linspace(0, 1, 201)[:, None]
        tints = 1 - 0.6 * shares * (1 - np.asarray(to_rgb(color)))
        far = abs(tints - tint).sum(-1)
        best.append((float(far.min()), sign * 100 * float(shares[far.argmin(), 0])))
    return min(best)[1]


def steps(by: int) -> Callable[[StateExplorer], None]:
    """Go on by some rows, no further than there are."""

    def step(explorer: StateExplorer) -> None:
        explorer.row = min(max(explorer.row + by, 0), len(explorer.tokens) - 1)

    return step


def opens(p: Callable[[StateExplorer], int]) -> Callable[[StateExplorer], None]:
    """Set the prefix length."""
    return lambda explorer: setattr(explorer, "prefix_len", p(explorer))


KIND = Kind(
    make=lambda: make(row=2),
    make_hard=lambda tokens: make(tokens, 4, row=7),
    shows=shows,
    sliders=lambda _: [
        trait_slider("Row", "row", lambda explorer: len(explorer.tokens) - 1),
        trait_slider("Prefix length p", "prefix_len", lambda explorer: len(explorer.tokens)),
    ],
    cells=lambda drawn: drawn["state"][0]["shares"],
    png_cells=png_shares,
    choices=[
        Choice("Next", steps(1)),
        Choice("Causal", opens(lambda _: 0)),
        Choice("Back", steps(-1)),
        Choice("Bidirectional", opens(lambda explorer: len(explorer.tokens))),
        Choice("At the start: 3", opens(lambda explorer: explorer.start)),
    ],
)
