// The attention explorer: where each token of a trained model looks, layer by layer and head by head.

const WHOLE = 65535; // how many steps a row sums to

/** How many keys row q may look at, with a prefix of p tokens: the first ones. */
const seenBy = (q, p) => Math.max(q + 1, p);

/** How many cells of n x n may be looked at. */
const sizeOfMap = (n, p) => (n * (n + 1) + p * Math.max(0, p - 1)) / 2;

/** The weights of a table, in steps: two bytes each, the lower one first. */
function readTable(table) {
  const letters = atob(table);
  return Uint16Array.from({ length: letters.length / 2 },
    (_, i) => letters.charCodeAt(2 * i) + 256 * letters.charCodeAt(2 * i + 1));
}

/** The rows of one map, each the steps of its visible cells: see table.py for the layout. */
function rowsOf(steps, n, { layers, heads }, p, layer, head) {
  const stored = Math.max(p, 1); // 0 and 1 are the same mask
  const before = ((stored - 1) * n * (n + 1)) / 2 + (stored * (stored - 1) * (stored - 2)) / 6;
  let start = before * layers * heads + (layer * heads + head) * sizeOfMap(n, stored);
  return times(n, (q) => steps.subarray(start, start += seenBy(q, stored)));
}

const strongest = (row) => row.indexOf(Math.max(...row));
const say = (steps) => (steps / WHOLE).toFixed(2);

/** The sentence that `caption_weights` in Python makes of the same weights. */
function captionWeights(name, rows, tokens) {
  if (rows.length > 16) {
    const mean = sum(rows.map((row) => Math.max(...row))) / rows.length;
    return `${name}: a row gives its strongest column ${say(mean)} of its weight on average.`;
  }
  return `${name}: ${rows.map((row, q) => {
    const k = strongest(row);
    return `row ${q} (${tokens[q]}) looks most at column ${k} (${tokens[k]}), ${say(row[k])}`;
  }).join("; ")}.`;
}

/** Where row q looks, in words. */
function sayRow(tokens, q, p, row) {
  const n = tokens.length;
  const k = strongest(row);
  const blocked = n - row.length;
  const weights = row.length === 1 ? "Its one weight is 1" : `Its ${row.length} weights sum to 1`;
  const hidden = blocked ? `${plural(blocked, "cell")} ${blocked === 1 ? "is" : "are"} blocked` : "no cell is blocked";
  const guess = q === Math.max(p - 1, 0) && p < n && n > 1 ? " It makes the first guess." : "";
  return `Row ${q}, ${quoted(tokens[q])}, looks most at column ${k}, ${quoted(tokens[k])}: ${say(row[k])}. `
    + `${weights}; ${hidden}.${guess}`;
}

function render({ model, el }) {
  const tokens = model.get("tokens");
  const n = tokens.length;
  const [layers, heads, start] = [model.get("n_layers"), model.get("n_heads"), model.get("start")];
  const steps = readTable(model.get("table"));
  const prefix = () => wholeOf(model.get("prefix_len"), n);
  const layer = () => wholeOf(model.get("layer"), layers - 1);
  const head = () => wholeOf(model.get("head"), heads - 1);
  const moverOf = (trait) => (value) => put(model, trait, value);

  const layerSlider = makeSlider("Layer", layers - 1, moverOf("layer"));
  const headSlider = makeSlider("Head", heads - 1, moverOf("head"));
  const slider = makeSlider("Prefix length p", n, moverOf("prefix_len"));
  const presets = makePresets("Presets",
    [["Causal", 0], [`At the start: ${start}`, start], ["Bidirectional", n]], moverOf("prefix_len"));
  const note = make("p", { class: "plx-note" });
  const counts = makeCounts(["Sum of the row", "Row looks ahead", "Prefix rows look ahead"]);
  const bars = makeBars({ label: "Weights of the row", rows: tokens, columns: [["Weight", "– where blocked"]] });
  const voice = makeVoice();
  const readout = makeSentence("plx-readout", voice);

  let rows = []; // the map on show
  const readRow = () => {
    const p = prefix();
    const q = grid.row ?? Math.max(p - 1, 0);
    const row = rows[q];
    const ahead = (r) => sum(rows[r].subarray(r + 1));
    grid.mark((k) => k < row.length);
    bars.set([times(n, (k) => (k < row.length ? row[k] : null))], { highest: WHOLE, write: say });
    counts.set([
      say(sum(row)), q < p - 1 ? say(ahead(q)) : "–",
      p > 1 ? say(sum(times(p - 1, ahead)) / (p - 1)) : "–",
    ]);
    readout.set(sayRow(tokens, q, p, row));
  };
  const grid = makeGrid(tokens, ["crossed", ...times(21, (i) => `shade-${5 * i}`)], {
    label: "Rows of the weights: where each token looks", onRow: readRow,
  });

  const draw = () => {
    const [p, l, h] = [prefix(), layer(), head()];
    settle(model, "prefix_len", p);
    settle(model, "layer", l);
    settle(model, "head", h);
    rows = rowsOf(steps, n, { layers, heads }, p, l, h);
    layerSlider.set(l, `${l}`, `layer ${l} of 0 to ${layers - 1}`);
    headSlider.set(h, `${h}`, `head ${h} of 0 to ${heads - 1}`);
    slider.set(p, `${p} of ${n}`, `${sayPrefix(tokens, p)}, ${p === start ? "as at the start" : `an experiment: it was ${start} at the start`}`);
    presets.set(p);
    note.textContent = p === start ? `The explorer began with p = ${start}.`
      : `The explorer began with p = ${start}: what the model does at p = ${p} is an experiment.`;
    grid.draw((q, k) => (k < rows[q].length ? `shade-${5 * Math.round((20 * rows[q][k]) / WHOLE)}` : "crossed"),
      captionWeights(`layer ${l}, head ${h}, prefix length ${p}`, rows, tokens));
    readRow();
  };

  el.append(make("div", { class: "plx-root plx-attention", role: "group", "aria-label": "Attention explorer" },
    make("div", { class: "plx-controls" },
      layerSlider.element, headSlider.element, slider.element, presets.element),
    note,
    make("div", { class: "plx-body" },
      make("div", { class: "plx-map" },
        grid.element,
        makeLegend([["shade-0", "weight 0"], ["shade-50", "0.5"], ["shade-100", "1"], ["crossed", "blocked"]]),
        make("p", { class: "plx-hint" }, "Point at a row, or walk the rows with the arrow keys, to see where it looks.")),
      make("div", { class: "plx-side" }, readout.element, bars.element, counts.element)),
    voice.element));
  draw();
  return listen(model, { "change:layer": draw, "change:head": draw, "change:prefix_len": draw });
}

export default { render };
