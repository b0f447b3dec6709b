"""A lesson's page and downloads are what its script says, prints and draws.

Sampled, unless all is to be tried: two lessons that time for seconds are not run here,
and one notebook is executed.
"""

from __future__ import annotations

import ast
import os
import re
from itertools import chain, pairwise
from pathlib import Path

import nbformat
import pytest
from as_a_reader import run_as_a_reader
from bs4 import Tag
from nbclient import NotebookClient
from reading import (
    CODE,
    EACH,
    EVERYTHING,
    EXAMPLES,
    LEAD,
    MAP,
    PATIENCE,
    PLAYER,
    SCRIPTS,
    as_shown,
    downloads_of,
    page_of,
    parts_of,
    script_of,
    soup,
    subjects,
)
from sphinx_gallery.py_source_parser import split_code_and_text_blocks
from tensor_copies.gallery.isolation import in_fresh_process

ROLE = re.compile(r":[\w:]+:`[^`]*`")
STAMP = re.compile(r"Ran on (CPU|CUDA \(.+\)) with torch [\d.]+ on \d+ [A-Z]\w+ 20\d\d")
# The profiler of a CUDA build else says on a machine without a GPU that there is none.
QUIET = {"KINETO_LOG_LEVEL": "6"}


def words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.replace("_", " ").lower()))


@EACH
def test_a_lesson_begins_with_its_answer_and_picture(script: Path, site: Path) -> None:
    page = soup(page_of(site, script))
    (lead,) = page.select(f"article > section > {LEAD}")
    above = [one.name for one in lead.find_previous_siblings() if as_shown(one)]
    assert above == ["p", "h1"] and lead.select("svg")
    actions = lead.find_next_sibling()
    assert "actions" in actions["class"]
    links = [as_shown(link) for link in actions.select("a")]
    assert links[:2] == ["Script", "Notebook"]
    assert not page.select("article details.admonition[open]")
    (setup,) = page.select("details.setup")
    assert "import torch" in setup.get_text()
    assert STAMP.search(page.select_one("p.stamp").get_text())
    assert len(page.select(".next-page .title")) == 1


@EACH
def test_a_lesson_shows_all_that_its_script_says_and_draws(
    script: Path, site: Path
) -> None:
    path, text = page_of(site, script), script.read_text(encoding="utf-8")
    page, parts = soup(path), parts_of(path)
    whole = ast.parse(text)
    whole.body = whole.body[1:]  # the docstring is the page's title and first text
    shown = ast.parse("\n".join(part.code for part in parts))
    assert ast.dump(shown) == ast.dump(whole)
    assert "This lesson runs on:" in parts[0].output
    assert "Traceback" not in page.get_text()
    pictures = page.select(f"{MAP}, {PLAYER}")  # one of them may open the page
    assert len(pictures) >= text.count("\n# sphinx_gallery_tensor_map = ")


@EACH
def test_a_fold_says_what_is_in_it(script: Path, site: Path) -> None:
    page, text = soup(page_of(site, script)), script.read_text(encoding="utf-8")
    written = re.findall(r'# sphinx_gallery_folded = "(.+)"', text)
    folded = [as_shown(one.summary) for one in page.select("details.folded")]
    assert folded == [one.replace("`", "") for one in written]
    in_sight = 0
    for block in page.select(f"article .{CODE}"):
        checks = [isinstance(one, ast.Assert) for one in ast.parse(block.pre.text).body]
        if proof := block.find_parent("details", class_="checked"):
            said = f"Show the check ({len(checks)} assertion{'s' * (len(checks) > 1)})"
            assert all(checks) and as_shown(proof.summary) == said
        elif not block.find_parent("details"):
            assert all(checks) or not checks[-1]  # a check below a block is folded
            in_sight += sum(map(bool, map(str.strip, block.pre.text.splitlines())))
    assert in_sight <= 70


@EACH
def test_page_and_notebook_have_each_word_of_the_script(
    script: Path, site: Path
) -> None:
    path = page_of(site, script)
    cells = nbformat.read(downloads_of(path)[".ipynb"], 4).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    read, taken = words(soup(path).get_text()), words(" ".join(texts))
    for kind, content, _ in split_code_and_text_blocks(str(script))[1]:
        # A directive is shown in another way: test_learning.py asks for questions.
        prose = re.sub(r"(?m)^\.\. .*(\n+[ \t]+.*)*", "", content)
        for line in ROLE.sub("\0", prose).splitlines() if kind == "text" else []:
            if re.match(r"\s*(:|-+$|=+$)", line) or "`_" in line:
                continue
            # What a name leads to may stand there with its title.
            for piece in map(words, line.split("\0")):
                assert piece in read and piece in taken, line


