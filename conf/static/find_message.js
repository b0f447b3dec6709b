// Finds the known message in what a reader pasted: cut, wrapped, boxed, in a traceback.
// Numbers, devices, dtypes and names, which differ from reader to reader, do not count.
// Takes entries (`anchor`, `texts` of the message, and what else the caller wants back).
// Returns the function that finds at most three of them, the best first, each with the
// `text` that is like the query. Only one that is `exact` is the reader's message. Its
// `messageIn` returns the last message of a text.
window.messageFinder = (entries) => {
  "use strict";
  const FEW = 6; // words that a cut message needs to be told for certain
  const SHORT = 10; // a message of so few words is one only if it is there word for word
  const MOST = 0.6; // of the runs of a longer one
  const KIND = /\b(?:\w+\.){0,8}\w*(?:Error|Warning|Exception): ?/g;
  const OVER = /Traceback \(most recent|\bFile "|During handling of|The above exception/;
  const NOISE = /\x1b\[[\d;]*m|[╭╮╰╯┌┐└┘─━│┃]+|^E {2,}/gm;
  const DTYPE = "(?:bfloat16|float\\d*|double|half|int\\d*|long|short|char|byte|bool|" +
    "complex\\d*|c10::\\w+)";
  const SAME = [
    [/\(triggered internally at [^)]*\)|"[^"\n]{0,80}"(?:, )?|\b(?:[kmgt]ib|bytes)\b/g, " "],
    [/[‘’]/g, "'"],
    [/(state_dict for) \w+/g, "$1"],
    // As it was written before.
    [/\bvariable(s?)\b/g, "tensor$1"],
    [/writeable/g, "writable"],
    // A target or an index of the wrong dtype is another mistake than mixed floats.
    [/(?<!got )\bscalar type long\b/g, "scalar type of_indices"],
    // The class that torch.load doesn't allow: a model's, or another.
    [/\bglobal (?:(?:torch\.nn|__main__)\.[\w.]+|[\w.]+(?:model|net)\b)/g, "global of_a_model"],
    [/\bglobal (?!of_a_model)[\w.]+ was not/g, "global of_data was not"],
    [/safe_globals\(\[[\w.]*\]\)/g, "safe_globals"],
    // A wrapped model, or weights, asked for anything that a model has.
    [/('(?:\w+\.)?(?:ordereddict|(?:distributed)?dataparallel)' object has no attribute) '\w+'/g,
      "$1 of_a_model"],
    // One word for what differs from reader to reader.
    [/'?(?:<function )?(?<![\w.])[\w.]+\.<locals>\.[\w.<>]+/g, " local_name "],
    [/\b(?:cuda|cpu|meta|mps|xpu|hpu|npu|privateuseone|standin)(?::\d+)?(?![\w.])/g, " device "],
    [/\b\w+backward\d*\b/g, " node "],
    [new RegExp(`(?:torch\\.)?(?:cuda\\.)?${DTYPE}tensor\\b`, "g"), " tensortype "],
    [new RegExp(`\\b(?:torch\\.|numpy\\.)?${DTYPE}\\b`, "g"), " dtype "],
  ];
  const wordsOf = (text) => SAME.reduce((plain, [what, by]) => plain.replace(what, by),
    text.toLowerCase()).match(/[a-z_]+/g) ?? [];
  const runsOf = (words) =>
    new Set(words.slice(2).map((_, at) => words.slice(at, at + 3).join(" ")));
  // The messages in a text, the last first; the whole text if it names no error.
  const messagesIn = (text) => {
    const found = [...text.matchAll(KIND)].map(({ index, 0: kind }, at, all) =>
      text.slice(index + kind.length, all[at + 1]?.index).split(OVER)[0]);
    const said = found.filter((one) => one.trim()).slice(-5).reverse();
    return said.length ? said : [text];
  };

  const texts = entries.flatMap((entry) => entry.texts.flatMap((text, place) =>
    messagesIn(text).map((part) => {
      const words = wordsOf(part);
      return { ...entry, text, place, words, runs: runsOf(words) };
    })));
  const owners = new Map(); // of each run, the entries that have it
  for (const { runs, anchor } of texts)
    for (const run of runs) owners.set(run, (owners.get(run) ?? new Set()).add(anchor));
  const isOwn = (run) => owners.get(run)?.size === 1;
  // A rare run says more than one of many messages.
  const weigh = (runs) => runs.reduce((sum, run) => sum + 1 / (owners.get(run)?.size ?? 1), 0);

  const isOf = (text, words, asked, shared) => {
    const part = shared.length / text.runs.size;
    if (part >= (text.words.length <= SHORT ? 1 : MOST)) return true;
    // A message that was cut, perhaps within its first or last word: all that was pasted
    // is in this one, and some of it in no other entry.
    const whole = words.length > FEW + 1 ? runsOf(words.slice(1, -1)) : asked;
    return words.length >= FEW && [...whole].every((run) => text.runs.has(run)) &&
      shared.some(isOwn);
  };
  const find = (query) => {
    const best = new Map();
    for (const end of [" ", ""]) { // lines that end at words, and lines that end anywhere
      const plain = query.replace(NOISE, " ").replace(/\s*\r?\n\s*/g, end);
      for (const message of messagesIn(plain)) {
        const words = wordsOf(message), asked = runsOf(words), all = weigh([...asked]);
        for (const text of texts) {
          const shared = [...asked].filter((run) => text.runs.has(run));
          if (!shared.length) continue;
          const weight = weigh(shared), exact = isOf(text, words, asked, shared);
          const few = shared.length < Math.min(2, asked.size) || weight < all / 2;
          if (!exact && few) continue; // some words in common say nothing
          // Of two with the same words the shorter, and what is said today, come first.
          const score = weight + (exact && 1e6 + shared.length / text.runs.size) -
            text.words.length / 1e4 - text.place / 1e3;
          if (score > (best.get(text.anchor)?.score ?? -1))
            best.set(text.anchor, { ...text, exact, score });
        }
      }
    }
    const found = [...best.values()].sort((one, other) => other.score - one.score);
    // One is the reader's; another is too only if nothing tells the two apart.
    for (const one of found) one.exact &&= one.score > found[0].score - 0.05;
    return found.filter(({ exact, score }) => exact || score > found[0].score / 2).slice(0, 3);
  };
  find.messageIn = (query) => messagesIn(query.replace(NOISE, " ").replace(/\s+/g, " "))[0].trim();
  return find;
};
