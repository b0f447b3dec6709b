"""The search in a browser: what it finds of messages and public questions, its use.

A part of the questions (queries.toml) is held out of its tuning.
"""

import gzip
import json
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from reading import EVERYTHING, pages_in, soup
from tensor_copies.calls.facts import facts
from tensor_copies.calls.words import card
from tensor_copies.search.index import OFTEN, PROSE

LISTED = tomllib.loads(Path(__file__).with_name("queries.toml").read_text("utf-8"))
FIRST = 3  # of what is found, those that are asked for
BOXES = "form[role=search] input[type=search]"
RESULT = "#search-results .result"
KINDS = ["Lesson", "Error", "Call", "Mistake", "Term", "Question", "Page"]
# Of each part: how many have an answer in the first three, the mean reciprocal rank.
# New words of pages move these by 0.01.
LEAST = {
    **{"tuned": (0.93, 0.87), "held_out": (0.84, 0.78), "fresh": (0.9, 0.86)},
    "sure": (1, 0.5),
}
HEAVIEST = 173_000  # bytes of all that the search loads, compressed


def is_right(name: str, address: str) -> bool:
    """Whether an address is what a name of queries.toml stands for."""
    page, _, anchor = address.partition("#")
    wanted, _, part = name.partition("#")
    if page == f"auto_examples/{wanted}.html":
        return not part or part == anchor
    return page == f"{wanted}.html" and part == anchor


@pytest.fixture(scope="module")
def page(tab: Any) -> Any:
    tab.goto("search.html?q=tensor")
    tab.wait_for_selector(RESULT)
    return tab


@pytest.fixture(scope="module")
def search(page: Any) -> Callable[..., list[list[str]]]:
    asking = "all => all.map((one) => searchFor(one).map(({address}) => address))"
    return lambda *queries: page.evaluate(asking, list(queries))


def test_each_message_finds_its_entry(page: Any, search: Callable) -> None:
    listed = page.evaluate("knownMessages.map((one) => [one.address, one.texts])")
    # Three words are no message.
    asked = [(address, text) for address, texts in listed for text in texts
             if len(text.split()) > 3]  # fmt: skip
    assert len({address for address, _ in asked}) >= 40
    found = search(*(text for _, text in asked))
    for (address, text), those in zip(asked, found, strict=True):
        assert address in those[:2], text  # two entries may have the same message


def test_what_people_ask_finds_what_answers(page: Any, search: Callable) -> None:
    known = page.evaluate("searchFor.sections.map(({ address }) => address)")
    for query in (query for part in LEAST for query in LISTED[part]):
        for name in query["right"]:
            assert any(is_right(name, one) for one in known), (query["ask"], name)
    for part, (least_first, least_rank) in LEAST.items():
        words, places = [query["ask"] for query in LISTED[part]], []
        for query, found in zip(LISTED[part], search(*words), strict=True):
            right = [any(is_right(n, one) for n in query["right"]) for one in found]
            places.append(right.index(True) + 1 if True in right else 1000)
        first = sum(place <= FIRST for place in places) / len(places)
        rank = sum(1 / place for place in places) / len(places)
        assert first >= least_first and rank >= least_rank, (part, first, rank)


def test_each_section_is_found(site: Path, page: Any, search: Callable) -> None:
    sections = page.evaluate("searchFor.sections")
    texts = {one.relative_to(site).as_posix(): one.read_text("utf-8")
             for one in pages_in(site)}  # fmt: skip
    assert {one["kind"] for one in sections} == set(KINDS)
    for one in sections:
        path, _, anchor = one["address"].partition("#")
        assert not anchor or f'id="{anchor}"' in texts[path], one["address"]
    documents = {path for path, text in texts.items() if 'name="robots"' not in text}
    assert {one["page"] for one in sections} == documents
    # An entry of the glossary may have two terms.
    terms = soup(site / "glossary.html").select("dl.glossary dt")
    known = {one["address"] for one in sections}
    assert {f"glossary.html#{term['id']}" for term in terms} <= known
    # Of the prose, rare words are known: those of few sections.
    pages = page.evaluate("searchIndex.pages")
    prose = [word for _, told in pages for one in told for word in one[PROSE].split()]
    often = Counter(prose)
    assert min(often.values()) == 1 and max(often.values()) <= OFTEN
    asked = [
        (phrase, one["heading"])
        for one in sections
        # The parts of the pages about the site have headings such as "NumPy".
        for phrase in [one["heading"]] * (one["kind"] != "Page") + one["phrases"]
    ]
    assert len(asked) > 150
    asked = asked if EVERYTHING else asked[:: len(asked) // 60]
    headings = {one["address"]: one["heading"] for one in sections}
    found = search(*(phrase for phrase, _ in asked))
    for (phrase, heading), those in zip(asked, found, strict=True):
        assert heading in [headings[one] for one in those[:4]], phrase


def test_a_card_says_what_the_facts_say(site: Path, page: Any) -> None:
    atlas = json.loads((site / "atlas.json").read_text(encoding="utf-8"))
    here = ("live", "cpu", "leaf")
    seen = {one["operation"]: one for one in atlas["records"] if not one["error"]
            and (one["source"], one["device"], one["state"]) == here}  # fmt: skip
    cards = {one["id"]: one for one in page.evaluate("searchIndex.cards").values()}
    assert set(cards) == {row["id"] for row in atlas["operations"]}
    for name, call in facts().calls.items():
        said, notes = card(facts(), call)
        told = [*said, *(("note", note) for note in notes)]
        assert cards[name]["facts"] == [*map(list, told)]
    told = [cards[name] for name in seen if cards[name]["subject"] == "x"]
    assert len(told) > 70
    for one in told:
        words, record = [words for _, words in one["facts"]], seen[one["id"]]
        sharing = "itself" in words[0] or words[0].endswith("'s memory")
        assert sharing == record["shares_memory"], one
        assert ("gradient flows back" in words) == bool(record["gradient_flows"]), one
    assert ["note", "raises RuntimeError if x requires grad"] in cards["numpy"]["facts"]
    said = {(one["subject"], one["of"]) for one in cards.values()}
    assert all(of.startswith(f"{subject} is a ") for subject, of in said)


def test_nothing_loads_before_a_search(address: str, site: Path, visit: Any) -> None:
    page, loaded = visit("glossary.html"), []
    page.on("request", lambda request: loaded.append(request.url))
    box = page.locator(BOXES).locator("visible=true").first
    box.focus()
    assert page.evaluate("typeof searchFor") == "undefined"
    box.press("x")
    page.wait_for_function("() => typeof searchFor === 'function'")
    assert all(one.startswith(address) for one in loaded)
    names = {Path(urlsplit(one).path).name for one in loaded}
    assert {"search_index.js", "minisearch.js", "messages.js"} <= names
    files = [site / urlsplit(one).path.removeprefix("/") for one in loaded]
    assert sum(len(gzip.compress(one.read_bytes())) for one in files) <= HEAVIEST


def test_it_works_from_a_file(site: Path, visit: Any) -> None:
    page = visit((site / "auto_examples" / "1_basics" / "detach.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("what is a leaf")
    page.wait_for_selector(".result")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=what+is+a+leaf")
    page.locator(f"{RESULT} a").first.click()
    page.wait_for_url("**/leaf_tensors.html*")
