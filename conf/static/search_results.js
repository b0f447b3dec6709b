// What the search shows: a badge of the kind, the page's own description (from
// search_pages.js), the first hits and a button for the others. Sphinx finds and counts.
(() => {
  "use strict";
  const AT_FIRST = 8;
  const BESIDE_MESSAGES = 3;
  const { pages, entries, kinds } = window.searchPages;
  const names = Object.keys(pages); // lessons first, in reading order

  Documentation.addTranslations({
    locale: "en",
    plural_expr: "n == 1 ? 0 : 1",
    messages: {
      "Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories.":
        "Nothing here has all of these words. Try fewer words, or one call, such as " +
        "detach. Of an error message four words in a row are enough.",
      "Search finished, found one page matching the search query.": [
        "Found one page.", "Found ${resultCount} pages.",
      ],
    },
  });

  const wordsOf = (text) => (text.toLowerCase().match(/\w+/g) ?? []).join(" ");

  // Each hit once, of a page only the best; a title that has the words as they were
  // asked before others, and lessons in reading order.
  const arrange = (results, query) => {
    const asked = wordsOf(query);
    const best = new Map();
    for (const result of results) {
      const [page, title, anchor, , score, , kind] = result;
      const known = entries[page]?.[anchor.slice(1)];
      const isEntry = kind === "index" && known !== undefined;
      if (isEntry) result[1] = known[0];
      const phrase = ` ${wordsOf(result[1])} `.includes(` ${asked} `) ? 20 : 0;
      const weight = kind === "message" ? Infinity : score + phrase - names.indexOf(page) / 1e3;
      const key = kind === "message" || isEntry ? page + anchor : page;
      if (!(best.get(key)?.weight > weight)) best.set(key, { result, weight });
    }
    const found = [...best.values()];
    return found.sort((a, b) => (a.weight === b.weight ? 0 : a.weight - b.weight))
      .map(({ result }) => result);
  };

  const kindOf = ([page, , , , , , kind]) => {
    if (kind === "message") return "Error";
    return (kind === "index" && kinds[page]) || pages[page]?.[0] || "Page";
  };

  let waiting = []; // the results that Sphinx has not shown yet, the next one last
  let shown = 0;
  let atFirst = AT_FIRST;
  const more = document.createElement("button");
  more.type = "button";
  more.className = "more-results";
  more.addEventListener("click", () => {
    const hidden = [...document.querySelectorAll("#search-results li[hidden]")];
    for (const item of hidden) item.hidden = false;
    more.remove();
    hidden[0]?.querySelector("a").focus();
  });

  const dress = (item) => {
    const result = waiting.pop();
    if (!result) return;
    const [page, , anchor, said, , , kind] = result;
    const meaning = kind === "index" && entries[page]?.[anchor.slice(1)]?.[1];
    const badge = document.createElement("span");
    badge.className = "result-kind";
    badge.textContent = kindOf(result);
    item.prepend(badge, " ");
    const about = document.createElement("p");
    about.className = kind === "message" ? "result-message" : "result-about";
    about.textContent = kind === "message" ? said
      : meaning || (pages[page]?.[1] ?? "");
    if (about.textContent) item.append(about);
    shown += 1;
    item.hidden = shown > atFirst;
    if (!item.hidden) return;
    more.textContent = `Show ${shown - atFirst} more`;
    item.parentElement.after(more);
  };

  new MutationObserver((changes) => {
    for (const { addedNodes, target } of changes)
      if (target.matches("ul.search")) for (const item of addedNodes) dress(item);
  }).observe(document.getElementById("search-results"), { childList: true, subtree: true });

  const search = Search._performSearch;
  Search._performSearch = (query, ...rest) => {
    const results = arrange(search(query, ...rest), query);
    waiting = results.map((result) => [...result]);
    for (const result of results) result[3] = null; // said below, without brackets
    const messages = results.filter((result) => result[6] === "message").length;
    if (messages) atFirst = messages + BESIDE_MESSAGES;
    return results;
  };
})();
