// A browser may forbid a page to keep anything. Then reading it still works, and is forgotten with the page.
try {
  window.localStorage.getItem("");
} catch {
  const kept = new Map();
  Object.defineProperty(window, "localStorage", {
    value: {
      getItem: (name) => kept.get(name) ?? null,
      setItem: (name, value) => { kept.set(name, String(value)); },
      removeItem: (name) => { kept.delete(name); },
    },
  });
}
