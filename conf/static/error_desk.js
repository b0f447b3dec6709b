// The box of the error index and of the silent mistakes: what a reader pastes is named as
// the message that it is, or as none of these, with the nearest; of a traceback the
// reader's own line. Entries that fit move up to the box, the best first; without a query
// all stand where they were. What is asked is kept in the address (?message=...). On a phone an entry is
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

  const near = form.querySelector(".near");
  const own = form.querySelector(".own-line");
  const report = noHit.querySelector(".report");
  const ENTRY = ".entry, .mistake";
  const titleOf = (section) => section.querySelector("h3").textContent.replace("¶", "").trim();
  const wordsIn = (text) => text.toLowerCase().match(/[a-z_\d]+/g) ?? [];
  const entries = [...document.querySelectorAll(ENTRY)].map((section) => ({
    anchor: section.id,
    section,
    texts: [...section.querySelectorAll(".stream pre, .met, .variant pre")]
      .map((pre) => pre.textContent.trim()),
    has: [...new Set(wordsIn(section.textContent))].map((word) => ` ${word}`).join(""),
  }));
  const messages = document.querySelector(".entry") !== null;
  const find = window.messageFinder(entries);

  // A few words that are no message: the entries that have them all, or their beginnings.
  const FEW = 8;
  const having = (query) => {
    const words = wordsIn(query);
    if (!words.length || words.length > FEW) return [];
    return entries.filter(({ has }) => words.every((word) => has.includes(` ${word}`)));
  };

  // Folded entries, on a phone
  const phone = matchMedia("(max-width: 46rem)");
  const partsOf = (section) => {
    const message = section.querySelector(":scope.entry > :is(.met, .cell)");
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
    button.setAttribute("aria-label", titleOf(section));
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
        [...fold.querySelectorAll("pre")].some((pre) => pre.textContent.trim() === text);
  };

  const apply = () => {
    const query = input.value.trim();
    putBack();
    let hits = query ? find(query).filter(({ exact }) => exact) : [];
    const exact = hits.length > 0;
    if (!exact) hits = having(query);
    for (const hit of hits) {
      const gap = document.createComment("");
      hit.section.replaceWith(gap);
      gaps.push([gap, hit.section]);
      found.append(hit.section);
      open(hit);
    }
    const nearest = hits.length || !query || !messages ? [] : find.near(query);
    near.replaceChildren(...nearest.map(({ anchor, section }) => {
      const link = document.createElement("a");
      link.href = `#${anchor}`;
      link.textContent = titleOf(section);
      const item = document.createElement("li");
      const family = section.parentElement.querySelector("h2")?.textContent.replace("¶", "");
      item.append(family ? `${family}: ` : "", link);
      return item;
    }));
    const line = window.readPaste.ownLine(query);
    own.hidden = !line;
    if (line) {
      const code = document.createElement("code");
      code.textContent = line.code;
      const where = ` (${line.file}, line ${line.line}${line.name ? `, in ${line.name}` : ""})`;
      const rest = line.below ? `. The ${line.below} frames below it are in library code.` : ".";
      own.replaceChildren("Your own line: ", ...(line.code ? [code] : []), where, rest);
    }
    near.hidden = !nearest.length;
    noHit.hidden = !query || hits.length > 0;
    search.href = `${searchPage}?${new URLSearchParams({ q: query })}`;
    if (report) {
      const text = window.readPaste.message(query);
      report.hidden = !query;
      report.querySelector("a").href = `${report.dataset.address}?${new URLSearchParams({
        title: `Message without an entry: ${text.slice(0, 80)}`, body: text.slice(0, 1500),
      })}`;
    }
    const all = entries.length;
    const kind = messages ? "messages" : "mistakes";
    const titles = hits.map(({ section }) => titleOf(section));
    if (!query) count.textContent = `${all} ${kind}`;
    else if (exact) count.textContent = titles.length > 1
      ? `This is your message. ${titles.length} entries have it.`
      : `This is your message: ${titles[0]}`;
    else if (hits.length) count.textContent =
      `${hits.length} of ${all} ${kind} ${hits.length > 1 ? "contain" : "contains"} these words. First: ${titles[0]}`;
    else if (nearest.length) count.textContent = `None of the ${all} ${kind} matches. Nearest:`;
    else count.textContent = `None of the ${all} ${kind} matches, and none is similar.`;
  };

  const keep = () => {
    const asked = new URLSearchParams(location.search);
    asked.delete("message");
    if (input.value.trim()) asked.set("message", input.value.trim().slice(-4000));
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
    if (target.checkVisibility() && !folded && !found.contains(target)) return;
    if (!target.checkVisibility()) {
      input.value = "";
      apply();
    }
    if (entry) fold(entry, false);
    target.scrollIntoView();
  };

  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("input", () => { apply(); keep(); });
  form.addEventListener("reset", () => {
    setTimeout(() => { apply(); keep(); input.focus(); });
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = found.querySelector("h3") ?? near.querySelector("a");
    if (!first) return;
    if (first.matches("h3")) first.tabIndex = -1;
    first.focus();
  });
  window.addEventListener("hashchange", reveal);
  input.value = new URLSearchParams(location.search).get("message") ?? "";
  form.hidden = false;
  foldAll();
  apply();
  reveal();
})();
