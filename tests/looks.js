// How our rules of style look on this page, by sheet: for each selector that names a part of
// it, what the first such part has of all that the rule sets. Sizes that hang on a font are
// left out; a colour has the name of its variable, a length counts from the page's text.
// `known` has by sheet the selectors that are not asked for again.
(known) => {
  const LAID_OUT = /^(width|height|(block|inline)-size|top|right|bottom|left|inset.*|transform.*|grid(-template.*)?|font-(?!size$|weight$|style$).*)$/;
  const ONE_OF_MANY = { background: ["background-color"], font: ["font-size", "font-weight"],
    animation: ["animation-name"], transition: ["transition-property"] };
  const STATES = /:(hover|focus(-\w+)?|active|target|visited|checked)\b|::placeholder/;
  const PLACE = /::(before|after|marker)\b/g;
  // A comma within brackets or quotes parts no list of selectors.
  const SELECTORS = /(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|"[^"]*"|[^,(])+/g;
  const names = window.colourNames();
  const text = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const looksOf = (selector, rule) => {
    const set = [...rule.style.cssText.matchAll(/(?:^|; )([\w-]+): /g)].map((one) => one[1])
      .filter((one) => !/auto|%/.test(rule.style.getPropertyValue(one)) || !/^(mar|pad)/.test(one))
      .flatMap((one) => ONE_OF_MANY[one] ?? one).filter((one) => !LAID_OUT.test(one));
    if (!selector || !set.length || STATES.test(selector)) return null;
    const plain = selector.replace(/(^|[\s(,])(?=::)/g, "$1*").replace(PLACE, "");
    const part = document.querySelector(plain);
    const style = part && getComputedStyle(part, selector.match(PLACE)?.[0]);
    return style && set.map((one) => `${one}: ${style.getPropertyValue(one).trim()}`).join("; ")
      .replace(/rgba?\([^)]*\)/g, (one) => names.get(one) ?? one)
      .replace(/([\d.]+)px/g, (px, size) => size > 3 || size % 1 ? `${+(size / text).toFixed(3)}rem` : px);
  };
  const visit = (rule, within, heads, lines, known) => {
    if (rule.media && !matchMedia(rule.media.mediaText).matches) return;
    const whole = (own) => !within ? own : own.includes("&") ? own.replaceAll("&", `:is(${within})`) :
      `:is(${within}) ${own}`;
    const own = rule.selectorText, head = own ?? (rule.conditionText && `@ ${rule.conditionText}`);
    for (const one of own?.match(SELECTORS) ?? (rule.style ? [""] : [])) {
      const name = [...heads, one.trim()].join(" { ");
      const had = !known.has(name) && looksOf(own ? whole(one.trim()) : within, rule);
      if (had) lines[name] = name in lines ? `${lines[name]}; ${had}` : had;
    }
    for (const one of rule.cssRules ?? [])
      visit(one, own ? own.match(SELECTORS).map((part) => whole(part.trim())).join(", ") : within,
        head ? [...heads, head] : heads, lines, known);
  };
  const looks = {};
  for (const sheet of document.styleSheets) {
    const name = sheet.href?.split("?")[0].split("/_static/")[1];
    if (name in known)
      for (const rule of sheet.cssRules)
        visit(rule, "", [], looks[name] ??= {}, new Set(known[name]));
  }
  return looks;
}
