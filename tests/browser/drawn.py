"""Read back what an explorer has drawn, and hold it against Python."""

from collections.abc import Sequence
from typing import Any

from playwright.sync_api import Locator

from prefixlm_teach import create_prefix_lm_mask, describe_mask

READ = """(root) => {
  const n = Number(root.querySelector(".plx-svg").getAttribute("viewBox").split(" ")[2]);
  const cells = Array.from({ length: n }, () => Array(n).fill(""));
  for (const kind of ["past", "opened", "blocked"]) {
    const path = root.querySelector(`.plx-cell-${kind}`).getAttribute("d");
    for (const [, x, y, length] of path.matchAll(/M(\\d+) (\\d+)h(\\d+)v1h-\\d+z/g)) {
      for (let k = Number(x); k < Number(x) + Number(length); k++) cells[Number(y)][k] += kind;
    }
  }
  const text = (selector) => [...root.querySelectorAll(selector)].map((each) => each.textContent);
  const range = root.querySelector("input[type=range]");
  return {
    cells,
    words: root.querySelector(".plx-svg").getAttribute("aria-label"),
    value: range.valueAsNumber,
    max: Number(range.max),
    valuetext: range.getAttribute("aria-valuetext"),
    tokens: text(".plx-token"),
    states: [...root.querySelectorAll(".plx-item")].map((item) => item.dataset.state),
    arrows: [...root.querySelectorAll(".plx-arrow")]
      .map((each) => getComputedStyle(each, "::before").content),
    counts: text(".plx-figure"),
    pressed: text("[aria-pressed=true]"),
    readout: root.querySelector(".plx-readout").textContent,
  };
}"""


def read(root: Locator) -> dict[str, Any]:
    """Return the kinds of the drawn cells, as the SVG paths hold them, and what is written beside them."""
    drawn: dict[str, Any] = root.evaluate(READ)
    return drawn


def assert_shows(root: Locator, tokens: Sequence[str], p: int) -> None:
    """Assert that the split explorer shows prefix length `p`, everywhere, and as Python computes it."""
    drawn, seq_len = read(root), len(tokens)
    mask = create_prefix_lm_mask(seq_len, p)
    kinds = [
        ["past" if k <= q else "opened" if may else "blocked" for k, may in enumerate(row)]
        for q, row in enumerate(mask.tolist())
    ]
    first = max(p, 1)
    states = ["prefix" if t < p else "scored" if t >= first else "target" for t in range(seq_len)]
    assert drawn["cells"] == kinds
    assert [[kind != "blocked" for kind in row] for row in drawn["cells"]] == mask.tolist()
    assert drawn["words"] == describe_mask(mask)
    assert (drawn["value"], drawn["max"]) == (p, seq_len)
    assert drawn["states"] == states
    assert drawn["arrows"] == ['"→"' if t >= first else "none" for t in range(seq_len)]
    assert drawn["counts"] == [
        f"{int(mask.sum())} of {seq_len**2}",
        str(p * (p - 1) // 2),
        str(max(0, seq_len - first)),
    ]
    presets = {"Causal": 0, "Half": seq_len // 2, "Bidirectional": seq_len}
    assert drawn["pressed"] == [name for name, value in presets.items() if value == p]
    assert drawn["valuetext"].startswith(f"prefix length {p} of {seq_len}: ")
