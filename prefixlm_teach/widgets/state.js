// The state explorer: what linear attention has summed up when a row reads it, with or without a prefix.
// The sums and their words are those of state.py and state_numbers.py.

const NUDGE = 1e-6; // what two machines' rounding may differ by, and far more; it never shows

/** elu(x) + 1. */
const featureOf = (x) => Math.exp(Math.min(x, 0)) + Math.max(x, 0);

/** How many tokens are in the state that row t reads: itself and all before it, or the whole prefix. */
const seenBy = (t, p) => Math.max(t + 1, p);

/** What tokens `first` to `last` - 1 add up to: S, a line for each feature of the key, and z at its right. */
function sumUp({ keys, values }, first, last) {
  const d = keys[0].length;
  const among = times(last - first, (i) => first + i);
  return times(d, (i) => times(d + 1, (j) => sum(among.map((t) => keys[t][i] * (j < d ? values[t][j] : 1)))));
}

/** What a query reads out of a state. */
function readOut(state, query) {
  const d = query.length;
  const weight = sum(times(d, (i) => query[i] * state[i][d]));
  return times(d, (j) => sum(times(d, (i) => query[i] * state[i][j])) / weight);
}

/** Heading by heading the figures that row t has come to, token by token, for one head of d numbers. */
function countStateWork(t, p, d) {
  const [rows, tokens, add, read] = [t + 1, seenBy(t, p), d * d, d * d + d];
  const pairs = sum(times(rows, (r) => seenBy(r, p)));
  return [
    [tokens - Math.max(p, 1) + 1, rows],
    [tokens * add + rows * read, rows * (add + read), pairs * 2 * d],
    [d * d + d, tokens * 2 * d],
  ];
}

const WORK = [
  ["States made so far", ["prefix form", "causal form"]],
  ["Multiplications so far", ["prefix form", "causal form", "pair by pair"]],
  ["Numbers kept for what follows", ["state (S and z)", "key-value cache"]],
];

/** A number in three digits, or more where it is 1,000 or larger: +1.25, −0.08, 12.5. */
function writeNumber(number, signed = true) {
  const wholeBy = (digits) => Math.floor(Math.abs(number) * 10 ** digits + 0.5 + NUDGE);
  const digits = [2, 1, 0].find((each) => wholeBy(each) < 1000) ?? 0;
  const whole = wholeBy(digits);
  const sign = !signed || whole === 0 ? "" : number > 0 ? "+" : "−";
  return sign + (whole / 10 ** digits).toFixed(digits);
}

/** How large a number is beside the highest, in percent, whatever its sign. */
const shareOf = (number, highest) => (highest ? Math.floor((100 * Math.abs(number)) / highest + 0.5 + NUDGE) : 0);

/** What row t does to the state, and what it reads. */
function sayState(tokens, t, p, [made, causal]) {
  const some = (n) => (n === 1 ? "token 0" : `tokens 0 to ${n - 1}`);
  let done = `adds nothing, and reads the same state as row 0: ${some(p)}.`;
  if (t >= p || p === 1) done = `adds its key to the state, and reads it: ${some(t + 1)}.`;
  else if (t === 0) done = `reads the state of the whole prefix, which was added first, at once: ${some(p)}.`;
  return `Row ${t}, ${quoted(tokens[t])}, ${done} States made so far: ${made}; by the causal form: ${causal}.`;
}

/** A table of S and z; `set` fills it with numbers, what was added to each, and what is read out of them. */
function makeMatrix(d) {
  const cells = times(d, () => times(d + 1, () => {
    const [number, more] = [make("b", { class: "plx-matrix-number" }), make("span", { class: "plx-matrix-more" })];
    return { number, more, element: make("td", { class: "plx-matrix-cell" },
      number, make("span", { class: "plx-hidden" }, ", this row: "), more) };
  }));
  const outs = times(d, () => make("td", { class: "plx-matrix-out" }));
  const head = (scope, name, index = "") => make("th", { class: "plx-matrix-head", scope }, `${name} ${index}`.trim());
  const title = make("caption", { class: "plx-matrix-title" });
  const element = make("table", { class: "plx-matrix" }, title,
    make("thead", {}, make("tr", {}, make("td", { class: "plx-matrix-head" }),
      ...times(d, (j) => head("col", "v", j)), head("col", "z"))),
    make("tbody", {}, ...cells.map((line, i) =>
      make("tr", { class: "plx-matrix-line" }, head("row", "φ(k)", i), ...line.map((cell) => cell.element)))),
    make("tfoot", {}, make("tr", {}, head("row", "out"), ...outs, make("td", { class: "plx-matrix-out" }))));
  element.style.setProperty("--plx-d", d);
  return {
    element,
    set(words, { state, added, out, highest }) {
      title.textContent = words;
      const some = added.some((line) => line.some((number) => number !== 0));
      cells.forEach((line, i) => line.forEach((cell, j) => {
        const number = state[i][j];
        cell.number.textContent = writeNumber(number, j < d);
        cell.more.textContent = some ? writeNumber(added[i][j]) : "same";
        cell.element.dataset.sign = j === d ? "z" : number < 0 ? "below" : "above";
        cell.element.style.setProperty("--plx-share", `${shareOf(number, highest[j < d ? 0 : 1])}%`);
      }));
      outs.forEach((cell, j) => { cell.textContent = writeNumber(out[j]); });
    },
  };
}

