"""A lesson answers first: its first screen, the code that is read, names, the list."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from reading import NAMES, SCRIPTS, page_of, parsed, soup
from tensor_copies.gallery.lessons import GROUPS
from tensor_copies.lessons.short_titles import LONGEST, short_title

EACH = pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
MOST_PRINTS, LONGEST_RUN = 1 / 10, 3
# Sentences of an answer that deny: "doesn't copy", "shares nothing", "no gradient".
# What it says of a GPU no picture of this machine shows.
DENIED = re.compile(
    r"\b(not|no|nothing|neither|only if|unless|without|[Oo]n (a GPU|CUDA))\b|n't\b"
)


def text(tag: Tag) -> str:
    """Return what a reader reads, but for the sign of a heading's link."""
    words = " ".join(tag.get_text().split()).removesuffix("\N{PILCROW SIGN}")
    return words.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


# The code that a reader sees


def code_in_sight(page: BeautifulSoup) -> Iterator[str]:
    """Yield the code of a lesson that is in no fold; that of a question is in none."""
    for block in page.select("article div.highlight-Python"):
        if not block.find_parent("details", class_=["setup", "folded"]):
            yield block.pre.get_text()


def is_print(node: ast.AST) -> bool:
    match node:
        case ast.Expr(ast.Call(ast.Name("print"))):
            return True
    return False


def prints_of(code: str) -> tuple[int, int, int, int]:
    """Count lines of code, of them those of prints, the longest run, assertions."""
    tree = ast.parse(code)
    lines = [line for line in code.splitlines() if line.strip()]
    printed = [node for node in ast.walk(tree) if is_print(node)]
    bodies = [
        body
        for node in ast.walk(tree)
        for name in ("body", "orelse", "finalbody")
        if isinstance(body := getattr(node, name, None), list)
    ]
    runs = [
        len(list(run))
        for body in bodies
        for printing, run in groupby(body, is_print)
        if printing
    ]
    asserted = sum(isinstance(node, ast.Assert) for node in tree.body)
    high = sum(node.end_lineno - node.lineno + 1 for node in printed)
    return len(lines), high, max(runs, default=0), asserted


def test_the_count_of_prints_counts() -> None:
    code = "x = 1\n\nfor y in x:\n    print(y)\n    print(\n    2)\nassert x\n"
    assert prints_of(code) == (6, 3, 2, 1)


@EACH
def test_code_in_sight_asserts_nothing_and_prints_little(
    script: Path, site: Path
) -> None:
    for code in code_in_sight(soup(page_of(site, script))):
        _, _, run, asserted = prints_of(code)
        assert run <= LONGEST_RUN, code
        # A block of assertions alone is shown.
        assert asserted in (0, len(ast.parse(code).body)), code


def test_of_the_lines_in_sight_few_print(site: Path) -> None:
    lines = prints = 0
    for script in SCRIPTS:
        for code in code_in_sight(soup(page_of(site, script))):
            counted = prints_of(code)
            lines, prints = lines + counted[0], prints + counted[1]
    assert lines > 1000 and prints <= MOST_PRINTS * lines, (prints, lines)


# Answer and picture


def contradicted(answer: str, lead: Tag) -> list[str]:
    """Return what an answer says and its picture, if it is of tensors, does not show.

    What raises has a cross, a gradient that stops a bar, memory that is shared one row
    with two tags, a copy a dashed arrow.
    """
    tags = lead.select(".tm-tag > rect")
    colours = [tag["fill"] for tag in tags]
    shown = {
        r"\braises?\b": ".tm-cross",
        r"\bstops? (a|the|its) gradient|^no gradient flows\b": ".tm-cut",
        r"\bcop(y|ies) (?!of\b|it\b)": ".tm-copy",
    }
    is_shown = {words: bool(lead.select(part)) for words, part in shown.items()}
    is_shown[r"\bshares?\b|\bsame memory\b"] = len(set(colours)) < len(colours)
    return [
        clause
        for clause in re.split(r"[,:;.?!](?:\s|$)(?:and |so )?", answer)
        for words in is_shown
        if tags and re.search(words, clause) and not is_shown[words]
        if not DENIED.search(clause.removeprefix("no gradient"))
    ]


