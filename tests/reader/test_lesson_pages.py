"""A lesson's page and downloads are what its script says, prints and draws.

Sampled, unless all is to be tried: two lessons that time for seconds are not run here,
and one notebook is executed.
"""

import ast
import os
import re
from itertools import chain, pairwise
from pathlib import Path

import nbformat
import pytest
import reading
from as_a_reader import run_as_a_reader
from bs4 import Tag
from nbclient import NotebookClient
from reading import EACH, EXAMPLES, LESSONS, SITE, Lesson, as_shown, soup
from tensor_copies.gallery.isolation import in_fresh_process

pytestmark = pytest.mark.usefixtures("site")
ROLE = re.compile(r":[\w:]+:`[^`]*`")
STAMP = re.compile(r"Ran on (CPU|CUDA \(.+\)) with torch [\d.]+ on \d+ [A-Z]\w+ 20\d\d")
# The profiler of a CUDA build else says on a machine without a GPU that there is none.
QUIET = {"KINETO_LOG_LEVEL": "6"}


def words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.replace("_", " ").lower()))


def statements(code: str) -> list[str]:
    """Return the statements of a program, without comments and layout."""
    return [ast.unparse(one) for one in ast.parse(code).body]


@EACH
def test_a_lesson_begins_with_its_answer_and_picture(lesson: Lesson) -> None:
    page = lesson.page
    (lead,) = page.select(f"article > section > {reading.LEAD}")
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
def test_a_lesson_shows_all_that_its_script_says_and_draws(lesson: Lesson) -> None:
    parts = lesson.parts
    _, *written = statements(lesson.text)  # the docstring is the page's first text
    assert statements("\n".join(part.code for part in parts)) == written
    assert "This lesson runs on:" in parts[0].output
    assert "Traceback" not in lesson.page.get_text()
    # One of the pictures may open the page.
    pictures = lesson.page.select(f"{reading.MAP}, {reading.PLAYER}")
    assert len(pictures) >= lesson.text.count("\n# sphinx_gallery_tensor_map = ")


@EACH
def test_a_fold_says_what_is_in_it(lesson: Lesson) -> None:
    written = re.findall(r'# sphinx_gallery_folded = "(.+)"', lesson.text)
    folded = [as_shown(one.summary) for one in lesson.page.select("details.folded")]
    assert folded == [one.replace("`", "") for one in written]
    in_sight = 0
    for block in lesson.page.select(f"article .{reading.CODE}"):
        checks = [isinstance(one, ast.Assert) for one in ast.parse(block.pre.text).body]
        if proof := block.find_parent("details", class_="checked"):
            said = f"Show the check ({len(checks)} assertion{'s' * (len(checks) > 1)})"
            assert all(checks) and as_shown(proof.summary) == said
        elif not block.find_parent("details"):
            assert all(checks) or not checks[-1]  # a check below a block is folded
            in_sight += sum(map(bool, map(str.strip, block.pre.text.splitlines())))
    assert in_sight <= 70


@EACH
def test_page_and_notebook_have_each_word_of_the_script(lesson: Lesson) -> None:
    cells = nbformat.read(lesson.downloads[".ipynb"], 4).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    read, taken = words(lesson.page.get_text()), words(" ".join(texts))
    for content in (content for kind, content, _ in lesson.blocks if kind == "text"):
        # A directive is shown in another way: test_learning.py asks for questions.
        prose = re.sub(r"(?m)^\.\. .*(\n+[ \t]+.*)*", "", content)
        for line in ROLE.sub("\0", prose).splitlines():
            if re.match(r"\s*(:|-+$|=+$)", line) or "`_" in line:
                continue
            # What a name leads to may stand there with its title.
            for piece in map(words, line.split("\0")):
                assert piece in read and piece in taken, line


def led(page: Path, link: Tag) -> Path:
    return (page.parent / link["href"].partition("#")[0]).resolve()


def sections() -> list[list[Path]]:
    """Return the pages of each section's lessons, in order."""
    indexes = [one.read_text("utf-8") for one in sorted(EXAMPLES.glob("*/index.rst"))]
    listed = [re.findall(r"(?m)^ +.+ <(?:.*/)?(\w+)>$", index) for index in indexes]
    return [[LESSONS[name].path for name in names] for names in listed]


