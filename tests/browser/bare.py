"""A bare page that mounts an explorer's ES module on a small model, with no kernel and no network."""

import json
from typing import Any

from prefixlm_teach.widgets.base import Explorer

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>An explorer on a bare page</title>
<meta name="viewport" content="width=device-width">
<style>%(css)s</style>
<style>
  html { color-scheme: light dark; } body { margin: 1rem; }
  html { background: light-dark(#fff, #14181d); color: light-dark(#000, #fff); }
  html[data-theme="dark"] { color-scheme: dark; }
</style>
<main><h1>An explorer on a bare page</h1><div id="explorer"></div></main>
<script>
  function makeModel(state) {
    const listeners = {};
    return {
      get: (name) => state[name],
      set(name, value) {
        if (state[name] === value) return;
        state[name] = value;
        (listeners[`change:${name}`] ?? []).forEach((listener) => listener());
      },
      on: (event, listener) => (listeners[event] ??= []).push(listener),
      off(event, listener) { listeners[event] = listeners[event].filter((each) => each !== listener); },
      save_changes() {},
      listeners,
    };
  }
  async function mount(source, state) {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const { default: { render } } = await import(url);
    const el = document.querySelector("#explorer");
    el.replaceChildren();
    window.model = makeModel(state);
    window.unmount = await render({ model: window.model, el });
  }
</script>"""


def open_bare(page: Any, explorer: Explorer) -> None:
    """Show the explorer's module and style on `page`, as they are, with its state as JSON."""
    page.set_content(PAGE % {"css": explorer._css})
    mount(page, explorer)


def mount(page: Any, explorer: Explorer) -> None:
    """Put another explorer onto a page that `open_bare` made."""
    state = json.loads(json.dumps(explorer.state()))
    page.evaluate("([source, state]) => mount(source, state)", [explorer._esm, state])
