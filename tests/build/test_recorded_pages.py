"""What a reader gets of a small site, as it was when somebody looked at it; its edits.

The site is in ``small_site/``, what a reader does in a browser in ``scenes.txt``, which
scenes.py plays; what is recorded is in the folder beside this file (recorded.py).
"""

import copy
import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import opened, served
from pytest_regressions.file_regression import FileRegressionFixture
from reading import pages_in, soup
from recorded import as_lines, check
from scenes import play, scenes_in
from sites import TinySite, new_tiny_site, rewrite
from tensor_maps.steps.viewer import steps_page

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
AROUND = ("index", LESSON, "search", "questions/small", "remember")
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
EDITS = tomllib.loads(SMALL.with_name("edits.toml").read_text("utf-8"))
SCENES = scenes_in(SMALL.with_name("scenes.txt"))
STEPS = "_static/steps/1_first/every_marker.js"


@pytest.fixture(scope="module")
def built(
    site: Path, simulated_device: None, tmp_path_factory: pytest.TempPathFactory
) -> TinySite:
    """Build the small site, with what the probes of the whole site have seen."""
    made = new_tiny_site(tmp_path_factory.mktemp("small") / "site")
    shutil.copytree(SMALL, made.folder, dirs_exist_ok=True)
    for one in ("kept", "simulated"):
        shutil.copytree(site.parent / one, made.folder / "build" / one)
    well_built(made)
    return made


@pytest.fixture(scope="module")
def small(built: TinySite) -> Path:
    """Return a copy of the pages, which stays as they were built at first."""
    html = shutil.copytree(built.html, built.folder / "first")
    (html / "saved.html").write_text(steps_page(played(html)), "utf-8")
    return html


@pytest.fixture(scope="module")
def sites(small: Path, address: str) -> Iterator[dict[str, str]]:
    """Serve the small site; return its address and that of the whole one."""
    with served(small) as here:
        yield {"open": here, "whole": address}


def well_built(site: TinySite, *command: str) -> None:
    """Build the site, which must go well."""
    status, output = site.build(*command)
    assert status == 0, output


def played(html: Path) -> dict[str, Any]:
    """Return what the player of the lesson plays."""
    return json.loads(re.search(r"\((.*)\)", (html / STEPS).read_text("utf-8"))[1])


@pytest.mark.parametrize("page", PAGES)
def test_a_page(page: str, small: Path, file_regression: FileRegressionFixture) -> None:
    check(as_lines(soup(small / f"{page}.html").article), file_regression)


@pytest.mark.parametrize("name", AROUND)
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
    data = played(small)
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


@pytest.mark.parametrize("name", SCENES)
def test_what_a_reader_sees(
    name: str,
    sites: dict[str, str],
    browser: Any,
    file_regression: FileRegressionFixture,
) -> None:
    with opened(browser) as go:
        check("\n".join(play(SCENES[name], sites, go)), file_regression)


def test_a_build_after_edits_gives_what_a_clean_one_does(
    small: Path, built: TinySite
) -> None:
    """First all menus change, then all else: no page is written because of others."""
    build, index = built.folder / "build", built.folder / "examples/1_first/index.rst"
    # Of an edit of the list all menus say what it says.
    rewrite(built.folder / "docs/asked.toml", "of a reader", "of another one")
    rewrite(index, "Every marker <", "Now it waits <")
    well_built(built)
    links = [soup(page).select(".sidebar-tree a") for page in pages_in(built.html)]
    (menu,) = {"\n".join(link.text for link in one) for one in links}
    assert "Now it waits\n\N{EM SPACE}What waits" in menu
    for name, texts in EDITS.items():
        for old, new in texts.items():
            rewrite(built.folder / name, old, new)
    well_built(built)
    edited = built.published()
    # Clean, by Sphinx alone. The first build of a folder finds no file of MyST-NB's.
    for made in ("docs/auto_examples", "build/jupyter-cache"):
        shutil.rmtree(built.folder / made)
    for one in build.glob("kept/simulated-*"):
        one.unlink()
    (style,) = build.glob("staging/_static/mystnb.*.css")
    (build / "other" / "_static").mkdir(parents=True)
    shutil.copy(style, build / "other" / "_static")
    where = ("-c", "conf", "-d", "build/doctrees.other", "docs", "build/other")
    well_built(built, "-m", "sphinx", "-W", *where)
    clean = built.published("other")
    assert [one for one in clean | edited if clean.get(one) != edited.get(one)] == []