def path_of_beginners() -> list[Path]:
    """Return the pages of the list of lessons to begin with."""
    index = SITE / "auto_examples" / "index.html"
    return [led(index, link) for link in soup(index).select("ol a")]


def test_sidebar_next_and_lists_have_one_order() -> None:
    lessons, path = [*chain.from_iterable(sections())], path_of_beginners()
    assert sorted(lessons) == sorted(lesson.path for lesson in LESSONS.values())
    for page in (SITE / "index.html", *lessons[::10]):
        links = soup(page).select(".sidebar-tree a:not([href=''], [href='#'])")
        seen = dict.fromkeys(led(page, link) for link in links)
        seen = [one for one in seen if one in lessons]
        assert seen == [one for one in lessons if one in seen], page
    for page, following in chain.from_iterable(map(pairwise, sections())):
        if page not in path:
            for selector in (".related-pages .next-page", 'head link[rel="next"]'):
                assert led(page, soup(page).select_one(selector)) == following
        if following not in path[1:]:
            back = soup(following).select_one(".related-pages .prev-page")
            assert led(following, back) == page
    listed = []
    for index in sorted(SITE.glob("auto_examples/*/index.html")):
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
            for ink in ("fill", "stroke"):
                known = f'[{ink}="none"], [{ink}="currentColor"], [{ink}^="var(--"]'
                assert not row.select(f"svg [{ink}]:not({known})"), page
    assert listed == lessons


def test_the_first_lessons_are_a_chain_that_ends_in_questions() -> None:
    *lessons, quiz = path = path_of_beginners()
    assert len(lessons) == 5 and quiz == SITE / "self_check.html"
    start = soup(SITE / "index.html").select_one("ul.doors a")
    assert led(SITE / "index.html", start) == path[0]
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


def test_one_page_gathers_what_each_lesson_asks_to_remember() -> None:
    page = SITE / "remember.html"
    gathered = {led(page, part.h2.a): [*map(as_shown, part.select("li"))]
                for part in soup(page).select(".remember > section")}  # fmt: skip
    points = {path: [*map(as_shown, soup(path).select("#remember li"))]
              for path in chain.from_iterable(sections())}  # fmt: skip
    assert [*gathered.items()] == [*points.items()]


def test_the_table_of_patterns_says_what_the_lessons_write() -> None:
    index = SITE / "auto_examples" / "4_patterns" / "index.html"
    rows = soup(index).select("table.patterns tbody tr")
    told = {led(index, row.a).stem: row.select("td:last-child code") for row in rows}
    assert set(told) == {one.stem for one in EXAMPLES.glob("4_patterns/*.py")}
    for name, lines in told.items():
        assert all(line.get_text() in LESSONS[name].text for line in lines), name


def test_a_figure_is_a_chart_with_words_in_the_colours_of_the_theme() -> None:
    for name, lesson in LESSONS.items():
        figures = lesson.page.select("figure.chart")
        assert len(figures) == lesson.text.count("plt.show"), name
        for figure in figures:
            title, svg = figure.figcaption.get_text().rstrip("."), figure.svg
            assert svg["aria-label"].startswith(f"{title}. A chart of ")
            assert float(svg["viewbox"].split()[2]) <= 5 * 72, name
            inks = set(re.findall(r"(?:fill|stroke): ([^;\"]+)", str(svg)))
            assert inks and all(re.match(r"none|currentC|var\(--line", i) for i in inks)


def test_names_in_code_lead_to_their_documentation() -> None:
    links = LESSONS["numpy_bridge"].page.select(f".{reading.CODE} a")
    linked = {link.get_text(): link["href"] for link in links}
    torch = "https://docs.pytorch.org/docs/stable/generated/"
    assert linked["torch.tensor"] == f"{torch}torch.tensor.html#torch.tensor"
    assert linked["x.numpy"] == f"{torch}torch.Tensor.numpy.html#torch.Tensor.numpy"


