"""A lesson in use: its questions, copied code, print, the keyboard, jumps."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from reading import ANSWER, CHOICES, CODE, EACH, LEAD, LESSONS, UNFOLD, Lesson, as_shown

ASKED = re.compile(r"(?m)^# \.\. predict:: (.+(?:\n#     (?! *-).+)*)")
DETACH = "auto_examples/1_basics/detach.html"


@EACH
def test_a_question_hides_its_answer(lesson: Lesson, site: Path) -> None:
    written = [re.sub("#|``", "", one) for one in ASKED.findall(lesson.text)]
    asked = [" ".join(one.split()) for one in written]
    answers = lesson.page.select(f"article {ANSWER}")
    assert [as_shown(one.summary) for one in answers] == asked
    assert len(asked) <= 2 and (asked or lesson.script.parent.name == "3_tips")
    for answer in answers:
        assert not answer.has_attr("open") and answer.select("pre, svg, table")
        above = answer.find_previous_sibling()
        if above.name == "fieldset":
            assert as_shown(above.legend) == as_shown(answer.summary)
            above = above.find_previous_sibling()
        assert CODE in above["class"], "something stands in between"
        assert not isinstance(ast.parse(above.get_text()).body[-1], ast.Assert)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_printed_page_has_the_answers_and_no_menu(visit: Any, scripts: bool) -> None:
    a4 = {"width": 700, "height": 900}  # within its margins
    page = visit(DETACH, java_script_enabled=scripts, viewport=a4)
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("document.body.dataset.theme = 'dark'")  # as the switch does
    page.locator(f"{ANSWER} pre").first.wait_for(state="visible")
    for part in (".sidebar-drawer", ".toc-drawer", ".skip-to-content", "button.copy"):
        assert not page.locator(part).first.is_visible(), part
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == "light"
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")


def test_the_printed_cheat_sheet_is_one_page(visit: Any) -> None:
    page = visit("cheat_sheet.html", color_scheme="dark")
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1


FOCUS = """() => {
  const one = document.activeElement, {left, right} = one.getBoundingClientRect();
  // An answer to choose from is outlined as a whole.
  const part = one.closest(".predict-choices label") ?? one;
  return {
    is: one.id || one.outerHTML.slice(0, 100), end: one === document.body,
    outlined: getComputedStyle(part).outlineStyle !== "none",
    inside: right > 0 && left < innerWidth,
  };
}"""


@pytest.mark.parametrize("width", [1280, 640])
def test_each_stop_of_the_keyboard_is_in_sight(width: int, visit: Any) -> None:
    options = {"viewport": {"width": width, "height": 800}, "reduced_motion": "reduce"}
    tab = visit(DETACH, **options)
    reached = []
    while not reached or not reached[-1]["end"]:
        tab.keyboard.press("Tab")
        reached.append(tab.evaluate(FOCUS))
        assert len(reached) < 400
    *stops, _ = reached
    assert "Skip to content" in stops[0]["is"]
    assert [one for one in stops if not (one["outlined"] and one["inside"])] == []
    everything = "\n".join(one["is"] for one in stops)
    for wanted in ("theme-toggle", "download", "next-page", "data-go", "radio"):
        assert wanted in everything, wanted
    controls = tab.locator(
        "article :is(a, summary, button):not([tabindex='-1']):visible"
    ).count()
    assert len(stops) >= controls
    wide = "all => all.filter(e => e.scrollWidth > e.clientWidth && e.tabIndex < 0)"
    code = tab.locator("article pre:visible, article .table-wrapper:visible")
    assert code.evaluate_all(f"{wide}.length") == 0
    drawers = {"__navigation": ".sidebar-tree a", "__toc": ".toc-tree ul ul a"}
    for drawer, link in drawers.items() if width < 700 else ():
        assert drawer in everything
        tab.locator(f"#{drawer}").press("Space")
        tab.locator(link).first.focus()
        tab.wait_for_function(f"({FOCUS})().inside")
        tab.locator(f"#{drawer}").press("Space")


def test_a_jump_leaves_the_heading_in_view(visit: Any) -> None:
    options = {"viewport": {"width": 360, "height": 700}, "reduced_motion": "reduce"}
    tab = visit(DETACH, **options)
    tab.evaluate(UNFOLD)
    ids = "[...document.querySelectorAll('article section section')].map(s => s.id)"
    for name in tab.evaluate(ids):
        tab.evaluate(f"location.hash = '{name}'")
        tab.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
        box = tab.locator(f"section[id='{name}'] > :is(h2, h3)").bounding_box()
        header = tab.locator(".mobile-header").bounding_box()["height"]
        assert header <= box["y"] + 1 and box["y"] < 700, name


# What a picture says of a tensor, and what an answer does.
SEEN = re.compile(
    r"(?:^|\. )([\w.]+) = (\[[^a-z]*\]|-?[\d.]+)"
    r"(?: is a leaf, its grad is (\[[^a-z]*?\]+))?"
)
ANSWERED = re.compile(
    r"([\w.]+?)(?:\.tolist\(\)|\.item\(\))? = (?:tensor\()?(\[[^a-z]*?\]+|-?[\d.]+)"
)


def numbers(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"-?\d+(?:\.\d*)?", text)]


def test_the_first_picture_does_not_show_what_is_asked(site: Path) -> None:
    asking = 0
    for lesson in LESSONS.values():
        asked = lesson.page.select_one(f"{CHOICES} input[data-right]")
        drawn = lesson.page.select_one(f"{LEAD} svg[aria-label]")
        if asked is None or drawn is None:
            continue
        seen: dict[str, list[float]] = {}
        for name, values, grad in SEEN.findall(drawn["aria-label"]):
            seen |= {name: numbers(values), f"{name}.grad": numbers(grad)}
        answer = ANSWERED.findall(asked.parent.code.get_text())
        told = [seen.get(name) == numbers(values) for name, values in answer]
        assert not told or not all(told), lesson.name
        asking += bool(told)
    assert asking > 20
