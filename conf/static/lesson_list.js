// The list of lessons: a filter, and ticks for what this browser remembers as read
// (code.js notes it at the end of a lesson). Without this script the list is whole.
(() => {
  "use strict";
  const STORE = "tensor-copies-read";
  const bar = document.querySelector(".lesson-filter");
  const [box, status, forget] = ["input", "p", "button"].map((name) => bar.querySelector(name));
  const rows = [...document.querySelectorAll(".lesson-rows > li")].map((row) => ({
    row,
    name: row.querySelector("a").href.match(/([^/]+\/[^/]+?)(\.html|\/)?$/)[1],
    words: row.textContent.toLowerCase(),
    group: row.closest("section"),
  }));
  const groups = [...new Set(rows.map(({ group }) => group))];

  const filter = () => {
    const asked = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { row, words } of rows) row.hidden = !asked.every((word) => words.includes(word));
    for (const group of groups) {
      if (group.matches("section section"))
        group.hidden = rows.every((one) => one.group !== group || one.row.hidden);
    }
    const found = rows.filter(({ row }) => !row.hidden).length;
    status.textContent = asked.length ? found ? `${found} of ${rows.length} ${bar.dataset.of}`
      : `None of the ${bar.dataset.of} contains these words. Try the search.` : told;
  };

  let told = "";
  const tick = (read) => {
    for (const { row, name } of rows) {
      row.querySelector(".lesson-read")?.remove();
      if (read.includes(name)) {
        row.querySelector("p").append(Object.assign(document.createElement("span"), {
          className: "lesson-read", textContent: "read" }));
      }
    }
    const count = document.querySelectorAll(".lesson-read").length;
    told = count ? `${count} of ${rows.length} read` : "";
    forget.hidden = !count;
    filter();
  };
  const remembered = () => {
    try { return JSON.parse(localStorage.getItem(STORE)) || []; } catch { return []; }
  };
  forget.addEventListener("click", () => {
    try { localStorage.removeItem(STORE); } catch { }
    tick([]);
    box.focus();
  });
  box.addEventListener("input", filter);
  addEventListener("pageshow", () => tick(remembered())); // back from a lesson
  bar.hidden = false;
  tick(remembered());
})();
