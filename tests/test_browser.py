"""Every page of the site in a real browser: what it loads, how it looks, what axe says.

Each page is visited once (visits.py says what is looked at, and what is sampled).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fonts
import pytest
from reading import EVERYTHING, SCRIPTS, page_of
from visits import (
    AXE,
    COLOURS,
    DENSE,
    KINDS,
    LAYOUT,
    LAYOUT_OF_EACH,
    PAIRS,
    TARGET_SIZE,
    UNFOLD,
    WIDTHS_OF_LAYOUT,
    Visitor,
    layout_problems,
    pages_of,
    problems_of_new_kinds,
    resize,
)

# First visit, compressed, scrolled to the end. A benchmark brings plots and data.
MOST_KB, MOST_KB_WITH_PLOTS, MOST_KB_OF_LONG_PAGES = 50, 60, 80
# A chart is a table: a cell a call and a size, for each machine. The sidebar has two
# elements a lesson.
MOST_REQUESTS, MOST_ELEMENTS, MOST_ELEMENTS_WITH_PLOTS = 16, 1600, 2100
# A font changes how wide words are: the widest and the narrowest screen tell.
WIDTHS_OF_FONTS = WIDTHS_OF_LAYOUT if EVERYTHING else WIDTHS_OF_LAYOUT[::3]
# The visits draw with the first of them, at these widths too.
FAMILIES = [*fonts.FAMILIES] if EVERYTHING else [*fonts.FAMILIES][1:]
OTHER_FONTS = pytest.mark.parametrize(
    "browser_of_each_family", FAMILIES, indirect=True, scope="session"
)
AAA = 7.0
LESSON = KINDS[2]
# The answer and the picture of a lesson begin above this, at 1280 x 900.
FIRST_SCREEN = 700


@pytest.fixture(scope="module")
def visit(browser: Any, site: Path, address: str) -> Iterator[Visitor]:
    """Return what visits a page, by its path; the second time it remembers."""
    visitor = Visitor(browser, site, address)
    yield visitor
    visitor.close()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_lesson_is_light(script: Path, site: Path, visit: Visitor) -> None:
    seen = visit(page_of(site, script).relative_to(site).as_posix())
    plots = "perfplot" in script.read_text() or "benchmark" in script.read_text()
    assert 10 < seen.kilobytes <= (MOST_KB_WITH_PLOTS if plots else MOST_KB)
    assert seen.elements <= (MOST_ELEMENTS_WITH_PLOTS if plots else MOST_ELEMENTS)


def test_no_page_is_heavy(site: Path, visit: Visitor) -> None:
    """The longest compute: the article, the Atlas, the error index."""
    for page in pages_of(site):
        seen = visit(page)
        assert 5 < seen.kilobytes <= MOST_KB_OF_LONG_PAGES, (page, seen.kilobytes)
        assert 1 < len(seen.asked) <= MOST_REQUESTS, (page, seen.asked)


def test_no_page_loads_from_elsewhere_or_complains(
    site: Path, address: str, visit: Visitor
) -> None:
    for page in pages_of(site):
        seen = visit(page)
        assert seen.wrong == [], page
        assert all(url.startswith(address) for url in seen.asked), page


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_lesson_begins_with_its_answer_and_picture(
    script: Path, site: Path, visit: Visitor
) -> None:
    seen = visit(page_of(site, script).relative_to(site).as_posix()).beginning
    assert 0 < seen["top"] < FIRST_SCREEN
    # The class of a part, in the order in which a reader meets them.
    wanted = ["lesson-actions", "words", "lesson-lead", "words", "setup"]
    met = [name for part in seen["order"] for name in set(wanted) & {*part.split()}]
    assert met[: len(wanted)] == wanted
    assert seen["setup"] == [False, True, 0]  # hidden, shown by a press, and alone


def test_axe_finds_nothing(site: Path, visit: Visitor) -> None:
    assert [one for page in pages_of(site) for one in visit(page).axe] == []


def test_nothing_sticks_out_is_cut_off_or_hard_to_read(
    site: Path, visit: Visitor
) -> None:
    """At each width of a screen, with the fonts that are there on every machine."""
    visits = [visit(page) for page in pages_of(site)]
    assert sum(one.drawings for one in visits) > 0
    assert [one for seen in visits for one in seen.layout] == []


@OTHER_FONTS
def test_in_any_font_nothing_sticks_out_is_cut_off_or_hard_to_read(
    browser_of_each_family: Any, site: Path, address: str
) -> None:
    """Each page, shown within one that is open: its scripts have not run.

    The test before sees each page at all widths as it is, the next one those of each
    kind in any font, with what their scripts make.
    """
    tab, found, drawings = browser_of_each_family.new_page(), [], 0
    tab.goto(address + KINDS[0], wait_until="load")
    for width in WIDTHS_OF_FONTS:
        resize(tab, width)
        each = tab.evaluate(LAYOUT_OF_EACH, [pages_of(site), width])
        assert list(each) == pages_of(site)
        for page, seen in each.items():
            found += layout_problems(seen, page, width)
            drawings += seen["drawings"]
    tab.close()
    assert drawings > 0
    assert found == []


@OTHER_FONTS
def test_in_any_font_nothing_is_hard_to_press(
    browser_of_each_family: Any, site: Path, address: str
) -> None:
    """Nor sticks out, on pages of each kind and those with much to press."""
    tab, found = browser_of_each_family.new_page(), []
    known: dict[int, set[str]] = {width: set() for width in WIDTHS_OF_FONTS}
    for page in pages_of(site) if EVERYTHING else [*KINDS, *DENSE]:
        tab.goto(address + page, wait_until="load")
        tab.evaluate(UNFOLD)
        tab.evaluate(AXE)
        for width in WIDTHS_OF_FONTS:
            resize(tab, width)
            found += layout_problems(tab.evaluate(LAYOUT), page, width)
            small = problems_of_new_kinds(tab, [TARGET_SIZE], known[width])
            found += [(page, width, *one) for one in small]
    tab.close()
    assert found == []


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


@pytest.mark.parametrize(("scheme", "system"), PAIRS)
def test_code_and_outputs_have_the_highest_contrast(
    scheme: str, system: str, site: Path, address: str, browser: Any, visit: Visitor
) -> None:
    """Also where Furo's switch says another scheme than the system."""
    for page in pages_of(site):
        for pair in visit(page).colours[scheme, system]:
            assert contrast(pair) >= AAA, (page, pair)
    # What the switch remembers gives a page the colours that were looked at.
    context = browser.new_context(color_scheme=system)
    context.add_init_script(f"localStorage.setItem('theme', '{scheme}')")
    tab = context.new_page()
    tab.goto(address + LESSON, wait_until="load")
    assert tab.evaluate("document.body.dataset.theme") == scheme
    assert tab.evaluate(COLOURS) == visit(LESSON).colours[scheme, system] != []
    context.close()
