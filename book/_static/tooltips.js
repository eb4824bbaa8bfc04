// Shows the definition of a term or a source beside its link: on hover and on focus, for as long as the pointer
// is on either, until Escape. Screen readers have the same words from aria-describedby. The level switch says
// which links still need one.
(() => {
  const LEVELS = ["new", "knows-transformers", "knows-the-field"];
  const links = [...document.querySelectorAll("a.explained")];
  const box = document.createElement("div");
  box.className = "definition";
  box.setAttribute("aria-hidden", "true");
  box.hidden = true;
  document.body.append(box);
  let current = null;
  let leaving;

  function show(link) {
    clearTimeout(leaving);
    const id = link.getAttribute("aria-describedby");
    if (!id) return;
    current = link;
    box.textContent = document.getElementById(id).textContent;
    box.hidden = false;
    const around = link.getClientRects()[0];
    const edge = 8;
    const left = Math.min(around.left, document.documentElement.clientWidth - box.offsetWidth - edge);
    const above = around.top - box.offsetHeight;
    box.style.left = `${Math.max(edge, left)}px`;
    box.style.top = `${above > edge ? above : around.bottom}px`;
  }

  function hide() {
    box.hidden = true;
    current = null;
  }

  const leave = () => { leaving = setTimeout(hide, 200); };
  links.forEach((link) => {
    link.addEventListener("pointerenter", (event) => event.pointerType !== "touch" && show(link));
    link.addEventListener("pointerleave", leave);
    link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
    link.addEventListener("blur", hide);
  });
  box.addEventListener("pointerenter", () => clearTimeout(leaving));
  box.addEventListener("pointerleave", leave);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  window.addEventListener("scroll", () => current && !box.matches(":hover") && hide(), { passive: true });

  const descriptions = links.map((link) => link.getAttribute("aria-describedby"));
  function setLevel(level) {
    document.documentElement.dataset.level = level;
    links.forEach((link, i) => {
      const needed = LEVELS.indexOf(level) <= LEVELS.indexOf(link.dataset.until);
      link.classList.toggle("known", !needed);
      if (needed) link.setAttribute("aria-describedby", descriptions[i]);
      else link.removeAttribute("aria-describedby");
    });
  }

  const kept = localStorage.getItem("prefixlm.level");
  const select = document.querySelector("#reading-level");
  select.value = LEVELS.includes(kept) ? kept : LEVELS[0];
  select.addEventListener("change", () => {
    localStorage.setItem("prefixlm.level", select.value);
    setLevel(select.value);
  });
  setLevel(select.value);
})();
