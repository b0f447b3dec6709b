// The explorer on the home page: put calls together, or type a line, and see what the build
// saw of it. Every answer, its words and its picture are in facts.js, which comes with a
// reader's first touch; nothing is computed here but which of them to show.
(() => {
  "use strict";
  const { element, factRow, keepInAddress, loadScripts } = window;
  const root = document.querySelector(".explorer");
  if (!root) return;
  const find = (name, within = root) => within.querySelector(`.explorer-${name}`);
  const either = new Intl.ListFormat("en-GB", { type: "disjunction" });

  // -- What was seen ----------------------------------------------------------------------
  let facts, states, devices, read, pair, loading;
  // A lane is a line of code. `told` is what was read of a typed line, while it is shown.
  const now = { lanes: ["x.detach()"], at: 0, x: "", on: "", write: "", told: null };
  const chosen = { x: "", on: "" }; // by the reader: what a line chooses for itself isn't kept
  const chains = new Map([["x", { size: 0 }]]); // what comes before the last call of a chain
  const loaded = () => (loading ??= loadScripts(root.dataset.load.split(" ")).then(() => {
    facts = window.callFacts;
    ({ read, pair } = window.callReader(facts));
    [states, devices] = [Object.keys(facts.states), Object.keys(facts.devices)];
    for (const [before, { size }] of chains) // which grows here
      for (const call of size < facts.longest ? Object.values(facts.chips) : [])
        chains.set(before + call, { before, size: size + 1 });
    Object.assign(now, Object.assign(chosen, { x: states[0], on: devices[0] }));
    root.classList.add("ready");
  }));
  const text = (at) => facts.texts[at] ?? "";
  const stateWords = (x) => facts.states[x][0];
  const seenOf = (code, x = now.x, on = now.on) => {
    const all = facts.seen[code] ?? [], here = all[devices.indexOf(on)] ?? [];
    // What is no tensor, or goes into a module, is of fewer kinds.
    const others = facts.rows[code] ? [...here, ...(all[0] ?? [])] : [];
    return facts.outcomes[[here[states.indexOf(x)], ...others].find((at) => at >= 0)] ?? null;
  };
  const raises = (seen) => seen?.error !== undefined;
  const runs = (...kind) => !raises(seenOf(...kind) ?? { error: -1 });
  const memoryOf = ({ sign }) => sign.split("-")[0];
  const withoutLast = (code) => chains.get(code)?.before ?? "x";
  const baseOf = (code) => (runs(code) ? code : withoutLast(code)); // of another call
  // For some kinds of x a chain ends early, at the call that raises.
  const cut = (code, ...kind) =>
    (seenOf(code, ...kind) || !chains.get(code)?.size ? code : cut(withoutLast(code), ...kind));

  // -- The address holds the state --------------------------------------------------------
  const fromAddress = (part) => {
    const chips = part.split(".").filter(Boolean).map((key) => facts.chips[key]);
    const code = chips.includes(undefined) ? part : ["x", ...chips].join(""); // detach.clone: old
    return facts.seen[code] ? [code] : [];
  };
  const readAddress = () => {
    const asked = new URLSearchParams(location.search);
    const one = (name, list) => list.find((key) => key === asked.get(name)) ?? list[0];
    const [y = "x.detach()"] = fromAddress(asked.get("y") ?? "none");
    const lanes = [y, ...fromAddress(asked.get("vs") ?? "none")];
    Object.assign(chosen, { x: one("x", states), on: one("on", devices) });
    const write = one("write", ["", "x", "y"]);
    Object.assign(now, chosen, { lanes, at: lanes.length - 1, write, told: null });
    if (!asked.has("x")) chooseDiffering();
  };
  const writeAddress = () => {
    const [y, vs] = now.lanes, on = now.on === devices[0] ? "" : now.on;
    keepInAddress(Object.entries({ y, x: now.x, vs, on, write: now.write }), location.hash);
  };

  // -- Two lanes --------------------------------------------------------------------------
  const isOfBlock = () => now.lanes.filter((code) => code.startsWith("with ")).length === 1;
  const factsOf = (seen) => new Map((seen.facts ?? []).map(([title, answer, detail]) => {
    const leaf = /leaf: \w+/.exec(text(detail))?.[0] ?? ""; // the rest is the size, or a name
    return [text(title), [text(answer), text(title) === "Result" ? text(detail) : leaf]];
  }));
  const isLayout = (title) => title.startsWith("Keeps");
  // Which facts differ, by title, and which lanes raise. The strides are those of an example.
  const compare = (x = now.x, on = now.on) => {
    const both = now.lanes.map((code) => seenOf(cut(code, x, on), x, on));
    const raising = both.map(raises), differ = [];
    const told = both.includes(null) || raising.includes(true) ? [new Map()] : both.map(factsOf);
    for (const title of new Set(told.flatMap((all) => [...all.keys()]))) {
      const none = isLayout(title) ? ["another shape", ""] : null;
      const [a, b] = told.map((all) => all.get(title) ?? none);
      if (!a || !b || (title === "Memory" && isOfBlock())) continue;
      const at = a[0] === b[0] ? 1 : 0;
      if (a[at] !== b[at]) differ.push([title, a[at], b[at]]);
    }
    return { differ, raising };
  };
  const isOther = ({ differ, raising: [a, b] }) => differ.length > 0 || a !== b;
  // Of the kinds of x the first for which two calls differ, if possible without raising.
  const chooseDiffering = () => {
    const kinds = [now.on, ...devices].flatMap((on) => [now.x, ...states].map((x) => [x, on]));
    const tests = [
      ({ differ }) => differ.some(([title]) => !isLayout(title)),
      ({ raising: [a, b] }) => a !== b, isOther, ({ raising }) => !raising.includes(true),
    ];
    const found = tests.map((test) => kinds.find((kind) => test(compare(...kind))));
    if (now.lanes.length > 1) [now.x, now.on] = found.find(Boolean) ?? [now.x, now.on];
  };
  const verdict = () => {
    if (now.lanes.length < 2) return "";
    const kinds = states.map((x) => [stateWords(x), compare(x)]);
    const same = kinds.filter(([, one]) => !isOther(one)).map(([words]) => words);
    const differ = compare().differ.map(([title, ...how]) =>
      `${title.toLowerCase()} (${how.join(" | ")})`);
    // What differs hangs on x, unless it is the same for every kind.
    const told = new Set(kinds.map(([, one]) => one.differ.map(([title]) => title).join()));
    const they = told.size > 1 ? `If x is ${stateWords(now.x)}, they` : "They";
    const said = differ.length ? [`${they} differ in: ${differ.join(", ")}.`] : [];
    // What is no difference of the calls, but of what was run of them.
    if (isOfBlock())
      said.push("The block applies to every operation in it; x * 2 is an example, which makes " +
        "new memory without the block too.");
    for (const code of now.lanes.filter((one) => /^x\.float\(\)$|^torch\.Tensor\(a\)$/.test(one)))
      said.push(`${/\b[xa]\b/.exec(code)[0]} is float32 here. From another dtype ${code} copies.`);
    now.lanes.forEach((code, at) => {
      const raising = kinds.filter(([, one]) => one.raising[at] && !one.raising[1 - at]);
      const words = either.format(raising.map(([kind]) => kind));
      if (words) said.push(`${code.split("\n")[0]} raises if x is ${words}.`);
    });
    if (same.length === kinds.length) return said.join(" ") ||
      "Same memory, gradient, device and layout for every kind of x, called like this.";
    if (said.length && same.length) said.push(`No difference if x is ${either.format(same)}.`);
    return said.join(" ") || "No difference for this x. Try another kind of x.";
  };

  // -- What is said of a typed line: of all that was read, and how far that is ------------
  const DOES = {
    shares: "shares memory", itself: "is the same tensor", copies: "copies",
    moves: "is the same tensor, moved", raises: "raises",
  };
  const doesOf = (seen) => {
    const [, python] = /^y is a (Python \w+|number)/.exec(text(seen.said)) ?? [];
    const isOther = / other values /.test(text(seen.said));
    return python ? `gives a ${python}` : isOther ? "makes new memory" : DOES[memoryOf(seen)];
  };
  const WRITE = /(?<!requires_grad|detach|share_memory)_\(|^x[^(]* [-+*/]?= /;
  // What one of several steps does: by dtype, device and layout of what it is called on.
  const stepWords = ({ text: typed, code, or, isSure = true }) => {
    const [here, away = here] = devices.map((on) => [code, or].flatMap((one) =>
      ["constant", "view"].map((x) => one && seenOf(one, x, on))).filter(Boolean).map(doesOf));
    const isMove = here.join() !== away.join();
    const words = [...new Set(here)], leaf = seenOf(code, "leaf");
    const does = WRITE.test(code) && words[0] === DOES.itself ? "writes in place"
      : !isSure ? "copies, unless it has that dtype already"
        : isMove && away[0] !== DOES.raises ? "copies, unless it is there already"
          : either.format(words) +
            (words.length < 2 ? "" : `, by ${or ? "what it is" : "its layout"}`);
    const more = [
      raises(leaf) && runs(code, "constant") && "raises if it requires grad",
      leaf?.sign.endsWith("stops") && "gradient stops",
      isMove && away[0] === DOES.raises && "raises on a GPU",
    ].filter(Boolean);
    return `${typed} ${does}${more.length ? ` (${more.join(", ")})` : ""}`;
  };
  const lineSays = (told, seen) => {
    const { code, x, steps, read: far, unread, when, or, orWhen, whole, says } = told;
    const first = ({ said }) => /^.*?\.(?= |$)/.exec(text(said))[0], isOne = steps.length === 1;
    const isElse = (it) => isOne && it && !raises(it) && memoryOf(it) !== memoryOf(seen);
    const other = or ? seenOf(or) : null;
    const away = devices[1] && now.on === devices[0] ? seenOf(code, now.x, devices[1]) : null;
    const only = [when, isElse(away) && `${x} is on the CPU`].filter(Boolean).join(", and ");
    return says || [
      isOne && (unread || !whole) && `${unread ? "Up to" : "Of"} ${far}: `, only && `If ${only}: `,
      isOne ? text(seen.said) : `${steps.map(stepWords).join("; then ")}.`,
      isElse(other) && ` If it is ${orWhen}: ${first(other)}`,
      isElse(away) && ` If it is on a GPU: ${first(away)}`, unread && ` Not read: ${unread}.`,
      !isOne && !whole && !unread && " The rest of the line isn't read.",
    ].filter(Boolean).join("");
  };

  // -- The page ---------------------------------------------------------------------------
  const drawn = (seen, code) => {
    // Of the build: nothing that a reader typed.
    const innerHTML = facts.pictures[seen.picture].map((at) => facts.pieces[at]).join("");
    const svg = element("div", { innerHTML }).firstChild;
    seen.writes?.[now.write]?.[1]?.forEach((changed, memory) => {
      const row = svg.querySelectorAll(`.tm-row[data-memory="${memory}"] .tm-cell`);
      for (const one of changed.map((at) => row[at]).filter(Boolean)) {
        one.classList.add("changed");
        one.querySelector("text").textContent = "7";
      }
    });
    return Object.assign(svg, { role: "img", ariaLabel: `y = ${code}: ${text(seen.said)}` });
  };
  const showCode = (part, code, told) => {
    const line = /=|\n/.test(code.replace(/\([^]*?\)/g, "")) ? code : `y = ${code}`;
    part.textContent = told?.line ?? line;
    if (!told || told.line.replaceAll("'", '"').replace(/^\w+ = /, "") === code) return;
    const { subject = "x" } = facts.rows[code] ?? {};
    const which = told.steps.length > 1 ? `: ${told.steps[told.at].text}` : "";
    const who = told.x === subject ? "" : `, ${subject} stands for ${told.x}`;
    part.append(element("small", {}, `drawn${which} as ${line.replace(/\ny = x$/, "")}${who}`));
  };
  const showLane = (code, place, differing) => {
    const page = find("lanes").children[place], part = (name) => find(name, page);
    const seen = seenOf(code), row = facts.rows[code], isOne = now.lanes.length === 1;
    const told = now.told?.code === code ? now.told : null, steps = told?.steps.length ?? 0;
    showCode(part("code"), code, told);
    part("headline").textContent = !seen ? "The build had no such device, so this wasn't run."
      : told && (!raises(seen) || steps > 1) ? lineSays(told, seen) : text(seen.said);
    part("picture").replaceChildren(...(seen ? [drawn(seen, code)] : []));
    const note = [], [wrote] = seen?.writes?.[now.write] ?? [];
    if (raises(seen)) {
      const href = `errors.html?message=${encodeURIComponent(text(seen.error))}`;
      note.push(element("code", {}, text(seen.error)), element("a", { href }, "What to do"));
    } else if (wrote) note.push(text(wrote));
    else if (row?.given) note.push("First run", element("code", {}, row.given));
    if (row?.says) note.push(row.says);
    if (row) note.push(element("a", { href: `atlas.html#${row.id}` }, "In the Atlas"));
    part("note").replaceChildren(...note.flatMap((one) => [one, " "]));
    part("note").classList.toggle("raises", raises(seen));
    // No facts of a fragment: they would be taken for those of the line.
    const most = steps > 1 || told?.unread ? 0 : isOne ? 4 : Infinity;
    part("facts").classList.toggle("own", seen?.sign.startsWith("copies") === true);
    part("facts").replaceChildren(...(seen?.facts ?? []).slice(0, most).map((fact) => {
      const row = factRow(fact.map(text)), isOther = differing.includes(text(fact[0]));
      row.classList.toggle("other", isOther);
      if (isOther) row.firstChild.append(element("mark", {}, "differs"));
      return row;
    }));
    for (const button of page.querySelectorAll("[data-write]")) {
      const target = button.dataset.write === "x" ? row?.subject ?? "x" : "y";
      const rows = /^(?:df|mixed)$/.test(target) ? ".iloc" : "";
      button.textContent = `Write ${target}${rows}[0] = 7`;
      button.ariaDisabled = !seen?.writes;
      button.ariaPressed = now.write === button.dataset.write;
    }
    page.classList.toggle("chosen", !isOne && place === now.at);
    part("lane-tools").hidden = isOne;
    part("choose").ariaPressed = place === now.at;
  };
  const show = () => {
    const lanes = find("lanes"), two = now.lanes.length > 1;
    while (lanes.children.length > now.lanes.length) lanes.lastChild.remove();
    if (lanes.children.length < now.lanes.length) {
      lanes.append(lanes.firstChild.cloneNode(true));
      find("headline", lanes.lastChild).removeAttribute("role"); // the verdict is read out
    }
    const differing = compare().differ.map(([title]) => title);
    now.lanes.forEach((lane, place) => showLane(lane, place, differing));
    root.classList.toggle("two", two);
    find("verdict").textContent = verdict();
    const code = now.lanes[now.at], base = baseOf(code), isChain = chains.has(code);
    const isOpen = isChain && chains.get(base).size < facts.longest;
    for (const chip of root.querySelectorAll("[data-call]")) {
      const next = isOpen ? seenOf(base + facts.chips[chip.dataset.call]) : null;
      chip.classList.toggle("fails", raises(next));
      chip.title = raises(next) ? text(next.error) : "";
      chip.ariaDisabled = !next;
    }
    find("hint").textContent = !isChain ? "Remove this call to build a chain of calls."
      : !isOpen ? `A chain has at most ${facts.longest} calls. Remove one.`
        : base !== code ? "This raises. Another call takes the place of the last one."
          : root.querySelector(".fails") ? "Crossed-out calls raise here." : "";
    for (const name of ["undo", "clear"]) find(name).ariaDisabled = code === "x";
    find("compare").hidden = two;
    for (const option of root.querySelectorAll("[data-on]"))
      option.ariaPressed = option.dataset.on === now.on;
    find("state").value = now.x;
    find("means").firstChild.textContent = facts.states[now.x][1];
  };
  const change = (news) => {
    Object.assign(now, news);
    now.lanes = now.lanes.map((code) => cut(code));
    show();
    writeAddress();
  };
  const put = (code) => {
    quiet();
    change({ lanes: now.lanes.map((one, at) => (at === now.at ? code : one)), write: "" });
  };

  // -- What the reader asks: a line, "detach or clone?", a question, a message ------------
  const typed = find("typed");
  const MESSAGE = /\w(?:Error|Warning|Exception)\b|Traceback \(|\bFile "/;
  let turn = 0;
  const forget = () => {
    now.told = null;
    for (const name of ["read", "found"]) find(name).replaceChildren();
    return (turn += 1);
  };
  const quiet = () => {
    forget();
    typed.value = "";
    root.classList.remove("asked");
  };
  const draw = (asked) => { // whether all that was asked is shown, or a part
    const both = pair(asked), told = both ? null : read(asked);
    if (both?.every((code) => facts.seen[code])) {
      Object.assign(now, { lanes: both, at: 1, write: "", ...chosen });
      chooseDiffering();
      change({});
      return "all";
    }
    find("read").append(told?.said ?? "");
    if (!told?.code || !facts.seen[told.code]) return "";
    const x = told.state || chosen.x, [line] = asked.split("\n");
    change({ lanes: [told.code], at: 0, write: "", x, on: chosen.on, told: { ...told, line } });
    // Who writes to a leaf wants no_grad rather than another x.
    const other = !runs(told.code) && ["no_grad", ...states].find((one) => runs(told.code, one));
    const button = { type: "button", onclick: () => change({ x: other }) };
    if (other) find("read").append(` It raises if x is ${stateWords(now.x)}. It runs if x is `,
      element("button", button, stateWords(other)), ".");
    return told.whole && !told.unread ? "all" : "part";
  };
  const ask = async () => {
    const mine = forget();
    await loaded();
    if (mine !== turn) return;
    const asked = typed.value.trim().replace(/\s*\?+$/, ""), isMessage = MESSAGE.test(asked);
    const shown = asked && !isMessage ? draw(asked) : "";
    root.classList.toggle("asked", asked !== "" && !shown);
    if (shown === "all" || asked.length < 3) return;
    if (!isMessage) await new Promise((done) => setTimeout(done, 150)); // the line may go on
    if (!window.showAnswer) await new Promise((done) =>
      document.addEventListener("search-ready", done, { once: true }));
    if (mine === turn) window.showAnswer(find("found"), asked.slice(-4000), 5);
  };
  typed.addEventListener("input", ask);
  typed.addEventListener("keydown", (event) => {
    if (event.key === "Escape") again();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault(); // a new line comes with what is pasted
    typed.form.requestSubmit();
  });
  // Enter: a drawing stands already; else it leads to what was found first.
  find("line").addEventListener("submit", async (event) => {
    event.preventDefault();
    await ask();
    if (root.classList.contains("asked")) find("found").querySelector("a")?.click();
  });

  // -- Controls ---------------------------------------------------------------------------
  const press = (selector, act) => root.addEventListener("click", async ({ target }) => {
    const button = target.closest?.(selector);
    if (!button || button.ariaDisabled === "true") return;
    await loaded();
    act(button.dataset, [...find("lanes").children].indexOf(button.closest(".explorer-lane")));
  });
  press("[data-call]", ({ call }) => put(baseOf(now.lanes[now.at]) + facts.chips[call]));
  press(".explorer-undo", () => put(withoutLast(now.lanes[now.at])));
  press(".explorer-clear", () => put("x"));
  press(".explorer-compare", () => {
    quiet();
    change({ lanes: [now.lanes[0], now.lanes[0]], at: 1 });
  });
  press(".explorer-choose", (_, at) => change({ at }));
  press(".explorer-close", (_, at) => change({ lanes: [now.lanes[1 - at]], at: 0 }));
  press("[data-on]", ({ on }) => change({ on: chosen.on = on, write: "" }));
  press("[data-write]", ({ write }) => change({ write: now.write === write ? "" : write }));
  find("state").addEventListener("change", async ({ target }) => {
    await loaded();
    change({ x: chosen.x = target.value });
  });
  const again = async () => {
    await loaded();
    quiet();
    readAddress();
    change({});
  };
  // An address that changes without a load; the link to the box draws nothing.
  addEventListener("popstate", () => { if (location.hash !== "#explorer-typed") again(); });
  for (const touch of ["pointerover", "focusin", "touchstart"])
    root.addEventListener(touch, loaded, { once: true, passive: true });
  if (location.search.includes("y=")) again();
})();
