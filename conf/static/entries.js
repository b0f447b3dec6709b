// Messages and silent mistakes on a phone: an entry is its title and the beginning of its
// message, until it is opened by a tap, by a link, or by the browser's own search in the
// page. Without this script the whole page is there.
(() => {
  "use strict";
  const ENTRY = ".entry, .mistake, .question-entry, .question-theme";
  const phone = matchMedia("(max-width: 46rem)");
  const entries = [...document.querySelectorAll(ENTRY)];
  const fold = (section, folded) => {
    section.classList.toggle("folded", folded);
    section.querySelector(".unfold").ariaExpanded = !folded;
    const message = section.querySelector(":scope.entry > :is(.met, .cell)");
    for (const part of section.children)
      if (part !== message && !part.matches("h2, h3, span, details.wording"))
        part.hidden = folded && "until-found";
  };
  for (const section of entries) {
    const title = section.querySelector("h2, h3"), button = document.createElement("button");
    const ariaLabel = title.textContent.replace("¶", "").trim();
    title.append(Object.assign(button, { type: "button", className: "unfold", ariaLabel }));
    title.addEventListener("click", ({ target }) => {
      if (phone.matches && !target.closest("a"))
        fold(section, !section.classList.contains("folded"));
    });
    section.addEventListener("beforematch", () => fold(section, false));
  }
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const entry = target?.closest(".folded");
    if (!entry) return;
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
