// A strip of tokens, prefix and target told apart, with an arrow in front of each token that is scored.

/** Is token t scored? The row before it predicts it, so the first token never is. */
const isScored = (t, p) => t >= Math.max(p, 1);

/** Make the strip; `set` moves the end of the prefix. */
function makeStrip(tokens) {
  const states = tokens.map(() => make("span", { class: "plx-hidden" }));
  const items = tokens.map((token, t) => make("li", { class: "plx-item" },
    make("span", { class: "plx-arrow", "aria-hidden": "true" }),
    make("span", { class: "plx-chip" },
      make("span", { class: "plx-index" }, String(t)),
      make("bdi", { class: "plx-token", title: token }, shown(token))),
    states[t]));
  let drawn = tokens.map(() => null); // what each token looks like now: only what changes is touched
  return {
    element: make("ol", { class: "plx-strip", "aria-label": "Tokens", ...sizeOf(tokens.length) }, ...items),
    set(p) {
      const now = tokens.map((_, t) => (t < p ? "prefix" : isScored(t, p) ? "scored" : "target"));
      now.forEach((state, t) => {
        if (state === drawn[t]) return;
        items[t].dataset.state = state;
        states[t].textContent = { prefix: ", prefix", scored: ", target, scored", target: ", target" }[state];
      });
      drawn = now;
      items.forEach((item, t) => {
        const group = t === 0 && p > 0 ? `prefix (${p})` : t === p ? `target (${tokens.length - p})` : "";
        if (item.dataset.group !== group) item.dataset.group = group;
      });
    },
  };
}
