// Ranks the sections of the site (search_index.js) for what a reader asks: MiniSearch on
// their texts, and how near the query is to a heading or to a phrase of docs/asked.toml.
// A known message (find_message.js) comes before all that. Ask when `searchReady` is kept.
window.searchReady = (async () => {
  "use strict";
  const { kinds, pages } = window.searchIndex;
  const BOOST = { heading: 3, asked: 4, sentence: 2, code: 1, prose: 1, title: 1 };
  const OF_KIND = { Lesson: 1.1, Error: 1.1, Call: 0.8, Page: 0.6 };
  const NEAR = 2; // of the best text: what nearness to a heading or a phrase counts
  const MOST = 300; // characters: of a long paste the end says what happened
  const WEAK = 0.45; // nearness of the best below which nothing is claimed

  // Idle words, words written apart or together, endings that say nothing more; += is a word.
  const IDLE = new Set(("a an the is are was be to of in on for with and or it its this that " +
    "i my me you your we do does did how what why when which can if at by as from so not no"
  ).split(" "));
  const APART =
    /\b(in|non|deep|state|no|data|pre)[-_ ](place|leaf|cop(?:y|ied|ies)|dicts?|grad|loaders?)\b/g;
  const stem = (word) => {
    if (word.length < 4 || /\d/.test(word)) return word;
    return word.replace(/ies$/, "y").replace(/([^aeious]|[aeo])s$/, "$1")
      .replace(/([^s]e)s$/, "$1").replace(/(?<=[aeiouy].*)(?<=...)(?:ing|ed)$/, "")
      .replace(/([^aeiouls])\1$/, "$1").replace(/(?:at)?ion$|ment$|ly$/, "")
      .replace(/e$/, "").replace(/y$/, "i");
  };
  const stems = new Map();
  const stemOf = (word) => stems.get(word) ?? stems.set(word, stem(word)).get(word);
  const wordsOf = (text) =>
    (text.toLowerCase().replace(APART, "$1$2").replace(/n[’']t\b/g, "")
      .replace(/\+=/g, " plusequal ")
      .match(/[\p{L}\d]{2,}|\d/gu) ?? []).filter((word) => !IDLE.has(word)).map(stemOf);

  // The anchor that most headings have, which so need not be listed.
  const slug = (heading) =>
    heading.toLowerCase().replace(/[^a-z\d]+/g, "-").replace(/^[-\d]+|-+$/g, "");
  const messages = new Map(window.knownMessages.map(({ anchor, texts }) => [anchor, texts[0]]));
  const sections = pages.flatMap(([page, listed]) =>
    listed.map(([named, kind, heading, sentence, code, prose, phrases]) => {
      const anchor = named === 1 ? slug(heading) : named;
      return {
        page, anchor, address: anchor ? `${page}#${anchor}` : page, kind: kinds[kind],
        heading, sentence, code, prose: `${prose} ${messages.get(anchor) ?? ""}`,
        phrases, asked: phrases.join("\n"), title: anchor ? listed[0][2] : "",
      };
    })).map((one, id) => ({ id, ...one }));
  const here = new Set(); // the words that are written here
  const index = new MiniSearch({
    fields: Object.keys(BOOST), tokenize: wordsOf,
    processTerm: (word) => { here.add(word); return word; },
  });
  // In pieces: no key waits for all of it.
  const rest = () => new Promise((done) => { setTimeout(done); });
  await index.addAllAsync(sections, { chunkSize: 20 });
  await rest();

  const names = sections.flatMap(({ id, kind, heading, anchor, phrases }) =>
    [...(kind === "Call" ? [] : [heading, anchor.replace(/^(?:silent|q|term)-|-/g, " ")]),
      ...phrases].map((name) => ({ id, words: new Set(wordsOf(name)) })));
  const having = new Map(); // of each word, how many names have it
  for (const word of names.flatMap(({ words }) => [...words]))
    having.set(word, (having.get(word) ?? 0) + 1);
  const weigh = (words) => words.reduce((sum, word) =>
    sum + Math.log(1 + names.length / (having.get(word) ?? 0.5)), 0);
  for (const name of names) name.weight = weigh([...name.words]);
  // Of each section, how much of a query and of its nearest name is the same, from 0 to 1.
  const nearTo = (asked) => {
    const all = weigh(asked), nearest = new Map();
    for (const { id, words, weight } of names) {
      const shared = asked.filter((word) => words.has(word));
      if (shared.length > 1 || (shared.length && asked.length === 1))
        nearest.set(id, Math.max(nearest.get(id) ?? 0, (2 * weigh(shared)) / (all + weight)));
    }
    return nearest;
  };

  await rest();
  const find = window.messageFinder(window.knownMessages);
  const OPTIONS = {
    boost: BOOST, processTerm: (word) => word,
    prefix: (word) => word.length > 2, // the last word may be half typed
    fuzzy: (word) => word.length > 3 && !here.has(word) && 0.2,
    weights: { fuzzy: 0.4, prefix: 0.6 },
  };
  const spelt = (word) =>
    (here.has(word) ? word : index.search(word, OPTIONS)[0]?.terms[0] ?? word);
  // Returns sections, the best first; `weak` says that none of them is near the query.
  window.searchFor = (query) => {
    const known = find(query).map(({ address, texts, exact }) => ({
      ...sections.find((one) => one.address === address), message: texts[0], exact,
    }));
    const asked = query.trim().slice(-MOST);
    const found = index.search(asked, OPTIONS), top = found[0]?.score ?? 1;
    const scores = new Map(found.map(({ id, score }) => [id, score]));
    const add = (id, more) => scores.set(id, (scores.get(id) ?? 0) + top * NEAR * more);
    const near = nearTo([...new Set(wordsOf(asked).map(spelt))]);
    for (const [id, share] of near) add(id, share);
    for (const { id, heading } of sections) // signs, such as x[:, ::2], have few words
      if (heading === asked) add(id, 2);
    for (const { id } of known) scores.delete(id);
    const scoreOf = (id) => scores.get(id) * (OF_KIND[sections[id].kind] ?? 1);
    const ranked = [...scores.keys()].map((id) => sections[id])
      .sort(({ id }, { id: next }) => scoreOf(next) - scoreOf(id) || id - next);
    const weak = !known.some(({ exact }) => exact) && !(Math.max(...near.values()) >= WEAK);
    return Object.assign([...known, ...ranked], { weak });
  };
  window.searchFor.sections = sections;
})();
