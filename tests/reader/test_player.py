"""The player: the first picture of a lesson plays the lesson's events."""

from __future__ import annotations

import ast
import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from reading import ROOT, SCRIPTS, axe_of, soup
from tensor_copies.figures.steps import (
    is_watched,
    opening_of,
    size_of_events,
    steps_file,
)
from tensor_copies.lessons.player import as_script, shown_first
from tensor_copies.markup import TEMPLATES
from tensor_maps import Steps
from tensor_maps.steps.viewer import asset

PROGRAM = """import torch
w = torch.ones(1, requires_grad=True)
z = w.detach()
c = z.clone()
z += 1
loss = c * w
"""
LEAD, EVENTS = 2, 5  # the event that is shown first, and how many there are
STATE = """() => {
  const part = (name) => document.querySelector(`.player-${name}`);
  const dots = [...document.querySelectorAll(".player-dots > button")];
  return [part("count").textContent, part("statement").textContent,
    part("said").textContent, location.hash,
    dots.findIndex((dot) => dot.ariaCurrent === "step") + 1,
    part("now").innerHTML.trim(), part("picture").parentNode.clientHeight];
}"""
FOCUSED = "document.activeElement.textContent"
FITS = "document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    """Return the steps of a program, as a lesson keeps them."""
    data = Steps("What moves").run(PROGRAM, {}).data() | {"lead": LEAD}
    data["wide"], data["high"] = size_of_events(data)
    return data


@pytest.fixture
def player(tmp_path: Path, data: dict[str, Any]) -> str:
    """Return a page with a player as a lesson has it, and the site's own script."""
    static = tmp_path / "_static"
    static.mkdir()
    for name in ("code.js", "lessons.css"):
        shutil.copy(ROOT / "conf" / "static" / name, static)
    for name in ("steps.js", "steps.css", "page.css"):
        (static / name).write_text(asset(name), encoding="utf-8")
    (static / "steps.lesson.js").write_text(as_script(data), encoding="utf-8")
    figure = TEMPLATES.get_template("lessons/player.html").render(
        address="_static/steps.lesson.js", **shown_first(data)
    )
    page = tmp_path / "lesson.html"
    page.write_text(
        '<!doctype html><html lang="en" data-content_root="./"><title>A lesson</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="_static/page.css">'
        '<link rel="stylesheet" href="_static/lessons.css"><style>'
        ".visually-hidden { position: absolute; clip-path: inset(50%) }</style>"
        f"<main><article><h1>A lesson</h1><p>Above</p>{figure}</article></main>"
        '<script src="_static/code.js"></script>'
    )
    return page.as_uri()


@pytest.fixture(params=[320, 1280])
def tab(browser: Any, request: Any) -> Iterator[Any]:
    """Open a tab that gathers what goes wrong in it."""
    page, wrong = browser.new_page(viewport={"width": request.param, "height": 900}), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    page.close()
    assert wrong == []


@pytest.fixture
def plays(tab: Any, data: dict[str, Any]) -> Callable[[int], list]:
    """Return a check that an event is shown; it returns the picture and its height."""

    def check(event: int) -> list:
        step, words = data["steps"][event], f"{event} of {EVENTS}"
        tab.wait_for_function(f"({STATE})()[0] === '{words}'")
        state = tab.evaluate(STATE)
        line = data["code"][step["first"] - 1]
        assert state[:5] == [words, line, step["said"], f"#step-{event + 1}", event]
        assert tab.evaluate(FITS)
        return state[5:]

    return check


def test_the_first_picture_plays(tab: Any, player: str, plays: Callable) -> None:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(Path(request.url).name))
    tab.goto(player)
    *_, at_first, high = tab.evaluate(STATE)
    assert not [name for name in asked if name.startswith("steps")]
    forward = tab.get_by_role("button", name="Forward")
    forward.press("Enter")
    assert plays(3)[1] == high
    for key, event in ("ArrowLeft", 2), ("ArrowLeft", 1), ("ArrowLeft", 1), ("End", 5):
        tab.keyboard.press(key)
        picture, now_high = plays(event)
        # Off the first event and back to it, the picture is the same.
        assert (picture == at_first, now_high) == (event == LEAD, high)
    assert forward.get_attribute("aria-disabled") == "true"
    # A dot for each event jumps there; the arrows take the focus along.
    tab.get_by_role("button", name="4: z += 1").click()
    plays(4)
    tab.keyboard.press("ArrowRight")
    plays(5)
    assert tab.evaluate("document.activeElement.ariaLabel") == "5: loss = c * w"
    tab.get_by_role("button", name="To the start").click()
    plays(1)
    loaded = sorted(name for name in asked if name.startswith("steps"))
    assert loaded == ["steps.css", "steps.js", "steps.lesson.js"]
    # Elsewhere the keys do what they always do.
    tab.evaluate("document.activeElement.blur()")
    tab.keyboard.press("ArrowRight")
    plays(1)


def test_it_is_opened_large_and_by_an_address(
    tab: Any, player: str, plays: Callable
) -> None:
    tab.goto(f"{player}#step-5")
    tab.locator(".steps-dialog").wait_for(state="attached")
    plays(4)
    assert not tab.get_by_role("dialog").is_visible() and axe_of(tab) == []
    large = tab.get_by_role("button", name="Open large")
    large.press("Enter")
    tab.get_by_role("dialog", name="What moves").wait_for()
    assert tab.locator(".steps-count").text_content() == f"4 of {EVENTS}"
    assert tab.locator(".steps-see svg").is_visible() and axe_of(tab) == []
    assert tab.evaluate(FOCUSED) == "Forward"
    tab.keyboard.press("End")
    tab.keyboard.press("Escape")
    tab.wait_for_function("!document.querySelector('dialog[open]')")
    plays(5)
    assert tab.evaluate(FOCUSED) == "Open large"
    # A line between two events is shown among all lines.
    tab.goto("about:blank")
    tab.goto(f"{player}#step-1")
    tab.wait_for_function(f"({STATE})()[0] === '1 of {EVENTS + 1}'")


def test_without_scripts_or_steps_it_is_a_picture(browser: Any, player: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(player)
    assert page.locator(".player-now > svg").is_visible()
    assert page.locator(".player-statement").inner_text() == "z = w.detach()"
    assert not page.get_by_role("button").count()
    context.close()
    page = browser.new_page()
    page.route("**/steps.lesson.js", lambda route: route.abort())
    page.goto(player)
    page.get_by_role("button", name="Forward").click()
    page.get_by_text("try again").wait_for()
    page.unroute("**/steps.lesson.js")
    page.get_by_role("button", name="Forward").click()
    page.wait_for_function(f"({STATE})()[0] === '3 of {EVENTS}'")
    page.close()


def test_the_steps_of_each_lesson_are_kept_and_light(site: Path) -> None:
    for script in SCRIPTS:
        page = f"auto_examples/{script.parent.name}/{script.stem}"
        path = steps_file(ROOT / "docs", page)
        is_played = is_watched(script) and opening_of(script) != ()
        assert path.exists() == is_played, script.stem
        shown = soup(site / f"{page}.html").select(".player")
        assert bool(shown) == is_played, script.stem
        if is_played:
            text = path.read_text(encoding="utf-8")
            assert len(gzip.compress(text.encode(), 9)) <= 12_000
            data = json.loads(text)
            assert "sphinx_gallery_" not in "\n".join(data["code"])
            statements = ast.parse("\n".join(data["code"])).body
            first = {step["first"] for step in data["steps"]}
            simple = {node.lineno for node in statements if not hasattr(node, "body")}
            assert simple <= first, script.stem
