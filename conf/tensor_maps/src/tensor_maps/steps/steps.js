// Shows what became of tensors, event by event, from what data() of steps returned. A
// file or a notebook hands over the element that is to be filled. A page of the site
// hands over the figure of a player, which shows an event with what it has room for, and
// gets a dialog that shows all of it.
"use strict";
function tensorCopiesSteps(data, place = document.currentScript.place) {
  const { code, steps, drawings, captions } = data;
  const inFigure = place.matches("figure");
  const key = inFigure ? place.id : place.dataset.key;
  const make = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [attribute, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(attribute, value);
      else made.setAttribute(attribute, value);
    }
    made.append(...children);
    return made;
  };
  const button = (words, click, name = "") =>
    make("button", { type: "button", class: name, click }, words);
  const region = (name, label, of = "div") => make(of,
    { class: `steps-${name}`, role: "region", "aria-label": label, tabindex: 0 });
  // Kinds of events are told by a sign and a word.
  const SIGNS = { appears: "+", shares: "=", written: "\u2193", cut: "|",
    gradient: "\u2207", raises: "\u2715", changes: "~" };
  // What is drawn on a name tag.
  const ON_TAGS = { leaf: "double outline: leaf that requires grad", frozen: "lock: frozen" };

  // -- The parts ------------------------------------------------------------------
  const STRING = String.raw`"{3}[^]*?"{3}|'{3}[^]*?'{3}|"(?:\\.|[^"\\\n])*"|` +
    String.raw`'(?:\\.|[^'\\\n])*'`;
  const WORDS = "and|as|assert|async|await|break|class|continue|def|del|elif|else|" +
    "except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|" +
    "raise|return|try|while|with|yield|True|False|None";
  const TOKEN = new RegExp(`(${STRING})|(#.*)|\\b(?:${WORDS})\\b`, "g");
  const lines = [make("span", { class: "steps-line" })];
  const write = (text, name) => text.split("\n").forEach((piece, place) => {
    if (place) lines.push(make("span", { class: "steps-line" }));
    if (piece) lines.at(-1).append(name ? make("span", { class: name }, piece) : piece);
  });
  const source = code.join("\n");
  let end = 0;
  for (const found of source.matchAll(TOKEN)) {
    const [text, string, comment] = found;
    write(source.slice(end, found.index));
    write(text, string ? "steps-text" : comment ? "steps-comment" : "steps-word");
    end = found.index + text.length;
  }
  write(source.slice(end));

  const codeBox = region("code", "Code");
  codeBox.append(make("pre", {}, ...lines));
  const see = region("see", "Picture");
  const output = region("output", "Output so far", "pre");
  const printed = make("div", { class: "steps-printed" }, make("p", {}, "Output so far"), output);
  printed.hidden = !steps.some((step) => step.printed);
  const kind = make("span", { class: "steps-kind" });
  const statement = make("code", {});
  const said = make("p", {});
  const raised = make("p", { class: "steps-raised" });
  const caption = make("p", { class: "steps-caption" });
  const told = make("div", { class: "steps-said", role: "status" },
    make("div", {}, statement, kind), said, raised, caption);
  const legend = make("p", { class: "steps-legend" });
  for (const [name, sign] of Object.entries(SIGNS)) {
    if (steps.some(({ event }) => event === name))
      legend.append(make("span", {}, `${sign} ${name}`));
  }
  for (const [name, words] of Object.entries(ON_TAGS)) {
    if (drawings.join().includes(`data-sign="${name}"`)) legend.append(make("span", {}, words));
  }
  const slider = make("input", { type: "range", min: 1, "aria-label": "Step",
    input: () => go(slider.valueAsNumber - 1) });
  const marks = make("span", { class: "steps-marks", "aria-hidden": true });
  const track = make("span", { class: "steps-track" }, marks, slider);
  const count = make("span", { class: "steps-count" });
  const link = make("a", {}, "Link");
  const every = make("input", { type: "checkbox", role: "switch",
    change: () => choose(every.checked, true) });
  const everyLine = make("label", {}, every, "Every line");
  const turns = make("span", { class: "steps-turns" });
  const nextTurn = button("Next iteration", () => go(later(false)));
  const pastLoop = button("After the loop", () => go(later(true)));
  const loop = make("span", { class: "steps-loop" }, turns, nextTurn, pastLoop);
  const back = button("Back", () => KEYS.ArrowLeft());
  const forward = button("Forward", () => KEYS.ArrowRight(), "steps-forward");
  const title = make(inFigure ? "h2" : "h1", {}, data.title);
  const head = make("div", { class: "steps-head" }, title, link);
  const box = make("div", { class: "steps" }, make("div", {}, head, see,
    make("div", { class: "steps-controls", role: "group", "aria-label": "Steps" },
      back, forward, count, loop, track, everyLine, legend), told, codeBox, printed));

  // -- Going from event to event --------------------------------------------------
  const events = steps.flatMap((step, index) => (step.event ? [index] : []));
  everyLine.hidden = [0, steps.length].includes(events.length);
  // The steps that are gone to, and the one that is shown, by its place among all.
  let list = [], at = 0;
  const spot = () => list.indexOf(at);
  const choose = (all, isPressed) => {
    every.checked = all || !events.length;
    list = every.checked ? [...steps.keys()] : events;
    slider.max = list.length;
    marks.classList.toggle("dense", list.length > 30);
    marks.replaceChildren(...events.map((index) => {
      const { event } = steps[index], mark = make("i", { class: event });
      mark.append(SIGNS[event] ?? "");
      mark.style.setProperty("--at", list.indexOf(index) / (list.length - 1 || 1));
      return mark;
    }));
    track.hidden = list.length < 2;
    if (isPressed) show(list.findLast((index) => index <= at) ?? list[0]);
  };
  // The place in the list of what comes after this turn, or after the whole loop.
  const later = (whole) => {
    const depth = steps[at].turn.length - 1;
    const around = (step) => String(step.turn.slice(0, depth));
    let [turn, of] = steps[at].turn[depth];
    const next = steps.findIndex((step, index) => {
      if (index <= at) return false;
      const other = step.turn[depth];
      const left = !other || other[1] !== of || other[0] < turn ||
        around(step) !== around(steps[at]);
      if (left || (!whole && other[0] > turn)) return true;
      turn = other[0];
    });
    return next < 0 ? -1 : list.findIndex((index) => index >= next);
  };
  const go = (number) => {
    const wanted = list[Math.min(Math.max(0, number), list.length - 1)];
    show(wanted, wanted > at && number === spot() + 1);
  };
  const KEYS = { ArrowLeft: () => go(spot() - 1), ArrowRight: () => go(spot() + 1),
    Home: () => go(0), End: () => go(list.length - 1) };
  const press = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    // Code that is wider than its box is moved by the arrows.
    const { key, target } = event, wide = target.scrollWidth > target.clientWidth;
    if (!KEYS[key] || (wide && target.matches("[role=region]"))) return;
    event.preventDefault();
    KEYS[key]();
  };

  // -- The picture ----------------------------------------------------------------
  const sizes = drawings.map((drawing) =>
    drawing.match(/viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"/).slice(1).map(Number));
  box.style.setProperty("--high", `${Math.max(0, ...sizes.map(([, high]) => high))}px`);
  // A picture grows with its room, up to a limit; none is made smaller.
  const scaled = () => {
    const svg = see.querySelector(":scope > .steps-picture > svg");
    if (!svg) return;
    const [wide, high] = sizes[steps[at].drawing];
    const below = svg.parentNode.offsetHeight - svg.clientHeight;
    const room = Math.min((see.clientWidth - 6) / wide, (see.clientHeight - below) / high, 1.6);
    svg.style.width = `${wide * Math.max(1, room)}px`;
  };
  new ResizeObserver(scaled).observe(see);
  const drawn = (index) => {
    const picture = make("span", { class: "steps-picture" });
    picture.innerHTML = drawings[index] ?? "There is no tensor to draw.";
    return picture;
  };

  // -- What moves, where the reader has not asked for less -------------------------
  const move = (was, now, step) => {
    const all = (name, of = now) => [...of.querySelectorAll(name)];
    const more = (name) => (all(name).length > all(name, was).length ? all(name) : []);
    const middle = (one) => {
      const { x, y, width, height } = one.getBBox();
      return [x + width / 2, y + height / 2];
    };
    const away = (one, other) => {
      const [[x, y], [left, top]] = [middle(one), middle(other)];
      return [left - x, top - y];
    };
    const by = ([x, y]) => `${x}px ${y}px`;
    const play = (one, frames) => one.animate(frames, { duration: 450, easing: "ease-out" });
    const isNew = (one, name) =>
      !was.querySelector(`[data-${name}="${CSS.escape(one.dataset[name])}"]`);
    const row = all(".tm-row").find((one) => isNew(one, "memory"));
    const arrow = more(".tm-copy").at(-1);
    if (row && arrow) {
      // A copy slides out of the row that its arrow comes from: the nearest other one.
      const far = (one) => Math.hypot(...away(arrow, one));
      const [from] = all(".tm-row").filter((one) => one !== row)
        .sort((one, other) => far(one) - far(other));
      if (from) play(row, { translate: [by(away(row, from)), "0"], opacity: [0.3, 1] });
      for (const tag of all(".tm-tag")) {
        if (isNew(tag, "name")) play(tag, { opacity: [0, 0, 1] });
      }
    }
    if (step.event === "written") {
      // From the name that the statement has first, along its stem, into the cells.
      const text = textOf(step);
      // One object with two names has one tag.
      const first = (tag) => Math.min(...tag.dataset.name.split(", ").map((name) =>
        (text.indexOf(name) + 1 || Infinity)));
      const [tag] = all(".tm-tag[data-new]").sort((one, other) => first(one) - first(other));
      const stem = tag?.querySelector("path");
      for (const cell of stem ? all(".tm-cell.changed") : []) {
        const way = [0, 0.3, 0.6, 1].map((part) => {
          const { x, y } = stem.getPointAtLength(part * stem.getTotalLength());
          return by([x, y]);
        });
        play(cell, { opacity: [0.2, 0.2, 1] });
        const dot = document.createElementNS(now.namespaceURI, "circle");
        dot.setAttribute("r", 5);
        tag.after(dot);
        play(dot, { translate: [...way, by(middle(cell))] })
          .onfinish = () => dot.remove();
      }
    }
    for (const arc of more(".tm-arc")) {
      play(arc, { clipPath: ["inset(-9px -9px -9px 100%)", "inset(-9px)"] });
    }
    for (const bar of more(".tm-cut")) {
      play(bar, { translate: ["0 -14px", "0"], opacity: [0, 1] });
    }
  };

  // -- In the figure of a player, of which the picture that it had stays -----------------
  const part = (name) => place.querySelector(`.player-${name}`);
  const played = part("now");
  const dots = [...place.querySelectorAll(".player-dots > button")];
  const backward = [back, ...place.querySelectorAll("[data-go=Home], [data-go=ArrowLeft]")];
  const onward = [forward, ...place.querySelectorAll("[data-go=ArrowRight]")];
  const inPlace = (step, words) => {
    played.innerHTML = drawings[step.drawing] ?? "";
    played.style.setProperty("--own", sizes[step.drawing]?.[0]);
    part("statement").textContent = textOf(step);
    part("count").textContent = words;
    part("said").textContent = step.said;
    for (const sign of place.querySelectorAll(".player-signs > span"))
      sign.toggleAttribute("data-off", !played.innerHTML.includes(sign.dataset.mark));
    const lit = dots[events.findLastIndex((index) => index <= at)] ?? dots[0];
    const moves = dots.includes(document.activeElement);
    for (const dot of dots) {
      dot.tabIndex = dot === lit ? 0 : -1;
      dot.setAttribute("aria-current", dot === lit ? "step" : false);
    }
    if (moves) lit.focus();
  };
  // Where a reader looks: what is there moves.
  const stage = () => (!inFigure || box.checkVisibility() ? see : played);

  // -- Showing a step -----------------------------------------------------------------
  const textOf = ({ first, last }) => {
    const whole = code.slice(first - 1, last);
    const indent = whole[0].match(/^\s*/)[0];
    const shown = whole.length > 4 ? [...whole.slice(0, 3), `${indent}…`] : whole;
    return shown.map((line) => line.replace(indent, "")).join("\n");
  };
  const light = (step, until) => {
    const ran = new Set();
    for (const { first, last } of steps.slice(0, until)) {
      for (let line = first; line <= last; line++) ran.add(line);
    }
    lines.forEach((line, index) => {
      const lit = step.first <= index + 1 && index < step.last;
      line.className = `steps-line ${lit ? "lit" : ran.has(index + 1) ? "" : "future"}`;
      line.toggleAttribute("aria-current", lit);
    });
    const top = lines[step.first - 1].offsetTop, room = codeBox.clientHeight;
    const bottom = lines[step.last - 1].offsetTop + lines[step.last - 1].offsetHeight;
    if (top < codeBox.scrollTop + 40 || bottom > codeBox.scrollTop + room - 40) {
      codeBox.scrollTop = top - Math.max(20, (room - (bottom - top)) / 2);
    }
  };
  const print = (from, until) => {
    const text = (...range) => steps.slice(...range).map((one) => one.printed).join("");
    output.replaceChildren(text(0, from), make("b", {}, text(from, until)));
    output.scrollTop = output.scrollHeight;
  };
  const show = (index, moves = false) => {
    at = index;
    const step = steps[at], number = spot() + 1;
    // What ran up to the next event, and was printed there, belongs to this one.
    const next = list[number] ?? steps.length, from = number > 1 ? at : 0;
    const words = `${number} of ${list.length}`;
    count.textContent = words;
    const nested = step.turn.filter(([, of]) => of > 1);
    turns.textContent = nested.length
      ? `iteration ${nested.map((pair) => pair.join(" of ")).join(", ")}` : "";
    for (const [jump, whole] of [[nextTurn, false], [pastLoop, true]]) {
      const further = nested.length && later(whole) > number;
      if (!further && jump === document.activeElement) forward.focus();
      jump.hidden = !further;
    }
    loop.hidden = !nested.length;
    slider.value = number;
    const { event } = step;
    statement.textContent = textOf(step);
    slider.setAttribute("aria-valuetext", `${words}: ${statement.textContent}`);
    for (const mark of marks.children) mark.classList.remove("lit");
    marks.children[events.indexOf(at)]?.classList.add("lit");
    kind.replaceChildren(make("b", { "aria-hidden": true }, SIGNS[event] ?? ""), event ?? "");
    kind.hidden = !event;
    for (const one of backward) one.setAttribute("aria-disabled", number < 2);
    for (const one of onward) one.setAttribute("aria-disabled", number === list.length);
    said.replaceChildren(step.said);
    raised.textContent = step.raised ?? "";
    const was = stage().querySelector("svg");
    see.replaceChildren(drawn(step.drawing));
    caption.textContent = [captions[step.drawing], step.note].filter(Boolean).join(" ");
    if (inFigure) inPlace(step, words);
    scaled();
    print(from, next);
    light(step, next);
    const now = stage().querySelector("svg");
    if (moves && now && matchMedia("(prefers-reduced-motion: no-preference)").matches) {
      move(was ?? make("i", {}), now, step);
    }
    link.hidden = !key;
    link.href = `#${key}-${at + 1}`;
    if (key && location.hash !== link.hash) history.replaceState(history.state, "", link.hash);
  };
  // The step that the address names, counted from zero.
  const wanted = () => {
    const [, digits] = location.hash.match(/-(\d+)$/) ?? [];
    if (!key || location.hash !== `#${key}-${digits}`) return null;
    return Math.min(Math.max(1, digits), steps.length) - 1;
  };
  // A step between two events is shown among all lines, or it would not be the same.
  const open = (index) => {
    if (!list.includes(index)) choose(true);
    show(index);
  };
  addEventListener("hashchange", () => {
    if (!inFigure && box.checkVisibility() && wanted() !== null) open(wanted());
  });

  // -- Where it is shown --------------------------------------------------------------
  choose(false);
  at = inFigure ? data.lead : list[0];
  (inFigure ? box : document).addEventListener("keydown", press);
  if (!inFigure) {
    place.replaceChildren(box);
    open(wanted() ?? at);
    return;
  }
  const close = () => part("large").focus();
  const dialog = make("dialog", { class: "steps-dialog", close }, box);
  title.id = `${key}-title`;
  dialog.setAttribute("aria-labelledby", title.id);
  head.append(button("Close", () => dialog.close()));
  document.body.append(dialog);
  place.open = (what) => {
    if (KEYS[what]) return KEYS[what]();
    if (events[what - 1] !== undefined) return show(events[what - 1]);
    if (what === "large") {
      dialog.showModal();
      forward.focus();
    }
    open(wanted() ?? at);
    if (what === "address") place.scrollIntoView({ block: "center" });
  };
}
