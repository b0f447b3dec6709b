"""What a reader learns with: questions, self-check, cheat sheet, copied code, paper."""

from __future__ import annotations

import ast
import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bs4 import Tag
from conftest import PATIENCE
from reading import NAMES, SCRIPTS, page_of, soup
from tensor_copies.gallery.lessons import blocks_of, without_markers

EACH = pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
ASKING = [
    script
    for script in SCRIPTS
    if script.parent.name in ("1_basics", "2_numpy_and_devices", "4_patterns")
]
MARKER = re.compile(r'^# sphinx_gallery_predict = "(.+)"$', re.MULTILINE)
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
        assert box.select_one(".predict-answer > details.checked:not([open])")


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


def test_one_page_gathers_every_lesson_in_order(site: Path) -> None:
    page = copy.copy(soup(site / "remember.html").select_one(".remember"))
    for link in page.select(".headerlink"):
        link.decompose()
    found = [
        (
            as_shown(section.h2),
            [as_shown(item) for item in section.select("li")],
            str((site / section.h2.a["href"]).resolve()),
        )
        for section in page.find_all("section", recursive=False)
    ]
    assert found == remembered(site)


# In a browser


DETACH = next(script for script in SCRIPTS if script.stem == "detach")
PREDICT = "details.predict"


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    """Return one page for all tests: each begins by going somewhere."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    yield context.new_page()
    context.close()


def clipboard(page: Any) -> str:
    return page.evaluate("navigator.clipboard.readText()")


def test_copies_the_lesson_up_to_a_block_as_a_script_that_runs(
    page: Any, site: Path, tmp_path: Path
) -> None:
    page.goto(page_of(site, DETACH).as_uri())
    cells = "div.highlight-Python:not(.checked *)"
    assert page.locator(cells).nth(0).locator("button").all_text_contents() == ["Copy"]
    block = page.locator(cells).nth(3)
    block.hover()
    block.get_by_role("button", name="Copy up to here").click()
    page.get_by_role("status").get_by_text("Copied the lesson up to here.").wait_for()
    copied = clipboard(page)
    # What is folded below an output is there too, in its place.
    written = [one.content for one in blocks_of(DETACH) if one.type == "code"]
    assert copied.split() == without_markers("\n".join(written[:4])).split()
    block.get_by_role("button", name="Copy", exact=True).click()
    page.get_by_role("status").get_by_text("Copied this block.").wait_for()
    assert clipboard(page).split() == without_markers(written[3]).split()
    script = tmp_path / "copied.py"
    script.write_text(copied)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("This lesson runs on:")


def test_copies_one_block_by_keyboard(page: Any, site: Path) -> None:
    page.goto((site / "self_check.html").as_uri())
    button = page.locator(".cell_input button").first
    button.focus()
    page.wait_for_function("getComputedStyle(document.activeElement).opacity === '1'")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("Copied this block.").wait_for()
    assert clipboard(page) == "import copy\n\nimport torch\n"
    assert page.get_by_role("button", name="Copy up to here").count() == 0


def test_copies_where_the_clipboard_is_closed(browser: Any, site: Path) -> None:
    page = browser.new_page()
    page.add_init_script(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
        "document.addEventListener('copy', () => {"
        " window.copied = document.activeElement.value; });"
    )
    page.goto(page_of(site, DETACH).as_uri())
    page.locator("details.setup summary").press("Enter")  # it is folded
    page.locator("div.highlight-Python button").first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("Copied this block.").wait_for()
    assert page.evaluate("window.copied").startswith("import torch\n")
    answer = page.locator(f"{PREDICT} .predict-answer").first
    assert not answer.is_visible()
    page.locator(f"{PREDICT} summary").first.press("Enter")
    answer.wait_for(state="visible")
    page.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_printed_page_shows_the_answers(
    browser: Any, site: Path, scripts: bool
) -> None:
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    page.goto(page_of(site, DETACH).as_uri())
    page.emulate_media(media="print")
    answer = page.locator(f"{PREDICT} .predict-answer").first
    answer.wait_for(state="visible")
    assert answer.locator("pre").first.is_visible()
    assert not page.locator("button.copy").first.is_visible()
    context.close()


def test_what_is_folded_is_not_printed_and_links_have_addresses(
    browser: Any, site: Path
) -> None:
    page = browser.new_page()
    page.goto((site / "errors" / "to_numpy.html").as_uri())
    page.emulate_media(media="print")
    entry = page.locator(".entry:has(.foot a.external)").first
    fold = entry.locator("details").first
    assert entry.locator(".cures li").first.is_visible() and not fold.is_visible()
    fold.evaluate("fold => { fold.open = true }")
    assert fold.is_visible()
    link = entry.locator(".foot a.external").first
    shown = link.evaluate("link => getComputedStyle(link, '::after').content")
    assert link.get_attribute("href") in shown
    page.close()


def test_the_printed_cheat_sheet_is_one_page(browser: Any, site: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto((site / "cheat_sheet.html").as_uri())
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1
    page.emulate_media(media="print")
    assert page.locator("h1").is_visible()
    assert page.locator(".stamp").is_visible()
    for hidden in (".skip-to-content", ".sidebar-drawer"):
        assert not page.locator(hidden).is_visible(), hidden
    page.close()
