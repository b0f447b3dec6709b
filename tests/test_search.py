"""The search, in a real browser: questions, calls, terms and pasted messages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

import measure_search
import pytest
from conftest import TinySite, lesson
from measure_search import is_right, queries, score
from reading import pages_in, soup
from visits import (
    AXE,
    AXE_RULES,
    OF_EACH_KIND,
    PROBLEMS_OF_ALL_KINDS,
    problems_of_new_kinds,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

# What differs from reader to reader.
OTHERS = {"meta": "cuda:1", "cuda:0": "cuda:3", "cpu": "cuda:2", "2": "768", "3": "17"}
IN_PAGE = "query => searchFor(query)"
KINDS = ["Lesson", "Error", "Call", "Mistake", "Term", "Question", "Page"]
BOXES = "form[role=search] input[type=search]"
MOST_KB = 90
# Below what the command measures, so that a page more or a word does not break it.
LEAST_IN_FIRST_THREE, LEAST_RANK = 0.93, 0.82
QUESTION = "bring tensor back from gpu"
COLOUR_RULES = ["color-contrast", "link-in-text-block"]


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
    page.wait_for_selector("#search-results .result")
    yield page
    page.close()


@pytest.fixture(scope="module")
def search(page: Page) -> Callable[[str], list[dict[str, str]]]:
    """Return what the search finds, the best first."""
    return lambda query: page.evaluate(IN_PAGE, query)


@pytest.fixture(scope="module")
def first(search: Callable[[str], list[dict[str, str]]]) -> Callable[[str], str]:
    """Return the address of the first result of a query."""
    return lambda query: next((one["address"] for one in search(query)), "")


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page, and fails on an error in it."""
    contexts, problems = [], []

    def go(where: str, **options: object) -> Page:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: problems.append(error))
        page.goto(where, wait_until="load")
        return page

    yield go
    for context in contexts:
        context.close()
    assert problems == []


# -- Messages -----------------------------------------------------------------------


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
            if (found := first(query)) not in [f"errors.html#{name}" for name in right]:
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
        assert first(query) == f"errors.html#{anchor}"


def test_the_list_of_messages_is_what_the_page_shows(
    site: Path, messages: dict[str, list[str]]
) -> None:
    text = (site / "_static" / "messages.js").read_text(encoding="utf-8")
    listed = json.loads(text[text.index("entries = ") + 10 : text.rindex(";")])
    assert [entry["anchor"] for entry in listed] == list(messages)
    for entry in listed:
        # What several machines say, otherwise than this build, is listed once.
        assert sorted(entry["texts"]) == sorted({*messages[entry["anchor"]]})


# -- Questions ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def index(site: Path) -> dict[str, list[list]]:
    """Return the sections that the search knows, by the address of their page."""
    text = (site / "_static" / "search_index.js").read_text(encoding="utf-8")
    return dict(json.loads(text[text.index("=") + 1 : text.rindex(";")])["pages"])


def test_the_queries_are_many_and_name_what_is_there(
    page: Page,
) -> None:
    asked = queries()
    assert len(asked) >= 200
    assert len({query.ask for query in asked}) == len(asked)
    assert abs(2 * sum(query.held_out for query in asked) - len(asked)) <= 1
    read = measure_search.QUERIES.read_text(encoding="utf-8")
    found = re.findall(r"^found = \"(.+)\"$", read, re.MULTILINE)
    assert len(found) == len(asked)
    assert sum(one.startswith("https://") for one in found) >= 150
    known = page.evaluate("searchFor.sections.map(({ address }) => address)")
    for query in asked:
        for name in query.right:
            assert any(is_right(name, one) for one in known), (query.ask, name)


@pytest.mark.parametrize("held_out", [False, True])
def test_questions_find_their_sections(
    held_out: bool, search: Callable[[str], list[dict[str, str]]]
) -> None:
    asked = [query for query in queries() if query.held_out is held_out]
    found = [[one["address"] for one in search(query.ask)] for query in asked]
    got = score(asked, found)
    assert got.nothing == 0
    assert got.first >= LEAST_IN_FIRST_THREE, got
    assert got.rank >= LEAST_RANK, got


def test_each_heading_and_each_asked_phrase_finds_its_section(
    search: Callable[[str], list[dict[str, str]]], index: dict[str, list[list]]
) -> None:
    missed = []
    for address, sections in index.items():
        for _, kind, heading, _, _, _, phrases in sections:
            # The parts of the pages about the site have headings such as "NumPy".
            headings = [] if KINDS[kind] == "Page" else [heading]
            for words in [*headings, *phrases]:
                found = [one["heading"] for one in search(words)[:4]]
                if heading not in found:
                    missed.append((words, address, found))
    assert missed == [], missed


