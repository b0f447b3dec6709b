// A copy button for each block of code that runs by itself.
(() => {
  "use strict";
  const SHOWN = ["Python", "python", "ipython3"].map((name) => `div.highlight-${name} pre`);
  const status = document.createElement("p");
  status.className = "visually-hidden";
  status.setAttribute("role", "status");
  document.body.append(status);
  const say = (button, words, more) => {
    button.textContent = words;
    status.textContent = more;
  };
  window.addCopyButton = (pre) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(pre.textContent.replace(/^\n+|\s+$/g, "") + "\n");
        say(button, "Copied", "Copied this block.");
      } catch { // not allowed, or a page that came over plain HTTP
        getSelection().selectAllChildren(pre);
        say(button, "Ctrl+C", "The code is selected. Copy it with Ctrl+C.");
      }
      setTimeout(() => say(button, "Copy", ""), 2000);
    });
    pre.after(button);
  };
  const blocks = document.querySelectorAll([...SHOWN, ".cures ol > li > pre"].join());
  for (const pre of blocks) // a proof alone does not run
    if (!pre.closest(".predict, .checked")) window.addCopyButton(pre);
})();

// Code or a table that is wider than its box is scrolled with the arrow keys: while it is,
// the Tab key stops at it.
(() => {
  "use strict";
  const watch = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else if (target !== document.activeElement) target.removeAttribute("tabindex");
    }
  });
  for (const part of document.querySelectorAll("article :is(pre, .table-wrapper)"))
    watch.observe(part);
})();

// The player: what shows the events is loaded when it is asked for, by a button, a key
// within the player or an address that names a step.
(() => {
  "use strict";
  const place = document.querySelector(".player");
  if (!place) return;
  const folder = document.documentElement.dataset.content_root + "_static/";
  const load = (name, more) => new Promise((done, failed) => document.head.append(
    Object.assign(document.createElement(name), more, { onload: done, onerror: failed })));
  let viewer;
  const open = async (what) => {
    try {
      await (viewer ??= Promise.all([
        load("link", { rel: "stylesheet", href: `${folder}steps.css` }),
        load("script", { src: `${folder}steps.js` }),
      ]).then(() => load("script", { src: place.dataset.steps, place })));
      place.open(what);
    } catch {
      viewer = null;
      place.querySelector(".player-said").textContent = "Loading failed. Try again";
    }
  };
  place.querySelector(".player-bar").hidden = false;
  for (const button of place.querySelectorAll("[data-go]")) {
    button.addEventListener("click", () => open(button.dataset.go));
  }
  place.addEventListener("keydown", (event) => {
    const { key, altKey, ctrlKey, metaKey, shiftKey } = event;
    if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(key)) return;
    if (altKey || ctrlKey || metaKey || shiftKey) return;
    event.preventDefault();
    open(key);
  });
  const named = () => {
    if (location.hash.match(/^#(.+)-\d+$/)?.[1] === place.id) open("address");
  };
  addEventListener("hashchange", named);
  named();
})();
