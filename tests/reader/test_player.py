"""The player: the first picture of a lesson plays the lesson's events."""

import ast
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reading import LEAD, LESSONS, PLAYER, Lesson, axe_of, parsed
from tensor_copies.figures.steps import is_watched, opening_of

Data = dict[str, Any]
PAGE = LESSONS["detach"].path.as_uri()
STATE = """() => {
  const part = (name) => document.querySelector(`.player-${name}`);
  const dots = [...document.querySelectorAll(".player-dots > button")];
  return [part("count").textContent, part("statement").textContent,
    part("said").textContent, location.hash,
    dots.findIndex((dot) => dot.ariaCurrent === "step") + 1,
    part("now").innerHTML.trim(), part("picture").parentNode.clientHeight];
}"""
FOCUSED = "document.activeElement.ariaLabel ?? document.activeElement.textContent"
FITS = "document.documentElement.scrollWidth <= innerWidth"


def steps_of(lesson: Lesson) -> Data:
    """Return the data of a lesson's player, and which steps are events, from 0."""
    (player,) = lesson.page.select(f"{LEAD} > {PLAYER}")
    file = lesson.path.parent / player["data-steps"].partition("?")[0]
    assert len(gzip.compress(file.read_bytes(), 9)) <= 14_000
    text = file.read_text(encoding="utf-8")
    data = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    data["events"] = [at for at, one in enumerate(data["steps"]) if one["event"]]
    return data


@pytest.fixture(scope="module")
def data(site: Path) -> Data:
    return steps_of(LESSONS["detach"])


@pytest.fixture(params=[320, 1280])
def tab(visit: Any, request: Any) -> Any:
    size = {"width": request.param, "height": 900}
    return visit("about:blank", viewport=size)


@pytest.fixture
def plays(tab: Any, data: Data) -> Callable[[int], list]:
    """Return a check that an event is shown; it returns the picture and its height."""

    def check(event: int) -> list:
        at, words = data["events"][event - 1], f"{event} of {len(data['events'])}"
        tab.wait_for_function(f"({STATE})()[0] === '{words}'")
        step, (_, statement, *state) = data["steps"][at], tab.evaluate(STATE)
        assert statement == data["code"][step["first"] - 1].strip()
        assert state[:3] == [step["said"], f"#step-{at + 1}", event]
        assert tab.evaluate(FITS)
        return state[3:]

    return check


def test_the_first_picture_plays(tab: Any, plays: Callable, data: Data) -> None:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(PAGE)
    lead, last = data["events"].index(data["lead"]) + 1, len(data["events"])
    *_, at_first, high = tab.evaluate(STATE)
    assert not [url for url in asked if "/_static/steps" in url]
    forward = tab.get_by_role("button", name="Forward")
    forward.press("Enter")
    assert plays(lead + 1)[1] == high
    for key, event in ("ArrowLeft", lead), ("Home", 1), ("ArrowLeft", 1), ("End", last):
        tab.keyboard.press(key)
        picture, now_high = plays(event)
        # Off the first event and back to it, the picture is the same.
        assert (picture == at_first, now_high) == (event == lead, high)
    assert forward.get_attribute("aria-disabled") == "true"
    # A dot for each event jumps there; the arrows take the focus along.
    dots = tab.locator(".player-dots > button")
    dots.nth(last - 2).click()
    plays(last - 1)
    tab.keyboard.press("ArrowRight")
    plays(last)
    assert tab.evaluate(FOCUSED) == dots.nth(last - 1).get_attribute("aria-label")
    tab.get_by_role("button", name="To the start").click()
    plays(1)
    # Elsewhere the keys do what they always do.
    tab.evaluate("document.activeElement.blur()")
    tab.keyboard.press("ArrowRight")
    plays(1)


def test_it_opens_large_and_by_address(tab: Any, plays: Callable, data: Data) -> None:
    tab.goto(f"{PAGE}#step-{data['events'][3] + 1}")
    tab.locator(".steps-dialog").wait_for(state="attached")
    plays(4)
    assert not tab.get_by_role("dialog").is_visible()
    tab.get_by_role("button", name="Open large").press("Enter")
    tab.get_by_role("dialog").wait_for()
    assert tab.locator(".steps-count").text_content() == f"4 of {len(data['events'])}"
    assert tab.locator(".steps-see svg").is_visible() and axe_of(tab) == []
    assert tab.evaluate(FOCUSED) == "Forward"
    tab.keyboard.press("End")
    tab.keyboard.press("Escape")
    tab.wait_for_function("!document.querySelector('dialog[open]')")
    plays(len(data["events"]))
    assert tab.evaluate(FOCUSED) == "Open large"
    # A line between two events is shown among all lines.
    tab.goto("about:blank")
    tab.goto(f"{PAGE}#step-1")
    tab.wait_for_function(f"({STATE})()[0] === '1 of {len(data['steps'])}'")


def test_the_picture_of_each_lesson_is_a_step_of_it(site: Path) -> None:
    for name, lesson in LESSONS.items():
        player = lesson.page.select_one(PLAYER)
        is_played = is_watched(lesson.script) and opening_of(lesson.script) != ()
        assert (player is not None) == is_played, name
        if player is None:
            continue
        data = steps_of(lesson)
        events, step = data["events"], data["steps"][data["lead"]]
        count = f"{events.index(data['lead']) + 1} of {len(events)}"
        assert player.select_one(".player-count").get_text() == count, name
        assert len(events) <= 18, name
        assert player.select_one(".player-said").get_text() == step["said"], name
        statement = player.select_one(".player-statement").get_text().split("\n")[0]
        assert statement == data["code"][step["first"] - 1].strip(), name
        drawn = parsed(data["drawings"][step["drawing"]])
        assert str(player.select_one(".player-now > svg")) == str(drawn.svg), name
        # What is played is the lesson, with a step for each statement.
        statements = ast.parse("\n".join(data["code"])).body
        _, *written = ast.parse(lesson.text).body  # less the docstring
        assert [*map(ast.unparse, statements)] == [*map(ast.unparse, written)]
        simple = {node.lineno for node in statements if not hasattr(node, "body")}
        assert simple <= {step["first"] for step in data["steps"]}, name
