"""One visit to a page of the site in a browser, and all that is seen in it.

Opening a page takes more time than most of what is asked of it. So each page is opened
once, and what the tests ask of every page is looked at then.

What axe asks of colours, of links in a text and of the size of what is pressed takes
most of its time, and hangs on what an element is, on what it stands in, and on the
view. In each view it is asked of elements whose tag, classes, role and attributes, with
those of its parent, no page before had; where a page has many alike, as the Atlas has
thousands, of some of each kind from its beginning to its end. What does not hang on
colours, such as names and roles, is asked of every page, but of lessons, questions and
families of errors, which a template makes, of one in four.
``TEST_EVERYTHING=1`` asks all of each page in each view.
"""

from __future__ import annotations

import functools
import gzip
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from axe_playwright_python.base import AXE_FILE_PATH
from reading import EVERYTHING, SCRIPTS, page_of, pages_in

HEADERS = 300  # bytes of a response's headers, about
AXE = AXE_FILE_PATH.read_text(encoding="utf-8")
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# One page of each kind.
KINDS = [
    "index.html",
    "auto_examples/index.html",
    "auto_examples/1_basics/clone_detach.html",
    "auto_examples/3_tips/copy_a_tensor.html",
    "tensor_maps.html",
    "search.html",
]
# Until two frames were drawn: what the page does when the size of a part has changed
# (code that is wider than its box becomes a stop of the Tab key) is done by then.
DRAWN = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(done)))"""
# To each picture, until it has come: lazy ones wait for that.
SCROLL = """async () => {
  for (const picture of document.images) {
    if (!picture.checkVisibility()) continue;
    picture.scrollIntoView();
    while (!picture.complete) await new Promise((done) => requestAnimationFrame(done));
  }
}"""
# The colours of all text in code and outputs, and what stands behind it.
COLOURS = """() => {
  const seen = new Set();
  for (const block of document.querySelectorAll("article pre")) {
    let behind = block;
    const clear = "rgba(0, 0, 0, 0)";
    while (getComputedStyle(behind).backgroundColor === clear && behind.parentElement)
      behind = behind.parentElement;
    const background = getComputedStyle(behind).backgroundColor;
    for (const part of [block, ...block.querySelectorAll("span, a")])
      seen.add(getComputedStyle(part).color + "|" + background);
  }
  return [...seen];
}"""
# The sizes of all words in sight but those of drawings, which have their own.
SIZES = """() => {
  const parts = new Set(), walk = document.createTreeWalker(document.body, 4);
  for (let text; (text = walk.nextNode());)
    if (text.data.trim()) parts.add(text.parentElement);
  const seen = [...parts].filter((part) =>
    part.checkVisibility() && !part.closest("svg, math, script, style"));
  return [...new Set(seen.map((part) => getComputedStyle(part).fontSize))];
}"""
# What a reader cannot reach: right of the window, and not in a part that scrolls. The
# page's own width does not tell, since Furo cuts off what is wider.
OUTSIDE = """() => {
  const scrolls = (part) => /auto|scroll/.test(getComputedStyle(part).overflowX);
  const unseen = (part) => getComputedStyle(part).clipPath === "inset(50%)";
  const inside = (part) => part.matches("article *") &&
    (scrolls(part) || unseen(part) || inside(part.parentElement));
  const edge = document.documentElement.clientWidth + 1;
  const wide = [...document.querySelectorAll("article *")].filter((part) =>
    part.getBoundingClientRect().right > edge && !inside(part));
  return wide.map((part) => part.outerHTML.slice(0, 200));
}"""
# Words of drawings that are cut off, by a fourth of a letter or more; in maps and
# strips those on each other too, and those much smaller than the text of the page.
HARD_TO_READ = """() => {
  const found = [], page = parseFloat(getComputedStyle(document.body).fontSize);
  const drawings = document.querySelectorAll("article svg:has(text)");
  for (const drawing of drawings) {
    const edge = drawing.getBoundingClientRect();
    const texts = [...drawing.querySelectorAll("text")].map((text) => {
      const {left, right, top, bottom} = text.getBoundingClientRect();
      const size = parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
      const middle = (top + bottom) / 2;  // a letter's box has room above and below
      return {left, right, top: middle - size / 2.5, bottom: middle + size / 2.5, size,
              words: text.textContent};
    }).filter((text) => text.right > text.left);
    const map = drawing.matches(".tensor-map svg, .lesson-rows svg");
    for (const [at, one] of texts.entries()) {
      if (one.left < edge.left - one.size / 4 || one.right > edge.right + one.size / 4)
        found.push("cut off: " + one.words);
      if (!map) continue;
      if (one.top < edge.top - one.size / 4 || one.bottom > edge.bottom + one.size / 4)
        found.push("cut off: " + one.words);
      if (one.size < 0.6 * page && drawing.matches(".tensor-map svg"))
        found.push("small: " + one.words);
      for (const other of texts.slice(at + 1))
        if (one.left < other.right && other.left < one.right &&
            one.top < other.bottom && other.top < one.bottom)
          found.push(`on each other: ${one.words}, ${other.words}`);
    }
  }
  return [drawings.length, found];
}"""
# Words that stand on others. A letter is as high as the size of its font says, whatever
# room the font wants for a line. What is cut off or scrolled away is not seen; a button
# over code is seen when it is pointed at.
ON_EACH_OTHER = """() => {
  const known = new Map([[document.querySelector("article"), [0, Infinity]]]);
  const seen = (part) => {
    if (!known.has(part)) {
      let [from, to] = seen(part.parentElement);
      const {overflowX, overflowY, clipPath} = getComputedStyle(part);
      const {left, right} = part.getBoundingClientRect();
      if (/hidden|clip/.test(overflowY) || clipPath !== "none") to = from;
      if (overflowX !== "visible")
        [from, to] = [Math.max(from, left), Math.min(to, right)];
      known.set(part, [from, to]);
    }
    return known.get(part);
  };
  const words = [], range = document.createRange();
  const walk = document.createTreeWalker(document.querySelector("article"), 4);
  for (let text; (text = walk.nextNode());) {
    const part = text.parentElement;
    if (!text.data.trim() || part.closest("svg, button") || !part.checkVisibility())
      continue;
    const [from, to] = seen(part);
    const half = parseFloat(getComputedStyle(part).fontSize) / 2;
    range.selectNodeContents(text);
    for (const box of range.getClientRects()) {
      const left = Math.max(box.left, from) + 1, right = Math.min(box.right, to) - 1;
      const middle = (box.top + box.bottom) / 2;
      const top = middle - half + 0.5, bottom = middle + half - 0.5;
      if (left < right) words.push({left, right, top, bottom, text: text.data.trim()});
    }
  }
  words.sort((one, other) => one.top - other.top);
  const found = [];
  for (const [at, one] of words.entries())
    for (let next = at + 1; words[next]?.top < one.bottom; next++) {
      const other = words[next];
      if (one.text !== other.text && one.left < other.right && other.left < one.right)
        found.push(`${one.text} / ${other.text}`);
    }
  return found;
}"""
UNFOLD = """() => {
  for (const part of document.querySelectorAll("article details")) part.open = true;
}"""
# All that axe says of what it finds right would take most of the time of a long page.
PROBLEMS = """async (rules) => {
  const options = {runOnly: rules, resultTypes: ["violations"]};
  const {violations} = await axe.run(document, options);
  const places = (one) => one.nodes.slice(0, 2).map((node) => String(node.target));
  return violations.map((one) => [one.id, ...places(one)]);
}"""
# What hangs on the view, and on what an element is and stands in; see above.
TARGET_SIZE = "target-size"
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
OF_EACH_KIND = [*COLOUR_RULES, TARGET_SIZE]
# Of how many elements of a kind on one page it is asked.
SOME, ALL = 8, 1_000_000
PROBLEMS_OF_ALL_KINDS = """async ([tags, others]) => {
  const rules = Object.fromEntries(others.map((name) => [name, {enabled: false}]));
  const options = {runOnly: tags, rules, resultTypes: ["violations"]};
  const {violations} = await axe.run(document, options);
  const places = (one) => one.nodes.slice(0, 2).map((node) => String(node.target));
  return violations.map((one) => [one.id, ...places(one)]);
}"""
# Asked are the elements that hold words or can be pressed. The colours of code have a
# check of their own. A link in it has a class for each name.
PROBLEMS_OF_NEW_KINDS = """async ([rules, known, most]) => {
  const seen = new Set(known), now = new Map();
  const said = (name) => !name.startsWith("sphx-glr-backref");
  // Neither where a part stands, in a page or in a drawing, nor what it is called.
  const place = new RegExp("^(data-.*|id|name|for|value|title|[xydc]|r[xy]|c[xy]" +
    "|width|height|viewBox|transform|textLength|lengthAdjust)$");
  const kind = (part) => [
    part.localName, part.getAttribute("role") ?? "",
    ...[...part.classList].filter(said).sort(),
    ...part.getAttributeNames().filter((name) => !place.test(name)).sort()].join(" ");
  const says = (node) => node.nodeType === Node.TEXT_NODE && node.data.trim();
  for (const part of document.body.querySelectorAll("*")) {
    if (!part.matches("a, button, input, label, select, summary, textarea, [tabindex]")
        && ![...part.childNodes].some(says)) continue;
    if (part.parentElement.closest("pre") || !part.checkVisibility()) continue;
    const kinds = kind(part.parentElement) + " > " + kind(part);
    if (seen.has(kinds)) continue;
    if (!now.has(kinds)) now.set(kinds, []);
    now.get(kinds).push(part);
  }
  if (!now.size) return [[], []];
  const parts = [...now.values()].flatMap((alike) =>
    alike.filter((_, at) => at % Math.ceil(alike.length / most) === 0));
  const options = {runOnly: {type: "rule", values: rules}, resultTypes: ["violations"]};
  const {violations} = await axe.run({include: parts}, options);
  const places = (one) => one.nodes.slice(0, 2).map((node) => String(node.target));
  return [[...now.keys()], violations.map((one) => [one.id, ...places(one)])];
}"""
# How a lesson begins: whether its picture is in sight, the classes of its parts in the
# order in which a reader meets them, whether the code of its setup is seen before and
# after a press on its summary, and how many more setups there are.
BEGINNING = """() => {
  const seen = (part) =>
    part.checkVisibility() && part.getBoundingClientRect().width > 0;
  const [figure] = [...document.querySelectorAll("article figure")].filter(seen);
  const parts = [...document.querySelector("article h1").parentElement.children];
  const [setup, ...more] = document.querySelectorAll("details.setup");
  const code = setup.querySelector("pre");
  const before = seen(code);
  setup.querySelector("summary").click();
  return {
    top: figure.getBoundingClientRect().top + scrollY < innerHeight,
    order: parts.map((part) =>
      part.matches("p:not([class])") ? "words" : part.className),
    setup: [before, seen(code), more.length],
  };
}"""
# Whether the page scrolls sideways, what sticks out of it, which words stand on others,
# the number of its drawings, and what is hard to read in them.
LAYOUT = f"""() => {{
  // What is far from the reader's eyes may be laid out only when it comes near.
  const whole = document.createElement("style");
  whole.textContent = "* {{ content-visibility: visible !important }}";
  document.head.append(whole);
  const root = document.documentElement;
  const [drawings, hard] = ({HARD_TO_READ})();
  const sideways = root.scrollWidth > root.clientWidth ? ["the page"] : [];
  const found = {{
    sideways, outside: ({OUTSIDE})(), "words on words": ({ON_EACH_OTHER})(), hard,
  }};
  return [drawings, Object.entries(found).filter(([, all]) => all.length)
    .map(([name, all]) => [name, ...all.slice(0, 3)])];
}}"""
# Each page is seen in these views, with all that folds open; one page of each kind in
# the others too, as it comes.
VIEWS = [("dark", 1280), ("light", 320)]
FOLDED = [("dark", 320), ("light", 1280), ("light", 768)]


def pages_of(site: Path) -> list[str]:
    """Return the pages of the site; those of each kind first."""
    pages = [path.relative_to(site).as_posix() for path in pages_in(site)]
    return [*KINDS, *(page for page in pages if page not in KINDS)]


@functools.cache
def compressed(file: Path) -> int:
    """Return how many bytes a host sends of a file."""
    body = file.read_bytes()
    return min(len(gzip.compress(body, 9)), len(body))


def kilobytes(urls: Iterable[str], site: Path) -> float:
    """Return the kB that a reader loads who is sent these files of the site."""
    names = [unquote(urlsplit(url).path).removeprefix("/") for url in urls]
    files = [site / (name or "index.html") for name in names]
    there = [compressed(file) for file in files if file.is_file()]
    return (sum(there) + HEADERS * len(files)) / 1000


def resize(tab: Any, width: int) -> None:
    """Give the window a width in pixels, and wait until the page has it."""
    tab.set_viewport_size({"width": width, "height": 900})
    tab.wait_for_function("width => innerWidth === width", arg=width)


def problems_of_new_kinds(tab: Any, rules: list[str], known: set[str]) -> list[Any]:
    """Ask axe of a page's elements of kinds that are not known yet; add these kinds."""
    asked = [rules, [], ALL] if EVERYTHING else [rules, sorted(known), SOME]
    kinds, found = tab.evaluate(PROBLEMS_OF_NEW_KINDS, asked)
    known |= set(kinds)
    return found


