// The search and the chips of the Atlas. Without this script the whole table is there.
// Nothing runs when the page loads, unless its address asks for something.
(() => {
  "use strict";
  const form = document.querySelector(".atlas-filter");
  const tables = [...document.querySelectorAll("table.atlas")];
  if (!form || !tables.length) return;
  const rows = [...document.querySelectorAll("table.atlas tr[id]")];
  const folds = [...document.querySelectorAll(".atlas-apart")];
  const count = form.querySelector(".count");
  const chips = [...form.querySelectorAll("[data-has]")];
  const search = form.elements.q;

  const wanted = () =>
    chips.filter((chip) => chip.getAttribute("aria-pressed") === "true")
      .map((chip) => chip.dataset.has);

  // What is folded opens for a filter and for paper, and closes after it, unless it
  // was open before.
  const openFor = (fold, reason, wanted) => {
    const opened = fold.dataset.openedFor === reason;
    if (wanted && !fold.open) {
      fold.open = true;
      fold.dataset.openedFor = reason;
    } else if (!wanted && opened) {
      fold.open = false;
      delete fold.dataset.openedFor;
    }
  };

  // On a phone one kind of x is in sight, and is what a filter asks about.
  const narrow = matchMedia("(max-width: 50rem)");
  const hitsOf = (row, signs, place, column) => {
    let found = false;
    for (const cell of row.querySelectorAll(":scope > td:not(.what)")) {
      const said = cell.querySelector(`:scope > .${place}`) ?? cell;
      const hit = signs.length > 0 && (column < 0 || cell.cellIndex === column) &&
        signs.every((sign) => said.matches(`.${sign}`) || cell.matches(`.${sign}`));
      cell.classList.toggle("hit", hit);
      found ||= hit;
    }
    return found;
  };

  let sifted = false;
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const signs = wanted();
    const cells = sifted || signs.length > 0;
    sifted = signs.length > 0;
    const column = narrow.matches ? form.elements.x.selectedIndex + 1 : -1;
    let shown = 0;
    for (const row of rows) {
      const apart = row.closest(".atlas-apart");
      const hit = !cells || hitsOf(row, signs, form.elements.on.value, apart ? -1 : column);
      row.hidden = !words.every((word) => row.dataset.find.includes(word)) || (sifted && !hit);
      if (!row.hidden) shown += 1;
    }
    const inSight = new Set();
    for (const row of rows)
      if (!row.hidden)
        for (const part of [row.parentElement, row.closest("table"), row.closest(".atlas-apart")])
          inSight.add(part);
    const hasShown = (part) => inSight.has(part);
    const filtered = shown < rows.length;
    for (const table of tables) {
      table.classList.toggle("sifted", sifted);
      for (const body of table.tBodies) body.hidden = !hasShown(body);
      table.hidden = !hasShown(table);
    }
    for (const fold of folds) {
      fold.hidden = !hasShown(fold);
      openFor(fold, "filter", filtered && !fold.hidden);
    }
    count.textContent = shown ? `${shown === rows.length ? "" : `${shown} of `}${rows.length} calls`
      : "No calls match. Clear the filters.";
  };

  // A filtered view has an address, which can be sent or kept.
  const keep = () => {
    const query = new URLSearchParams();
    if (search.value) query.set("q", search.value);
    if (wanted().length) query.set("has", wanted().join(","));
    const text = query.toString().replaceAll("%2C", ",");
    const hash = document.querySelector("tr[id]:target:not([hidden])")
      ? location.hash : "";
    history.replaceState(null, "", (text ? `?${text}` : location.pathname) + hash);
  };

  const press = (signs) => {
    for (const chip of chips)
      chip.setAttribute("aria-pressed", String(signs.includes(chip.dataset.has)));
  };

  // A link to a row is answered with the row, whatever the filters say.
  const reveal = () => {
    const there = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = there?.closest(".atlas-apart");
    if (!fold && !rows.includes(there)) return;
    if (there.hidden || fold?.hidden) {
      form.reset();
      return;
    }
    if (fold) fold.open = true;
    if (rows.includes(there)) there.querySelector("details").open = true;
    // Groups on the way are laid out as they come in sight: their heights change once.
    const show = () => there.scrollIntoView({ behavior: "instant" });
    show();
    for (const wait of [0, 100]) setTimeout(show, wait);
  };

  // An open row can be copied: what runs before the call, then the call.
  const copyOf = (row) => {
    const whole = [...row.querySelectorAll(".facts > pre.given, .facts > pre.call")]
      .sort((a, b) => b.matches(".given") - a.matches(".given"));
    if (!whole.some((pre) => pre.matches(".call"))) whole.push(row.querySelector("summary code"));
    return whole.map((part) => part.textContent.trim()).join("\n") + "\n";
  };
  const addCopy = (row) => {
    const links = row.querySelector(".links");
    if (!navigator.clipboard || links.querySelector("button")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-call";
    button.textContent = "Copy";
    const said = document.createElement("span");
    said.setAttribute("role", "status");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(copyOf(row));
        said.textContent = "Copied the call.";
      } catch {
        said.textContent = "Copy failed. Select the code and copy it.";
      }
    });
    links.prepend(button, " ", said, " ");
  };
  document.addEventListener("toggle", ({ target }) => {
    const row = target.closest("table.atlas tr[id]");
    if (row && target.open) addCopy(row);
  }, true);

  for (const chip of chips)
    chip.addEventListener("click", () => {
      const pressed = chip.getAttribute("aria-pressed") === "true";
      chip.setAttribute("aria-pressed", String(!pressed));
      apply();
      keep();
    });
  let later;
  form.addEventListener("input", () => {
    apply();
    clearTimeout(later);  // an address for each key costs more than the filter
    later = setTimeout(keep, 300);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    press([]);
    setTimeout(() => { apply(); keep(); reveal(); });
  });
  window.addEventListener("hashchange", reveal);
  for (const [event, wanted] of [["beforeprint", true], ["afterprint", false]])
    window.addEventListener(event, () => folds.forEach((fold) => openFor(fold, "paper", wanted)));
  const query = new URLSearchParams(location.search);
  if (query.has("q") || query.has("has")) {
    search.value = query.get("q") ?? "";
    press((query.get("has") ?? "").split(","));
    apply();
  }
  if (location.hash) reveal();
})();
