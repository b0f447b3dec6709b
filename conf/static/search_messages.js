// The search page: when a reader's words are those of a known message (messages.js), its
// entry comes first. Any other query is left to Sphinx alone.
(() => {
  "use strict";
  const { page, entries } = window.knownMessages;
  const find = window.messageFinder(
    entries.map((entry) => ({ ...entry, live: entry.texts[0] })),
  );

  const suffix = (docName) => Search._index.filenames[Search._index.docnames.indexOf(docName)];
  const sphinxSearch = Search._performSearch;
  // Sphinx shows the last of the list first, counts and announces what is in it.
  Search._performSearch = (query, ...rest) => {
    const results = sphinxSearch(query, ...rest);
    const found = find(query);
    if (found.length) {
      // Sphinx would mark each word of a message on the page that the reader opens,
      // and each "t" of a "can't" here. The entry marks itself: it is the target.
      try { localStorage.removeItem("sphinx_highlight_terms"); } catch { /* not kept */ }
      const [, , marked] = rest;
      for (const term of marked) if (term.length < 3) marked.delete(term);
    }
    const top = Math.max(0, ...results.map((result) => result[4])) + 1;
    const shown = found.map(({ anchor, title, live }, place) => [
      page, title, `#${anchor}`, live, top + found.length - place, suffix(page), "message",
    ]);
    const anchors = new Set(shown.map((result) => result[2]));
    const others = results.filter(
      (result) => result[0] !== page || !anchors.has(result[2]),
    );
    return [...others, ...shown.reverse()];
  };

  // Among equals, a lesson before a page that looks things up; last the pages that
  // only list what stands on others.
  const LISTING = /^(calls|machines|auto_examples\/(.+\/)?index)$/;
  const isLesson = (docName) => docName.startsWith("auto_examples/");
  Scorer.score = ([docName, , , , score]) =>
    LISTING.test(docName) ? score - 100 : isLesson(docName) ? score + 0.5 : score;
})();
