// On every page: the boxes of the search. What finds, and all that it knows, is loaded
// when a reader goes to one of them, and not before. Without this they ask search.html.
(() => {
  "use strict";
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const NEEDED = [
    "../messages.js", "../find_message.js", "../search_index.js",
    "minisearch.js", "words.js", "rank.js", "results.js",
  ];
  const BOX = "form[role=search] input[type=search]";
  let begun = false;
  const begin = () => {
    if (begun) return;
    begun = true;
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = `${here}results.css`;
    document.head.append(style);
    for (const name of NEEDED) {
      const script = document.createElement("script");
      script.async = false; // one after the other
      script.src = here + name;
      document.head.append(script);
    }
  };

  document.addEventListener("focusin", ({ target }) => {
    if (target.matches(BOX)) begin();
  });
  document.addEventListener("keydown", (event) => {
    const { key, ctrlKey, metaKey, altKey, target } = event;
    const types = target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
    const asked = (ctrlKey || metaKey) && !altKey && key.toLowerCase() === "k" ||
      key === "/" && !types && !ctrlKey && !metaKey && !altKey;
    if (!asked) return;
    const box = [...document.querySelectorAll(BOX)].reverse().find((one) =>
      one.checkVisibility({ visibilityProperty: true }) && !one.closest(".message-box"));
    if (!box) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
  if (document.getElementById("search-results") && location.search) begin();
  if (document.activeElement?.matches(BOX)) begin();
})();
