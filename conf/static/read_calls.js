// Reads a line of code as calls that this site has run. Nothing runs: a call is known by the
// ways to write it that calls.toml lists beside it.
//
// callReader({chips, forms, rows}) gives three functions. `read(text)` gives `code`, what can
// be shown of the text, "" if nothing, and `x`, what stands for x there; `steps`, all calls
// that were read one after the other, of `start`; `unread`, what follows them, and `whole`,
// whether the line is nothing else; `when` the answer holds, and `or`, the call for another
// x; `state`, the kind of x; `says`, the answer where it is another than that of `code`; and
// `said`, a sentence. `pair("A or B?")` gives two codes, or null. `cards(query)` gives the ids
// of the rows that a query names, two at most.
window.callReader = ({ chips, forms, rows, longest = 3 }) => {
  // -- Tokens in their brackets, and expressions: a name with what hangs on it -----------------
  const TOKEN = new RegExp([
    /\s|#.*|[rbfu]{0,2}(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|[\p{L}_][\p{L}\p{N}_]*|\d[\w.]*/,
    /…|\.\.\.|[-+*/%@&|^<>=!:]=|->|\*\*|\/\/|<<|>>|[-+*/%@&|^<>=:.,;()[\]{}~]|(\S)/,
  ].map(({ source }) => source).join("|"), "gu");
  const CLOSES = { "(": ")", "[": "]", "{": "}" };
  const NAME = /^[\p{L}_]/u, WORD = /^[\p{L}\p{N}_"']/u, ASSIGNS = /^[-+*/]?=$/;
  const KEYWORD = new RegExp("^(?:return|yield|await|not|and|or|in|is|if|else|for|lambda|assert|" +
    "del|with|as|while|elif|raise|import|from|def|class|async)$");
  const isName = (item) => NAME.test(item ?? "") && !KEYWORD.test(item);
  const treeOf = (text) => {
    const open = [{ items: [] }], wrong = () => {
      throw new SyntaxError("A bracket is missing, or there is one too many.");
    };
    for (const [token, odd] of text.matchAll(TOKEN)) {
      if (odd) throw new SyntaxError(`“${odd}” is not Python.`);
      if (CLOSES[token]) open.push({ open: token, items: [] });
      else if (/^[)\]}]$/.test(token)) {
        if (open.length === 1) continue; // one too many at the end says nothing else
        const group = open.pop();
        if (CLOSES[group.open] !== token) wrong();
        open.at(-1).items.push(group);
      } else if (/\S/.test(token) ? token[0] !== "#" : token === "\n" && open.length === 1)
        open.at(-1).items.push(token);
    }
    return open.length > 1 ? wrong() : open[0].items;
  };
  // Code as a person types it: no space within calls, one after commas.
  const write = (items) => items.map((item, at) => {
    if (item.open) return item.open + write(item.items).replace(/, $/, "") + CLOSES[item.open];
    if (item === ",") return ", ";
    const before = items[at - 1] ?? "", gap = before.open || WORD.test(before.slice(-1)) ? " " : "";
    return (WORD.test(item) ? gap : "") + (item[0] === "'" ? item.replaceAll("'", '"') : item);
  }).join("");
  const split = (items, sign) => {
    const parts = [[]];
    for (const item of items)
      if (!item.open && sign.test(item)) parts.push([]);
      else parts.at(-1).push(item);
    return parts;
  };
  // All expressions, an outer one before those in its brackets.
  const expressions = (items, within = "") => {
    const found = [];
    for (let at = 0; at < items.length; at++) {
      const { open, items: inside } = items[at];
      if (!open && !isName(items[at])) continue;
      const one = { head: write([items[at]]), parts: [], within }, inner = open ? [[inside, ""]] : [];
      found.push(one);
      for (let size = 1; size; at += size) {
        const name = items[at + 1] === "." && NAME.test(items[at + 2] ?? "") ? items[at + 2] : "";
        const group = items[at + (name ? 3 : 1)];
        const isCalled = group?.open === "(" || (group?.open === "[" && !name);
        size = (name ? 2 : 0) + isCalled;
        if (!size) break;
        const args = isCalled ? split(group.items, /^,$/).map(write).filter(Boolean) : [];
        const text = write(items.slice(at + 1, at + 1 + size));
        one.parts.push({ name, open: isCalled ? group.open : "", text, args });
        if (isCalled) inner.push([group.items, name]);
      }
      for (const [all, name] of inner) found.push(...expressions(all, name || within));
    }
    return found;
  };
  const joined = (parts) => parts.map(({ text }) => text).join("");
  const textOf = ({ head, parts }, until = parts.length) => head + joined(parts.slice(0, until));
  const parse = (text) => expressions(treeOf(text));

  // -- The ways to write a call --------------------------------------------------------------------
  const LIBRARY = /^(?:torch|np|numpy|nn|F|copy|jnp|tf|cv2|plt|math|random|init)(?:\.\w+)*$/;
  const ARRAY = new RegExp("^(?:np|numpy)\\.|numpy\\(|\\.values$|\\.astype\\(|" +
    "^(?:a|arr|array|\\w+_np|np_\\w+|\\w*_arr(?:ay)?)$");
  const DEVICE = "(?:[\\w.]*device\\w*(?:\\[.*\\]|\\(.*\\))?|\\w*dev|\"(?:cuda|mps|xpu)(?::\\d+)?\"|" +
    "torch\\.device\\(\"(?:cuda|mps|xpu).*\"\\))";
  const OPTIMIZER = /(?:optim\w*|opt|sched\w*|scaler)\d?$/i;
  // What people call a whole model, and what makes one: `Net()`.
  const MODEL = new RegExp("^(?:self|(?:self\\.)?(?:\\w+[._])?(?:\\w*model|module|\\w*net|network|" +
    "\\w*encoder|\\w*decoder|\\w*backbone|generator|discriminator|critic|actor|teacher|student)" +
    "(?:_?\\d+|_ema|_copy)?)$", "i");
  const MADE = /^(?:nn\.\w+\(.*\)|(?!Variable|Parameter|\w*Tensor)[A-Z]\w*[a-z]\w*\([^()]*\))$/;
  const isModule = (text) => [MODEL, MADE].some((one) => one.test(text.replace(/\.(?:eval|train)\(\)$/, "")));
  // What changes more than values: "any arguments" has none of these.
  const SWITCH = new RegExp("^(?:dtype|device|requires_grad|out|inplace|copy|memory_format|layout|" +
    "force|assign)=|^torch\\.(?:u?int|b?float|half|double|long|short|bool|complex)\\w*$|\\bdtype$");
  const spread = (form) => { // a.{b,c} is a.b and a.c
    const [all, inside] = /\{([^{}]*)\}/.exec(form) ?? [];
    return all ? inside.split(",").flatMap((one) => spread(form.replace(all, () => one))) : [form];
  };
  const isNumber = (one) => /^-?\d+$/.test(one);
  const INDEX = {
    "…": () => true,
    INT: (args) => args.length === 1 && isNumber(args[0]),
    SLICE: (args) => args.every((one) => isNumber(one) || /^(?:\.\.\.|None|[-+\w. ]*:[-+\w.: ]*)$/.test(one)) &&
      !INDEX.INT(args),
    MASK: (args) => args.some((one) => /[<>~]|[!=]=|mask/.test(one)),
    LIST: (args) => args.some((one) => one[0] === "["),
  };
  // What an argument of a form takes; the subject is one thing throughout.
  const takerOf = (arg, subject, isOfLists) => {
    const isSubject = arg === subject || arg === "x" || /^(?:ARRAY|MODULE)$/.test(arg);
    if (arg === "ARRAY") return { isSubject, is: (typed) => ARRAY.test(typed) };
    if (arg === "MODULE") return { isSubject, is: isModule };
    const other = isOfLists ? /^(?:\w+=|-?\d|["'{])/ : /^(?:\w+=|-?\d|["'{[])/;
    if (isSubject) return { isSubject, is: (typed) => !other.test(typed) && !isModule(typed) };
    const literal = arg.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace("…", ".*").replace("DEVICE", DEVICE);
    return { is: (typed) => new RegExp(`^${literal}$`, "i").test(typed) };
  };
  const formOf = (text, what, subject = "x") => {
    const [, left, op = "", right = ""] = /^(.*?)(?: ([-+*/]?=) (.*))?$/s.exec(text);
    const [{ head, parts }] = parse(left), isOfLists = /\[x, x\]/.test(what.code);
    return {
      ...what, text, op, right, size: parts.length, head: head === subject ? "x" : head,
      parts: parts.map(({ name, open, args }) => ({
        name, open, isAny: args.at(-1) === "…",
        index: INDEX[args[0]] ?? ((typed) => typed.join() === args.join()),
        args: args.slice(0, args.at(-1) === "…" ? -1 : undefined).map((arg) =>
          takerOf(arg, subject, isOfLists)),
      })),
    };
  };
  const waysOf = (code) => [...(code.includes("\n") ? [] : [code]), ...(forms[code] ?? []).flatMap(spread)];
  const chipForms = Object.entries(chips).flatMap(([chip, code]) =>
    waysOf(`x${code}`).map((way) => formOf(way, { chip })));
  const rowForms = Object.entries(rows).filter(([, { subject = "x" }]) => /^[xzha]$/.test(subject))
    .flatMap(([code, { subject }]) => waysOf(code).map((way) => formOf(way, { code }, subject)));
  const subjectOf = (code) => rows[code]?.subject ?? "x";
  // Whether parts of an expression are written as a form has them: what x is then, or null.
  const fits = (form, one, from) => {
    const before = textOf(one, from), { head } = form;
    if (head === "x" ? LIBRARY.test(before) || isModule(before)
      : head === "MODULE" ? !isModule(before) : from || head !== one.head) return null;
    let x = head === "x" ? before : "";
    const takes = ({ isSubject, is }, typed) => {
      if (typed === undefined || !is(typed) || (isSubject && x && x !== typed)) return false;
      if (isSubject) x = typed;
      return true;
    };
    const isSame = form.parts.every((want, at) => {
      const { name, open, args } = one.parts[from + at] ?? {};
      if (want.name !== name || want.open !== open) return false;
      if (open === "[") return want.index(args);
      const more = args.slice(want.args.length);
      return want.args.every((taker, place) => takes(taker, args[place])) &&
        (want.isAny ? !more.some((arg) => SWITCH.test(arg)) : !more.length);
    });
    return isSame ? x || before : null;
  };
  // torch.clone(x) is read as x.clone().
  const METHODS = new Set([...chipForms, ...rowForms].map(({ text, code = "x." }) =>
    code.startsWith("x.") && /^torch\.(\w+)\(x/.exec(text)?.[1]));
  const asMethod = (one) => {
    const [first, ...rest] = one.parts, [arg, ...args] = first?.args ?? [];
    if (one.head !== "torch" || !METHODS.has(first?.name) || !arg) return one;
    const [of] = parse(arg), [{ parts: call }] = parse(`x.${first.name}(${args.join(", ")})`);
    const { head, parts } = of && textOf(of) === arg ? of : { head: arg, parts: [] };
    return { ...one, head, parts: [...parts, ...call, ...rest], typed: textOf(one), least: parts.length };
  };

  // -- The steps of an expression -------------------------------------------------------------------
  const CAST = /^[xh]\.(float|double|half|bfloat16|long|to\(torch\.float64)\b/;
  const WHOLE = new RegExp("\\.(?:byte|u?int\\d*|long|short|bool|nonzero|arg\\w+)\\(|[<>]|[!=]=|" +
    "torch\\.(?:u?int\\d+|long|bool|arg\\w+)\\b|\\.(?:max|min|topk|sort)\\([^()]*\\)\\[1\\]");
  const OF_FLOATS = /_\(|^nn\.|relu/; // what whole numbers refuse, or answer otherwise
  const NO_ARRAY = /bfloat16|float8|sparse|quantize|\bmeta\b/; // NumPy has no such thing
  const IN_PLACE = /^\.\w+_\(/;
  const inPlace = rowForms.filter(({ code, size, op }) => size === 1 && !op && IN_PLACE.test(code.slice(1)));
  const chipAt = (one, at, run, known) => {
    const before = textOf(one, at), text = one.parts[at]?.text;
    const { chip = "" } = (text && chipForms.find((form) => fits(form, one, at) !== null)) || {};
    const isArray = run.some((key) => /^(?:numpy|copy)/.test(key));
    if (isArray ? chips[chip] !== text || chip === "first" : chip === "copy") return "";
    // What a call returns may be a tuple: lstm(x)[0] is no row of it.
    if (chip === "first" && !run.length && known.isTuple) return "";
    if (/^numpy/.test(chip) && (known.isLow || NO_ARRAY.test(before))) return "";
    return chip === "requires_grad_" && WHOLE.test(before) ? "" : chip;
  };
  const chainAt = (one, from, known) => {
    const run = [];
    for (let chip; run.length <= longest && (chip = chipAt(one, from + run.length, run, known));) run.push(chip);
    // The first of a list, rather than the first row.
    if (run.length > longest && run[0] === "first") return null;
    const chain = run.slice(0, longest), code = `x${chain.map((chip) => chips[chip]).join("")}`;
    return [{ size: chain.length, chain, code, x: textOf(one, from) }].slice(0, run.length);
  };
  const stepAt = (one, from, known) => {
    const chains = known.isArray ? null : chainAt(one, from, known);
    if (!chains) return null;
    const found = rowForms.filter(({ op, size }) => !op && size).flatMap((form) => {
      const x = fits(form, one, from), { code } = form;
      const isOther = (OF_FLOATS.test(code) || CAST.test(code)) && WHOLE.test(x ?? "");
      return x === null || isOther || (code === "x[0]" && known.isTuple) ? [] : [{ ...form, x }];
    });
    const most = Math.max(...[...chains, ...found].map(({ size }) => size));
    const alike = [...chains, ...found].filter(({ size }) => size === most);
    const isOfArray = alike.some(({ x }) => ARRAY.test(x));
    const step = alike.find(({ text }) => /\bMODULE\b/.test(text)) ?? alike.find(({ code }) => rows[code]?.says) ??
      alike.find(({ code }) => isOfArray && subjectOf(code) === "a") ?? alike[0];
    if (!step) return null;
    const other = alike.find(({ code }) => subjectOf(code) !== subjectOf(step.code));
    if (IN_PLACE.test(step.code.replace(/^x(?:\.data|\.detach\(\))?/, "")))
      while (inPlace.some((form) => fits(form, one, from + step.size) !== null)) step.size += 1;
    return { ...step, or: other?.code ?? "", isOfModule: /\bMODULE\b/.test(step.text) };
  };
  // Runs of steps that follow each other, the last first. What is between them wasn't read.
  const runsOf = (one) => {
    const runs = [], known = {};
    let run = null, cast = "";
    for (let at = 0; at < one.parts.length;) {
      const step = stepAt(one, at, known);
      known.isTuple = !step && one.parts[at].open === "(";
      if (!step) {
        [run, cast, at] = [null, "", at + 1];
        continue;
      }
      if (!run) runs.unshift(run = { one, steps: [], to: 0 });
      const dtype = CAST.exec(step.code)?.[1], end = at + step.size, isOwn = step.chain || step.head === "x";
      step.isSure = !dtype || (cast !== "" && dtype !== cast); // another dtype: a copy
      if (dtype === "float" && step.isSure) step.code = "h.float()";
      step.text = at || isOwn ? joined(one.parts.slice(at, end)) : textOf(one, end);
      cast = dtype ?? cast;
      known.isLow = cast === "bfloat16";
      known.isArray = known.isArray || /numpy|^np\./.test(step.code.replace("from_numpy", ""));
      run.steps.push(step);
      run.to = at = end;
      if (/tolist\(|item\(/.test(step.code)) break;
    }
    return runs;
  };
  const lengthOf = ({ chain }) => chain?.length ?? 1;
  const drawnOf = ({ steps }) => {
    const most = Math.max(...steps.map(lengthOf)), longs = steps.filter((one) => lengthOf(one) === most);
    const ofLibrary = longs.find(({ chain, head }) => !chain && head !== "x");
    return most > 1 ? longs[0] : ofLibrary ?? longs.findLast(({ chain }) => chain) ?? longs.at(-1);
  };

  // -- A line -----------------------------------------------------------------------------------------
  const GIVEN = new RegExp("\\.grad\\b|\\.detach\\(|\\.data\\b|state_dict|load|" +
    "^(?:batch|samples?|data|inputs?|targets?|labels?|images?|imgs?)\\b");
  const stateOf = (x, all) => {
    if (/no_grad\(\):/.test(all)) return /\(/.test(x) && !/parameters/.test(x) ? "constant" : "no_grad";
    if (GIVEN.test(x) || WHOLE.test(x) || /\bin \w*(?:load|data|batch|dl\b)/.test(all)) return "constant";
    return /parameters\(\)$/.test(x) ? "leaf" : /\(/.test(x) ? "nonleaf" : "";
  };
  const TENSOR = new RegExp("^[a-z]$|tensor|weight|bias|grad|logits|loss|data|[)\\]]$|" +
    "^(?:imgs?|images?|batch\\w*|inputs?|targets?|labels?|frames?|preds?|outputs?|out)$");
  // Calls that others than tensors have as well.
  const SHARED = new RegExp("^(?:\\[|(?:np|copy)\\.|deepcopy|" +
    "\\.(?:to|half|float|double|bfloat16|cuda|cpu|share_memory_|requires_grad_)\\()");
  const whenOf = ({ x, code, text, or, op, isSure = true, isOfModule }) => {
    const subject = subjectOf(code), isOfDtype = !isSure || /^torch\.Tensor/.test(code);
    const isOther = op ? !/^[a-z]$|\.data|weight|bias/.test(x) : (or || SHARED.test(text)) && !TENSOR.test(x);
    const isArray = /from_numpy/.test(code) || ARRAY.test(x);
    const kind = isOfModule ? "" : { z: "complex tensor", a: isArray ? "" : "array" }[subject] ?? (isOther ? "tensor" : "");
    const dtype = isOfDtype ? (subject === "h" ? "bfloat16" : "float32") : "";
    const what = [dtype, kind].filter(Boolean).join(" ");
    return what && `${x} is ${kind && (what[0] === "a" ? "an " : "a ")}${what}`;
  };
  const not = (said) => ({ code: "", said });
  const shown = (step, { steps = [step], read = step.text, unread = "", state = "", whole = true, ...more }) => {
    const { code, x, isOfModule, isSure = true, or = "" } = step;
    return {
      code, x: isOfModule && isModule(x) ? `a weight of ${x}` : x, start: steps[0].x, at: steps.indexOf(step),
      steps: steps.map((one) => ({ text: one.text, code: one.code, isSure: one.isSure ?? true })),
      read, unread, state, whole, when: whenOf(step), says: "", said: "",
      or: code === "x.float()" && !isSure ? "h.float()" : or, ...more,
    };
  };
  const looksLike = (x) => not(`${x} looks like a module or an optimizer, but the pictures show tensors.`);
  // `w.data -= v`, `x[0] = 7`, `b = a`: a write, or another name.
  const assigned = (target, op, right, all) => {
    const into = write(target), value = write(right), [one] = expressions(target), text = `${into} ${op} ${value}`;
    if (op === "=" && /^[\p{L}_][\w.]*$/u.test(into) && !/\.(?:data|grad|requires_grad)$/.test(into)) {
      const isOne = /^(?!(?:None|True|False)$)(?:[\p{L}_]\w*|self\.\w+|[\w.]+\.(?:weight|bias))$/u.test(value);
      const says = isModule(value) ? `${into} is the same object as ${value}: nothing is copied.` : "";
      return isOne ? shown({ code: "y = x", x: value, text }, { says }) : null;
    }
    const isBare = right.every((item) => !item.open && (isName(item) || /^[\d\-+*/.]/.test(item)));
    for (let from = 0; one && from <= one.parts.length; from++) {
      const x = textOf(one, from), size = one.parts.length - from;
      const form = rowForms.find((it) => it.op === op && it.size === size &&
        (it.right === "…" || it.right === value) && fits(it, one, from) !== null);
      if (!form || (!size && (/\.grad$/.test(x) || !isBare))) continue;
      const state = /no_grad/.test(all) ? "no_grad" : /\.grad\b/.test(value) ? "leaf" : size ? "" : "nonleaf";
      return shown({ code: form.code, x, op, text }, { state });
    }
    return null;
  };
  const refusal = (found, into) => {
    const [first] = found, call = found.flatMap(({ parts }) => parts).find(({ open, name }) => open === "(" && name);
    if (/[\])]$|\.\w+$/.test(into) && !call) return not(`The write into ${into} isn't drawn.`);
    const whole = first ? textOf(first) : "", last = first?.parts.at(-1)?.text ?? "", of = whole.slice(0, -last.length);
    if (/^\[[A-Za-z_]\w*\]$/.test(last))
      return not(`If ${last.slice(1, -1)} is a number or an index tensor without dimensions, ${whole} is a ` +
        "view. If it is a list or a tensor with dimensions, it is a copy.");
    if (/\)$/.test(of) && /^\[-?\d+\]$/.test(last))
      return not(`If ${of} returns a tensor, ${last} is a view of it. If it returns a list or a tuple, ` +
        `${last} is the item itself.`);
    if (last === ".copy()") return not("A tensor has no copy(). That of an array makes new memory; that of a " +
      "dict or list holds the same tensors.");
    if (!call) return not("This line has no call on a tensor.");
    const x = textOf(first, first.parts.indexOf(call));
    return isModule(x) ? looksLike(x)
      : not(`No picture: the explorer can't draw ${call.text}, because this site didn't run it.`);
  };
  const readStatement = (items, all) => {
    const sides = split(items, ASSIGNS), right = sides.at(-1), target = sides.length > 1 ? sides.at(-2) : [];
    const op = target.length ? items.at(-right.length - 1) : "", into = write(target);
    while (/^(?:return|yield|await)$/.test(right[0])) right.shift();
    const found = expressions(right), isWrite = into !== "" && into[0] !== "(" &&
      (op !== "=" || /[\])]$|\.(?:data|grad|requires_grad)$/.test(into));
    // A write in place is all that matters of its line; what from_numpy takes is an array.
    const looked = found[0]?.parts.some(({ text }) => IN_PLACE.test(text)) ? found.slice(0, 1)
      : found.filter(({ within }) => within !== "from_numpy" || /numpy\(/.test(textOf(found[0])));
    const best = looked.map(asMethod).flatMap(runsOf)
      .reduce((most, run) => (most && lengthOf(drawnOf(run)) <= lengthOf(drawnOf(most)) ? most : run), null);
    const other = op && assigned(target, op, right, all);
    if (other && (!best || !isWrite || !right.some((item) => item.open === "(") || /\.data\b|\.detach\(\)/.test(into)))
      return other;
    if (!best) return refusal(found, into);
    const step = drawnOf(best), { one, to, steps } = best, unread = joined(one.parts.slice(to));
    if (OPTIMIZER.test(step.x)) return looksLike(step.x);
    if (subjectOf(step.code) === "a" && /::-1|\bflip\w*\(|rot90\(/.test(step.x) && !/\.copy\(\)$|asc/.test(step.x))
      return not(`torch refuses an array that is reversed, as ${step.x} may be.`);
    const read = to > (one.least ?? Infinity) ? one.typed.slice(0, one.typed.length - unread.length) : textOf(one, to);
    return shown(step, {
      steps, read, unread, state: stateOf(step.x, all), whole: !isWrite && write(right) === read,
      said: isWrite ? `The write into ${into} isn't read.` : "",
    });
  };
  // Two words side by side, or a word behind a bracket: a sentence.
  const isProse = (items) => items.some((item, at) => isName(item) && !/["']$/.test(item) && at > 0 &&
    (items[at - 1].open || isName(items[at - 1]) || /^\d/.test(items[at - 1])));
  const PROMPT = /^[^\S\n]*(?:>>>|\.\.\.(?= )|In ?\[\d*\]:|[-+](?= ))[^\S\n]*/gm;
  const read = (text) => {
    if (rows[text]) return shown({ code: text, x: subjectOf(text), text, isSure: !CAST.test(text) }, {});
    if (text.length > 4000) return not(`That is ${text.length} characters.`);
    if (/^\s*<\/?\w/.test(text)) return not("That is markup, not Python.");
    let refused = null, example;
    try {
      const statements = split(treeOf(text.replace(PROMPT, "").trim()), /^[;\n]$/).filter((one) => one.length);
      for (const items of statements) {
        if (isProse(items)) return refused ?? not("");
        const isBlock = /^(?:with|for|if|elif|while|else|try)$/.test(items[0]);
        const [head, ...body] = isBlock ? split(items, /^:$/) : [[], items];
        const block = /^with torch\.(?:no_grad|inference_mode)\(\)/.exec(write(head))?.[0];
        if (block) example = Object.keys(rows).find((code) => code.startsWith(`${block}:`) && code.includes("* 2"));
        if (!body.flat().length) continue;
        const told = readStatement(body.flat(), text);
        if (told.code) return { ...told, whole: told.whole && statements.length === 1 };
        refused ??= told;
      }
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return not(/\p{L}\s+\p{L}{2}/u.test(text) ? "" : error.message);
    }
    if (example) return shown({ code: example, x: "x", text }, { when: "the block holds y = x * 2" });
    return refused ?? not("");
  };

  // -- "A or B?" and a query: the calls that they name ----------------------------------------
  const MEANT = {
    "=": "y = x", assignment: "y = x", "shallow copy": "copy.copy(x)", "deep copy": "copy.deepcopy(x)",
    slice: "x[:, :2]", slicing: "x[:, :2]", index: "x[0]", indexing: "x[0]", mask: "x[mask]", array: "np.array(x)",
  };
  // Two of these are no calls: "copy or view?". In a sentence only names that are no English
  // words are calls.
  const WORDS = new Set(("array buffer copy cpu cuda data gpu image index list load model parameter " +
    "parameters row save share state tensor view").split(" "));
  const NAMES = /_|\d|^(?:clone|contiguous|deepcopy|detach|reshape|tolist|unsqueeze|asarray|movedim|einsum|numpy)$/;
  const bare = (text) => text.toLowerCase().replace(/[`"“”?]|\(\)/g, "").replace(/[ _]+(?!$)/g, "");
  const nameOf = (code) => bare(code.replace(/^with torch\.(\w+)[^]*/, "$1").replace(/\)\n[^]*/, ")")
    .replace(/\)(?:\[\d\]|\["\w+"\]|\.weight)$/, ")").replace(/\([^]*\)$/, "").split(".").at(-1));
  const named = new Map(); // by what people call it: codes, those of chips first
  const put = (code) => named.set(nameOf(code), [...(named.get(nameOf(code)) ?? []), code]);
  for (const [key, code] of Object.entries(chips)) if (key !== "copy" && code[0] === ".") put(`x${code}`);
  for (const code of Object.keys(rows).sort((a, b) => a.length - b.length))
    if (!/out=|^y = x$|^x\[[^\]]*\]$|\].*\]|\n.*\n/.test(code)) put(code);
  const kindOf = (code) => (/\bmodule\b/.test(code) ? "module" : subjectOf(code));
  const callsOf = (side) => {
    const meant = MEANT[side.toLowerCase()] ?? side.replace(/^numpy\./, "np.");
    if (rows[meant]) return [meant];
    const plain = meant.replace(/^[.`]|`$/g, "").replace(/^(?:x|tensor)\./, "");
    const [, of, word = ""] = /^(?:(\w+)\.)?([\w ]+)(?:\(\))?$/.exec(plain) ?? [];
    const alike = (named.get(bare(word)) ?? []).filter((code) => !of || code.startsWith(`${of}.`));
    const exact = alike.filter((code) => code.includes(word)); // torch.Tensor or torch.tensor
    if (alike.length) return exact.length ? exact : alike;
    const one = [`x.${side.replace(/^\./, "")}`, side].map(read).find(({ code, unread }) => code && !unread);
    return one ? [one.code] : [];
  };
  const pair = (text) => {
    const sides = text.trim().replace(/\?+$/, "").split(/\s+(?:vs\.?|versus|or)\s+/i).map((side) => side.trim());
    if (sides.length !== 2 || sides.every((side) => WORDS.has(side.toLowerCase()))) return null;
    const found = sides.map(callsOf), isAll = (kind) => (all) => all.every((code) => kindOf(code) === kind);
    if (!found.every((one) => one.length)) return null;
    // One side of a module or an array: the other one too, if it can be.
    const both = found.every((all) => all.some((code) => kindOf(code) === "a"));
    const kind = found.some(isAll("module")) ? "module" : found.some(isAll("a")) || both ? "a" : "x";
    return found.map((all) => all.find((code) => kindOf(code) === kind) ?? all[0]);
  };
  const idsOf = (codes) => {
    const ids = codes.map((code) => rows[code.replace(/^(x\.(?:view|reshape)\()-1/, "$16")]?.id);
    return ids.length < 3 && ids.every(Boolean) ? [...new Set(ids)] : [];
  };
  const cards = (asked) => {
    const query = asked.replace(/\s#(?!\d).*/g, "").trim().replace(/\?+$/, "");
    if (query.length > 120 || /\n|\w(?:Error|Warning)\b/.test(query)) return []; // a message, a program
    const [, one, other] = /\bbetween\s+(\S+) and (\S+)/i.exec(query) ?? /(\S+) (?:vs\.?|versus|or) (\S+)/i.exec(query) ?? [];
    const both = pair(query) ?? (one && pair(`${one} or ${other}`));
    if (both) return idsOf(both);
    const isCall = (side) => /[([.]./.test(side.replace(/^\w+\(\)$/, "")) || (named.has(bare(side)) && NAMES.test(side));
    if (one && (isCall(one) || isCall(other))) return []; // half an answer
    const plain = query.replace(/\b(?:float|int|bool|list|sum|max|min)\(\)/g, "");
    const [part] = /\.?[\w.]*(?:\w\[[^\]]*\]|\w\([^]*\)|\w\.\w+)[^\s]*/.exec(plain) ?? [];
    for (const code of part ? [query, part, `x.${part.replace(/^\./, "")}`] : [query]) {
      const told = read(code), codes = told.steps?.map((step) => step.code) ?? [];
      const isOther = /\.\w+ is a tensor$/.test(told.when ?? ""); // a layer, say
      if (told.code && (told.unread || told.said.startsWith("The write") || (isOther && !told.or))) return [];
      if (told.code) return idsOf(codes.length === 1 && told.or ? [...codes, told.or] : codes);
    }
    const text = query.toLowerCase().replace(/deep[- ]cop(?:y|ied|ies)/g, "deepcopy")
      .replace(/\b(no|state|inference|from)[- ](grad|dict|mode|numpy)\b/g, "$1_$2");
    if (part || /\boptim|scheduler/.test(text)) return [];
    if (/\b(?:numpy|np|nd-?)[ -]?arrays? (?:in)?to (?:a )?(?:torch |pytorch )?tensor/.test(text)) return ["from-numpy"];
    if (/\btensor to (?:a )?(?:numpy|nd-?array)/.test(text)) return ["numpy"];
    const words = [...new Set(text.match(/[a-z_]\w*/g) ?? [])].filter((word) => named.has(bare(word)) && (NAMES.test(word) || text === word));
    const kind = /\b(?:model|module|network|net)\b/.test(text) ? "module" : "x";
    return idsOf(words.map((word) => named.get(bare(word))).map((all) => all.find((code) => kindOf(code) === kind) ?? all[0]));
  };
  return { read, pair, cards };
};