def sections(site: Path) -> list[list[Path]]:
    """Return the pages of each section's lessons, in order."""
    found = []
    for index in sorted(EXAMPLES.glob("*/index.rst")):
        listed = re.findall(r"(?m)^ +.+ <([\w./]+)>$", index.read_text("utf-8"))
        scripts = [(index.parent / f"{one}.py").resolve() for one in listed]
        found.append([page_of(site, script) for script in scripts])
    return found


def led(page: Path, link: Tag) -> Path:
    return (page.parent / link["href"].partition("#")[0]).resolve()


def test_sidebar_next_and_lists_have_one_order(site: Path) -> None:
    lessons = [*chain.from_iterable(sections(site))]
    assert sorted(lessons) == sorted(page_of(site, script) for script in SCRIPTS)
    for page in (site / "index.html", *lessons[::10]):
        links = soup(page).select(".sidebar-tree a:not([href=''], [href='#'])")
        seen = dict.fromkeys(led(page, link) for link in links)
        seen = [path for path in seen if path in lessons]
        assert seen == [one for one in lessons if one in seen], page
    path = path_of(site)
    for section in sections(site):
        for page, following in pairwise(section):
            if page not in path:
                for selector in (".related-pages .next-page", 'head link[rel="next"]'):
                    assert led(page, soup(page).select_one(selector)) == following
            if following not in path[1:]:
                back = soup(following).select_one(".related-pages .prev-page")
                assert led(following, back) == page
    listed = []
    for index in sorted((site / "auto_examples").glob("*/index.html")):
        for row in soup(index).select(".lesson-rows > li"):
            page = led(index, row.a)
            listed.append(page)
            assert as_shown(row.a) == as_shown(soup(page).h1)
            answer = as_shown(soup(page).select_one("article section > p"))
            said = as_shown(row.select("p")[-1])
            assert answer.startswith(said) and said.endswith((".", "?"))
            above = row.parent.find_previous_sibling()
            is_deeper = above is not None and above.get_text() == "Deeper"
            assert (row.svg is None) == is_deeper, page
            # What is black stays black in the dark: a drawing has the page's colours.
            inks = {tag.get(kind, "none") for tag in row.select("svg *")
                    for kind in ("fill", "stroke")}  # fmt: skip
            inks = {ink for ink in inks if not ink.startswith("var(--")}
            assert inks <= {"none", "currentColor"}, page
    assert listed == lessons


def path_of(site: Path) -> list[Path]:
    """Return the pages of the list of lessons to begin with."""
    index = site / "auto_examples" / "index.html"
    return [led(index, link) for link in soup(index).select("ol a")]


def test_the_first_lessons_are_a_chain_that_ends_in_questions(site: Path) -> None:
    *lessons, quiz = path = path_of(site)
    assert len(lessons) == 5 and quiz == site / "self_check.html"
    start = soup(site / "index.html").select_one("ul.doors a")
    assert led(site / "index.html", start) == path[0]
    for at, (page, following) in enumerate(pairwise(path), 2):
        link = soup(page).select_one(".related-pages .next-page")
        back = soup(following).select_one(".related-pages .prev-page")
        assert (led(page, link), led(following, back)) == (following, page)
        words = f"{at} of 5: " if at <= 5 else ""
        title = as_shown(link.select_one(".title"))
        assert title == words + as_shown(soup(following).h1)
    asked = soup(quiz).select("article section section")[0]
    about = {led(quiz, link) for link in asked.select("details.predict a")}
    assert len(asked.select("fieldset")) == 5 and about <= set(lessons)


def test_one_page_gathers_what_each_lesson_asks_to_remember(site: Path) -> None:
    page = site / "remember.html"
    gathered = [
        (led(page, part.h2.a), [as_shown(one) for one in part.select("li")])
        for part in soup(page).select(".remember > section")
    ]
    points = [
        (lesson, [as_shown(one) for one in soup(lesson).select("#remember li")])
        for lesson in chain.from_iterable(sections(site))
    ]
    assert gathered == points


def test_the_table_of_patterns_says_what_the_lessons_write(site: Path) -> None:
    index = site / "auto_examples" / "4_patterns" / "index.html"
    rows = soup(index).select("table.patterns tbody tr")
    told = {led(index, row.a): row.select("td:last-child code") for row in rows}
    patterns = [one for one in SCRIPTS if one.parent.name == "4_patterns"]
    assert set(told) == {page_of(site, script) for script in patterns}
    for script in patterns:
        for line in told[page_of(site, script)]:
            assert line.get_text() in script.read_text(), script.name


