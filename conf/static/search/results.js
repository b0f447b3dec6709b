// Shows what rank.js finds, as a reader types: below the box, or on the search page.
window.searchReady.then(() => {
  "use strict";
  const IN_PANEL = 5, AT_FIRST = 8, MOST = 30;
  const root = document.documentElement.dataset.content_root ?? "./";
  const page = document.getElementById("search-results"); // on the search page alone
  const { element, keepInAddress } = window;
  const make = (name, className, ...parts) => element(name, { className }, ...parts);
  const linked = (address, className, ...parts) =>
    element("a", { href: root + address, className }, ...parts);

  // -- The answer: a card for each call that the query names -----------------------------
  const { cards, signs, chips, forms } = window.searchIndex;
  const read = window.callReader({ chips, forms, rows: cards });
  const codeOf = new Map(Object.entries(cards).map(([code, { id }]) => [id, code]));
  const nameOf = (code) =>
    code.replace(/\ny = x$/, "").replace(/:\n\s+/, ": ").replace(/\n/g, "; ");
  const drawn = (innerHTML) => element("template", { innerHTML }).content;
  const drawing = (sign) => drawn(
    `<svg viewBox="${/flows|stops/.test(sign) ? "20 0 16 16" : "0 0 18 16"}" aria-hidden="true">` +
    `<use href="#sign-card-${sign}" width="36" height="16"/></svg>`);
  const tried = (...codes) =>
    `index.html?${new URLSearchParams(codes.map((code, at) => [at ? "vs" : "y", code]))}#explorer`;
  const card = (code, other) => {
    const { id, of, lesson, facts } = cards[code];
    const theirs = other && new Set(cards[other].facts.map(([, words]) => words));
    const fact = ([sign, words]) => {
      const isNote = sign === "note", differs = theirs && !theirs.has(words);
      return make("li", `${isNote ? "answer-note" : ""} ${differs ? "differing" : ""}`.trim(),
        sign && !isNote ? drawing(sign) : "", make(differs ? "b" : "span", "", words));
    };
    return make("section", "answer",
      make("h3", "answer-code", linked(`atlas.html#${id}`, "", make("code", "", nameOf(code)))),
      make("ul", "answer-facts", ...facts.map(fact)),
      make("p", "answer-note", of),
      make("p", "answer-links", linked(lesson, "", "Lesson"),
        linked(tried(code), "", "Try it in the explorer")));
  };
  const answer = (codes) => {
    if (!document.getElementById("card-signs"))
      document.body.append(element("div", { id: "card-signs" }, drawn(signs)));
    const both = linked(tried(...codes), "", "Compare them in the explorer");
    return make("div", "answers", ...codes.map((code, at) => card(code, codes[1 - at])),
      codes.length > 1 ? make("p", "answer-compare", both) : "");
  };

  // -- What is listed ---------------------------------------------------------------------
  const HOW = "Try one call, such as detach, or four words in a row of an error message.";
  const said = (count, weak) => (count === 0 ? `No section has these words. ${HOW}`
    : weak ? "Nearest" : count === 1 ? "One result." : `${count} results, the best first.`);
  const item = (one, before) => make("li", "result",
    one.anchor && before?.page !== one.page ? make("p", "result-page", one.title) : "",
    linked(one.address, "result-link", make("span", "result-kind", one.kind), " ",
      make("span", "", one.heading)),
    one.message ? make("p", "result-message", one.message)
      : one.sentence ? make("p", "result-about", one.sentence) : "");
  // Fill a part of the page with the answer to a query and its first results.
  const show = (part, query, atFirst) => {
    const asked = query.trim(), all = asked ? window.searchFor(query) : [];
    const count = Math.min(all.length, MOST), rest = count - atFirst;
    const items = (from, to) =>
      all.slice(from, to).map((one, at) => item(one, all[from + at - 1]));
    const codes = asked && !all[0]?.message ? read.cards(query).map((id) => codeOf.get(id)) : [];
    // One part goes on saying how many there are: what is replaced is not announced.
    const status = part.querySelector(".result-count") ??
      element("p", { className: "result-count", role: "status" });
    const spoken = codes.map((code) =>
      `${nameOf(code)}: ${cards[code].facts.map(([, words]) => words).join(", ")}. `);
    status.replaceChildren(...(asked
      ? [make("span", "visually-hidden", ...spoken), said(count, all.weak)] : []));
    for (const old of [...part.children]) if (old !== status) old.remove();
    if (!status.isConnected) part.prepend(status);
    if (codes.length) status.before(answer(codes));
    const list = make("ol", "results", ...items(0, atFirst));
    if (count) part.append(list);
    if (rest > 0 && atFirst === IN_PANEL)
      part.append(linked(`search.html?${new URLSearchParams({ q: query })}`, "more-results",
        `All ${count} results`));
    else if (rest > 0) {
      const onclick = ({ target }) => {
        list.append(...items(atFirst, MOST));
        target.remove();
        list.children[atFirst].querySelector("a").focus();
      };
      part.append(element("button", { type: "button", className: "more-results", onclick },
        `Show ${rest} more`));
    }
  };

  const attach = (form) => {
    const input = form.querySelector("input[type=search]");
    const floats = !form.matches(".search-again"), isAsked = () => input.value.trim() !== "";
    const panel = (!floats && page) || make("div", "search-panel");
    if (panel !== page) form.after(panel);
    if (floats) Object.assign(panel, { popover: "manual", hidden: true }); // above all else

    const toggle = (isOpen) => {
      if (!floats) return;
      panel.hidden = !isOpen;
      panel.togglePopover?.(isOpen);
      if (!isOpen) return;
      const { left, bottom } = input.getBoundingClientRect();
      const width = Math.min(640, innerWidth - 16);
      Object.assign(panel.style, { // in a header or a menu, which scrolling leaves in sight
        position: "fixed", top: `${bottom + 6}px`, maxHeight: `${innerHeight - bottom - 14}px`,
        left: `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`, width: `${width}px`,
      });
    };
    const apply = () => {
      show(panel, input.value, floats ? IN_PANEL : AT_FIRST);
      toggle(isAsked());
      if (panel !== page) return;
      document.getElementById("all-pages").hidden = isAsked();
      keepInAddress([["q", input.value]]);
    };
    const keys = (event) => {
      const { key, target } = event, by = { ArrowDown: 1, ArrowUp: -1 }[key];
      const stops = [input, ...panel.querySelectorAll(".answers a, .result a, .more-results")];
      const to = key === "Escape" && (target !== input || (floats && !panel.hidden)) ? input
        : by && stops[Math.max(0, stops.indexOf(document.activeElement)) + by];
      if (!to) return;
      event.preventDefault();
      to.focus();
      if (key === "Escape") toggle(false);
    };
    input.addEventListener("input", apply);
    input.addEventListener("focus", () => { if (isAsked()) toggle(true); });
    form.addEventListener("keydown", keys);
    panel.addEventListener("keydown", keys);
    form.addEventListener("submit", (event) => {
      if (floats) return; // the search page shows them all
      event.preventDefault();
      apply();
      panel.querySelector(".results a")?.focus();
    });
    for (const event of ["pointerdown", "focusin"])
      document.addEventListener(event, ({ target }) => {
        if (!form.contains(target) && !panel.contains(target)) toggle(false);
      });
    if (panel === page) input.value ||= new URLSearchParams(location.search).get("q") ?? "";
    if (input.value && (!floats || document.activeElement === input)) apply();
  };
  for (const form of document.querySelectorAll("form[role=search]:not(.explorer-line)"))
    attach(form);
  // The box of the explorer shows the answer in its own place.
  window.showAnswer = show;
  document.dispatchEvent(new Event("search-ready"));
});
