// The explorer on the home page: put calls together, or type a line, and see what probes
// saw of it. All answers are in explorer_data.js and explorer_calls.js, which come with a
// reader's first touch; nothing is computed here but which of them to show.
// The pictures come from conf/tensor_copies/explorer/scenes.py, the words are words.py's.
(() => {
  "use strict";
  const root = document.querySelector(".explorer");
  if (!root) return;
  const find = (name) => root.querySelector(`.explorer-${name}`);
  const FIRST_LETTER = 35;
  const OWN = '.tm-row[data-memory="1"]'; // the memory of y, if it has one
  const element = (name, text, more = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    return Object.assign(made, more);
  };

  // -- What was seen, from the first touch on ----------------------------------------
  let data, texts, lists, calls, names, devices, states, records, atlas;
  const numbers = new Map(); // by device, kind of x and chain
  const keyOf = (...parts) => parts.join(" ");
  const now = { lanes: [["detach"]], x: "", on: "", write: "", at: 0 };
  const chosen = { x: "", on: "" }; // what a line or a pair changes for itself is not kept
  // In pieces: no key waits for it.
  const PIECE = 8; // milliseconds
  const unpack = async () => {
    ({ explorerData: data, explorerCalls: atlas } = window);
    ({ texts, lists, calls } = data);
    const { facts } = data;
    names = Object.keys(calls);
    devices = Object.keys(data.devices);
    states = Object.keys(data.states);
    records = data.outcomes.match(/../gs).map((pair) => {
      const [record, scene] = [0, 1].map((i) => pair.charCodeAt(i) - FIRST_LETTER);
      const seen = { scene: scene ? data.scenes[scene - 1] : null };
      facts.forEach((name, i) => { seen[name] = data.records[record][i]; });
      return seen;
    });
    const same = new Map(); // the shortest chain of those that do the same everywhere
    const whole = new Map();
    const codeOf = (keys) => "x" + keys.map((key) => calls[key]).join("");
    let place = 0;
    const walk = function* (chain, before) {
      const code = chain.join(".");
      const everywhere = [];
      for (const device of devices)
        for (const state of states) {
          const last = numbers.get(keyOf(device, state, before));
          if (chain.length && (last === undefined || records[last].error)) continue;
          const number = data.seen.charCodeAt(place++) - FIRST_LETTER;
          numbers.set(keyOf(device, state, code), number);
          everywhere.push(number);
        }
      if (everywhere.length === devices.length * states.length &&
          !chain.some((one) => data.unknown.includes(one)) &&
          everywhere.some((number) => !records[number].error)) {
        const key = everywhere.join();
        const best = same.get(key);
        const long = (keys) => keys.length * 100 + codeOf(keys).length;
        if (!best || long(chain) < long(best)) same.set(key, chain);
        whole.set(code, key);
      }
      if (chain.length < data.longest)
        for (const call of names) if (canFollow(chain, call)) yield* walk([...chain, call], code);
      yield;
    };
    let due = performance.now() + PIECE;
    for (const _ of walk([], ""))
      if (performance.now() > due) {
        await new Promise((done) => { setTimeout(done); });
        due = performance.now() + PIECE;
      }
    data.shorter = (chain) => {
      const best = same.get(whole.get(chain.join(".")));
      return best && best.length < chain.length ? best : null;
    };
    place = 0;
    for (const seen of records)
      if (seen.scene) seen.picture = data.drawn.charCodeAt(place++) - FIRST_LETTER;
    strong = new Map(data.strong);
    elsewhere = new Map(data.other);
    data.reads = (line) => explorerLine(line, calls, Object.keys(atlas.rows), data.longest);
    now.x = chosen.x ||= states[0];
    now.on = chosen.on ||= devices[0];
  };
  const canFollow = (chain, call) =>
    !data.tensors.includes(call) || !chain.some((one) => data.arrays.includes(one));
  let loading;
  const loaded = () => (loading ??= Promise.all(root.dataset.load.split(" ").map((src) =>
    new Promise((resolve, reject) => document.head.append(
      element("script", "", { src, async: false, onload: resolve, onerror: reject })))))
    .then(async () => {
      await unpack();
      root.classList.add("ready");
      document.dispatchEvent(new Event("explorer-ready"));
    }));
  // For the chooser below.
  window.loadExplorer = loaded;
  window.explorerPicture = (code) => {
    const { chain, x } = data?.reads?.(code) ?? {};
    if (x !== "x" || !chain || codeOf(chain) !== code.replace('.to("cpu")', ".cpu()")) return undefined;
    const first = (name) => Object.keys(data[name])[0];
    const of = (keys) => records[numbers.get(keyOf(first("devices"), first("states"), keys.join(".")))];
    return draw(of(chain), of([]).scene[0][0], "", first("devices"));
  };

  // A lane shows a chain of calls, or one call that the Atlas has: then it is a text.
  const isRow = (lane) => typeof lane === "string";
  const codeOf = (lane) => (isRow(lane) ? lane : `x${lane.map((one) => calls[one]).join("")}`);
  const seenOf = (lane, on = now.on, x = now.x) => {
    if (!isRow(lane)) return records[numbers.get(keyOf(on, x, lane.join(".")))];
    const { records: of, facts, rows, states: kinds } = atlas;
    const letters = rows[lane].seen[devices.indexOf(on)] ?? "";
    const known = [letters[kinds.indexOf(x)], ...letters].find((one) => one && one !== " ");
    if (!known) return null;
    const seen = { scene: null, row: rows[lane] };
    facts.forEach((name, at) => { seen[name] = of[known.charCodeAt(0) - FIRST_LETTER][at]; });
    return seen;
  };
  const said = (text) => (typeof text === "number" ? texts[text] : text);

  // -- The pictures: drawn in Python, here put together of their marks -------------------
  let strong, elsewhere;
  const pictureOf = (seen, rowOfX) =>
    data.pictures[seen.scene ? seen.picture : data.raising[rowOfX][seen.error]];
  const memoriesOf = (seen, rowOfX) =>
    pictureOf(seen, rowOfX).slice(2).filter((part) => part >= data.marks.length).length;
  const draw = (seen, rowOfX, write, on = now.on) => {
    const { marks, rows } = data;
    const [wide, end, ...parts] = pictureOf(seen, rowOfX);
    const made = seen.scene ? sceneOf(seen, write).made : null;
    const away = on !== devices[0];
    const last = memoriesOf(seen, rowOfX) - 1;
    let row = 0;
    const drawn = parts.map((part) => {
      if (part < marks.length) return marks[(away ? elsewhere.get(part) : null) ?? part];
      // What was made on the way stands between x and y: no write reaches it.
      const place = row++;
      const changed = made && (place === 0 || place === last) ? made[place && made.length - 1] : [];
      // The first mark of a row opens it; then come its cells.
      return rows[part - marks.length].map((mark, at) =>
        marks[changed.includes(at - 1) ? strong.get(mark) : mark]).join("");
    });
    const [width, top, height] = data.frame;
    const frame = end ? [0, top, wide, end - top] : [(wide - width) / 2, top, width, height];
    return `<svg viewBox="${frame.join(" ")}" role="img"${end ? ` style="max-width: ${wide}px"` : ""} ` +
      `fill="currentColor" font-size="13">${drawn.join("")}</svg>`;
  };
  const sign = (seen) =>
    `<svg class="sign" viewBox="0 0 ${signOf(seen).length > 1 ? 36 : 18} 16" role="img"><use href="#sign-${signOf(seen).join("-")}"/></svg>`;
  const signOf = (seen) => {
    if (seen.error) return ["raises"];
    let memory = seen.shares_memory ? "shares" : "copies";
    if (seen.same_object) memory = seen.new_bytes ? "moves" : "itself";
    const flows = { 0: ["stops"], 1: ["flows"] }[seen.gradient_flows];
    return [memory, ...(flows ?? [])];
  };
  const sceneOf = (seen, write) => {
    const [rows, held, x, y, shape] = seen.scene;
    const [refused, changed] = { x, y }[write] || [0, null];
    const listsOf = (places) => places && places.map((place) => lists[place]);
    return { holds: listsOf(held), refused, made: listsOf(changed), shape: lists[shape] };
  };

  // -- The words ------------------------------------------------------------------------
  const kindOf = (error) => said(error).split(":")[0];
  const bare = ({ result }) => (said(result) === "list" ? "list" : "number");
  const headline = (seen, places) => {
    if (seen.error) return `It raises ${kindOf(seen.error)}.`;
    let words = seen.row?.other ? "y has new memory and other values than x." : "y is a copy with its own memory.";
    if (seen.same_object) words = seen.new_bytes ? "y is x itself, now in new memory." : "y is x itself.";
    else if (seen.shares_memory) words = "y shares memory with x.";
    else if (seen.new_bytes === null) words = `y is a ${bare(seen)}, not a tensor or array.`;
    if (seen.gradient_flows !== null)
      words += seen.gradient_flows ? " Gradients flow back to x." : " No gradient flows back.";
    return places[0] === places[1] || seen.new_bytes === null ? words : `${words} y is on ${places[1]}.`;
  };
  const yes = (value) => (value ? "True" : "False");
  const factsOf = (seen, places, subject) => {
    if (seen.error) return [];
    const made = seen.scene ? memoriesOf(seen) - 1 : 1;
    let memory = ["its own", `${made > 1 ? `${made} copies were made; y has ` : ""}${seen.new_bytes} new bytes`];
    if (seen.same_object) memory = [`${subject} itself`, seen.new_bytes ? `${seen.new_bytes} new bytes` : "no new memory"];
    else if (seen.shares_memory) memory = [`shared with ${subject}`, "no new memory"];
    else if (seen.new_bytes === null) memory = ["none", `a ${bare(seen)} in Python`];
    let flow = ["stops", "a backward pass does not reach x"];
    if (seen.gradient_flows === null) flow = ["none", `${subject} does not require grad`];
    else if (seen.gradient_flows) flow = ["flows back", "a backward pass reaches x"];
    let autograd = ["not part of autograd", ""];
    if (seen.requires_grad !== null)
      autograd = [
        `requires_grad: ${yes(seen.requires_grad)}`,
        seen.is_leaf ? "leaf: yes" : `leaf: no, ${said(seen.grad_fn)}`,
      ];
    if (seen.changes_x) autograd[1] += "; the call changed x";
    return [
      ["Memory", ...memory],
      ["Gradient", ...flow],
      ["Result", said(seen.result), `on ${places[1]}`],
      ["y in autograd", ...autograd],
    ];
  };
  // Where the data go on their way, if they change the device more than once.
  const hops = (lane) => {
    if (isRow(lane)) return "";
    const other = devices.find((device) => device !== now.on);
    const places = lane.map((_, at) => {
      const seen = seenOf(lane.slice(0, at + 1));
      return nameOf(seen && seen.moved ? other : now.on);
    });
    const moves = places.filter((place, at) => place !== (places[at - 1] ?? nameOf(now.on)));
    return moves.length < 2 ? "" : ` ${moves.length} copies: to ${moves.slice(0, -1).join(", to ")}, and back to ${moves.at(-1)}.`;
  };
  const saw = (seen, write) => {
    const { holds, made, refused, shape } = sceneOf(seen, write);
    const code = `${write}[0] = 7`;
    if (!made) return [`${code} raises ${texts[refused]}`, refused];
    const other = write === "x" ? "y" : "x";
    const rowOfOther = other === "y" ? made.length - 1 : 0;
    const held = holds[other === "y" ? 1 : 0];
    const sees = held.some((place) => made[rowOfOther].includes(place));
    const rows = write === "x" || shape.length > 1;
    let words = rows ? `${write}[0] is the first row of ${write}. ` : "";
    if (seen.same_object) words += "x changed, and y is x.";
    else if (sees) words += `Both changed: ${other} also has the 7.`;
    else words += `Only ${write} changed: ${other} keeps its values.`;
    if (refused)
      words += ` Written under torch.no_grad(); without it PyTorch raises ${refused in data.cures ? `${kindOf(refused)}.` : texts[refused]}`;
    return [words, refused];
  };

  // -- State, and the address that holds it ------------------------------------------
  const isChain = (chain, x = now.x) => numbers.has(keyOf(now.on, x, chain.join(".")));
  const laneOf = (text) => {
    if (atlas.rows[text]) return text;
    const chain = text.split(".").filter(Boolean);
    return chain.every((one) => one in calls) && states.some((x) => isChain(chain, x)) ? chain : null;
  };
  const read = () => {
    const asked = new URLSearchParams(location.search);
    const known = (name, list) => (list.includes(asked.get(name)) ? asked.get(name) : list[0]);
    now.x = known("x", states);
    now.on = known("on", devices);
    Object.assign(chosen, { x: now.x, on: now.on });
    now.write = ["x", "y"].includes(asked.get("write")) ? asked.get("write") : "";
    now.lanes = [laneOf(asked.get("y") ?? "detach") ?? ["detach"]];
    const other = asked.get("vs") === null ? null : laneOf(asked.get("vs"));
    if (other) now.lanes.push(other);
    now.at = now.lanes.length - 1;
    if (!asked.has("x")) choose();
  };
  const note = () => {
    const [one, other] = now.lanes.map((lane) => (isRow(lane) ? lane : lane.join(".")));
    const asked = new URLSearchParams({ y: one, x: now.x });
    if (other !== undefined) asked.set("vs", other);
    if (now.on !== devices[0]) asked.set("on", now.on);
    if (now.write) asked.set("write", now.write);
    history.replaceState(null, "", `?${asked}${location.hash}`);
  };

  // -- The page ---------------------------------------------------------------------------
  const nameOf = (device) => (device === "cpu" ? "cpu" : "device");
  const cure = (text) => {
    if (!(text in data.cures)) return [];
    return [" ", element("a", "What to do", { href: data.cures[text] })];
  };
  const placesOf = (seen, on = now.on) => {
    const other = devices.find((device) => device !== on);
    return [on, seen.moved ? other : on].map(nameOf);
  };
  const showLane = (lane, place) => {
    const page = find("lanes").children[place];
    const part = (name) => page.querySelector(`.explorer-${name}`);
    const seen = seenOf(lane);
    const code = codeOf(lane);
    const statement = /(?<![=!<>])=(?!=)[^()]*$|^[^(]* = |\n/.test(code);
    part("code").textContent = statement ? code : `y = ${code}`;
    if (!seen) {
      part("headline").textContent = "The build had no such device, so this wasn't run.";
      for (const name of ["picture", "note", "facts"]) part(name).replaceChildren();
      part("see").classList.remove("tall");
      return;
    }
    const subject = seen.row?.subject ?? "x";
    const places = placesOf(seen);
    const words = headline(seen, places).replace(/\bx(?=( itself)?\.)/g, subject) + hops(lane);
    part("headline").textContent = words;
    const before = part("picture").querySelector(OWN);
    part("picture").innerHTML = seen.row ? sign(seen)
      : draw(seen, records[numbers.get(keyOf(now.on, now.x, ""))].scene[0][0], seen.error ? "" : now.write);
    const drawing = part("picture").firstChild;
    part("see").classList.toggle("tall", Boolean(seen.scene) && memoriesOf(seen) > 2);
    drawing.setAttribute("aria-label", `y = ${code}: ${words}`);
    if (!before) drawing.classList.add("splits");
    const notes = part("note");
    notes.replaceChildren();
    if (seen.error) notes.append(element("code", said(seen.error)), ...cure(seen.error));
    else if (seen.row) {
      if (seen.row.given) notes.append("First ", element("code", seen.row.given.replace(/.*\n[^]*/, "\n$&\n")),
        seen.row.given.includes("\n") ? "Then this line. " : ", then this line. ");
      notes.append(`${seen.means} ${seen.row.says} `, element("a", "Its lesson", { href: seen.row.lesson }));
    } else if (now.write) {
      const [wrote, refused] = saw(seen, now.write);
      notes.append(wrote, ...(refused ? cure(refused) : []));
    } else {
      const short = data.shorter(lane);
      if (short)
        notes.append("Shorter, and the same for every x here: ", element("button", `y = ${codeOf(short)}`, {
          type: "button",
          onclick: () => { now.at = place; put(short); },
        }));
      else notes.append("x is 2 × 3: x[0] is its first row.");
    }
    notes.classList.toggle("raises", Boolean(seen.error));
    for (const button of page.querySelectorAll("[data-write]")) {
      button.hidden = Boolean(seen.row);
      button.setAttribute("aria-disabled", Boolean(seen.error));
      button.setAttribute("aria-pressed", now.write === button.dataset.write);
    }
    const two = now.lanes.length > 1;
    page.classList.toggle("chosen", two && place === now.at);
    part("lane-tools").hidden = !two;
    part("choose").setAttribute("aria-pressed", place === now.at);
    const found = factsOf(seen, places, subject);
    const own = { "its own": "own", none: "no" }[found[0]?.[1]] ?? "shared";
    part("facts").className = `explorer-facts simple ${own}`;
    part("facts").replaceChildren(...found.map((one) => fact(...one)));
  };
  const fact = (title, answer, detail) => {
    const item = element("div", "");
    const given = element("dd", answer);
    given.append(element("small", detail));
    item.append(element("dt", title), given);
    return item;
  };
  // What two calls differ in for a kind of x: titles, what each lane has that no fact
  // says, and which lane raises.
  const compare = (x = now.x, on = now.on) => {
    const [a, b] = now.lanes.map((lane) => ranOf(lane, on, x));
    if (!a || !b) return { titles: [], more: [], raises: [], besides: [] };
    const { blocks, sized, besides } = window.explorerExamples(now.lanes.map(codeOf));
    const raises = [a, b].map(({ error }) => Boolean(error));
    const [one, other] = [a, b].map((seen) => factsOf(seen, placesOf(seen, on), seen.row?.subject ?? "x"));
    if (raises.includes(true)) return { titles: [], more: [], raises, besides };
    const isOther = ({ row }) => Boolean(row?.other);
    // The class of the grad_fn alone is no difference, nor is how large x's own memory is.
    const short = ([title, answer, detail]) => (title === "Gradient" || (title === "Memory" && sized) ? answer
      : title === "Memory" && blocks === 1 ? "" : `${answer} ${detail.replace(/(leaf: no), \w+/, "$1")}`);
    const titles = one.filter((fact, at) => short(fact) !== short(other[at])).map(([title]) => title);
    const more = [];
    if (a.shares_memory && b.shares_memory && a.shares_version !== b.shares_version)
      more.push(["Version counter", ...[a, b].map((seen) => (seen.shares_version
        ? ["that of x", "a backward pass notices a write through y"]
        : ["its own", "no backward pass notices a write through y"]))]);
    const none = (seen) => seen.shares_version === null && said(seen.result) === "Tensor" && (seen.row?.subject ?? "x") === "x";
    if (none(a) !== none(b))
      more.push(["Version counter", ...[a, b].map((seen) => (none(seen)
        ? ["none", "y is an inference tensor: autograd can't save it for backward"] : [seen.shares_version ? "that of x" : "its own", "y is a normal tensor"]))]);
    const grows = ({ means }) => / in place\. Autograd (\w+)/.exec(means)?.[1];
    if (grows(a) && grows(b) && grows(a) !== grows(b))
      more.push(["Version counter", ...[a, b].map((seen) => (grows(seen) === "notices" ? ["grows", "a backward pass notices the write"] : ["stays as it is", "no backward pass notices the write"]))]);
    if (isOther(a) !== isOther(b) && !blocks) more.push(["Values", ...[a, b].map((seen) => [isOther(seen) ? "not those of x" : "those of x", ""])]);
    const isArray = a.new_bytes !== null && b.new_bytes !== null;
    const strides = ({ strides_kept: kept }) => (kept ? "those of x" : "others");
    // Of a row of the Atlas it is known whether the result has as many dimensions as x.
    const shape = (seen) => (a.scene && b.scene ? lists[seen.scene[4]].join(" × ")
      : seen.strides_kept === null ? "more or fewer dimensions than x" : "as many dimensions as x");
    const unlike = isArray && shape(a) !== shape(b), shaped = unlike && !sized;
    if (shaped) more.unshift(["Shape", ...[a, b].map((seen) => [shape(seen), ""])]);
    else if (isArray && !unlike && strides(a) !== strides(b))
      more.push(["Strides", ...[a, b].map((seen) => [strides(seen), ""])]);
    const others = more.map(([title]) => title);
    const both = new Map([...one.map(([title, ...said], at) => [title, [said, other[at].slice(1)]]),
      ...more.map(([title, ...said]) => [title, said])]);
    return {
      titles: shaped ? ["Shape", ...titles, ...others.slice(1)] : [...titles, ...others], more, raises,
      // What a difference is: in the answers, or else in their details.
      how: (title) => {
        const [[a, c], [b, d]] = both.get(title);
        return (a === b ? [c, d] : [a, b]).join(" | ");
      },
      besides: [...besides, ...(unlike && sized ? ["Their shapes aren't compared: the arguments decide them."] : [])],
    };
  };
  // For some kinds of x a chain ends early, at the call that raises.
  const ranOf = (lane, on, x) => {
    for (let chain = lane; ; chain = chain.slice(0, -1)) {
      const seen = seenOf(chain, on, x);
      if (seen !== undefined) return seen;
    }
  };
  const differs = ({ titles, raises }) => titles.length > 0 || raises[0] !== raises[1];
  // The kind of x for which two calls differ, of these one for which none raises.
  const choose = () => {
    if (now.lanes.length < 2) return;
    const all = [now.on, ...devices].flatMap((on) => [now.x, ...states].map((x) => [x, on, compare(x, on)]));
    const found = all.find(([, , seen]) => seen.titles.length) ?? all.find(([, , seen]) => differs(seen)) ??
      all.find(([, , seen]) => !seen.raises.includes(true));
    if (found) [now.x, now.on] = found;
  };
  const wordsOf = (x) => data.states[x];
  const verdictOf = (found) => (now.lanes.length < 2 ? "" : window.explorerVerdict(found, {
    codes: now.lanes.map(codeOf), x: wordsOf(now.x), differs,
    others: states.filter((x) => x !== now.x).map((x) => [wordsOf(x), compare(x)]),
  }));
  const show = () => {
    const lanes = find("lanes");
    while (lanes.children.length > now.lanes.length) lanes.lastChild.remove();
    while (lanes.children.length < now.lanes.length) {
      const made = lanes.firstChild.cloneNode(true);
      made.querySelector(".explorer-headline").removeAttribute("role");
      lanes.append(made);
    }
    root.classList.toggle("two", now.lanes.length > 1);
    if (now.lanes.every((lane) => seenOf(lane)?.error)) now.write = "";
    now.lanes.forEach(showLane);
    const found = compare();
    if (now.lanes.length > 1) [...lanes.children].forEach((page, at) => {
      const facts = page.querySelector(".explorer-facts");
      for (const [title, ...both] of found.more) facts.append(fact(title, ...both[at]));
      for (const item of facts.children) {
        const differing = found.titles.includes(item.firstChild.textContent);
        item.classList.toggle("other", differing);
        if (differing) item.firstChild.append(element("mark", "differs"));
      }
      if (found.raises[0] !== found.raises[1])
        page.querySelector(".explorer-headline").append(element("mark", "differs"));
    });
    find("verdict").textContent = verdictOf(found);
    const lane = now.lanes[now.at];
    const seen = seenOf(lane);
    const full = !isRow(lane) && lane.length === data.longest;
    const closed = isRow(lane) || full || !seen || Boolean(seen.error);
    const raising = [];
    for (const chip of root.querySelectorAll(".explorer-chips button")) {
      const next = closed ? null : [...lane, chip.dataset.call];
      const error = next && (canFollow(lane, chip.dataset.call)
        ? seenOf(next)?.error && said(seenOf(next).error) : "the array's own .data is not drawn here");
      chip.classList.toggle("fails", Boolean(error));
      chip.title = error || "";
      if (error) raising.push(error);
      chip.setAttribute("aria-disabled", closed || Boolean(error && !isChain(next)));
    }
    const array = !isRow(lane) && lane.some((one) => data.arrays.includes(one));
    find("hint").textContent = isRow(lane) ? "Remove this call to build a chain of calls."
      : full ? "A chain has at most three calls. Remove one."
      : closed ? "This raises. Remove the last call."
      : raising.length ? `Crossed-out calls raise here${array ? ", because y isn't a tensor" : ""}.` : "";
    for (const name of ["undo", "clear"])
      find(name).setAttribute("aria-disabled", lane.length === 0);
    find("compare").hidden = now.lanes.length > 1;
    for (const option of root.querySelectorAll("[data-on]"))
      option.setAttribute("aria-pressed", option.dataset.on === now.on);
    find("state").value = now.x;
    find("means").firstChild.textContent = find("state").selectedOptions[0].dataset.means;
  };
  const change = (news) => {
    Object.assign(now, news);
    cut();
    show();
    note();
    sayOther();
  };
  // For another kind of x an earlier call may raise: the chain ends there.
  const cut = () => {
    now.lanes = now.lanes.map((lane) => {
      let chain = lane;
      while (!isRow(chain) && !isChain(chain)) chain = chain.slice(0, -1);
      return chain;
    });
  };
  const put = (lane, more = {}) =>
    change({ lanes: now.lanes.map((one, at) => (at === now.at ? lane : one)), ...more });

  const typed = find("typed");
  // -- What the reader asks: a line, "detach or clone?", a question, a message ----------
  const twoOf = (line) => window.explorerPair(line, { data, atlas, names, calls, codeOf, isRow });
  const only = (lane, more = {}) => change({ lanes: [lane], at: 0, write: "", ...chosen, ...more });
  const compareThese = (lanes) => {
    Object.assign(now, { lanes, at: 1, write: "", ...chosen });
    choose();
    change({});
  };
  const inShort = (lane) => codeOf(lane).replace(/:\n */, ": ").replace(/\ny = x$/, "");
  const offer = (words, act) => element("button", words, { type: "button", onclick: act });
  // Draw a line or a comparison, and say how it was read; whether there was one: "half"
  // of one is not drawn, and of "more" the search says what isn't looked at here.
  const drawn = (line, found) => {
    const told = find("read");
    const two = twoOf(line);
    if (two?.not) {
      const { said: why } = data.reads(two.not);
      told.append(`Not compared, because ${two.not} isn't drawn here. ${/module|lost/.test(why) ? `${why} ` : ""}Draw `,
        offer(inShort(two.only), () => { quiet(typed.value); only(two.only); }), " alone.");
      return "half";
    }
    if (two) {
      const [one, other] = two.lanes.map(codeOf);
      told.append(two.said);
      if (one === other) {
        told.append(` Both sides are drawn as ${one}.`);
        only(two.lanes[0]);
        return "more";
      }
      compareThese(two.lanes);
      return two.more ? "more" : compare().titles.some((title) => title !== "Version counter") || compare().raises.includes(true) || "more";
    }
    if (found.words) {
      told.append(found.said);
      return false;
    }
    const lane = found.chain ?? found.row;
    if (lane) {
      const away = found.away && devices.find((one) => one !== "cpu" && seenOf(lane, one, found.state || now.x));
      only(lane, { ...(states.includes(found.state) ? { x: found.state } : {}), ...(away ? { on: away } : {}) });
      const of = atlas.rows[lane]?.subject ?? "x";
      if (found.only) told.append(element("strong", found.only), " ");
      told.append(`${found.x === of ? "" : `${of} stands for ${found.x}. `}${found.said}`);
      // Nobody has x itself: "torch.ones(2, requires_grad=True).to(device)".
      if (/requires_grad=True\)$/.test(found.x) && seenOf(lane)?.requires_grad && !seenOf(lane).is_leaf)
        told.append(" y is not a leaf, so backward() leaves y.grad None and an optimizer raises for y.");
      const other = !runs(lane) && states.find((x) => runs(lane, x));
      if (other) told.append(now.lanes[0].length < lane.length ? " Drawn up to the call that raises." : "", " It runs if x is ",
        offer(wordsOf(other), () => only(lane, { x: other })), ".");
      else {
        told.append(element("span", "", { className: "elsewhere" }));
        sayOther();
      }
      if (found.see) told.append(` ${atlas.rows[found.see].says} `, element("a", "Its lesson", { href: atlas.rows[found.see].lesson }));
    } else told.append(found.said);
    if (found.near) {
      const near = found.near.chain ?? found.near.row;
      told.append(" Nearest: ", offer(inShort(near), () => {
        quiet(typed.value);
        only(near);
      }));
    }
    // Of a line that says more than its picture shows, the pages may say the rest.
    return found.more || found.only ? "more" : Boolean(lane);
  };
  const runs = (lane, x = now.x) => {
    const seen = seenOf(lane, now.on, x);
    return Boolean(seen) && !seen.error;
  };
  // What calls such as cpu() do is another thing on another device.
  const sayOther = () => {
    const part = root.querySelector(".elsewhere"), [lane] = now.lanes;
    const on = devices.find((one) => one !== now.on);
    const [here, there] = [now.on, on].map((one) => one && seenOf(lane, one));
    if (!part) return;
    part.replaceChildren();
    if (here && there && headline(there, placesOf(there, on)) !== headline(here, placesOf(here)))
      part.append(" The answer differs if ", offer(`x is on ${nameOf(on)}`, () => {
        change({ on, write: "" });
        part.querySelector("button")?.focus();
      }), ".");
  };
  // Without a drawing that answers, the last one is out of sight.
  const quiet = (text = "") => {
    asked += 1;
    typed.value = text;
    for (const name of ["read", "found"]) find(name).replaceChildren();
    shown(true);
  };
  const shown = (is) => root.classList.toggle("asked", !is);
  const MESSAGE = /\w(?:Error|Warning|Exception)\b|Traceback \(|\bFile "/;
  const MOST = 4000; // characters that the search is asked for
  const PAUSE = 150; // milliseconds
  const searching = () => (window.showAnswer ? Promise.resolve()
    : new Promise((resolve) => document.addEventListener("search-ready", resolve, { once: true })));
  const inOneLine = (text) => text.replace(/\s*\n\s*/g, " ");
  let pasted = "";
  // What was pasted, with its lines, if the box holds that and nothing else.
  const whole = () => (inOneLine(pasted) === typed.value ? pasted : typed.value).trim();
  let asked = 0;
  const ask = async () => {
    const mine = ++asked;
    await loaded();
    if (mine !== asked) return;
    const text = whole().replace(/\s*\?+$/, "");
    const found = data.reads(text);
    const isMessage = MESSAGE.test(text) || text.length > MOST;
    for (const name of ["read", "found"]) find(name).replaceChildren();
    const answered = !text || (!isMessage && drawn(text, found));
    const isDrawn = answered === true || answered === "more";
    shown(isDrawn);
    if (answered === true) return;
    if (isMessage && !MESSAGE.test(text)) find("read").textContent = found.said;
    if (text.length < 3 || (text.length > MOST && !MESSAGE.test(text))) return;
    // A line or a comparison that is half typed is likely to go on.
    const half = !isMessage && (!found.words || / (?:vs\.?|versus|or) \S*$/i.test(text));
    if (half) await new Promise((resolve) => setTimeout(resolve, PAUSE));
    await searching();
    if (mine !== asked) return;
    const query = text.slice(-MOST);
    const all = window.searchFor(query);
    const known = messageOf(all);
    const lanes = known || isMessage || answered || found.lost ? [] : window.explorerQuestion(text, !found.words, { reads: data.reads, laneOf, seenOf, isRow });
    if (lanes.length) find("read").replaceChildren();
    if (lanes.length === 1) {
      // What a call does says more than for which x it raises.
      const other = !runs(lanes[0]) && states.find((x) => runs(lanes[0], x));
      if (other) find("read").append(`It raises if x is ${wordsOf(now.x)}.`);
      only(lanes[0], other ? { x: other } : {});
    }
    if (lanes.length > 1) compareThese(lanes);
    shown(isDrawn || lanes.length > 0);
    if (known) {
      const same = all.filter(({ message, exact }) => message && exact);
      find("read").append("This is your message", same.length > 1 ? `. ${same.length} things raise it: ` : ": ",
        ...same.flatMap((one, at) => [at ? "; " : "", element("a", one.heading, { href: entry(one, query) })]));
    } else if (isMessage) find("read").append("This message has no entry here. ",
      element("a", "Open it in the list of messages", { href: desk(text) }));
    window.showAnswer(find("found"), query, 5, all);
  };
  // The entry of a message that is here word for word, and where it stands.
  const messageOf = ([first]) => (first?.message && first.exact ? first : null);
  const desk = (text) => `${data.errors}?${new URLSearchParams({ message: text.slice(-MOST) })}`;
  const entry = ({ address }, text) =>
    address.replace(/(?=#|$)/, `?${new URLSearchParams({ message: text.slice(-MOST) })}`);
  typed.addEventListener("paste", (event) => {
    // A field of one line joins what it is given: the words at the ends of lines too.
    pasted = event.clipboardData?.getData("text") ?? "";
    if (!pasted.includes("\n")) return;
    event.preventDefault();
    typed.setRangeText(inOneLine(pasted), typed.selectionStart, typed.selectionEnd, "end");
    typed.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertFromPaste" }));
  });
  typed.addEventListener("input", ask);
  typed.addEventListener("keydown", ({ key }) => { if (key === "Escape") quiet(); });
  // Enter: a drawing stands already; a message leads to its entry, all else to the search.
  find("line").addEventListener("submit", async (event) => {
    event.preventDefault();
    await ask();
    const text = whole().slice(-MOST);
    if (!root.classList.contains("asked")) return;
    const known = window.showAnswer && messageOf(window.searchFor(text));
    if (known) location.href = entry(known, text);
    else if (MESSAGE.test(text)) location.href = desk(text);
    else location.href = `${find("line").action}?${new URLSearchParams({ q: text })}`;
  });

  const press = (selector, act) =>
    root.addEventListener("click", async (event) => {
      const button = event.target.closest?.(selector);
      if (!button || button.getAttribute("aria-disabled") === "true") return;
      await loaded();
      act(button.dataset, [...find("lanes").children].indexOf(button.closest(".explorer-lane")));
    });
  const remove = (count) => (isRow(now.lanes[now.at]) ? [] : now.lanes[now.at].slice(0, count));
  press("[data-call]", ({ call }) => put([...now.lanes[now.at], call], { write: "" }));
  press(".explorer-undo", () => put(remove(-1), { write: "" }));
  press(".explorer-clear", () => put([], { write: "" }));
  press(".explorer-compare", () => change({ lanes: [now.lanes[0], now.lanes[0]], at: 1 }));
  press(".explorer-choose", (_, at) => change({ at }));
  press(".explorer-close", (_, at) => change({ lanes: now.lanes.filter((__, one) => one !== at), at: 0 }));
  press("[data-on]", ({ on }) => {
    chosen.on = on;
    change({ on, write: "" });
  });
  press("[data-write]", ({ write }) => change({ write: now.write === write ? "" : write }));
  find("state").addEventListener("change", async (event) => {
    await loaded();
    chosen.x = event.target.value;
    change({ x: chosen.x });
  });
  find("chips").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const chips = [...find("chips").querySelectorAll("button")];
    const place = chips.indexOf(document.activeElement) + step;
    chips[(place + chips.length) % chips.length].focus();
    event.preventDefault();
  });
  // Why a call would raise is said before it is made.
  for (const look of ["pointerover", "focusin"])
    find("chips").addEventListener(look, ({ target }) => {
      if (target.classList.contains("fails")) find("hint").textContent = `${target.textContent} raises ${target.title}`;
    });
  const again = () => { quiet(); read(); cut(); show(); };
  const reread = () => (data?.reads ? again() : loaded().then(again));
  // Links on this page that lead to a chain show it here.
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.('a[href^="?y="]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState(null, "", link.href);
    await loaded();
    again();
    root.scrollIntoView({ block: "start" });
    find("code").focus();
  });
  // The link to the box is no step in the history of what is drawn.
  addEventListener("popstate", () => { if (location.hash !== "#explorer-typed") reread(); });
  for (const touch of ["pointerover", "focusin", "touchstart"])
    root.addEventListener(touch, loaded, { once: true, passive: true });
  if (location.search.includes("y=")) reread();
})();
