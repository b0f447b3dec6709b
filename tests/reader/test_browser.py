"""Every page of the site in a real browser: what it loads, how it looks, what axe says.

Each page is visited once (visits.py says what is looked at, and what is sampled).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reading import SCRIPTS, page_of
from visits import COLOURS, KINDS, Visitor, pages_of

# First visit, compressed, scrolled to the end.
MOST_KB, MOST_KB_OF_LONG_PAGES, MOST_KB_OF_ERRORS, MOST_REQUESTS = 50, 80, 60, 16
AAA = 7.0
SIZES = 5  # title, heading, text, small, code: site.css
LESSON = KINDS[2]


@pytest.fixture(scope="module")
def visit(browser: Any, site: Path, address: str) -> Iterator[Visitor]:
    """Return what visits a page, by its path; the second time it remembers."""
    visitor = Visitor(browser, site, address)
    yield visitor
    visitor.close()


# First, so that under a load no test has all pages to visit.
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_lesson_begins_with_its_answer_and_picture(
    script: Path, site: Path, visit: Visitor
) -> None:
    seen = visit(page_of(site, script).relative_to(site).as_posix()).beginning
    assert seen["top"]
    # The class of a part, in the order in which a reader meets them.
    wanted = ["words", "lesson-lead", "actions", "setup"]
    met = [name for part in seen["order"] for name in set(wanted) & {*part.split()}]
    assert met[: len(wanted)] == wanted
    assert seen["setup"] == [False, True, 0]  # hidden, shown by a press, and alone


def test_no_page_is_heavy(site: Path, visit: Visitor) -> None:
    """The longest compute: the article, the Atlas, messages."""
    lessons = {page_of(site, script).relative_to(site).as_posix() for script in SCRIPTS}
    for page in pages_of(site):
        seen = visit(page)
        most = MOST_KB if page in lessons else MOST_KB_OF_LONG_PAGES
        most = MOST_KB_OF_ERRORS if page.startswith("errors") else most
        assert 5 < seen.kilobytes <= most, (page, seen.kilobytes)
        assert 1 < len(seen.asked) <= MOST_REQUESTS, (page, seen.asked)


def test_no_page_loads_from_elsewhere_or_complains(
    site: Path, address: str, visit: Visitor
) -> None:
    for page in pages_of(site):
        seen = visit(page)
        assert seen.wrong == [], page
        assert all(url.startswith(address) for url in seen.asked), page


def test_axe_finds_nothing(site: Path, visit: Visitor) -> None:
    assert [one for page in pages_of(site) for one in visit(page).axe] == []


def test_nothing_sticks_out_is_cut_off_or_hard_to_read(
    site: Path, visit: Visitor
) -> None:
    """With the widest letters that are common, and on the narrowest phone."""
    visits = [visit(page) for page in pages_of(site)]
    assert sum(one.drawings for one in visits) > 0
    assert [one for seen in visits for one in seen.layout] == []


def test_a_page_has_no_more_sizes_of_text_than_the_scale(
    site: Path, visit: Visitor
) -> None:
    """In any view; what the theme and the extensions bring counts too."""
    sizes = {page: visit(page).sizes for page in pages_of(site)}
    assert {page: found for page, found in sizes.items() if len(found) > SIZES} == {}


def luminance(colour: str) -> float:
    channels = [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(pair: str) -> float:
    light, dark = sorted(map(luminance, pair.split("|")), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_code_and_outputs_have_the_highest_contrast(
    site: Path, address: str, browser: Any, visit: Visitor
) -> None:
    """Also where Furo's switch says another scheme than the system."""
    for page in pages_of(site):
        for scheme in ("light", "dark"):
            for pair in visit(page).colours[scheme]:
                assert contrast(pair) >= AAA, (page, scheme, pair)
    for scheme, system in (("light", "dark"), ("dark", "light")):
        context = browser.new_context(color_scheme=system)
        context.add_init_script(f"localStorage.setItem('theme', '{scheme}')")
        tab = context.new_page()
        tab.goto(address + LESSON, wait_until="load")
        seen = tab.evaluate(COLOURS)
        assert sorted(seen) == sorted(visit(LESSON).colours[scheme]) != []
        context.close()
