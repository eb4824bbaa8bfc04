// The decode explorer: which pairs each step of an answer works out, and which keys it finds in the cache.

/** The row that step s works out first, and the one after its last. */
function rowsOf(s, p, cached) {
  const read = s ? p + s - 1 : 0;
  return [cached && s > 1 ? read - 1 : 0, read];
}

/** What is there of the key of token k. */
const slotAt = (k, [first, read]) => (k >= read ? "padding" : k >= first ? "past" : "kept");

/** The kind of the cell where query q looks at key k, with a prefix of p tokens. */
function stepKindAt(q, k, p, [first, read]) {
  if (q >= read || k >= read) return "padding";
  if (k > q && k >= p) return "blocked";
  return q < first ? "done" : slotAt(k, [first, read]);
}

/** How many pairs a mask of n tokens, p of them prefix, lets through. */
const pairsIn = (n, p) => (n * (n + 1) + p * (p - 1)) / 2;

/** The work of step s alone: tokens and pairs. */
function workOf(s, p, cached) {
  if (s === 0) return [0, 0];
  const [first, read] = rowsOf(s, p, cached);
  return [read - first, first ? read : pairsIn(read, p)];
}

/** What happens in step s. */
function sayStep(s, prompt, answer, cached) {
  const last = answer.length;
  const read = prompt.length + s - 1;
  if (s === 0) return `Step 0 of ${last}: nothing has been read.`;
  let done = `no cache: everything so far is read again, ${plural(read, "token")}`;
  if (s === 1) {
    done = `prefill: the prompt is read at once, ${plural(read, "token")}`;
  } else if (cached) {
    done = `decode: “${answer[s - 2]}” is read; it sees ${plural(read - 1, "key")} from the cache, and its own`;
  }
  const end = s === last ? " That ends the answer, and nothing reads it." : "";
  return `Step ${s} of ${last}, ${done}. The last row chooses “${answer[s - 1]}”.${end}`;
}

/** What row q does in a step. */
function sayStepRow(tokens, q, p, rows) {
  const [first, read] = rows;
  const begin = `Row ${q}, ${quoted(tokens[q])}`;
  if (q >= read) return `${begin}, is not read yet.`;
  if (q < first) return `${begin}, was worked out in an earlier step; its keys and values are kept.`;
  const keys = (kind) => times(tokens.length, (k) => stepKindAt(q, k, p, rows) === kind).filter(Boolean).length;
  return `${begin}, sees ${plural(keys("past"), "key")} made in this step and ${keys("kept")} from the cache.`;
}

/** A list of the keys that are there, token by token. */
function makeSlots(tokens) {
  const items = tokens.map((token) => {
    const swatch = make("span", { class: "plx-slot-swatch plx-swatch", "aria-hidden": "true" });
    const state = make("span", { class: "plx-hidden" });
    return { swatch, state, element: make("li", { class: "plx-slot" },
      swatch, make("bdi", { class: "plx-slot-token", title: token }, shown(token)), state) };
  });
  const said = { past: ", key made in this step", kept: ", key from the cache", padding: ", no key yet" };
  return {
    element: make("ol", { class: "plx-slots", "aria-label": "The keys that are there", ...sizeOf(tokens.length) },
      ...items.map((item) => item.element)),
    set(kindOf) {
      items.forEach(({ element, swatch, state }, k) => {
        const kind = kindOf(k);
        if (element.dataset.state === kind) return;
        element.dataset.state = kind;
        swatch.setAttribute("class", `plx-slot-swatch plx-swatch plx-swatch-${kind}`);
        state.textContent = said[kind];
      });
    },
  };
}

function render({ model, el }) {
  const prompt = model.get("prompt");
  const answer = model.get("answer");
  const tokens = [...prompt, ...answer.slice(0, -1)];
  const n = tokens.length;
  const p = prompt.length;
  const last = answer.length;
  const step = () => wholeOf(model.get("step"), last);
  const cached = () => Boolean(model.get("cached"));
  const set = (trait) => (value) => put(model, trait, value);

  const slider = makeSlider("Step", last, set("step"));
  const move = (name, by) => {
    const button = make("button", { class: "plx-button", type: "button", ...OWN_KEYS }, name);
    button.addEventListener("click", () => set("step")(wholeOf(step() + by, last)));
    return button;
  };
  const moves = make("div", { class: "plx-presets", role: "group", "aria-label": "One step" },
    move("Back", -1), move("Next", 1));
  const choice = makePresets("Cache", [["With a cache", true], ["Without a cache", false]], set("cached"));
  const slots = makeSlots(tokens);
  const counts = makeCounts(["Tokens read in this step", "Tokens read in total", "Pairs in this step",
    "Pairs in total", "In the cache after this step"]);
  const voice = makeVoice();
  const readout = makeSentence("plx-readout plx-decode-readout", voice);
  const say = () => {
    const rows = rowsOf(step(), p, cached());
    const row = grid.row === null ? "" : ` ${sayStepRow(tokens, grid.row, p, rows)}`;
    readout.set(sayStep(step(), prompt, answer, cached()) + row);
  };
  const grid = makeGrid(tokens, ["padding", "blocked", "done", "past", "kept"], {
    label: "Rows: what each token does in this step", onRow: say,
  });

  const draw = () => {
    const [s, kept] = [step(), cached()];
    settle(model, "step", s);
    const rows = rowsOf(s, p, kept);
    const isNow = (kind) => kind === "past" || kind === "kept";
    slider.set(s, `${s} of ${last}`, sayStep(s, prompt, answer, kept));
    choice.set(kept);
    slots.set((k) => slotAt(k, rows));
    grid.draw((q, k) => stepKindAt(q, k, p, rows),
      describeMask(n, (q, k) => isNow(stepKindAt(q, k, p, rows))));
    const works = times(s + 1, (i) => workOf(i, p, kept));
    const total = (i) => works.reduce((sum, work) => sum + work[i], 0);
    counts.set([works[s][0], total(0), works[s][1], total(1), kept ? rows[1] : 0]);
    say();
  };

  el.append(make("div", { class: "plx-root", role: "group", "aria-label": "Prefix LM decode explorer" },
    make("div", { class: "plx-controls" }, slider.element, moves, choice.element),
    readout.element,
    voice.element,
    slots.element,
    make("div", { class: "plx-body" },
      grid.element,
      make("div", { class: "plx-side" },
        counts.element,
        makeLegend([["past", "key made in this step"], ["kept", "key from the cache"],
          ["done", "done in an earlier step"], ["blocked", "blocked"], ["padding", "not read yet"]])))));
  draw();
  return listen(model, { "change:step": draw, "change:cached": draw });
}

export default { render };
