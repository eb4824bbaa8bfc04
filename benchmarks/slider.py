"""How soon a picture follows a key: our explorer against `interact` with an inline figure, in one JupyterLab.

    python benchmarks/slider.py

From the key's event to the painted frame that holds the new picture, in milliseconds. The explorer computes
in the browser; `interact` asks the kernel, which draws a PNG and sends it. On the published page, without a
kernel, the same is measured for longer sequences, beside what the frames of that page take when it is idle.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from timing import ninetieth, spread, write

PROJECT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / folder) for folder in ("tools", "tests/browser", "book/_ext")]

import build_book  # noqa: E402 (found through the line above, as what follows)
from bare_book import put_on_a_page  # noqa: E402
from notebook import Notebook, write_notebook  # noqa: E402
from playwright.sync_api import Browser, Locator, Page  # noqa: E402
from servers import running_chromium, running_lab  # noqa: E402

from prefixlm_teach import SplitExplorer  # noqa: E402

PRESSES = 40
PRESSES_ON_THE_PAGE = 100
TOKENS = [f"w{t}" for t in range(16)]
CELLS = [
    "%matplotlib inline\nimport matplotlib.pyplot as plt\nfrom ipywidgets import IntSlider, interact\n"
    "from prefixlm_teach import SplitExplorer, create_prefix_lm_mask",
    f"SplitExplorer({TOKENS!r}, 8)",
    "def show(p):\n    plt.imshow(create_prefix_lm_mask(16, p))\n    plt.show()\n\n\n"
    "interact(show, p=IntSlider(8, 0, 16));",
]

# Time one key: from its event until the frame after the picture has changed, an image decoded.
WATCH = """([where, image]) => {
  const seen = document.querySelector(where);
  const next = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  window.timed = new Promise((done) => {
    document.addEventListener("keydown", (event) => {
      const began = event.timeStamp;
      new MutationObserver(async (_, observer) => {
        const shown = image ? seen.querySelector("img") : seen;
        if (!shown || (image && shown.src === window.lastImage)) return;
        observer.disconnect();
        if (image) { window.lastImage = shown.src; await shown.decode(); }
        await next();
        done(performance.now() - began);
      }).observe(seen, { subtree: true, childList: true, attributes: true, attributeFilter: ["d", "src"] });
    }, { once: true, capture: true });
  });
}"""
IDLE = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const gaps = [];
  for (let last = await frame(), i = 0; i < 60; i++) {
    const now = await frame();
    gaps.push(now - last);
    last = now;
  }
  return gaps;
}"""


def press(page: Page, handle: Locator, key: str, where: str, *, image: bool) -> float:
    """Press a key on a slider; return how long the picture took."""
    handle.focus()
    page.evaluate(WATCH, [where, image])
    handle.press(key)
    took: float = page.evaluate("timed")
    page.wait_for_timeout(120)  # let the kernel come to rest
    return took


def in_jupyterlab(browser: Browser, home: Path) -> dict[str, Any]:
    """Time both sliders in turn, in one notebook."""
    page = browser.new_page(viewport={"width": 1280, "height": 1600})
    with running_lab(home) as lab:
        write_notebook(lab, "slider.ipynb", CELLS)
        notebook = Notebook(page, lab, "slider.ipynb")
        notebook.run_all()
        (root,) = notebook.explorers()
        theirs = page.locator(".widget-interact .noUi-handle")
        theirs.wait_for()
        page.locator(".widget-interact img").wait_for()
        page.evaluate("window.lastImage = document.querySelector('.widget-interact img').src")
        took: dict[str, list[float]] = {"ours": [], "interact": []}
        for i in range(PRESSES + 2):
            key = "ArrowRight" if i % 2 else "ArrowLeft"
            found = {
                "ours": press(page, root.get_by_role("slider"), key, ".plx-cell-opened", image=False),
                "interact": press(page, theirs, key, ".widget-interact", image=True),
            }
            if i >= 2:  # the first ones warm up
                for name, time in found.items():
                    took[name].append(time)
    page.close()
    times = {name: spread(found) for name, found in took.items()}
    return {
        "interact_over_ours": round(times["interact"]["median"] / times["ours"]["median"], 2),
        "ms": times,
    }


def on_the_page(browser: Browser, book: Path, seq_len: int) -> dict[str, Any]:
    """Time the explorer on the published page, beside the frames of the same page at rest."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    explorer = SplitExplorer([f"w{t}" for t in range(seq_len)], seq_len // 2)
    slider = put_on_a_page(page, book, explorer).get_by_role("slider")
    took = [
        press(page, slider, "ArrowRight" if i % 2 else "ArrowLeft", ".plx-cell-opened", image=False)
        for i in range(PRESSES_ON_THE_PAGE + 2)
    ][2:]  # the first ones warm up
    idle = page.evaluate(IDLE)
    page.close()
    times = {
        name: spread(found) | {"ninetieth": ninetieth(found)}
        for name, found in (("key_to_picture", took), ("idle_frame", idle))
    }
    frames = times["key_to_picture"]["ninetieth"] / times["idle_frame"]["median"]
    return {"seq_len": seq_len, "frames_at_the_ninetieth": round(frames, 2), "ms": times}


def main() -> None:
    """Measure, print, write the JSON."""
    with running_chromium() as browser, tempfile.TemporaryDirectory() as home:
        lab = in_jupyterlab(browser, Path(home))
        print(f"JupyterLab, 16 tokens: interact takes {lab['interact_over_ours']} times as long", lab["ms"])
        book = Path(home) / "book"
        if build_book.build(book):
            raise RuntimeError("the book cannot be made; what is wrong with it stands above")
        pages = [on_the_page(browser, book, seq_len) for seq_len in (16, 64, 128)]
        for found in pages:
            print(
                f"published page, {found['seq_len']} tokens: {found['frames_at_the_ninetieth']} frames",
                found["ms"],
            )
    write("slider", {"what": "from a key to the painted picture", "jupyterlab": lab, "published_page": pages})


if __name__ == "__main__":
    main()
