// The filters of the Atlas. Without this script the whole table is there, for the
// plain case; the script shows the other states of x and the rows that are asked for.
(() => {
  "use strict";
  const form = document.querySelector(".atlas-filter");
  const table = document.querySelector("table.atlas");
  if (!form || !table) return;
  const rows = [...table.querySelectorAll("tr[id]")];
  const count = form.querySelector(".count");
  const fields = [...form.elements].filter((field) => field.name);
  const columns = { gradients: 0, memory: 1, result: 2 };

  const value = (row, column) =>
    row.querySelectorAll("td")[column].querySelector("span[data-value]:not([hidden])")
      .dataset.value;

  const apply = () => {
    const wanted = Object.fromEntries(fields.map((field) => [field.name, field.value]));
    for (const span of table.querySelectorAll("span[data-x]"))
      span.hidden = !span.dataset.x.split(" ").includes(wanted.x);
    const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      row.hidden =
        !words.every((word) => row.dataset.name.includes(word)) ||
        Object.entries(columns).some(
          ([name, column]) => wanted[name] && wanted[name] !== value(row, column));
      if (!row.hidden) shown += 1;
    }
    for (const body of table.tBodies)
      body.hidden = !body.querySelector("tr[id]:not([hidden])");
    count.textContent = `${shown} of ${rows.length} operations`;
  };

  // A filtered view has an address, which can be sent or kept.
  const keep = () => {
    const query = new URLSearchParams();
    for (const field of fields)
      if (field.value && field.value !== initial[field.name])
        query.set(field.name, field.value);
    const text = query.toString();
    const hash = document.querySelector("tr[id]:target:not([hidden])")
      ? location.hash : "";
    history.replaceState(null, "", (text ? `?${text}` : location.pathname) + hash);
  };

  const initial = Object.fromEntries(fields.map((field) => [field.name, field.value]));
  const restore = () => {
    const query = new URLSearchParams(location.search);
    for (const field of fields) {
      field.value = query.get(field.name) ?? initial[field.name];
      if (field.selectedIndex === -1) field.value = initial[field.name];
    }
  };
  // A link to a row is answered with the row, whatever the filters say.
  const reveal = () => {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!rows.includes(row)) return;
    if (row.hidden) {
      form.reset();
      return;
    }
    row.querySelector("details").open = true;
    row.scrollIntoView();
  };

  form.addEventListener("input", () => { apply(); keep(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () =>
    setTimeout(() => { apply(); keep(); reveal(); }));
  window.addEventListener("hashchange", reveal);
  restore();
  apply();
  form.hidden = false;
  reveal();
})();
