// Messages and silent mistakes on a phone: an entry is its title and the beginning of its
// message, until it is opened by a tap, by a link, or by the browser's own search in the
// page. Without this script the whole page is there.
(() => {
  "use strict";
  const ENTRY = ".entry, .mistake, .question-entry, .question-theme";
  const phone = matchMedia("(max-width: 46rem)");
  const entries = [...document.querySelectorAll(ENTRY)];
  const partsOf = (section) => {
    const message = section.querySelector(":scope.entry > :is(.met, .cell)");
    return [...section.children].filter((part) =>
      part !== message && !part.matches("h2, h3, span, details.wording"));
  };
  const fold = (section, folded) => {
    section.classList.toggle("folded", folded);
    for (const part of partsOf(section))
      if (folded) part.setAttribute("hidden", "until-found");
      else part.removeAttribute("hidden");
    section.querySelector(".unfold")?.setAttribute("aria-expanded", !folded);
  };
  for (const section of entries) {
    const title = section.querySelector("h2, h3");
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "unfold" });
    button.setAttribute("aria-label", title.textContent.replace("¶", "").trim());
    title.append(button);
    title.addEventListener("click", ({ target }) => {
      if (phone.matches && !target.closest("a"))
        fold(section, !section.classList.contains("folded"));
    });
    section.addEventListener("beforematch", () => fold(section, false));
  }
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const entry = target?.closest(ENTRY);
    if (!entry?.classList.contains("folded")) return;
    fold(entry, false);
    target.scrollIntoView();
  };
  const foldAll = () => {
    for (const section of entries) fold(section, phone.matches);
    open();
  };
  phone.addEventListener("change", foldAll);
  window.addEventListener("hashchange", open);
  foldAll();
})();
