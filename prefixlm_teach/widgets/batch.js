// The batch explorer: examples that differ in length and in p, each with its own mask; and, as a difference,
// what one int for all of them would have made.

const PAD = "<pad>";

/** What is fixed of an example: its tokens with their pads, n of them real from column `first` on. */
function layOut(tokens, seqLen, side) {
  const pads = Array(seqLen - tokens.length).fill(PAD);
  const left = side === "left";
  return {
    names: left ? [...pads, ...tokens] : [...tokens, ...pads],
    first: left ? pads.length : 0,
    n: tokens.length,
  };
}

const isReal = ({ first, n }, k) => k >= first && k < first + n;

/** May query q attend to key k, if the prefix has p real tokens? Open first, close last. */
const maySee = (example, q, k, p) => (k <= q || k < example.first + p) && isReal(example, k);

/** The kind of a cell: the mask of `given` prefix tokens, held against that of the right `p`. */
function kindInBatch(example, q, k, p, given) {
  const [right, open] = [maySee(example, q, k, p), maySee(example, q, k, given)];
  if (open !== right && isReal(example, q)) return open ? "leaked" : "lost"; // nobody reads the row of a pad
  if (open) return k <= q ? "past" : "opened";
  return isReal(example, k) ? "blocked" : "padding";
}

const scoredOf = (n, p) => Math.max(0, n - Math.max(p, 1));

