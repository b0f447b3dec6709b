"""The search, in a real browser, with what readers paste from their terminals."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from reading import pages_in, soup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

ORDINARY = [
    "clone",
    "detach numpy",
    "requires grad",
    "copy a tensor",
    "storage",
    "leaf",
]
# What differs from reader to reader.
OTHERS = {"meta": "cuda:1", "cuda:0": "cuda:3", "cpu": "cuda:2", "2": "768", "3": "17"}
IN_PAGE = "query => Search._performSearch(...Search._parseQuery(query))"


@pytest.fixture(scope="module")
def messages(site: Path) -> dict[str, list[str]]:
    """Return the texts of each entry as the page shows them, live and recorded."""
    found = {}
    cells = ".cell:is(.tag_raises-exception, .tag_warning)"
    for cell in soup(site / "errors.html").select(cells):
        shown = cell.select(".stream pre, .variant pre")
        texts = [pre.get_text().strip() for pre in shown]
        found[cell.find_parent("section")["id"]] = [
            text for text in texts if not text.startswith("(no message")
        ]
    return found


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    page = browser.new_page()
    page.goto(f"{address}search.html?q=tensor")
    page.wait_for_function("document.querySelector('.search-summary')?.innerText")
    yield page
    page.close()


@pytest.fixture(scope="module")
def first(page: Page) -> Callable[[str], str]:
    """Return the address of the first result of a query."""

    def ask(query: str) -> str:
        results = page.evaluate(IN_PAGE, query)
        return f"{results[-1][0]}{results[-1][2]}" if results else ""

    return ask


def middle(text: str) -> str:
    """Return words from the middle of a message, without its type."""
    words = text.split()[1:]
    return " ".join(words[len(words) // 4 : len(words) // 4 + max(6, len(words) // 2)])


def having(words: str, messages: dict[str, list[str]]) -> list[str]:
    """Return the entries that have these words, in this order, in a message."""
    return [
        anchor
        for anchor, texts in messages.items()
        if any(words in " ".join(text.split()) for text in texts)
    ]


def changed(text: str) -> str:
    return re.sub(r"cuda:0|meta|cpu|[23]", lambda found: OTHERS[found[0]], text)


@pytest.mark.parametrize("change", [str, middle, changed])
def test_each_message_finds_its_entry(
    change: Callable[[str], str],
    messages: dict[str, list[str]],
    first: Callable[[str], str],
) -> None:
    assert len(messages) >= 40
    wrong = []
    for anchor, texts in messages.items():
        for text in texts:
            query = change(text)
            # Words that stand in two messages alike may lead to either.
            right = [anchor] if change is not middle else having(query, messages)
            if (found := first(query)) not in [f"errors#{name}" for name in right]:
                wrong.append((query, found))
    assert wrong == []


def test_a_whole_traceback_finds_its_entry(
    messages: dict[str, list[str]], first: Callable[[str], str]
) -> None:
    for anchor, (text, *_) in messages.items():
        query = (
            'Traceback (most recent call last): File "train.py", line 51, in <module> '
            f'main() File "train.py", line 12, in main loss = step(x) {text}'
        )
        assert first(query) == f"errors#{anchor}"


def test_an_ordinary_query_is_left_to_sphinx(
    page: Page, first: Callable[[str], str]
) -> None:
    for query in ORDINARY:
        results = page.evaluate(IN_PAGE, query)
        assert len(results) > 2
        assert not [result for result in results if result[6] == "message"], query
        assert not first(query).startswith("errors"), query


def test_a_reader_pastes_and_follows_with_the_keyboard(
    browser: Browser, address: str
) -> None:
    page = browser.new_page()
    problems: list[object] = []
    page.on("pageerror", lambda error: problems.append(error))
    page.goto(f"{address}index.html")
    page.locator("input[name=q]").first.focus()
    page.keyboard.insert_text(
        "can't convert cuda:1 device type tensor to numpy. Use Tensor.cpu()"
    )
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=*")
    page.wait_for_function("document.querySelector('.search-summary')?.innerText")
    results = page.locator("#search-results li")
    # Announced as Sphinx announces any search: how many there are.
    summary = page.locator(".search-summary").inner_text()
    count = results.count()
    assert ("one page" if count == 1 else f"{count} pages") in summary
    assert "cpu()" in results.first.inner_text()  # the message stands with the title
    results.first.locator("a").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/errors.html#numpy-device")
    box = page.locator("#numpy-device h3").bounding_box()
    assert box is not None
    assert problems == []
    page.close()


def test_the_words_of_an_ordinary_search_are_marked(
    browser: Browser, address: str
) -> None:
    page = browser.new_page()
    problems: list[object] = []
    page.on("pageerror", lambda error: problems.append(error))
    page.goto(f"{address}search.html?q=mode")  # a word that Furo's icons have too
    page.wait_for_function("document.querySelector('.search-summary')?.innerText")
    page.locator("#search-results li a").first.click()
    page.wait_for_function("document.querySelector('span.highlighted')")
    assert page.locator("title tspan").count() == 0
    assert problems == []
    page.close()


def test_it_works_from_a_file(browser: Browser, site: Path) -> None:
    page = browser.new_page()
    page.goto(f"{(site / 'search.html').as_uri()}?q=can't+optimize+a+non-leaf+Tensor")
    page.wait_for_function("document.querySelector('.search-summary')?.innerText")
    link = page.locator("#search-results li a").first
    assert link.get_attribute("href") == "errors.html#optimizer-non-leaf"
    page.close()


def test_the_list_of_messages_is_loaded_where_it_is_needed(site: Path) -> None:
    for path in pages_in(site):
        scripts = {Path(s["src"]).name for s in soup(path).select("script[src]")}
        loaded = {name.partition("?")[0] for name in scripts}
        wanted = path.name == "search.html"
        assert ("messages.js" in loaded) == wanted, path
        assert ("search_messages.js" in loaded) == wanted, path
        # The error index has the messages themselves.
        wanted |= path == site / "errors.html"
        assert ("find_message.js" in loaded) == wanted, path


def test_the_list_is_what_the_page_shows(
    site: Path, messages: dict[str, list[str]]
) -> None:
    text = (site / "_static" / "messages.js").read_text(encoding="utf-8")
    listed = json.loads(text[text.index("entries = ") + 10 : text.rindex(";")])
    assert [entry["anchor"] for entry in listed] == list(messages)
    for entry in listed:
        assert sorted(entry["texts"]) == sorted(messages[entry["anchor"]])


@pytest.fixture
def asked(browser: Browser, address: str) -> Iterator[Callable[[str], Page]]:
    """Return a function that searches as a reader does, and waits for the end."""
    page = browser.new_page()

    def ask(query: str) -> Page:
        page.goto(f"{address}search.html?{urlencode({'q': query})}")
        page.wait_for_function("document.querySelector('.search-summary')?.innerText")
        return page

    yield ask
    page.close()


def test_each_result_says_its_kind_and_what_the_page_says_of_itself(
    asked: Callable[[str], Page], site: Path
) -> None:
    kinds = set()
    for query in ("detach clone", "version counter", "x.detach()"):
        items = asked(query).locator("#search-results ul.search > li")
        assert items.count() > 5
        for item in items.all():
            kind = item.locator(".result-kind").text_content()
            about = item.locator(".result-about").text_content()
            kinds.add(kind)
            path = str(item.locator("a").get_attribute("href")).partition("#")[0]
            if kind != "Term":
                head = soup(site / path).select_one("meta[name=description]")
                assert about == head["content"], path
            assert (kind == "Lesson") == bool(re.search(r"les/\d_\w+/(?!index)", path))
            assert item.locator(".highlighted").count() == 0
    assert kinds == {"Lesson", "Page", "Call", "Term"}


def test_few_results_stand_first_and_a_button_shows_the_others(
    asked: Callable[[str], Page],
) -> None:
    page = asked("detach clone")
    items = page.locator("#search-results ul.search > li")
    first = str(items.first.locator("a").get_attribute("href"))
    assert first.endswith("/detach_clone.html"), "the words as they were asked"
    count, shown = items.count(), items.locator("visible=true").count()
    assert shown <= 8 < count
    assert f"{count} pages" in page.locator(".search-summary").inner_text()
    page.get_by_role("button", name=f"Show {count - shown} more").click()
    assert items.locator("a:visible").count() == count
    assert page.evaluate("document.activeElement.matches('#search-results a')")


def test_a_message_stands_before_few_others_in_one_colour(
    asked: Callable[[str], Page],
) -> None:
    page = asked("Can't call numpy() on Tensor that requires grad.")
    items = page.locator("#search-results ul.search > li:visible")
    assert items.first.locator(".result-kind").text_content() == "Error"
    said = str(items.first.locator(".result-message").text_content())
    assert said.startswith("RuntimeError: Can't call numpy()")
    assert page.locator("#search-results .highlighted").count() == 0
    assert items.count() <= 6


def test_nothing_found_says_what_to_try(asked: Callable[[str], Page]) -> None:
    said = asked("zebra zoo").locator(".search-summary").inner_text()
    assert "fewer words" in said and "categories" not in said
