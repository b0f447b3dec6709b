"""The player: the first picture of a lesson plays the lesson's events."""

import ast
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from reading import LEAD, LESSONS, PLAYER, Lesson, parsed
from tensor_copies.figures.steps import is_watched, opening_of

STATE = """() => {
  const part = (name) => document.querySelector(`.player-${name}`);
  return [part("count").textContent, part("statement").textContent,
    part("said").textContent, location.hash,
    document.querySelector(".player-dots [aria-current=step]").ariaLabel,
    part("now").innerHTML.trim(), part("picture").parentNode.clientHeight];
}"""


def steps_of(lesson: Lesson) -> dict[str, Any]:
    """Return the data of a lesson's player, and which steps are events, from 0."""
    (player,) = lesson.page.select(f"{LEAD} > {PLAYER}")
    file = lesson.path.parent / player["data-steps"].partition("?")[0]
    assert len(gzip.compress(file.read_bytes(), 9)) <= 14_000
    text = file.read_text(encoding="utf-8")
    data = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    data["events"] = [at for at, one in enumerate(data["steps"]) if one["event"]]
    return data


@pytest.mark.parametrize("width", [320, 1280])
def test_every_event_is_shown_in_the_same_place(visit: Any, width: int) -> None:
    """What is pressed, and the dialog, are scenes."""
    tab, asked = visit("about:blank", viewport={"width": width, "height": 900}), []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(LESSONS["detach"].path.as_uri())
    *_, at_first, high = tab.evaluate(STATE)
    assert not [url for url in asked if "/_static/steps" in url]
    data = steps_of(LESSONS["detach"])
    tab.get_by_role("button", name="Forward").press("Home")
    for number, at in enumerate(data["events"], 1):
        count, step = f"{number} of {len(data['events'])}", data["steps"][at]
        tab.wait_for_function(f"({STATE})()[0] === '{count}'")
        _, *told, picture, now_high = tab.evaluate(STATE)
        statement = data["code"][step["first"] - 1].strip()
        place = f"#step-{at + 1}", f"{number}: {statement}"
        assert told == [statement, step["said"], *place]
        # Off the first picture and back to it, it is the same.
        assert (picture == at_first, now_high) == (at == data["lead"], high)
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        tab.keyboard.press("ArrowRight")


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
