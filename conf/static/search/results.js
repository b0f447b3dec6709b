// Shows what rank.js finds, as a reader types: below the box, or on the search page.
window.searchReady.then(() => {
  "use strict";
  const IN_PANEL = 5, AT_FIRST = 8, MOST = 30;
  const root = document.documentElement.dataset.content_root ?? "./";
  const page = document.getElementById("search-results"); // on the search page alone
  const make = (name, classes, ...parts) => {
    const one = document.createElement(name);
    one.className = classes;
    one.append(...parts); // as text: nothing that is typed becomes markup
    return one;
  };
  const linked = (address, classes, ...parts) =>
    Object.assign(make("a", classes, ...parts), { href: root + address });

  // -- The answer: a card for each call that the query names -----------------------------
  const { cards, signs, chips, forms } = window.searchIndex;
  const read = window.callReader({ chips, forms, rows: cards });
  const codeOf = new Map(Object.entries(cards).map(([code, { id }]) => [id, code]));
  const nameOf = (code) =>
    code.replace(/\ny = x$/, "").replace(/:\n\s+/, ": ").replace(/\n/g, "; ");
  const drawing = (sign) => {
    const [svg, use] = ["svg", "use"].map((name) =>
      document.createElementNS("http://www.w3.org/2000/svg", name));
    svg.setAttribute("viewBox", /flows|stops/.test(sign) ? "20 0 16 16" : "0 0 18 16");
    svg.setAttribute("aria-hidden", "true");
    for (const [name, value] of [["href", `#sign-card-${sign}`], ["width", 36], ["height", 16]])
      use.setAttribute(name, value);
    svg.append(use);
    return svg;
  };
  const tried = (...codes) =>
    `index.html?${new URLSearchParams(codes.map((code, at) => [at ? "vs" : "y", code]))}#explorer`;
  const card = (code, other) => {
    const { id, of, lesson, facts } = cards[code];
    const theirs = other && new Set(cards[other].facts.map(([, words]) => words));
    const fact = ([sign, words]) => {
      const differs = theirs && !theirs.has(words);
      return make("li", [sign === "note" && "answer-note", differs && "differing"]
        .filter(Boolean).join(" "),
      ...(signs.includes(`sign-card-${sign}"`) ? [drawing(sign)] : []),
      make(differs ? "b" : "span", "", words));
    };
    return make("section", "answer",
      make("h3", "answer-code", linked(`atlas.html#${id}`, "", make("code", "", nameOf(code)))),
      make("ul", "answer-facts", ...facts.map(fact)),
      make("p", "answer-note", of),
      make("p", "answer-links", ...(lesson ? [linked(lesson, "", "Lesson")] : []),
        linked(tried(code), "", "Try it in the explorer")));
  };
  const answer = (codes) => {
    if (!document.getElementById("card-signs")) {
      const sheet = make("div", "");
      sheet.id = "card-signs";
      sheet.innerHTML = signs; // the site's own
      document.body.append(sheet);
    }
    return make("div", "answers", ...codes.map((code, at) => card(code, codes[1 - at])),
      ...(codes.length > 1 ? [make("p", "answer-compare",
        linked(tried(...codes), "", "Compare them in the explorer"))] : []));
  };

  // -- What is listed ---------------------------------------------------------------------
  const HOW = "Try one call, such as detach, or four words in a row of an error message.";
  const said = (count, weak) => (count === 0 ? `No section has these words. ${HOW}`
    : weak ? "Nearest" : count === 1 ? "One result." : `${count} results, the best first.`);
  const item = ({ address, anchor, kind, heading, title, sentence, message, page: of }, before) =>
    make("li", "result",
      ...(anchor && before?.page !== of ? [make("p", "result-page", title)] : []),
      linked(address, "result-link", make("span", "result-kind", kind), " ",
        make("span", "", heading)),
      ...(message || sentence
        ? [make("p", message ? "result-message" : "result-about", message ?? sentence)] : []));
  const more = (list, count, query, inPanel) => {
    if (inPanel) return linked(`search.html?${new URLSearchParams({ q: query })}`, "more-results",
      `All ${count} results`);
    const hidden = [...list.querySelectorAll("[hidden]")];
    const button = make("button", "more-results", `Show ${hidden.length} more`);
    button.type = "button";
    button.addEventListener("click", () => {
      for (const one of hidden) one.hidden = false;
      button.remove();
      hidden[0].querySelector("a").focus();
    });
    return button;
  };
  // Fill a part of the page with the answer to a query and its results.
  const show = (part, query, atFirst, results = null) => {
    const isAsked = query.trim() !== "", inPanel = atFirst === IN_PANEL;
    const all = results ?? (isAsked ? window.searchFor(query) : []), found = all.slice(0, MOST);
    const ids = isAsked && !found[0]?.message ? read.cards(query) : [];
    const codes = ids.map((id) => codeOf.get(id));
    // Below a box only what is seen is made: the search page shows the others.
    const list = make("ol", "results", ...found.slice(0, inPanel ? IN_PANEL : MOST)
      .map((one, at) => Object.assign(item(one, found[at - 1]), { hidden: at >= atFirst })));
    // One part goes on saying how many there are: what is replaced is not announced.
    const status = part.querySelector(".result-count") ?? make("p", "result-count");
    status.setAttribute("role", "status");
    const spoken = codes.map((code) =>
      `${nameOf(code)}: ${cards[code].facts.map(([, words]) => words).join(", ")}. `);
    status.replaceChildren(...(isAsked
      ? [make("span", "for-screen-readers", ...spoken), said(found.length, all.weak)] : []));
    for (const old of [...part.children]) if (old !== status) old.remove();
    if (!status.isConnected) part.prepend(status);
    if (codes.length) status.before(answer(codes));
    if (found.length) part.append(list);
    if (found.length > atFirst) part.append(more(list, found.length, query, inPanel));
  };

  const attach = (form) => {
    const input = form.querySelector("input[type=search]");
    const onPage = form.classList.contains("search-again");
    const panel = (onPage && page) || make("div", "search-panel");
    const floats = !onPage;
    const stays = form.closest(".sidebar-drawer, .mobile-header") !== null;
    if (!panel.isConnected) form.after(panel);
    if (floats) Object.assign(panel, { popover: "manual", hidden: true }); // above all else

    const close = () => {
      if (!floats || panel.hidden) return;
      panel.hidePopover?.();
      panel.hidden = true;
    };
    const open = () => {
      if (!floats) return;
      panel.hidden = false;
      if (panel.showPopover && !panel.matches(":popover-open")) panel.showPopover();
      const box = input.getBoundingClientRect(), width = Math.min(640, innerWidth - 16);
      const left = Math.max(8, Math.min(box.left, innerWidth - width - 8));
      Object.assign(panel.style, {
        position: stays ? "fixed" : "absolute", width: `${width}px`,
        left: `${left + (stays ? 0 : scrollX)}px`,
        top: `${box.bottom + 6 + (stays ? 0 : scrollY)}px`,
        maxHeight: stays ? `${innerHeight - box.bottom - 14}px` : "",
      });
    };
    const apply = () => {
      const isAsked = input.value.trim() !== "";
      show(panel, input.value, floats ? IN_PANEL : AT_FIRST);
      if (isAsked) open(); else close();
      if (onPage) document.getElementById("all-pages")?.toggleAttribute("hidden", isAsked);
    };
    const keep = () => {
      if (!page) return;
      const address = `${location.pathname}?${new URLSearchParams({ q: input.value })}`;
      try { history.replaceState(null, "", address); } catch { /* from a file: not kept */ }
    };
    const step = (event, by) => {
      const all = [...panel.querySelectorAll(
        ".answers a, .result:not([hidden]) a, .more-results")];
      const place = all.indexOf(document.activeElement) + by;
      if (place >= all.length) return;
      event.preventDefault();
      (place < 0 ? input : all[place]).focus();
    };
    const keys = (event) => {
      if (event.key === "ArrowDown") step(event, 1);
      else if (event.key === "ArrowUp" && event.target !== input) step(event, -1);
      else if (event.key === "Escape" && (event.target !== input || (floats && !panel.hidden))) {
        event.preventDefault();
        input.focus();
        close();
      }
    };
    input.addEventListener("input", () => { apply(); if (onPage) keep(); });
    input.addEventListener("focus", () => { if (floats && input.value.trim()) open(); });
    form.addEventListener("keydown", keys);
    panel.addEventListener("keydown", keys);
    form.addEventListener("submit", (event) => {
      if (!onPage) return; // the search page shows them all
      event.preventDefault();
      apply();
      keep();
      panel.querySelector(".results a")?.focus();
    });
    const leave = ({ target }) => {
      if (!form.contains(target) && !panel.contains(target)) close();
    };
    for (const event of ["pointerdown", "focusin"]) document.addEventListener(event, leave);
    if (page && onPage && !input.value)
      input.value = new URLSearchParams(location.search).get("q") ?? "";
    if (input.value && (onPage || document.activeElement === input)) apply();
  };
  for (const form of document.querySelectorAll("form[role=search]:not(.explorer-line)"))
    attach(form);
  // The box of the explorer shows the answer in its own place.
  window.showAnswer = show;
  document.dispatchEvent(new Event("search-ready"));
});
