"""What a reader gets of a small site, as it was when somebody looked at it.

The site is in ``small_site/``, what is recorded of it in the folder beside this file.
What changed on purpose is recorded by ``nox -s tests -- -k recorded --force-regen``:
look at each difference, and at the page in a browser, before you commit it.
"""

import copy
import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from pytest_regressions.file_regression import FileRegressionFixture
from reading import soup
from recorded import as_lines, check
from sites import TinySite, new_tiny_site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(torch.cuda.is_available(), reason="recorded without a GPU"),
]
SMALL = Path(__file__).with_name("small_site")
LESSON, OTHER = "auto_examples/1_first/every_marker", "auto_examples/1_first/what_waits"
PAGES = (
    *("index", "errors/small", "silent_mistakes", "questions/small", "remember"),
    *("auto_examples/index", "auto_examples/1_first/index", LESSON, OTHER),
    *("questions/index", "glossary", "machines", "genindex"),
)
DATA = ("_static/search_index.js", "_static/messages.js")
TAKEN = (
    *("every_marker.md", "every_marker.py", "every_marker.ipynb", "what_waits.ipynb"),
    *("questions/small.md", "errors/small.md", "glossary.md", "llms.txt"),
)
# What other tests record, and what is Furo's alone.
ELSEWHERE = (
    "article > section:not(#all-pages), script:not([src]), body > svg, label svg, "
    ".theme-toggle-container, .back-to-top, .related-pages svg, .bottom-of-page"
)
STEPS = "_static/steps/1_first/every_marker.js"


@pytest.fixture(scope="module")
def small(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the small site, with what the probes of the whole site have seen."""
    made: TinySite = new_tiny_site(tmp_path_factory.mktemp("small") / "site")
    shutil.copytree(SMALL, made.folder, dirs_exist_ok=True)
    shutil.copytree(site.parent / "kept", made.folder / "build" / "kept")
    status, output = made.build()
    assert status == 0, output
    return made.html


@pytest.mark.parametrize("page", PAGES)
def test_a_page(page: str, small: Path, file_regression: FileRegressionFixture) -> None:
    check(as_lines(soup(small / f"{page}.html").article), file_regression)


@pytest.mark.parametrize("name", ["index", LESSON, "search", "questions/small"])
def test_what_stands_around_a_page(
    name: str, small: Path, file_regression: FileRegressionFixture
) -> None:
    page = copy.copy(soup(small / f"{name}.html"))
    for one in page.select(ELSEWHERE):
        one.decompose()
    for style in page.select("head style"):
        style.name = "pre"  # its text is shown
    check(as_lines(page), file_regression)


@pytest.mark.parametrize("name", DATA)
def test_what_is_looked_up(
    name: str, small: Path, file_regression: FileRegressionFixture
) -> None:
    data = json.loads((small / name).read_text().partition("=")[2].rstrip(";\n"))
    if "pages" in data:  # what is found of the Atlas, its rows say (recorded_calls)
        data = [one for one in data["pages"] if one[0] != "atlas.html"]
    check(json.dumps(data, indent=1), file_regression)


def test_what_the_player_plays(
    small: Path, file_regression: FileRegressionFixture
) -> None:
    data = json.loads(re.search(r"\((.*)\)", (small / STEPS).read_text())[1])
    words = [re.search('aria-label="(.*?)"', one)[1] for one in data["drawings"]]
    check(json.dumps(data | {"drawings": words}, indent=1), file_regression)


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken_away(
    name: str, small: Path, file_regression: FileRegressionFixture
) -> None:
    (path,) = (p for p in small.rglob(name) if "_sources" not in p.parts)
    # Of the calls the cards are recorded (recorded_calls).
    text = re.sub(r"(?m)^  - Call(?!.*#detach\)).*\n", "", path.read_text("utf-8"))
    if path.suffix == ".ipynb":
        book = json.loads(text)
        cells = [[f"--- {c['cell_type']}\n", *c["source"]] for c in book["cells"]]
        meant = [str(book["metadata"][key]) for key in ("accelerator", "colab")]
        text = "\n".join([*map("".join, cells), *meant])
    check(text, file_regression)
