// The switch between builders: all blocks of the page at once, remembered across
// pages. Without this script every builder's output is readable, one under the other.
(() => {
  "use strict";
  const KEY = "tensor-copies-builder";
  const panel = document.querySelector(".builder-switch");
  if (!panel) return;
  const nameOf = (element) =>
    [...element.classList].find((name) => name.startsWith("builder-"));
  const remembered = () => {
    try { return localStorage.getItem(KEY); } catch { return null; }
  };
  const remember = (name) => {
    try { localStorage.setItem(KEY, name); } catch { /* private window: this page only */ }
  };

  const items = [...panel.querySelectorAll("li")];
  const live = nameOf(items[0]);
  const show = (name) => {
    for (const group of document.querySelectorAll(".builders-outputs")) {
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
    radio.name = "builder";
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