@pytest.mark.parametrize(
    ("asked", "right"),
    [
        ("x.cpu()", "atlas#cpu"),
        ("cpu", "2_numpy_and_devices/cpu_and_to"),
        ("detatch", "1_basics/detach"),
        ("numpy ndaray", "3_tips/tensor_to_ndarray"),
        ("duplicate a tensor", "3_tips/copy_a_tensor"),
        ("loop variable", "silent_mistakes#silent-rebinding"),
        ("version counter", "glossary#term-version-counter"),
        ("undo requires_grad", "4_patterns/frozen_network"),
        ("jupyter memory keeps growing", "3_tips/memory_of_a_copy"),
        ("pinn", "3_tips/copy_between_devices"),
    ],
)
def test_spelling_endings_calls_and_other_words(
    asked: str, right: str, search: Callable[[str], list[dict[str, str]]]
) -> None:
    found = [one["address"] for one in search(asked)[:3]]
    assert any(is_right(right, one) for one in found), found


def test_any_word_may_be_missing_and_idle_words_give_the_pages(
    search: Callable[[str], list[dict[str, str]]],
) -> None:
    assert "cop" in search("my zebra wants a copy of the tensor")[0]["heading"]
    assert search("zqxjkvb") == [] and search("") == []
    assert len(search("what is this torch")) > 20


def test_each_section_is_there_and_says_its_kind(
    site: Path, page: Page, index: dict[str, list[list]]
) -> None:
    pages = {path: soup(path) for path in pages_in(site)}
    sections = page.evaluate("searchFor.sections")
    assert {one["kind"] for one in sections} == set(KINDS)
    for one in sections:
        path, _, anchor = one["address"].partition("#")
        found = pages[site / path]
        assert not anchor or found.find(id=anchor), one["address"]
    # Every page with a document of its own is known.
    documents = {
        path.relative_to(site).as_posix()
        for path, found in pages.items()
        if not found.select('meta[name="robots"]')
    }
    assert set(index) == documents


def test_no_page_shows_what_is_asked(site: Path, index: dict[str, list[list]]) -> None:
    phrases = [text for found in index.values() for one in found for text in one[-1]]
    assert len(phrases) > 150
    assert "asked.toml" not in (site / "llms.txt").read_text(encoding="utf-8")
    page = soup(site / "auto_examples/2_numpy_and_devices/cpu_and_to.html").get_text()
    assert QUESTION in phrases and QUESTION not in page


# -- Readers' words: docs/asked.toml --------------------------------------------------


def test_a_name_that_does_not_exist_is_refused(tiny_site: TinySite) -> None:
    tiny_site.write_lessons({"one.py": lesson("One", "")})
    asked = tiny_site.folder / "docs" / "asked.toml"
    asked.write_text('"1_first/one#then" = ["and then"]\n', encoding="utf-8")
    built = tiny_site.build()
    assert built.status == 0, built.output
    listed = (tiny_site.html / "_static" / "search_index.js").read_text("utf-8")
    assert "and then" in listed
    for written, said in {
        '"1_first/two" = ["x"]': "1_first/two is no page; a lesson is named like",
        '"1_first/one#them" = ["x"]': "1_first/one#them is no section; there are then",
        '"1_first/one" = "x"': 'write "1_first/one" = ["a question", "another"]',
        '"1_first/one" = [': "asked.toml: ",
    }.items():
        asked.write_text(written, encoding="utf-8")
        built = tiny_site.build()
        assert built.status != 0
        assert said in built.output


# -- Boxes --------------------------------------------------------------------------


def test_nothing_is_loaded_before_a_reader_searches(
    site: Path, address: str, visit: Callable[..., Page]
) -> None:
    page = visit(f"{address}glossary.html")
    loaded: list[str] = []
    page.on("response", lambda response: loaded.append(response.url))
    scripts = [part["src"] for part in soup(site / "glossary.html").select("[src]")]
    assert not [one for one in scripts if "index" in one or "minisearch" in one]
    page.locator(BOXES).locator("visible=true").first.focus()
    page.wait_for_function("() => typeof searchFor === 'function'")
    assert all(one.startswith(address) for one in loaded)
    names = {Path(urlsplit(one).path).name for one in loaded} - {"icon.svg"}
    assert {"search_index.js", "minisearch.js", "messages.js"} <= names
    static = site / "_static"
    files = [*measure_search.OURS, *measure_search.DRAWING]
    assert names <= {Path(name).name for name in files}
    assert measure_search.kilobytes([static / name for name in files]) <= MOST_KB