/** Bars with their figures, under headings; the longest bar stands for the highest that can come. */
function makeMeters(headings, highest) {
  const lines = headings.map(([, names]) => names.map((name) => {
    const [bar, figure] = [make("span", { class: "plx-meter-bar" }), make("span", { class: "plx-meter-figure" })];
    return { bar, figure, element: make("div", { class: "plx-meter" }, make("dt", { class: "plx-meter-name" }, name),
      make("dd", { class: "plx-meter-value" },
        make("span", { class: "plx-meter-track", "aria-hidden": "true" }, bar), figure)) };
  }));
  return {
    element: make("div", { class: "plx-meters" }, ...headings.map(([heading], h) =>
      make("div", { class: "plx-meter-group", role: "group", "aria-label": heading },
        make("p", { class: "plx-meter-heading" }, heading),
        make("dl", { class: "plx-meter-list" }, ...lines[h].map((line) => line.element))))),
    set(figures) {
      lines.forEach((group, h) => group.forEach(({ bar, figure }, i) => {
        bar.style.inlineSize = `${(100 * figures[h][i]) / highest[h]}%`;
        figure.textContent = figures[h][i].toLocaleString("en-US");
      }));
    },
  };
}

function render({ model, el }) {
  const tokens = model.get("tokens");
  const n = tokens.length;
  const start = model.get("start");
  const [queries, keys] = model.get("table").slice(0, 2).map((rows) => rows.map((row) => row.map(featureOf)));
  const head = { keys, values: model.get("table")[2] };
  const d = keys[0].length;
  const every = times(n, (t) => sumUp(head, 0, t + 1));
  const largest = (from, to) => Math.max(...every.flat().flatMap((line) => line.slice(from, to)).map(Math.abs));
  const highest = [largest(0, d), largest(d, d + 1)];
  const row = () => wholeOf(model.get("row"), n - 1);
  const prefix = () => wholeOf(model.get("prefix_len"), n);
  const moverOf = (trait) => (value) => put(model, trait, value);

  const rowSlider = makeSlider("Row", n - 1, moverOf("row"));
  const step = (name, by) => {
    const button = make("button", { class: "plx-button", type: "button", ...OWN_KEYS }, name);
    button.addEventListener("click", () => moverOf("row")(wholeOf(row() + by, n - 1)));
    return button;
  };
  const steps = make("div", { class: "plx-presets", role: "group", "aria-label": "One row" },
    step("Back", -1), step("Next", 1));
  const slider = makeSlider("Prefix length p", n, moverOf("prefix_len"));
  const presets = makePresets("Presets",
    [["Causal", 0], [`At the start: ${start}`, start], ["Bidirectional", n]], moverOf("prefix_len"));
  const voice = makeVoice();
  const readout = makeSentence("plx-readout plx-state-readout", voice);
  const strip = makeItems("Tokens, and whether they are in the state", tokens);
  const matrix = makeMatrix(d);
  const ends = [0, n].map((p) => countStateWork(n - 1, p, d));
  const meters = makeMeters(WORK, WORK.map((_, h) => Math.max(...ends.flatMap((end) => end[h]))));

  const draw = () => {
    const [t, p] = [row(), prefix()];
    settle(model, "row", t);
    settle(model, "prefix_len", p);
    const seen = seenBy(t, p);
    const work = countStateWork(t, p, d);
    const words = sayState(tokens, t, p, work[0]);
    rowSlider.set(t, `${t}`, words);
    slider.set(p, `${p} of ${n}`, sayPrefix(tokens, p));
    presets.set(p);
    readout.set(words);
    strip.set(times(n, (k) => (k < seen ? "held" : "awaited")), groupsOf(n, p));
    [...strip.element.children].forEach((item, k) =>
      (k === t ? item.setAttribute("aria-current", "true") : item.removeAttribute("aria-current")));
    const state = every[seen - 1];
    const added = sumUp(head, t ? seenBy(t - 1, p) : 0, seen);
    matrix.set(`The state that row ${t}, ${quoted(tokens[t])}, reads`,
      { state, added, out: readOut(state, queries[t]), highest });
    meters.set(work);
  };

  el.append(make("div", { class: "plx-root plx-state", role: "group", "aria-label": "Linear attention state explorer" },
    make("div", { class: "plx-controls" }, rowSlider.element, steps),
    make("div", { class: "plx-controls" }, slider.element, presets.element),
    readout.element,
    voice.element,
    strip.element,
    make("div", { class: "plx-body" },
      make("div", { class: "plx-state-table" },
        matrix.element,
        makeLegend([["held", "token in the state"], ["above", "above 0"], ["below", "below 0"],
          ["z", "z, by a scale of its own"]]),
        make("p", { class: "plx-state-hint" }, "Small figures: what this row has added. Last line: what its query reads.")),
      meters.element)));
  draw();
  return listen(model, { "change:row": draw, "change:prefix_len": draw });
}

export default { render };
