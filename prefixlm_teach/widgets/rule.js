// The mask algebra explorer: type or pick a rule, and see the mask, with what it must not show marked.

/** What no mask may show, each as a rule of its own, and what a row calls it. `rules.py` has the same. */
const LAWS = [
  ["Pads are visible", "not valid", "padding"],
  ["The target's future is visible", "not causal and not prefix", "the target's future"],
  ["Another document is visible", "valid and not document", "another document"],
  ["Keys beyond the window are visible", "valid and not window", "beyond the window"],
].map(([law, rule, what]) => ({ law, order: readRule(rule), what }));

/** Rules to pick, as [name, rule]: those that make sense with these documents and pads. */
function namedRules(isPacked, isPadded) {
  const [packed, padded] = [isPacked ? " and document" : "", isPadded ? " and valid" : ""];
  const close = packed + padded;
  const closed = (rule, by) => (by ? `(${rule})${by}` : rule);
  return [
    ["Causal", `causal${close}`],
    [close ? "Open, then close" : "Prefix", closed("causal or prefix", close)],
    close && ["Close, then open", `(causal${close}) or prefix`],
    close && ["No parentheses", `causal or prefix${close}`],
    isPacked && ["Documents forgotten", closed("causal or prefix", padded)],
    isPadded && ["Padding forgotten", closed("causal or prefix", packed)],
    ["Window last", closed("causal or prefix", ` and window${close}`)],
    ["Window first", closed("causal and window or prefix", close)],
    ["All open", close.replace(" and ", "") || "valid"],
    ["Inverted", `not (${closed("causal or prefix", close)})`],
  ].filter(Boolean);
}

/** A field for a rule, with room for what is wrong with it; `onInput(text)` is called as the reader types. */
function makeField(voice, onInput) {
  const [id, errorId] = [unique(), unique()];
  const error = make("p", { class: "plx-error", id: errorId });
  const input = make("input", {
    id, class: "plx-rule-field", type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off",
    "aria-describedby": errorId, ...OWN_KEYS,
  });
  input.addEventListener("input", () => onInput(input.value));
  return {
    element: make("div", { class: "plx-rule" }, make("label", { class: "plx-label", for: id }, "Rule"), input, error),
    show(rule) {
      const line = rule.replace(/\s+/g, " ").trim(); // a field drops line breaks, and with them a space
      if (input.value.replace(/\s+/g, " ").trim() !== line) input.value = line;
    },
    complain(words) {
      input.setAttribute("aria-invalid", words !== "");
      if (error.textContent === words) return;
      error.textContent = words;
      voice.say(words);
    },
  };
}

/** The documents, a line for each; `set` takes the prefix lengths. */
function makeDocuments(documents) {
  const lines = documents.map(({ tokens }) => {
    const name = make("span", { class: "plx-document-name" });
    const pieces = tokens.map((token) => make("bdi", { class: "plx-piece", title: token }, shown(token)));
    return { name, pieces, element: make("li", { class: "plx-document" }, name, ...pieces) };
  });
  const size = documents.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return {
    element: make("ol", { class: "plx-documents", "aria-label": "Documents", ...sizeOf(size) },
      ...lines.map(({ element }) => element)),
    set(prefixes) {
      documents.forEach(({ pads, length }, d) => {
        const p = prefixes[d];
        const name = documents.length > 1 ? `Document ${d}` : "Tokens";
        lines[d].name.textContent = `${name}: ${pads ? `${plural(pads, "pad")}, ` : ""}prefix (${p}), target (${length - p})`;
        lines[d].pieces.forEach((piece, t) => {
          piece.dataset.state = t < pads ? "pad" : t < pads + p ? "prefix" : "target";
        });
      });
    },
  };
}

