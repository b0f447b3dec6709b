"""What helps a reader to learn: predictions, self-check, order, cheat sheet."""

from __future__ import annotations

import ast
import copy
import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from bs4 import Tag
from conftest import PATIENCE, TinySite, lesson
from reading import NAMES, SCRIPTS, code_lines, downloads_of, page_of, soup
from recording import pretend_other_machine, record
from tensor_copies.recordings.format import keys

EACH = pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
ASKING = [
    script
    for script in SCRIPTS
    if script.parent.name in ("1_basics", "2_numpy_and_devices", "4_patterns")
]
MARKER = re.compile(r'^# sphinx_gallery_predict = "(.+)"$', re.MULTILINE)
CODE = "div.highlight-Python pre"
FEWEST_QUESTIONS = 15
# Runs programs given as JSON, each in a namespace of its own; returns what they print.
RUNNER = """
import contextlib, io, json, sys
printed = []
for program in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        exec(program, {"__name__": "__main__"})
    printed.append(text.getvalue())
json.dump(printed, sys.stdout)
"""


def run(programs: list[str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUNNER],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def as_shown(tag: Tag) -> str:
    return " ".join(tag.get_text().split())


# Predict, then reveal


@pytest.mark.parametrize("script", ASKING, ids=lambda script: script.stem)
def test_each_lesson_asks_before_a_surprise(script: Path, site: Path) -> None:
    page = soup(page_of(site, script))
    asked = [words.replace("``", "") for words in MARKER.findall(script.read_text())]
    boxes = page.select("article details.predict")
    assert 1 <= len(boxes) <= 2
    assert [as_shown(box.summary) for box in boxes] == asked
    for box in boxes:
        assert not box.has_attr("open")
        assert box.find(True, recursive=False).name == "summary"
        assert box.select(".predict-answer pre")


@pytest.mark.parametrize("script", ASKING, ids=lambda script: script.stem)
def test_nothing_in_sight_gives_the_answer_away(script: Path, site: Path) -> None:
    for box in soup(page_of(site, script)).select("article details.predict"):
        block = box.find_previous_sibling()
        if block.name == "fieldset":  # test_predictions.py looks at the choices
            block = block.find_previous_sibling()
        assert "highlight-Python" in block["class"], "something stands in between"
        assert not isinstance(ast.parse(block.get_text()).body[-1], ast.Assert)
        proof = box.select_one(f".predict-answer > {CODE.partition(' ')[0]}")
        assert all(
            isinstance(statement, ast.Assert)
            for statement in ast.parse(proof.get_text()).body
        )


def test_the_question_is_hidden_from_script_output_and_notebook(site: Path) -> None:
    for script in ASKING:
        page = page_of(site, script)
        assert "sphinx_gallery_predict" not in page.read_text("utf-8")
        assert "sphinx_gallery_predict" not in downloads_of(page)[".ipynb"].read_text(
            "utf-8"
        )


def test_a_question_stales_no_recording(tmp_path: Path) -> None:
    for script in ASKING:
        without = tmp_path / script.name
        lines = script.read_text().splitlines(keepends=True)
        kept = (line for line in lines if "# sphinx_gallery_predict" not in line)
        without.write_text("".join(kept))
        assert MARKER.search(without.read_text()) is None
        assert list(keys(script).values()) == list(keys(without).values())


FIRST = "import torch\nx = torch.ones(1)\nprint('made', x)\n"
SECOND = """print('device', x.device)
assert x.item() == 1
# sphinx_gallery_predict = "Where is ``x`` <now>?"

# %%
# This is why.

# %%
# This leads on.

print('end')
"""


def test_the_box_holds_every_machines_output_the_proof_and_the_reason(
    tiny_site: TinySite,
) -> None:
    tiny_site.write_lessons({"a.py": lesson("A", FIRST, SECOND)})
    done = record(tiny_site)
    assert done.status == 0, done.output
    pretend_other_machine(tiny_site, lambda line: line.replace("cpu", "cuda"))
    built = tiny_site.build()
    assert built.status == 0, built.output
    assert "Stale" not in built.output
    page = soup(tiny_site.page("a"))
    (box,) = page.select("details.predict")
    assert as_shown(box.summary) == "Where is x <now>?"
    assert box.select_one("summary code").get_text() == "x"
    answer = box.select_one(".predict-answer")
    outputs = [
        as_shown(pre) for pre in answer.select(".machines-outputs > .variant pre")
    ]
    assert outputs == ["device cpu", "device cuda"]
    texts = [as_shown(part) for part in answer.find_all(True, recursive=False)]
    assert texts[1:] == ["assert x.item() == 1", "This is why."]
    assert len(answer.select(".machine-tabs input")) == 2
    assert "This leads on." not in box.get_text()
    assert "made" not in box.get_text() and "end" not in box.get_text()


def test_a_prediction_without_a_question_fails_in_one_line(
    tiny_site: TinySite,
) -> None:
    second = "print('end')\n# sphinx_gallery_predict = 7\n"
    tiny_site.write_lessons({"a.py": lesson("A", "print('first')\n", second)})
    built = tiny_site.build()
    assert built.status != 0
    assert "a.py: the block on line 12 has a prediction without" in built.output
    assert "Traceback" not in built.output
    assert not tiny_site.html.exists()


# Self-check


def questions(site: Path) -> list[tuple[str, str, str, Tag]]:
    """Return each question: its program, its printed answer, its proof, its box."""
    found = []
    for section in soup(site / "self_check.html").select("article section section"):
        (box,) = section.select("details.predict")
        program = section.select_one(".tag_predict .cell_input pre").get_text()
        answer = box.select_one(".cell_output pre").get_text()
        proof = box.select_one(".cell_input pre").get_text()
        found.append((program, answer, proof, box))
    return found


def test_self_check_answers_are_what_the_programs_print(site: Path) -> None:
    page = soup(site / "self_check.html")
    imports = page.select_one(".cell_input pre").get_text()
    found = questions(site)
    assert len(found) >= FEWEST_QUESTIONS
    printed = run([f"{imports}\n{program}\n{proof}" for program, _, proof, _ in found])
    assert printed == [answer for _, answer, _, _ in found]


def test_self_check_asks_honestly_and_leads_to_lessons(site: Path) -> None:
    lessons = {str(page_of(site, script)) for script in SCRIPTS}
    led_to = set()
    for program, _, proof, box in questions(site):
        assert "assert" not in program
        names = {node.id for node in ast.walk(ast.parse(program))
                 if isinstance(node, ast.Name)}  # fmt: skip
        for statement in ast.parse(proof).body:
            assert isinstance(statement, ast.Assert)
            used = {node.id for node in ast.walk(statement)
                    if isinstance(node, ast.Name)}  # fmt: skip
            assert used & (names - {"torch", "copy"}), "a proof of something else"
        assert not box.has_attr("open")
        (link,) = box.select("a[href*=auto_examples]")
        led_to.add(str((site / link["href"]).resolve()))
    assert led_to <= lessons and len(led_to) >= 8


# Reading order


def next_of(page: Path, button: str) -> Path:
    link = soup(page).select_one(f".related-pages a.{button}-page")
    return (page.parent / link["href"]).resolve()


def test_next_and_previous_lead_through_the_lessons(site: Path) -> None:
    pages = [page_of(site, script) for script in SCRIPTS]
    for page, following in pairwise(pages):
        assert next_of(page, "next") == following
        assert next_of(following, "prev") == page
        head = soup(page).select_one('head link[rel="next"]')
        assert (page.parent / head["href"]).resolve() == following
    assert next_of(pages[0], "prev").name == "index.html"
    assert next_of(pages[-1], "next") == site / "self_check.html"
    assert next_of(site / "self_check.html", "next") == site / "cheat_sheet.html"


@EACH
def test_a_lesson_leads_on_once(script: Path, site: Path) -> None:
    page = soup(page_of(site, script))
    assert not [p for p in page.select("#remember > p") if "Next:" in p.get_text()]
    assert len(page.select(".next-page .title")) == 1


# Cheat sheet


def remembered(site: Path) -> list[tuple[str, list[str], str]]:
    """Return title, points and page of each lesson, read from the lessons' pages."""
    found = []
    for script in SCRIPTS:
        page = soup(page_of(site, script))
        title = as_shown(page.h1).removesuffix("¶")
        points = [as_shown(item) for item in page.select("section#remember li")]
        found.append((title, points, str(page_of(site, script))))
    return found


def test_the_cheat_sheet_gathers_every_lesson_in_order(site: Path) -> None:
    page = copy.copy(soup(site / "cheat_sheet.html").select_one(".remember"))
    for link in page.select(".headerlink"):
        link.decompose()
    found = [
        (
            as_shown(section.h3),
            [as_shown(item) for item in section.select("li")],
            str((site / section.h3.a["href"]).resolve()),
        )
        for section in page.find_all("section", recursive=False)
    ]
    assert found == remembered(site)


def test_an_edited_lesson_comes_to_the_cheat_sheet(tiny_site: TinySite) -> None:
    ending = "print('end')\n\n# %%\n# Remember\n# --------\n# - {}\n"
    tiny_site.write_lessons(
        {"a.py": lesson("A", "print(1)\n", ending.format("One thing."))}
    )
    docs = tiny_site.folder / "docs"
    (docs / "sheet.md").write_text("# Sheet\n\n```{remember}\n```\n")
    index = (docs / "index.md").read_text().replace("/index\n", "/index\nsheet\n")
    (docs / "index.md").write_text(index)
    assert tiny_site.build().status == 0
    assert "One thing." in (tiny_site.html / "sheet.html").read_text("utf-8")
    script = tiny_site.folder / "examples" / "1_first" / "a.py"
    script.write_text(script.read_text().replace("One thing.", "Another thing."))
    assert tiny_site.build().status == 0
    assert "Another thing." in (tiny_site.html / "sheet.html").read_text("utf-8")


# Patterns


def test_the_table_of_patterns_says_what_the_lessons_write(site: Path) -> None:
    index = site / "auto_examples" / "index.html"
    patterns = [script for script in SCRIPTS if script.parent.name == "4_patterns"]
    by_page = {page_of(site, script): script for script in patterns}
    told = set()
    for row in soup(index).select("table.patterns tbody tr"):
        problem, code = row.select("td")
        (link,) = problem.select("a")
        script = by_page[(index.parent / link["href"]).resolve()]
        written = "\n".join(line for _, line in code_lines(script))
        for line in code.select("code"):
            assert line.get_text() in written, script.name
        assert code.select("code")
        told.add(script)
    assert told == set(patterns)


# Copying


@EACH
def test_the_code_of_a_page_in_order_is_the_script(script: Path, site: Path) -> None:
    shown = "\n".join(
        block.get_text() for block in soup(page_of(site, script)).select(CODE)
    )
    whole = ast.parse(script.read_text())
    whole.body = whole.body[1:]  # the docstring is the page's title and first text
    assert ast.dump(ast.parse(shown)) == ast.dump(whole)


def test_the_code_up_to_any_block_runs_alone(site: Path) -> None:
    programs = []
    for script in SCRIPTS:
        if script.parent.name == "1_basics":
            blocks = [b.get_text() for b in soup(page_of(site, script)).select(CODE)]
            programs += ["\n".join(blocks[: n + 1]) for n in range(len(blocks))]
    assert len(programs) > 30
    run(programs)


def test_what_asks_or_folds_has_its_style(pages: dict) -> None:
    asking = [page for page in pages.values() if page.select("details.predict")]
    assert len(asking) > 1
    for page in asking + [one for one in pages.values() if one.select("details.setup")]:
        assert page.select("link[href*='lessons.css']")
