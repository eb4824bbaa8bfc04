// A table of bars: a row for each token, a column for each series, in each cell a bar and its figure. To a
// screen reader it is a table of figures.

/**
 * Make a table of bars.
 *
 * label: what the table shows. first: what its rows are. rows: the tokens, or an element for each row. columns:
 * the names of the series, each with a line of explanation or null. total: the name of a last row, or null.
 */
function makeBars({ label, first = "Token", rows, columns, total = null }) {
  const cell = () => {
    const bar = make("span", { class: "plx-bar" });
    const track = make("span", { class: "plx-track", "aria-hidden": "true" }, bar);
    const figure = make("span", { class: "plx-bar-figure" });
    return { bar, track, figure, element: make("td", { class: "plx-bar-cell" }, track, figure) };
  };
  const numbered = (token, t) => [make("span", { class: "plx-index" }, String(t)),
    make("bdi", { class: "plx-bar-token", title: token }, shown(token))];
  const names = rows.map((row, r) => make("th", { class: "plx-bar-name", scope: "row" },
    ...(typeof row === "string" ? numbered(row, r) : [row])));
  if (total) names.push(make("th", { class: "plx-bar-name", scope: "row" }, total));
  const cells = columns.map(() => names.map(cell));
  const lines = names.map((name, r) =>
    make("tr", { class: "plx-bar-row" }, name, ...cells.map((column) => column[r].element)));
  const head = make("tr", {},
    make("th", { class: "plx-bar-head", scope: "col" }, first),
    ...columns.map(([name, note]) => make("th", { class: "plx-bar-head", scope: "col" },
      name, ...(note ? [make("span", { class: "plx-bar-note" }, note)] : []))));
  return {
    element: make("table", { class: "plx-bars", "aria-label": label },
      make("thead", {}, head), make("tbody", {}, ...lines.slice(0, rows.length)),
      ...(total ? [make("tfoot", {}, lines.at(-1))] : [])),
    /**
     * Redraw. values[column][row] is a number, or null where there is none; a bar as long as its cell stands
     * for `highest` (one for all columns, or a list), and one that would be longer is cut and marked; `write`
     * writes a number.
     */
    set(values, { highest, write }) {
      cells.forEach((column, c) => column.forEach(({ bar, track, figure }, r) => {
        const value = values[c][r];
        const most = Array.isArray(highest) ? highest[c] : highest;
        track.hidden = value === null;
        bar.style.inlineSize = value === null ? "0" : `${Math.min(100, (100 * value) / most)}%`;
        bar.classList.toggle("plx-bar-cut", value !== null && value > most);
        figure.textContent = value === null ? "–" : write(value);
      }));
    },
    /** Give each row a state for the stylesheet: "prefix", "target", ... */
    mark(states) {
      states.forEach((state, r) => { lines[r].dataset.state = state; });
    },
  };
}