function render({ model, el }) {
  const [tokens, lengths, padding] = ["tokens", "lengths", "pads"].map((name) => model.get(name));
  const n = tokens.length;
  let start = 0;
  const documents = lengths.map((length, d) => {
    const pads = d ? 0 : padding;
    const first = start;
    start += pads + length;
    return { first, pads, length, tokens: tokens.slice(first, start) };
  });
  const documentOf = documents.flatMap(({ tokens: own }, d) => own.map(() => d));
  const prefixes = () => {
    const given = model.get("prefix_lens");
    return lengths.map((length, d) => wholeOf(given?.[d], length));
  };

  let order = readRule("causal"); // the last rule that could be read: it is the one drawn
  const read = (rule) => {
    let wrong = "";
    try {
      order = readRule(rule);
    } catch (error) {
      wrong = error.message;
    }
    field.complain(wrong);
    return !wrong;
  };
  const voice = makeVoice();
  const field = makeField(voice, (rule) => { if (read(rule)) put(model, "rule", rule); });
  const named = namedRules(documents.length > 1, padding > 0);
  const presets = makePresets("Rules to pick", named, (rule) => {
    put(model, "rule", rule);
    hear();
  });
  const sliders = documents.map(({ length }, d) =>
    makeSlider(documents.length > 1 ? `Document ${d}: p` : "Prefix length p", length,
      (p) => put(model, "prefix_lens", prefixes().map((old, i) => (i === d ? p : old)))));
  const windowSlider = makeSlider("Window w", n, (w) => put(model, "window", w), 1);
  const lines = makeDocuments(documents);
  const counts = makeCounts(["Pairs that may attend", "Opened by the prefix", "Leaked"]);
  const verdict = makeSentence("plx-verdict", voice);
  const row = makeSentence("plx-readout", voice);

  let cells = []; // of each cell: may it attend, its kind, and the laws that it breaks
  const sayRow = (q) => {
    const is = `Row ${q}, ${quoted(tokens[q])},`;
    const all = cells[q];
    if (!all.some(({ open }) => open)) return `${is} sees nothing.`;
    const count = (kind) => all.filter((cell) => cell.kind === kind).length;
    const kinds = [
      [count("past"), `${plural(count("past"), "cell")} of the past`],
      [count("opened"), `${count("opened")} opened by the prefix`], [count("leaked"), `${count("leaked")} leaked`],
    ].filter(([some]) => some).map(([, words]) => words);
    const leaks = LAWS.filter((law) => all.some(({ broken }) => broken.includes(law)))
      .map((law) => `${sayColumns(n, (k) => all[k].broken.includes(law))} (${law.what})`);
    return `${is} sees ${sayColumns(n, (k) => all[k].open)}: ${kinds.join(", ")}.${
      leaks.length ? ` Leaked: ${leaks.join(", ")}.` : ""}`;
  };
  const readRow = () => {
    grid.mark(grid.row === null ? null : (k) => cells[grid.row][k].open);
    row.set(grid.row === null
      ? "Point at a row, or walk the rows with the arrow keys, to read what it sees and what of it is a leak."
      : sayRow(grid.row));
  };
  const grid = makeGrid(tokens, ["blocked", "padding", "past", "opened", "leaked"], {
    label: "Rows of the mask: what each token sees", onRow: readRow,
  });

  const cellsOf = (p, w) => {
    const laws = LAWS.filter(({ order: law }) => !law.includes("window") || order.includes("window"));
    return times(n, (q) => times(n, (k) => {
      const d = documentOf[k];
      const part = {
        causal: k <= q,
        prefix: k < documents[d].first + documents[d].pads + p[d],
        window: Math.abs(q - k) < w,
        document: d === documentOf[q],
        valid: k >= padding,
      };
      const isTrue = (name) => part[name];
      const open = holds(order, isTrue);
      const broken = open ? laws.filter((law) => holds(law.order, isTrue)) : [];
      const kind = broken.length ? "leaked" : open ? (part.causal ? "past" : "opened") : part.valid ? "blocked" : "padding";
      return { open, broken, kind };
    }));
  };
  const draw = () => {
    const p = prefixes();
    const w = Math.max(1, wholeOf(model.get("window"), n));
    settle(model, "prefix_lens", p);
    settle(model, "window", w);
    const unused = order.includes("window") ? "" : ", not in the rule";
    cells = cellsOf(p, w);
    const all = cells.flat();
    const count = (isIt) => all.filter(isIt).length;
    const same = order.join(" ");
    presets.set(named.map(([, rule]) => rule).find((rule) => readRule(rule).join(" ") === same));
    sliders.forEach((slider, d) => slider.set(p[d], `${p[d]} of ${lengths[d]}`,
      `${documents.length > 1 ? `document ${d}: ` : ""}prefix length ${p[d]} of ${lengths[d]}`));
    windowSlider.set(w, unused ? `${w}, unused` : `${w} of ${n}`, `window ${w} of ${n}${unused}`);
    lines.set(p);
    grid.draw((q, k) => cells[q][k].kind, describeMask(n, (q, k) => cells[q][k].open));
    counts.set([`${count(({ open }) => open)} of ${n * n}`, `${count(({ kind }) => kind === "opened")}`,
      `${count(({ kind }) => kind === "leaked")}`]);
    const leaks = LAWS.map((law) => [law.law, count(({ broken }) => broken.includes(law))]).filter(([, c]) => c);
    const words = leaks.map(([law, c]) => `${law}: ${plural(c, "cell")}.`).join(" ")
      || "No leak: nothing is visible that must stay hidden.";
    verdict.element.dataset.leaks = leaks.length > 0;
    verdict.set(words);
    readRow();
  };
  /** The rule came from Python, from a button, or from the field itself. */
  const hear = () => {
    const rule = model.get("rule");
    if (read(rule)) field.show(rule);
    draw();
  };

  el.append(make("div", { class: "plx-root", role: "group", "aria-label": "Mask algebra explorer" },
    field.element,
    presets.element,
    make("div", { class: "plx-controls" }, ...sliders.map(({ element }) => element), windowSlider.element),
    lines.element,
    make("div", { class: "plx-body" },
      grid.element,
      make("div", { class: "plx-side" },
        verdict.element,
        counts.element,
        makeLegend([["past", "past: key at or before the query"], ["opened", "opened by the prefix"],
          ["leaked", "leaked: visible, and must not be"], ["blocked", "blocked"],
          ...(padding ? [["padding", "padding, blocked"]] : [])]),
        row.element)),
    voice.element));
  hear();
  return listen(model, { "change:rule": hear, "change:prefix_lens": draw, "change:window": draw });
}

export default { render };
