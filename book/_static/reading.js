// Which chapters you have read: a button at the end of each, a mark in the table of contents, a count. It is
// kept in this browser and nowhere else.
(() => {
  const KEY = "prefixlm.read";
  const progress = document.querySelector("#reading-progress");
  const chapters = progress.dataset.chapters.split(" ");
  const page = progress.dataset.page;
  const button = document.querySelector("#mark-as-read");

  function read() {
    try {
      const kept = JSON.parse(localStorage.getItem(KEY));
      return chapters.filter((chapter) => kept.includes(chapter));
    } catch {
      return []; // nothing is kept, or something that we never wrote
    }
  }

  function chapterOf(link) {
    const href = link.getAttribute("href");
    return href === "#" ? page : href.split("#")[0].replace(/\.html$/, "").split("/").at(-1);
  }

  function show() {
    const done = read();
    progress.textContent = `Read: ${done.length} of ${chapters.length} chapters`;
    document.querySelectorAll(".bd-docs-nav a.reference").forEach((link) => {
      link.querySelector(".read-mark")?.remove();
      if (!done.includes(chapterOf(link))) return;
      const mark = document.createElement("span");
      mark.className = "read-mark";
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", "read");
      mark.textContent = "✓";
      link.append(mark);
    });
    button?.setAttribute("aria-pressed", done.includes(page));
  }

  button?.addEventListener("click", () => {
    const done = read();
    const now = done.includes(page) ? done.filter((chapter) => chapter !== page) : [...done, page];
    localStorage.setItem(KEY, JSON.stringify(now));
    show();
  });
  window.addEventListener("storage", show); // another tab
  show();
})();
