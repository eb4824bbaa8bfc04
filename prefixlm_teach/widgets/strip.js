// A strip of tokens, prefix and target told apart, with an arrow in front of each token that is scored.

/** Is token t scored? The row before it predicts it, so the first token never is. */
const isScored = (t, p) => t >= Math.max(p, 1);

/** What a screen reader adds to a token, by its state. */
const STATES = {
  prefix: ", prefix", scored: ", target, scored", target: ", target", noise: ", noise", plain: "",
  held: ", in the state", awaited: ", not in the state yet",
};

/**
 * Make a list of tokens; below some of them may stand an answer, what a cloze asks for in their own row.
 *
 * `set` takes the state of each token, one of STATES, and the name of the group that it begins, or "".
 */
function makeItems(label, tokens, answers = []) {
  const states = tokens.map(() => make("span", { class: "plx-hidden" }));
  const answerOf = (t) => make("span", { class: "plx-answer" },
    make("span", { class: "plx-hidden" }, ", asked for: "),
    make("bdi", { class: "plx-answer-token", title: answers[t] }, shown(answers[t])));
  const items = tokens.map((token, t) => make("li", { class: "plx-item" },
    make("span", { class: "plx-arrow", "aria-hidden": "true" }),
    make("span", { class: "plx-chip" },
      make("span", { class: "plx-index" }, String(t)),
      make("bdi", { class: "plx-token", title: token }, shown(token))),
    states[t], ...((answers[t] ?? null) === null ? [] : [answerOf(t)])));
  let drawn = tokens.map(() => null); // what each token looks like now: only what changes is touched
  return {
    element: make("ol", { class: "plx-strip", "aria-label": label, ...sizeOf(tokens.length) }, ...items),
    set(now, groups) {
      now.forEach((state, t) => {
        if (state === drawn[t]) return;
        items[t].dataset.state = state;
        states[t].textContent = STATES[state];
      });
      drawn = now;
      items.forEach((item, t) => {
        if (item.dataset.group !== groups[t]) item.dataset.group = groups[t];
      });
    },
  };
}

/** The name of the group that each of n tokens begins, or "": of p prefix tokens and the target. */
const groupsOf = (n, p) =>
  times(n, (t) => (t === 0 && p > 0 ? `prefix (${p})` : t === p ? `target (${n - p})` : ""));

/** Make the strip; `set` moves the end of the prefix. */
function makeStrip(tokens) {
  const items = makeItems("Tokens", tokens);
  return {
    element: items.element,
    set(p) {
      items.set(tokens.map((_, t) => (t < p ? "prefix" : isScored(t, p) ? "scored" : "target")),
        groupsOf(tokens.length, p));
    },
  };
}
