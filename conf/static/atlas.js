// The Atlas: its search, its chips, and the picture of an open row. Without this script
// the whole table is there. Nothing runs when the page loads, unless its address asks.
(() => {
  "use strict";
  const form = document.querySelector(".atlas-filter");
  if (!form) return;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const element = (name, text = "", more = {}) =>
    Object.assign(document.createElement(name), { textContent: text, ...more });
  const [rows, chips] = [all("table.atlas tr[id]"), all("[data-has]", form)];
  const { q: search, on: place, x: kind } = form.elements;

  // -- The filters ----------------------------------------------------------------------
  const pressed = () => chips.filter((one) => one.ariaPressed === "true")
    .map((one) => one.dataset.has);
  const press = (signs) => chips.forEach((one) => {
    one.ariaPressed = signs.includes(one.dataset.has);
  });

  // On a phone one kind of x is in sight, and is what a filter asks about.
  const narrow = matchMedia("(max-width: 50rem)");
  const mark = (row, signs) => {
    const alone = narrow.matches && !row.closest(".atlas-apart");
    const hits = all(":scope > td:not(.what)", row).map((cell) => {
      const said = cell.querySelector(`:scope > .${place.value}`) ?? cell;
      const hit = signs.length > 0 && (!alone || cell.cellIndex === kind.selectedIndex + 1) &&
        signs.every((sign) => said.matches(`.${sign}`) || cell.matches(`.${sign}`));
      cell.classList.toggle("hit", hit);
      return hit;
    });
    return hits.includes(true);
  };

  let marked = false;
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), signs = pressed();
    const sifted = signs.length > 0, marking = sifted || marked;
    marked = sifted;
    for (const row of rows) {
      const hit = marking && mark(row, signs);
      row.hidden = (sifted && !hit) || !words.every((one) => row.dataset.find.includes(one));
    }
    const shown = rows.filter((row) => !row.hidden).length, whole = shown === rows.length;
    for (const part of all("table.atlas, table.atlas > tbody, .atlas-apart")) {
      part.hidden = !part.querySelector("tr[id]:not([hidden])");
      if (part.matches("table")) part.classList.toggle("sifted", sifted);
      if (part.matches("details")) part.open = !whole; // what is found is in sight
    }
    form.querySelector(".count").textContent = !shown ? "No calls match. Clear the filters."
      : `${whole ? "" : `${shown} of `}${rows.length} calls`;
  };

  // A filtered view has an address, which can be sent or kept.
  const keep = () => {
    const asked = new URLSearchParams();
    if (search.value) asked.set("q", search.value);
    if (pressed().length) asked.set("has", pressed().join(","));
    const text = asked.toString().replaceAll("%2C", ",");
    const hash = document.querySelector("tr[id]:target:not([hidden])") ? location.hash : "";
    history.replaceState(null, "", (text ? `?${text}` : location.pathname) + hash);
  };

  // A link to a row is answered with the row, whatever the filters say.
  const reveal = () => {
    const there = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = there?.closest(".atlas-apart");
    if (!fold && !rows.includes(there)) return;
    if (there.hidden || fold?.hidden) return form.reset();
    if (fold) fold.open = true;
    if (rows.includes(there)) there.querySelector("details").open = true;
    // Groups on the way are laid out as they come in sight: their heights change once.
    const show = () => there.scrollIntoView({ behavior: "instant" });
    for (const wait of [0, 100]) setTimeout(show, wait);
    show();
  };

  // -- An open row: picture and facts of the chosen kind of x, and a button that copies ----
  let loading;
  const facts = () => (loading ??= new Promise((onload, onerror) => {
    document.head.append(element("script", "", { src: form.dataset.facts, onload, onerror }));
  }));
  const codeOf = (row, whole) =>
    (row.querySelector(whole ? "pre" : "pre b") ?? row.querySelector("code")).textContent;
  const draw = async (row) => {
    await facts();
    const { states, devices, rows: calls, seen, outcomes, ...drawing } = window.callFacts;
    const { texts, pieces, pictures } = drawing, code = codeOf(row);
    const known = seen[code]?.[place.selectedIndex] ?? [];
    const chosen = Object.keys(states).indexOf(kind.value);
    const at = known[chosen] >= 0 ? chosen : known.findIndex((one) => one >= 0);
    const outcome = outcomes[known[at]], figure = element("figure");
    row.querySelector("figure")?.remove();
    if (!outcome) return;
    const innerHTML = pictures[outcome.picture].map((one) => pieces[one]).join("");
    const drawn = element("div", "", { innerHTML, ariaHidden: true });
    const [x] = Object.values(states)[at], on = Object.values(devices)[place.selectedIndex];
    const ofTensor = calls[code].subject === "x" ? `If x is ${x}, on ${on}: ` : "";
    const caption = element("figcaption", ofTensor + texts[outcome.said]);
    const listed = element("dl");
    for (const said of outcome.facts ?? []) {
      const [title, answer, detail] = said.map((one) => texts[one] ?? "");
      const item = element("div"), value = element("dd", answer);
      value.append(element("small", detail));
      item.append(element("dt", title), value);
      listed.append(item);
    }
    figure.append(drawn, caption, listed);
    row.querySelector(".facts").prepend(figure);
  };
  const addCopy = (row) => {
    const links = row.querySelector(".links");
    if (!navigator.clipboard || links.querySelector("button")) return;
    const said = element("span", "", { role: "status" });
    const copy = () => navigator.clipboard.writeText(`${codeOf(row, true)}\n`)
      .then(() => "Copied the call.", () => "Copy failed. Select the code and copy it.")
      .then((words) => { said.textContent = ` ${words} `; });
    links.prepend(element("button", "Copy", { type: "button", onclick: copy }), said);
  };
  document.addEventListener("toggle", ({ target }) => {
    const row = target.closest("table.atlas tr[id]");
    if (row && target.open) [addCopy, draw].forEach((act) => act(row));
  }, true);

  // -- What the reader does ------------------------------------------------------------------
  for (const chip of chips)
    chip.addEventListener("click", () => {
      chip.ariaPressed = chip.ariaPressed !== "true";
      apply();
      keep();
    });
  let later;
  form.addEventListener("input", ({ target }) => {
    apply();
    if (target !== search) rows.filter((row) => row.querySelector("details[open]")).forEach(draw);
    clearTimeout(later); // an address for each key costs more than the filter
    later = setTimeout(keep, 300);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    press([]);
    setTimeout(() => [apply, keep, reveal].forEach((act) => act()));
  });
  window.addEventListener("hashchange", reveal);
  const query = new URLSearchParams(location.search);
  if (query.has("q") || query.has("has")) {
    search.value = query.get("q") ?? "";
    press((query.get("has") ?? "").split(","));
    apply();
  }
  if (location.hash) reveal();
})();
