// A square grid of cells with its rows and columns named. Rows can be pointed at, or walked with the arrow
// keys; the explorer says in words what the chosen row shows. One path per kind of cell, made of boxes as long
// as cells of one kind go on: at 128 x 128 that redraws several times faster than a rectangle per cell.

/** The kinds of cell that are hatched: the angle of the lines, and whether others cross them. */
const HATCHED = {
  opened: [45], padding: [90], lost: [-45], leaked: [45, "crossed"], crossed: [45, "crossed"], kept: [0], done: [-45],
};

/** The outlines of the cells, by kind: a row's neighbours of one kind are one box. */
function outlinesOf(n, kindOf) {
  const outlines = {};
  for (let q = 0; q < n; q++) {
    let kind = kindOf(q, 0);
    for (let start = 0, k = 1; k <= n; k++) {
      const next = k < n ? kindOf(q, k) : null;
      if (next === kind) continue;
      outlines[kind] = `${outlines[kind] ?? ""}M${start} ${q}h${k - start}v1h-${k - start}z`;
      [kind, start] = [next, k];
    }
  }
  return outlines;
}

/** A hatch for cells of a kind, the same size on the screen however many cells there are. */
function makeHatch(kind, id, n) {
  const [angle, crossed] = HATCHED[kind];
  const step = Math.max(n / 56, 1 / 9);
  const stroke = crossed ? 0.17 : 0.24;
  const line = (width, height) => make("svg:rect", { class: "plx-hatch-line", width, height });
  return make("svg:pattern", {
    id, class: `plx-hatch-${kind}`, width: step, height: step, patternUnits: "userSpaceOnUse",
    patternTransform: `rotate(${angle})`,
  },
    make("svg:rect", { class: "plx-hatch-paper", width: step, height: step }),
    line(step * stroke, step), ...(crossed ? [line(step, step * stroke)] : []));
}

/** The path that holds all cells of a kind. */
function makeCells(kind) {
  const share = kind.match(/^shade-(\d+)$/)?.[1];
  const look = share ? "shade" : kind;
  const path = make("svg:path", { class: `plx-cells plx-cell-${look}`, "data-kind": kind });
  if (share) path.style.setProperty("--plx-share", `${share}%`);
  return path;
}

/**
 * Make a grid of n x n cells for n tokens.
 *
 * kinds: the kinds of cell: those of the stylesheet ("plx-cell-<kind>"), or "shade-<percent>".
 * onRow(q): called when a row is chosen, or with null when none is. onKeep(): when one is clicked or walked to.
 */
function makeGrid(tokens, kinds, { label, onRow, onKeep = () => {} }) {
  const n = tokens.length;
  const paths = kinds.map(makeCells);
  const hatches = kinds.filter((kind) => kind in HATCHED).map((kind) => [kind, unique()]);
  const frame = make("svg:rect", { class: "plx-row-frame", width: n, height: 1, visibility: "hidden" });
  const lines = times(n - 1, (i) => `M0 ${i + 1}h${n}M${i + 1} 0v${n}`).join("");
  const svg = make("svg:svg", {
    class: "plx-svg", viewBox: `0 0 ${n} ${n}`, preserveAspectRatio: "none", role: "img",
  },
    ...hatches.map(([kind, id]) => makeHatch(kind, id, n)),
    ...paths,
    make("svg:path", { class: "plx-lines", d: n <= 64 ? lines : "" }),
    frame);
  hatches.forEach(([kind, id]) => svg.style.setProperty(`--plx-fill-${kind}`, `url(#${id})`));

  const every = n <= LABELLED ? 1 : 16;
  const nameOf = (i) => (n <= LABELLED ? shown(tokens[i]) : String(i));
  const columns = times(n, (k) => make("span", { class: "plx-column" },
    k % every ? "" : make("span", { class: "plx-column-name", title: tokens[k] }, nameOf(k))));
  const rows = times(n, (q) => make("div", {
    class: "plx-row", role: "option", tabindex: q ? -1 : 0, "aria-selected": "false",
    "aria-label": `Row ${q}, ${tokens[q]}`, ...OWN_KEYS,
  }, q % every ? "" : make("span", { class: "plx-row-name", title: tokens[q] }, nameOf(q))));
  const list = make("div", {
    class: "plx-rows", role: "listbox", "aria-label": label, "aria-orientation": "vertical",
  }, ...rows);
  const element = make("div", { class: "plx-grid", ...sizeOf(n) },
    make("span", { class: "plx-axis plx-axis-keys", "aria-hidden": "true" }, "keys: who is seen"),
    make("div", { class: "plx-columns", "aria-hidden": "true" }, ...columns),
    make("span", { class: "plx-axis plx-axis-queries", "aria-hidden": "true" }, "queries: who looks"),
    list, svg);
  element.style.setProperty("--plx-n", n);

  let kept = null; // the row that was clicked or walked to last: it stays while other controls are used
  let chosen = null; // that row, or the one that is pointed at
  let pointed = false;
  const choose = (q) => {
    if (q === chosen) return;
    if (chosen !== null) rows[chosen].setAttribute("aria-selected", "false");
    chosen = q;
    frame.setAttribute("visibility", q === null ? "hidden" : "visible");
    if (q !== null) {
      rows[q].setAttribute("aria-selected", "true");
      frame.setAttribute("y", q);
    }
    onRow(q);
  };
  const rowAt = (event) => {
    const box = svg.getBoundingClientRect();
    return Math.min(n - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * n)));
  };
  for (const part of [svg, list]) {
    part.addEventListener("pointermove", (event) => {
      pointed = true;
      choose(rowAt(event));
    });
    part.addEventListener("pointerleave", () => {
      pointed = false;
      choose(kept);
    });
  }
  svg.addEventListener("click", (event) => rows[rowAt(event)].focus({ preventScroll: true }));
  list.addEventListener("focusin", (event) => {
    kept = rows.indexOf(event.target.closest(".plx-row"));
    rows.forEach((row, q) => row.setAttribute("tabindex", q === kept ? 0 : -1));
    onKeep();
    choose(kept);
  });
  list.addEventListener("keydown", (event) => {
    const at = rows.indexOf(event.target.closest(".plx-row"));
    const target = {
      ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: n - 1,
      PageDown: Math.min(n - 1, at + 8), PageUp: Math.max(0, at - 8),
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    rows[target]?.focus({ preventScroll: true });
  });

  return {
    element,
    /** Redraw: kindOf(q, k) names the kind of a cell, words describe the whole. */
    draw(kindOf, words) {
      const outlines = outlinesOf(n, kindOf);
      kinds.forEach((kind, i) => paths[i].setAttribute("d", outlines[kind] ?? ""));
      svg.setAttribute("aria-label", words);
    },
    /** Mark the columns for which isSeen(k) holds, or none. */
    mark(isSeen) {
      columns.forEach((column, k) => column.classList.toggle("plx-seen", isSeen !== null && isSeen(k)));
    },
    get row() { return chosen; },
    get kept() { return kept; },
    get isPointedAt() { return pointed; },
    get hasFocus() { return list.contains(document.activeElement); },
    /** Keep a row, and put the focus there if asked. */
    keep(q, focus) {
      kept = q;
      rows.forEach((row, r) => row.setAttribute("tabindex", r === (q ?? 0) ? 0 : -1));
      if (focus) rows[q].focus({ preventScroll: true });
      else choose(q);
    },
    /** Let go of the row that was kept. */
    clear() {
      kept = null;
      choose(null);
    },
  };
}
