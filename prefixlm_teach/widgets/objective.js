// The objective explorer: what each training objective makes of one sentence. What is random in them has been
// drawn in Python, for each stop of the sliders; the page looks it up.

/** A slider's label, the value that it stands for, the name by which an objective asks for it, and its words. */
const SLIDERS = [
  ["Rate", "rate", "rate", (value) => `rate ${value}`],
  ["Mean span", "mean_span", "mean_span", (value) => `mean span ${value}`],
  ["Draw", "draw", "seed", (value) => `draw ${value}`],
];

/** The place of the stop that is nearest to a value, whatever was put there. */
function nearest(stops, value) {
  const far = (stop) => Math.abs(stop - value);
  return stops.reduce((best, stop, i) => (far(stop) < far(stops[best]) ? i : best), 0);
}

/** A Python `Made` by names, or null where in its place stand words: why the setting is impossible. */
function readMade(entry, symbols) {
  if (typeof entry === "string") return null;
  const [row, labels, p, mask, cloze, noise, kind] = entry;
  const symbolOf = (i) => (i === null ? null : symbols[i]);
  return {
    row: row.map(symbolOf), labels: labels.map(symbolOf), p, cloze, noise, kind,
    sees: (q, k) => (p === null ? mask[q][k] === "1" : k <= q || k < p),
  };
}

/** What is read and what is asked for, in words. */
function sayMade({ row, labels, p, cloze }) {
  const part = (name, tokens) => (tokens.length ? `${name} ${quoted(tokens.map(shown).join(" "))}` : `no ${name}`);
  const parts = p === null ? [part("row", row)] : [part("prefix", row.slice(0, p)), part("target", row.slice(p))];
  const asked = labels.flatMap((label, t) => (label === null ? [] : [`${t} ${quoted(label)}`]));
  const each = asked.length > 1 ? "each predicted" : "predicted";
  const how = cloze ? `its own row: ${asked.join(", ")}` : "the row before it";
  return `${parts.join("; ")}; ${asked.length ? `${plural(asked.length, "label")}, ${each} in ${how}` : "no label"}.`;
}

/** What row q sees and predicts, in words. */
function sayAsked({ row, labels, cloze, sees }, q) {
  const t = cloze ? q : q + 1;
  const label = labels[t] ?? null;
  const what = label === null ? "It is asked for nothing."
    : cloze ? `It predicts what belongs here: ${quoted(label)}.` : `It predicts token ${t}, ${quoted(label)}.`;
  return `Row ${q}, ${quoted(row[q])}, sees ${sayColumns(row.length, (k) => sees(q, k))}. ${what}`;
}

