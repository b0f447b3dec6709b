// How the first element that a query names looks: what may tell a state, with the names of
// the variables that its colours come from.
(query) => {
  const names = window.colourNames();
  const one = document.querySelector(query), style = getComputedStyle(one);
  const colour = (value) => names.get(value) ?? (/, 0\)$/.test(value) ? "none" : "mixed");
  return [
    `color ${colour(style.color)}`, `background ${colour(style.backgroundColor)}`,
    `border ${colour(style.borderLeftColor)}`, `opacity ${style.opacity}`,
    `weight ${style.fontWeight}`, `line ${style.textDecorationLine}`, `cursor ${style.cursor}`,
    `space ${style.whiteSpace}`,
    ...["before", "after"].map((place) => `${place} ${getComputedStyle(one, `::${place}`).content}`),
  ].filter((said) => !/ (?:none|normal|auto|1|400)$/.test(said)).join(", ");
}