@dataclass
class Visit:
    """What one visit to a page has seen."""

    kilobytes: float = 0
    asked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    elements: int = 0
    drawings: int = 0
    # The colours of code on what is behind it, by the scheme.
    colours: dict[str, list[str]] = field(default_factory=dict)
    sizes: list[str] = field(default_factory=list)
    beginning: dict[str, Any] = field(default_factory=dict)
    layout: list[tuple[Any, ...]] = field(default_factory=list)
    axe: list[tuple[Any, ...]] = field(default_factory=list)


class Visitor:
    """Opens each page of the site at most once, and keeps what it saw."""

    def __init__(self, browser: Any, site: Path, address: str) -> None:
        context = browser.new_context()
        self._site, self._address = site, address
        self._lessons = [page_of(site, script) for script in SCRIPTS]
        families = [*site.glob("errors/*.html"), *site.glob("questions/*.html")]
        alike = [*self._lessons, *sorted(families)]
        self._most = {page for at, page in enumerate(alike) if at % 4}
        self._tab = context.new_page()
        self._known: dict[Any, set[str]] = defaultdict(set)
        self._visits: dict[str, Visit] = {}
        self._now = Visit()
        # Each page loads all that it would load if it were the first.
        tools = context.new_cdp_session(self._tab)
        tools.send("Network.enable")
        tools.send("Network.setCacheDisabled", {"cacheDisabled": True})
        self._tab.on("pageerror", lambda error: self._now.wrong.append(str(error)))
        self._tab.on("request", self._ask)
        self._tab.on("requestfailed", self._fail)
        self._tab.on("response", self._answer)
        self.close: Callable[[], None] = context.close

    def _ask(self, request: Any) -> None:
        self._now.asked.append(request.url)

    def _fail(self, request: Any) -> None:
        self._now.wrong.append(f"{request.url}: {request.failure}")

    def _answer(self, response: Any) -> None:
        if response.status >= 400:
            self._now.wrong.append(f"{response.url}: {response.status}")

    def __call__(self, page: str) -> Visit:
        """Return what is seen of a page, by its path in the site."""
        if page not in self._visits:
            self._visits[page] = self._now = Visit()
            self._load(page)
            if self._site / page in self._lessons:
                self._now.beginning = self._tab.evaluate(BEGINNING)
            self._tab.evaluate(AXE)
            for view in FOLDED if page in KINDS else []:
                self._see(page, *view)
            self._tab.evaluate(UNFOLD)
            for view in VIEWS:
                self._see(page, *view)
            if EVERYTHING or page in KINDS or self._site / page not in self._most:
                self._tab.evaluate(DRAWN)
                asked = [AXE_RULES, OF_EACH_KIND]
                found = self._tab.evaluate(PROBLEMS_OF_ALL_KINDS, asked)
                self._now.axe += [(page, *one) for one in found]
        return self._visits[page]

    def _see(self, page: str, scheme: str, width: int) -> None:
        """Look at the page as it is, in a view."""
        self._tab.emulate_media(color_scheme=scheme)
        resize(self._tab, width)
        self._tab.evaluate(DRAWN)
        drawings, found = self._tab.evaluate(LAYOUT)
        self._now.drawings += drawings
        self._now.layout += [(page, scheme, width, *one) for one in found]
        self._now.colours[scheme] = self._tab.evaluate(COLOURS)
        self._now.sizes = max(self._now.sizes, self._tab.evaluate(SIZES), key=len)
        known = self._known[scheme, width]
        found = problems_of_new_kinds(self._tab, OF_EACH_KIND, known)
        self._now.axe += [(page, scheme, width, *one) for one in found]

    def _load(self, page: str) -> None:
        tab = self._tab
        tab.goto("about:blank")  # which takes another size at once
        scheme, width = VIEWS[0]
        tab.emulate_media(color_scheme=scheme)
        tab.set_viewport_size({"width": width, "height": 900})
        tab.goto(self._address + page, wait_until="load")
        tab.evaluate(SCROLL)
        if page in KINDS:
            tab.wait_for_load_state("networkidle")
        own = [url for url in self._now.asked if url.startswith(self._address)]
        self._now.kilobytes = kilobytes(own, self._site)
        self._now.elements = tab.evaluate("document.querySelectorAll('*').length")
