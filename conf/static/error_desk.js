// The box of the error index and of the silent mistakes: what a reader pastes is named as
// the message that it is, or as none of these, with the nearest; of a traceback the
// reader's own line. It leads to the entries; what is asked is kept in the address
// (?message=...). An old address of an entry (errors.html#its-name) is led on to it.
(() => {
  "use strict";
  const form = document.querySelector("form.desk");
  if (!form || !window.messageFinder) return;
  const lead = () => {
    const item = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const link = item?.matches(".error-index li") && item.querySelector("a");
    if (link) location.replace(link.href);
  };
  window.addEventListener("hashchange", lead);
  lead();

  const input = form.elements.q;
  const count = form.querySelector(".count");
  const list = form.querySelector(".near");
  const own = form.querySelector(".own-line");
  const noHit = form.querySelector(".no-hit");
  const search = noHit.querySelector("a");
  const searchPage = search.getAttribute("href");
  const report = noHit.querySelector(".report");
  const wordsIn = (text) => text.toLowerCase().match(/[a-z_\d]+/g) ?? [];
  const mistakes = [...document.querySelectorAll(".mistake")].map((section) => ({
    anchor: section.id,
    address: `#${section.id}`,
    title: section.querySelector("h3").textContent.replace("¶", "").trim(),
    texts: [],
    said: section.textContent,
  }));
  const messages = window.knownMessages ?? [];
  const entries = [...messages, ...mistakes];
  for (const entry of entries)
    entry.has = [...new Set(wordsIn([entry.title, entry.said, ...entry.texts].join(" ")))]
      .map((word) => ` ${word}`).join("");
  const find = window.messageFinder(entries);
  const kind = messages.length ? "messages" : "mistakes";

  // A few words that are no message: the entries that have them all, or their beginnings.
  const FEW = 8;
  const having = (query) => {
    const words = wordsIn(query);
    if (!words.length || words.length > FEW) return [];
    return entries.filter(({ has }) => words.every((word) => has.includes(` ${word}`)));
  };

  const lineOf = ({ address, title, texts, text }) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = address;
    link.textContent = title;
    item.append(link);
    if (texts.length) {
      const said = document.createElement("samp");
      said.textContent = text ?? texts[0];
      item.append(said);
    }
    return item;
  };

  let exact = false;
  const apply = () => {
    const query = input.value.trim();
    let hits = query ? find(query).filter((hit) => hit.exact) : [];
    exact = hits.length > 0;
    if (!exact) hits = having(query);
    const near = hits.length || !query ? [] : find.near(query);
    list.replaceChildren(...[...hits, ...near].map(lineOf));
    list.classList.toggle("exact", exact);
    list.hidden = !list.children.length;
    const line = window.readPaste.ownLine(query);
    own.hidden = !line;
    if (line) {
      const code = document.createElement("code");
      code.textContent = line.code;
      const where = ` (${line.file}, line ${line.line}${line.name ? `, in ${line.name}` : ""})`;
      const rest = line.below ? `. The ${line.below} frames below it are in library code.` : ".";
      own.replaceChildren("Your own line: ", ...(line.code ? [code] : []), where, rest);
    }
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
    if (!query) count.textContent = `${all} ${kind}`;
    else if (exact) count.textContent = hits.length > 1
      ? `This is your message. ${hits.length} things raise it:` : "This is your message:";
    else if (hits.length) count.textContent =
      `${hits.length} of ${all} ${kind} ${hits.length > 1 ? "contain" : "contains"} these words:`;
    else if (near.length) count.textContent = `None of the ${all} ${kind} matches. Nearest:`;
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
    const first = list.querySelector("a");
    if (exact) first.click();
    else first?.focus();
  });
  input.value = new URLSearchParams(location.search).get("message") ?? "";
  form.hidden = false;
  apply();
})();
