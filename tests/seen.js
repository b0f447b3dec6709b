// What a reader has of the parts of a page that a query names: a line for each block in
// sight, with what is said of it: classes, states, where it leads. A colour has the name of
// the variable that it comes from.
async (query) => {
  while (!window.isAtRest()) await new Promise((done) => setTimeout(done));
  await window.searchReady;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame().then(frame);
  for (const one of document.getAnimations()) one.finish();
  const TOLD = ["role", "href", "title", "aria-label", "aria-pressed", "aria-disabled",
    "aria-expanded", "aria-current", "aria-valuetext", "aria-live", "tabindex"];
  const INLINE = "a, b, code, em, i, kbd, label, mark, small, span, strong, sup, wbr";
  const isInline = (one) => [...one.querySelectorAll("*")].every((part) =>
    part.matches(`${INLINE}, label > input`)) && one.querySelectorAll("a").length < 3;
  const isSeen = (one) => one.checkVisibility({ visibilityProperty: true }) ||
    getComputedStyle(one).display === "contents";
  const lines = [], clean = (text) => text.replace(/\s+/g, " ");
  const hashless = (text) => text.replace(/\?v=\w+/, "");
  const opening = (one) => {
    const said = [one.localName, ...[...one.classList].map((name) => `.${name}`)];
    for (const name of TOLD)
      if (!["false", "", null].includes(one.getAttribute(name)))
        said.push(` ${name}=${hashless(one.getAttribute(name))}`);
    if (one.matches("[type=checkbox], [type=radio]")) said.push(one.checked ? " checked" : "");
    else if (one.matches("input, textarea, select"))
      said.push(` value=${(one.selectedOptions?.[0].text ?? one.value).slice(0, 60)}`);
    if (one.open === true) said.push(" open");
    if (one === document.activeElement) said.push(" focused");
    return said.join("");
  };
  const inline = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return clean(node.textContent);
    if (node.nodeType !== Node.ELEMENT_NODE || !isSeen(node)) return "";
    const inner = [...node.childNodes].map(inline).join(""), name = opening(node);
    return name === "span" || name === "wbr" ? inner : `[${name}${inner && `: ${inner}`}]`;
  };
  const drawn = (svg, edge) => {
    const cells = [...svg.querySelectorAll(".tm-cell")].map((one) =>
      (one.matches(".changed") ? "*" : "") + one.textContent.trim());
    lines.push(`${edge}svg ${clean(svg.ariaLabel ?? "")} ${cells.join(" ")}`.trimEnd());
  };
  const walk = (node, edge) => {
    if (node.nodeType === Node.TEXT_NODE && node.data.trim()) lines.push(edge + clean(node.data).trim());
    if (node.nodeType !== Node.ELEMENT_NODE || !isSeen(node)) return;
    if (node.matches("svg")) return drawn(node, edge);
    if (node.matches("pre") && !node.querySelector(".steps-line"))
      return lines.push(edge + opening(node), ...node.innerHTML.trim()
        .replace(/<(?!\/?b>)[^>]*>/g, "").split("\n").map((line) => `${edge}| ${line}`));
    if (node.matches("pre"))
      return lines.push(...[...node.childNodes].map((line) => edge + inline(line)));
    if (node.matches("select")) return lines.push(edge + opening(node));
    if (isInline(node)) {
      const text = [...node.childNodes].map(inline).join("").trim(), name = opening(node);
      return lines.push(`${edge}${name}${text && `: ${text}`}`);
    }
    lines.push(edge + opening(node));
    for (const child of node.childNodes) walk(child, `${edge}  `);
  };
  for (const part of document.querySelectorAll(query)) walk(part, "");
  return lines;
}
