// A small language for masks: parts joined by "and", "or" and "not". It is read as `rule_language.py` reads it,
// and what is wrong with a rule is said in the same words.

const PARTS = ["causal", "prefix", "window", "document", "valid"];
const SIGNS = { "&": "and", "|": "or", "~": "not" };
const WORD = /[A-Za-z0-9_\u0080-\u009f\u00a1-\u{10ffff}]+|[^ \t\n\r\u00a0]/gu;
const LONGEST = 200; // characters of a rule
const DEEPEST = 20; // parentheses inside each other

/** The words of a rule, each with its name and how to speak of it. */
function wordsOf(rule) {
  return [...rule.matchAll(WORD)].map(({ 0: text, index }) => {
    const lower = text.toLowerCase();
    const letters = [...text];
    const cut = letters.length > 20 ? `${letters.slice(0, 19).join("")}…` : text;
    return {
      name: SIGNS[lower] ?? lower,
      said: `“${cut}” (character ${index + 1} of the rule)`,
    };
  });
}

/** Put the words of a rule into the order in which they are done; throws an error for the reader. */
function readRule(rule) {
  if (typeof rule !== "string") throw new Error("rule must be a string");
  const length = [...rule].length;
  if (length > LONGEST) throw new Error(`the rule has ${length} characters: ${LONGEST} are the most`);
  const words = wordsOf(rule);
  const names = [...PARTS, ...Object.values(SIGNS), "(", ")"];
  const known = `the parts are ${PARTS.join(", ")}, joined by and, or, not`;
  const unknown = words.find(({ name }) => !names.includes(name));
  if (unknown) throw new Error(`I don't know ${unknown.said}: ${known}`);
  if (!words.length) throw new Error(`the rule is empty: ${known}`);

  const order = [];
  const open = []; // the parentheses around what is being read
  let at = 0;
  const name = () => words[at]?.name ?? "";

  const joined = (sign, read) => {
    read();
    while (name() === sign) {
      at += 1;
      read();
      order.push(sign);
    }
  };
  const either = () => joined("or", () => joined("and", one));
  function one() {
    const start = at;
    while (name() === "not") at += 1;
    const nots = at - start;
    if (name() === "(") inside();
    else if (PARTS.includes(name())) order.push(name());
    else throw new Error(whyNoPart());
    at += 1;
    order.push(...times(nots, () => "not"));
  }
  function inside() {
    open.push(words[at]);
    if (open.length > DEEPEST) {
      throw new Error(`${words[at].said} is too deep: ${DEEPEST} inside each other are the most`);
    }
    at += 1;
    either();
    if (name() !== ")") throw new Error(whyNoEnd());
    open.pop();
  }
  function whyNoPart() {
    const before = words[at - 1];
    if (["and", "or"].includes(name()) && (!before || before.name === "(")) {
      return `${words[at].said} has nothing before it`;
    }
    return before ? `${before.said} has nothing after it` : `${words[at].said} closes nothing`;
  }
  function whyNoEnd() {
    if (!name()) return `${open.at(-1).said} is never closed`;
    if (name() === ")") return `${words[at].said} closes nothing`;
    return `there is no “and” or “or” before ${words[at].said}`;
  }

  either();
  if (name()) throw new Error(whyNoEnd());
  return order;
}

/** Is a rule, given in the order in which it is done, true where `isTrue(part)` says which parts are? */
function holds(order, isTrue) {
  const pile = [];
  for (const name of order) {
    if (name === "not") pile.push(!pile.pop());
    else if (PARTS.includes(name)) pile.push(isTrue(name));
    else {
      const [right, left] = [pile.pop(), pile.pop()];
      pile.push(name === "and" ? left && right : left || right);
    }
  }
  return pile.pop();
}
