// The chooser on the home page: of the rows of its table it shows the one that does what
// the switches say. Why a wish has no answer stands in the page as well.
(() => {
  "use strict";
  const form = document.querySelector(".chooser");
  const table = document.querySelector("table.calls");
  if (!form || !table) return;
  const choice = form.querySelector(".choice");
  const all = form.querySelector(".all-calls");
  const element = (name, text, more = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    return Object.assign(made, more);
  };
  const copy = async (button, code) => {
    try {
      await navigator.clipboard.writeText(code);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Copy failed. Select the code and copy it.";
    }
  };
  const answer = (row) => {
    const [want, write, , shares] = row.cells;
    const code = write.querySelector("code").textContent;
    const line = /^\w+ = /.test(code) ? code : `y = ${code}`;
    const button = element("button", "Copy code", { type: "button" });
    button.addEventListener("click", () => copy(button, line));
    const head = element("p", "", { className: "choice-line" });
    head.append(element("code", line), button);
    const said = element("p", `${want.textContent[0].toUpperCase()}${want.textContent.slice(1)}. `);
    const away = shares.querySelector(".away")?.textContent;
    if (away) said.append(away === "yes" ? "If x is on this GPU already, y shares its memory. " : "If x is on a GPU, y is a copy. ");
    const [lesson, shown] = write.querySelectorAll("a");
    said.append(element("a", "Lesson", { href: lesson.getAttribute("href") }));
    if (shown) said.append(" · ", element("a", "In the explorer", { href: shown.getAttribute("href") }));
    const picture = element("div", "", { className: "memory-picture" });
    const sign = `<svg class="sign" viewBox="0 0 36 16" role="img"><use href="#sign-${row.dataset.sign}"/></svg>`;
    picture.innerHTML = window.explorerPicture?.(code) ?? sign;
    picture.firstChild.setAttribute("aria-label", `Picture of ${line}`);
    return [head, said, picture];
  };
  const nearest = (wish, rows) => {
    const kept = ({ dataset }) => [...wish].filter(([name, value]) => dataset[name] === value).length
      + (dataset.where === wish.get("where") ? 1.5 : 0);
    return [...rows].sort((one, other) => kept(other) - kept(one))[0];
  };
  const show = () => {
    const wish = new FormData(form);
    const fits = ({ dataset }) => [...wish].every(([name, value]) => dataset[name] === value);
    const rows = [...table.tBodies[0].rows];
    const row = rows.find(fits);
    const why = [...form.querySelectorAll(".why")].find(({ dataset }) =>
      [...wish].every(([name, value]) => !dataset[name] || dataset[name].split(" ").includes(value)));
    if (row) choice.replaceChildren(...answer(row));
    else {
      const reason = why ? [...why.cloneNode(true).children] : [element("p", "No single line does this.")];
      const near = nearest(wish, rows);
      choice.replaceChildren(...reason, ...(near ? [element("p", "Nearest:"), ...answer(near)] : []));
    }
  };
  all.addEventListener("click", () => {
    const open = table.classList.toggle("open");
    all.setAttribute("aria-expanded", open);
  });
  form.addEventListener("change", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("explorer-ready", show);
  for (const touch of ["pointerover", "focusin", "touchstart"])
    form.addEventListener(touch, () => window.loadExplorer?.(), { once: true, passive: true });
  show();
})();
