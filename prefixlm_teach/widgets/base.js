// What every explorer is made of. Joined in front of <explorer>.js to one ES module, so nothing here is
// exported and nothing is fetched. Text from outside reaches the page through append() and setAttribute()
// only, so it is always shown as text.

const SVG = "http://www.w3.org/2000/svg";
const LABELLED = 32; // up to so many tokens, each row and column is labelled with its own
const OWN = -1; // stands for "the row's own column" as the end of a run

/** An element with attributes (null leaves one out) and children; "svg:path" makes an SVG element. */
function make(tag, attributes = {}, ...children) {
  const element = tag.startsWith("svg:")
    ? document.createElementNS(SVG, tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** An id that no other explorer on the page has. */
const unique = () => `plx-${Math.random().toString(36).slice(2)}`;

/** JupyterLab takes the keys of whatever has the focus, unless that very element says no. */
const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };

const times = (n, what) => Array.from({ length: n }, (_, i) => what(i));
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
/** Says how many tokens something has, for the stylesheet: few, some (too many for a phone) or many. */
const sizeOf = (n) => ({ "data-size": n > LABELLED ? "many" : n > 12 ? "some" : "few" });
/** The whole number that a model holds under a name, kept within 0 and last, whatever was put there. */
const wholeOf = (value, last) => Math.min(last, Math.max(0, Math.round(Number(value)) || 0));
const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

const TURNING = "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"; // they change the direction of what follows
const FROM_THE_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** How a token is written on a label: control characters made visible. CSS cuts what is too long. */
function shown(token) {
  const visible = { "\n": "↵", "\t": "⇥" };
  return token.replace(new RegExp(`[\\p{Cc}${TURNING}]`, "gu"), (c) => visible[c] ?? "·");
}

/** A token in a sentence: in quotes, and so that it turns nothing around it when it is written from the right. */
function quoted(token) {
  const text = shown(token);
  return FROM_THE_RIGHT.test(text) ? `“\u2068${text}\u2069”` : `“${text}”`;
}

/** Give the model a value, and Python with it. */
function put(model, trait, value) {
  model.set(trait, value);
  model.save_changes();
}

/** Tell the model what is really shown, where it holds something that cannot be. */
function settle(model, trait, value) {
  if (JSON.stringify(model.get(trait)) !== JSON.stringify(value)) put(model, trait, value);
}

/** Call listeners, each under the name of its event, until the function that comes back is called. */
function listen(model, listeners) {
  Object.entries(listeners).forEach(([event, listener]) => model.on(event, listener));
  return () => Object.entries(listeners).forEach(([event, listener]) => model.off(event, listener));
}

/** What a screen reader is told, once it has stood still for a moment: not each step of a slider on its way. */
function makeVoice() {
  const element = make("span", { class: "plx-hidden", "aria-live": "polite" });
  let timer;
  return {
    element,
    say(words) {
      clearTimeout(timer);
      timer = setTimeout(() => { element.textContent = words; }, 600);
    },
  };
}

/** A sentence that changes; it is seen at once, and spoken by the voice unless it is the first. */
function makeSentence(name, voice) {
  const element = make("p", { class: name });
  return {
    element,
    set(words) {
      if (element.textContent === words) return;
      if (element.textContent) voice.say(words);
      element.textContent = words;
    },
  };
}

/** A slider on a row of its own; `set` moves it and says its value in figures and in words, `allow` (un)locks it. */
function makeSlider(label, max, onMove, min = 0) {
  const id = unique();
  const input = make("input", {
    id, class: "plx-range", type: "range", min, max, step: 1, ...OWN_KEYS,
  });
  const output = make("span", { class: "plx-value", "aria-hidden": "true" });
  input.addEventListener("input", () => onMove(input.valueAsNumber));
  return {
    element: make("div", { class: "plx-slider" },
      make("label", { class: "plx-label", for: id }, label), input, output),
    set(value, figures, words) {
      input.value = value;
      input.setAttribute("aria-valuetext", words);
      output.textContent = figures;
    },
    allow(isUsed) { input.disabled = !isUsed; },
  };
}

/** Buttons that each set one value: `presets` is a list of [name, value]. */
function makePresets(label, presets, onPick) {
  const buttons = presets.map(([name, value]) => {
    const button = make("button", { class: "plx-button", type: "button", ...OWN_KEYS }, name);
    button.addEventListener("click", () => onPick(value));
    return button;
  });
  return {
    element: make("div", { class: "plx-presets", role: "group", "aria-label": label }, ...buttons),
    set(value) {
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", presets[i][1] === value));
    },
  };
}

/** Names with figures beside them; `set` takes the figures in the same order. */
function makeCounts(names) {
  const figures = names.map(() => make("dd", { class: "plx-figure" }));
  const pairs = names.map((name, i) =>
    make("div", { class: "plx-count" }, make("dt", { class: "plx-name" }, name), figures[i]));
  return {
    element: make("dl", { class: "plx-counts" }, ...pairs),
    set(values) {
      values.forEach((value, i) => { figures[i].textContent = value; });
    },
  };
}

/** A legend: `entries` is a list of [kind, words]; a kind's swatch looks as its cells do. */
function makeLegend(entries) {
  return make("ul", { class: "plx-legend", "aria-label": "Legend" }, ...entries.map(([kind, words]) =>
    make("li", {}, make("span", { class: `plx-swatch plx-swatch-${kind}`, "aria-hidden": "true" }), words)));
}

/** The runs of true in a row of n cells, as [first, last]. */
function runsOf(n, isTrue) {
  const runs = [];
  for (let i = 0; i < n; i++) {
    if (!isTrue(i)) continue;
    if (i && isTrue(i - 1)) runs.at(-1)[1] = i;
    else runs.push([i, i]);
  }
  return runs;
}

/** The sentence that `describe_mask` in Python makes of the same (n, n) mask. */
function describeMask(n, sees) {
  const same = (a, b) => a.length === b.length && a.every(([s, e], i) => s === b[i][0] && e === b[i][1]);
  const rows = times(n, (q) => {
    const exact = runsOf(n, (k) => sees(q, k));
    return { exact, relative: exact.map(([start, end]) => [start, end === q ? OWN : end]) };
  });
  const groups = [];
  rows.forEach(({ exact, relative }, q) => {
    const group = groups.at(-1);
    if (group && (same(group.runs, exact) || same(group.runs, relative))) {
      group.last = q;
    } else if (group && group.first === group.last && relative.length
        && same(rows[group.first].relative, relative)) {
      Object.assign(group, { last: q, runs: relative });
    } else {
      groups.push({ first: q, last: q, runs: exact });
    }
  });
  return `${n} rows (queries) by ${n} columns (keys): ${groups.map(sayGroup).join("; ")}.`;
}

function sayGroup({ first, last, runs }) {
  const many = first !== last;
  const who = many ? `rows ${first} to ${last}` : `row ${first}`;
  const see = many ? "see" : "sees";
  if (!runs.length) return `${who} ${see} nothing`;
  if (runs.length === 1 && runs[0][0] === 0 && runs[0][1] === OWN) {
    return `${who} each see column 0 up to their own`;
  }
  const one = runs.length === 1 && runs[0][0] === runs[0][1];
  const what = runs.map(([start, end]) =>
    end === OWN ? `${start} up to their own` : start === end ? `${start}` : `${start} to ${end}`);
  return `${who} ${see} column${one ? "" : "s"} ${what.join(" and ")}`;
}

/** The columns k of n for which isTrue(k) holds, in words. */
function sayColumns(n, isTrue) {
  const runs = runsOf(n, isTrue);
  if (!runs.length) return "nothing";
  const one = runs.length === 1 && runs[0][0] === runs[0][1];
  return `column${one ? "" : "s"} ${runs.map(([start, end]) => (start === end ? start : `${start} to ${end}`)).join(" and ")}`;
}

/** A prefix length in words: the prefix itself, its middle left out when it is long. */
function sayPrefix(tokens, p) {
  const begin = `prefix length ${p} of ${tokens.length}`;
  if (p === 0) return `${begin}: no prefix`;
  const prefix = tokens.slice(0, p).map(shown);
  const words = p <= 8 ? prefix : [...prefix.slice(0, 3), "…", ...prefix.slice(-3)];
  return `${begin}: '${words.join(" ")}'`;
}
