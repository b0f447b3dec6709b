// A copy button for each block of code.
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
  for (const pre of document.querySelectorAll([...SHOWN, ".cures ol > li > pre"].join())) {
    if (pre.closest(".predict, .checked")) continue; // a proof alone does not run
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
  }
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
  for (const part of document.querySelectorAll("article :is(pre, .table-wrapper)")) watch.observe(part);
})();

// The player, and buttons that open steps: what shows them is loaded when they are asked
// for, by a button, a key within the player or an address that names a step.
(() => {
  "use strict";
  const folder = document.documentElement.dataset.content_root + "_static/";
  const load = (name, more) => new Promise((done, failed) => document.head.append(
    Object.assign(document.createElement(name), more, { onload: done, onerror: failed })));
  const KEYS = ["ArrowLeft", "ArrowRight", "Home", "End"];
  let viewer;
  const open = async (place, what) => {
    try {
      viewer ??= Promise.all([
        load("link", { rel: "stylesheet", href: `${folder}steps.css` }),
        load("script", { src: `${folder}steps.js` }),
      ]);
      await viewer;
      await (place.loaded ??= load("script", { src: place.dataset.steps, place }));
      place.open(what);
    } catch {
      viewer = place.loaded = null;
      const says = place.querySelector(".player-said") ?? place;
      says.textContent = "Loading failed. Try again";
    }
  };
  const places = [...document.querySelectorAll(".player, button.step-through")];
  const named = () => {
    const name = location.hash.match(/^#(.+)-\d+$/)?.[1];
    const place = places.find(({ id }) => id === name);
    if (place) open(place, "address");
  };
  for (const place of places) {
    for (const button of place.matches("button") ? [place] : place.querySelectorAll("[data-go]")) {
      button.hidden = false;
      button.addEventListener("click", () => open(place, button.dataset.go ?? "large"));
    }
    place.addEventListener("keydown", (event) => {
      const { key, target, altKey, ctrlKey, metaKey, shiftKey } = event;
      if (place.matches("button") || target.matches("input") || !KEYS.includes(key)) return;
      if (altKey || ctrlKey || metaKey || shiftKey) return;
      event.preventDefault();
      open(place, key);
    });
  }
  addEventListener("hashchange", named);
  named();
})();
