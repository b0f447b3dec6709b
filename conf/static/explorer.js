// The explorer on the home page: put calls together, see what probes saw of them. All
// answers are in explorer_data.js; nothing is computed here but which of them to show.
// The pictures come from conf/tensor_copies/explorer/scenes.py, the words are words.py's.
(() => {
  "use strict";
  const data = window.explorerData;
  const root = document.querySelector(".explorer");
  if (!data || !root) return;
  const find = (name) => root.querySelector(`.explorer-${name}`);
  const FIRST_LETTER = 35;
  const OWN = '.tm-row[data-memory="1"]'; // the memory of y, if it has one

  // -- What was seen -------------------------------------------------------------
  const { texts, lists, facts, calls } = data;
  const names = Object.keys(calls);
  const devices = Object.keys(data.devices);
  const states = Object.keys(data.states);
  const records = data.outcomes.match(/../gs).map((pair) => {
    const [record, scene] = [0, 1].map((i) => pair.charCodeAt(i) - FIRST_LETTER);
    const seen = { scene: scene ? data.scenes[scene - 1] : null };
    facts.forEach((name, i) => { seen[name] = data.records[record][i]; });
    return seen;
  });
  const numbers = new Map(); // by device, kind of x and chain
  const same = new Map(); // the shortest chain of those that do the same everywhere
  const keyOf = (...parts) => parts.join(" ");
  {
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
      if (chain.length < data.longest) for (const call of names) walk([...chain, call]);
    };
    const whole = new Map();
    const codeOf = (keys) => "x" + keys.map((key) => calls[key]).join("");
    walk([]);
    data.shorter = (chain) => {
      const best = same.get(whole.get(chain.join(".")));
      return best && best.length < chain.length ? best : null;
    };
  }
  const numberOf = (chain) => numbers.get(keyOf(now.on, now.x, chain.join(".")));

  // -- The pictures: drawn in Python, here put together of their marks -------------------
  const { marks, rows, pictures } = data;
  const strong = new Map(data.strong), elsewhere = new Map(data.other);
  {
    let place = 0;
    for (const seen of records)
      if (seen.scene) seen.picture = data.drawn.charCodeAt(place++) - FIRST_LETTER;
  }
  const draw = (seen, rowOfX, write) => {
    const [wide, ...parts] = pictures[seen.scene ? seen.picture : data.raising[rowOfX][seen.error]];
    const made = seen.scene ? sceneOf(seen, write).made : null;
    const away = seen.moved && now.on !== devices[0];
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
  const sceneOf = (seen, write) => {
    const [rows, held, x, y] = seen.scene;
    const [refused, changed] = { x, y }[write] || [0, null];
    const listsOf = (places) => places && places.map((place) => lists[place]);
    return { cells: listsOf(rows), holds: listsOf(held), refused, made: listsOf(changed) };
  };

  // -- The words ------------------------------------------------------------------------
  const kindOf = (error) => texts[error].split(":")[0];
  const headline = (seen, places) => {
    if (seen.error) return `It raises ${kindOf(seen.error)}.`;
    let said = "A copy with its own memory.";
    if (seen.same_object) said = "y is x itself.";
    else if (seen.shares_memory) said = "The same memory.";
    else if (seen.new_bytes === null) said = "A number, not a tensor or array.";
    if (seen.gradient_flows !== null)
      said += seen.gradient_flows ? " Gradients flow back to x." : " No gradient flows back.";
    return places[0] === places[1] ? said : `${said} On ${places[1]}.`;
  };
  const factsOf = (seen, places) => {
    if (seen.error) return [];
    let memory = ["its own", `${seen.new_bytes} new bytes`];
    if (seen.same_object) memory = ["x itself", "no new memory"];
    else if (seen.shares_memory) memory = ["shared with x", "no new memory"];
    else if (seen.new_bytes === null) memory = ["none", "a number in Python"];
    let flow = ["stops", "a backward pass does not reach x"];
    if (seen.gradient_flows === null) flow = ["none", "x does not require grad"];
    else if (seen.gradient_flows) flow = ["flows back", "a backward pass reaches x"];
    let autograd = ["not part of autograd", ""];
    if (seen.requires_grad !== null)
      autograd = [
        seen.requires_grad ? "requires grad" : "does not require grad",
        seen.is_leaf ? "a leaf" : texts[seen.grad_fn],
      ];
    if (seen.changes_x) autograd[1] += "; x was changed too";
    return [
      ["Memory", ...memory],
      ["Gradient", ...flow],
      ["Result", texts[seen.result], `on ${places[1]}`],
      ["y in autograd", ...autograd],
    ];
  };
  const saw = (seen, write) => {
    const { cells, holds, made, refused } = sceneOf(seen, write);
    const code = `${write}[0] = 7`;
    if (!made) return [`${code} raises ${texts[refused]}`, refused];
    const other = write === "x" ? "y" : "x";
    const rowOfOther = other === "y" ? made.length - 1 : 0;
    const held = holds[other === "y" ? 1 : 0];
    const sees = held.some((place) => made[rowOfOther].includes(place));
    let said = sees ? `${code} changed both: ${other} sees the 7.`
      : `${code} changed only ${write}: ${other} keeps its values.`;
    if (seen.same_object) said = `${code} changed x, which is y.`;
    if (refused)
      said += ` It ran under torch.no_grad(); without it, this raises ${texts[refused]}`;
    return [said, refused];
  };

  // -- State, and the address that holds it ------------------------------------------
  const now = { y: ["detach"], x: states[0], on: devices[0], write: "" };
  const isChain = (chain) => numberOf(chain) !== undefined;
  const read = () => {
    const asked = new URLSearchParams(location.search);
    const known = (name, list) => (list.includes(asked.get(name)) ? asked.get(name) : list[0]);
    now.x = known("x", states);
    now.on = known("on", devices);
    now.write = ["x", "y"].includes(asked.get("write")) ? asked.get("write") : "";
    const chain = (asked.get("y") ?? "detach").split(".").filter(Boolean);
    now.y = isChain(chain) ? chain : ["detach"];
  };
  const note = () => {
    const asked = new URLSearchParams({ y: now.y.join("."), x: now.x });
    if (now.on !== devices[0]) asked.set("on", now.on);
    if (now.write) asked.set("write", now.write);
    history.replaceState(null, "", `?${asked}${location.hash}`);
  };

  // -- The page ---------------------------------------------------------------------------
  const nameOf = (device) => (device === "cpu" ? "cpu" : "device");
  const element = (name, text, more = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    return Object.assign(made, more);
  };
  const cure = (text) => {
    if (!(text in data.cures)) return [];
    return [" ", element("a", "What to do", { href: `${data.errors}#${data.cures[text]}` })];
  };
  const show = () => {
    const chain = now.y;
    const seen = records[numberOf(chain)];
    const other = devices.find((device) => device !== now.on);
    const places = [now.on, seen.moved ? other : now.on].map(nameOf);
    const code = chain.map((one) => calls[one]).join("");
    find("code").textContent = `y = x${code}`;
    if (seen.error) now.write = "";
    const said = headline(seen, places);
    find("headline").textContent = said;
    const before = find("picture").querySelector(OWN);
    find("picture").innerHTML = draw(seen, records[numberOf([])].scene[0][0], now.write);
    const drawing = find("picture").firstChild;
    drawing.setAttribute("aria-label", `y = x${code}: ${said}`);
    if (!before) drawing.classList.add("splits");
    find("facts").innerHTML = "";
    for (const [title, answer, detail] of factsOf(seen, places)) {
      const item = element("div", "");
      const given = element("dd", answer);
      given.append(element("small", detail));
      item.append(element("dt", title), given);
      find("facts").append(item);
    }
    const note = find("note");
    note.replaceChildren();
    if (seen.error) note.append(element("code", texts[seen.error]), ...cure(seen.error));
    else if (now.write) {
      const [words, refused] = saw(seen, now.write);
      note.append(words, ...(refused ? cure(refused) : []));
    } else {
      const short = data.shorter(chain);
      if (short) {
        const button = element("button", `y = x${short.map((one) => calls[one]).join("")}`, {
          type: "button",
          onclick: () => change({ y: short }),
        });
        note.append("Shorter, and the same for every x here: ", button);
      } else
        note.append(chain.length < data.longest ? "Add a call, or write" : "Write", " into x or y and watch.");
    }
    find("note").classList.toggle("raises", Boolean(seen.error));
    const closed = Boolean(seen.error) || chain.length === data.longest;
    for (const chip of root.querySelectorAll(".explorer-chips button"))
      chip.setAttribute("aria-disabled", closed);
    for (const name of ["undo", "clear"])
      find(name).setAttribute("aria-disabled", chain.length === 0);
    for (const button of root.querySelectorAll("[data-write]")) {
      button.setAttribute("aria-disabled", Boolean(seen.error));
      button.setAttribute("aria-pressed", now.write === button.dataset.write);
    }
    for (const option of root.querySelectorAll("[data-on]"))
      option.setAttribute("aria-pressed", option.dataset.on === now.on);
    find("state").value = now.x;
    find("means").firstChild.textContent = find("state").selectedOptions[0].dataset.means;
  };
  const change = (news) => {
    Object.assign(now, news);
    // For another kind of x an earlier call may raise: the chain ends there.
    while (!isChain(now.y)) now.y = now.y.slice(0, -1);
    show();
    note();
  };

  const press = (selector, act) => {
    for (const button of root.querySelectorAll(selector))
      button.addEventListener("click", () => {
        if (button.getAttribute("aria-disabled") !== "true") act(button.dataset);
      });
  };
  press("[data-call]", ({ call }) => change({ y: [...now.y, call], write: "" }));
  press(".explorer-undo", () => change({ y: now.y.slice(0, -1), write: "" }));
  press(".explorer-clear", () => change({ y: [], write: "" }));
  press("[data-on]", ({ on }) => change({ on, write: "" }));
  press("[data-write]", ({ write }) => change({ write: now.write === write ? "" : write }));
  find("state").addEventListener("change", (event) => change({ x: event.target.value }));
  find("chips").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const chips = [...find("chips").querySelectorAll("button")];
    const place = chips.indexOf(document.activeElement) + step;
    chips[(place + chips.length) % chips.length].focus();
    event.preventDefault();
  });
  // Links on this page that lead to a chain show it here.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="?y="]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState(null, "", link.href);
    read();
    show();
    root.scrollIntoView({ block: "start" });
    find("code").focus();
  });
  addEventListener("popstate", () => { read(); show(); });
  if (location.search.includes("y=")) { read(); show(); } else read();
  root.classList.add("ready");
})();
