// Code, map and output after each statement of a program, from what steps() returned. A
// page of the site hands over the button that was pressed, and gets a dialog; a file or
// a notebook hands over the element that is to be filled.
"use strict";
function tensorCopiesSteps(data, place = document.currentScript.place) {
  const { code, asks = [], machines = [] } = data;
  let { steps, drawings, captions } = data;
  const inDialog = place.matches("button");
  const key = inDialog ? place.id : place.dataset.key;
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
  const region = (name, label) => make("div",
    { class: `steps-${name}`, role: "region", "aria-label": label, tabindex: 0 });
  const number = (index) => `step ${index + 1} of ${steps.length}`;

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
  const see = region("see", "Map and output");
  const map = make("div", { class: "steps-map" });
  const note = make("p", { class: "steps-note" });
  const output = make("pre", { class: "steps-output" });
  const printed = make("div", {}, make("p", {}, "Output so far"), output);
  see.append(map, note, printed);
  const said = make("p", { role: "status" });
  const raised = make("p", { class: "steps-raised" });
  const others = make("div", { class: "steps-others", "aria-live": "polite" });
  const slider = make("input", {
    type: "range", min: 1, max: steps.length, "aria-label": "Step",
    input: () => go(slider.valueAsNumber - 1),
  });
  const count = make("span", { class: "steps-count" });
  const link = make("a", {}, "Link");
  const turns = make("span", { class: "steps-turns" });
  const nextTurn = button("Next turn", () => go(after(at, false)));
  const pastLoop = button("After the loop", () => go(after(at, true)));
  const names = [data.here, ...machines.map(({ name }) => name)];
  const machine = make("select", { change: () => choose(machine.selectedIndex - 1) },
    ...names.map((name) => make("option", {}, name ?? "")));
  const on = make("label", { class: "steps-on" }, "Machine", machine);
  on.hidden = !machines.length;
  const first = button("First", () => go(0));
  const back = button("Back", () => go(asking ? at : at - 1));
  const forward = button("Forward", () => onward(), "steps-forward");
  const last = button("Last", () => go(steps.length - 1));
  const title = make(inDialog ? "h2" : "h1", {}, data.title);
  const head = make("div", { class: "steps-head" }, title);
  const loop = make("span", { class: "steps-loop" }, turns, nextTurn, pastLoop);
  const box = make("div", { class: "steps" }, make("div", {}, head,
    make("div", { class: "steps-controls", role: "group", "aria-label": "Steps" },
      first, back, forward, last, slider, count, link, loop, on),
    make("div", { class: "steps-said" }, said, raised, others), codeBox, see));

  // -- Going from step to step --------------------------------------------------------
  let at = 0;
  let asking = null;
  const asked = new Set();
  // The step after the turn, or after the loop, that a step is in.
  const after = (index, whole) => {
    const depth = steps[index].turn.length - 1;
    const around = (step) => String(step.turn.slice(0, depth));
    let [turn, of] = steps[index].turn[depth];
    for (let next = index + 1; next < steps.length; next++) {
      const other = steps[next].turn[depth];
      const left = !other || other[1] !== of || other[0] < turn ||
        around(steps[next]) !== around(steps[index]);
      if (left || (!whole && other[0] > turn)) return next;
      turn = other[0];
    }
    return steps.length - 1;
  };
  const onward = () => {
    const ask = asks.find((one) => one.step === at + 1 && !asked.has(one));
    if (chosen < 0 && !asking && ask) {
      asked.add(ask);
      show(at, ask);
    } else go(at + 1);
  };
  const go = (index) => show(Math.min(Math.max(0, index), steps.length - 1), null);
  const press = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const controls = { ArrowLeft: back, ArrowRight: forward, Home: first, End: last };
    const does = controls[event.key];
    // Code that is wider than its box is moved by the arrows.
    const wide = event.target === codeBox && codeBox.scrollWidth > codeBox.clientWidth;
    if (!does || (wide && event.key.startsWith("Arrow"))) return;
    event.preventDefault();
    does.click();
  };

  // -- On another machine -------------------------------------------------------------
  // Its place among the others, or -1: this build. A step there knows which it is here.
  let chosen = -1;
  const hereOf = (index) => steps[index].here ?? index;
  const placeOf = (here) => {
    const found = steps.findIndex((step, index) => hereOf(index) >= here);
    return found < 0 ? steps.length - 1 : found;
  };
  const loaded = (file) => new Promise((done, failed) => {
    const src = new URL(file, new URL(place.dataset.steps, location));
    const load = () => (script.steps ? done(script.steps) : failed());
    const script = make("script", { src, load, error: failed });
    document.head.append(script);
  });
  const choose = async (index) => {
    const other = machines[index];
    try {
      if (other && !other.steps) {
        const more = await loaded(other.file);
        other.steps = more.steps.map((step) =>
          typeof step === "number" ? { ...data.steps[step], here: step } : step);
        other.drawings = [...data.drawings, ...more.drawings];
        other.captions = [...data.captions, ...more.captions];
      }
    } catch {
      machine.selectedIndex = chosen + 1;
      others.textContent = "The steps of this machine did not load: try again.";
    }
    if (machine.selectedIndex !== index + 1) return;
    const here = hereOf(at);
    chosen = index;
    ({ steps, drawings, captions } = other ?? data);
    slider.max = steps.length;
    go(placeOf(here));
  };
  const elsewhere = (here, step) => {
    if (chosen < 0) return machines.map((one) => [one.name, one.differs[here]]);
    const words = machines[chosen].differs[here], { said } = data.steps[here];
    return [[data.here, words && (said === step.said ? words : said)]];
  };

  // -- Showing a step -----------------------------------------------------------------
  const drawn = (pair, changed) => pair.flatMap((index) => {
    if (index === null) return [];
    const picture = make("span", { class: "steps-half" });
    picture.innerHTML = drawings[index];
    picture.firstElementChild.removeAttribute("id");
    for (const text of picture.querySelectorAll('text[font-weight="bold"]')) {
      const names = text.textContent.split(/ = | \(|, /);
      if (names.some((name) => changed.includes(name))) text.classList.add("steps-new");
    }
    picture.prepend(make("span", {}, captions[index]));
    return [picture];
  });
  const pictures = (ask) => {
    // The order hangs on the step alone: the right one is not always the first.
    const turned = [...ask.pictures.keys()];
    if (ask.step % 2) turned.reverse();
    const choices = turned.map((number, place) => {
      const right = number === ask.right;
      const choice = button(make("span", {}, `Picture ${place + 1}`), () => {
        if (choices.some((one) => one.matches(".right"))) return;
        choices.forEach((one, other) => {
          if (turned[other] === ask.right) one.classList.add("right");
          one.setAttribute("aria-disabled", "true");
        });
        if (!right) choice.classList.add("wrong");
        const judged = right ? "Right: " : "Not this one: ";
        said.replaceChildren(judged + steps[ask.step].said);
        if (ask.instead) {
          const other = make("code", {}, ask.instead);
          said.append(" The other picture is that of ", other, ".");
        }
        skip.textContent = "Go on";
      }, "steps-choice");
      choice.append(...drawn(ask.pictures[number], []));
      return choice;
    });
    const skip = button("Skip", () => {
      forward.focus();
      go(ask.step);
    });
    const group = { class: "steps-ask", role: "group", "aria-label": ask.question };
    return make("div", group, ...choices, skip);
  };
  const light = (step) => {
    const ran = new Set();
    for (const { first, last } of steps.slice(0, at + 1)) {
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
  const show = (index, ask) => {
    [at, asking] = [index, ask];
    const step = steps[ask ? ask.step : at];
    light(step);
    const [turn, of] = ask ? [] : step.turn.at(-1) ?? [];
    count.textContent = `${ask ? "before " : ""}${number(ask ? ask.step : at)}`;
    const nested = step.turn.map((pair) => pair.join(" of ")).join(", ");
    turns.textContent = nested && `turn ${nested}`;
    loop.hidden = !nested;
    const further = of > 1 && after(at, true) > at;
    for (const [jump, wanted] of [[nextTurn, turn < of], [pastLoop, further]]) {
      if (!wanted && jump === document.activeElement) forward.focus();
      jump.hidden = !wanted;
    }
    slider.value = at + 1;
    slider.setAttribute("aria-valuetext", number(at));
    for (const one of [first, back]) one.setAttribute("aria-disabled", !at && !ask);
    for (const one of [forward, last]) {
      one.setAttribute("aria-disabled", at === steps.length - 1);
    }
    said.replaceChildren(ask ? `${ask.question} Choose one, or skip.` : step.said);
    raised.textContent = ask ? "" : step.raised ?? "";
    if (ask) map.replaceChildren(pictures(ask));
    else {
      const halves = drawn([step.graph, step.memory], step.changed);
      map.replaceChildren(...halves.length ? halves : ["There is no tensor yet."]);
    }
    note.textContent = ask ? "" : step.note ?? "";
    const told = ask ? [] : elsewhere(hereOf(at), step).filter(([, words]) => words);
    others.replaceChildren(...told.map(([name, words]) =>
      make("p", {}, make("b", {}, name), `: ${words}`)));
    const before = steps.slice(0, ask ? at + 1 : at).map((one) => one.printed).join("");
    output.replaceChildren(before, make("b", {}, ask ? "" : step.printed));
    printed.hidden = !output.textContent;
    output.scrollTop = output.scrollHeight;
    link.hidden = !key || Boolean(ask);
    if (key) {
      link.href = `#${key}-${hereOf(at) + 1}`;
      address(link.hash);
    }
  };
  const address = (hash) => {
    const bare = location.href.split("#")[0];
    if (location.hash !== hash) history.replaceState(history.state, "", bare + hash);
  };
  // The step that the address names, counted from zero.
  const wanted = () => {
    const [, digits] = location.hash.match(/-(\d+)$/) ?? [];
    return key && location.hash === `#${key}-${digits}` ? digits - 1 : null;
  };
  addEventListener("hashchange", () => {
    if (box.checkVisibility() && wanted() !== null) go(placeOf(wanted()));
  });

  // -- Where it is shown --------------------------------------------------------------
  (inDialog ? box : document).addEventListener("keydown", press);
  if (!inDialog) {
    place.replaceChildren(box);
    go(wanted() ?? 0);
    return;
  }
  const dialog = make("dialog", {
    class: "steps-dialog",
    close: () => {
      address("");
      place.focus();
    },
  }, box);
  title.id = `${key}-title`;
  dialog.setAttribute("aria-labelledby", title.id);
  head.append(button("Close", () => dialog.close()));
  document.body.append(dialog);
  place.open = () => {
    if (!dialog.open) dialog.showModal();
    forward.focus();
    go(wanted() === null ? at : placeOf(wanted()));
  };
}
