// Find the known error message in what a reader has pasted: cut, wrapped, boxed, behind a
// prefix, at the end of a traceback. Numbers, devices, dtypes, shapes and double quotes do
// not count.
(() => {
  "use strict";
  const FEWEST = 4; // words in a row that are like a message; a whole query may have one less
  const CUT = 6; // words that a cut message needs to be told for certain
  const SHORT = 10; // a message of so few words is one only if it is there word for word
  const ENOUGH = 0.6; // of the runs of a longer message
  const LIKE = 0.34; // of what a paste's words say, to be called near
  const MOST_SHOWN = 3;
  const SMALL = new Set(("a an and any are as at be but by can for from got has have i if in is it " +
    "more must no not object of on one only or out s t than that the this to type with you").split(" "));
  const DTYPE = "(?:bfloat16|float\\d*|double|half|int\\d*|long|short|char|byte|bool|" +
    "complex\\d*|c10::\\w+)";

  // What was pasted
  const BEFORE = new RegExp("^(?:\\s*(?:\\[(?:rank)?\\d+\\]:?|\\d{1,3}: |\\([\\w ]+pid=\\d+[^)]*\\)|" +
    "\\[?\\d{4}-\\d\\d-\\d\\d[ T][\\d:.,]+Z?\\]?(?:[ -]*(?:ERROR|WARNING|INFO|CRITICAL)\\b:?)?" +
    "|E {2,}|> ))+");
  const linesOf = (text) => text.replace(/\x1b\[[\d;]*m/g, "").split(/\r?\n/).map((line) =>
    line.replace(/[╭╮╰╯┌┐└┘─━]+/g, " ").replace(/^\s*[│┃]|[│┃]\s*$/g, "").replace(BEFORE, ""));

  const KIND = /\b(?:\w+\.){0,8}\w*(?:Error|Warning|Exception): ?/g;
  const OVER = /Traceback \(most recent|\bFile "|During handling of|The above exception/;
  // The messages in a text, the last first; the whole text if it names no error.
  const messagesIn = (text) => {
    const starts = [...text.matchAll(KIND)];
    const cut = starts.map((found, place) =>
      text.slice(found.index + found[0].length, starts[place + 1]?.index).split(OVER)[0]);
    const said = cut.filter((one) => one.trim()).slice(-5).reverse();
    return said.length ? said : [text];
  };
  // With lines that end at words, and with lines that end anywhere.
  const readings = (query) => [" ", ""].map((end) => linesOf(query).join(end));

  // A frame, as Python, IPython, rich and pytest write it: file, line, name.
  const FRAMES = [
    /File "([^"]+)", line (\d+)(?:, in ([\w<>.]+))?/,
    /File (\S+\.py):(\d+), in ([\w<>.]+)/,
    /((?:Cell )?In ?\[\d+\]), line (\d+)()/,
    /^\s*(\S+\.py):(\d+)(?: in ([\w<>.]+)|: in (\w+)|: \w*Error)/,
  ];
  const FOREIGN = /(?:site|dist)-packages|[\\/]lib[\\/]python3|[\\/]torch[\\/]|^<(?!ipython|stdin|string)/;
  // The reader's own line in a traceback: the last that is in no library.
  const ownLine = (query) => {
    const lines = linesOf(query).flatMap((line) => line.split(/(?=\bFile ")/));
    let own = null;
    let below = 0;
    lines.forEach((line, place) => {
      const found = FRAMES.map((frame) => frame.exec(line)).find(Boolean);
      if (!found) return;
      const [whole, file, number, name, other] = found;
      if (FOREIGN.test(file)) { below += own !== null; return; }
      const rest = line.slice(found.index + whole.length);
      const after = rest.trim() ? [rest] : lines.slice(place + 1, place + 12);
      const marked = after.find((one) => /^\s*(?:❱|-+>|>)/.test(one)) ?? after[0] ?? "";
      const code = marked.replace(/^\s*(?:❱|-+>|>)?\s*(?:\d+\s*[│┃|]?)?/, "").split(KIND)[0].trim();
      own = { file: file.split(/[\\/]/).pop(), line: number, name: name ?? other ?? "", code };
      below = 0;
    });
    return own && { ...own, below };
  };

  // Words
  const wordsOf = (text) =>
    text
      .toLowerCase()
      .replace(/\(triggered internally at [^)]*\)/g, " ")
      .replace(/[‘’]/g, "'")
      .replace(/"[^"\n]{0,80}"(?:, )?/g, " ")
      .replace(/(state_dict for) \w+/g, "$1")
      .replace(/\b(?:[kmgt]ib|bytes)\b/g, " ")
      // As they were written before, or elsewhere.
      .replace(/\bvariable(s?)\b/g, "tensor$1")
      .replace(/writeable/g, "writable")
      // A target or an index of the wrong dtype is another mistake than mixed floats.
      .replace(/(?<!got )\bscalar type long\b/g, "scalar type of_indices")
      // The class that torch.load doesn't allow: a model's, or another.
      .replace(/\bglobal (?:(?:torch\.nn|__main__)\.[\w.]+|[\w.]+(?:model|net)\b)/g, "global of_a_model")
      .replace(/\bglobal (?!of_a_model)[\w.]+ was not/g, "global of_data was not")
      .replace(/safe_globals\(\[[\w.]*\]\)/g, "safe_globals")
      // One word for what differs from reader to reader.
      .replace(/'?(?:<function )?(?<![\w.])[\w.]+\.<locals>\.[\w.<>]+/g, " local_name ")
      .replace(/\b(?:cuda|cpu|meta|mps|xpu|hpu|npu|privateuseone|standin)(?::\d+)?(?![\w.])/g, " device ")
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
  // was found. `exact` says that it is the reader's message, and not one that is like it.
  // Its `near` finds entries whose messages have some rare words of a query.
  window.messageFinder = (entries) => {
    const texts = entries.flatMap((entry) =>
      entry.texts.flatMap((text, place) => {
        const parts = messagesIn(text);
        return parts.map((part) => {
          const words = wordsOf(part);
          return { ...entry, text, place, words, runs: runsOf(words, 3), long: runsOf(words, FEWEST) };
        });
      }),
    );
    const counted = (partsOf) => { // how many entries have a run, or a word
      const by = new Map();
      for (const text of texts)
        for (const part of partsOf(text))
          by.set(part, (by.get(part) ?? new Set()).add(text.anchor));
      return new Map([...by].map(([part, anchors]) => [part, anchors.size]));
    };
    const known = counted(({ runs }) => runs);
    const common = counted(({ words }) => words);
    const says = (word) =>
      SMALL.has(word) ? 0 : Math.log(1 + entries.length / (common.get(word) ?? 0.5));

    const isOf = (text, words, runs) => {
      const shared = [...text.runs].filter((run) => runs.has(run));
      const part = shared.length / text.runs.size;
      if (text.words.length <= SHORT ? part === 1 : part >= ENOUGH) return true;
      // A message that was cut, perhaps within its first or last word: all of it is here,
      // and some of it is in no other entry.
      const whole = words.length > CUT + 1 ? runsOf(words.slice(1, -1), 3) : runs;
      return words.length >= CUT && [...whole].every((run) => text.runs.has(run)) &&
        shared.some((run) => known.get(run) === 1);
    };

    // The best first: a rare run of words counts more than one of many messages.
    const find = (query) => {
      const best = new Map();
      for (const reading of readings(query))
        for (const message of messagesIn(reading)) {
          const words = wordsOf(message);
          const asked = runsOf(words, 3);
          const long = runsOf(words, FEWEST);
          for (const text of texts) {
            const shared = [...asked].filter((run) => text.runs.has(run));
            const exact = shared.length > 0 && isOf(text, words, asked);
            const follows = exact || [...text.long].some((run) => long.has(run)) ||
              (words.length < FEWEST && shared.length > 0);
            if (!follows) continue;
            const weight = shared.reduce((sum, run) => sum + 1 / known.get(run), 0);
            // Of two that have the same words, the shorter has fewer that were not asked.
            const score = weight + (exact && shared.length / text.runs.size) -
              text.words.length / 1e4 - text.place / 1e3; // what is said today comes first
            const before = best.get(text.anchor);
            if (before && before.exact * 1e6 + before.score >= exact * 1e6 + score) continue;
            best.set(text.anchor, { ...text, score, exact });
          }
        }
      const found = [...best.values()].sort((a, b) => b.exact - a.exact || b.score - a.score);
      // One is the reader's; another is too only if nothing tells the two apart.
      for (const one of found) one.exact &&= one.score > found[0].score - 0.05;
      return found.filter(({ score, exact }) => exact || score > found[0].score / 2)
        .slice(0, MOST_SHOWN);
    };

    find.near = (query) => {
      const words = new Set(wordsOf(messagesIn(readings(query)[0])[0]));
      const all = [...words].reduce((sum, word) => sum + says(word), 0);
      const best = new Map();
      for (const text of texts) {
        const shared = text.words.filter((word, at) => words.has(word) && text.words.indexOf(word) === at);
        const score = shared.reduce((sum, word) => sum + says(word), 0) / all;
        const rare = shared.some((word) => common.get(word) <= entries.length / 10 && !SMALL.has(word));
        if (shared.length > 1 && rare && score > Math.max(LIKE, best.get(text.anchor)?.score ?? 0))
          best.set(text.anchor, { ...text, score, exact: false });
      }
      return [...best.values()].sort((a, b) => b.score - a.score).slice(0, MOST_SHOWN);
    };
    return find;
  };
  window.readPaste = { ownLine, message: (query) => messagesIn(readings(query)[0])[0].trim() };
})();