def test_names_in_code_lead_to_their_documentation(site: Path) -> None:
    links = soup(page_of(site, script_of("numpy_bridge"))).select(f".{CODE} a")
    linked = {link.get_text(): link["href"] for link in links}
    torch = "https://docs.pytorch.org/docs/stable/generated/"
    assert linked["torch.tensor"] == f"{torch}torch.tensor.html#torch.tensor"
    assert linked["x.numpy"] == f"{torch}torch.Tensor.numpy.html#torch.Tensor.numpy"


# These take the longest; others time as they do.
LONG = () if EVERYTHING else ("measure_a_copy", "why_a_copy_costs")
RUN = [script for script in SCRIPTS if script.stem not in LONG]
NOTEBOOKS = SCRIPTS[::12] if EVERYTHING else [script_of("detach")]


def compare(site: Path, script: Path, printed: str) -> None:
    """Compare what a run printed with what each block of the page shows."""
    rest = [line.rstrip() for line in printed.splitlines() if line.strip()]
    for part in parts_of(page_of(site, script)):
        shown = [line.rstrip() for line in part.output.splitlines() if line.strip()]
        run, rest = rest[: len(shown)], rest[len(shown) :]
        if part.is_timed:  # the same lines, about the same things
            run, shown = (subjects("\n".join(lines)) for lines in (run, shown))
        assert run == shown
    assert rest == [], "the run printed more than the page shows"


# A question, whose answers only the page has, and how a download asks it.
QUESTION = re.compile(r"(?m)^# \.\. predict:: (.*\n)(?:#(?:    .*)?\n)*")
ASKED = re.compile(r"(?m)^# \*\*.+\*\*\n(?:#\n)*")


@EACH
def test_downloads_are_the_script_without_its_markers(script: Path, site: Path) -> None:
    path, text = page_of(site, script), script.read_text(encoding="utf-8")
    assert "sphinx_gallery_" not in soup(path).get_text()
    downloads = downloads_of(path)
    taken = downloads[".py"].read_text(encoding="utf-8")
    assert downloads[".py"].name == script.name
    kept = "".join(line for line in text.splitlines(keepends=True)
                   if not line.lstrip().startswith("# sphinx_gallery_"))  # fmt: skip
    assert len(ASKED.findall(taken)) == len(QUESTION.findall(text))
    assert ASKED.sub("", taken) == QUESTION.sub("", kept)
    assert downloads[".ipynb"].name == f"{script.stem}.ipynb"
    notebook = nbformat.read(downloads[".ipynb"], as_version=4)
    nbformat.validate(notebook)
    assert not re.search("sphinx_gallery_|predict::", str(notebook))
    said = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    assert not ROLE.search("\n".join(said))
    assert not any(cell.get("outputs") for cell in notebook.cells)
    code = [cell.source for cell in notebook.cells[1:] if cell.cell_type == "code"]
    whole = ast.parse(text)
    whole.body = whole.body[1:]  # the docstring is text in a notebook
    assert ast.dump(ast.parse("\n".join(code))) == ast.dump(whole)


@pytest.mark.parametrize("script", RUN, ids=lambda script: script.stem)
def test_a_script_runs_alone_and_prints_its_page(
    script: Path, site: Path, tmp_path: Path
) -> None:
    copy, empty = tmp_path / script.name, tmp_path / "empty"
    copy.write_bytes(downloads_of(page_of(site, script))[".py"].read_bytes())
    empty.mkdir()
    environment = {"PATH": "", "HOME": str(empty), "MPLBACKEND": "agg"} | QUIET
    printed = in_fresh_process(run_as_a_reader, copy, empty, environment)
    compare(site, script, printed)


@pytest.mark.parametrize("script", NOTEBOOKS)
def test_a_notebook_executes_and_prints_its_page(
    script: Path, site: Path, tmp_path: Path
) -> None:
    notebook = nbformat.read(downloads_of(page_of(site, script))[".ipynb"], 4)
    times = {"timeout": PATIENCE, "startup_timeout": PATIENCE}
    resources = {"metadata": {"path": str(tmp_path)}}
    client = NotebookClient(notebook, resources=resources, **times)
    # All of it runs, the cell that installs too, with what is here already.
    client.execute(env=os.environ | QUIET | {"PIP_NO_INDEX": "1"})
    cells = notebook.cells[1:]  # what pip says is on no page
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    printed = [one["text"] for one in outputs if one.get("name") == "stdout"]
    compare(site, script, "".join(printed))
