// Reads a line of code as calls that this site has run. Nothing runs: a call is known by the
// ways to write it that calls.toml lists beside it.
//
// `read(text)` gives `code`, what can be shown of the text, "" if nothing, and `x`, what stands
// for x there; `steps`, all calls that were read one after the other, of `start`; `unread`,
// what follows them, and `whole`, whether the line is nothing else; `when` the answer holds,
// and `or`, the call for another x; `state`, the kind of x; `says`, the answer where it is
// another than that of `code`; and `said`, a sentence. `pair("A or B?")` gives two codes, or
// null. `cards(query)` gives the ids of the rows that a query names, two at most.
window.callReader = ({ chips, forms, rows, longest = 3 }) => {
  // -- Tokens in their brackets, and expressions: a name with what hangs on it ------------
  const TOKEN = new RegExp([
    /\s|#.*|[rbfu]{0,2}(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\.?[\p{L}_][\p{L}\p{N}_]*/,
    /\d[\w.]*|…|\.\.\.|[-+*/%@&|^<>=!:]=|->|\*\*|\/\/|<<|>>|[-+*/%@&|^<>=:.,;()[\]{}~]|(\S)/,
  ].map(({ source }) => source).join("|"), "gu");
  const CLOSES = { "(": ")", "[": "]", "{": "}" };
  const BRACKETS = "A bracket is missing, or there is one too many.";
  const NAME = /^[\p{L}_]/u, ATTRIBUTE = /^\.[\p{L}_]/u, WORD = /^[\p{L}\p{N}_"']/u;
  const KEYWORD = /^(?:return|yield|await|not|and|or|in|is|if|else|for|lambda|assert|with|as)$/;
  const isName = (item) => NAME.test(item ?? "") && !KEYWORD.test(item);
  const treeOf = (text) => {
    const open = [{ items: [] }];
    for (const [token, odd] of text.matchAll(TOKEN)) {
      const group = open.at(-1);
      if (odd) throw new SyntaxError(`“${odd}” is not Python.`);
      if (CLOSES[token]) group.items.push(open[open.length] = { open: token, items: [] });
      else if (/^[)\]}]$/.test(token)) { // one too many at the end says nothing else
        if (group.open && CLOSES[group.open] !== token) throw new SyntaxError(BRACKETS);
        if (group.open) open.pop();
      } else if (token === "\n" ? !group.open : /^[^\s#]/.test(token)) group.items.push(token);
    }
    if (open.length > 1) throw new SyntaxError(BRACKETS);
    return open[0].items;
  };
  // Code as a person types it: no space within calls, one after commas.
  const write = (items) => items.map((item, at) => {
    if (item.open) return item.open + write(item.items).replace(/, $/, "") + CLOSES[item.open];
    if (item === ",") return ", ";
    const before = items[at - 1] ?? "", isApart = before.open || WORD.test(before.slice(-1));
    const text = item[0] === "'" ? item.replaceAll("'", '"') : item;
    return isApart && WORD.test(item) ? ` ${text}` : text;
  }).join("");
  const split = (items, sign) => items.reduce((parts, item) => {
    if (!item.open && sign.test(item)) parts.push([]);
    else parts.at(-1).push(item);
    return parts;
  }, [[]]);
  // All expressions, an outer one before those in its brackets.
  const expressions = (items, within = "") => {
    const found = [];
    for (let at = 0; at < items.length; at++) {
      const { open } = items[at];
      if (!open && !isName(items[at])) continue;
      const one = { head: write([items[at]]), parts: [], within };
      const inner = open ? expressions(items[at].items, within) : [];
      for (let size = 1; size; at += size) {
        const name = ATTRIBUTE.test(items[at + 1]) ? items[at + 1].slice(1) : "";
        const { open: bracket, items: inside } = items[at + (name ? 2 : 1)] ?? {};
        const isCalled = bracket === "(" || (bracket === "[" && !name);
        size = (name ? 1 : 0) + isCalled;
        if (!size) break;
        const text = write(items.slice(at + 1, at + 1 + size));
        const args = isCalled ? split(inside, /^,$/).map(write).filter(Boolean) : [];
        one.parts.push({ name, open: isCalled ? bracket : "", text, args });
        if (isCalled) inner.push(...expressions(inside, name || within));
      }
      found.push(one, ...inner);
    }
    return found;
  };
  const joined = (parts) => parts.map(({ text }) => text).join("");
  const textOf = ({ head, parts }, until = parts.length) => head + joined(parts.slice(0, until));
  const parse = (text) => expressions(treeOf(text));

  // -- The ways to write a call -----------------------------------------------------------
  const LIBRARY = /^(?:torch|np|numpy|nn|F|copy|jnp|tf|cv2|plt|math|random|init)(?:\.\w+)*$/;
  const ARRAY = /^(?:np|numpy)\.|numpy\(|\.values$|\.astype\(|^(?:a|\w*arr(?:ay)?|\w+_np|np_\w+)$/;
  const DEVICE = new RegExp("^(?:[\\w.]*device\\w*(?:\\[.*\\]|\\(.*\\))?|\\w*dev|" +
    "(?:torch\\.device\\()?\"(?:cuda|mps|xpu).*)$", "i");
  // What people call a whole model, and what makes one: `Net()`.
  const MODEL = new RegExp("^(?:self|(?:self\\.)?(?:\\w+[._])?(?:\\w*model|module|\\w*net|" +
    "network|\\w*encoder|\\w*decoder|\\w*backbone|generator|discriminator|critic|actor|teacher|" +
    "student)(?:_?\\d+|_ema|_copy)?)(?:\\.(?:eval|train)\\(\\))?$", "i");
  const MADE = /^(?:nn\.\w+\(.*\)|(?!Variable|Parameter|\w*Tensor)[A-Z]\w*[a-z]\w*\([^()]*\))$/;
  const isModule = (text) => MODEL.test(text) || MADE.test(text);
  // What changes more than values: "any arguments" has none of these.
  const SWITCH = new RegExp("^(?:dtype|device|requires_grad|out|inplace|copy|memory_format|" +
    "layout|force|assign)=|\\bdtype$|" +
    "^torch\\.(?:u?int|b?float|half|double|long|short|bool|complex)\\w*$");
  const isSlice = (one) => /^(?:-?\d+|\.\.\.|None|[-+\w. ]*:[-+\w.: ]*)$/.test(one);
  const INDEX = {
    "…": () => true,
    INT: (args) => /^-?\d+$/.test(args.join()),
    SLICE: (args) => args.every(isSlice) && !INDEX.INT(args),
    MASK: (args) => args.some((one) => /[<>~]|[!=]=|mask/.test(one)),
    LIST: (args) => args.some((one) => one[0] === "["),
  };
  const SUBJECT = {
    x: (arg, form) => !isModule(arg) && !/^(?:\w+=|-?\d|["'{])/.test(arg) &&
      (arg[0] !== "[" || /\[x, x\]/.test(form.code)),
    ARRAY: (arg) => ARRAY.test(arg),
    MODULE: isModule,
  };
  const isLike = (want, arg) => {
    const [, key, kind] = /^(.*?)(…|DEVICE)?$/.exec(want);
    return !kind ? want === arg
      : arg.startsWith(key) && (kind === "…" || DEVICE.test(arg.slice(key.length)));
  };
  const spread = (form) => { // a.{b,c} is a.b and a.c
    const [all, inside] = /\{([^{}]*)\}/.exec(form) ?? [];
    return all ? inside.split(",").flatMap((one) => spread(form.replace(all, () => one))) : [form];
  };
  const subjectOf = (code) => rows[code]?.subject ?? "x";
  const OTHER = { x: "a tensor", a: "an array", z: "complex", h: "bfloat16" };
  const chipOf = Object.fromEntries(Object.entries(chips).map(([key, code]) => [`x${code}`, key]));
  const ofRows = Object.keys(rows).filter((code) => OTHER[subjectOf(code)] && !chipOf[code]);
  const FORMS = [...Object.keys(chipOf), ...ofRows].flatMap((code) => {
    const ways = [...(code.includes("\n") ? [] : [code]), ...(forms[code] ?? []).flatMap(spread)];
    return ways.map((way) => {
      const text = way.replace(new RegExp(`\\b${subjectOf(code)}\\b`, "g"), "x");
      const [, left, op = "", right = ""] = /^(.*?)(?: ([-+*/]?=) (.*))?$/s.exec(text);
      const [{ head, parts }] = parse(left);
      return { head, parts, text, op, right, code, chip: chipOf[code], size: parts.length };
    });
  });
  // Whether parts of an expression are written as a form has them: what x is then, or null.
  const fits = (form, one, from) => {
    const before = textOf(one, from), { head } = form;
    if (head === "x" ? LIBRARY.test(before) || isModule(before)
      : head === "MODULE" ? !isModule(before) : from || head !== one.head) return null;
    let x = head === "x" ? before : "";
    const takes = (want, arg = "") => {
      if (!arg || !SUBJECT[want]) return arg !== "" && isLike(want, arg);
      if (!SUBJECT[want](arg, form) || (x && x !== arg)) return false;
      x = arg;
      return true;
    };
    const isSame = form.parts.every(({ name, open, args }, at) => {
      const typed = one.parts[from + at] ?? {}, isAny = args.at(-1) === "…";
      if (name !== typed.name || open !== typed.open) return false;
      if (open === "[") return INDEX[args[0]]?.(typed.args) ?? args.join() === typed.args.join();
      const wanted = isAny ? args.slice(0, -1) : args, more = typed.args.slice(wanted.length);
      return wanted.every((want, place) => takes(want, typed.args[place])) &&
        (isAny ? !more.some((arg) => SWITCH.test(arg)) : !more.length);
    });
    return isSame ? x || (/^module$/i.test(head) ? before : "x") : null;
  };
  // torch.clone(x) is read as x.clone().
  const METHODS = new Set(FORMS.map(({ text, code }) =>
    code.startsWith("x.") && /^torch\.(\w+)\(x/.exec(text)?.[1]));
  const asMethod = (one) => {
    const [{ name, args: [arg, ...args] = [] } = {}, ...rest] = one.parts;
    if (one.head !== "torch" || !METHODS.has(name) || !arg) return one;
    const [of = one] = parse(arg), isOne = textOf(of) === arg;
    const [all] = parse(`${isOne ? arg : `(${arg})`}.${name}(${args.join(", ")})${joined(rest)}`);
    return { ...one, ...all, typed: textOf(one), least: isOne ? of.parts.length : 0 };
  };

  // -- The steps of an expression ---------------------------------------------------------
  const CAST = /^[xh]\.(float|double|half|bfloat16|long|to\(torch\.float64)\b/;
  const WHOLE = new RegExp("\\.(?:byte|u?int\\d*|long|short|bool|nonzero|arg\\w+)\\(|[<>]|[!=]=|" +
    "torch\\.(?:u?int\\d+|long|bool|arg\\w+)\\b|\\.(?:max|min|topk|sort)\\([^()]*\\)\\[1\\]");
  // What whole numbers refuse or answer otherwise, and what NumPy has not.
  const OF_FLOATS = /_\(|^nn\.|relu/, NO_ARRAY = /bfloat16|float8|sparse|quantize|conj|\bmeta\b/;
  const isWrite = ({ code }) => /^x\.\w+_\(/.test(code);
  const isArray = ({ head, parts }, at) => parts.slice(0, at).some(({ name }) =>
    name === "numpy" || /^(?:np|numpy)$/.test(head));
  // What is written like this part, and true of what stands before it.
  const fitting = (one, at) => FORMS.flatMap((form) => {
    const { code, chip, op, size } = form, x = op || !size ? null : fits(form, one, at);
    const isRefused = x === null || (isArray(one, at)
      ? !chip || chips[chip] !== one.parts[at].text || chip === "first"
      : chip === "copy" || (WHOLE.test(x) && (OF_FLOATS.test(code) || CAST.test(code))) ||
        (/^np\.|\.numpy\(/.test(code) && NO_ARRAY.test(x)) ||
        (isWrite(form) && /\.(?:expand\w*|broadcast_to)\(/.test(x)));
    return isRefused ? [] : [{ ...form, x }];
  });
  const stepAt = (one, from) => {
    if (isArray(one, from)) return null;
    const run = [], found = fitting(one, from).filter(({ chip }) => !chip);
    const next = () => fitting(one, from + run.length).find(({ chip }) => chip);
    for (let form = next(); form && run.length <= longest; form = next()) run.push(form.chip);
    // The first of a list, rather than the first row.
    if (run.length > longest && run[0] === "first") return null;
    const chain = run.slice(0, longest), code = `x${chain.map((chip) => chips[chip]).join("")}`;
    if (run.length) found.unshift({ size: chain.length, chain, code, x: textOf(one, from) });
    const most = Math.max(...found.map(({ size }) => size));
    const alike = found.filter(({ size }) => size === most);
    const of = (subject) => alike.find((step) => subjectOf(step.code) === subject);
    const array = alike.some((step) => ARRAY.test(step.x)) ? of("a") : null;
    const ofModule = alike.find(({ text }) => /\bMODULE\b/.test(text));
    const told = alike.find((step) => rows[step.code]?.says);
    const step = ofModule ?? array ?? told ?? of("x") ?? alike[0];
    if (!step) return null;
    const other = array ? null : alike.find((it) => subjectOf(it.code) !== subjectOf(step.code));
    let { size } = step;
    if (/^x(?:\.data|\.detach\(\))?\.\w+_\(/.test(step.code))
      while (fitting(one, from + size).some(isWrite)) size += 1;
    return { ...step, size, or: other?.code ?? "", isOfModule: step === ofModule };
  };
  // Runs of steps that follow each other, the last first. What is between them wasn't read.
  const runsOf = (one) => {
    const runs = [];
    let run = null, cast = "";
    for (let at = 0, step; at < one.parts.length; at += step?.size ?? 1) {
      const isItem = !run && one.parts[at - 1]?.open === "("; // lstm(x)[0] may be an item
      step = stepAt(one, at);
      if (isItem && step?.code.startsWith("x[0]")) step = null;
      if (!step) [run, cast] = [null, ""];
      if (!step) continue;
      if (!run) runs.unshift(run = { one, steps: [] });
      run.to = at + step.size;
      const dtype = CAST.exec(step.code)?.[1], isOwn = step.chain || step.head === "x";
      step.isSure = !dtype || (cast !== "" && dtype !== cast); // another dtype: a copy
      if (dtype === "float" && step.isSure) step.code = "h.float()";
      step.text = at || isOwn ? joined(one.parts.slice(at, run.to)) : textOf(one, run.to);
      cast = dtype ?? cast;
      run.steps.push(step);
      if (/tolist\(|item\(/.test(step.code)) break;
    }
    return runs;
  };
  const longestOf = ({ steps }) => Math.max(...steps.map(({ chain }) => chain?.length ?? 1));
  // The longest chain, a function of a library, or the last call.
  const drawnOf = (run) => (longestOf(run) > 1
    ? run.steps.find(({ chain }) => chain?.length === longestOf(run))
    : run.steps.find(({ chain, head }) => !chain && head !== "x") ??
      run.steps.findLast(({ chain }) => chain) ?? run.steps.at(-1));

  // -- A line -----------------------------------------------------------------------------
  const GIVEN = new RegExp("\\.grad\\b|\\.detach\\(|\\.data\\b|state_dict|load|" +
    "^torch\\.(?:zeros|ones|full|rand|empty|(?:as_)?tensor)|" +
    "^(?:batch|samples?|data|inputs?|targets?|labels?|images?|imgs?)\\b"); // requires no grad
  const stateOf = (x, all) => (/no_grad\(\):/.test(all) ? (/\(/.test(x) ? "constant" : "no_grad")
    : GIVEN.test(x) || WHOLE.test(x) || /\bin \w*(?:load|data|batch)/.test(all) ? "constant" : "");
  // What is a tensor by its name; calls that others than tensors have as well.
  const TENSOR = new RegExp("^[a-z]$|tensor|weight|bias|grad|logits|loss|data|[)\\]]$|" +
    "^(?:imgs?|images?|batch\\w*|inputs?|targets?|labels?|frames?|preds?|outputs?|out)$");
  const SHARED = new RegExp("^(?:\\[|(?:np|copy)\\.|deepcopy|" +
    "\\.(?:to|half|float|double|bfloat16|cuda|cpu|share_memory_|requires_grad_)\\()");
  const whenOf = ({ x, code, text, or, op, isSure = true, isOfModule }) => {
    const subject = subjectOf(code), isReal = or && subjectOf(or) === "z";
    const isUnsure = op ? x !== "x" && !/\.data|weight|bias/.test(x) && !/\.grad/.test(text)
      : or ? !/^[a-z]$/.test(x) : SHARED.test(text) && !TENSOR.test(x);
    const isOfArray = subject === "a" && !code.includes("from_numpy") && !ARRAY.test(x);
    const is = [
      subject === "z" ? OTHER.z : isOfArray ? OTHER.a : isReal ? "real" : "",
      isUnsure && !isReal && subject === "x" && OTHER.x,
      (!isSure || code.startsWith("torch.Tensor")) && (subject === "h" ? OTHER.h : "float32"),
    ].filter(Boolean);
    return is.length && !isOfModule ? `${x} is ${is.join(" and ")}` : "";
  };
  const not = (said) => ({ code: "", said });
  const shown = (step, { steps = [step], ...more }) => {
    const { code, x, isOfModule, isSure = true } = step;
    const or = code === "x.float()" && !isSure ? "h.float()" : step.or ?? "";
    return {
      code, x: isOfModule && isModule(x) ? `a weight of ${x}` : x, start: steps[0].x, steps,
      at: steps.indexOf(step), read: step.text, unread: "", whole: true, said: "",
      when: whenOf(steps.length > 1 ? { ...steps[0], isSure: true } : step),
      or, orWhen: or && OTHER[subjectOf(or)], ...more,
    };
  };
  const looksLike = (x) => not(`${x} looks like a module or an optimizer, which aren't drawn.`);
  // `w.data -= v`, `x[0] = 7`, `b = a`: a write, or another name.
  const FLAG = /\.(?:data|grad|requires_grad)$/;
  const SAME = /^(?!(?:None|True|False)$)(?:[\p{L}_]\w*|self\.\w+|[\w.]+\.(?:weight|bias))$/u;
  const assigned = (into, target, op, right, all) => {
    const value = write(right), [one] = expressions(target), text = `${into} ${op} ${value}`;
    if (op === "=" && /^[\p{L}_][\w.]*$/u.test(into) && !FLAG.test(into)) {
      if (!SAME.test(value)) return null;
      const says = `${into} is the same object as ${value}: nothing is copied.`;
      return shown({ code: "y = x", x: value, text }, isModule(value) ? { says } : {});
    }
    const isBare = right.every((item) => !item.open && (isName(item) || /^[\d\-+*/.]/.test(item)));
    for (let from = 0; one && from <= one.parts.length; from++) {
      const x = textOf(one, from), size = one.parts.length - from;
      const isSimple = (size ? /^[\w.]+(?:\[-?\d+\])*$/ : /^(?!.*\.grad$)[\w.]+$/).test(x);
      const form = isSimple && (size || isBare) && FORMS.find((it) => it.op === op &&
        it.size === size && isLike(it.right, value) && fits(it, one, from) !== null);
      const state = /no_grad/.test(all) ? "no_grad"
        : /\.grad\b/.test(value) ? "leaf" : /loss|total/.test(x) ? "nonleaf" : "";
      if (form) return shown({ code: form.code, x, op, text }, { state });
    }
    return null;
  };
  const refusal = ([first = { head: "", parts: [] }, ...others], into) => {
    const whole = textOf(first), x = textOf(first, first.parts.length - 1);
    const last = whole.slice(x.length), calls = [first, ...others].flatMap(({ parts }) => parts);
    const call = calls.find(({ open, name }) => open === "(" && name);
    if (/[\])]$|\.\w+$/.test(into) && !call) return not(`The write into ${into} isn't drawn.`);
    if (/^\[[A-Za-z_]\w*\]$/.test(last))
      return not(`If ${last.slice(1, -1)} is a number, ${whole} is a view; if a list, a copy.`);
    if (/\)$/.test(x) && /^\[-?\d+\]$/.test(last))
      return not(`If ${x} returns a tensor, ${last} is a view of it; else it is the item itself.`);
    if (!call) return not("This line has no call on a tensor.");
    const of = textOf(first, first.parts.indexOf(call));
    return isModule(of) ? looksLike(of)
      : not(`No picture: the explorer can't draw ${call.text}, because this site didn't run it.`);
  };
  const readStatement = (items, all) => {
    const sides = split(items, /^[-+*/]?=$/), right = sides.at(-1), target = sides.at(-2) ?? [];
    const op = target.length ? items.at(-right.length - 1) : "", into = write(target);
    while (/^(?:return|yield|await)$/.test(right[0])) right.shift();
    const found = expressions(right), isInto = into !== "" && into[0] !== "(" &&
      (op !== "=" || /[\])]$/.test(into) || FLAG.test(into));
    // A write in place is all that matters of its line; what from_numpy takes is an array.
    const looked = found[0]?.parts.some(({ text }) => /^\.\w+_\(/.test(text)) ? [found[0]]
      : found.filter(({ within }) => within !== "from_numpy" || /numpy\(/.test(textOf(found[0])));
    const [best] = looked.map(asMethod).flatMap(runsOf)
      .sort((one, other) => longestOf(other) - longestOf(one));
    const other = op && assigned(into, target, op, right, all);
    const isWhole = !best || !isInto || !right.some((item) => item.open === "(");
    if (other && (isWhole || /\.data\b|\.detach\(\)/.test(into))) return other;
    if (!best) return refusal(found, into);
    const step = drawnOf(best), { one, to, steps } = best, { x, code } = step;
    const unread = joined(one.parts.slice(to)), { typed = "", least = to } = one;
    const [, index = "None"] = /\[((?:[^[\]]*, )?[A-Za-z_]\w*(?:, [^[\]]*)?)\]$/.exec(x) ?? [];
    if (/(?:optim\w*|opt|sched\w*|scaler)\d?$/i.test(x)) return looksLike(x);
    if (!/\bNone\b/.test(index) && isWrite(step))
      return not(`If [${index}] holds a list or a mask, ${x} is a copy: the write is lost.`);
    const isReversed = /::-1|\bflip\w*\(|rot90\(/.test(x) && !/\.copy\(\)$|asc/.test(x);
    if (subjectOf(code) === "a" && isReversed)
      return not(`torch refuses an array that is reversed, as ${x} may be.`);
    const read = to > least ? typed.slice(0, typed.length - unread.length) : textOf(one, to);
    return shown(step, {
      steps, read, unread, state: stateOf(x, all), whole: !isInto && write(right) === read,
      said: isInto ? `The write into ${into} isn't read.` : "",
    });
  };
  // Words alone, two side by side, or one behind a bracket: a sentence.
  const isProse = (items) => (items.length > 1 && items.every((one) => NAME.test(one))) ||
    items.some((item, at) => at > 0 && isName(item) && !/["']$/.test(item) &&
      (items[at - 1].open || isName(items[at - 1]) || /^(?:\d+$|\.[^.])/.test(items[at - 1])));
  const PROMPT = /^[^\S\n]*(?:>>>|\.\.\.(?= )|In ?\[\d*\]:|[-+](?= ))[^\S\n]*/gm;
  const read = (text) => {
    if (text.length > 4000) return not(`That is ${text.length} characters.`);
    if (/^\s*<\/?\w/.test(text)) return not("That is markup, not Python.");
    let refused = null, example;
    try {
      const statements = split(treeOf(text.replace(PROMPT, "").trim()), /^[;\n]$/)
        .filter((one) => one.length);
      for (const items of statements) {
        if (isProse(items)) return refused ?? not("");
        const isBlock = /^(?:with|for|if|elif|while|else|try)$/.test(items[0]);
        const [head, ...body] = isBlock ? split(items, /^:$/) : [[], items];
        const NO_GRAD = /^with torch\.(?:no_grad|inference_mode)\(\)/;
        const [block = "-"] = NO_GRAD.exec(write(head)) ?? [];
        example ??= Object.keys(rows).find((code) => code.startsWith(block) && /\* 2/.test(code));
        const told = body.flat().length ? readStatement(body.flat(), text) : null;
        if (told?.code) return { ...told, whole: told.whole && statements.length === 1 };
        refused ??= told;
      }
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return not(/\p{L}\s+\p{L}{2}/u.test(text) ? "" : error.message);
    }
    return example ? shown({ code: example, x: "x", text }, { when: "the block holds y = x * 2" })
      : refused ?? not("");
  };

  // -- "A or B?" and a query: the calls that they name ------------------------------------
  const MEANT = { "=": "y = x", assignment: "y = x", "shallow copy": "copy.copy(x)" };
  // Two of these are no calls: "copy or view?". In a sentence only names that are no English
  // words are calls.
  const WORDS = new RegExp("^(?:array|buffer|copy|cpu|cuda|data|gpu|image|index|list|load|model|" +
    "parameters?|row|save|share|state|tensor|view)$", "i");
  const NAMES = new RegExp("_|\\d|^(?:clone|contiguous|deepcopy|detach|reshape|tolist|unsqueeze|" +
    "asarray|movedim|einsum|numpy)$");
  const bare = (text) =>
    text.toLowerCase().replace(/[`"“”?]|\(\)/g, "").replace(/[ _]+(?!$)/g, "");
  const named = new Map(); // by what people call it: codes, those of chips first
  const byLength = Object.keys(rows).sort((a, b) => a.length - b.length);
  const isNamed = (code) => !/out=|^x\[[^\]]*\]$|\].*\]|\n.*\n|^x\.copy\(\)$/.test(code);
  for (const code of [...Object.keys(chipOf), ...byLength].filter(isNamed)) {
    const [, name = ""] = /^[\w.[\]," ]*?(\w+)(?:\(|$)/.exec(code) ?? [];
    if (name) named.set(bare(name), [...(named.get(bare(name)) ?? []), code]);
  }
  const kindOf = (code) => (/\bmodule\b/.test(code) ? "module" : subjectOf(code));
  const callsOf = (side) => {
    const meant = MEANT[side.toLowerCase()] ?? side.replace(/^numpy\./, "np.");
    if (rows[meant]) return [meant];
    const [, of, word = ""] =
      /^[.`]?(?:(?:x|tensor)\.)?(?:(\w+)\.)?([\w ]+)(?:\(\))?`?$/.exec(meant) ?? [];
    const alike = (named.get(bare(word)) ?? []).filter((code) => !of || code.startsWith(`${of}.`));
    const exact = alike.filter((code) => code.includes(word)); // torch.Tensor or torch.tensor
    if (alike.length) return exact.length ? exact : alike;
    const told = [`x.${side.replace(/^\./, "")}`, side].map(read);
    return told.filter(({ code, unread }) => code && !unread).map(({ code }) => code).slice(0, 1);
  };
  const pair = (text) => {
    const sides = text.trim().replace(/\?+$/, "").split(/\s+(?:vs\.?|versus|or)\s+/i);
    if (sides.length !== 2 || sides.every((side) => WORDS.test(side))) return null;
    const found = sides.map(callsOf), kinds = found.map((all) => all.map(kindOf));
    if (!found.every((one) => one.length)) return null;
    // One side of a module or an array: the other one too, if it can be.
    const isOnly = (of) => kinds.some((all) => all.every((one) => one === of));
    const kind = ["module", "a"].find((of) => isOnly(of) ||
      (of === "a" && kinds.every((all) => all.includes(of)))) ?? "x";
    return found.map((all, at) => all[Math.max(kinds[at].indexOf(kind), 0)]);
  };
  const idsOf = (codes) => {
    const ids = codes.map((code) => rows[code.replace(/^(x\.(?:view|reshape)\()-1/, "$16")]?.id);
    return ids.length < 3 && ids.every(Boolean) ? [...new Set(ids)] : [];
  };
  const cards = (asked) => {
    const query = asked.replace(/\s#(?!\d).*/g, "").trim().replace(/\?+$/, "");
    if (query.length > 120 || /\n|\w(?:Error|Warning)\b/.test(query)) return []; // a message
    const [, one = "", other = ""] =
      /(\S+) (?:vs\.?|versus|or|(?<=\bbetween +\S+ )and) (\S+)/i.exec(query) ?? [];
    const both = pair(query) ?? pair(`${one} or ${other}`);
    if (both) return idsOf(both);
    const isCall = (side) => /[([.]./.test(side.replace(/^\w+\(\)$/, "")) ||
      (named.has(bare(side)) && NAMES.test(side));
    if (isCall(one) || isCall(other)) return []; // half an answer
    const plain = query.replace(/\b(?:float|int|bool|list|sum|max|min)\(\)/g, "");
    const [part] = /\.?[\w.]*(?:\w\[[^\]]*\]|\w\([^]*\)|\w\.\w+)[^\s]*/.exec(plain) ?? [];
    const told = (part ? [query, part, `x.${part.replace(/^\./, "")}`] : [query]).map(read);
    const { steps, unread, said, when, or } = told.find(({ code }) => code) ?? {};
    if (unread || said || (!or && /\.\w+ is a tensor$/.test(when))) return []; // of a layer
    const codes = steps?.map(({ code }) => code);
    if (steps) return idsOf(or && codes.length === 1 ? [...codes, or] : codes);
    const text = query.toLowerCase().replace(/deep[- ]cop(?:y|ied|ies)/g, "deepcopy")
      .replace(/\b(no|state|inference|from)[- ](grad|dict|mode|numpy)\b/g, "$1_$2");
    if (part || /\boptim|scheduler/.test(text)) return [];
    if (/\barrays? (?:in)?to (?:a )?(?:torch |pytorch )?tensor/.test(text)) return ["from-numpy"];
    if (/\btensor to (?:a )?(?:numpy|nd-?array)/.test(text)) return ["numpy"];
    const words = [...new Set(text.match(/[a-z_]\w*/g) ?? [])].filter((word) =>
      named.has(bare(word)) && (NAMES.test(word) || text === word));
    const kind = /\b(?:model|module|network|net)\b/.test(text) ? "module" : "x";
    return idsOf(words.map((word) => named.get(bare(word)))
      .map((all) => all.find((code) => kindOf(code) === kind) ?? all[0]));
  };
  return { read, pair, cards };
};
