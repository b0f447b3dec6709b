// The switch between machines: all blocks of the page at once, remembered across
// pages. Without this script every machine's output is readable, one under the other.
(() => {
  "use strict";
  const KEY = "tensor-copies-machine";
  const panel = document.querySelector(".machine-switch");
  if (!panel) return;
  const nameOf = (element) =>
    [...element.classList].find((name) => name.startsWith("machine-"));
  const remembered = () => {
    try { return localStorage.getItem(KEY); } catch { return null; }
  };
  const remember = (name) => {
    try { localStorage.setItem(KEY, name); } catch { /* private window: this page only */ }
  };

  const items = [...panel.querySelectorAll("li")];
  const live = nameOf(items[0]);
  const show = (name) => {
    for (const group of document.querySelectorAll(".machines-outputs")) {
      const variants = [...group.querySelectorAll(":scope > .variant")];
      const chosen =
        variants.find((variant) => nameOf(variant) === name) ||
        variants.find((variant) => nameOf(variant) === live);
      for (const variant of variants) variant.hidden = variant !== chosen;
      group.classList.add("ready");
    }
  };

  const fieldset = document.createElement("fieldset");
  const legend = document.createElement("legend");
  legend.textContent = panel.querySelector("p").textContent;
  fieldset.append(legend);
  const wanted = remembered();
  const start = items.some((item) => nameOf(item) === wanted) ? wanted : live;
  for (const item of items) {
    const label = document.createElement("label");
    const radio = document.createElement("input");
    radio.type = "radio";
    radio.name = "machine";
    radio.value = nameOf(item);
    radio.checked = radio.value === start;
    radio.addEventListener("change", () => {
      show(radio.value);
      remember(radio.value);
    });
    label.append(radio, " ", item.textContent.trim());
    fieldset.append(label);
  }
  panel.replaceChildren(fieldset);
  show(start);
})();

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
      status.textContent = done ? said : "Not copied: select the code and copy it yourself.";
      setTimeout(() => {
        button.textContent = label;
        status.textContent = "";
      }, 2000);
    });
    return button;
  };
  for (const pre of blocks) {
    if (pre.closest(".predict-answer")) continue; // a proof alone does not run
    const place = lesson.indexOf(pre);
    const made = [makeButton("Copy", "Copied this block.", () => textOf(pre))];
    if (place > 0) {
      const soFar = () => lesson.slice(0, place + 1).map(textOf).join("\n");
      const said = "Copied the lesson up to here.";
      made.unshift(makeButton("Copy all to here", said, soFar));
    }
    pre.after(...made);
  }
})();

// On paper nothing can be opened: answers are printed. The style sheet does the same
// where a browser lets it.
(() => {
  "use strict";
  const closed = () => document.querySelectorAll("details.predict:not([open])");
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...closed()];
    for (const answer of opened) answer.open = true;
  });
  addEventListener("afterprint", () => {
    for (const answer of opened) answer.open = false;
  });
})();