def test_a_picture_that_says_something_else_is_found() -> None:
    shared = """<div><g class=tm-tag><rect fill=a></g><g class=tm-tag><rect fill={}></g>
        <g class={}></g></div>"""
    said = {
        "It raises.": "tm-cross",
        "It doesn't copy, and no gradient flows back.": "tm-cut",
        "Stop here: detach stops the gradient.": "tm-cut",
        "The call copies w once.": "tm-copy",
    }
    for answer, part in said.items():
        for drawn in (*said.values(), "none"):
            lead = parsed(shared.format("b", drawn)).div
            assert bool(contradicted(answer, lead)) == (drawn != part), (answer, drawn)
    for colour in "ab":
        lead = parsed(shared.format(colour, "none")).div
        assert bool(contradicted("It shares w's memory.", lead)) == (colour == "b")
        assert not contradicted("It shares no memory and doesn't copy.", lead)


@EACH
def test_the_first_picture_shows_what_the_answer_says(script: Path, site: Path) -> None:
    page = soup(page_of(site, script))
    (lead,) = page.select(".lesson-lead")
    answer = lead.find_previous_sibling("p")
    above = [one.name for one in lead.find_previous_siblings() if text(one)]
    assert above == ["p", "h1"]
    assert "actions" in lead.find_next_sibling()["class"]
    assert lead.select("svg")
    assert contradicted(text(answer), lead) == []


# Names


def test_navigation_has_short_titles_and_one_name_a_page(site: Path) -> None:
    names = {page_of(site, script): short_title(script) for script in SCRIPTS}
    home = site / "index.html"
    for link in soup(home).select(".sidebar-tree a.internal"):
        page = (site / link["href"].partition("#")[0]).resolve()
        said = text(link)
        if page in names:
            assert said == names[page]
        elif page.parent.name == "errors":  # a family: its title is a sentence
            assert len(said) <= LONGEST
        elif link["href"] != "#":
            heading = text(soup(page).h1)
            assert said == heading, page
    for script in SCRIPTS:
        buttons = soup(page_of(site, script)).select(".related-pages a")
        for button in buttons:
            page = (page_of(site, script).parent / button["href"]).resolve()
            if page in names:
                assert text(button.select_one(".title")) == names[page]


# The list of lessons


def test_the_list_has_each_lesson_once_under_its_question(site: Path) -> None:
    index = site / "auto_examples" / "index.html"
    listed = {}
    for section in soup(index).select("article section section"):
        for row in section.select(".lesson-rows > li"):
            page = (index.parent / row.a["href"]).resolve()
            listed[page] = text(section.h2)
            assert text(row.a) == text(soup(page).h1)
            answer = soup(page).select_one("section > p")
            said = text(row.select("p")[1])
            assert said.endswith((".", "?"))
            assert text(answer).replace("torch.Tensor.", "").startswith(said)
    wanted = {page_of(site, one): GROUPS[one.name].replace("``", "") for one in SCRIPTS}
    assert listed == wanted and list(listed) == list(wanted)
    first = soup(index).select("ol a")
    assert len(first) == 5


def test_the_list_filters_and_ticks_what_was_read(browser: Any, site: Path) -> None:
    index, detach = site / "auto_examples" / "index.html", page_of(site, SCRIPTS[1])
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(index.as_uri())
    rows, ticks = page.locator(".lesson-rows > li"), page.locator(".lesson-read")
    assert page.evaluate("document.documentElement.scrollHeight") < 6500
    assert rows.count() == len(SCRIPTS) and ticks.count() == 0
    page.get_by_label("Filter").fill("numpy share")
    shown = [one for one in rows.all() if one.is_visible()]
    assert 0 < len(shown) < 15
    assert all("numpy" in one.inner_text().lower() for one in shown)
    headings = page.locator("section section:has(.lesson-rows) > h2")
    # A heading stays if a row below it does.
    left = {one.evaluate("row => row.closest('section').id") for one in shown}
    assert left == {
        one.evaluate("heading => heading.parentElement.id")
        for one in headings.all()
        if one.is_visible()
    }
    page.get_by_label("Filter").fill("zebra")
    page.get_by_text("None of the lessons contains these words").wait_for()
    # A lesson counts as read when its end was in sight, not before.
    page.goto(detach.as_uri())
    page.goto(index.as_uri())
    assert ticks.count() == 0
    page.goto(detach.as_uri())
    page.locator("#remember").scroll_into_view_if_needed()
    page.wait_for_function("localStorage.getItem('tensor-copies-read')")
    page.goto(index.as_uri())
    assert ticks.count() == 1
    assert rows.nth(1).locator(".lesson-read").is_visible()
    page.get_by_role("button", name="Forget what I have read").click()
    page.reload()
    assert ticks.count() == 0
    context.close()


def test_the_list_is_whole_without_scripts(browser: Any, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "auto_examples" / "index.html").as_uri())
    assert not page.locator(".lesson-filter").is_visible()
    assert page.locator(".lesson-rows > li").last.is_visible()
    context.close()
