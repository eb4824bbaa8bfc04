// The loss explorer: what each token costs, by the right slice of the logits, by one without the shift, and by
// one that begins late; for each prefix length and each model, from a table of hundredths of a nat.

const SLICES = [
  ["right", "row t − 1 guesses token t"],
  ["no shift", "row t “guesses” its own token"],
  ["late", "as right, but from row p on"],
];

/** What each slice makes of a line of the table: cost per token in hundredths, null where it is not scored. */
function slicesOf(line, n, p) {
  const following = (t) => line[t - 1];
  return [
    times(n, (t) => (t >= Math.max(p, 1) ? following(t) : null)),
    times(n, (t) => (t >= p ? line[n - 1 + t] : null)),
    times(n, (t) => (t >= p + 1 ? following(t) : null)),
  ];
}

const inNats = (cost) => (cost / 100).toFixed(2);

function render({ model, el }) {
  const tokens = model.get("tokens");
  const names = model.get("names");
  const table = model.get("table");
  const n = tokens.length;
  const means = model.get("mean_table");
  const prefix = () => wholeOf(model.get("prefix_len"), n);
  const which = () => Math.max(0, names.indexOf(model.get("model")));
  const set = (trait) => (value) => put(model, trait, value);

  const slider = makeSlider("Prefix length p", n, set("prefix_len"));
  const choice = makePresets("Model", names.map((name) => [name, name]), set("model"));
  const bars = makeBars({
    label: "Loss of each token in nats, by three slices", rows: tokens, columns: SLICES, total: "mean",
  });
  const voice = makeVoice();
  const readout = makeSentence("plx-readout plx-loss-readout", voice);
  const note = make("p", { class: "plx-loss-note" });

  const draw = () => {
    const p = prefix();
    settle(model, "prefix_len", p);
    const slices = slicesOf(table[which()][Math.max(p, 1) - 1], n, p);
    const mean = means[which()][p];
    const vocabSize = model.get("vocab_sizes")[which()];
    const noIdea = Math.log(vocabSize);
    slider.set(p, `${p} of ${n}`, `prefix length ${p} of ${n}`);
    choice.set(names[which()]);
    bars.set(slices.map((costs, c) => [...costs, mean[c]]), { highest: Math.max(200 * noIdea, 1), write: inNats });
    note.textContent = `The dashed line is the loss of having no idea among ${vocabSize} tokens, `
      + `${noIdea.toFixed(2)}. A longer bar than twice that is cut.`;
    bars.mark(tokens.map((_, t) => (t < p ? "prefix" : "target")));
    const said = SLICES.map(([name], c) => (mean[c] === null ? `${name}: nothing is scored`
      : `${name}: ${inNats(mean[c])} over ${slices[c].filter((cost) => cost !== null).length}`));
    readout.set(`Prefix length ${p} of ${n}, model ${quoted(names[which()])}. Mean loss in nats, ${said.join("; ")}.`);
  };

  el.append(make("div", { class: "plx-root", role: "group", "aria-label": "Prefix LM loss explorer" },
    make("div", { class: "plx-controls" }, slider.element, ...(names.length > 1 ? [choice.element] : [])),
    bars.element,
    note,
    readout.element,
    voice.element));
  draw();
  return listen(model, { "change:prefix_len": draw, "change:model": draw });
}

export default { render };
