// Shows what rank.js finds, as a reader types: below the box, or on the search page.
(() => {
  "use strict";
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

  const NOTHING = "Nothing here has such a word. Try one call, such as detach. " +
    "Of an error message, four words in a row are enough.";
  const said = (count) =>
    count === 0 ? NOTHING : count === 1 ? "Found one section." : `Found ${count} sections.`;

  // Fill a part of the page with the results of a query.
  const show = (part, query) => {
    const found = query.trim() ? window.searchFor(query).slice(0, MOST) : [];
    const list = make("ol", "results");
    found.forEach((result, place) => {
      const one = item(result, found[place - 1]);
      one.hidden = place >= AT_FIRST;
      list.append(one);
    });
    // One part goes on saying how many there are: what is replaced is not announced.
    const status = part.querySelector(".result-count") ?? make("p", "result-count");
    status.setAttribute("role", "status");
    status.textContent = query.trim() ? said(found.length) : "";
    part.querySelector(".results")?.remove();
    part.querySelector(".more-results")?.remove();
    if (!status.isConnected) part.prepend(status);
    if (found.length) part.append(list);
    if (found.length <= AT_FIRST) return;
    const more = make("button", "more-results", `Show ${found.length - AT_FIRST} more`);
    more.type = "button";
    more.addEventListener("click", () => {
      const hidden = [...list.querySelectorAll("[hidden]")];
      for (const one of hidden) one.hidden = false;
      more.remove();
      hidden[0].querySelector("a").focus();
    });
    part.append(more);
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
      show(panel, query);
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

    const links = () => [...panel.querySelectorAll(".result:not([hidden]) a, .more-results")];
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
      links()[0]?.focus();
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
  for (const form of document.querySelectorAll("form[role=search]")) attach(form);
})();
