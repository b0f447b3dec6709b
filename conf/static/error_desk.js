// The box of the error index: as a reader types or pastes, the entries that fit move up
// to it, the best first; without a query all stand where they were. What is asked is
// kept in the address (?message=...). Without this script the whole page is there.
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
  const entries = [...document.querySelectorAll("section.entry")].map((section) => ({
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

  const found = document.createElement("div");
  found.className = "found";
  const title = document.createElement("h2"); // between the page's and the entries'
  title.className = "visually-hidden";
  title.textContent = "Found";
  found.append(title);
  form.after(found);
  let gaps = []; // where the entries were that stand in `found`
  const putBack = () => {
    for (const [gap, section] of gaps) gap.replaceWith(section);
    gaps = [];
  };
  const open = ({ section, text }) => {
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
    if (!target || target.checkVisibility()) return;
    input.value = "";
    apply();
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
  apply();
  reveal();
})();
