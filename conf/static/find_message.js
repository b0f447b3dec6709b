// Search for an error message: when the reader's words follow one another as in a
// known message (messages.js), its entry comes first. Numbers, devices, dtypes, shapes
// and quotes do not count. Any other query is left to Sphinx alone.
(() => {
  "use strict";
  const FEWEST = 4; // words in a row; a whole query may have one less
  const MOST_SHOWN = 3;
  const DTYPE = "(?:bfloat16|float\\d*|double|half|int\\d*|long|short|char|byte|bool|" +
    "complex\\d*|c10::\\w+)";

  const wordsOf = (text) =>
    text
      .toLowerCase()
      .replace(/[‘’]/g, "'")
      // One word for what differs from reader to reader.
      .replace(/\b(?:cuda|cpu|meta|mps|xpu|hpu|npu|privateuseone)(?::\d+)?(?![\w.])/g, " device ")
      .replace(/\b\w+backward\d*\b/g, " node ")
      .replace(new RegExp(`(?:torch\\.)?(?:cuda\\.)?${DTYPE}tensor\\b`, "g"), " tensortype ")
      .replace(new RegExp(`\\b(?:torch\\.|numpy\\.)?${DTYPE}\\b`, "g"), " dtype ")
      .match(/[a-z_]+/g) || [];

  const runsOf = (words, length) => {
    const runs = new Set();
    for (let i = 0; i + length <= words.length; i++)
      runs.add(words.slice(i, i + length).join(" "));
    return runs;
  };

  const { page, entries } = window.knownMessages;
  const texts = entries.flatMap(({ anchor, title, texts }) =>
    texts.map((text) => {
      const words = wordsOf(text);
      return { anchor, title, live: texts[0], words, runs: runsOf(words, 3) };
    }),
  );
  const known = new Map(); // how many entries have a run of three words
  for (const run of new Set(texts.flatMap(({ runs }) => [...runs])))
    known.set(
      run,
      new Set(texts.filter(({ runs }) => runs.has(run)).map(({ anchor }) => anchor)).size,
    );

  // The best first: a rare run of words counts more than one of many messages.
  const find = (query) => {
    const words = wordsOf(query);
    const asked = runsOf(words, 3);
    const long = runsOf(words, FEWEST);
    const best = new Map();
    for (const text of texts) {
      const shared = [...asked].filter((run) => text.runs.has(run));
      const follows =
        [...runsOf(text.words, FEWEST)].some((run) => long.has(run)) ||
        (words.length < FEWEST && shared.length > 0);
      if (!follows) continue;
      const weight = shared.reduce((sum, run) => sum + 1 / known.get(run), 0);
      // Of two that have the same words, the shorter has fewer that were not asked.
      const score = weight - text.words.length / 1e4;
      if (!(best.get(text.anchor)?.score >= score))
        best.set(text.anchor, { ...text, score });
    }
    const found = [...best.values()].sort((a, b) => b.score - a.score);
    return found.filter(({ score }) => score > found[0].score / 2).slice(0, MOST_SHOWN);
  };

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
