// Reads a reader's line of code as a chain of the explorer's calls. Nothing runs: the
// line is cut into tokens, and calls are known by how they are written.
window.explorerLine = (() => {
  "use strict";
  const { isModule, methodOf } = window.codeNames;
  const LONGEST = 400; // characters of a line of code that somebody typed
  const TOKEN = /\s+|#.*|[rbfu]{0,2}(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|[\p{L}_][\p{L}\p{N}_]*|\d[\w.]*|\.\.\.|[-+*/%@&|^<>=!:]=|->|\*\*|\/\/|<<|>>|[-+*/%@&|^<>=:.,;()[\]{}~]/uy;
  const PAIRS = { "(": ")", "[": "]", "{": "}" };
  const KEYWORDS = /^(?:return|yield|await|not|and|or|in|is|if|else|for|lambda|assert|del|with|as|while|elif|raise|import|from|def|class|async)$/;
  const NAME = /^[\p{L}_]/u;

  const tokensOf = (text) => {
    const found = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
      const at = TOKEN.lastIndex, token = TOKEN.exec(text)?.[0];
      if (token === undefined) return { odd: [...text.slice(at)][0] };
      if (/\S/.test(token) && token[0] !== "#") found.push(token);
    }
    return { found };
  };

  // Two words side by side, or a word behind a bracket: a sentence, no line of Python.
  const isProse = (tokens) => (tokens.length > 1 && tokens.every((token) => NAME.test(token))) || tokens.some((token, at) => {
    const before = tokens[at - 1] ?? "";
    return NAME.test(token) && !KEYWORDS.test(token) && !KEYWORDS.test(before) &&
      !/^[rbfu]{0,2}["']/.test(token) && (NAME.test(before) || /^[)\]}]$/.test(before) || /^\d/.test(before));
  });

  // Code as a person types it: no space within calls, one after commas.
  const write = (tokens) => tokens.map((token, at) => {
    const before = tokens[at - 1] ?? "";
    const word = (one) => /^[\p{L}\p{N}_"']/u.test(one);
    if (token === ",") return ", ";
    return (word(token) && word(before.slice(-1)) ? " " : "") + (token[0] === "'" ? token.replaceAll("'", '"') : token);
  }).join("").replace(/, ([)\]])/g, "$1");

  // The places of a sign outside of all brackets.
  const outside = (tokens, sign) => {
    let depth = 0;
    return tokens.flatMap((token, at) => {
      depth += PAIRS[token] ? 1 : ")]}".includes(token) ? -1 : 0;
      return depth === 0 && sign.test(token) ? [at] : [];
    });
  };
  // Of several statements the first that has a dot, without the head of its block.
  const BLOCK = /^(?:with|for|if|elif|while|else|try)$/;
  const statementOf = (tokens) => {
    const colon = BLOCK.test(tokens[0]) ? outside(tokens, /^:$/)[0] : undefined;
    const body = tokens.slice(colon + 1).length ? tokens.slice(colon + 1) : tokens;
    const ends = [-1, ...outside(body, /^;$/), body.length];
    const all = ends.slice(1).map((end, at) => body.slice(ends[at] + 1, end));
    return all.find((one) => one.includes(".")) ?? all[0];
  };

  // All primaries of a row of tokens: a name, text or bracket, and what hangs on it.
  // What stands in brackets is looked through as well.
  const primariesOf = (tokens) => {
    const found = [];
    const closing = (at) => {
      const open = [];
      for (let place = at; place < tokens.length; place++) {
        if (PAIRS[tokens[place]]) open.push(PAIRS[tokens[place]]);
        else if (")]}".includes(tokens[place]) && open.pop() !== tokens[place]) return -1;
        if (!open.length) return place;
      }
      return -1;
    };
    for (let at = 0; at < tokens.length; at++) {
      const begins = NAME.test(tokens[at]) ? !KEYWORDS.test(tokens[at]) : PAIRS[tokens[at]];
      if (!begins || tokens[at - 1] === ".") continue;
      let end = at;
      const trailers = [];
      const take = (to) => { trailers.push(tokens.slice(end + 1, to + 1)); end = to; };
      if (PAIRS[tokens[at]] && (end = closing(at)) < 0) return null;
      const head = tokens.slice(at, end + 1);
      for (;;) {
        const next = tokens[end + 1];
        if (next === "." && NAME.test(tokens[end + 2] ?? "")) {
          const call = tokens[end + 3] === "(" ? closing(end + 3) : end + 2;
          if (call < 0) return null;
          take(call);
        } else if (next === "(" || next === "[") {
          const close = closing(end + 1);
          if (close < 0) return null;
          take(close);
        } else break;
      }
      found.push({ head, trailers });
      // A bare bracket is looked through by the steps to come.
      const inner = trailers.filter((one) => one.length > 2).flatMap((one) => {
        const open = one.findIndex((token) => PAIRS[token]);
        return open < 0 ? [] : [one.slice(open + 1, -1)];
      });
      for (const part of inner) {
        const within = primariesOf(part);
        if (within) found.push(...within);
      }
      if (!PAIRS[tokens[at]]) at = end;
    }
    return found;
  };

  // The chip that a trailer is, and whether it is drawn without something.
  const GPU = /^(?:[\w.]*device\w*(?:\[.*\]|\(.*\))?|\w*[dD]ev|"(?:cuda|mps|xpu)(?::\d+)?"|torch\.device\("(?:cuda|mps|xpu).*"\)|DEVICE)$/;
  const chipOf = (tokens, calls) => {
    const text = write(tokens);
    for (const key in calls) if (text === write(tokensOf(calls[key]).found)) return [key];
    const [, name, inside] = /^\.(\w+)(?:\((.*)\))?$/s.exec(text) ?? [];
    const called = inside !== undefined;
    if (/^\[-?\d+\]$/.test(text)) return "first" in calls ? ["first", text !== "[0]"] : null;
    const plain = (inside ?? "").replace(/,? ?non_blocking=\w+/, "").replace(/^device=/, "");
    const less = plain !== inside;
    if (name === "cuda" && called && "to" in calls) return ["to", true];
    if (name === "to" && called) {
      const dtype = plain.replace(/,? ?dtype=[\w.]+/, "").replace(/,? ?copy=True/, "");
      if (dtype !== plain) return /^"cpu", copy=True$/.test(plain) ? ["to-copy", less] : null;
      if (/^(?:torch\.device\()?"cpu"\)?$/.test(plain)) return ["cpu", true];
      if (GPU.test(plain) && "to" in calls) return ["to", plain !== "device" || less];
      return null;
    }
    if (name === "requires_grad_" && /^(?:requires_grad=)?True$/.test(plain)) return [name, true];
    // Another memory_format has other strides: only this one is the default.
    if (name === "clone" && /^(?:memory_format=torch\.preserve_format)?$/.test(inside ?? "-")) return [name, true];
    if ((name === "T" || name === "mT") && !called) return ["t", true];
    if ((name === "transpose" || name === "permute") && called) return ["t", true];
    if (name === "reshape" || name === "flatten") return called ? ["reshape", true] : null;
    if (name === "view" && called && !/dtype|torch\./.test(plain)) return [name, true];
    return null;
  };

  // Calls that do the same to memory and gradient with all arguments.
  const ANY = /^(?:(?:un)?squeeze|expand|repeat|repeat_interleave|chunk|split|narrow|select|index_select|gather|flip|roll|unbind|movedim|unfold|diagonal|tril|masked_select|item)$/;
  // torch.clone(x) is x.clone().
  const asMethod = ({ head, trailers }) => {
    const [name, ...rest] = trailers;
    if (head[0] !== "torch" || !name || name[0] !== "." || name[2] !== "(") return null;
    if (!/^(?:clone|detach|t|reshape|transpose|permute|flatten)$/.test(name[1]) && !ANY.test(name[1])) return null;
    let depth = 0, comma = name.length - 1;
    for (let at = 3; at < name.length - 1; at++) {
      if (PAIRS[name[at]]) depth++;
      else if (")]}".includes(name[at])) depth--;
      else if (name[at] === "," && !depth) { comma = at; break; }
    }
    const [of] = primariesOf(name.slice(3, comma)) ?? [];
    if (!of) return null;
    const call = [".", name[1], "(", ...name.slice(comma + 1, -1), ")"];
    return { head: of.head, trailers: [...of.trailers, call, ...rest] };
  };

  const asCast = (trailer) => {
    const [, dtype] = /^\.to\((?:dtype=)?torch\.(\w+)\)$/.exec(write(trailer)) ?? [];
    return dtype ? [".", methodOf(dtype), "(", ")"] : null;
  };

  // In-place calls that write values: all that a picture of one says is true of another.
  // Some write what has nothing to do with x's old values, and no gradient flows to those.
  const WRITES = /^\.(?!(?:t|(?:un)?squeeze|transpose|swap\w+|resize\w*|set|requires_grad|detach|share_memory|as_strided|rename|_\w*)_\()\w+_\(/;
  const OVERWRITES = /^\.(?:zero|fill|normal|uniform|random|bernoulli|exponential|log_normal|cauchy|geometric)_\(/;
  const CHANGING = /^\.(?:add|sub|mul|div|neg|exp|sqrt|relu|sigmoid|tanh|clamp|clamp_min|clamp_max|clip|addcmul|addcdiv|lerp)_\(/;
  // A write may take another tensor, and with it that tensor's graph.
  const takes = (writes) => /\p{L}/u.test(writes.join("").replace(/\.\w+_\(|\w+=|[\w.]+\.(?:detach\(\)|item\(\)|data|grad)\b|True|False|None/g, ""));
  const THROUGH = { ".data": "x.data.add_(1)\ny = x", ".detach()": "x.detach().add_(1)\ny = x" };
  // How calls are written of which a row of the Atlas is true, and where x stands in them.
  const LIBRARY = /^(?:torch|np|numpy|nn|F|copy|jnp|tf|cv2|plt|math|random)(?:\.|$)/;
  const NAMED = "([\\p{L}\\p{N}_.]+)", ARRAY = "\\((.*(?:\\bnp\\.|numpy|\\.values\\b|\\.copy\\(\\)).*)\\)$";
  const DICT = "^(?!.*(?:optim|sched|scaler)).*\\.load_state_dict\\((.*?", LOADED = 'module.load_state_dict({"weight": x}';
  const FORMS = Object.entries({
    [`^torch\\.(?:zeros|empty|ones|full|randn?|randint)_like\\(${NAMED}(?:,(?!.*(?:requires_grad|dtype|device)).*)?\\)$`]: "torch.zeros_like(x)",
    "^(.+)\\.new_(?:zeros|empty|ones|full)\\((?!.*(?:requires_grad|dtype|device))": "torch.zeros_like(x)",
    [`^(?:torch\\.)?(?:nn\\.)?init\\.\\w+_\\(${NAMED}(?:,.*)?\\)$`]: "nn.init.zeros_(x)",
    ...Object.fromEntries(["stack", "cat"].map((name) => [`^torch\\.${name}\\((.+)\\)$`, `torch.${name}([x, x])`])),
    ...Object.fromEntries(["tensor", "as_tensor", "asarray", "Tensor"].map((name) => [`^torch\\.${name}${ARRAY}`, `torch.${name}(a)`])),
    "^torch\\.from_numpy\\((.+)\\)$": "torch.from_numpy(a)",
    "^(?:copy\\.)?deepcopy\\((.*\\.state_dict\\(\\))\\)$": "copy.deepcopy(x)",
    [`${DICT}), assign=True\\)$`]: `${LOADED}, assign=True)\ny = module.weight`,
    [`${DICT})\\)$`]: `${LOADED})\ny = module.weight`,
  }).map(([form, row]) => [new RegExp(form, "u"), row]);
  // What has whole numbers requires no grad.
  const WHOLE = /\.(?:byte|u?int\d*|long|short|bool|nonzero|arg\w+)\(|torch\.(?:u?int\d+|long|bool|arg\w+)\b|\.(?:max|min|topk|sort)\([^()]*\)\[1\]|[<>]|[!=]=/;
  // Modules have these as well: of `net.layer.half()` it isn't known what is meant.
  const OF_MODULES = /^\.(?:half|float|double|bfloat16|cuda|cpu|share_memory|requires_grad_|zero_grad)\b/;
  const OF_TENSORS = /(?:\.(?:weight|bias|grad|data|logits)|\))$/;
  // What repeats a call, or binds what it returns, is no other part of the line.
  const AROUND = /^(?:(?:for|if) [^:…]+:[;\s]*)?(?:(?:tuple|list|print)?[[({](?:[^…:]+:\s*)?…(?: for [^…]+? in (?:(?! if )[^…])+)?[\])}]|…[)\]}]*)$/;
  const OFF = /^with torch\.no_grad\(\):[;\s]*/;
  const MOST = 100; // characters of what is left of a line
  const BATCH = /^(?:batch|samples?|data|inputs?|targets?|labels?|images?|imgs?)(?:\[[^\]]*\])?$/;
  const AWAY = /(?:^|[._])(?:cuda|gpu)(?:$|[._(\d])|_(?:cuda|gpu)$/i; // what x is called, if it is on a GPU
  const NON_BLOCKING = ['x.to("cpu", non_blocking=True)', "x.to(device, non_blocking=True)"];

  // Lines whose brackets are open go on in the next one.
  const logical = (lines) => lines.reduce((joined, line) => {
    const open = [...(joined.at(-1) ?? "")].reduce((sum, one) => sum + "([{".includes(one) - ")]}".includes(one), 0);
    return open > 0 ? [...joined.slice(0, -1), `${joined.at(-1)} ${line}`] : [...joined, line];
  }, []);

  // What may not be left out behind what is drawn: another dtype is a copy, a write changes
  // values. x is float32, so to float32 nothing happens.
  const CHANGES = /^\.(?:(?:to|type)\((?!(?:dtype=)?torch\.float(?:32)?\)$)|(?:half|double|long|int|short|bool|bfloat16|type_as)\(|\w+_\()/;
  const CASTS = /^x\.(?:float|double|half|bfloat16|long)\(\)$/; // another dtype, unless x has it
  const notInChain = (call, near) => ({
    said: `No picture: ${call} changes the tensor or its dtype, and the explorer can't draw it there.`,
    near,
  });

  // What a line writes into: `w.data -= ...`, `x[0] = ...`; a plain name is bound anew.
  const writtenIn = (tokens, sign) => {
    const into = write(tokens);
    return sign !== "=" || (tokens.at(-1) === "]" && tokens.length > 1 && tokens[0] !== "[") || /\.(?:data|grad|requires_grad)$/.test(into) ? into : "";
  };

  // How many letters two names differ by.
  const away = (one, other) => {
    let row = [...Array(other.length + 1).keys()];
    for (let i = 1; i <= one.length; i++) {
      const next = [i];
      for (let j = 1; j <= other.length; j++)
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (one[i - 1] !== other[j - 1]));
      row = next;
    }
    return row[other.length];
  };
  const nearest = (name, calls, names) => {
    const letters = (text) => text.match(/\w+/)?.[0] ?? "";
    const all = [
      ...Object.entries(calls).map(([key, code]) => [letters(code), { chain: [key] }]),
      ...names.map((code) => [(/[.](\w+)\W*$/.exec(code.replace(/\n[^]*|\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\]/g, "")) ?? [])[1] ?? "", { row: code }]),
    ];
    const near = all.map(([of, found]) => [away(name.toLowerCase(), of.toLowerCase()), found])
      .sort((a, b) => a[0] - b[0])[0];
    return near && near[0] <= (name.length > 5 ? 2 : name.length > 2 ? 1 : 0) ? near[1] : null;
  };

  /**
   * Read a line. `calls` are the chips' codes by their keys, `names` the codes of single
   * calls that the Atlas has, with x or a. Returns `chain` or `row` for what can be
   * shown, `only` if that is a part of the line, `x` for what x stands for and its kind
   * as `state`, `said` for the reader, `near` for what to offer, `see` for another row.
   */
  return (text, calls, names, most) => {
    if (text.includes("\n") && names.includes(text)) return { row: text, x: "x", said: "" };
    const lines = logical(text.split("\n").map((line) => line.replace(/^\s*(?:>>>|\.\.\.|In ?\[\d*\]:|[-+]\s)\s*/, "").replace(/(^|\s)#.*/, "").trim()).filter(Boolean));
    // Of several lines the first that can be drawn.
    const all = [...new Set(lines.filter((one) => /[.(].*[^:]$/.test(one)).concat(lines))].slice(0, 9);
    let first;
    for (const line of all) {
      const found = readLine(line, lines, calls, names, most);
      if (found.chain ?? found.row) return found;
      first ??= found;
      if (first.words) break;
    }
    return first ?? { said: "" };
  };

  function readLine(line, lines, calls, names, most) {
    if (line.length > LONGEST) return { said: `That is ${line.length} characters. A line of code has at most ${LONGEST}.`, words: true };
    const { found, odd } = tokensOf(line);
    const sentence = /\p{L}\s+\p{L}{2}/u.test(line); // with "model's" in it, say
    if (!found) return { said: sentence ? "" : `“${odd}” is not Python.`, words: true };
    if (/^<\/?\w/.test(line)) return { said: "That is markup, not Python." };
    if (isProse(found)) return { said: "", words: true };
    const code = lines.join("; ").slice(0, 5 * LONGEST);
    const statement = statementOf(found);
    const equals = outside(statement, /^(?:=|[-+*/@%&|^]=)$/).at(-1) ?? -1;
    const right = statement.slice(equals + 1);
    if (/^(?:return|yield|await)$/.test(right[0])) right.shift();
    const into = equals > 0 ? writtenIn(statement.slice(0, equals), statement[equals]) : "";
    const written = into && `The write into ${into} isn't drawn.`;
    // A line that goes on in the next one.
    while (right.length && /^[,;:\\]$/.test(right.at(-1))) right.pop();
    const primaries = primariesOf(right);
    if (!primaries) return { said: "A bracket is missing, or there is one too many." };
    const key = (tokens, name) => write(tokens.map((token) => (token === name ? "·" : token)));
    const rows = new Map(), ofArrays = new Map();
    for (const row of names) {
      const tokens = tokensOf(row).found ?? [];
      if (tokens.includes("x")) rows.set(key(tokens, "x"), row);
      else ofArrays.set(key(tokens, "a"), row);
    }
    const tokensIn = ({ head, trailers }, count = trailers.length) => [...head, ...trailers.slice(0, count).flat()];
    const wholeOf = (one) => write(tokensIn(one));
    // What is said first where the tokens that are drawn are only a part of what was typed.
    const only = (tokens) => {
      const place = new RegExp(tokens.map((one) => one.replace(/\W/g, "\\$&")).join("\\s*"));
      const left = code.replace(place, "…").replace(OFF, "").replace(into ? "" : /^[^()=…]*[^()=…!<>]=(?!=)\s*/, "")
        .replace(/^(?:return|yield|await)\s+|[\s,;:\\]+$/g, "");
      const [, copied] = /^…(?:\.\w+(?:\([^()]*\))?)*(\.(?:clone|copy)\(\))/.exec(left) ?? [];
      return AROUND.test(left) ? "" : `${copied ? `${copied} makes new memory. ` : ""}Of this ${lines.length > 1 ? "code" : "line"} only ${write(tokens)} is drawn. This says nothing about ${left.length > MOST ? `${left.slice(0, MOST)} …` : left}.`;
    };
    // The kind of x, as far as the code tells: what x is, or what a loop takes it from.
    const kindOf = (x, layout) => {
      const [name] = /^[\p{L}_][\p{L}\p{N}_]*/u.exec(x) ?? [""];
      const from = [...code.matchAll(/\bfor\s+([^:=]+?)\s+in\s+(.*?)(?=:(?:[\s;]|$)|\bfor\b|\bif\b|$)/g)]
        .filter(([, targets]) => targets.split(/[^\p{L}\p{N}_]+/u).includes(name)).map(([, , of]) => of);
      const [, was = ""] = (x === name && new RegExp(`(?:^|; )${name}\\s*=\\s*([^;]*)`, "u").exec(code)) || [];
      const made = was.split(/[^\p{L}\p{N}_]+/u).includes(name) ? "" : was; // x = x.detach() says nothing of the old x
      const all = [x, made, ...from].join(" "), off = OFF.test(code);
      // What a loader gives, or what is called as if it did.
      if (from.some((of) => /load|data|batch|\bdl\b/i.test(of)) || BATCH.test(x)) return "constant";
      if (/(?:keep_vars|requires_grad)=True/.test(all)) return "leaf";
      if (layout && /\.(?:expand\w*|permute|transpose|narrow|unfold|diagonal|as_strided|swap\w+|movedim|m?T|t)\b|\[[^\]]*,/.test(x)) return "view";
      if (/state_dict|buffers\(\)|\.grad\b|\bsd\[|ckpt|checkpoint|torch\.load\(/.test(all) || WHOLE.test(x) ||
          /\.detach\(\)|\.data\b|torch\.(?:as_)?(?:tensor|from_numpy|zeros|ones|rand\w*|empty|arange)\(/.test(made || x)) return "constant";
      if (/parameters\(/.test(all)) return off ? "no_grad" : "leaf";
      return /\(/.test(x) ? (off ? "constant" : "nonleaf") : off ? "no_grad" : "";
    };
    // What is shown, with all that is known of it: `tokens` are what was typed of it.
    const shown = (what, tokens, said) => {
      const state = /\ba\b/.test(what.row?.replace(/\n[^]*/, "") ?? "") && !/\bx\b/.test(what.row) ? "" : what.state ?? kindOf(what.x, what.chain?.some((call) => /contiguous|view|reshape/.test(call)));
      const see = NON_BLOCKING[/["']cpu["']/.test(write(tokens)) ? 0 : 1];
      return {
        near: null, ...what, state, only: only(tokens), away: AWAY.test(what.x),
        more: what.more || /requires_grad=True/.test(what.x),
        see: /non_blocking=(?!False)/.test(write(tokens)) && names.includes(see) && see,
        said: [...said, state === "view" && what.chain?.includes("contiguous") && "If x is contiguous (one channel, say), contiguous() returns x itself.", what.row === "torch.Tensor(a)" && "a is a float32 array here. An array of another dtype is copied.", state === "constant" && /state_dict\(/.test(code) && "The tensors in a state_dict are detached: they don't require grad."].filter(Boolean).join(" "),
      };
    };
    // What is given to from_numpy is an array, and no call of a tensor.
    const isFromNumpy = ({ head, trailers: [name] }) => head[0] === "torch" && name?.[1] === "from_numpy" && name[2] === "(";
    const arrays = primaries.filter(isFromNumpy).flatMap(({ trailers: [name] }) => primariesOf(name.slice(3, -1)) ?? []).map(wholeOf);
    // A write in place is all that matters of its line.
    const looked = primaries[0]?.trailers.some((one) => /^\.\w+_\(/.test(write(one))) ? primaries.slice(0, 1) : primaries;
    const alone = ({ head, trailers }) => {
      const same = asRow({ head, trailers });
      if (CASTS.test(same?.row)) same.said = `x is float32 here.${same.row === "x.float()" ? " From another dtype it copies." : ""}`;
      const cast = !same && trailers.length && asCast(trailers.at(-1));
      const other = cast && asRow({ head, trailers: [...trailers.slice(0, -1), cast] });
      return other ? { ...other, said: `${write(trailers.at(-1))} is drawn as ${other.row}. x is float32 here.` } : same;
    };
    const asRow = ({ head, trailers }) => {
      // The call as a row of the Atlas: what it is called on, or with, is any name.
      const whole = [...head, ...trailers.flat()];
      for (const { head: of } of [{ head }, ...trailers.flatMap((one) => primariesOf(one.slice(one.indexOf("(") + 1, -1)) ?? [])]) {
        const same = of.length === 1 && key(whole, of[0]);
        const [row, other] = [rows.get(same), ofArrays.get(same)];
        if (row && other)
          return { row, x: of[0], near: { row: other }, said: "Read as a call on a tensor; a is an array." };
        if (row ?? other) return { row: row ?? other, x: of[0], said: "" };
      }
      const typed = write(whole), plain = !trailers.slice(0, -1).some((one) => one.includes("("));
      for (const [form, row] of plain ? FORMS : []) {
        const [, of] = form.exec(typed) ?? [], many = /\[x, x\]|deepcopy|load_state/.test(row);
        if (of && names.includes(row)) return { row, x: many ? `each tensor of ${of}` : of, said: `Drawn as ${row.replace("\ny = module.weight", "")}.` };
      }
      // A call on a part of something, or with other arguments: `layer.weight.squeeze(1)`.
      for (let at = 0; at < trailers.length; at++) {
        const x = wholeOf({ head, trailers: trailers.slice(0, at) }), call = write(trailers[at]);
        const [, name] = /^\.(\w+?)(?:_as)?\(/.exec(call) ?? [];
        const any = ANY.test(name) && /^(?:\[-?\d+\])?$/.test(write(trailers.slice(at + 1).flat())) &&
          names.find((row) => row.startsWith(`x.${name}(`) || row.endsWith(`].${name}()`));
        const row = rows.get(write(["·", ...trailers.slice(at).flat()])) ?? any;
        if (row && !(row === "x[0]" && x.endsWith(")")) && !LIBRARY.test(x) && (!OF_MODULES.test(call) || OF_TENSORS.test(x)))
          return { row, x, said: row === any ? `${call} is drawn as ${row}.` : "" };
      }
      // A part by its index.
      const index = /^\[(.*)\]$/.exec(write(trailers.at(-1) ?? []))?.[1];
      const ofCall = /^-?\d+$/.test(index) && trailers.at(-2)?.at(-1) === ")";
      const row = !index || ofCall ? "" : /[<>~]|[!=]=|mask/.test(index) ? "x[mask]" : /\[/.test(index) ? "x[:, [0, 1]]"
        : /^(?:-?\d+|\.\.\.|None|[-\w.]*:[-\w.:]*)(?:, |$)/.test(index) && !/(?:^|, )(?!None)[A-Za-z_]\w*(?:,|$)/.test(index) ? "x[:, :2]" : "";
      if (row && names.includes(row)) return { row, x: wholeOf({ head, trailers: trailers.slice(0, -1) }), said: `[${index}] is drawn as ${row.slice(1)}.` };
      return null;
    };
    // A write in place with any values, of x itself or of another tensor on its memory.
    const inPlace = ({ head, trailers }) => {
      const at = trailers.findIndex((one) => WRITES.test(write(one)));
      if (at < 0 || !trailers.slice(at).every((one) => WRITES.test(write(one)))) return null;
      const writes = trailers.slice(at).map(write), through = at > 0 && THROUGH[write(trailers[at - 1])];
      const row = through || names.find((one) => one === (
        writes.some((one) => one.startsWith(".copy_(")) ? "x.copy_(torch.ones(2, 3))"
          : writes.some((one) => OVERWRITES.test(one)) ? "x.zero_()"
            : writes.every((one) => CHANGING.test(one)) ? "x.add_(1)" : ""));
      const x = wholeOf({ head, trailers: trailers.slice(0, through ? at - 1 : at) });
      return row && names.includes(row) && !/^(?:torch|F|nn|np)$/.test(x)
        ? { row, x, said: `Drawn as ${row.replace("\ny = x", "")}. Only the values differ${!through && !OFF.test(code) && takes(writes) ? ", if the argument doesn't require grad" : ""}.` } : null;
    };
    // `w.data = v`, `w.data[0] = 7`, `w.requires_grad = False`, `b = a`.
    const assigned = () => {
      const to = write(statement.slice(0, equals)), [, x, flag] = /^(.+)\.(data|requires_grad|detach\(\)|numpy\(\))(?:\[.*\])?$/.exec(to) ?? [];
      const value = write(right);
      const index = /\[([^[\]]*)\]$/.exec(to)?.[1] ?? "";
      const row = !flag && /[<>:~]|[!=]=|, |mask/.test(index) ? "x[0] = 7\ny = x" : flag === "requires_grad" ? value === "False" && "x.requires_grad_(False)"
        : flag === "numpy()" ? "x.detach().numpy()[0] = 7\ny = x"
        : flag ? (to.endsWith("]") || statement[equals] !== "=" ? THROUGH[`.${flag}`] : "x.data = torch.ones_like(x)\ny = x")
        : !into && /^[\p{L}_][\w.]*$/u.test(to) && /^(?!None$|True$|False$)[\p{L}_][\w.]*$/u.test(value) && !/\.(?:data|m?T|H|real|imag|shape|dtype|device|requires_grad)$/.test(value) ? "y = x" : "";
      const said = row === "y = x" ? "" : `Drawn as ${row && row.replace("\ny = x", "")}.`;
      return row && names.includes(row) ? { row, x: x?.replace(/\.detach\(\)$/, "") ?? (row === "y = x" ? value : to.replace(/\[[^[\]]*\]$/, "")), said } : null;
    };
    const best = { known: 0 };
    const unknown = [];
    for (const one of looked) {
      const primary = asMethod(one) ?? one;
      const chips = primary.trailers.map((trailer, at) => (at === 0 && LIBRARY.test(primary.head[0]) ? null : chipOf(trailer, calls)));
      // What a call returns may be a tuple: lstm(x)[0] is no row of it.
      chips.forEach((chip, at) => {
        if (chip?.[0] === "first" && !chips[at - 1] && primary.trailers[at - 1]?.at(-1) === ")") chips[at] = null;
      });
      if (arrays.includes(wholeOf(one)) && !chips.some((chip) => /^numpy/.test(chip?.[0]))) continue;
      let run = [];
      chips.concat([null]).forEach((chip, at) => {
        if (chip) run.push(at);
        else {
          if (run.length > best.known)
            Object.assign(best, { known: run.length, run, primary, chips, typed: one });
          run = [];
          const trailer = primary.trailers[at];
          if (trailer && (trailer.includes("(") || trailer[0] === "[")) unknown.push(trailer);
        }
      });
    }
    const [first] = primaries;
    // A module, or what a tensor's call is given: no tensor's answer is true of it.
    const refused = (x, row) => {
      if (CASTS.test(row) && (WHOLE.test(x) || /\.(?:float|double|half|bfloat16|to|type)\(/.test(x))) return { said: `No picture: x is float32 here, and ${x} may have another dtype.` };
      if (isModule(x)) return { said: `${x} looks like a module or an optimizer, but the pictures show tensors.` };
      if (/\.state_dict\([^()]*\)$/.test(x) && !x.startsWith("each"))
        return { said: `${x} is a dict. Its tensors share memory with those of ${x.replace(/\.state_dict\([^()]*\)$/, "")}, and so do those of a shallow copy of it.` };
      return null;
    };
    // A write through an index that may be a list or a tensor.
    const lost = ({ row, x }) => {
      const [, index = ""] = /\[([^[\]]*)\]$/.exec(x) ?? [];
      return /\w_\(/.test(row) && /(?:^|, )(?!None)[A-Za-z_]\w*(?:,|$)/.test(index) ? {
        lost: true,
        said: `No picture: with a list or a mask in [${index}], or a tensor that has dimensions, ${x} is a copy, and the write is lost. With numbers it is a view.`,
      } : null;
    };
    const bound = equals > 0 && assigned();
    if (bound) return refused(bound.x) ?? shown(bound, statement, [bound.said]);
    const writing = first && inPlace(first);
    const single = first && (alone(first) ?? (asMethod(first) && alone(asMethod(first))));
    // The first of what a call returns is a part of that call.
    if (single && best.known < 2 && !(best.known === 1 && best.typed === first && best.chips[best.run[0]][0] !== "first"))
      return refused(single.x, single.row) ?? lost(single) ?? shown(single, tokensIn(first), [single.said, written]);
    if (writing) return refused(writing.x) ?? lost(writing) ?? shown(writing, tokensIn(first), [writing.said]);
    if (!best.known) {
      // The longest beginning that is a row of the Atlas.
      for (const { head, trailers } of looked)
        for (let count = trailers.length; count > 0; count--) {
          const other = alone({ head, trailers: trailers.slice(0, count) });
          const after = write(trailers.slice(count).flat());
          if (other && refused(other.x, other.row)) return refused(other.x, other.row);
          if (other && CHANGES.test(after)) return notInChain(write(trailers[count]), { row: other.row });
          if (other) return shown(other, tokensIn({ head, trailers }, count), [other.said, written]);
        }
      const called = unknown.find((one) => one[0] === ".") ?? first?.trailers.find((one) => one[0] === ".");
      const hasGrad = write(right).includes(`${into}.grad`);
      const added = "x += 1\ny = x", bare = right.every((token) => /^(?:[\p{L}_][\w.]*|\d[\w.]*|[-+*/.])$/u.test(token));
      if (/^[\w.]+$/.test(into) && !/\.(?:data|grad|requires_grad)$/.test(into) && bare && names.includes(added)) return {
        row: added, x: into, more: true,
        state: /no_grad/.test(code) ? "no_grad" : hasGrad ? "leaf" : "nonleaf",
        said: `Drawn as x += 1, a write into the memory of x.${hasGrad ? "" : ` If ${into} is a Python number, such as 0, the line makes a new tensor instead.`}`,
      };
      if (written) {
        if (/\.requires_grad$/.test(into)) return { said: written, near: "requires_grad_" in calls ? { chain: ["requires_grad_"] } : null };
        const rows = /\.grad$/.test(into) ? [] : [/\]$/.test(into) ? "x[0] = 7\ny = x" : "x += 1\ny = x"];
        return { said: written, near: rows.filter((row) => names.includes(row)).map((row) => ({ row }))[0] ?? null };
      }
      const [, block] = /^with torch\.(no_grad|inference_mode)\(\):/.exec(code) ?? [];
      const within = block && !/\w_\(|[^=!<>]=[^=]*$/.test(write(right)) && names.find((row) => row.startsWith(`with torch.${block}():`) && row.includes("* 2"));
      if (within) return shown({ row: within, x: "x", state: "" }, found, ["Drawn with another operation in the block."]);
      const [, list, at] = /^([\w.]+)\[(\w+)\]$/.exec(write(right)) ?? [];
      if (at) return { said: `If ${at} is a number or an index tensor without dimensions, ${list}[${at}] is a view. If it is a list or a tensor with dimensions, it is a copy.`, near: names.includes("x[:, [0, 1]]") ? { row: "x[:, [0, 1]]" } : null };
      const [, of, item] = /^(.*\))(\[-?\d+\])$/.exec(write(right)) ?? [];
      if (item) return { said: `If ${of} returns a tensor, ${item} is a view of it. If it returns a list or a tuple, ${item} is the item itself.`, near: "first" in calls ? { chain: ["first"] } : null };
      if (called?.[1] === "state_dict" && refused(wholeOf(first))) return { ...refused(wholeOf(first)), near: nearest("state_dict", calls, names) };
      if (!called) return { said: "This line has no call on a tensor." };
      const known = [...Object.values(calls), ...names].filter((code) => code.includes(`.${called[1]}(`));
      return {
        said: `No picture: the explorer can't draw ${write(called)}${known.length ? ", because this site didn't run it with these arguments" : ""}.`,
        near: isModule(write(first.head)) ? null : nearest(called[1], calls, names),
      };
    }
    const { primary, run, chips } = best;
    // The first of a list, rather than the first row.
    while (run.length > most && chips[run[0]][0] === "first") run.shift();
    const drawn = run.slice(0, most);
    const before = primary.trailers.slice(0, drawn[0]);
    const after = primary.trailers.slice(drawn.at(-1) + 1);
    const x = write([...primary.head, ...before.flat()]);
    if (refused(x)) return refused(x);
    if (after.length && run.length <= most && CHANGES.test(write(after[0])))
      return notInChain(write(after[0]), { chain: drawn.map((at) => chips[at][0]) });
    const said = [];
    for (const at of drawn) {
      const typed = write(primary.trailers[at]), code = calls[chips[at][0]];
      if (chips[at][1]) said.push(`${typed} is drawn as ${code}.`);
    }
    let near = null;
    if (chips[drawn[0]][0] === "copy") said.push("Tensors have no copy(). The copy() of an array makes new memory.");
    if (run.length > most) said.push("The explorer draws at most three calls.");
    else if (after[0]?.[0] === ".") near = nearest(after[0][1], calls, names);
    if (written) said.push(written);
    const typo = before.filter((one) => one[0] === "." && one.includes("(")).at(-1);
    if (typo && !near) {
      near = nearest(typo[1], calls, []);
      if (near && (write(typo).includes(calls[near.chain[0]]) || drawn.some((at) => chips[at][0] === near.chain[0]))) near = null;
    }
    const { typed } = best, count = Math.max(1, typed.trailers.length - after.length);
    return shown({ chain: drawn.map((at) => chips[at][0]), x, near }, tokensIn(typed, count), said);
  }
})();
// Reads "detach or clone?": what each side is, in people's words.
window.explorerPair = (line, { data, atlas, names, calls, codeOf, isRow }) => {
  const { WORDS } = window.codeNames;
  // What people call a call, where it is not its name.
  const MEANT = {
    "=": "y = x", assignment: "y = x", "shallow copy": "copy", slice: "x[:, :2]",
    slicing: "x[:, :2]", index: "x[0]", indexing: "x[0]", mask: "x[mask]", masking: "x[mask]",
    array: "np.array(x)",
    ...Object.fromEntries("empty ones full rand randn randint".split(" ").map((one) => [`${one}_like`, "torch.zeros_like(x)"])),
  };
  // The calls of a name, chains before rows of the Atlas: each what a lane shows.
  const named = (side) => {
    const plain = side.trim().replace(/^y = |^[.]|[`"“”]|\(\)$/g, "").replace(/^(?:(?:tensor|x)\.)/, "");
    const meant = MEANT[plain.toLowerCase()] ?? plain;
    if (atlas.rows[meant]) return [meant];
    const [, of = "", name] = /^(?:(\w+)\.)?([\w ]+)$/.exec(meant.replace(/^numpy\./, "np.")) ?? [];
    if (!name) return [];
    const is = name.toLowerCase().replace(/[ _]+(?!$)/g, "");
    const same = (code) => {
      if (/out=/.test(code)) return false; // a write, and no sum
      const bare = code.replace(/\)\n[^]*/, ")").replace(/^with (.*):[^]*/, "$1").replace(/^x\[[^\]]*\](?=\.)/, "x").replace(/\)\[\d\]$/, ")").replace(/\([^()]*\)/g, "()").replace(/\([^]*\)/g, "()");
      const [all, one] = /^(?:\w+\.)?(\w+)(?:\(\))?$/.exec(bare) ?? [];
      return all && one.toLowerCase().replace(/_+(?!$)/g, "") === is && (!of || all.startsWith(of));
    };
    const alike = Object.keys(atlas.rows).filter(same).sort((a, b) => a.length - b.length);
    const exact = alike.filter((code) => code.includes(name)); // torch.Tensor or torch.tensor
    const rows = exact.length ? exact : alike;
    // The copy() of an array is no call of a tensor.
    const chips = of ? [] : names.filter((key) => key !== "copy" && same(`x${calls[key]}`)).map((key) => [key]);
    return [...chips, ...rows];
  };
  // Two lanes and how they were read, or the one lane and the side that can't be drawn.
  const twoOf = (line) => {
    const sides = line.split(/\s+(?:vs\.?|versus|or)\s+|\s*\|\s*/i).map((side) => side.trim());
    if (sides.length !== 2 || sides.every((side) => WORDS.has(side))) return null;
    const told = [];
    let more = false;
    const found = sides.map((side) => {
      const known = named(side);
      const bare = /^\.?(\w+\(.*)$/.exec(side)?.[1] ?? /^\.(\w+\.\w+)$/.exec(side)?.[1].concat("()"); // "detach().clone()", ".data.copy_"
      const { chain, row, near, only, x, said: how } = known.length ? {}
        : [bare && data.reads(`x.${bare}`), data.reads(side)].find((one) => one?.chain ?? one?.row) ?? {};
      if (only) told.push(only);
      if (/\(/.test(x)) told.push(`In ${side}, x stands for ${x}.`);
      more ||= Boolean(only) || /\(/.test(x);
      if (how) told.push(only ? how.replace(/The write into .*? isn't drawn\./, "").trim() : how);
      const close = near?.chain ?? near?.row;
      if (chain ?? row) return [chain ?? row, close].filter(Boolean);
      const name = /^\.?(\w{4,})(?:\(\))?$/.exec(side.trim())?.[1];
      // Where the name is spelt otherwise, such as vstack, it is another call.
      const like = name && data.reads(`x.${name}()`).near;
      const lane = like?.chain ?? like?.row;
      return known.length || !lane || !codeOf(lane).includes(`.${name}(`) ? known : [lane];
    });
    if (!found.every((lanes) => lanes.length)) {
      const drawn = found.findIndex((lanes) => lanes.length);
      const isPair = sides.every((side) => /^\S+$|^[\w.]+\(.*\)$/.test(side));
      return drawn >= 0 && isPair && !WORDS.has(sides[drawn]) ? { only: found[drawn][0], not: sides[1 - drawn] } : null;
    }
    // A module on one side: the other call takes one too, if it can.
    const ofModule = (lane) => isRow(lane) && /\bmodule\b/.test(lane);
    if (found.some(([lane]) => ofModule(lane)))
      found.forEach((lanes, at) => {
        const name = /^\w+$/.test(sides[at]) && sides[at];
        const row = name && !ofModule(lanes[0]) && Object.keys(atlas.rows).find((code) => code.includes(`${name}(module)`));
        if (row) lanes.unshift(row);
      });
    // An array on one side: the other one takes an array too, if it can. Calls that both
    // take one are asked about for it: "torch.tensor or torch.as_tensor".
    const ofArray = (lane) => isRow(lane) && atlas.rows[lane].subject === "a";
    const array = found.some((lanes) => lanes.every(ofArray)) || found.every((lanes) => lanes.some(ofArray));
    const lanes = found.map((one) => (array && one.find(ofArray)) || one[0]);
    // Which elements are written to isn't compared.
    if (codeOf(lanes[0]) === codeOf(lanes[1]) && sides.some((side) => side.includes("["))) return null;
    sides.forEach((side, at) => { if (WORDS.has(side) && !codeOf(lanes[at]).startsWith(`x.${side}`)) told.push(`“${side}” is read as ${codeOf(lanes[at])}.`); });
    return { lanes, more, said: [...new Set(told)].filter(Boolean).join(" ") };
  };
  return twoOf(line);
};
// The calls that a question is about: two, or the chain that stands in it.
window.explorerQuestion = (text, isCode, { reads, laneOf, seenOf, isRow }) => {
  const WRITES = /[-+*/]=|(?:\]|\.data|\.grad)\s*=(?!=)/;
  const { rows, half, left } = window.answersIn(text);
  if (half || (isCode && left.length && !WRITES.test(text))) return [];
  if (isCode && rows.length > 1 && !/ (?:or|vs\.?|versus) /i.test(text)) return []; // no pair
  const lanes = rows.map(({ tried }) => tried && laneOf(tried)).filter(Boolean);
  // What is drawn of a write shows the write.
  if (WRITES.test(text)) return lanes.filter((lane) => isRow(lane) && /\ny = x$/.test(lane)).slice(0, 1);
  if (lanes.length > 1 && lanes.every((lane) => seenOf(lane) !== undefined)) return lanes;
  const [code] = text.match(/[\w.]+\.\w+\(.*\)|\w+\.(?:data|T)\b|\w+\[[^\]]+\]/) ?? [];
  const { chain, row, words } = code ? reads(code) : {};
  return (chain ?? row) && !words ? [chain ?? row] : lanes.slice(0, 1);
};
// What the examples of two codes decide, and not their calls: a block's operation, the
// shape where arguments choose it, and how large a copy is then.
window.explorerExamples = (codes) => {
  const one = (pattern) => codes.find((code) => pattern.test(code));
  const blocks = codes.filter((code) => /^with /.test(code)).length;
  const turned = one(/\.(?:t|transpose|permute|movedim)\(|\.m?T$/);
  const keeps = one(/\.(?:view|reshape|flatten|ravel)\(/);
  return {
    blocks,
    sized: one(/\.(?:view|reshape|expand|repeat\w*|narrow|unfold|as_strided|split|chunk|gather|take|\w+_select)\(|\[.*[\d:m]/) !== undefined,
    besides: [
      blocks === 1 && `The block applies to every operation in it. Autograd records none of them, so nothing is kept for backward(). ${one(/^(?!with )/)} applies to x alone, and operations before it stay recorded. x * 2 is an example: it makes new memory without the block too.`,
      ...codes.map((code) => /^x\.float\(\)$|^torch\.Tensor\(a\)$/.test(code) && `${code.includes("(a)") ? "a" : "x"} is float32 here. From another dtype ${code} copies.`),
      turned && keeps && turned !== keeps && `Only ${turned} changes the order of the elements.`,
    ].filter(Boolean),
  };
};
// What two calls differ in, in a sentence or two, and for which other kinds of x.
window.explorerVerdict = (found, { codes, x, differs, others }) => {
  const listed = (words) => [words.slice(0, -1).join(", "), words.at(-1)].filter(Boolean).join(" or ");
  const name = (at) => (codes[at].includes("\n") ? ["The first", "The second"][at] : codes[at]);
  const of = (test) => others.filter(([, seen]) => test(seen)).map(([words]) => words);
  const same = of((seen) => !differs(seen));
  if (!differs(found)) {
    if (same.length === others.length)
      return found.besides.length ? `${found.besides.join(" ")}${/^The block/.test(found.besides[0]) ? "" : " Nothing else differs for any kind of x here."}`
        : "Same memory, gradient, device and layout for every kind of x here, called like this. Other arguments, and later uses of the result, may differ.";
    return found.raises[0] ? "Both raise for this x." : "No difference for this x. Try another kind of x.";
  }
  const said = found.titles.length
    ? [`They differ in: ${found.titles.map((title) => `${title.toLowerCase()} (${found.how(title)})`).join(", ")}.`] : [];
  said.push(...found.besides);
  for (const at of [0, 1]) {
    const raising = of(({ raises }) => raises[at] && !raises[1 - at]);
    if (found.raises[at]) raising.unshift(x);
    // The layout is why it raises, whatever the gradient.
    if (raising.length) said.push(`${name(at)} raises if x is ${listed(raising).replace(/ \(doesn't require grad\)/g, "")}.`);
  }
  if (same.length === others.length) said.push("Same memory, gradient and device for the other kinds of x.");
  else if (same.length) said.push(`No difference if x is ${listed(same)}.`);
  return said.join(" ");
};
