"""The questions in a browser: their lists, on a phone too."""

from pathlib import Path
from typing import Any

import pytest
from reading import soup

HEADINGS = "[...document.querySelectorAll('article h2')].map((one) => one.innerText)"
OPEN = "document.querySelectorAll('article section section:not(.folded)').length"


def test_the_index_is_in_the_order_of_the_menu_and_says_each_answer(tab: Any) -> None:
    tab.goto("questions/index.html")
    menu = tab.locator(".sidebar-tree .current-page > ul > li").all_inner_texts()
    assert [one.rstrip("¶") for one in tab.evaluate(HEADINGS)] == menu
    rows = tab.locator(".question-list > li")
    assert rows.count() >= 150
    assert all(len(row.split("\n")[-1]) > 8 for row in rows.all_inner_texts())


def test_a_lesson_lists_the_questions_that_link_to_it(site: Path) -> None:
    pages = {path.name: soup(path) for path in site.glob("questions/*.html")}
    for lesson in site.glob("auto_examples/*/*.html"):
        for link in soup(lesson).select(".questions-beside a"):
            page, _, anchor = link["href"].rpartition("/")[2].partition("#")
            question = pages[page].find(id=anchor)
            assert question.select(f'a[href*="/{lesson.name}"]'), (lesson.stem, anchor)
    (here,) = site.glob("auto_examples/*/copy_between_devices.html")
    assert soup(here).select(".questions-beside a")


@pytest.mark.parametrize("page", ["index", "memory"])
def test_on_a_phone_titles_are_folds(page: str, visit: Any) -> None:
    tab = visit(f"questions/{page}.html", viewport={"width": 390, "height": 844})
    assert tab.evaluate(OPEN) == 0
    assert tab.evaluate("document.body.scrollHeight") < 4000
    tab.locator("article h2").nth(1).click()
    assert tab.evaluate(OPEN) == 1


def test_brackets_in_a_heading_end_no_link_for_machines(site: Path) -> None:
    listed = (site / "llms.txt").read_text("utf-8")
    assert r": [Does \[layer\] * 3 share weights?" in listed
