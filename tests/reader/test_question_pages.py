"""The questions in a browser: their lists, on a phone too."""

from typing import Any

import pytest

HEADINGS = "[...document.querySelectorAll('article h2')].map((one) => one.innerText)"
OPEN = "document.querySelectorAll('article section section:not(.folded)').length"


def test_the_index_is_in_the_order_of_the_menu_and_says_each_answer(tab: Any) -> None:
    tab.goto("questions/index.html")
    menu = tab.locator(".sidebar-tree .current-page > ul > li").all_inner_texts()
    assert [one.rstrip("¶") for one in tab.evaluate(HEADINGS)] == menu
    rows = tab.locator(".question-list > li")
    assert rows.count() >= 150
    assert all(len(row.split("\n")[-1]) > 8 for row in rows.all_inner_texts())


@pytest.mark.parametrize("page", ["index", "memory"])
def test_on_a_phone_titles_are_folds(page: str, visit: Any) -> None:
    tab = visit(f"questions/{page}.html", viewport={"width": 390, "height": 844})
    assert tab.evaluate(OPEN) == 0
    assert tab.evaluate("document.body.scrollHeight") < 4000
    tab.locator("article h2").nth(1).click()
    assert tab.evaluate(OPEN) == 1
