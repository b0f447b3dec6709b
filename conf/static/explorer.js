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
  const unpack = () => {
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
    const walk = (chain) => {
      const code = chain.join(".");
      const everywhere = [];
      for (const device of devices)
        for (const state of states) {
          const before = numbers.get(keyOf(device, state, chain.slice(0, -1).join(".")));
          if (chain.length && (before === undefined || records[before].error)) continue;
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
        for (const call of names) if (canFollow(chain, call)) walk([...chain, call]);
    };
    walk([]);
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
    now.x ||= states[0];
    now.on ||= devices[0];
  };
  const canFollow = (chain, call) =>
    !data.tensors.includes(call) || !chain.some((one) => data.arrays.includes(one));
  let loading;
  const loaded = () => (loading ??= Promise.all(root.dataset.load.split(" ").map((src) =>
    new Promise((resolve, reject) => document.head.append(
      element("script", "", { src, onload: resolve, onerror: reject })))))
    .then(() => {
      unpack();
      root.classList.add("ready");
      document.dispatchEvent(new Event("explorer-ready"));
    }));
  // For the chooser below.
  window.loadExplorer = loaded;
  window.explorerPicture = (code) => {
    const { chain, x } = data ? data.reads(code) : {};
    if (x !== "x" || codeOf(chain) !== code.replace('.to("cpu")', ".cpu()")) return undefined;
    const first = (name) => Object.keys(data[name])[0];
    const of = (keys) => records[numbers.get(keyOf(first("devices"), first("states"), keys.join(".")))];
    return draw(of(chain), of([]).scene[0][0], "", first("devices"));
  };

  // A lane shows a chain of calls, or one call that the Atlas has: then it is a text.
  const isRow = (lane) => typeof lane === "string";
  const codeOf = (lane) => (isRow(lane) ? lane : `x${lane.map((one) => calls[one]).join("")}`);
  const seenOf = (lane, on = now.on) => {
    if (!isRow(lane)) return records[numbers.get(keyOf(on, now.x, lane.join(".")))];
    const { records: of, facts, rows, states: kinds } = atlas;
    const letters = rows[lane].seen[devices.indexOf(on)] ?? "";
    const known = [letters[kinds.indexOf(now.x)], ...letters].find((one) => one && one !== " ");
    if (!known) return null;
    const seen = { scene: null, row: rows[lane] };
    facts.forEach((name, at) => { seen[name] = of[known.charCodeAt(0) - FIRST_LETTER][at]; });
    return seen;
  };
  const said = (text) => (typeof text === "number" ? texts[text] : text);

  // -- The pictures: drawn in Python, here put together of their marks -------------------
  let strong, elsewhere;
  const draw = (seen, rowOfX, write, on = now.on) => {
    const { marks, rows, pictures } = data;
    const [wide, ...parts] = pictures[seen.scene ? seen.picture : data.raising[rowOfX][seen.error]];
    const made = seen.scene ? sceneOf(seen, write).made : null;
    const away = seen.moved && on !== devices[0];
    let row = 0;
    const drawn = parts.map((part) => {
      if (part < marks.length) return marks[(away ? elsewhere.get(part) : null) ?? part];
      const changed = made ? made[row++] : [];
      // The first mark of a row opens it; then come its cells.
      return rows[part - marks.length].map((mark, at) =>
        marks[changed.includes(at - 1) ? strong.get(mark) : mark]).join("");
    });
    const [width, top, height] = data.frame;
    return `<svg viewBox="${(wide - width) / 2} ${top} ${width} ${height}" role="img" ` +
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
  const headline = (seen, places) => {
    if (seen.error) return `It raises ${kindOf(seen.error)}.`;
    let words = "A copy with its own memory.";
    if (seen.same_object) words = "y is x itself.";
    else if (seen.shares_memory) words = "The same memory.";
    else if (seen.new_bytes === null) words = "A number, not a tensor or array.";
    if (seen.gradient_flows !== null)
      words += seen.gradient_flows ? " Gradients flow back to x." : " No gradient flows back.";
    return places[0] === places[1] ? words : `${words} On ${places[1]}.`;
  };
  const yes = (value) => (value ? "True" : "False");
  const factsOf = (seen, places, subject) => {
    if (seen.error) return [];
    let memory = ["its own", `${seen.new_bytes} new bytes`];
    if (seen.same_object) memory = [`${subject} itself`, "no new memory"];
    else if (seen.shares_memory) memory = [`shared with ${subject}`, "no new memory"];
    else if (seen.new_bytes === null) memory = ["none", "a number in Python"];
    let flow = ["stops", "a backward pass does not reach x"];
    if (seen.gradient_flows === null) flow = ["none", `${subject} does not require grad`];
    else if (seen.gradient_flows) flow = ["flows back", "a backward pass reaches x"];
    let autograd = ["not part of autograd", ""];
    if (seen.requires_grad !== null)
      autograd = [
        `requires_grad: ${yes(seen.requires_grad)}`,
        seen.is_leaf ? "leaf: yes" : `leaf: no, ${said(seen.grad_fn)}`,
      ];
    if (seen.changes_x) autograd[1] += "; x was changed too";
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
    else if (sees) words += `Both changed: ${other} sees the 7.`;
    else words += `Only ${write} changed: ${other} keeps its values.`;
    if (refused)
      words += ` Written under torch.no_grad(); without it PyTorch raises ${refused in data.cures ? `${kindOf(refused)}.` : texts[refused]}`;
    return [words, refused];
  };

  // -- State, and the address that holds it ------------------------------------------
  const isChain = (chain) => numbers.has(keyOf(now.on, now.x, chain.join(".")));
  const laneOf = (text) => {
    if (atlas.rows[text]) return text;
    const chain = text.split(".").filter(Boolean);
    return chain.every((one) => one in calls) && isChain(chain) ? chain : null;
  };
  const read = () => {
    const asked = new URLSearchParams(location.search);
    const known = (name, list) => (list.includes(asked.get(name)) ? asked.get(name) : list[0]);
    now.x = known("x", states);
    now.on = known("on", devices);
    now.write = ["x", "y"].includes(asked.get("write")) ? asked.get("write") : "";
    now.lanes = [laneOf(asked.get("y") ?? "detach") ?? ["detach"]];
    const other = asked.get("vs") === null ? null : laneOf(asked.get("vs"));
    if (other) now.lanes.push(other);
    now.at = now.lanes.length - 1;
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
  const placesOf = (seen) => {
    const other = devices.find((device) => device !== now.on);
    return [now.on, seen.moved ? other : now.on].map(nameOf);
  };
  const showLane = (lane, place) => {
    const page = find("lanes").children[place];
    const part = (name) => page.querySelector(`.explorer-${name}`);
    const seen = seenOf(lane);
    const code = codeOf(lane);
    const statement = /(?<![=!<>])=(?!=)[^()]*$|^[^(]* = |\n/.test(code);
    part("code").textContent = statement ? code : `y = ${code}`;
    if (!seen) {
      part("headline").textContent = "Not run: no such device here.";
      for (const name of ["picture", "note", "facts"]) part(name).replaceChildren();
      return [];
    }
    const subject = seen.row?.subject ?? "x";
    const places = placesOf(seen);
    const words = headline(seen, places).replace("is x itself", `is ${subject} itself`) + hops(lane);
    part("headline").textContent = words;
    const before = part("picture").querySelector(OWN);
    part("picture").innerHTML = seen.row ? sign(seen)
      : draw(seen, records[numbers.get(keyOf(now.on, now.x, ""))].scene[0][0], seen.error ? "" : now.write);
    const drawing = part("picture").firstChild;
    drawing.setAttribute("aria-label", `y = ${code}: ${words}`);
    if (!before) drawing.classList.add("splits");
    const notes = part("note");
    notes.replaceChildren();
    if (seen.error) notes.append(element("code", said(seen.error)), ...cure(seen.error));
    else if (seen.row) {
      if (seen.row.given) notes.append(element("code", seen.row.given), ", then this line. ");
      notes.append("Seen by the Atlas. ", element("a", "Its lesson", { href: seen.row.lesson }));
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
    part("facts").replaceChildren(...found.map(([title, answer, detail]) => {
      const item = element("div", "");
      const given = element("dd", answer);
      given.append(element("small", detail));
      item.append(element("dt", title), given);
      return item;
    }));
    return found;
  };
  // What two calls differ in, beside the four facts.
  const more = (one, other) => {
    const [a, b] = now.lanes.map((lane) => seenOf(lane));
    if (!one.length || !other.length) return [];
    const found = [];
    if (a.shares_memory && b.shares_memory && a.shares_version !== b.shares_version)
      found.push(["Version counter", ...[a, b].map((seen) => (seen.shares_version
        ? ["that of x", "a backward pass notices a write through y"]
        : ["its own", "no backward pass notices a write through y"]))]);
    if (a.strides_kept !== b.strides_kept)
      found.push(["Strides", ...[a, b].map((seen) => [seen.strides_kept ? "those of x" : "others", ""])]);
    for (const [title, ...both] of found)
      both.forEach(([answer, detail], at) => {
        const item = element("div", "");
        const given = element("dd", answer);
        given.append(element("small", detail));
        const term = element("dt", title);
        term.append(element("mark", "differs"));
        item.append(term, given);
        item.className = "other";
        find("lanes").children[at].querySelector(".explorer-facts").append(item);
      });
    return found.map(([title]) => title);
  };
  const verdictOf = (one, other, differing) => {
    if (!other) return "";
    if (!one.length || !other.length)
      return one.length === other.length ? "Both raise for this x." : `${one.length ? "The second" : "The first"} raises for this x.`;
    if (differing.length) return `They differ in: ${differing.join(", ").toLowerCase()}.`;
    return "No difference for this x. Try another kind of x.";
  };
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
    const [one, other] = now.lanes.map(showLane);
    let differing = [];
    if (other) {
      differing = more(one, other);
      one.forEach(([title, answer, detail], at) => {
        const [, its, more] = other[at] ?? [];
        const differs = its !== undefined && (answer !== its || (title !== "Gradient" && detail !== more));
        for (const page of lanes.children) {
          const item = page.querySelector(".explorer-facts").children[at];
          item?.classList.toggle("other", differs);
          if (differs) item?.firstChild.append(element("mark", "differs"));
        }
        if (differs) differing.push(title);
      });
    }
    find("verdict").textContent = verdictOf(one, other, differing);
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
    find("hint").textContent = isRow(lane) ? "Remove this call to put others together."
      : full ? "Three calls at most: remove one."
      : closed ? "It raised: remove the last call."
      : raising.length ? `Crossed out: raises here${array ? ", as y is no tensor now" : ""}.` : "";
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
    // For another kind of x an earlier call may raise: the chain ends there.
    now.lanes = now.lanes.map((lane) => {
      let chain = lane;
      while (!isRow(chain) && !isChain(chain)) chain = chain.slice(0, -1);
      return chain;
    });
    show();
    note();
  };
  const put = (lane, more = {}) =>
    change({ lanes: now.lanes.map((one, at) => (at === now.at ? lane : one)), ...more });

  // -- A line that the reader types -----------------------------------------------------
  // "detach vs clone": each side is a line, or the name of a call.
  const twoOf = (typed) => {
    const sides = typed.split(/\s+(?:vs\.?|versus|or)\s+|\s*\|\s*/i);
    if (sides.length !== 2) return null;
    const lanes = sides.map((side) => {
      const name = /^\.?(\w+)$/.exec(side.trim())?.[1];
      const found = data.reads(name ? (name === "data" ? "x.data" : `x.${name}()`) : side);
      const near = found.near?.chain ?? found.near?.row;
      return found.chain ?? found.row ?? (name && near && codeOf(near).includes(`.${name}(`) && near);
    });
    return lanes.every(Boolean) ? lanes : null;
  };
  const answer = (typed) => {
    const told = find("read");
    told.replaceChildren();
    const lanes = twoOf(typed);
    if (lanes) {
      change({ lanes, at: 1, write: "" });
      return;
    }
    const found = data.reads(typed);
    const lane = found.chain ?? found.row;
    if (lane) {
      put(lane, { write: "", ...(states.includes(found.state) ? { x: found.state } : {}) });
      const cut = found.chain && now.lanes[now.at].length < lane.length;
      const of = atlas.rows[lane]?.subject ?? "x";
      told.append(`${found.x === of ? "" : `${of} stands for ${found.x}. `}${found.said}${cut ? " Drawn up to the call that raises." : ""}`);
    } else told.append(found.said);
    if (found.near) {
      const near = found.near.chain ?? found.near.row;
      told.append(" Nearest: ", element("button", codeOf(near), { type: "button", onclick: () => put(near, { write: "" }) }));
    }
  };
  find("line").addEventListener("submit", async (event) => {
    event.preventDefault();
    await loaded();
    answer(find("typed").value.replace(/\?+\s*$/, ""));
  });
  find("typed").addEventListener("input", async () => {
    await loaded();
    answer(find("typed").value.replace(/\?+\s*$/, ""));
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
  press("[data-on]", ({ on }) => change({ on, write: "" }));
  press("[data-write]", ({ write }) => change({ write: now.write === write ? "" : write }));
  find("state").addEventListener("change", async (event) => {
    await loaded();
    change({ x: event.target.value });
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
  const again = () => { read(); show(); };
  const reread = () => (data ? again() : loaded().then(again));
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
  addEventListener("popstate", reread);
  for (const touch of ["pointerover", "focusin", "touchstart"])
    root.addEventListener(touch, loaded, { once: true, passive: true });
  if (location.search.includes("y=")) reread();
})();