def test_the_licence_of_the_library_stands_beside_it(site: Path) -> None:
    folder = site / "_static" / "search"
    said = (folder / "minisearch.js").read_text("utf-8").splitlines()[0]
    assert "MiniSearch 7.2.0, MIT" in said and "minisearch.LICENSE.txt" in said
    assert "Copyright" in (folder / "minisearch.LICENSE.txt").read_text("utf-8")


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("name", ["index.html", "glossary.html", "404.html"])
def test_a_box_in_sight_answers_by_keyboard_alone(
    name: str, width: int, address: str, visit: Callable[..., Page]
) -> None:
    """A scheme changes colours only: in the dark one axe is asked of them."""
    page = visit(address + name, viewport={"width": width, "height": 800})
    keys = "/" if width == 390 else "Control+k"
    page.keyboard.press(keys)
    box = page.locator(":focus")
    assert box.get_attribute("type") == "search"
    place = box.bounding_box()
    assert place["y"] + place["height"] < 400 and place["width"] > 60
    page.keyboard.type(QUESTION)
    page.wait_for_selector(".result")
    page.evaluate(AXE)
    assert page.evaluate(PROBLEMS_OF_ALL_KINDS, [AXE_RULES, OF_EACH_KIND]) == []
    assert problems_of_new_kinds(page, OF_EACH_KIND, set()) == []
    page.emulate_media(color_scheme="dark")
    assert problems_of_new_kinds(page, COLOUR_RULES, set()) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    links = page.locator(".result:visible a")
    first = links.first
    assert first.bounding_box()["x"] >= 0
    assert first.locator(".result-kind").text_content() == "Lesson"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert links.nth(1).evaluate("link => link === document.activeElement")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert box.evaluate("box => box === document.activeElement")
    if box.evaluate("box => !box.closest('.search-again')"):
        page.keyboard.press("Escape")
        assert page.locator(".result:visible").count() == 0
        page.keyboard.type(" ")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/cpu_and_to.html")


def test_a_reader_pastes_and_follows_with_the_keyboard(
    address: str, visit: Callable[..., Page]
) -> None:
    page = visit(f"{address}index.html")
    page.locator("#message").focus()
    page.keyboard.insert_text(
        "can't convert cuda:1 device type tensor to numpy. Use Tensor.cpu()"
    )
    page.wait_for_selector(".search-panel .result-message")
    page.keyboard.press("Enter")  # all results
    page.wait_for_url("**/search.html?q=*")
    results = page.locator("#search-results .result")
    results.first.wait_for()
    count = page.locator(".result-count")
    assert count.get_attribute("role") == "status"
    assert str(results.count()) in count.inner_text()
    assert "cpu()" in results.first.inner_text()  # the message stands with the title
    page.locator("#search-again").focus()
    page.keyboard.press("Enter")  # to the first
    page.keyboard.press("Enter")
    page.wait_for_url("**/errors.html#numpy-device")
    assert page.locator("#numpy-device h3").bounding_box() is not None


def test_few_results_stand_first_and_a_button_shows_the_others(
    address: str, visit: Callable[..., Page]
) -> None:
    page = visit(f"{address}search.html?{urlencode({'q': 'detach clone'})}")
    items = page.locator("#search-results .result")
    items.first.wait_for()
    count, shown = items.count(), items.locator("visible=true").count()
    assert shown <= 8 < count
    assert not page.locator("#all-pages").is_visible()
    page.get_by_role("button", name=f"Show {count - shown} more").click()
    assert items.locator("a:visible").count() == count
    assert page.evaluate("document.activeElement.matches('#search-results a')")
    # What is typed is kept in the address.
    page.fill("#search-again", "leaf")
    page.wait_for_url("**/search.html?q=leaf")
    page.fill("#search-again", "")
    assert page.locator("#all-pages").is_visible()


def test_nothing_found_says_what_to_try(
    address: str, visit: Callable[..., Page]
) -> None:
    page = visit(f"{address}search.html?q=zqxjkvb")
    page.wait_for_function("document.querySelector('.result-count')?.innerText")
    assert "four words in a row" in page.locator(".result-count").inner_text()


def test_it_works_from_a_file(site: Path, visit: Callable[..., Page]) -> None:
    asked = "can't+optimize+a+non-leaf+Tensor"
    page = visit(f"{(site / 'search.html').as_uri()}?q={asked}")
    link = page.locator("#search-results .result a").first
    assert link.get_attribute("href") == "./errors.html#optimizer-non-leaf"
    lesson = site / "auto_examples" / "1_basics" / "detach.html"
    page = visit(lesson.as_uri())
    page.keyboard.press("/")
    page.keyboard.type("what is a leaf")
    page.keyboard.press("ArrowDown") if page.wait_for_selector(".result") else None
    page.keyboard.press("Enter")
    page.wait_for_url("**/leaf_tensors.html*")


def test_without_javascript_it_lists_all_pages(
    site: Path, address: str, visit: Callable[..., Page], index: dict[str, list[list]]
) -> None:
    said = soup(site / "search.html").select_one("noscript").get_text()
    assert said.startswith("The search needs JavaScript")
    page = visit(f"{address}search.html", java_script_enabled=False)
    assert page.locator("#all-pages").is_visible()
    links = page.locator("#all-pages a")
    assert [link.get_attribute("href") for link in links.all()] == list(index)
