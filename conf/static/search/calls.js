// Which calls of the Atlas a query names: at most two, each with its answer card.
(() => {
  "use strict";
  const { cards = [] } = window.searchIndex;
  const { isModule, methodOf, WORDS } = window.codeNames;
  // Plain English too: the call is meant if written as code, beside another, or alone.
  const PLAIN = new Set((
    "add apply array chunk copy cpu cuda data diagonal double dropout dump dumps empty " +
    "expand flatten flip float gather get half identity index item list load mask mul " +
    "narrow numpy parameter parameters permute pin png repeat requires_grad row save select " +
    "slice split squeeze stack state sum t tensor tensor_type to transpose unfold values view where"
  ).split(" "));
  const JOINS = new Set(["vs", "versus", "or", "and", "instead", "than"]);
  const SAME = new Map([["deep", "deepcopy"], ["nograd", "no_grad"], ["__array__", "dunder"]]);
  const TENSOR = /\b(in)?to (a |an )?(py)?(torch )?tensors?\b|\bfrom_numpy\b|\bfrom (a |an )?(numpy|nd-?array|np)\b/;
  const SHARING = /\b(cop(y|ies)|views?|shares?|alias|memory|gradients?)\b/;
  const ABOUT = { // what else a query speaks of, and the name of the tensor then
    module: /\b(model|module|network|net|nn)\b/,
    df: /\b(pandas|data ?frame|df)\b/,
    image: /\b(pil|pillow|image)\b/,
    a: /\b(nd-?array|arrays?)\b(?!.*\bto\b)/,
  };

  const OPTIMIZER = /\bopt\d*\b|optim|scheduler/i;
  const TYPE = "tensor_type"; // torch.Tensor, which is not torch.tensor
  const THROUGH_DATA = "data,add_"; // any write in place, with its row
  // The calls of a piece of code, in order. Those of one chain have the same number.
  const CALL = /(\.\s*)?([a-z_]\w*)(\s*\(([^()]*(?:\([^()]*\))?[^()]*)\))?/gi;
  const calls = (text) => {
    const found = [];
    let chain = 0;
    let before = -1;
    for (const match of text.matchAll(CALL)) {
      const [all, dot, name, called, args = ""] = match;
      // A word in brackets behind a space is no argument: "detach (torch)".
      const isCalled = called !== undefined && !/^\s/.test(called);
      if (!(dot && match.index === before)) chain += 1;
      before = match.index + (isCalled ? all.length : all.length - (called ?? "").length);
      const code = `${name}${isCalled ? called : ""}`;
      // What stands before the dot: a name, or all of a chain.
      const receiver = dot ? /[\w.]+(?:\([^()]*\))?$/.exec(text.slice(0, match.index))?.[0] ?? "" : "";
      const whole = `${receiver && `${receiver}.`}${code}`;
      found.push({ name: whole.startsWith("torch.Tensor") ? TYPE : name.toLowerCase(), args, dot: Boolean(dot), called: isCalled, chain, code, receiver, whole });
      if (called && !isCalled) found.push(...calls(called).map((one) => ({ ...one, chain: chain += 1 })));
    }
    return found;
  };
  const RECEIVERS = /^(torch|np|numpy|copy|nn|func|pickle|module|x|a|df|image|weight|default)$/;
  const namesOf = (code) => {
    const last = code.split("; ").at(-1).replace(/^(with )?y = /, "");
    const whole = code.startsWith("with ") ? code.replace(/:.*/, "") : last === "x" ? code : last;
    const found = (text) => calls(text).filter(({ called, dot, name }) =>
      called || (dot && !RECEIVERS.test(name))).map(({ name }) => name)
      .filter((name) => name !== "with" && name !== "b"); // of `module.b` the call says more
    return found(whole).length ? found(whole) : found(code);
  };
  const wordsIn = (text) => (text.toLowerCase().match(/[a-z_]\w*/g) ?? []);
  const rows = cards.map(([id, code, subject, facts, notes, lesson, tried]) => {
    const about = /\bmodule\b/.test(code) ? "module" : /\bdf\b|\bmixed\b/.test(code) ? "df"
      : subject;
    const args = wordsIn(code.replace(/^[^(]*/, "")).filter((word) => !/^(x|a|y|torch|true|false)$/.test(word));
    return { id, code, subject, about, facts, notes, lesson, tried, args, names: namesOf(code) };
  });
  const known = new Map(); // name: rows whose only call it is
  for (const row of rows) {
    const [name] = row.names;
    if (row.names.length !== 1) continue;
    if (!known.has(name)) known.set(name, []);
    known.get(name).push(row);
  }

  // Of the rows of one name the one that fits what else is said.
  const choose = ({ name, args, receiver }, query) => {
    const said = new Set([...wordsIn(args), ...wordsIn(query)]);
    if (!/\bcopy\s*=/.test(query)) said.delete("copy"); // "does .to(device) copy"
    const about = name === "numpy" || name === "from_numpy" ? ""
      : Object.keys(ABOUT).find((one) => ABOUT[one].test(query)) ?? (TENSOR.test(query) ? "a" : "x");
    const library = /^(?:torch|np)$/.test(receiver) ? receiver : "";
    const fit = (row) => 9 * (library !== "" && row.code.startsWith(library)) + 3 * (row.about === about) + (row.about === "x") +
      row.args.reduce((sum, word) => sum + (said.has(word) ? 1 : -0.5), 0) -
      row.code.length / 1000;
    return known.get(name).reduce((best, row) => fit(row) > fit(best) ? row : best);
  };

  // A chain that is no row of the Atlas: the explorer draws it, if it knows each call.
  const LONGEST = 3; // calls of the explorer's
  const drawn = (group, query) => {
    const steps = group.map((one) =>
      known.get(one.name).find((row) => row.code === `x.${one.code}`) ?? choose(one, query));
    if (steps.length > LONGEST || steps.some(({ tried }) => !/^\w+$/.test(tried))) return [];
    return [{
      id: "", code: `x.${group.map(({ code }) => code).join(".")}`, subject: "x", about: "x",
      facts: [], notes: ["The explorer draws this chain, call by call."], lesson: "",
      tried: steps.map(({ tried }) => tried).join("."), names: group.map(({ name }) => name),
    }];
  };

  // -- What a row leaves unread of the code that a reader typed ------------------------
  // Arguments that change nothing which a card says.
  const HARMLESS = /^(?:non_blocking=\w+|memory_format=torch\.preserve_format|weights_only=\w+|strict=\w+|dim=.*|axis=.*)$/;
  const DTYPE = /^(?:dtype=.*|torch\.(?:\w*(?:int|float|complex)\d+|half|float|double|long|int|short|bool)|.*\bdtype)$/;
  const CAST = /\.to\(\s*(?:dtype\s*=\s*)?torch\.(\w+)\s*\)/g;
  // `.to(torch.float16)` is what `.half()` is.
  const withCasts = (text) => text.replace(CAST, (typed, dtype) => {
    const method = methodOf(dtype);
    return known.has(method) && dtype !== "float64" ? `.${method}()` : typed;
  });
  const argumentsOf = (args) => {
    const found = [""];
    let depth = 0;
    for (const letter of args.replace(/\s+/g, "")) {
      depth += "([{".includes(letter) - ")]}".includes(letter);
      if (letter === "," && !depth) found.push("");
      else found[found.length - 1] += letter;
    }
    return found.filter(Boolean);
  };
  // Whether a card is of the call with these arguments, as it was typed.
  const isOf = (row, { name, args: typed, receiver }) => {
    const code = row.code.replace(/\s+/g, "").toLowerCase();
    const args = typed.toLowerCase();
    const all = argumentsOf(args);
    const subject = [receiver, ...(/^(?:deepcopy|copy)$/.test(name) ? argumentsOf(typed) : [])].find((one) => isModule(one));
    if (subject && (row.about !== "module" || OPTIMIZER.test(subject))) return false;
    return all.every((argument) => {
      const one = name === "to" ? argument.replace(/^(?:dtype|device)=/, "") : argument;
      if ((one.length > 1 && code.includes(one)) || HARMLESS.test(one)) return true;
      if (name === "requires_grad_") return one === "true";
      if (name === TYPE && /^\d/.test(one)) return false; // a size
      return !DTYPE.test(one) && !/^\w+=(?!=)/.test(one) &&
        (name !== "to" || /dev|cuda|cpu|mps|xpu|rank|^\d+$/.test(one));
    });
  };
  const SIDES = /(\S+(?:\([^()]*\))?)\s+(?:or|vs\.?|versus)\s+(\S+(?:\([^()]*\))?)/i;
  // The cards of a query, and what they leave out: other arguments, a side of "A or B".
  window.answersIn = (asked) => {
    const query = asked.replace(/\s#(?!\d)[^\n]*/g, ""); // without comments
    const left = [], rows = callsIn(query);
    const typed = calls(withCasts(query)).flatMap((one) => [one, ...calls(one.args)]).filter(({ called }) => called);
    const kept = rows.filter((row) => {
      const unread = row.names.map((name) => {
        const mine = typed.filter((one) => (SAME.get(one.name) ?? one.name) === name);
        return mine.some((one) => isOf(row, one)) ? null : mine[0];
      }).filter(Boolean);
      left.push(...unread.slice(0, 1).map(({ whole }) => whole));
      return !unread.length;
    });
    for (const { name, whole } of typed)
      if (known.has(name) && rows.length < 2 && !rows.some(({ names }) => names.includes(name) || names.join() === THROUGH_DATA)) left.push(whole);
    const [, into] = /([\w.[\]]+)\s*[-+*/]=/.exec(query) ?? [];
    if (into && kept.some(({ code }) => !/=/.test(code))) left.push(`the write into ${into}`);
    const pair = query.replace(/\?(?!\S)/g, "").match(SIDES);
    const isCode = pair?.slice(1).some((side) => /[(._]/.test(side));
    if (pair && rows.length < 2 && (isCode || (rows.length && pair[0].length === pair.input.length)))
      for (const side of pair.slice(1))
        if (!callsIn(side).some((row) => kept.includes(row)) && !left.includes(side)) left.push(side);
    return { rows: kept, left, half: pair !== null && (left.length > 0 || rows.length === 1) };
  };

  // Where the explorer shows a row, or two beside each other.
  window.explorerAddress = ([one, other]) => {
    const asked = new URLSearchParams({ y: one.tried });
    if (other) asked.set("vs", other.tried);
    return `index.html?${asked}#explorer`;
  };

  // The calls that a title names, and whether it is of a whole model.
  window.callsOf = (title) => ({
    names: new Set(calls(title.toLowerCase()).filter(({ name, dot, called }) =>
      known.has(name) && (dot || called || !PLAIN.has(name))).map(({ name }) => name)),
    ofModel: ABOUT.module.test(title.toLowerCase()),
  });

  // Returns rows, at most two, in the order in which they are named.
  let last = ["", []];
  window.callsIn = (query) => {
    if (last[0] !== query) last = [query, named(query)];
    return last[1];
  };
  const named = (query) => {
    const text = withCasts(query.replace(/\btorch\.Tensor\b/g, `torch.${TYPE}`).toLowerCase()).replace(/\bdeep[- ]cop(y|ied|ies)\b/g, "deepcopy")
      .replace(/\bno[- ]grad\b/g, "no_grad").replace(/\bstate[- ]dict\b/g, "state_dict")
      .replace(/\binference[- ]mode\b/g, "inference_mode").replace(/\bfrom[- ]numpy\b/g, "from_numpy");
    if (text.length > 120 || text.includes("\n")) return []; // a message, or a program
    const plain = text.replace(/\s+/g, "").replace(/['"]/g, '"').replace(/^(\w+=)/, "")
      .replace(/^[a-z_]\w*(?=\.)/, (name) =>
        RECEIVERS.test(name) || ABOUT.module.test(name) ? name : "x");
    const whole = rows.find(({ code }) =>
      [code, code.replace(/; y = x$/, "")].some((one) =>
        one.toLowerCase().replace(/\s+/g, "") === plain));
    if (whole) return [whole];
    const all = calls(text).filter(({ name, dot, called, chain }, at, every) => dot || called ||
      !(/^(torch|np|x|y)$/.test(name) || (name === "copy" && every[at + 1]?.dot && every[at + 1].chain === chain)));
    const meant = all.map((one, place) => {
      const name = SAME.get(one.name) ?? one.name;
      // Of Python itself: `float(loss)`.
      if (!known.has(name) || OPTIMIZER.test(one.receiver) || (!one.dot && one.args && /^(?:float|int|bool|sum|list)$/.test(name))) return null;
      const isCode = (one.dot && name !== TYPE) || one.called; // "a torch.Tensor" is no call
      const [past, before, after, next] = [-2, -1, 1, 2].map((step) => all[place + step]?.name ?? "");
      const alone = all.length === 1;
      // "copy or share" is no pair: the other word has to be a call as well.
      const beside = [[before, past], [after, next]].some(([join, word]) => JOINS.has(join) && known.has(SAME.get(word) ?? word)) &&
        !["a", "an", "the"].includes(before);
      const sure = isCode || !PLAIN.has(name) || alone;
      const sharing = (name !== "copy" || after) && /^(does|is|do|can|will|would|if)$/.test(before) && SHARING.test(text);
      return { ...one, name, place, sure: sure || sharing, beside };
    });
    // "tensor to numpy" and "numpy to tensor" name a way, not a pair.
    const way = TENSOR.test(text) && /\b(numpy|np|nd-?arrays?|arrays?)\b/.test(text) ? "from_numpy"
      : /\bto (a |an )?(numpy|nd-?array)\b/.test(text) ? "numpy" : "";
    const both = /^(\w+)\W* or (\w+)\W*$/.exec(text)?.slice(1) ?? [""];
    const compared = /\b(vs|versus|compare\w*|differ\w*)\b/.test(text) || both.every((one) => known.has(one));
    const sure = meant.filter((one) => one?.sure);
    const meaning = meant.filter((one) => one && (one.sure ||
      (one.beside && (sure.length > 0 || compared))));
    if (!meaning.length && way && known.has(way)) return [choose({ name: way, args: "", receiver: "" }, text)];
    if (!meaning.length) return [];
    if (meaning.length > 1 && meaning.every(({ name, dot, called }) => WORDS.has(name) && !dot && !called)) return [];
    // A chain of calls is a row of its own, if the Atlas has it.
    const chains = [...new Set(meaning.map(({ chain }) => chain))].map((chain) =>
      meaning.filter((one) => one.chain === chain));
    const bare = meaning.every(({ dot, called }) => !dot && !called) && !meaning.some((one) => one.beside) &&
      !compared && meaning.every((one, at) => at === 0 || one.place === meaning[at - 1].place + 1);
    const groups = bare ? [meaning] : chains;
    const found = [];
    for (const group of groups) {
      const names = group.map(({ name }) => name).join().replace(/^data(,\w+_)+$/, THROUGH_DATA);
      if (names === THROUGH_DATA) return rows.filter((row) => row.names.join() === names);
      const row = group.length > 1 && rows.find((one) => one.names.join() === names);
      if (row) found.push(row);
      else if (group.length > 1 && group.every(({ dot }, at) => dot || at === 0) && !bare)
        found.push(...drawn(group, text));
      else found.push(...group.map((one) => choose(one, text)));
    }
    // "state_dict or deepcopy": beside a module's call the other one is of a module.
    // "torch.tensor or torch.as_tensor": two calls that take an array are asked about for it.
    const of = ({ names: [name, ...more] }, kind) => !more.length && known.get(name)?.find(({ about }) => about === kind);
    const kind = text.includes("(") ? "" : found.some(({ about }) => about === "module") ? "module"
      : found.length > 1 && found.every((row) => of(row, "a")) ? "a" : "";
    const alike = found.map((row) => (kind && of(row, kind)) || row);
    return [...new Set(alike)].slice(0, 2);
  };
})();
