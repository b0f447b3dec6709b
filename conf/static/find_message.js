// Find known error messages in what a reader has pasted: those in which the reader's
// words follow one another. Numbers, devices, dtypes, shapes and quotes do not count.
// The search page and the box of the error index ask here.
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

  // Takes entries (anchor, texts of its message, and what else the caller wants back);
  // returns the function that finds some of them, the best first, with the `text` that
  // was found.
  window.messageFinder = (entries) => {
    const texts = entries.flatMap((entry) =>
      entry.texts.map((text) => {
        const words = wordsOf(text);
        return { ...entry, text, words, runs: runsOf(words, 3) };
      }),
    );
    const known = new Map(); // how many entries have a run of three words
    for (const run of new Set(texts.flatMap(({ runs }) => [...runs])))
      known.set(
        run,
        new Set(texts.filter(({ runs }) => runs.has(run)).map(({ anchor }) => anchor)).size,
      );

    // The best first: a rare run of words counts more than one of many messages.
    return (query) => {
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
  };
})();
