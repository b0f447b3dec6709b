// The box of the error index and of the silent mistakes: as a reader types or pastes,
// the entries that fit move up to it, the best first; without a query all stand where
// they were. What is asked is kept in the address (?message=...). On a phone an entry is
// its title and the beginning of its message, until it is opened: by a tap, by the box,
// by a link, or by the browser's own search in the page. Without this script the whole
// page is there.
(() => {
  "use strict";
  const form = document.querySelector("form.desk");
  if (!form || !window.messageFinder) return;
  const input = form.elements.q;
  const count = form.querySelector(".count");
  const noHit = form.querySelector(".no-hit");
  const search = noHit.querySelector("a");
  const searchPage = search.getAttribute("href");

  const plain = (text) => text.toLowerCase().replace(/[‘’]/g, "'").replace(/[“”]/g, '"');
  const ENTRY = ".entry, .mistake";
  const entries = [...document.querySelectorAll(ENTRY)].map((section) => ({
    anchor: section.id,
    section,
    texts: [...section.querySelectorAll(".stream pre, .variant pre")]
      .map((pre) => pre.textContent.trim()),
    has: plain(section.textContent.replace(/\s+/g, " ")),
  }));
  const find = window.messageFinder(entries);

  // A few words that are no message: the entries that have them all.
  const having = (query) => {
    const words = plain(query).split(/\s+/).filter(Boolean);
    return entries.filter(({ has }) => words.every((word) => has.includes(word)));
  };

  // -- Folded entries, on a phone ------------------------------------------------------
  const phone = matchMedia("(max-width: 46rem)");
  const partsOf = (section) => {
    const message = section.querySelector(":scope.entry > .cell");
    return [...section.children].filter((part) =>
      part !== message && !part.matches("h3, span, details.wording"));
  };
  const fold = (section, folded) => {
    section.classList.toggle("folded", folded);
    for (const part of partsOf(section))
      if (folded) part.setAttribute("hidden", "until-found");
      else part.removeAttribute("hidden");
    section.querySelector(".unfold")?.setAttribute("aria-expanded", !folded);
  };
  const foldAll = () => {
    for (const { section } of entries) fold(section, phone.matches);
  };
  for (const { section } of entries) {
    const title = section.querySelector("h3");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "unfold";
    button.setAttribute("aria-label", title.textContent.replace("¶", "").trim());
    title.append(button);
    title.addEventListener("click", ({ target }) => {
      if (phone.matches && !target.closest("a"))
        fold(section, !section.classList.contains("folded"));
    });
    section.addEventListener("beforematch", () => fold(section, false));
  }
  phone.addEventListener("change", foldAll);

  const found = document.createElement("div");
  found.className = "found";
  const title = document.createElement("h2"); // between the page's and the entries'
  title.className = "visually-hidden";
  title.textContent = "Found";
  found.append(title);
  form.after(found);
  let gaps = []; // where the entries were that stand in `found`
  const putBack = () => {
    for (const [gap, section] of gaps) {
      gap.replaceWith(section);
      fold(section, phone.matches);
    }
    gaps = [];
  };
  const open = ({ section, text }) => {
    fold(section, false);
    for (const fold of section.querySelectorAll("details.wording"))
      fold.open = text !== undefined &&
        fold.querySelector("pre").textContent.trim() === text;
  };

  const apply = () => {
    const query = input.value.trim();
    putBack();
    let hits = [];
    if (query) {
      hits = find(query);
      if (!hits.length) hits = having(query);
      for (const hit of hits) {
        const gap = document.createComment("");
        hit.section.replaceWith(gap);
        gaps.push([gap, hit.section]);
        found.append(hit.section);
        open(hit);
      }
    }
    noHit.hidden = !query || hits.length > 0;
    search.href = `${searchPage}?${new URLSearchParams({ q: query })}`;
    const all = entries.length;
    if (!query) count.textContent = `${all} entries`;
    else if (!hits.length) count.textContent = "No entry has this.";
    else {
      const first = hits[0].section.querySelector("h3").textContent.replace("¶", "");
      count.textContent = `${hits.length} of ${all} entries. First: ${first}`;
    }
  };

  const keep = () => {
    const asked = new URLSearchParams(location.search);
    asked.delete("message");
    if (input.value.trim()) asked.set("message", input.value.trim());
    const query = asked.toString();
    try {
      history.replaceState(null, "", (query ? `?${query}` : location.pathname));
    } catch { /* a page from a file: no address to keep it in */ }
  };

  // A link to what the query has put out of sight is answered all the same.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const entry = target.closest(ENTRY);
    const folded = entry?.classList.contains("folded");
    if (target.checkVisibility() && !folded) return;
    if (!target.checkVisibility()) {
      input.value = "";
      apply();
    }
    if (entry) fold(entry, false);
    target.scrollIntoView();
  };

  form.addEventListener("input", () => { apply(); keep(); });
  form.addEventListener("reset", () => {
    setTimeout(() => { apply(); keep(); input.focus(); });
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = found.querySelector("h3");
    if (!first) return;
    first.tabIndex = -1;
    first.focus();
  });
  window.addEventListener("hashchange", reveal);
  input.value = new URLSearchParams(location.search).get("message") ?? "";
  form.hidden = false;
  foldAll();
  apply();
  reveal();
})();
