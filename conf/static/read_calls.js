// Reads a line of code as calls that this site has run. Nothing runs: the line is cut into
// tokens, and a call is known by the ways to write it that calls.toml lists beside it.
window.callReader = ({ chips, forms, rows, longest = 3 }) => {
  // -- A line as tokens, and as expressions: a name with what hangs on it ---------------
  const TOKEN = /\s+|#.*|[rbfu]{0,2}(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|[\p{L}_][\p{L}\p{N}_]*|\d[\w.]*|…|\.\.\.|[-+*/%@&|^<>=!:]=|->|\*\*|\/\/|<<|>>|[-+*/%@&|^<>=:.,;()[\]{}~]/uy;
  const CLOSES = { "(": ")", "[": "]", "{": "}" };
  const NAME = /^[\p{L}_]/u;
  const KEYWORD = /^(?:return|yield|await|not|and|or|in|is|if|else|for|lambda|assert|del|with|as|while|elif|raise|import|from|def|class|async)$/;
  const tokensOf = (text) => {
    const found = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
      const at = TOKEN.lastIndex, token = TOKEN.exec(text)?.[0];
      if (token === undefined) return { found, odd: [...text.slice(at)][0] };
      if (/\S/.test(token) && token[0] !== "#") found.push(token);
    }
    return { found };
  };
  // Code as a person types it: no space within calls, one after commas.
  const write = (tokens) => tokens.map((token, at) => {
    const word = (one) => /^[\p{L}\p{N}_"']/u.test(one);
    if (token === ",") return ", ";
    const gap = word(token) && word(tokens[at - 1]?.slice(-1) ?? "") ? " " : "";
    return gap + (token[0] === "'" ? token.replaceAll("'", '"') : token);
  }).join("").replace(/, ([)\]}])/g, "$1");
  const split = (tokens, sign) => { // at a sign that stands in no bracket
    const parts = [[]];
    let depth = 0;
    for (const one of tokens) {
      depth += CLOSES[one] ? 1 : /^[)\]}]$/.test(one) ? -1 : 0;
      if (depth === 0 && sign.test(one)) parts.push([]);
      else parts.at(-1).push(one);
    }
    return parts;
  };
  const closing = (tokens, from) => {
    const open = [];
    for (let at = from; at < tokens.length; at++) {
      if (CLOSES[tokens[at]]) open.push(CLOSES[tokens[at]]);
      else if (/^[)\]}]$/.test(tokens[at]) && open.pop() !== tokens[at]) break;
      if (!open.length) return at;
    }
    throw new SyntaxError("A bracket is missing, or there is one too many.");
  };
  // All expressions of a row of tokens, an outer one before those in its brackets.
  const expressions = (tokens, within = "") => {
    const found = [];
    for (let at = 0; at < tokens.length; at++) {
      const bracket = CLOSES[tokens[at]];
      if (!(bracket || (NAME.test(tokens[at]) && !KEYWORD.test(tokens[at])))) continue;
      if (tokens[at - 1] === ".") continue;
      let last = bracket ? closing(tokens, at) : at;
      const one = { head: write(tokens.slice(at, last + 1)), parts: [], within };
      const inner = bracket ? [[tokens.slice(at + 1, last), ""]] : [];
      found.push(one);
      for (;;) {
        const name = tokens[last + 1] === "." && NAME.test(tokens[last + 2] ?? "") ? tokens[last + 2] : "";
        const from = last + (name ? 3 : 1), open = /^[([]$/.test(tokens[from] ?? "") ? tokens[from] : "";
        const called = open === "(" || (open === "[" && !name);
        if (!name && !called) break;
        const end = called ? closing(tokens, from) : from - 1, inside = tokens.slice(from + 1, end);
        one.parts.push({
          name, open: called ? open : "", text: write(tokens.slice(last + 1, end + 1)),
          args: called ? split(inside, /^,$/).map(write).filter(Boolean) : [],
        });
        if (called) inner.push([inside, name]);
        last = end;
      }
      for (const [inside, name] of inner) found.push(...expressions(inside, name || within));
      at = last;
    }
    return found;
  };
  const textOf = ({ head, parts }, from = parts.length) =>
    head + parts.slice(0, from).map(({ text }) => text).join("");
  const parse = (text) => expressions(tokensOf(text).found);

  // -- The ways to write a call ----------------------------------------------------------
  const KINDS = {
    DEVICE: /^(?:[\w.]*device\w*(?:\[.*\]|\(.*\))?|\w*dev|"(?:cuda|mps|xpu)(?::\d+)?"|torch\.device\("(?:cuda|mps|xpu).*"\))$/i,
    ARRAY: /^(?:np|numpy)\.|numpy\(|\.values$|\.astype\(|^(?:a|arr|array|\w+_np|np_\w+|\w*_arr(?:ay)?)$/,
    MODULE: /^(?:(?:self\.)?(?:\w+[._])?(?:\w*model|module|\w*net|network|\w*encoder|\w*decoder|\w*backbone|generator|discriminator|critic|actor|teacher|student)(?:_?\d+|_ema|_copy)?|self|nn\.\w+\(.*\)|(?!Variable|Parameter|\w*Tensor)[A-Z]\w*[a-z]\w*\([^()]*\))(?:\.(?:eval|train)\(\))?$/i,
    INT: /^-?\d+$/, MASK: /[<>~]|[!=]=|mask/,
    SLICE: /^(?:-?\d+|\.\.\.|None|[-+\w. ]*:[-+\w.: ]*)$/,
  };
  const OPTIMIZER = /(?:optim\w*|opt|sched\w*|scaler)\d?$/i;
  const isModule = (text) => KINDS.MODULE.test(text) && (!/^[A-Z]\w*\(/i.test(text) || /^[A-Z]|^nn/.test(text));
  // What changes more than values: it is in no "any arguments".
  const SWITCH = /^(?:dtype|device|requires_grad|out|inplace|copy|memory_format|layout|force|assign)=|^torch\.(?:u?int|float|b?float|half|double|long|short|bool|bfloat|complex)\w*$|\bdtype$/;
  const spread = (form) => { // a.{b,c} is a.b and a.c
    const [all, inside] = /\{([^{}]*)\}/.exec(form) ?? [];
    return all ? inside.split(",").flatMap((one) => spread(form.replace(all, () => one))) : [form];
  };
  // What an argument of a form takes; some are the subject, which is one thing throughout.
  const matcher = (arg, subject) => {
    if (arg === subject || arg === "x")
      return { subject: true, is: (typed) => !/^(?:\w+=|-?\d|["'{])/.test(typed) && !isModule(typed) };
    if (arg === "ARRAY") return { subject: true, is: (typed) => KINDS.ARRAY.test(typed) };
    if (arg === "MODULE") return { subject: true, is: isModule };
    const literal = arg.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace("…", "[^]*");
    const pattern = new RegExp(`^${literal.replace("DEVICE", KINDS.DEVICE.source.slice(1, -1))}$`, "i");
    return { is: (typed) => pattern.test(typed) };
  };
  const INDICES = {
    "…": () => true,
    INT: (args) => args.length === 1 && KINDS.INT.test(args[0]),
    SLICE: (args) => args.every((one) => KINDS.SLICE.test(one)) && args.some((one) => !KINDS.INT.test(one) || args[1]),
    MASK: (args) => args.some((one) => KINDS.MASK.test(one)),
    LIST: (args) => args.some((one) => /^\[/.test(one)),
  };
  const formOf = (text, what, subject = "x") => {
    const [, left, op = "", right = ""] = /^(.*?)(?: ([-+*/]?=) (.*))?$/s.exec(text);
    const [{ head, parts }] = parse(left);
    return {
      ...what, text, op, right, size: parts.length,
      head: head === subject ? "x" : head,
      parts: parts.map(({ name, open, args }) => ({
        name, open, any: args.at(-1) === "…",
        index: INDICES[args[0]] ?? ((typed) => typed.join() === args.join()),
        args: args.filter((arg) => arg !== "…" || args.at(-1) !== "…").map((arg) => matcher(arg, subject)),
      })),
    };
  };
  const chipForms = Object.entries(chips).flatMap(([chip, code]) =>
    [`x${code}`, ...(forms[code] ?? []).flatMap(spread)].map((one) => formOf(one, { chip })));
  const rowForms = Object.entries(rows).filter(([, { subject }]) => /^[xzha]$/.test(subject ?? "x"))
    .flatMap(([row, { subject = "x" }]) => [...(row.includes("\n") ? [] : [row]), ...(forms[row] ?? []).flatMap(spread)]
      .map((one) => formOf(one, { row }, subject)));
  // torch.clone(x) is read as x.clone().
  const METHODS = new Set([...chipForms, ...rowForms].map(({ text, row = "x." }) =>
    (/^x\./.test(row) && /^torch\.(\w+)\(x/.exec(text)?.[1]) || "").filter(Boolean));
  const asMethod = (one) => {
    const [first, ...rest] = one.parts;
    if (one.head !== "torch" || !METHODS.has(first?.name) || !first.args.length) return one;
    const [arg, ...args] = first.args, [of] = parse(arg);
    const [call] = parse(`x.${first.name}(${args.join(", ")})`);
    const whole = of && textOf(of) === arg ? of : { head: arg, parts: [] };
    return { head: whole.head, parts: [...whole.parts, ...call.parts, ...rest], typed: one, more: rest.length };
  };
  // Whether the parts of an expression are written as a form has them: what x is then.
  const fits = (form, one, from) => {
    const before = textOf(one, from);
    if (form.head === "x" ? LIBRARY.test(before) || isModule(before)
      : form.head === "MODULE" ? !isModule(before) : from || form.head !== one.head) return null;
    let x = form.head === "x" ? before : "";
    const takes = ({ subject, is }, arg) => {
      if (arg === undefined || !is(arg) || (subject && arg[0] === "[" && !/\[x, x\]/.test(form.row)) || (subject && x && x !== arg)) return false;
      if (subject) x = arg;
      return true;
    };
    const same = form.parts.every((want, at) => {
      const { name, open, args } = one.parts[from + at] ?? {};
      if (want.name !== name || want.open !== open) return false;
      if (open === "[") return want.index(args);
      const more = args.slice(want.args.length);
      return want.args.every((arg, place) => takes(arg, args[place])) &&
        (want.any ? !more.some((arg) => SWITCH.test(arg)) : !more.length);
    });
    return same ? x || before : null;
  };
  const LIBRARY = /^(?:torch|np|numpy|nn|F|copy|jnp|tf|cv2|plt|math|random|init)(?:\.\w+)*$/;

  // -- The steps of an expression ----------------------------------------------------------
  const CAST = /^[xh]\.(float|double|half|bfloat16|long|to\(torch\.float64)\b/;
  const DTYPES = { float: "float32", double: "float64", half: "float16", long: "int64", "to(torch.float64": "float64" };
  const WHOLE = /\.(?:byte|u?int\d*|long|short|bool|nonzero|arg\w+)\(|torch\.(?:u?int\d+|long|bool|arg\w+)\b|\.(?:max|min|topk|sort)\([^()]*\)\[1\]|[<>]|[!=]=/;
  const NO_ARRAY = /bfloat16|float8|sparse|quantize|\bmeta\b/;
  const IN_PLACE = /^\.\w+_\(/;
  const inPlace = rowForms.filter(({ row, parts }) => IN_PLACE.test(row.slice(1)) && parts.length === 1);
  const FLOATS = /_\(|^nn\.|relu/; // calls that whole numbers refuse, or that give others
  const ON_MODULES = /^\.(?:half|float|double|bfloat16|cuda|cpu|to|share_memory_|requires_grad_)\(/;
  const TENSOR = /^[a-z]$|tensor|weight|bias|grad|logits|loss|[)\]]$|^(?:imgs?|images?|batch\w*|inputs?|targets?|labels?|frames?|preds?|outputs?|out|data)$/;
  const chipAt = (one, at, { array, low, fresh, from }) => {
    const part = one.parts[at], before = textOf(one, at);
    const { chip } = chipForms.find((form) => fits(form, one, at) !== null && form.size === 1) ?? {};
    if (!chip || (array ? chips[chip] !== part.text || chip === "first" : chip === "copy")) return null;
    // What a call returns may be a tuple: lstm(x)[0] is no row of it.
    if (chip === "first" && at === from && !fresh && one.parts[at - 1]?.open === "(") return null;
    if (/^numpy/.test(chip) && (low || NO_ARRAY.test(before))) return null;
    return chip === "requires_grad_" && WHOLE.test(before) ? null : chip;
  };
  const stepAt = (one, from, known) => {
    if (known.array) return null;
    const run = [];
    for (let at = from, { array } = known; run.length < longest && at < one.parts.length; at++) {
      const chip = chipAt(one, at, { ...known, array, from });
      if (!chip) break;
      run.push(chip);
      array ||= /^(?:numpy|copy)/.test(chip);
    }
    const before = textOf(one, from);
    // The first of a list, rather than the first row.
    if (run[0] === "first" && run.length === longest && chipAt(one, from + longest, { ...known, from })) return null;
    const chain = run.length && { size: run.length, chain: run, x: before, code: `x${run.map((chip) => chips[chip]).join("")}` };
    const found = rowForms.filter(({ op, size }) => !op && size).map((form) => ({ form, x: fits(form, one, from) }))
      .filter(({ form: { row }, x }) => x !== null && !(row === "x[0]" && !known.fresh && one.parts[from - 1]?.open === "(") && !(FLOATS.test(row) && WHOLE.test(x)) && !(CAST.test(row) && WHOLE.test(x)))
      .sort((a, b) => b.form.size - a.form.size);
    const alike = found.filter(({ form }) => form.size === found[0].form.size);
    const of = (subject) => alike.find(({ form }) => rows[form.row].subject === subject);
    const isArray = alike.some(({ x }) => KINDS.ARRAY.test(x));
    const best = alike.find(({ form }) => form.head === "MODULE" || /MODULE/.test(form.text)) ??
      (isArray ? of("a") : null) ?? alike[0];
    const row = best && { size: best.form.size, row: best.form.row, code: best.form.row, x: best.x, of: best.form.head };
    if (row && row.of !== "x") row.lib = true;
    const other = best && alike.find(({ form }) => rows[form.row].subject !== rows[row.code].subject);
    if (other) row.or = other.form.row;
    if (row && IN_PLACE.test(row.code.replace(/^x(?:\.data|\.detach\(\))?/, "")))
      while (one.parts[from + row.size] && inPlace.some((form) => fits(form, one, from + row.size) !== null)) row.size += 1;
    if (!row || !chain) return row || chain || null;
    if (chain.size !== row.size) return chain.size > row.size ? chain : row;
    return rows[row.code].says ? row : chain;
  };
  // Runs of steps that follow each other; what stands between them wasn't read.
  const runsOf = (one) => {
    const runs = [], known = { array: false, low: false, fresh: true };
    let run = null, cast = "";
    for (let at = 0; at < one.parts.length;) {
      const step = stepAt(one, at, known);
      const dtype = CAST.exec(step?.code ?? "")?.[1];
      if (dtype && cast && cast !== dtype) step.code = dtype === "float" ? "h.float()" : step.code;
      known.fresh = Boolean(step);
      if (!step) {
        [run, cast] = [null, ""];
        at += 1;
        continue;
      }
      if (!run) runs.push(run = { one, from: at, steps: [] });
      const { size, code } = step;
      step.text = at === 0 && step.lib ? textOf(one, size) : one.parts.slice(at, at + size).map(({ text }) => text).join("");
      step.sure = Boolean(dtype && cast);
      cast = dtype ?? cast;
      known.low = cast === "bfloat16";
      known.array ||= /numpy|^np\./.test(code.replace(/from_numpy/, ""));
      run.steps.push(step);
      run.to = at += size;
      if (/tolist\(|item\(/.test(code)) break;
    }
    return runs;
  };
  const lengthOf = (step) => step.chain?.length ?? 1;
  const drawnOf = (steps) => {
    const most = Math.max(...steps.map(lengthOf)), longs = steps.filter((step) => lengthOf(step) === most);
    if (most > 1) return longs[0];
    return longs.find((step) => step.lib) ?? longs.findLast((step) => step.chain) ?? longs.at(-1);
  };

  // -- A line ------------------------------------------------------------------------------
  const stateOf = (x, code) =>
    /no_grad\(\):/.test(code) ? (/\(/.test(x) && !/parameters/.test(x) ? "constant" : "no_grad")
      : /\.grad\b|\.detach\(|\.data\b|state_dict|load|^(?:batch|samples?|data|inputs?|targets?|labels?|images?|imgs?)\b/.test(x) || WHOLE.test(x) || /\bin \w*(?:load|data|batch|dl\b)/.test(code) ? "constant"
        : /parameters\(\)$/.test(x) ? "leaf" : /\(/.test(x) ? "nonleaf" : "";
  // For what the answer holds, where the line doesn't tell.
  const whenOf = (step, typed) => {
    const { x, code, text } = step, name = x.replace(/^each tensor of /, ""), when = [];
    const dtype = CAST.exec(code)?.[1], subject = rows[code]?.subject ?? "x";
    if (dtype && !step.sure) when.push(`${name} is ${subject === "h" ? "bfloat16" : "float32"}`);
    if (subject === "z") when.push(`${name} is complex`);
    if (/^torch\.Tensor/.test(code)) when.push(`${name} is float32`);
    const asTensor = (step.of ?? "x") === "x" && /^(?:\[|\.to\(|\.(?:half|float|double|bfloat16|cuda|cpu)\(|\.(?:share_memory|requires_grad)_\()/.test(text) && !TENSOR.test(name);
    if (asTensor || (step.or && subject === "x") || /^np\./.test(code) || (step.op && !TENSOR.test(name))) when.push(`${name} is a tensor`);
    if (subject === "a" && !/from_numpy/.test(code) && !KINDS.ARRAY.test(x)) when.push(`${name} is an array`);
    return when;
  };
  const answer = (run, statement, all) => {
    const { one, steps, to } = run, step = drawnOf(steps), typed = one.typed ?? one;
    const last = typed === one ? to : to - (one.parts.length - typed.parts.length);
    const read = last > 0 ? textOf(typed, last) : textOf(one, to), unread = one.parts.slice(to).map(({ text }) => text).join("");
    const x = /^(?:torch\.(?:cat|stack)|copy\.deepcopy\(x)/.test(step.code) && /[[(,]|state_dict/.test(step.x) ? `each tensor of ${step.x}` : step.x;
    const or = step.code === "x.float()" && !step.sure ? "h.float()" : step.or;
    return {
      code: step.code, x, start: steps[0].x, at: steps.indexOf(step), steps: steps.map(({ text, code }) => ({ text, code })),
      read, unread, whole: statement === read, state: stateOf(x, all), said: "",
      when: whenOf({ ...step, x }, typed), or: or && or !== step.code ? or : "",
    };
  };
  const not = (said, more = {}) => ({ code: "", said, ...more });
  const single = (code, x, more) => ({
    code, x, start: x, at: 0, steps: [{ text: code, code }], read: "", unread: "", whole: true, state: "", said: "", when: [], or: "", ...more,
  });
  const looksLike = (x) => `${x} looks like a module or an optimizer, but the pictures show tensors.`;
  // A line that writes into something, or gives it another name.
  const assigned = (target, op, right, all) => {
    const into = write(target), value = write(right), [one] = expressions(target);
    if (op === "=" && /^[\p{L}_][\w.]*$/u.test(into) && !/\.(?:data|grad|requires_grad)$/.test(into)) {
      const same = /^(?!None$|True$|False$)[\p{L}_]\w*$/u.test(value) || /^[\w.]+\.(?:weight|bias)$/.test(value) || (/^self\.\w+$/.test(value));
      return same ? single("y = x", value, { said: isModule(value) ? `${into} and ${value} are the same object: nothing is copied.` : "" }) : null;
    }
    if (!one || (op !== "=" && /^[\w.]+$/.test(into) && !/\.data$/.test(into) && !right.every((token) => /^(?:[\p{L}_][\w.]*|\d[\w.]*|[-+*/.])$/u.test(token)))) return null;
    for (let from = 0; from <= one.parts.length; from++) {
      const form = rowForms.find((it) => it.op === op && it.size === one.parts.length - from && (it.right === "…" || it.right === value) && fits(it, one, from) !== null);
      const x = textOf(one, from);
      if (!form || (form.size === 0 && /\.grad$/.test(x))) continue;
      const state = /no_grad/.test(all) ? "no_grad" : /\.grad\b/.test(value) ? "leaf" : form.size ? "" : "nonleaf";
      return single(form.row, x, { read: `${into} ${op} ${value}`, state, when: TENSOR.test(x) || /data|detach/.test(form.row) ? [] : [`${x} is a tensor`] });
    }
    return null;
  };
  const readStatement = (tokens, all) => {
    const op = tokens.find((one, at) => /^[-+*/]?=$/.test(one) && split(tokens.slice(0, at + 1), /^[-+*/]?=$/).length > 1);
    const sides = split(tokens, /^[-+*/]?=$/), right = sides.at(-1);
    const target = op ? sides.at(-2) : [], into = write(target);
    while (/^(?:return|yield|await)$/.test(right[0])) right.shift();
    const found = expressions(right), [first] = found, plain = !into || (op === "=" && !/[\])]$|\.(?:data|grad|requires_grad)$/.test(into) || /^\(/.test(into));
    const looked = first?.parts.some(({ text }) => IN_PLACE.test(text)) ? [first] : found;
    const runs = looked.map(asMethod).filter(({ within }) => within !== "from_numpy" || /numpy\(/.test(textOf(first))).flatMap((one) => runsOf(one).reverse());
    const best = runs.reduce((most, run) => (!most || lengthOf(drawnOf(run.steps)) > lengthOf(drawnOf(most.steps)) ? run : most), null);
    const written = op && assigned(target, op, right, all);
    if (written && (!best || /\.data\b|\.detach\(\)/.test(into) || (op === "=" && plain) || !right.includes("("))) return written;
    const around = plain ? "" : `The write into ${into} isn't read. `;
    if (best) {
      const { x, of } = drawnOf(best.steps), [reversed] = /::-1|\bflip\w*\(|rot90\(/.exec(x) ?? [];
      if (OPTIMIZER.test(x) || (isModule(x) && !/^(?:MODULE|module)$/.test(of) && !/module/.test(drawnOf(best.steps).code))) return not(looksLike(x));
      if (reversed && /from_numpy|\(a\)/.test(drawnOf(best.steps).code) && !/\.copy\(\)$|ascontiguous/.test(x)) return not(`Not read: torch refuses an array that is reversed, as ${x} may be.`);
      const told = answer(best, write(right), all);
      return { ...told, whole: told.whole && plain, around };
    }
    return null;
  };
  const refusal = (tokens, line) => {
    const sides = split(tokens, /^[-+*/]?=$/), found = expressions(sides.at(-1)), into = sides.length > 1 ? write(sides.at(-2)) : "";
    const [first] = found, call = found.flatMap(({ parts }) => parts).find(({ open, name }) => open === "(" && name);
    if (/[\])]$|\.\w+$/.test(into) && !call) return not(`The write into ${into} isn't drawn.`);
    const whole = first ? textOf(first) : "", of = first && textOf(first, first.parts.length - 1);
    const index = /\[([A-Za-z_]\w*)\]$/.exec(whole)?.[1];
    if (index) return not(`If ${index} is a number or an index tensor without dimensions, ${whole} is a view. If it is a list or a tensor with dimensions, it is a copy.`);
    if (/\)\[-?\d+\]$/.test(whole)) return not(`If ${of} returns a tensor, ${whole.slice(of.length)} is a view of it. If it returns a list or a tuple, ${whole.slice(of.length)} is the item itself.`);
    if (/\.copy\(\)$/.test(whole)) return not("A tensor has no copy(). That of an array makes new memory; that of a dict or list holds the same tensors.");
    if (!call) return not("This line has no call on a tensor.");
    const receiver = first && textOf(first, first.parts.indexOf(call));
    if (isModule(receiver)) return not(looksLike(receiver));
    return not(`No picture: the explorer can't draw ${call.text}, because this site didn't run it.`);
  };
  const isProse = (tokens) => tokens.every((one) => NAME.test(one)) && tokens.length > 1 || tokens.some((one, at) => NAME.test(one) && !KEYWORD.test(one) && !KEYWORD.test(tokens[at - 1] ?? "=") && !/^[rbfu]{0,2}["']/.test(one) && /^[\p{L}_\d)\]}]/u.test(tokens[at - 1] ?? ""));
  const codes = new Set([...Object.keys(rows), ...Object.values(chips).map((code) => `x${code}`)]);
  const read = (text) => {
    if (codes.has(text)) return single(text, rows[text]?.subject ?? "x", {});
    const lines = text.split("\n").map((line) => line.replace(/^\s*(?:>>>|\.\.\.|In ?\[\d*\]:|[-+]\s)\s*/, "").replace(/(^|\s)#.*/, "").trim()).filter(Boolean);
    const joined = lines.reduce((all, line) => (([...(all.at(-1) ?? "")].filter((one) => CLOSES[one]).length > [...(all.at(-1) ?? "")].filter((one) => /[)\]}]/.test(one)).length) ? [...all.slice(0, -1), `${all.at(-1)} ${line}`] : [...all, line]), []);
    let refused = null;
    for (const line of joined.slice(0, 9)) {
      if (line.length > 400) return not(`That is ${line.length} characters. A line of code has at most 400.`, { words: true });
      const { found, odd } = tokensOf(line);
      if (odd) return not(/\p{L}\s+\p{L}{2}/u.test(line) ? "" : `“${odd}” is not Python.`, { words: true });
      if (/^<\/?\w/.test(line)) return not("That is markup, not Python.");
      if (isProse(found)) return not("", { words: true });
      try {
        const head = /^(?:with|for|if|elif|while|else|try)$/.test(found[0]) ? split(found, /^:$/) : [found];
        const body = head.slice(1).flat().length ? head.slice(1).reduce((all, one) => [...all, ...(all.length ? [":"] : []), ...one], []) : found;
        const statements = split(body, /^;$/).filter((one) => one.length);
        for (const one of statements) {
          const told = readStatement(one, joined.join("; "));
          if (told?.code) return { ...told, whole: told.whole && statements.length === 1 && joined.length === 1, said: told.said || told.around || "" };
          refused ??= told;
        }
        const block = /^with torch\.(no_grad|inference_mode)\(\):/.exec(line)?.[1];
        const example = block && Object.keys(rows).find((code) => code.startsWith(`with torch.${block}():`) && code.includes("* 2"));
        if (example) return single(example, "x", { when: ["the block holds y = x * 2"] });
        refused ??= refusal(statements[0] ?? [], line);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        refused ??= not(error.message);
      }
    }
    return refused ?? not("");
  };

  // -- "A or B?" and a query: the calls that they name -----------------------------------------
  const MEANT = {
    "=": "y = x", assignment: "y = x", "shallow copy": "copy.copy(x)", "deep copy": "copy.deepcopy(x)",
    slice: "x[:, :2]", slicing: "x[:, :2]", index: "x[0]", indexing: "x[0]", mask: "x[mask]",
    masking: "x[mask]", array: "np.array(x)",
  };
  // Everyday words: two of them are no calls ("copy or view?"), nor is one in a sentence.
  const WORDS = new Set(("array buffer copy cpu cuda data gpu image index list load model " +
    "parameter parameters row save share state tensor view").split(" "));
  const PLAIN = new Set([...WORDS, ...("add apply array buffer chunk copy cpu cuda data diagonal double dropout " +
    "empty expand flatten flip float gather gpu half identity image index item list load mask model " +
    "mul narrow numpy parameter parameters permute real repeat roll row save select share slice " +
    "split squeeze stack state step sum t take tensor to transpose unfold view where").split(" ")]);
  const bare = (text) => text.toLowerCase().replace(/[`"“”?]|\(\)/g, "").replace(/[ _]+(?!$)/g, "");
  const nameOf = (code) => bare(code.replace(/^with torch\.(\w+)[^]*/, "$1")
    .replace(/\)\n[^]*/, ")").replace(/^x\[[^\]]*\](?=\.)/, "x").replace(/\)(?:\[\d\]|\["\w+"\]|\.weight)$/, ")")
    .replace(/\([^]*\)$/, "").split(".").at(-1));
  const named = new Map(); // by what people call it: the codes of a call, a chip's first
  const name = (word, code) => named.set(word, [...(named.get(word) ?? []), code]);
  for (const [key, code] of Object.entries(chips)) if (key !== "copy" && code[0] === ".") name(nameOf(`x${code}`), `x${code}`);
  for (const code of Object.keys(rows).sort((a, b) => a.length - b.length))
    if (!/out=|^y = x$|^x\[[^\]]*\]$|\].*\]|\n.*\n/.test(code)) name(nameOf(code), code);
  const subjectOf = (code) => (/\bmodule\b/.test(code) ? "module" : rows[code]?.subject ?? "x");
  const callsOf = (side) => {
    const meant = MEANT[side.toLowerCase()] ?? side.replace(/^numpy\./, "np.");
    if (rows[meant]) return [meant];
    const [, of, word] = /^(?:(\w+)\.)?([\w ]+)(?:\(\))?$/.exec(meant.replace(/^[.`]|`$/g, "").replace(/^(?:x|tensor)\./, "")) ?? [];
    const alike = (named.get(bare(word ?? "")) ?? []).filter((code) => !of || code.startsWith(`${of}.`));
    const exact = alike.filter((code) => code.includes(word)); // torch.Tensor or torch.tensor
    if (alike.length) return exact.length ? exact : alike;
    const told = [/^\.?\w+(?:\(|\.)/.test(side) ? `x.${side.replace(/^\./, "")}` : side, side].map(read);
    const one = told.find(({ code, unread }) => code && !unread);
    return one ? [one.code] : [];
  };
  const pair = (text) => {
    const sides = text.replace(/\?+$/, "").split(/\s+(?:vs\.?|versus|or)\s+/i).map((side) => side.trim());
    if (sides.length !== 2 || sides.every((side) => WORDS.has(side.toLowerCase()))) return null;
    const found = sides.map(callsOf);
    if (!found.every((one) => one.length)) return null;
    // One side of a module or an array: the other one too, if it can be.
    const kind = ["module", "a"].find((it) => found.some((all) => all.every((code) => subjectOf(code) === it)) ||
      (it === "a" && found.every((all) => all.some((code) => subjectOf(code) === it))));
    return found.map((all) => all.find((code) => kind && subjectOf(code) === kind) ?? all[0]);
  };
  const idsOf = (codes) => {
    const ids = codes.map((code) => rows[code]?.id ?? Object.values(rows).find(({ id }) => id === chipId(code))?.id);
    return ids.every(Boolean) && ids.length < 3 ? [...new Set(ids)] : [];
  };
  const chipId = (code) => ({ "x.view(-1)": "view", "x.reshape(-1)": "reshape" })[code] ?? "";
  const cards = (asked) => {
    const query = asked.replace(/\s#(?!\d)[^\n]*/g, "").trim().replace(/\?+$/, "");
    if (query.length > 120 || /\n|\w(?:Error|Warning)\b/.test(query)) return []; // a message, or a program
    const [, one, other] = /\bbetween\s+(\S+) and (\S+)/i.exec(query) ?? /^.*?(\S+) (?:vs\.?|versus|or) (\S+)/i.exec(query) ?? [];
    const both = pair(query) ?? (one ? pair(`${one} or ${other}`) : null);
    if (both) return idsOf(both);
    if ([one, other].some((side) => side && (/[(._]/.test(side) || (named.has(bare(side)) && !PLAIN.has(side))) && !/^\w+\(\)$/.test(side))) return [];
    const [part] = /\.?[\w.]*(?:\w\[[^\]]*\]|\w\([^]*\)|\w\.\w+)[^\s]*/.exec(query.replace(/\b(?:float|int|bool|list|sum|max|min)\(\)/g, "")) ?? [];
    for (const code of part ? [query, part, `x.${part.replace(/^\./, "")}`] : [query]) {
      const told = read(code);
      if (told.code && (told.unread || told.around)) return [];
      if (told.code) return idsOf([...told.steps.map((step) => step.code), ...(told.steps.length === 1 && told.or ? [told.or] : [])]);
    }
    if (part) return [];
    const text = query.toLowerCase().replace(/deep[- ]cop(?:y|ied|ies)/g, "deepcopy").replace(/\b(no|state|inference|from)[- ](grad|dict|mode|numpy)\b/g, "$1_$2");
    if (/\b(?:numpy|np|nd-?)[ -]?arrays? (?:in)?to (?:a )?(?:torch |pytorch )?tensor/.test(text)) return ["from-numpy"];
    if (/\btensor to (?:a )?(?:numpy|nd-?array)/.test(text)) return ["numpy"];
    if (/\boptim|scheduler/.test(text)) return [];
    const words = [...new Set(text.match(/[a-z_]\w*/g) ?? [])].filter((word) => named.has(bare(word)) && (!PLAIN.has(word) || text === word));
    const of = /\b(?:model|module|network|net)\b/.test(text) ? "module" : "x";
    return idsOf(words.map((word) => { const all = named.get(bare(word)); return all.find((one) => subjectOf(one) === of) ?? all[0]; }));
  };
  return { read, pair, cards };
};
