// The cost explorer: which pairs of all T x T each way to compute an open prefix works out, how many that are,
// and how much of a layer. The square is drawn by its areas: a few corners, however many tokens there are.

const WAYS = ["dense mask", "cut on a CPU", "mend", "cut on a GPU", "causal call"];
const WIDTHS = [128, 768, 4096];
const AREAS = {
  past: "past", opened: "opened by the prefix", kept: "computed twice", lost: "computed, thrown away",
  padding: "visible, not computed", blocked: "not computed",
};
const [SHORTEST_TEXT, LONGEST_TEXT, WIDEST] = [16, 2 ** 17, 2 ** 16];
const PARTS = 16; // p goes through the sixteenths of T
const MOST = [1500, 1000]; // what the full length of a bar stands for, in tenths of a percent
const STEPPED = 512; // tokens up to which the diagonal is drawn step by step: then a step is less than a pixel
const SIDE = 56; // of the square, in units that suit the hatches

/** The pair (T, p) that a model holds, kept within its range, whatever was put there. */
function sizesOf(value) {
  const [seqLen, prefixLen] = Array.isArray(value) ? value : [];
  const T = Math.max(SHORTEST_TEXT, wholeOf(seqLen, LONGEST_TEXT));
  return [T, wholeOf(prefixLen, T)];
}

/** How many pairs of each kind a way leaves, the kinds that it can have. */
function countAreas(way, T, p) {
  const causal = (T * (T + 1)) / 2;
  const opened = (p * Math.max(0, p - 1)) / 2;
  const hidden = T * T - causal - opened;
  const corner = p > 1 ? ((T - p) * Math.max(0, T - p - 1)) / 2 : 0;
  return {
    "dense mask": { past: causal, opened, lost: hidden },
    "cut on a CPU": { past: causal, opened, lost: corner, blocked: hidden - corner },
    mend: { past: causal - opened, opened, kept: opened, blocked: hidden },
    "cut on a GPU": { past: causal, opened, blocked: hidden },
    "causal call": { past: causal, padding: opened, blocked: hidden },
  }[way];
}

/** How many pairs a way computes; one that it computes twice counts twice. */
function countComputed(way, T, p) {
  const { past, opened = 0, kept = 0, lost = 0 } = countAreas(way, T, p);
  return past + opened + 2 * kept + lost;
}

/** The corners (key, query) of each area that a way can have; what is left over is not computed. */
function outlineAreas(way, T, p) {
  const stairs = (first, last) => (T > STEPPED ? [[last, last]]
    : times(Math.max(0, last - first), (i) => [[first + i + 1, first + i], [first + i + 1, first + i + 1]]).flat());
  const past = [[0, 0], ...stairs(0, T), [0, T]];
  const opened = [[0, 0], ...stairs(0, p), [p, 0]];
  if (way === "dense mask") return { past, opened, lost: [[p, p], ...stairs(p, T), [T, 0], [p, 0]] };
  if (way === "causal call") return { past, padding: opened };
  if (way === "cut on a CPU" && p > 1) return { past, opened, lost: [[p, p], ...stairs(p, T), [T, p]] };
  if (way !== "mend" || p < 2) return { past, opened };
  return {
    past: [[0, p - 1], [p - 1, p - 1], ...stairs(p - 1, T), [0, T]],
    opened,
    kept: [[0, 0], ...stairs(0, p - 1), [0, p - 1]],
  };
}

/** A share in tenths of a percent, a half rounded up: in whole numbers, as Python does it. */
const tenths = (part, whole) => Math.floor((2000 * part + whole) / (2 * whole));
const percent = (inTenths) => `${Math.floor(inTenths / 10)}.${inTenths % 10}%`;
const grouped = (n) => n.toLocaleString("en-US");
/** The share of attention in a layer: 4 d operations a pair, 24 d^2 a token for the weights. */
const attentionShare = (pairs, T, d) => tenths(pairs, pairs + 6 * d * T);

/** What a way makes of the visible pairs, in words. */
function sayWay(way, T, p) {
  const computed = countComputed(way, T, p);
  const { kept, lost, padding } = countAreas(way, T, p);
  const begin = `“${way}” computes ${grouped(computed)}, ${percent(tenths(computed, T * T))} of the square`;
  if (kept) return `${begin}${computed > T * T ? ", more than a dense mask" : ""}: ${grouped(kept)} of them twice.`;
  if (lost) return `${begin}, and throws ${grouped(lost)} of them away.`;
  if (padding) return `${begin}, and leaves out the ${grouped(padding)} that the prefix opens.`;
  return `${begin}: the visible ones and no other.`;
}

/** What is visible, what a way makes of it, and how much of a layer that is. */
function sayCost(way, T, p, d) {
  const opened = (p * Math.max(0, p - 1)) / 2;
  const causal = (T * (T + 1)) / 2;
  const visible = causal + opened;
  const opens = opened ? `${grouped(opened)} of them, ${percent(tenths(opened, causal))} more than a causal mask has` : "none";
  const share = percent(attentionShare(countComputed(way, T, p), T, d));
  return `T = ${grouped(T)}, p = ${grouped(p)}: ${grouped(visible)} of ${grouped(T * T)} pairs are visible, `
    + `${percent(tenths(visible, T * T))}; the prefix opens ${opens}. ${sayWay(way, T, p)} `
    + `With d = ${grouped(d)}, attention is then ${share} of a layer’s operations.`;
}

/** What a screen reader says of the square. */
function sayAreas(way, T, p) {
  const counts = countAreas(way, T, p);
  const said = Object.keys(AREAS).filter((kind) => counts[kind])
    .map((kind) => `${AREAS[kind]} ${grouped(counts[kind])} (${percent(tenths(counts[kind], T * T))})`);
  return `All pairs as a square, queries down, keys across, by ${way}: ${said.join("; ")}.`;
}

