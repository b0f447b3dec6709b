"""Reading the built site and the lessons' scripts as a reader's tools would."""

import copy
import functools
import gc
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

ROOT = Path(__file__).resolve().parents[1]
SITE, EXAMPLES = ROOT / "build" / "html", ROOT / "examples"
# Seconds after which a process is taken to hang, also on a machine that does much else.
# No test asks how long anything takes. What waits without a limit is ended with its
# test (pyproject.toml, after more than these).
PATIENCE = 900
# Some tests take a sample of what would take long; each says which, and why it is
# enough. With TEST_EVERYTHING=1 they take all.
EVERYTHING = os.environ.get("TEST_EVERYTHING", "") not in ("", "0")
# How the parts of a page are marked.
CODE = "highlight-Python"  # a lesson's; what it has printed is in other blocks
LEAD, PLAYER = "div.lead", "figure.player"
TABLE, MAP = "table.printed", "figure.tensor-map"
ANSWER = "details.admonition.predict"
CHOICES = "fieldset.predict-choices"  # each a label > input[data-said, data-right]


@functools.lru_cache(maxsize=128)
def parsed(text: str) -> BeautifulSoup:
    page = BeautifulSoup(text, "html.parser")
    gc.freeze()  # its objects stay, and whoever asks who refers to what would see them
    return page


def soup(page: Path) -> BeautifulSoup:
    """Return a page, parsed: once for all tests, so change a copy of it only."""
    return parsed(page.read_text(encoding="utf-8"))


def pages_in(folder: Path) -> list[Path]:
    """Return the pages of a built site, without those that only lead to another."""
    found = sorted(folder.rglob("*.html"))
    return [
        one for one in found if 'http-equiv="refresh"' not in one.read_text("utf-8")
    ]


def as_shown(tag: Tag) -> str:
    """Return what a reader reads, but for the sign of a heading's link."""
    words = " ".join(tag.get_text().split()).removesuffix("\N{PILCROW SIGN}")
    return words.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


@dataclass
class Part:
    """One code block of a lesson as its page shows it."""

    code: str
    output: str = ""


@dataclass(frozen=True)
class Lesson:
    """A lesson: its script, and what the built site makes of it."""

    script: Path

    @property
    def name(self) -> str:
        """The name of the script."""
        return self.script.stem

    @property
    def text(self) -> str:
        """The text of the script."""
        return self.script.read_text(encoding="utf-8")

    @property
    def blocks(self) -> list[tuple[str, str, int]]:
        """The kind, text and first line of each block of the script."""
        return split_code_and_text_blocks(str(self.script))[1]

    @property
    def code_lines(self) -> list[tuple[int, str]]:
        """The numbered lines of the script that a page shows as code."""
        codes = [(code, first) for kind, code, first in self.blocks if kind == "code"]
        return [one for code, at in codes for one in enumerate(code.splitlines(), at)]

    @property
    def path(self) -> Path:
        """The file of the page."""
        return SITE / "auto_examples" / self.script.parent.name / f"{self.name}.html"

    @property
    def page(self) -> BeautifulSoup:
        """The page, parsed."""
        return soup(self.path)

    @property
    def parts(self) -> list[Part]:
        """The code blocks of the page, each with the output below it."""
        parts: list[Part] = []
        for block in self.page.select(f"article .highlight > pre, article {TABLE}"):
            text, above = block.get_text(), block.parent.parent
            if block.find_parent(class_="other-machine"):
                continue
            if block.name == "table":  # what the script prints as its rows
                parts[-1].output += rows_of(block)
            elif CODE not in above["class"]:
                parts[-1].output += text.strip("\n") + "\n"
            elif above.find_parent(class_="checked"):  # the end of that block
                parts[-1].code += text
            else:
                parts.append(Part(text))
        return parts

    @property
    def downloads(self) -> dict[str, Path]:
        """The files that the page offers, by their ending."""
        links = self.page.select("article a[download]")
        found = [(self.path.parent / link["href"]).resolve() for link in links]
        return {path.suffix: path for path in found}


LESSONS = {path.stem: Lesson(path) for path in sorted(EXAMPLES.glob("*/[!.]*.py"))}
PAGES = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/[eq]*/*.md")]  # that may have cells
EACH = pytest.mark.parametrize("lesson", LESSONS.values(), ids=LESSONS)


def rows_of(table: Tag) -> str:
    """Return a table of a lesson as the lesson prints it."""
    table = copy.copy(table)
    for label in table.select(".column-name"):
        label.extract()
    rows = [row.select("th, td") for row in table.select("tr")]
    lines = [" | ".join(cell.get_text().strip() for cell in row) for row in rows]
    return "\n".join(lines) + "\n"


def axe_of(tab: Any, part: str = "html", looks: bool = True) -> list[list[str]]:
    """Return what axe finds in a part of a page: rules, each with two places.

    Texts that look alike, on grounds that do, have the same contrast: the first and the
    last are asked, unless all is to be tried. Without ``looks``, no colours are asked.
    """
    from axe_playwright_python.base import AXE_FILE_PATH

    tab.evaluate(AXE_FILE_PATH.read_text(encoding="utf-8"))
    asking = """async ([part, enabled, all]) => {
      const grounds = new Map([[null, ""]]), texts = new Map();
      const ground = (node) => {
        if (!grounds.has(node)) {
          const {backgroundColor, backgroundImage, opacity, position} =
            getComputedStyle(node);
          const own = [backgroundColor, backgroundImage, opacity, position].join();
          grounds.set(node, ground(node.parentElement) + own);
        }
        return grounds.get(node);
      };
      const isText = (node) => node.nodeType === Node.TEXT_NODE && node.data.trim();
      for (const one of enabled ? document.querySelectorAll(`${part} *`) : []) {
        if (!one.checkVisibility() || ![...one.childNodes].some(isText)) continue;
        const {color, fontSize, fontWeight} = getComputedStyle(one);
        const look = [one.localName, color, fontSize, fontWeight, ground(one)].join();
        texts.set(all ? one : texts.has(look) ? `${look} again` : look, one);
      }
      for (const one of texts.values()) one.setAttribute("data-asked", "");
      const selector = "[data-asked], input, select, textarea";
      axe.configure({rules: [{id: "color-contrast", selector}]});
      const looks = ["color-contrast", "link-in-text-block"];
      const rules = Object.fromEntries(looks.map((rule) => [rule, {enabled}]));
      const options = {resultTypes: ["violations"], preload: false, rules};
      const {violations} = await axe.run(part, options);
      const places = (one) => one.nodes.slice(0, 2).map((node) => String(node.target));
      return violations.map((one) => [one.id, ...places(one)]);
    }"""
    return tab.evaluate(asking, [part, looks, EVERYTHING])


# Unfolds all, and waits until the page's scripts have seen it.
UNFOLD = """() => {
  for (const part of document.querySelectorAll("details")) part.open = true;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  return frame().then(frame);
}"""
# What a reader cannot reach: right of the window, and not in a part that scrolls. The
# page's own width does not tell, since Furo cuts off what is wider.
OUTSIDE = """() => {
  const edge = document.documentElement.clientWidth + 1;
  const inside = (part) => part.matches("article *") && (
    /auto|scroll/.test(getComputedStyle(part).overflowX) ||
    getComputedStyle(part).clipPath === "inset(50%)" || inside(part.parentElement));
  return [...document.querySelectorAll("article *")]
    .filter((part) => part.getBoundingClientRect().right > edge && !inside(part))
    .map((part) => part.outerHTML.slice(0, 100));
}"""
