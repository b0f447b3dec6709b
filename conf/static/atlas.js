// The Atlas: its filters, and the picture of an open row. Without this script the whole table
// is there. Nothing runs when the page loads, unless its address asks.
(() => {
  "use strict";
  const { element, factRow, keepInAddress, loadScripts } = window;
  const form = document.querySelector(".atlas-filter");
  if (!form) return;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const rows = all("table.atlas tr[id]");
  const { q: search, on: place, x: kind, has: chips } = form.elements;

  // On a phone one kind of x is in sight, and is what a filter asks about.
  const narrow = matchMedia("(max-width: 50rem)");
  const isHit = (row, signs) => {
    const isAlone = narrow.matches && !row.closest(".atlas-apart");
    for (const cell of all(":scope > td:not(.what)", row)) {
      const said = cell.querySelector(`:scope > .${place.value}`) ?? cell;
      cell.classList.toggle("hit", (!isAlone || cell.cellIndex === kind.selectedIndex + 1) &&
        signs.every((sign) => said.matches(`.${sign}`) || cell.matches(`.${sign}`)));
    }
    return row.querySelector(":scope > .hit") !== null;
  };
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    const signs = new FormData(form).getAll("has");
    for (const row of rows)
      row.hidden = !words.every((one) => row.dataset.find.includes(one)) ||
        (signs.length > 0 && !isHit(row, signs));
    const shown = rows.filter((row) => !row.hidden).length, whole = shown === rows.length;
    for (const part of all("table.atlas, table.atlas > tbody, .atlas-apart")) {
      part.hidden = !part.querySelector("tr[id]:not([hidden])");
      if (part.matches("table")) part.classList.toggle("sifted", signs.length > 0);
      if (part.matches("details")) part.open = !whole; // what is found is in sight
    }
    form.querySelector(".count").textContent = !shown ? "No calls match. Clear the filters."
      : `${whole ? "" : `${shown} of `}${rows.length} calls`;
  };
  // A filtered view has an address, which can be sent or kept.
  const keep = () => {
    const hash = document.querySelector("tr[id]:target:not([hidden])") ? location.hash : "";
    keepInAddress([...new FormData(form)].filter(([name]) => !form[name].options), hash);
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
  const codeOf = (row, part) =>
    (row.querySelector(part) ?? row.querySelector("code")).textContent;
  const draw = async (row) => {
    await (loading ??= loadScripts([form.dataset.facts]));
    const { texts, pieces, pictures, ...facts } = window.callFacts, code = codeOf(row, "pre b");
    const known = facts.seen[code]?.[place.selectedIndex] ?? [];
    const chosen = Object.keys(facts.states).indexOf(kind.value);
    const at = known[chosen] >= 0 ? chosen : known.findIndex((one) => one >= 0);
    const outcome = facts.outcomes[known[at]];
    row.querySelector("figure")?.remove();
    if (!outcome) return;
    const innerHTML = pictures[outcome.picture].map((one) => pieces[one]).join("");
    const [x] = Object.values(facts.states)[at], on = Object.values(facts.devices);
    const when = facts.rows[code].subject === "x"
      ? `If x is ${x}, on ${on[place.selectedIndex]}: ` : "";
    const listed = (outcome.facts ?? []).map((fact) =>
      factRow(fact.map((one) => texts[one] ?? "")));
    row.querySelector(".facts").prepend(element("figure", {},
      element("div", { innerHTML, ariaHidden: true }),
      element("figcaption", {}, when + texts[outcome.said]), element("dl", {}, ...listed)));
  };
  const addCopy = (row) => {
    const links = row.querySelector(".links");
    if (!navigator.clipboard || links.querySelector("button")) return;
    const said = element("span", { role: "status" });
    const onclick = () => navigator.clipboard.writeText(`${codeOf(row, "pre")}\n`)
      .then(() => "Copied the call.", () => "Copy failed. Select the code and copy it.")
      .then((words) => { said.textContent = ` ${words} `; });
    links.prepend(element("button", { type: "button", onclick }, "Copy"), said);
  };
  document.addEventListener("toggle", ({ target }) => {
    const row = target.closest("table.atlas tr[id]");
    if (row && target.open) [addCopy, draw].forEach((act) => act(row));
  }, true);

  // -- What the reader does ------------------------------------------------------------------
  const drawOpen = () => rows.filter((row) => row.querySelector("details[open]")).forEach(draw);
  let later;
  form.addEventListener("input", ({ target }) => {
    apply();
    if (target.matches("select")) drawOpen();
    clearTimeout(later); // an address for each key costs more than the filter
    later = setTimeout(keep, 300);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () =>
    setTimeout(() => [apply, keep, drawOpen, reveal].forEach((act) => act())));
  addEventListener("hashchange", reveal);
  const asked = new URLSearchParams(location.search);
  search.value = asked.get("q");
  const signs = `${asked.getAll("has")}`.split(",");
  for (const chip of chips) chip.checked = signs.includes(chip.value);
  if (asked.size) apply();
  if (location.hash) reveal();
})();
