"""Reading the built site and the lessons' scripts as a reader's tools would."""

from __future__ import annotations

import copy
import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

ROOT = next(
    folder for folder in Path(__file__).resolve().parents if (folder / "conf").is_dir()
)
# Seconds after which a process is taken to hang, also on a machine that does much else.
# No test asks how long anything takes. What waits without a limit is ended with its
# test (pyproject.toml, after more than these).
PATIENCE = 900
# Some tests take a sample of what would take long; each says which, and why it is
# enough. With TEST_EVERYTHING=1 they take all.
EVERYTHING = os.environ.get("TEST_EVERYTHING", "") not in ("", "0")
EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*/[!.]*.py"))
NAMES = [path.stem for path in SCRIPTS]
EACH = pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)

# How the parts of a page are marked.
CODE = "highlight-Python"  # a lesson's; what it has printed is in other blocks
LEAD, PLAYER = "div.lead", "figure.player"
TABLE, MAP = "table.printed", "figure.tensor-map"
SETUP, FOLDED = "details.admonition.setup", "details.admonition.folded"
ANSWER = "details.admonition.predict"
CHOICES = "fieldset.predict-choices"  # each a label > input[data-said, data-right]
# What a block uses that measures, or says what was measured.
TIMED = r"times\[|page_faults|timeit|repeat=|ratios|perf_counter|blocked_autorange"


@dataclass(frozen=True)
class Part:
    """One code block of a lesson as its page shows it."""

    code: str
    output: str

    @property
    def is_timed(self) -> bool:
        """Whether the block prints what was timed, which no two runs share."""
        return re.search(TIMED, self.code) is not None


@functools.lru_cache(maxsize=128)
def parsed(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


def soup(page: Path) -> BeautifulSoup:
    """Return a page, parsed: once for all tests, so change a copy of it only."""
    return parsed(page.read_text(encoding="utf-8"))


def pages_in(folder: Path) -> list[Path]:
    """Return the pages of a built site, without those that only lead to another."""
    found = sorted(folder.rglob("*.html"))
    return [
        one for one in found if 'http-equiv="refresh"' not in one.read_text("utf-8")
    ]


def page_of(site: Path, script: Path) -> Path:
    """Return the page of a lesson's script."""
    name = script.relative_to(EXAMPLES).with_suffix(".html")
    return site / "auto_examples" / name


def script_of(stem: str) -> Path:
    """Return the script of a lesson."""
    return SCRIPTS[NAMES.index(stem)]


def as_shown(tag: Tag) -> str:
    """Return what a reader reads, but for the sign of a heading's link."""
    words = " ".join(tag.get_text().split()).removesuffix("\N{PILCROW SIGN}")
    return words.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def parts_of(page: Path) -> list[Part]:
    """Return the code blocks of a lesson's page, each with the output below it."""
    parts: list[Part] = []
    for block in soup(page).select(f"article .highlight > pre, article {TABLE}"):
        if block.find_parent(class_="other-machine"):
            continue
        text, above = block.get_text(), block.parent.parent
        if block.name == "table":  # what the script prints as its rows
            parts[-1] = Part(parts[-1].code, parts[-1].output + rows_of(block))
        elif CODE not in above["class"]:
            output = text.strip("\n") + "\n"
            parts[-1] = Part(parts[-1].code, parts[-1].output + output)
        elif above.find_parent(class_="checked"):  # the end of that block
            parts[-1] = Part(parts[-1].code + text, parts[-1].output)
        else:
            parts.append(Part(text, ""))
    return parts


def rows_of(table: Tag) -> str:
    """Return a table of a lesson as the lesson prints it."""
    rows = []
    for row in copy.copy(table).select("tr"):
        for label in row.select(".column-name"):
            label.extract()
        cells = [cell.get_text().strip() for cell in row.select("th, td")]
        rows.append(" | ".join(cells))
    return "\n".join(rows) + "\n"


def downloads_of(page: Path) -> dict[str, Path]:
    """Return the files that a lesson's page offers, by their ending."""
    links = soup(page).select("article a[download]")
    found = [(page.parent / link["href"]).resolve() for link in links]
    return {path.suffix: path for path in found}


def code_lines(script: Path) -> list[tuple[int, str]]:
    """Return the numbered lines of a script that a page shows as code."""
    lines = []
    for kind, content, first in split_code_and_text_blocks(str(script))[1]:
        if kind == "code":
            lines += list(enumerate(content.splitlines(), first))
    return lines


def subjects(text: str) -> list[str]:
    """Return what each line of measured output is about: its first word."""
    text = re.sub("-{3,}", "---", text)  # a rule is as long as the longest number
    lines = [line for line in text.splitlines() if line.strip()]
    return [re.sub(r"\d+(\.\d+)?", "#", line.split()[0]) for line in lines]


def axe_of(tab: Any) -> list[list[str]]:
    """Return what axe finds on a page as it is: rules, each with two places."""
    from axe_playwright_python.base import AXE_FILE_PATH

    tab.evaluate(AXE_FILE_PATH.read_text(encoding="utf-8"))
    return tab.evaluate("""async () => {
      const options = {resultTypes: ["violations"], preload: false};
      const {violations} = await axe.run(document, options);
      const places = (one) => one.nodes.slice(0, 2).map((node) => String(node.target));
      return violations.map((one) => [one.id, ...places(one)]);
    }""")


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
