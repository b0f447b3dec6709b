// The box of the error index and of the silent mistakes. A message that is known for certain
// is answered: why, the first cure, and the entry. Else the site's search says what is
// nearest. Of a traceback the reader's own line is named. What is asked is kept in the
// address (?message=...). An old address of an entry (errors.html#its-name) is led on to it.
addEventListener("DOMContentLoaded", () => {
  "use strict";
  const { element, keepInAddress, loadScripts } = window;
  const form = document.querySelector("form.desk");
  const [input, count, list, own, noHit] = ["textarea", ".count", ".near", ".own-line", ".no-hit"]
    .map((part) => form.querySelector(part));
  const search = noHit.querySelector("a"), report = noHit.querySelector(".report a");
  const searchPage = search.getAttribute("href"), reportPage = report?.getAttribute("href");
  const root = document.documentElement.dataset.content_root;
  const mistakes = document.querySelectorAll(".mistake").length;
  const all = mistakes ? `${mistakes} mistakes`
    : `${document.querySelectorAll("article .toctree-l2").length} messages`;
  const KINDS = mistakes ? ["Mistake"] : ["Error", "Question", "Mistake"];

  const lead = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    const entry = window.knownMessages.find(({ anchor }) => anchor === name);
    if (entry) location.replace(root + entry.address);
  };
  // The messages come with the first touch, or with an address that asks for one.
  let begun = mistakes > 0, find = begun ? () => [] : null;
  const begin = async () => {
    if (begun) return;
    begun = true;
    await loadScripts(["messages.js", "find_message.js", "code.js"].map((name) =>
      `${root}_static/${name}`));
    find = window.messageFinder(window.knownMessages);
    addEventListener("hashchange", lead);
    lead();
    apply();
  };

  // A frame, as Python, IPython, rich and pytest write it: file, line, name.
  const FRAME = new RegExp(/(?:File "?|^\s*)((?:Cell )?In ?\[\d+\]|(?<=")[^"]+|\S+\.py)"?/.source +
    /(?:, line |:(?=\d+:?,? in |\d+: \w*Error))(\d+)(?:[,:]? in ([\w<>.]+)|: \w*Error)?/.source);
  const FOREIGN =
    /(?:site|dist)-packages|[\\/]lib[\\/]python3|[\\/]torch[\\/]|^<(?!ipython|stdin|string)/;
  const POINTED = /^\s*(?:❱|-+>|>)/;
  // The reader's own line in a traceback: the last that is in no library.
  const ownLine = (query) => {
    const lines = query.replace(/\x1b\[[\d;]*m/g, "").split(/\r?\n|(?=\bFile ")/)
      .map((line) => line.replace(/^[│┃ ]*[│┃]|[│┃]\s*$/g, ""));
    const frames = lines.map((line, place) => ({ frame: FRAME.exec(line), place }))
      .filter(({ frame }) => frame);
    const mine = frames.findLastIndex(({ frame }) => !FOREIGN.test(frame[1]));
    if (mine < 0) return [];
    const { frame, place } = frames[mine], [whole, file, number, name] = frame;
    const rest = lines[place].slice(frame.index + whole.length);
    const after = rest.trim() ? [rest] : lines.slice(place + 1, place + 12);
    const code = (after.find((line) => POINTED.test(line)) ?? after[0] ?? "")
      .replace(POINTED, "").replace(/^\s*\d*\s*[│┃|]?/, "")
      .split(/\b\w*(?:Error|Warning): /)[0].trim();
    const where = ` (${file.split(/[\\/]/).pop()}, line ${number}${name ? `, in ${name}` : ""})`;
    const below = frames.length - mine - 1;
    return ["Your own line: ", ...coded(code && `\`${code}\``), where,
      below ? `. Frames of libraries below it: ${below}.` : "."];
  };

  const coded = (text) => // with what stands between backticks as code
    text.split("`").map((part, at) => (at % 2 ? element("code", {}, part) : part));
  const lineOf = (one) => { // a message, or a section that the search has found
    const href = location.pathname.endsWith(one.page) ? `#${one.anchor}` : root + one.address;
    const item = element("li", {}, element("a", { href }, one.heading ?? one.title),
      element("p", {}, ...coded(one.cause ?? one.sentence)));
    if (!one.cure) return item;
    const code = element("pre", {}, one.cure);
    item.append(element("div", {}, code));
    window.addCopyButton(code);
    return item;
  };

  const apply = () => {
    const query = input.value.trim();
    const hits = query && find ? find(query).filter(({ exact }) => exact) : [];
    const text = find?.messageIn?.(query) ?? query;
    const others = query && find && !hits.length ? window.searchFor?.(text) ?? [] : [];
    const near = others.filter(({ kind }) => KINDS.includes(kind)).slice(0, 3);
    list.replaceChildren(...[...hits, ...near].map(lineOf));
    list.classList.toggle("exact", hits.length > 0);
    own.replaceChildren(...ownLine(query));
    noHit.hidden = !query || hits.length > 0;
    search.href = `${searchPage}?${new URLSearchParams({ q: query })}`;
    if (report) report.href = `${reportPage}?${new URLSearchParams({
      title: `Without an entry: ${text.slice(0, 80)}`, body: text.slice(0, 1500),
    })}`;
    count.textContent = !query || !find ? all
      : hits.length > 1 ? `This is your message. ${hits.length} things raise it:`
        : hits.length ? "This is your message:"
          : `${mistakes ? "" : `None of the ${all} matches for certain. `}${
            near.length ? "Nearest:" : ""}`;
  };
  const keep = () => keepInAddress([["message", input.value.trim().slice(-4000)]]);

  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    const first = list.querySelector("a");
    if (list.matches(".exact")) first.click();
    else first?.focus();
  });
  form.addEventListener("focusin", begin);
  form.addEventListener("input", () => { begin(); apply(); keep(); });
  form.addEventListener("reset", () => setTimeout(() => { apply(); keep(); input.focus(); }));
  document.addEventListener("search-ready", apply);
  input.value = new URLSearchParams(location.search).get("message") ?? "";
  form.hidden = false;
  apply();
  if (location.hash) begin();
  // The search is loaded by what is typed, also before this page was opened.
  if (input.value) input.dispatchEvent(new Event("input", { bubbles: true }));
});