function render({ model, el }) {
  const [tokens, names, symbols, table, uses, which] =
    ["tokens", "names", "symbols", "table", "uses", "which"].map((name) => model.get(name));
  const stopsOf = { rate: model.get("rates"), mean_span: model.get("mean_spans"), draw: times(model.get("draws"), (i) => i) };
  const chosen = () => Math.max(0, names.indexOf(model.get("objective")));
  const place = (trait) => nearest(stopsOf[trait], model.get(trait));

  const choice = makePresets("Objective", names.map((name) => [name, name]), (name) => put(model, "objective", name));
  const sliders = SLIDERS.filter(([, , use]) => uses.some((each) => each.includes(use))).map(([label, trait, use, say]) => ({
    trait, use, say,
    ...makeSlider(label, stopsOf[trait].length - 1, (i) => put(model, trait, stopsOf[trait][i])),
  }));
  const voice = makeVoice();
  const readout = makeSentence("plx-readout plx-objective-readout", voice);
  const rowReadout = makeSentence("plx-readout", voice);
  const sentence = makeItems("The sentence", tokens);
  const stripPlace = make("div", { class: "plx-objective-row" });
  const gridPlace = make("div", { class: "plx-objective-grid" });
  const counts = makeCounts(["Tokens in the row", "Labels", "Pairs that may attend"]);

  let made = null; // what is on show, null where the setting is impossible
  let grid = null;
  let kept = null; // the row that was chosen last
  const readRow = () => {
    const q = grid?.row ?? null;
    grid?.mark(q === null ? null : (k) => made.sees(q, k));
    rowReadout.set(made === null ? "There is no row to read."
      : q === null ? "Point at a row, or walk the rows with the arrow keys, to read what it sees and what it is asked for."
        : sayAsked(made, q));
  };
  /** Build the strip and the grid anew: another row of tokens. A row that was chosen stays chosen. */
  const build = () => {
    const focused = grid?.hasFocus;
    if (grid) kept = grid.kept;
    grid = null;
    if (made === null) {
      stripPlace.replaceChildren("Nothing: this setting is impossible.");
      gridPlace.replaceChildren(make("p", { class: "plx-objective-none" }, "No mask"));
      return;
    }
    const { row, labels, p, cloze, sees } = made;
    const n = row.length;
    const strip = makeItems("What the model reads", row, cloze ? labels : []);
    strip.set(labels.map((label, t) => (label !== null && !cloze ? "scored" : p === null ? "plain" : t < p ? "prefix" : "target")),
      p === null ? times(n, () => "") : groupsOf(n, p));
    stripPlace.replaceChildren(strip.element);
    const built = makeGrid(row, ["blocked", "past", "opened"], {
      label: "Rows of the mask: what each token sees, and what it is asked for",
      onRow: () => { if (grid) readRow(); },
    });
    built.draw((q, k) => (sees(q, k) ? (k <= q ? "past" : "opened") : "blocked"), describeMask(n, sees));
    gridPlace.replaceChildren(built.element);
    grid = built;
    if (kept !== null) grid.keep(Math.min(kept, n - 1), focused);
  };

  const draw = () => {
    const which_ = chosen();
    settle(model, "objective", names[which_]);
    Object.keys(stopsOf).forEach((trait) => settle(model, trait, stopsOf[trait][place(trait)]));
    choice.set(names[which_]);
    let at = 0;
    const said = [names[which_]];
    sliders.forEach(({ trait, use, say, set, allow }) => {
      const i = place(trait);
      const value = stopsOf[trait][i];
      const used = uses[which_].includes(use);
      allow(used);
      set(i, used ? `${value}` : "not used", used ? say(value) : `${say(value)}, not used by ${names[which_]}`);
      if (!used) return;
      said.push(say(value));
      at = at * stopsOf[trait].length + i;
    });
    const entry = table[which[which_][at]];
    made = readMade(entry, symbols);
    const setting = `${said.join(", ")}${made?.kind ? ` (${made.kind})` : ""}`;
    const isNoise = new Set(made?.noise);
    sentence.set(tokens.map((_, i) => (isNoise.has(i) ? "noise" : "plain")), tokens.map(() => ""));
    build();
    const n = made?.row.length;
    counts.set(made === null ? ["–", "–", "–"] : [n, made.labels.filter((label) => label !== null).length,
      `${times(n, (q) => times(n, (k) => made.sees(q, k)).filter(Boolean).length).reduce((a, b) => a + b)} of ${n * n}`]);
    readRow();
    readout.set(`${setting}: ${made === null ? `impossible. ${entry}.` : sayMade(made)}`); // last: it is this that is spoken
  };

  el.append(make("div", { class: "plx-root", role: "group", "aria-label": "Training objective explorer" },
    choice.element,
    make("div", { class: "plx-controls plx-objective-sliders" }, ...sliders.map(({ element }) => element)),
    readout.element,
    voice.element,
    make("p", { class: "plx-objective-name" }, "The sentence, with its noise"),
    make("div", { class: "plx-objective-sentence" }, sentence.element),
    make("p", { class: "plx-objective-name" }, "What the model reads"),
    stripPlace,
    make("div", { class: "plx-body" },
      gridPlace,
      make("div", { class: "plx-side" },
        counts.element,
        makeLegend([["past", "past: key at or before the query"], ["opened", "opened: key after the query"],
          ["blocked", "blocked"], ["lost", "noise: taken out, covered or moved"],
          ["scored", "asked for: by the row before it (→), or in its own row for what stands below it"]]),
        rowReadout.element))));
  draw();
  return listen(model, {
    "change:objective": draw, "change:rate": draw, "change:mean_span": draw, "change:draw": draw,
  });
}

export default { render };
