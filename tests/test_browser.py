"""The site in a real browser, as readers on phones, keyboards and trains have it."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from reading import SCRIPTS, page_of, pages_in, parts_of

HEADERS = 300  # bytes of a response's headers, about
SCHEMES = ("light", "dark")
WIDTHS = (320, 768, 1280)
WIDTHS_OF_LAYOUT = (1280, 768, 390, 320)
# First visit, compressed, scrolled to the end. A benchmark brings plots and data.
MOST_KB, MOST_KB_WITH_PLOTS, MOST_KB_OF_LONG_PAGES = 50, 60, 80
# A chart is a table: a cell a call and a size, for each machine. The sidebar has two
# elements a lesson.
MOST_REQUESTS, MOST_ELEMENTS, MOST_ELEMENTS_WITH_PLOTS = 16, 1600, 2100
AAA = 7.0
# The answer and the picture of a lesson begin above this, at 1280 x 900.
FIRST_SCREEN = 700
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
# Pages with much to press: links, buttons, boxes.
DENSE = ["atlas.html", "errors.html", "self_check.html", "cheat_sheet.html"]
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
# Words of drawings that begin or end beyond their drawing, of which half a pixel is
# nothing that anybody sees.
CUT_OFF = """() => [...document.querySelectorAll("article svg text")].filter((text) => {
  const words = text.getBoundingClientRect();
  const drawing = text.closest("svg").getBoundingClientRect();
  return words.width > 0 &&
    (words.right > drawing.right + 0.5 || words.left < drawing.left - 0.5);
}).map((text) => text.textContent)"""
# Words of maps and strips that are cut off, on each other, or lower than 12 pixels. A
# letter's box is as high as its font says, which is more than what is seen of it.
HARD_TO_READ = """() => {
  const drawings = document.querySelectorAll(
    "article .tensor-map svg, article .lesson-cards svg:has([font-family=monospace])");
  const found = [];
  for (const drawing of drawings) {
    const edge = drawing.getBoundingClientRect();
    const texts = [...drawing.querySelectorAll("text")].map((text) => {
      const {left, right, top, bottom} = text.getBoundingClientRect();
      const size = parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
      const words = text.textContent;
      return {left, right, top: top + 2, bottom: bottom - 2, size, words};
    }).filter((text) => text.right > text.left);
    for (const [at, one] of texts.entries()) {
      if (one.left < edge.left - 0.5 || one.right > edge.right + 0.5 ||
          one.top < edge.top - 0.5 || one.bottom > edge.bottom + 0.5)
        found.push("cut off: " + one.words);
      if (one.size < 11.99) found.push(`${one.size} px: ${one.words}`);
      for (const other of texts.slice(at + 1))
        if (one.left < other.right && other.left < one.right &&
            one.top < other.bottom && other.top < one.bottom)
          found.push(`on each other: ${one.words}, ${other.words}`);
    }
  }
  return [drawings.length, found];
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
TARGET_SIZE = {"type": "rule", "values": ["target-size"]}


@dataclass(frozen=True)
class Visit:
    """What one first visit to a page loaded."""

    kilobytes: float
    addresses: list[str]
    elements: int


def pages_of(site: Path) -> list[str]:
    return [str(path.relative_to(site)) for path in pages_in(site)]


@pytest.fixture(scope="module")
def visit(browser: Any, address: str) -> Callable[[str], Visit]:
    def go(page: str) -> Visit:
        context = browser.new_context(viewport={"width": 390, "height": 844})
        tab, loaded = context.new_page(), []
        tab.on("response", lambda response: loaded.append(response))
        tab.goto(address + page, wait_until="load")
        tab.evaluate(SCROLL)
        tab.wait_for_load_state("networkidle")
        size = 0
        for response in loaded:
            body = response.body()
            size += min(len(gzip.compress(body, 9)), len(body)) + HEADERS
        elements = tab.evaluate("document.querySelectorAll('*').length")
        context.close()
        return Visit(size / 1000, [one.url for one in loaded], elements)

    return go


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_lesson_is_light_and_asks_no_other_host(
    script: Path, site: Path, address: str, visit: Callable[[str], Visit]
) -> None:
    seen = visit(str(page_of(site, script).relative_to(site)))
    plots = "perfplot" in script.read_text() or "benchmark" in script.read_text()
    assert seen.kilobytes <= (MOST_KB_WITH_PLOTS if plots else MOST_KB)
    assert len(seen.addresses) <= MOST_REQUESTS, seen.addresses
    assert all(one.startswith(address) for one in seen.addresses)
    assert seen.elements <= (MOST_ELEMENTS_WITH_PLOTS if plots else MOST_ELEMENTS)


def test_other_pages_make_few_requests_and_ask_no_other_host(
    site: Path, address: str, visit: Callable[[str], Visit]
) -> None:
    lessons = {str(page_of(site, script).relative_to(site)) for script in SCRIPTS}
    for page in set(pages_of(site)) - lessons:
        seen = visit(page)
        # The longest compute: the article, the Atlas, the error index.
        assert seen.kilobytes <= MOST_KB_OF_LONG_PAGES, (page, seen.kilobytes)
        assert len(seen.addresses) <= MOST_REQUESTS, (page, seen.addresses)
        assert all(one.startswith(address) for one in seen.addresses), page


VIEWS = [(scheme, width) for scheme in SCHEMES for width in WIDTHS]
# axe takes a second a page: one view sees every page, its opposite one lesson of each
# section and all that is no lesson, the others one page of each kind.
EVERY, OPPOSITE = ("light", 320), ("dark", 1280)


def pages_for_axe(site: Path, view: tuple[str, int]) -> list[str]:
    """Return the pages that axe reads in a view."""
    if view == EVERY:
        return pages_of(site)
    if view == OPPOSITE:
        shown = {script.parent: script for script in SCRIPTS}.values()
        left_out = {page_of(site, script) for script in {*SCRIPTS} - {*shown}}
        return [page for page in pages_of(site) if site / page not in left_out]
    return KINDS


@pytest.mark.parametrize(("scheme", "width"), VIEWS)
def test_axe_finds_nothing(
    scheme: str, width: int, site: Path, address: str, browser: Any
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    tab, found = context.new_page(), []
    for page in pages_for_axe(site, (scheme, width)):
        tab.goto(address + page, wait_until="load")
        tab.evaluate(AXE)
        found += [(page, *one) for one in tab.evaluate(PROBLEMS, AXE_RULES)]
    context.close()
    assert found == []


def test_in_any_font_nothing_sticks_out_is_cut_off_or_hard_to_read(
    browser_of_each_family: Any, site: Path, address: str
) -> None:
    tab, found, drawings = browser_of_each_family.new_page(), [], 0
    for page in pages_of(site):
        tab.goto(address + page, wait_until="load")
        tab.evaluate(UNFOLD)
        for width in WIDTHS_OF_LAYOUT:
            tab.set_viewport_size({"width": width, "height": 900})
            tab.wait_for_function("width => innerWidth === width", arg=width)
            root = "document.documentElement"
            if tab.evaluate(f"{root}.scrollWidth > {root}.clientWidth"):
                found.append((page, width, "scrolls sideways"))
            if outside := tab.evaluate(OUTSIDE):
                found.append((page, width, "sticks out", outside[:2]))
            if words := tab.evaluate(CUT_OFF):
                found.append((page, width, "cut off", words[:2]))
            number, problems = tab.evaluate(HARD_TO_READ)
            found += [(page, width, *problems[:3])] if problems else []
            drawings += number
    tab.close()
    assert drawings > 0
    assert found == []


def test_in_any_font_nothing_is_hard_to_press(
    browser_of_each_family: Any, site: Path, address: str
) -> None:
    tab, found = browser_of_each_family.new_page(), []
    for page in [*KINDS, *DENSE]:
        tab.goto(address + page, wait_until="load")
        tab.evaluate(UNFOLD)
        tab.evaluate(AXE)
        for width in (WIDTHS_OF_LAYOUT[0], WIDTHS_OF_LAYOUT[-1]):
            tab.set_viewport_size({"width": width, "height": 900})
            tab.wait_for_function("width => innerWidth === width", arg=width)
            small = tab.evaluate(PROBLEMS, TARGET_SIZE)
            found += [(page, width, *one) for one in small]
    tab.close()
    assert found == []


def luminance(colour: str) -> float:
    channels = [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("system", SCHEMES)
def test_code_and_outputs_have_the_highest_contrast(
    scheme: str, system: str, site: Path, address: str, browser: Any
) -> None:
    """Also where Furo's switch says another scheme than the system."""
    context = browser.new_context(color_scheme=system)
    context.add_init_script(f"localStorage.setItem('theme', '{scheme}')")
    tab = context.new_page()
    for page in pages_of(site):
        tab.goto(address + page, wait_until="load")
        for pair in tab.evaluate(COLOURS):
            light, dark = sorted(map(luminance, pair.split("|")), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= AAA, (page, pair)
    context.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield context.new_page()
    context.close()


def focused(tab: Any) -> str:
    return tab.evaluate("document.activeElement.outerHTML.slice(0, 200)")


def test_all_by_keyboard(site: Path, address: str, tab: Any) -> None:
    page = page_of(site, SCRIPTS[5]).relative_to(site)
    tab.goto(address + str(page))
    reached = []
    for _ in range(400):
        tab.keyboard.press("Tab")
        reached.append(focused(tab))
        if reached[-1].startswith("<body"):
            break
        # An answer to choose from is outlined as a whole.
        style = """getComputedStyle(document.activeElement.closest(
            ".predict-choices label") ?? document.activeElement).outlineStyle"""
        assert tab.evaluate(style) != "none", reached[-1]
    assert "Skip to content" in reached[0]
    everything = "\n".join(reached)
    for wanted in ("sidebar-search", "theme-toggle", "download", "<pre", "next-page"):
        assert wanted in everything, wanted
    # Every control that can be seen can be reached.
    controls = tab.locator("article a:visible, article summary:visible").count()
    assert sum(one.startswith(("<a", "<summary")) for one in reached) >= controls


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_lesson_begins_with_its_answer_and_picture(
    script: Path, site: Path, address: str, tab: Any
) -> None:
    tab.goto(address + str(page_of(site, script).relative_to(site)), wait_until="load")
    figure = tab.locator("article figure:visible").first
    assert figure.bounding_box()["y"] < FIRST_SCREEN
    order = tab.evaluate(
        """() => [...document.querySelector("article h1").parentElement.children]
          .map((part) => part.matches("p:not([class])") ? "words" : part.className)"""
    )
    # The class of a part, in the order in which a reader meets them.
    wanted = ["lesson-actions", "words", "lesson-lead", "words", "provenance", "setup"]
    met = [name for part in order for name in set(wanted) if name in part.split()]
    assert met[: len(wanted)] == wanted
    setup = tab.locator("details.setup")
    assert not setup.locator("pre").first.is_visible()
    setup.locator("summary").click()
    setup.locator("pre").first.wait_for(state="visible")


def test_the_tabs_of_all_blocks_show_one_machine_and_are_remembered(
    site: Path, address: str, tab: Any
) -> None:
    pages = [page_of(site, script) for script in SCRIPTS]
    tabbed = [page for page in pages if page.read_text().count("<fieldset") > 1]
    if not tabbed:
        pytest.skip("no lesson differs between machines")
    tab.goto(address + str(tabbed[0].relative_to(site)), wait_until="load")
    tab.evaluate(UNFOLD)
    groups = tab.locator(".machines-outputs").all()
    shown = [group.locator(".variant:visible") for group in groups]
    assert [variants.count() for variants in shown] == [1] * len(groups)
    radios = [group.locator(".machine-tabs input") for group in groups]
    other = radios[0].last.get_attribute("value")
    radios[0].first.focus()
    for _ in range(radios[0].count() - 1):
        tab.keyboard.press("ArrowRight")
    for group, inputs, variants in zip(groups, radios, shown, strict=True):
        values = [one.get_attribute("value") for one in inputs.all()]
        wanted = other if other in values else values[0]
        assert variants.count() == 1
        assert wanted in variants.first.get_attribute("class").split()
        assert group.locator("input:checked").get_attribute("value") == wanted
    tab.reload(wait_until="load")
    first = tab.locator(".machine-tabs").first
    assert first.locator("input:checked").get_attribute("value") == other


def test_without_javascript_everything_is_there(
    site: Path, address: str, browser: Any
) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    for script in SCRIPTS:
        page = page_of(site, script)
        tab.goto(address + str(page.relative_to(site)))
        for fold in tab.locator("article details > summary").all():
            fold.click()
        shown = tab.locator("article").inner_text()
        for part in parts_of(page):
            cells = part.output.replace(" | ", "\n")  # a table has no bars
            for line in (part.code + cells).splitlines():
                assert " ".join(line.split()) in " ".join(shown.split()), line
    context.close()


def test_a_jump_leaves_the_heading_in_view(site: Path, address: str, tab: Any) -> None:
    page = str(page_of(site, SCRIPTS[1]).relative_to(site))
    tab.emulate_media(reduced_motion="reduce")  # Furo scrolls smoothly
    for width in (360, 1280):
        tab.set_viewport_size({"width": width, "height": 700})
        tab.goto(address + page)
        for name in tab.evaluate(
            "[...document.querySelectorAll('article section section')].map(s => s.id)"
        ):
            tab.evaluate(f"location.hash = '{name}'")
            tab.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
            box = tab.locator(f"section[id='{name}'] > :is(h2, h3)").bounding_box()
            header = tab.locator(".mobile-header")
            top = header.bounding_box()["height"] if header.is_visible() else 0
            assert top <= box["y"] + 1 and box["y"] + box["height"] <= 700


def test_print_has_all_and_no_navigation(site: Path, address: str, tab: Any) -> None:
    page = page_of(site, SCRIPTS[5])
    tab.emulate_media(media="print", color_scheme="dark")
    tab.goto(address + str(page.relative_to(site)))
    for part in (".sidebar-drawer", ".toc-drawer", ".theme-toggle", ".skip-to-content"):
        assert not tab.locator(part).first.is_visible(), part
    paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    root = "document.documentElement"
    tab.set_viewport_size({"width": 700, "height": 900})  # A4 within its margins
    assert not tab.evaluate(f"{root}.scrollWidth > {root}.clientWidth")


def test_no_page_loads_from_elsewhere_or_complains(
    site: Path, address: str, browser: Any
) -> None:
    context = browser.new_context()
    tab, wrong = context.new_page(), []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("response", lambda got: got.status < 400 or wrong.append(got.url))
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    for page in pages_of(site):
        tab.goto(address + page, wait_until="load")
    context.close()
    wrong += [url for url in asked if not url.startswith(address)]
    assert wrong == []
