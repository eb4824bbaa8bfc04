// Mounts the explorers of a page without a kernel. A classic script that imports each module through a Blob,
// so that a page opened as a file works too. If anything fails, the picture and its sentence stay.
(() => {
  const modules = new Map();

  function load(name) {
    if (!modules.has(name)) {
      const source = document.querySelector(`script[data-explorer-module="${name}"]`).textContent;
      modules.set(name, import(URL.createObjectURL(new Blob([source], { type: "text/javascript" }))));
    }
    return modules.get(name);
  }

  /** What an explorer needs of an anywidget model. */
  function makeModel(state) {
    const listeners = new Map();
    const of = (event) => listeners.get(event) ?? listeners.set(event, new Set()).get(event);
    return {
      get: (name) => state[name],
      set(name, value) {
        if (state[name] === value) return;
        state[name] = value;
        of(`change:${name}`).forEach((listener) => listener());
      },
      on: (event, listener) => of(event).add(listener),
      off: (event, listener) => of(event).delete(listener),
      save_changes() {},
    };
  }

  document.querySelectorAll("script[data-explorer]").forEach(async (script) => {
    const { default: { render } } = await load(script.dataset.explorer);
    const el = document.createElement("div");
    await render({ model: makeModel(JSON.parse(script.textContent)), el });
    script.parentElement.replaceChildren(el);
  });
})();
