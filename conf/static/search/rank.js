// Ranks the sections of the site (search_index.js) for what a reader asks. MiniSearch
// weighs words (BM25), finds close spellings and beginnings; a known message (find_message
// .js) comes before all that. The search page, the boxes and the measurement ask here,
// when `searchReady` is kept: it is made in pieces, so that no key waits for it.
window.searchReady = (async () => {
  "use strict";
  const PIECE = 8; // milliseconds
  let due = performance.now() + PIECE;
  const rest = async () => {
    await new Promise((done) => { setTimeout(done); });
    due = performance.now() + PIECE;
  };
  const { wordsOf, alike, subjectOf } = window.searchWords;
  const { kinds, pages, names: shortTitles = {} } = window.searchIndex;
  const messagesOf = new Map((window.knownMessages ?? [])
    .map(({ anchor, texts }) => [anchor, texts[0]]));
  const BOOST = { heading: 6, said: 4, sentence: 2.2, code: 1.2, prose: 1, title: 0.9 };
  const OF_KIND = {
    Lesson: 1.1, Error: 1.1, Mistake: 1.05, Call: 0.8, Term: 0.95, Question: 1, Page: 0.6,
  };
  const OF_PAGE = 1.02; // a page as a whole, of which a section says as much
  const ALIKE = 0.25; // what another word for the same counts
  const IN_TITLE = 0.55; // of the best: what a call counts that a lesson has in its title
  const OF_OTHER = 0.6; // a lesson on models, where a tensor is asked for
  const OF_LESSON = 0.5; // and that the Atlas says to be shown there
  const OF_CALL = 1; // the lesson of a call that is all that is typed
  const OF_ROW = 0.6; // what a row of the Atlas counts, where only its code is typed
  const NEAR = 1.2; // of the best: what nearness to a heading or a listed question counts
  const ASKED = 11; // what a reader's own question counts, beside the section's text
  const LEAST = 0.12; // of the best: what is not shown, if there are enough others
  const ENOUGH = 5;

  // The anchor that most headings have, which so need not be listed.
  const slug = (heading) =>
    heading.toLowerCase().replace(/[^a-z\d]+/g, "-").replace(/^[-\d]+|-+$/g, "");
  const nameOf = (words) => [...new Set(words)].join(" ");
  const sections = [];
  const phrases = [];
  for (const [address, listed] of pages) {
    const title = listed[0]?.[2] ?? "";
    for (const [named, kind, heading, sentence, code, prose, asked] of listed) {
      if (performance.now() > due) await rest();
      const id = sections.length;
      const anchor = named === 1 ? slug(heading) : named;
      // What an address says of its part, in the author's words.
      const said = (anchor || address.replace(/^.*\/|\.html$/g, "")).replace(/^(silent|q|term|theme)-|[-_]/g, " ");
      sections.push({
        id, address: anchor ? `${address}#${anchor}` : address, page: address, anchor,
        kind: kinds[kind], heading, sentence, code,
        title: anchor ? title : "",
        called: !anchor && kinds[kind] === "Lesson"
          ? callsOf(`${shortTitles[address] ?? ""}: ${heading}`) : null,
        names: [heading, ...asked, said].map((text) => nameOf(wordsOf(text))), said,
        prose: kinds[kind] === "Error" ? `${prose} ${messagesOf.get(anchor) ?? ""}` : prose,
      });
      for (const phrase of asked) phrases.push({ id: phrases.length, section: id, phrase });
    }
  }
  const known = new Set(); // the words that are here as they are asked
  const options = {
    tokenize: (text) => text === "" ? [] : wordsOf(text),
    processTerm: (word) => { known.add(word); return word; },
  };
  const texts = new MiniSearch({ ...options, fields: Object.keys(BOOST) });
  for (const one of sections) {
    if (performance.now() > due) await rest();
    texts.add(one.anchor ? one : { ...one, heading: `${one.heading} ${shortTitles[one.page] ?? ""}` });
  }
  const questions = new MiniSearch({ ...options, fields: ["phrase"] });
  for (const one of phrases) {
    if (performance.now() > due) await rest();
    questions.add(one);
  }
  await rest();

  const find = window.messageFinder?.((window.knownMessages ?? [])
    .map((entry) => ({ ...entry, live: entry.texts[0] }))) ?? (() => []);
  await rest();

  const ask = (index, words, boost) => {
    const others = new Map(); // another word for the same, and how much it counts
    for (const word of words)
      for (const other of alike.get(word) ?? [])
        if (!words.includes(other) && known.has(other)) others.set(other, ALIKE);
    const all = [...words, ...others.keys()];
    return index.search(all.join(" "), {
      tokenize: () => all,
      processTerm: (word) => word,
      boost,
      boostTerm: (word) => others.get(word) ?? 1,
      // A word that nobody wrote here is a beginning, or spelt another way.
      prefix: (word) => !known.has(word) && word.length > 2,
      fuzzy: (word) => !known.has(word) && word.length > 3 && 0.25,
      weights: { fuzzy: 0.4, prefix: 0.6 },
      combineWith: "OR",
    });
  };

  // The words of a query that a section has, in the text or in a question, and how much
  // they say: a word of few sections says more. A section that has all of them comes
  // before one that has a common word of them often.
  const covering = (words) => {
    const asked = new Map(words.map((word) => [word, word]));
    for (const word of words)
      for (const other of alike.get(word) ?? [])
        if (!asked.has(other)) asked.set(other, word);
    const has = new Map();
    return {
      note(section, terms) {
        if (!has.has(section)) has.set(section, new Set());
        for (const term of terms) has.get(section).add(asked.get(term) ?? term);
      },
      // Of the words that somebody wrote here, and of all: the second says whether the
      // site has anything on what is asked.
      shares() {
        const number = new Map();
        for (const met of has.values())
          for (const word of met) number.set(word, (number.get(word) ?? 0) + 1);
        const says = (word) => Math.log(1 + sections.length / (number.get(word) ?? 1));
        const sum = (met) => [...met].reduce((total, word) => total + says(word), 0);
        const [here, all] = [sum(number.keys()), sum(new Set([...number.keys(), ...words]))];
        return new Map([...has].map(([section, met]) =>
          [section, { ofHere: sum(met) / here, ofAll: sum(met) / all }]));
      },
    };
  };

  // How near a query is to a heading or a listed question: what both have of what they
  // say, from 0 to 1. Another word for the same says half.
  const owners = []; // of each name, the section
  const named = sections.filter(({ kind }) => kind !== "Call").flatMap(({ id, names }) => {
    owners.push(...names.map(() => id));
    return names;
  }).map((name) => name.split(" ").filter(Boolean));
  const places = new Map(); // of each word, the names that have it
  named.forEach((words, place) => {
    for (const word of words) {
      if (!places.has(word)) places.set(word, []);
      places.get(word).push(place);
    }
  });
  const says = (word) => Math.log(1 + named.length / (places.get(word)?.length ?? 0.5));
  const weigh = (words) => words.reduce((sum, word) => sum + says(word), 0);
  const weights = named.map(weigh);
  const near = (words) => {
    const [much, count, last] = [0, 0, 0].map(() => new Float64Array(named.length));
    const share = (word, met, by, counts) => {
      for (const place of places.get(word) ?? []) {
        if (last[place] === met) continue; // a name has one word for each of the query
        last[place] = met;
        much[place] += by;
        count[place] += counts;
      }
    };
    words.forEach((word, at) => {
      share(word, at + 1, says(word), 1);
      for (const other of alike.get(word) ?? [])
        share(other, at + 1, Math.min(says(word), says(other)) / 2, 0.5);
    });
    const all = weigh(words);
    // One word in common says nothing, but where it is all that is asked.
    const least = Math.min(1.5, words.length);
    const nearest = new Map(); // of each section
    owners.forEach((id, place) => {
      if (!words.length || count[place] < least) return;
      const one = 2 * much[place] / (all + weights[place]);
      if (one > (nearest.get(id) ?? 0)) nearest.set(id, one);
    });
    return nearest;
  };

  // Whether the site has something on what is asked: a sum of what speaks for it, fitted
  // to the tuning queries of tests/reader/queries.toml and to those that are not its
  // subject. Of a word that nobody wrote here the nearest spelling counts.
  const FOR = { near: 6.6, subject: 2.1, code: 4.4, share: 1.2, call: 0.4, length: 1.8 };
  const AGAINST = 9.3;
  const CODE = /\w[([]|\btorch\.\w|\.(grad|data)\b/;
  const isHere = (query, words, best, nearest) => {
    const subject = words.reduce((sum, word) => {
      const terms = known.has(word) ? [word]
        : ask(texts, [word], BOOST).slice(0, 3).flatMap(({ terms: found }) => found);
      return sum + Math.max(0, ...terms.map(subjectOf));
    }, 0);
    return FOR.near * nearest + FOR.subject * Math.min(4, subject) +
      FOR.code * CODE.test(query) + FOR.share * best.share +
      FOR.call * callsIn(query).length + FOR.length * Math.log(words.length + 1) > AGAINST;
  };

  // Returns sections, the best first; `nothing` says that none of them is on the query.
  // The last word may be half typed.
  window.searchFor = (query) => {
    const messages = find(query).map(({ address, live, exact }) => {
      const section = sections.find((one) => one.address === address);
      return section && { ...section, message: live, exact };
    }).filter(Boolean);
    const words = [...new Set(wordsOf(query))];
    const name = nameOf(words);
    // Nothing but words of every page, such as "torch": the pages, lessons first.
    const asked = query.trim();
    if (!words.length && /\w/.test(query)) {
      const meant = sections.filter(({ heading }) => heading === asked);
      const whole = sections.filter(({ anchor }) => anchor === "");
      return [...new Set([...messages, ...meant, ...whole])];
    }
    const scores = new Map();
    const covered = covering(words);
    for (const { id, score, queryTerms } of ask(texts, words, BOOST)) {
      scores.set(id, score);
      covered.note(id, queryTerms);
    }
    const best = new Map();
    for (const { id, score, queryTerms } of ask(questions, words, {})) {
      const { section } = phrases[id];
      best.set(section, Math.max(best.get(section) ?? 0, score));
      covered.note(section, queryTerms);
    }
    for (const [id, score] of best)
      scores.set(id, (scores.get(id) ?? 0) + ASKED * score);
    const shares = covered.shares();
    for (const [id, { ofHere }] of shares) scores.set(id, scores.get(id) * ofHere);
    const taken = new Set(messages.map(({ id }) => id));
    const found = [...scores].filter(([id]) => !taken.has(id)).map(([id, score]) => {
      const section = sections[id];
      const whole = section.anchor === "" ? OF_PAGE : 1;
      const share = shares.get(id).ofAll;
      return { ...section, share, score: score * OF_KIND[section.kind] * whole };
    });
    // Who names calls means the lessons with these calls in their titles.
    const rows = callsIn(query);
    const top = Math.max(0, ...found.map(({ score }) => score));
    const wanted = new Set(rows.flatMap(({ names }) => names));
    for (const one of rows.length ? found : []) {
      if (!one.called) continue;
      const common = [...wanted].filter((name) => one.called.names.has(name)).length;
      const all = new Set([...wanted, ...one.called.names]).size;
      if (one.called.ofModel && rows.every(({ about }) => about !== "module")) {
        one.score *= OF_OTHER;
        continue;
      }
      const own = rows.some(({ lesson }) => lesson === one.page);
      one.score += top * (IN_TITLE * (common / all) + OF_LESSON * own +
        OF_CALL * (own && common > 0 && /^\S+$/.test(query.trim())));
    }
    // Who types a call and nothing else means its row of the Atlas too.
    const typed = /^\S*[.(]\S*$/.test(query.trim()) ? rows.map(({ id }) => `atlas.html#${id}`) : [];
    for (const one of found) one.score += top * OF_ROW * typed.includes(one.address);
    const nearest = near(words);
    for (const one of found) one.score += top * NEAR * (nearest.get(one.id) ?? 0);
    // Who types a heading, or a question that is listed, means that section.
    for (const one of found)
      one.score += top * OF_KIND[one.kind] *
        (one.names.includes(name) + (one.heading === asked));
    found.sort((one, other) => other.score - one.score || one.id - other.id);
    const least = (found[0]?.score ?? 0) * LEAST;
    // A heading of signs, such as x[:, ::2], has words that say little.
    const first = found.findIndex(({ heading }) => heading === asked);
    if (first > 0 && found[first].kind === "Call") found.unshift(...found.splice(first, 1));
    const all = [...messages,
      ...found.filter(({ score }, place) => place < ENOUGH || score >= least)];
    all.nothing = !messages.some(({ exact }) => exact !== false) && (!found.length || !isHere(query, words, found[0], Math.max(0, ...nearest.values())));
    return all;
  };
  window.searchFor.sections = sections;
})();
