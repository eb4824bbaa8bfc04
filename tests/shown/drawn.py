"""Read back what an explorer has drawn: its cells, as the SVG paths hold them, and what is written."""

from typing import Any

from playwright.sync_api import Locator

READ = """(root) => {
  const all = (selector, within = root) => [...within.querySelectorAll(selector)];
  const text = (selector, within = root) => all(selector, within).map((each) => each.textContent);
  const cellsOf = (svg) => {
    const n = Number(svg.getAttribute("viewBox").split(" ")[2]);
    const cells = Array.from({ length: n }, () => Array(n).fill(""));
    for (const path of all(".plx-cells", svg)) {
      for (const [, x, y, length] of path.getAttribute("d").matchAll(/M(\\d+) (\\d+)h(\\d+)v1h-\\d+z/g)) {
        for (let k = Number(x); k < Number(x) + Number(length); k++) cells[Number(y)][k] += path.dataset.kind;
      }
    }
    return cells;
  };
  // In 16 x 16 places, none on the diagonal, the kinds of area that lie there; "blocked" where none does.
  const kindsOf = (svg) => Array.from({ length: 16 }, (_, q) => Array.from({ length: 16 }, (_, k) => {
    if (q === k) return "";
    const place = new DOMPoint(...[k, q].map((i) => ((i + 0.3) * svg.viewBox.baseVal.width) / 16));
    const there = all(".plx-cells", svg).filter((path) => path.isPointInFill(place));
    return there.map((path) => path.dataset.kind).join("") || "blocked";
  }));
  return {
    grids: all(".plx-grid").map((grid) => ({
      cells: cellsOf(grid.querySelector(".plx-svg")),
      words: grid.querySelector(".plx-svg").getAttribute("aria-label"),
      rows: all(".plx-row", grid).map((row) => row.getAttribute("aria-label")),
      seen: all(".plx-column", grid).map((column) => column.classList.contains("plx-seen")),
    })),
    squares: all(".plx-square .plx-svg").map((svg) => ({
      words: svg.getAttribute("aria-label"), kinds: kindsOf(svg),
    })),
    sliders: Object.fromEntries(all("input[type=range]").map((range) => [
      range.labels[0].textContent,
      { value: range.valueAsNumber, first: Number(range.min), last: Number(range.max),
        disabled: range.disabled, words: range.getAttribute("aria-valuetext"),
        figures: range.parentElement.querySelector(".plx-value").textContent },
    ])),
    items: all(".plx-item").map((item) => ({
      token: item.querySelector(".plx-token").textContent, state: item.dataset.state,
      arrow: getComputedStyle(item.querySelector(".plx-arrow"), "::before").content,
      answer: item.querySelector(".plx-answer-token")?.textContent ?? null,
    })),
    counts: Object.fromEntries(all(".plx-count").map((count) => [
      count.querySelector(".plx-name").textContent, count.querySelector(".plx-figure").textContent,
    ])),
    figures: text(".plx-figure"),
    bars: all(".plx-bars").map((table) => ({
      heads: all("thead th", table).map((head) => head.firstChild.textContent),
      rows: all(".plx-bar-row", table).map((row) => ({
        name: row.querySelector("th").textContent, state: row.dataset.state ?? null,
        figures: text(".plx-bar-figure", row),
        lengths: all(".plx-track", row).map((track) => (track.hidden ? null
          : 100 * track.firstChild.getBoundingClientRect().width / track.getBoundingClientRect().width)),
      })),
    })),
    rule: all(".plx-rule-field").map((field) => ({
      text: field.value, invalid: field.getAttribute("aria-invalid"),
      error: document.getElementById(field.getAttribute("aria-describedby")).textContent,
    })),
    documents: all(".plx-document").map((each) => ({
      name: each.querySelector(".plx-document-name").textContent, tokens: text(".plx-piece", each),
      states: all(".plx-piece", each).map((piece) => piece.dataset.state),
    })),
    state: all(".plx-matrix").map((table) => ({
      title: table.querySelector("caption").textContent,
      numbers: all(".plx-matrix-line", table).map((line) => text(".plx-matrix-number", line)),
      added: all(".plx-matrix-line", table).map((line) => text(".plx-matrix-more", line)),
      shares: all(".plx-matrix-line", table).map((line) => all(".plx-matrix-cell", line).map((cell) =>
        (cell.dataset.sign === "below" ? -1 : 1) * parseInt(cell.style.getPropertyValue("--plx-share")))),
      out: text(".plx-matrix-out", table),
    })),
    meters: Object.fromEntries(all(".plx-meter-group").map((group) => [
      group.getAttribute("aria-label"),
      Object.fromEntries(all(".plx-meter", group).map((meter) => [
        meter.querySelector("dt").textContent,
        [meter.querySelector(".plx-meter-figure").textContent,
          meter.querySelector(".plx-meter-bar").getBoundingClientRect().width
            / meter.querySelector(".plx-meter-track").getBoundingClientRect().width],
      ])),
    ])),
    slots: all(".plx-slot").map((slot) => slot.dataset.state),
    verdict: text(".plx-verdict"),
    pressed: text("[aria-pressed=true]"),
    notes: text(".plx-note"),
    readout: root.querySelector(".plx-readout").textContent,
  };
}"""


def read(root: Locator) -> dict[str, Any]:
    """Return all that is drawn and written; where two kinds of cell lie in one place, both are named."""
    drawn: dict[str, Any] = root.evaluate(READ)
    return drawn
