// Shows what rank.js finds, as a reader types: below the box, or on the search page.
window.searchReady.then(() => {
  "use strict";
  const IN_PANEL = 5;
  const AT_FIRST = 8;
  const MOST = 30;
  const root = document.documentElement.dataset.content_root ?? "./";
  const make = (name, classes, text = "") => {
    const part = document.createElement(name);
    part.className = classes;
    part.textContent = text;
    return part;
  };

  const item = (result, before) => {
    const { address, anchor, kind, heading, title, sentence, message } = result;
    const part = make("li", "result");
    const link = make("a", "result-link");
    link.href = root + address;
    link.append(make("span", "result-kind", kind), " ", make("span", "", heading));
    if (anchor && before?.page !== result.page)
      part.append(make("p", "result-page", title));
    part.append(link);
    if (message ?? sentence)
      part.append(make("p", message ? "result-message" : "result-about", message ?? sentence));
    return part;
  };

  // -- The answer: a card for each call that the query names ---------------------------
  const { signs } = window.searchIndex;
  const ATLAS = "atlas.html#";
  const FACTS = { flows: "gradient", stops: "gradient", version: "version", "": "bytes" };
  const factOf = ([sign]) => FACTS[sign] ?? "memory";
  const DRAWN = { memory: "0 0 18 16", gradient: "20 0 16 16" }; // a half of a sign each
  const drawSigns = () => {
    if (document.getElementById("card-signs")) return;
    const sheet = make("div", "");
    sheet.id = "card-signs";
    sheet.innerHTML = signs;
    document.body.append(sheet);
  };
  const drawing = (sign) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    svg.setAttribute("viewBox", DRAWN[factOf([sign])]);
    svg.setAttribute("aria-hidden", "true");
    for (const [name, value] of [["href", `#sign-card-${sign}`], ["width", 36], ["height", 16]])
      use.setAttribute(name, value);
    svg.append(use);
    return svg;
  };
  const linked = (words, address) => {
    const link = make("a", "", words);
    link.href = root + address;
    return link;
  };
  const tried = (...rows) => window.explorerAddress(rows);
  const card = (row, other) => {
    const part = make("section", "answer");
    const code = make("h3", "answer-code");
    code.append(row.id ? linked("", ATLAS + row.id) : make("span", ""));
    code.firstChild.append(make("code", "", row.code));
    const list = make("ul", "answer-facts");
    const theirs = new Map((other?.facts ?? []).map((fact) => [factOf(fact), fact[1]]));
    for (const fact of row.facts) {
      const differs = other !== undefined && theirs.get(factOf(fact)) !== fact[1];
      const item = make("li", differs ? "differing" : "");
      if (DRAWN[factOf(fact)]) item.append(drawing(fact[0]));
      item.append(make(differs ? "b" : "span", "", fact[1]));
      list.append(item);
    }
    for (const note of row.notes) {
      const differs = other !== undefined && !other.notes.includes(note);
      const item = make("li", differs ? "answer-note differing" : "answer-note");
      item.append(make(differs ? "b" : "span", "", note));
      list.append(item);
    }
    part.append(code, list);
    const links = make("p", "answer-links");
    if (row.lesson) links.append(linked("Lesson", row.lesson));
    if (row.tried) links.append(linked(row.id ? "Try it in the explorer" : "See it in the explorer", tried(row)));
    part.append(links);
    return part;
  };
  const answer = ({ rows, left }) => {
    const part = make("div", "answers");
    if (left.length) part.append(make("p", "answer-note", `No card for ${left.join(" or ")}.`));
    if (!rows.length) return part;
    drawSigns();
    part.append(...rows.map((row, at) => card(row, rows[1 - at])));
    if (rows.length > 1 && rows.every((row) => row.tried)) {
      const compare = make("p", "answer-compare");
      compare.append(linked("Compare them in the explorer", tried(...rows)));
      part.append(compare);
    }
    const size = rows.some(({ subject, facts }) => subject === "x" && facts.length) ? "x is 2 × 3, float32, on the CPU." : "";
    if (size) part.append(make("p", "answer-note answer-x", size));
    return part;
  };

  // -- What is listed ----------------------------------------------------------------------
  const HOW = "Try one call, such as detach. From an error message, four words in a row are enough.";
  const said = (count, weak) => (count === 0 ? `No section has these words. ${HOW}`
    : weak ? "Nearest:" : count === 1 ? "Found one section." : `Found ${count} sections.`);

  // Fill a part of the page with the answer to a query and its results.
  const show = (part, query, atFirst, results = null) => {
    const asked = query.trim() !== "";
    const all = results ?? (asked ? window.searchFor(query) : []);
    const found = all.slice(0, MOST);
    const answers = asked && !found[0]?.message ? window.answersIn(query) : { rows: [], left: [] };
    const cards = answers.rows;
    const list = make("ol", "results");
    // Below a box only what is seen is made: the search page shows the others.
    found.slice(0, atFirst === IN_PANEL ? IN_PANEL : MOST).forEach((result, place) => {
      const one = item(result, found[place - 1]);
      one.hidden = place >= atFirst;
      list.append(one);
    });
    // One part goes on saying how many there are: what is replaced is not announced.
    const status = part.querySelector(".result-count") ?? make("p", "result-count");
    status.setAttribute("role", "status");
    const named = cards.map(({ code, facts }) => `${code}: ${facts.map((fact) => fact[1]).join(", ")}. `);
    status.replaceChildren(...(asked ? [make("span", "for-screen-readers", named.join("")),
      said(found.length, all.weak)] : []));
    for (const old of part.querySelectorAll(".answers, .results, .more-results")) old.remove();
    if (!status.isConnected) part.prepend(status);
    // Half an answer to "A or B?" stands behind what compares the two.
    if (cards.length && !answers.half) part.prepend(answer(answers));
    if (found.length) part.append(list);
    if (cards.length ? answers.half : answers.left.length) part.append(answer(answers));
    const more = found.length - atFirst;
    if (more <= 0) return;
    if (atFirst === IN_PANEL) {
      const whole = make("a", "more-results", `All ${found.length} results`);
      whole.href = `${root}search.html?${new URLSearchParams({ q: query })}`;
      part.append(whole);
      return;
    }
    const button = make("button", "more-results", `Show ${more} more`);
    button.type = "button";
    button.addEventListener("click", () => {
      const hidden = [...list.querySelectorAll("[hidden]")];
      for (const one of hidden) one.hidden = false;
      button.remove();
      hidden[0].querySelector("a").focus();
    });
    part.append(button);
  };

  const attach = (form) => {
    const input = form.querySelector("input[type=search]");
    const onPage = form.classList.contains("search-again");
    const panel = (onPage && document.getElementById("search-results")) ||
      make("div", "search-panel");
    const floats = !onPage;
    const stays = form.closest(".sidebar-drawer, .mobile-header") !== null;
    if (!panel.isConnected) form.after(panel);
    if (floats) {
      panel.popover = "manual"; // above all else, whatever it stands in
      panel.hidden = true;
    }

    const close = () => {
      if (!floats || panel.hidden) return;
      panel.hidePopover?.();
      panel.hidden = true;
    };
    const open = () => {
      if (!floats) return;
      panel.hidden = false;
      if (panel.showPopover && !panel.matches(":popover-open")) panel.showPopover();
      const box = input.getBoundingClientRect();
      const width = Math.min(640, innerWidth - 16);
      const left = Math.max(8, Math.min(box.left, innerWidth - width - 8));
      panel.style.position = stays ? "fixed" : "absolute";
      panel.style.width = `${width}px`;
      panel.style.left = `${left + (stays ? 0 : scrollX)}px`;
      panel.style.top = `${box.bottom + 6 + (stays ? 0 : scrollY)}px`;
      if (stays) panel.style.maxHeight = `${innerHeight - box.bottom - 14}px`;
    };
    const apply = () => {
      const query = input.value;
      show(panel, query, floats ? IN_PANEL : AT_FIRST);
      if (query.trim()) open(); else close();
      if (!onPage) return;
      const pages = document.getElementById("all-pages");
      if (pages) pages.hidden = query.trim() !== "";
    };
    const keep = () => {
      if (!document.getElementById("search-results")) return;
      const address = `${location.pathname}?${new URLSearchParams({ q: input.value })}`;
      try { history.replaceState(null, "", address); } catch { /* from a file: not kept */ }
    };

    const links = () => [...panel.querySelectorAll(".answers a, .result:not([hidden]) a, .more-results")];
    const step = (event, by) => {
      const all = links();
      const place = all.indexOf(document.activeElement) + by;
      if (place >= all.length) return;
      event.preventDefault();
      (place < 0 ? input : all[place]).focus();
    };
    input.addEventListener("input", () => { apply(); if (onPage) keep(); });
    input.addEventListener("focus", () => { if (floats && input.value.trim()) open(); });
    const keys = (event) => {
      if (event.key === "ArrowDown") step(event, 1);
      else if (event.key === "ArrowUp" && event.target !== input) step(event, -1);
      else if (event.key === "Escape" && (event.target !== input || (floats && !panel.hidden))) {
        event.preventDefault();
        input.focus();
        close();
      }
    };
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
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);

    if (document.getElementById("search-results") && onPage && !input.value)
      input.value = new URLSearchParams(location.search).get("q") ?? "";
    if (input.value && (onPage || document.activeElement === input)) apply();
  };
  for (const form of document.querySelectorAll("form[role=search]:not(.explorer-line)"))
    attach(form);
  // The box of the explorer shows the answer in its own place.
  window.showAnswer = show;
  document.dispatchEvent(new Event("search-ready"));
});
