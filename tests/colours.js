// Gives the page `colourNames()`: the variable that each of its colours comes from, of several
// with one colour the first by name.
() => {
  const OURS = /^--(color-(background|foreground|brand)|line-|status|code-block|output-block)/;
  window.colourNames = () => {
    const probe = document.body.appendChild(document.createElement("i")), names = new Map();
    const variables = [...getComputedStyle(document.body)].filter((one) => OURS.test(one));
    for (const name of variables.sort()) {
      probe.style.color = `var(${name})`;
      const colour = getComputedStyle(probe).color;
      if (!names.has(colour)) names.set(colour, name);
    }
    probe.remove();
    return names;
  };
}
