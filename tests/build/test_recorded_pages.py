"""What a reader gets of a small site, as it was when somebody looked at it.

The site is in ``small_site/``, what is recorded of it in the folder beside this file.
What changed on purpose is recorded by ``nox -s tests -- -k recorded --force-regen``:
look at each difference, and at the page in a browser, before you commit it.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
import torch
from bs4 import NavigableString, Tag
from pytest_regressions.file_regression import FileRegressionFixture
from reading import soup
from sites import TinySite, new_tiny_site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(torch.cuda.is_available(), reason="recorded without a GPU"),
]
SMALL = Path(__file__).with_name("small_site")
LESSON = "auto_examples/1_first/every_marker"
PAGES = ("index", "errors/small", "silent_mistakes", "questions/small", "remember")
DATA = ("_static/search_index.js", "_static/messages.js")
STEPS = "_static/steps/1_first/every_marker.js"
# Elements that stand within a line.
INLINE = {"a", "code", "em", "samp", "span", "strong", "use", "wbr"}
# What is another one with each version, day and text of a file.
VARIES = (
    (re.escape(version("torch")), "VERSION"),
    (re.escape(version("torch").partition("+")[0]), "VERSION"),
    (r"on \d+ [A-Z]\w+ \d{4}", "on DAY"),
    (r"_downloads/\w+|\?v=\w+", "HASH"),
)


@pytest.fixture(scope="module")
def small(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the small site, with what the probes of the whole site have seen."""
    made: TinySite = new_tiny_site(tmp_path_factory.mktemp("small") / "site")
    shutil.copytree(SMALL, made.folder, dirs_exist_ok=True)
    shutil.copytree(site.parent / "kept", made.folder / "build" / "kept")
    done = made.build()
    assert done.status == 0, done.output
    return made.html


def record(text: str, file_regression: FileRegressionFixture) -> None:
    """Compare a text with the recorded one."""
    for found, instead in VARIES:
        text = re.sub(found, instead, text)
    file_regression.check(text + "\n", extension=".txt")


def lines_of(tag: Tag, depth: int = 0) -> Iterator[str]:
    """Yield what is in an element: a line for each that has no other blocks in it."""
    edge = "  " * depth
    for child in tag.children:
        if isinstance(child, NavigableString):
            is_text = type(child) is NavigableString and child.strip()  # no comment
            yield from [edge + " ".join(child.split())] if is_text else []
        elif child.name == "pre":
            yield from (f"{edge}| {line}" for line in child.get_text().split("\n"))
        elif (
            child.name == "svg"
            and "aria-label" in child.attrs
            and len(child.contents) > 1
        ):
            words = [text.get_text() for text in child.select("text")]
            yield f"{edge}<svg> {child['aria-label']} {words}"
        elif {one.name for one in child.find_all(True)} <= INLINE:
            yield edge + " ".join(str(child).split())
        else:
            opening = str(child).partition(child.decode_contents())[0]
            yield edge + " ".join(opening.split())
            yield from lines_of(child, depth + 1)


def record_element(element: Tag, file_regression: FileRegressionFixture) -> None:
    for left_out in element.select("style, article script, .headerlink"):
        left_out.decompose()
    for plain in element.select("span.pre, span.doc"):
        plain.unwrap()
    element.smooth()
    record("\n".join(lines_of(element)), file_regression)


@pytest.mark.parametrize("page", [*PAGES, "auto_examples/1_first/index", LESSON])
def test_a_page(page: str, small: Path, file_regression: FileRegressionFixture) -> None:
    record_element(soup(small / f"{page}.html").article, file_regression)


def test_what_a_page_loads(small: Path, file_regression: FileRegressionFixture) -> None:
    page = soup(small / f"{LESSON}.html")
    page.head.extend(page.body.select("script[src]"))
    record_element(page.head, file_regression)


@pytest.mark.parametrize("name", DATA)
def test_what_is_looked_up(
    name: str, small: Path, file_regression: FileRegressionFixture
) -> None:
    data = json.loads((small / name).read_text().partition("=")[2].rstrip(";\n"))
    record(json.dumps(data, indent=1), file_regression)


def test_what_the_player_plays(
    small: Path, file_regression: FileRegressionFixture
) -> None:
    data = json.loads(re.search(r"\((.*)\)", (small / STEPS).read_text())[1])
    words = [re.search('aria-label="(.*?)"', one)[1] for one in data["drawings"]]
    record(json.dumps(data | {"drawings": words}, indent=1), file_regression)


@pytest.mark.parametrize("end", ["md", "py", "ipynb"])
def test_what_is_taken_away(
    end: str, small: Path, file_regression: FileRegressionFixture
) -> None:
    (path,) = (
        p for p in small.rglob(f"every_marker.{end}") if "_sources" not in p.parts
    )
    text = path.read_text(encoding="utf-8")
    if end == "ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join(
            "".join([f"--- {c['cell_type']}\n", *c["source"]]) for c in cells
        )
    record(text, file_regression)
