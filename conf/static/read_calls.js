// Reads a line of code as calls that this site has run. Nothing runs: the line is cut into
// tokens, and a call is known by the ways to write it that calls.toml lists beside it.
//
// callReader({chips, forms, rows}) gives three functions. `read(text)`: `code` is what can be
// shown of it, "" if nothing, and `x` what stands for x there; `steps` are all calls that were
// read one after the other, of `start`; `unread` is what follows them, and `whole` whether
// there is nothing else in the line; `when` says for what the answer holds, `or` is the call
// for another x; `state` is the kind of x, `said` a sentence. `pair("A or B?")`: two codes, or
// null. `cards(query)`: the ids of the rows that a query names, two at most.
window.callReader = ({ chips, forms, rows, longest = 3 }) => {
  // -- Tokens, and expressions: a name or bracket with what hangs on it -------------------
  const TOKEN = new RegExp([
    /\n|[^\S\n]+|#.*/, /[rbfu]{0,2}(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')/,
    /[\p{L}_][\p{L}\p{N}_]*|\d[\w.]*|…|\.\.\./, /[-+*/%@&|^<>=!:]=|->|\*\*|\/\/|<<|>>/,
    /[-+*/%@&|^<>=:.,;()[\]{}~]/,
  ].map(({ source }) => source).join("|"), "uy");
  const CLOSES = { "(": ")", "[": "]", "{": "}" };
  const CLOSING = /^[)\]}]$/, NAME = /^[\p{L}_]/u, ENDS = /^[;\n]$/, ASSIGNS = /^[-+*/]?=$/;
  const KEYWORD = new RegExp("^(?:return|yield|await|not|and|or|in|is|if|else|for|lambda|assert|del|" +
    "with|as|while|elif|raise|import|from|def|class|async)$");
  const tokensOf = (text) => {
    const found = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
      const at = TOKEN.lastIndex, token = TOKEN.exec(text)?.[0];
      if (token === undefined) throw new SyntaxError(`“${[...text.slice(at)][0]}” is not Python.`);
      if (/\S|\n/.test(token) && token[0] !== "#") found.push(token);
    }
    return found;
  };
  // Code as a person types it: no space within calls, one after commas.
  const write = (tokens) => tokens.map((token, at) => {
    const word = (one) => /^[\p{L}\p{N}_"']/u.test(one);
    if (token === ",") return ", ";
    const gap = word(token) && word(tokens[at - 1]?.slice(-1) ?? "") ? " " : "";
    return gap + (token[0] === "'" ? token.replaceAll("'", '"') : token.trim());
  }).join("").replace(/, ([)\]}])/g, "$1");
  const split = (tokens, sign) => { // at a sign that stands in no bracket
    const parts = [[]];
    let depth = 0;
    for (const one of tokens) {
      depth += CLOSES[one] ? 1 : CLOSING.test(one) ? -1 : 0;
      if (depth <= 0 && sign.test(one)) parts.push([]);
      else parts.at(-1).push(one);
    }
    return parts;
  };
  const closing = (tokens, from) => {
    const open = [];
    for (let at = from; at < tokens.length; at++) {
      if (CLOSES[tokens[at]]) open.push(CLOSES[tokens[at]]);
      else if (CLOSING.test(tokens[at]) && open.pop() !== tokens[at]) break;
      if (!open.length) return at;
    }
    throw new SyntaxError("A bracket is missing, or there is one too many.");
  };
  // All expressions of a row of tokens, an outer one before those in its brackets.
  const expressions = (tokens, within = "") => {
    const found = [];
    for (let at = 0; at < tokens.length; at++) {
      const isBracket = CLOSES[tokens[at]], isName = NAME.test(tokens[at]) && !KEYWORD.test(tokens[at]);
      if (!(isBracket || isName) || tokens[at - 1] === ".") continue;
      let last = isBracket ? closing(tokens, at) : at;
      const one = { head: write(tokens.slice(at, last + 1)), parts: [], within };
      const inner = isBracket ? [[tokens.slice(at + 1, last), ""]] : [];
      found.push(one);
      for (;;) {
        const name = tokens[last + 1] === "." && NAME.test(tokens[last + 2] ?? "") ? tokens[last + 2] : "";
        const from = last + (name ? 3 : 1), open = tokens[from];
        const isCalled = open === "(" || (open === "[" && !name);
        if (!name && !isCalled) break;
        const end = isCalled ? closing(tokens, from) : from - 1, inside = tokens.slice(from + 1, end);
        one.parts.push({
          name, open: isCalled ? open : "", text: write(tokens.slice(last + 1, end + 1)),
          args: isCalled ? split(inside, /^,$/).map(write).filter(Boolean) : [],
        });
        if (isCalled) inner.push([inside, name]);
        last = end;
      }
      for (const [inside, name] of inner) found.push(...expressions(inside, name || within));
      at = last;
    }
    return found;
  };
  const joined = (parts) => parts.map(({ text }) => text).join("");
  const textOf = ({ head, parts }, until = parts.length) => head + joined(parts.slice(0, until));
  const parse = (text) => expressions(tokensOf(text));

  // -- The ways to write a call ------------------------------------------------------------
  const LIBRARY = /^(?:torch|np|numpy|nn|F|copy|jnp|tf|cv2|plt|math|random|init)(?:\.\w+)*$/;
  const ARRAY = /^(?:np|numpy)\.|numpy\(|\.values$|\.astype\(|^(?:a|arr|array|\w+_np|np_\w+|\w*_arr(?:ay)?)$/;
  const DEVICE = /(?:[\w.]*device\w*(?:\[.*\]|\(.*\))?|\w*dev|"(?:cuda|mps|xpu)(?::\d+)?"|torch\.device\("(?:cuda|mps|xpu).*"\))/i;
  const OPTIMIZER = /(?:optim\w*|opt|sched\w*|scaler)\d?$/i;
  // What people call a whole model, and `Net()`.
  const MODEL = new RegExp("^(?:self\\.)?(?:\\w+[._])?(?:\\w*model|module|\\w*net|network|\\w*encoder|" +
    "\\w*decoder|\\w*backbone|generator|discriminator|critic|actor|teacher|student)(?:_?\\d+|_ema|_copy)?$", "i");
  const MADE = /^(?:nn\.\w+\(.*\)|(?!Variable|Parameter|\w*Tensor)[A-Z]\w*[a-z]\w*\([^()]*\))$/;
  const isModule = (text) => {
    const plain = text.replace(/\.(?:eval|train)\(\)$/, "");
    return plain === "self" || MODEL.test(plain) || MADE.test(plain);
  };
  // What changes more than values: "any arguments" has none of these.
  const SWITCH = new RegExp("^(?:dtype|device|requires_grad|out|inplace|copy|memory_format|layout|force|" +
    "assign)=|^torch\\.(?:u?int|b?float|half|double|long|short|bool|complex)\\w*$|\\bdtype$");
  const spread = (form) => { // a.{b,c} is a.b and a.c
    const [all, inside] = /\{([^{}]*)\}/.exec(form) ?? [];
    return all ? inside.split(",").flatMap((one) => spread(form.replace(all, () => one))) : [form];
  };
  const isSlice = (one) => /^(?:-?\d+|\.\.\.|None|[-+\w. ]*:[-+\w.: ]*)$/.test(one);
  const INDEX = {
    "…": () => true,
    INT: (args) => args.length === 1 && /^-?\d+$/.test(args[0]),
    SLICE: (args) => args.every(isSlice) && !INDEX.INT(args),
    MASK: (args) => args.some((one) => /[<>~]|[!=]=|mask/.test(one)),
    LIST: (args) => args.some((one) => one[0] === "["),
  };
  // What an argument of a form takes. The subject is one thing throughout.
  const argument = (arg, isSubject, lists) => {
    if (isSubject) return { subject: true, is: (typed) => !/^(?:\w+=|-?\d|["'{])/.test(typed) && !isModule(typed) && (lists || typed[0] !== "[") };
    if (arg === "ARRAY") return { subject: true, is: (typed) => ARRAY.test(typed) };
    if (arg === "MODULE") return { subject: true, is: isModule };
    const literal = arg.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace("…", ".*");
    const pattern = new RegExp(`^${literal.replace("DEVICE", DEVICE.source)}$`, "i");
    return { is: (typed) => pattern.test(typed) };
  };
  const formOf = (text, what, subject = "x") => {
    const [, left, op = "", right = ""] = /^(.*?)(?: ([-+*/]?=) (.*))?$/s.exec(text);
    const [{ head, parts }] = parse(left), lists = /\[x, x\]/.test(what.row);
    return {
      ...what, op, right, text, size: parts.length, ofModule: /\bMODULE\b/.test(text),
      head: head === subject ? "x" : head,
      parts: parts.map(({ name, open, args }) => ({
        name, open, any: args.at(-1) === "…",
        index: INDEX[args[0]] ?? ((typed) => typed.join() === args.join()),
        args: args.slice(0, args.at(-1) === "…" ? -1 : undefined).map((arg) =>
          (arg === "…" ? { is: () => true } : argument(arg, arg === subject || arg === "x", lists))),
      })),
    };
  };
  const written = (code, own) => [...own, ...(forms[code] ?? []).flatMap(spread)];
  const chipForms = Object.entries(chips).flatMap(([chip, code]) =>
    written(code, [`x${code}`]).map((one) => formOf(one, { chip })));
  const rowForms = Object.entries(rows).filter(([, { subject }]) => /^[xzha]$/.test(subject ?? "x"))
    .flatMap(([row, { subject }]) => written(row, row.includes("\n") ? [] : [row])
      .map((one) => formOf(one, { row }, subject)));
  // Whether the parts of an expression are written as a form has them: what x is, or null.
  const fits = (form, one, from) => {
    const before = textOf(one, from);
    if (form.head === "x" ? LIBRARY.test(before) || isModule(before)
      : form.head === "MODULE" ? !isModule(before) : from || form.head !== one.head) return null;
    let x = form.head === "x" ? before : "";
    const takes = ({ subject, is }, arg) => {
      if (arg === undefined || !is(arg) || (subject && x && x !== arg)) return false;
      if (subject) x = arg;
      return true;
    };
    const isSame = form.parts.every((want, at) => {
      const { name, open, args } = one.parts[from + at] ?? {};
      if (want.name !== name || want.open !== open) return false;
      if (open === "[") return want.index(args);
      const more = args.slice(want.args.length);
      return want.args.every((arg, place) => takes(arg, args[place])) &&
        (want.any ? !more.some((arg) => SWITCH.test(arg)) : !more.length);
    });
    return isSame ? x || before : null;
  };
  // torch.clone(x) is read as x.clone().
  const METHODS = new Set([...chipForms, ...rowForms].map(({ text, row = "x." }) =>
    /^x\./.test(row) && /^torch\.(\w+)\(x/.exec(text)?.[1]));
  const asMethod = (one) => {
    const [first, ...rest] = one.parts, [arg, ...args] = first?.args ?? [];
    if (one.head !== "torch" || !METHODS.has(first?.name) || !arg) return one;
    const [of] = parse(arg), [{ parts }] = parse(`x.${first.name}(${args.join(", ")})`);
    const { head, parts: before } = of && textOf(of) === arg ? of : { head: arg, parts: [] };
    return { ...one, head, parts: [...before, ...parts, ...rest], typed: textOf(one), least: before.length };
  };

  // -- The steps of an expression ----------------------------------------------------------
  const CAST = /^[xh]\.(float|double|half|bfloat16|long|to\(torch\.float64)\b/;
  const WHOLE = new RegExp("\\.(?:byte|u?int\\d*|long|short|bool|nonzero|arg\\w+)\\(|[<>]|[!=]=|" +
    "torch\\.(?:u?int\\d+|long|bool|arg\\w+)\\b|\\.(?:max|min|topk|sort)\\([^()]*\\)\\[1\\]");
  const NO_ARRAY = /bfloat16|float8|sparse|quantize|\bmeta\b/; // NumPy has no such thing
  const FLOATS = /_\(|^nn\.|relu|^[xh]\.(?:float|double|half|bfloat16|long|to\(torch)/; // not of whole numbers
  const WRITES = /^\.\w+_\(/;
  const inPlace = rowForms.filter(({ row, size, op }) => size === 1 && !op && WRITES.test(row.slice(1)));
  const chipAt = (one, at, isArray, isFirst, known) => {
    const before = textOf(one, at), text = one.parts[at]?.text;
    const { chip } = (text && chipForms.find((form) => fits(form, one, at) !== null)) || {};
    if (!chip || (isArray ? chips[chip] !== text || chip === "first" : chip === "copy")) return "";
    // What a call returns may be a tuple: lstm(x)[0] is no row of it.
    if (chip === "first" && isFirst && known.isTuple) return "";
    if (/^numpy/.test(chip) && (known.isLow || NO_ARRAY.test(before))) return "";
    return chip === "requires_grad_" && WHOLE.test(before) ? "" : chip;
  };
  const stepAt = (one, from, known) => {
    if (known.isArray) return null;
    const run = [], x = textOf(one, from);
    for (let isArray = false, chip; run.length <= longest; run.push(chip)) {
      if (!(chip = chipAt(one, from + run.length, isArray, !run.length, known))) break;
      isArray ||= /^(?:numpy|copy)/.test(chip);
    }
    if (run.length > longest && run[0] === "first") return null; // the first of a list
    const chain = run.slice(0, longest), code = `x${chain.map((chip) => chips[chip]).join("")}`;
    const found = chain.length ? [{ size: chain.length, chain, code, x, row: code }] : [];
    for (const form of rowForms) {
      const of = form.op || !form.size ? null : fits(form, one, from);
      if (of === null || (FLOATS.test(form.row) && WHOLE.test(of)) || (form.row === "x[0]" && known.isTuple)) continue;
      found.push({ ...form, code: form.row, x: of, chain: null });
    }
    const most = Math.max(...found.map(({ size }) => size)), alike = found.filter(({ size }) => size === most);
    const of = (subject) => alike.find(({ code: row }) => rows[row]?.subject === subject);
    const isArray = alike.some((it) => ARRAY.test(it.x));
    const step = alike.find(({ ofModule }) => ofModule) ?? alike.find(({ code: row }) => rows[row]?.says) ??
      (isArray ? of("a") : null) ?? alike[0];
    if (!step) return null;
    const other = alike.find(({ code: row }) => rows[row] && rows[row].subject !== (rows[step.code]?.subject ?? "x"));
    step.or = other?.code ?? "";
    if (WRITES.test(step.code.replace(/^x(?:\.data|\.detach\(\))?/, "")))
      while (inPlace.some((form) => fits(form, one, from + step.size) !== null)) step.size += 1;
    return step;
  };
  // Runs of steps that follow each other. What stands between them wasn't read.
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
      if (!run) runs.push(run = { one, steps: [], to: 0 });
      const dtype = CAST.exec(step.code)?.[1], end = at + step.size;
      step.isSure = Boolean(dtype && cast && dtype !== cast); // another dtype: a copy
      if (step.isSure && dtype === "float") step.code = "h.float()";
      step.text = at || step.head === "x" || step.chain ? joined(one.parts.slice(at, end)) : textOf(one, end);
      cast = dtype ?? cast;
      known.isLow = cast === "bfloat16";
      known.isArray ||= /numpy|^np\./.test(step.code.replace("from_numpy", ""));
      run.steps.push(step);
      run.to = at = end;
      if (/tolist\(|item\(/.test(step.code)) break;
    }
    return runs;
  };
  const lengthOf = ({ chain }) => chain?.length ?? 1;
  const drawnOf = ({ steps }) => {
    const most = Math.max(...steps.map(lengthOf)), longs = steps.filter((step) => lengthOf(step) === most);
    if (most > 1) return longs[0];
    return longs.find(({ head, chain }) => !chain && head !== "x") ?? longs.findLast(({ chain }) => chain) ?? longs.at(-1);
  };

  // -- A line ------------------------------------------------------------------------------
  const GIVEN = /\.grad\b|\.detach\(|\.data\b|state_dict|load|^(?:batch|samples?|data|inputs?|targets?|labels?|images?|imgs?)\b/;
  const stateOf = (x, all) => {
    if (/no_grad\(\):/.test(all)) return /\(/.test(x) && !/parameters/.test(x) ? "constant" : "no_grad";
    if (GIVEN.test(x) || WHOLE.test(x) || /\bin \w*(?:load|data|batch|dl\b)/.test(all)) return "constant";
    return /parameters\(\)$/.test(x) ? "leaf" : /\(/.test(x) ? "nonleaf" : "";
  };
  const TENSOR = /^[a-z]$|tensor|weight|bias|grad|logits|loss|data|[)\]]$|^(?:imgs?|images?|batch\w*|inputs?|targets?|labels?|frames?|preds?|outputs?|out)$/;
  // Calls that others than tensors have as well.
  const SHARED = /^(?:\[|\.(?:to|half|float|double|bfloat16|cuda|cpu|share_memory_|requires_grad_)\(|(?:np|copy)\.|deepcopy)/;
  const whenOf = ({ x, code, text, or, op, isSure }) => {
    const subject = rows[code]?.subject ?? "x", dtype = CAST.test(code) && !isSure;
    const isOf = { z: "complex", a: /from_numpy/.test(code) || ARRAY.test(x) ? "" : "an array" }[subject] ?? "";
    const isTensor = !isOf && (op || or || SHARED.test(text)) && subject === "x" && !TENSOR.test(x);
    return [
      isOf, isTensor && "a tensor",
      (dtype || /^torch\.Tensor/.test(code)) && (subject === "h" ? "bfloat16" : "float32"),
    ].filter(Boolean).map((what) => `${x} is ${what}`);
  };
  const not = (said) => ({ code: "", said });
  const shown = (step, { steps = [step], read = step.text, unread = "", ...more }) => ({
    code: step.code, x: step.x, start: steps[0].x, at: steps.indexOf(step), read, unread,
    steps: steps.map(({ text, code }) => ({ text, code })), when: whenOf(step), said: "",
    or: step.code === "x.float()" && !step.isSure ? "h.float()" : step.or ?? "", ...more,
  });
  const looksLike = (x) => not(`${x} looks like a module or an optimizer, but the pictures show tensors.`);
  // `w.data -= v`, `x[0] = 7`, `b = a`: a write, or another name.
  const assigned = (target, op, right, all) => {
    const into = write(target), value = write(right), [one] = expressions(target);
    const isBare = right.every((token) => /^(?:[\p{L}_][\w.]*|\d[\w.]*|[-+*/.])$/u.test(token));
    if (op === "=" && /^[\p{L}_][\w.]*$/u.test(into) && !/\.(?:data|grad|requires_grad)$/.test(into)) {
      const isName = /^(?!(?:None|True|False)$)(?:[\p{L}_]\w*|self\.\w+|[\w.]+\.(?:weight|bias))$/u.test(value);
      const said = isModule(value) ? `${into} and ${value} are the same object: nothing is copied.` : "";
      return isName ? shown({ code: "y = x", x: value, text: `${into} = ${value}` }, { state: "", whole: true, said, when: [] }) : null;
    }
    for (let from = 0; one && from <= one.parts.length; from++) {
      const x = textOf(one, from), size = one.parts.length - from;
      const form = rowForms.find((it) => it.op === op && it.size === size && (it.right === "…" || it.right === value) && fits(it, one, from) !== null);
      if (!form || (!size && (/\.grad$/.test(x) || !isBare))) continue;
      const state = /no_grad/.test(all) ? "no_grad" : /\.grad\b/.test(value) ? "leaf" : size ? "" : "nonleaf";
      return shown({ code: form.row, x, op, text: `${into} ${op} ${value}` }, { state, whole: true });
    }
    return null;
  };
  const refusal = (first, found, into) => {
    const call = found.flatMap(({ parts }) => parts).find(({ open, name }) => open === "(" && name);
    if (/[\])]$|\.\w+$/.test(into) && !call) return not(`The write into ${into} isn't drawn.`);
    if (!first) return not("This line has no call on a tensor.");
    const whole = textOf(first), of = textOf(first, Math.max(first.parts.length - 1, 0)), last = whole.slice(of.length);
    if (/^\[[A-Za-z_]\w*\]$/.test(last)) return not(`If ${last.slice(1, -1)} is a number or an index tensor without dimensions, ${whole} is a view. If it is a list or a tensor with dimensions, it is a copy.`);
    if (/\)$/.test(of) && /^\[-?\d+\]$/.test(last)) return not(`If ${of} returns a tensor, ${last} is a view of it. If it returns a list or a tuple, ${last} is the item itself.`);
    if (last === ".copy()") return not("A tensor has no copy(). That of an array makes new memory; that of a dict or list holds the same tensors.");
    if (!call) return not("This line has no call on a tensor.");
    const x = textOf(first, first.parts.indexOf(call));
    return isModule(x) ? looksLike(x) : not(`No picture: the explorer can't draw ${call.text}, because this site didn't run it.`);
  };
  const readStatement = (tokens, all) => {
    const sides = split(tokens, ASSIGNS), right = sides.at(-1), target = sides.length > 1 ? sides.at(-2) : [];
    const op = target.length ? tokens.at(-right.length - 1) : "", into = write(target);
    while (/^(?:return|yield|await)$/.test(right[0])) right.shift();
    const found = expressions(right), [first] = found;
    const isName = !into || (op === "=" && !/[\])]$|\.(?:data|grad|requires_grad)$/.test(into)) || into[0] === "(";
    // A write in place is all that matters of its line; what from_numpy takes is an array.
    const looked = (first?.parts.some(({ text }) => WRITES.test(text)) ? [first] : found)
      .filter(({ within }) => within !== "from_numpy" || /numpy\(/.test(textOf(first)));
    const best = looked.map(asMethod).flatMap((one) => runsOf(one).reverse())
      .reduce((most, run) => (most && lengthOf(drawnOf(run)) <= lengthOf(drawnOf(most)) ? most : run), null);
    const other = op && assigned(target, op, right, all);
    if (other && (!best || isName || !right.includes("(") || /\.data\b|\.detach\(\)/.test(into))) return other;
    if (!best) return refusal(first, found, into);
    const step = drawnOf(best), { one, to, steps } = best, { x } = step;
    if (OPTIMIZER.test(x)) return looksLike(x);
    if (/\(a\)/.test(step.code) && /::-1|\bflip\w*\(|rot90\(/.test(x) && !/\.copy\(\)$|ascontiguous/.test(x))
      return not(`torch refuses an array that is reversed, as ${x} may be.`);
    const unread = joined(one.parts.slice(to));
    const read = to > (one.least ?? Infinity) ? one.typed.slice(0, one.typed.length - unread.length) : textOf(one, to);
    return shown(step, {
      steps, read, unread, state: stateOf(x, all), whole: isName && write(right) === read,
      said: isName ? "" : `The write into ${into} isn't read.`,
    });
  };
  // Two words side by side, or a word behind a bracket: a sentence.
  const isProse = (tokens) => tokens.some((one, at) => {
    const before = tokens[at - 1] ?? ";", isWord = (it) => NAME.test(it) && !KEYWORD.test(it) && !/["']$/.test(it);
    return isWord(one) && (isWord(before) || /^[)\]}\d]/.test(before));
  });
  const PROMPT = /^[^\S\n]*(?:>>>|\.\.\.(?= )|In ?\[\d*\]:|[-+](?= ))[^\S\n]*/gm;
  const read = (text) => {
    if (rows[text]) return shown({ code: text, x: rows[text].subject ?? "x", text }, { state: "", whole: true, when: [] });
    if (text.length > 4000) return not(`That is ${text.length} characters.`);
    if (/^\s*<\/?\w/.test(text)) return not("That is markup, not Python.");
    let refused = null, example;
    try {
      const statements = split(tokensOf(text.replace(PROMPT, "").trim()), ENDS).filter((one) => one.length);
      for (const tokens of statements) {
        if (isProse(tokens)) return refused ?? not("");
        const [head, ...body] = /^(?:with|for|if|elif|while|else|try)$/.test(tokens[0]) ? split(tokens, /^:$/) : [[], tokens];
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
    if (example) return shown({ code: example, x: "x", text }, { state: "", whole: true, when: ["the block holds y = x * 2"] });
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
  const subjectOf = (code) => (/\bmodule\b/.test(code) ? "module" : rows[code]?.subject ?? "x");
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
    const found = sides.map(callsOf), isAll = (kind) => (all) => all.every((code) => subjectOf(code) === kind);
    if (!found.every((one) => one.length)) return null;
    // One side of a module or an array: the other one too, if it can be.
    const both = found.every((all) => all.some((code) => subjectOf(code) === "a"));
    const kind = found.some(isAll("module")) ? "module" : found.some(isAll("a")) || both ? "a" : "x";
    return found.map((all) => all.find((code) => subjectOf(code) === kind) ?? all[0]);
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
      const isOther = told.when?.some((when) => /\.\w+ is a tensor$/.test(when)); // a layer, say
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
    return idsOf(words.map((word) => named.get(bare(word))).map((all) => all.find((code) => subjectOf(code) === kind) ?? all[0]));
  };
  return { read, pair, cards };
};