/** The square of all pairs, with what is prefix and what is target along two edges. */
function makeSquare() {
  const kinds = Object.keys(AREAS).filter((kind) => kind !== "blocked");
  const paths = kinds.map(makeCells);
  const hatches = kinds.filter((kind) => kind in HATCHED).map((kind) => [kind, unique()]);
  const svg = make("svg:svg", {
    class: "plx-svg", viewBox: `0 0 ${SIDE} ${SIDE}`, preserveAspectRatio: "none", role: "img",
  },
    ...hatches.map(([kind, id]) => makeHatch(kind, id, SIDE)),
    make("svg:rect", { class: "plx-cell-blocked", width: SIDE, height: SIDE }),
    ...paths);
  hatches.forEach(([kind, id]) => svg.style.setProperty(`--plx-fill-${kind}`, `url(#${id})`));
  const edges = ["keys", "queries"].map((name) => make("div", { class: `plx-edge plx-edge-${name}`, "aria-hidden": "true" },
    ...["prefix", "target"].map((part) => make("span", { class: `plx-edge-part plx-edge-${part}` }, part))));
  return {
    element: make("div", { class: "plx-square" },
      make("span", { class: "plx-axis plx-axis-keys", "aria-hidden": "true" }, "keys: who is seen"),
      make("span", { class: "plx-axis plx-axis-queries", "aria-hidden": "true" }, "queries: who looks"),
      ...edges, svg),
    draw(way, T, p) {
      const corners = outlineAreas(way, T, p);
      const scaled = (cells) => +((cells * SIDE) / T).toFixed(4);
      kinds.forEach((kind, i) => paths[i].setAttribute("d", corners[kind]
        ? `M${corners[kind].map(([k, q]) => `${scaled(k)} ${scaled(q)}`).join("L")}z` : ""));
      svg.setAttribute("aria-label", sayAreas(way, T, p));
      edges.forEach((edge) => [p, T - p].forEach((part, i) => {
        edge.children[i].style.flexGrow = part;
        edge.children[i].hidden = !part;
        edge.children[i].classList.toggle("plx-edge-narrow", part / T < 0.2);
      }));
    },
  };
}

function render({ model, el }) {
  const sizes = () => sizesOf(model.get("sizes"));
  const width = () => Math.max(1, wholeOf(model.get("d_model"), WIDEST));
  const way = () => (WAYS.includes(model.get("way")) ? model.get("way") : WAYS[0]);
  const set = (trait) => (value) => put(model, trait, value);
  const nearest = (part, whole, of) => Math.floor((2 * part * of + whole) / (2 * whole));

  const lengths = makeSlider("Tokens T", Math.log2(LONGEST_TEXT / SHORTEST_TEXT), (step) => {
    const [T, p] = sizes();
    const next = SHORTEST_TEXT * 2 ** step;
    set("sizes")([next, nearest(p, T, next)]); // the same share of the text
  });
  const prefixes = makeSlider("Prefix length p", PARTS, (part) =>
    set("sizes")([sizes()[0], nearest(part, PARTS, sizes()[0])]));
  const widths = makePresets("Width d", WIDTHS.map((d) => [`d = ${grouped(d)}`, d]), set("d_model"));
  const ways = makePresets("Which way is drawn", WAYS.map((name) => [name, name]), set("way"));

  const square = makeSquare();
  const legend = make("div", { class: "plx-cost-legend" });
  const figures = WAYS.map(() => make("span", { class: "plx-bar-note" }));
  const bars = makeBars({
    label: "Pairs that each way computes", first: "Way",
    rows: WAYS.map((name, i) => make("span", { class: "plx-way" }, name, figures[i])),
    columns: [["Pairs", "share of the square; dashed: every pair once"], ["Attention", "its share of a layer’s operations"]],
  });
  const voice = makeVoice();
  const readout = makeSentence("plx-readout", voice);

  const draw = () => {
    const [[T, p], d, chosen] = [sizes(), width(), way()];
    settle(model, "sizes", [T, p]);
    settle(model, "d_model", d);
    settle(model, "way", chosen);
    lengths.set(Math.round(Math.log2(T / SHORTEST_TEXT)), grouped(T), plural(grouped(T), "token"));
    prefixes.set(nearest(p, T, PARTS), `${grouped(p)} of ${grouped(T)}`, `prefix length ${grouped(p)} of ${grouped(T)}`);
    widths.set(d);
    ways.set(chosen);
    square.draw(chosen, T, p);
    const kinds = Object.keys(AREAS).filter((kind) => kind in countAreas(chosen, T, p));
    legend.replaceChildren(makeLegend(kinds.map((kind) => [kind, AREAS[kind]])));
    const pairs = WAYS.map((name) => countComputed(name, T, p));
    pairs.forEach((n, i) => { figures[i].textContent = `${grouped(n)} pairs`; });
    bars.set([pairs.map((n) => tenths(n, T * T)), pairs.map((n) => attentionShare(n, T, d))],
      { highest: MOST, write: percent });
    bars.mark(WAYS.map((name) => (name === chosen ? "chosen" : "other")));
    readout.set(sayCost(chosen, T, p, d));
  };

  el.append(make("div", { class: "plx-root plx-cost", role: "group", "aria-label": "Prefix LM cost explorer" },
    make("div", { class: "plx-controls" }, lengths.element, prefixes.element, widths.element, ways.element),
    make("div", { class: "plx-body" },
      make("div", { class: "plx-cost-picture" }, square.element, legend),
      make("div", { class: "plx-side" }, bars.element, readout.element)),
    voice.element));
  draw();
  return listen(model, { "change:sizes": draw, "change:d_model": draw, "change:way": draw });
}

export default { render };