function render({ model, el }) {
  const examples = model.get("examples");
  const seqLen = Math.max(...examples.map((tokens) => tokens.length));
  const side = () => (model.get("side") === "left" ? "left" : "right");
  const prefixes = () => {
    const values = model.get("prefix_lens");
    return examples.map((tokens, b) => wholeOf(Array.isArray(values) ? values[b] : 0, tokens.length));
  };
  /** The example whose p all examples get, or null. */
  const lender = () => {
    const b = model.get("borrowed");
    return Number.isInteger(b) && b >= 0 && b < examples.length ? b : null;
  };
  const set = (trait) => (value) => put(model, trait, value);

  const sides = makePresets("Padding", [["Padding right", "right"], ["Padding left", "left"]], set("side"));
  const lenders = makePresets("One int for all",
    [["Each its own p", null], ...examples.map((_, b) => [`Example ${b}’s p for all`, b])], set("borrowed"));
  const voice = makeVoice();
  const readout = makeSentence("plx-readout plx-batch-readout", voice);

  const panels = examples.map((tokens, b) => {
    const slider = makeSlider(`Example ${b}: p`, tokens.length, (p) =>
      set("prefix_lens")(prefixes().map((old, i) => (i === b ? p : old))));
    const counts = makeCounts(["Scored tokens", "Leaked", "Lost"]);
    const place = make("div", { class: "plx-batch-grid" });
    const panel = {
      slider, counts, place, grid: null, example: null,
      element: make("section", { class: "plx-batch-example", "aria-label": `Example ${b}` },
        slider.element, place, counts.element),
      /** Build the grid anew: where the pads stand has changed. */
      build() {
        const [old, was] = [panel.grid, panel.example];
        const focused = old?.hasFocus;
        panel.example = layOut(tokens, seqLen, side());
        panel.grid = makeGrid(panel.example.names, ["past", "opened", "blocked", "padding", "leaked", "lost"], {
          label: `Rows of example ${b}: what each token sees`,
          onRow: () => read(),
          onKeep: () => panels.filter((each) => each !== panel).forEach((each) => each.grid.clear()),
        });
        place.replaceChildren(panel.grid.element);
        const t = old?.kept == null ? null : old.kept - was.first; // the same token is kept, unless it was a pad
        if (t !== null && t >= 0 && t < was.n) panel.grid.keep(t + panel.example.first, focused);
      },
    };
    return panel;
  });

  /** The p that example b is given: its own, or the lender's, of which it has room for its own tokens. */
  const givenTo = (b, ps, from) => (from === null ? ps[b] : Math.min(ps[from], examples[b].length));

  /** Say what stands on show, or what the chosen row sees. */
  function read() {
    const [ps, from] = [prefixes(), lender()];
    if (panels.some(({ grid }) => grid === null)) return; // they are being built
    const panel = panels.find(({ grid }) => grid.isPointedAt) ?? panels.find(({ grid }) => grid.row !== null) ?? null;
    panels.forEach((each, b) => {
      const given = givenTo(b, ps, from);
      each.grid.mark(each === panel ? (k) => maySee(each.example, each.grid.row, k, given) : null);
    });
    readout.set(panel === null ? sayBatch(ps, from) : sayRow(panel, ps, from));
  }

  function sayBatch(ps, from) {
    if (from === null) return `Each example has its own p: ${ps.join(", ")}. Point at a row to read what it sees.`;
    const wrong = panels.filter((_, b) => ps[b] !== ps[from]).length;
    return `One int for all: p = ${ps[from]}, which is right for example ${from}. `
      + (wrong ? `It is wrong for ${wrong} of ${examples.length} examples.` : "All examples have this p.");
  }

  function sayRow(panel, ps, from) {
    const b = panels.indexOf(panel);
    const [{ example, grid: { row: q } }, n] = [panel, seqLen];
    const given = givenTo(b, ps, from);
    const kind = (k) => kindInBatch(example, q, k, ps[b], given);
    const said = [`Example ${b}, row ${q}, ${quoted(example.names[q])}, may see ${sayColumns(n, (k) => maySee(example, q, k, ps[b]))}.`];
    if (times(n, kind).includes("leaked")) said.push(`The int shows it ${sayColumns(n, (k) => kind(k) === "leaked")} as well.`);
    if (times(n, kind).includes("lost")) said.push(`The int hides ${sayColumns(n, (k) => kind(k) === "lost")}.`);
    if (!isReal(example, q)) said.push("It is a pad: nobody reads it.");
    return said.join(" ");
  }

  const draw = () => {
    const [ps, from] = [prefixes(), lender()];
    settle(model, "prefix_lens", ps);
    sides.set(side());
    lenders.set(from);
    panels.forEach(({ slider, counts, grid, example }, b) => {
      const p = ps[b];
      const given = givenTo(b, ps, from);
      const instead = given === p ? "" : `, given ${given}`;
      slider.set(p, `${p} of ${example.n}${instead}`, `${sayPrefix(examples[b], p)}${instead}`);
      const kinds = times(seqLen, (q) => times(seqLen, (k) => kindInBatch(example, q, k, p, given)));
      grid.draw((q, k) => kinds[q][k],
        describeMask(seqLen, (q, k) => maySee(example, q, k, given)));
      const count = (kind) => kinds.flat().filter((each) => each === kind).length;
      const [right, scored] = [scoredOf(example.n, p), scoredOf(example.n, given)];
      counts.set([scored === right ? `${right}` : `${scored} instead of ${right}`, `${count("leaked")}`, `${count("lost")}`]);
    });
    read();
  };
  const rebuild = () => {
    panels.forEach((panel) => panel.build());
    draw();
  };

  el.append(make("div", { class: "plx-root", role: "group", "aria-label": "Prefix LM batch explorer" },
    make("div", { class: "plx-controls" }, lenders.element, sides.element),
    readout.element,
    voice.element,
    make("div", { class: "plx-batch" }, ...panels.map((panel) => panel.element)),
    makeLegend([["past", "past: key at or before the query"], ["opened", "opened by the prefix"],
      ["blocked", "blocked"], ["padding", "padding: closed to all"],
      ["leaked", "leaked: seen, and must not be"], ["lost", "lost: may be seen, and is not"]])));
  rebuild();
  return listen(model, { "change:prefix_lens": draw, "change:borrowed": draw, "change:side": rebuild });
}

export default { render };
