// Copy buttons: one for each block of code. In a lesson the later blocks have a second
// one, for all blocks up to there: a script that runs alone.
(() => {
  "use strict";
  const SHOWN = ["Python", "python", "ipython3"].map((name) => `div.highlight-${name} pre`);
  SHOWN.push(".cures ol > li > pre");
  const blocks = [...document.querySelectorAll(SHOWN.join())];
  if (!blocks.length) return;
  const lesson = blocks.filter((pre) => pre.closest(".highlight-Python"));
  const textOf = (pre) => pre.textContent.replace(/^\n+|\s+$/g, "") + "\n";

  const status = document.createElement("p");
  status.className = "visually-hidden";
  status.setAttribute("role", "status");
  document.body.append(status);

  const write = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch { // not allowed, or a page that came over plain HTTP
      const area = document.createElement("textarea");
      area.value = text;
      area.className = "visually-hidden";
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  const makeButton = (label, said, text) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = label;
    button.addEventListener("click", async () => {
      const done = await write(text());
      button.focus();
      button.textContent = done ? "Copied" : "Failed";
      status.textContent = done ? said : "Copy failed. Select the code and copy it.";
      setTimeout(() => {
        button.textContent = label;
        status.textContent = "";
      }, 2000);
    });
    return button;
  };
  for (const pre of blocks) {
    if (pre.closest(".predict-answer, .checked")) continue; // a proof alone does not run
    const place = lesson.indexOf(pre);
    // What a lesson folds below an output ends the block above it.
    let end = place + 1;
    while (place >= 0 && lesson[end]?.closest(".checked")) end += 1;
    const whole = () => place < 0 ? textOf(pre) : lesson.slice(place, end).map(textOf).join("");
    const made = [makeButton("Copy", "Copied this block.", whole)];
    if (place > 0) {
      const soFar = () => lesson.slice(0, end).map((part, at) =>
        (at && !part.closest(".checked") ? "\n" : "") + textOf(part)).join("");
      const said = "Copied the lesson up to here.";
      made.unshift(makeButton("Copy up to here", said, soFar));
    }
    pre.after(...made);
  }
})();

// A lesson whose end was in sight is ticked in the list of lessons (lesson_list.js).
(() => {
  "use strict";
  const STORE = "tensor-copies-read";
  const end = document.querySelector(".sphx-glr-example-title #remember > :last-child");
  const name = location.pathname.match(/([^/]+\/[^/]+?)(\.html|\/)?$/)?.[1];
  if (!end || !name) return;
  new IntersectionObserver((seen, observer) => {
    if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
    observer.disconnect();
    try {
      const read = JSON.parse(localStorage.getItem(STORE)) || [];
      localStorage.setItem(STORE, JSON.stringify([...new Set([...read, name])]));
    } catch { /* private window: nothing is kept */ }
  }).observe(end);
})();

// Code that is wider than its box is scrolled with the arrow keys: while it is, the Tab
// key stops at it.
(() => {
  "use strict";
  const watch = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else if (target !== document.activeElement) target.removeAttribute("tabindex");
    }
  });
  for (const pre of document.querySelectorAll("article pre")) watch.observe(pre);
})();

// On paper nothing can be opened: answers are printed. The style sheet does the same
// where a browser lets it.
(() => {
  "use strict";
  const closed = () => document.querySelectorAll(":is(.predict, .setup):not([open])");
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...closed()];
    for (const answer of opened) answer.open = true;
  });
  addEventListener("afterprint", () => {
    for (const answer of opened) answer.open = false;
  });
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
