// The split explorer: where the prefix ends, who may then attend to whom, and which tokens are scored.

/** The kind of the cell where query q looks at key k, with a prefix of p tokens. */
const kindAt = (q, k, p) => (k <= q ? "past" : k < p ? "opened" : "blocked");

/** What row q sees and predicts, in words. */
function sayRow(tokens, q, p) {
  const last = Math.max(q, p - 1);
  const columns = last ? `columns 0 to ${last}` : "column 0";
  const opened = last - q;
  const kinds = `${plural(q + 1, "cell")} of the past${opened ? `, ${opened} opened by the prefix` : ""}`;
  const next = q + 1 === tokens.length ? "No token follows it."
    : `It predicts token ${q + 1}, ${quoted(tokens[q + 1])}: ${isScored(q + 1, p) ? "scored" : "not scored, it is prefix"}.`;
  return `Row ${q}, ${quoted(tokens[q])}, sees ${columns}: ${kinds}. ${next}`;
}

function render({ model, el }) {
  const tokens = model.get("tokens");
  const n = tokens.length;
  const prefix = () => wholeOf(model.get("prefix_len"), n);
  const move = (p) => put(model, "prefix_len", p);
  const sees = (q, k) => kindAt(q, k, prefix()) !== "blocked";

  const slider = makeSlider("Prefix length p", n, move);
  const presets = makePresets("Presets",
    [["Causal", 0], ["Half", Math.floor(n / 2)], ["Bidirectional", n]], move);
  const strip = makeStrip(tokens);
  const counts = makeCounts(["Pairs that may attend", "Opened by the prefix", "Scored tokens"]);
  const voice = makeVoice();
  const row = makeSentence("plx-readout", voice);
  const readRow = () => {
    const p = prefix();
    grid.mark(grid.row === null ? null : (k) => sees(grid.row, k));
    row.set(grid.row === null
      ? "Point at a row, or walk the rows with the arrow keys, to read what it sees."
      : sayRow(tokens, grid.row, p));
  };
  const grid = makeGrid(tokens, ["blocked", "past", "opened"], {
    label: "Rows of the mask: what each token sees", onRow: readRow,
  });

  const draw = () => {
    const p = prefix();
    settle(model, "prefix_len", p);
    slider.set(p, `${p} of ${n}`, sayPrefix(tokens, p));
    presets.set(p);
    strip.set(p);
    grid.draw((q, k) => kindAt(q, k, p), describeMask(n, sees));
    counts.set([
      `${(n * (n + 1) + p * Math.max(0, p - 1)) / 2} of ${n * n}`, `${(p * Math.max(0, p - 1)) / 2}`,
      `${Math.max(0, n - Math.max(p, 1))}`,
    ]);
    readRow();
  };

  el.append(make("div", { class: "plx-root", role: "group", "aria-label": "Prefix LM split explorer" },
    make("div", { class: "plx-controls" }, slider.element, presets.element),
    strip.element,
    make("div", { class: "plx-body" },
      grid.element,
      make("div", { class: "plx-side" },
        counts.element,
        makeLegend([["past", "past: key at or before the query"], ["opened", "opened by the prefix"],
          ["blocked", "blocked"], ["scored", "scored: the row before it predicts it (→)"]]),
        row.element)),
    voice.element));
  draw();
  return listen(model, { "change:prefix_len": draw });
}

export default { render };