# These take the longest; others time as they do.
LONG = () if reading.EVERYTHING else ("measure_a_copy", "why_a_copy_costs")
RUN = [name for name in LESSONS if name not in LONG]
NOTEBOOKS = [*LESSONS][::12] if reading.EVERYTHING else ["detach"]


# What a block uses that measures, or says what was measured.
TIMED = r"times\[|page_faults|timeit|repeat=|ratios|perf_counter|blocked_autorange"


def subjects(text: str) -> list[str]:
    """Return what each line of measured output is about: its first word."""
    text = re.sub("-{3,}", "---", text)  # a rule is as long as the longest number
    lines = [line for line in text.splitlines() if line.strip()]
    return [re.sub(r"\d+(\.\d+)?", "#", line.split()[0]) for line in lines]


def compare(lesson: Lesson, printed: str) -> None:
    """Compare what a run printed with what each block of the page shows."""
    rest = [line.rstrip() for line in printed.splitlines() if line.strip()]
    for part in lesson.parts:
        shown = [line.rstrip() for line in part.output.splitlines() if line.strip()]
        run, rest = rest[: len(shown)], rest[len(shown) :]
        if re.search(TIMED, part.code):  # the same lines, about the same things
            run, shown = (subjects("\n".join(lines)) for lines in (run, shown))
        assert run == shown
    assert rest == [], "the run printed more than the page shows"


# A question, whose answers only the page has, and how a download asks it.
QUESTION = re.compile(r"(?m)^# \.\. predict:: (.*\n)(?:#(?:    .*)?\n)*")
ASKED = re.compile(r"(?m)^# \*\*.+\*\*\n(?:#\n)*")


@EACH
def test_downloads_are_the_script_without_its_markers(lesson: Lesson) -> None:
    assert "sphinx_gallery_" not in lesson.page.get_text()
    script, book = (lesson.downloads[kind] for kind in (".py", ".ipynb"))
    assert (script.name, book.name) == (f"{lesson.name}.py", f"{lesson.name}.ipynb")
    taken = script.read_text(encoding="utf-8")
    kept = re.sub(r"(?m)^[ \t]*# sphinx_gallery_.*\n", "", lesson.text)
    assert len(ASKED.findall(taken)) == len(QUESTION.findall(lesson.text))
    assert ASKED.sub("", taken) == QUESTION.sub("", kept)
    notebook = nbformat.read(book, as_version=4)
    nbformat.validate(notebook)
    assert not re.search("sphinx_gallery_|predict::", str(notebook))
    said = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    assert not ROLE.search("\n".join(said))
    assert not any(cell.get("outputs") for cell in notebook.cells)
    code = [cell.source for cell in notebook.cells[1:] if cell.cell_type == "code"]
    _, *written = statements(lesson.text)  # the docstring is text in a notebook
    assert statements("\n".join(code)) == written


@pytest.mark.parametrize("name", RUN)
def test_a_script_runs_alone_and_prints_its_page(name: str, tmp_path: Path) -> None:
    copy, empty = tmp_path / f"{name}.py", tmp_path / "empty"
    copy.write_bytes(LESSONS[name].downloads[".py"].read_bytes())
    empty.mkdir()
    environment = {"PATH": "", "HOME": str(empty), "MPLBACKEND": "agg"} | QUIET
    compare(LESSONS[name], in_fresh_process(run_as_a_reader, copy, empty, environment))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_executes_and_prints_its_page(name: str, tmp_path: Path) -> None:
    notebook = nbformat.read(LESSONS[name].downloads[".ipynb"], 4)
    times = dict.fromkeys(("timeout", "startup_timeout"), reading.PATIENCE)
    resources = {"metadata": {"path": str(tmp_path)}}
    client = NotebookClient(notebook, resources=resources, **times)
    # All of it runs, the cell that installs too, with what is here already.
    client.execute(env=os.environ | QUIET | {"PIP_NO_INDEX": "1"})
    cells = notebook.cells[1:]  # what pip says is on no page
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    printed = [one["text"] for one in outputs if one.get("name") == "stdout"]
    compare(LESSONS[name], "".join(printed))
