"""Steps as a reader has them: in a file, in a notebook and on a lesson's page."""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import ROOT
from steps_data import MOVING, moving
from tensor_copies.figures.steps import size_of_events
from tensor_copies.lessons.player import as_script, shown_first
from tensor_copies.markup import TEMPLATES
from tensor_maps import Steps
from tensor_maps.steps.viewer import asset, save_steps, steps_frame, steps_page

MOST_OF_VIEWER = 8_000  # bytes, compressed
BREAKS_OUT = "</script><script>document.title = 'out'</script><img src=x onerror=out()>"
PROGRAM = f"""import torch
w = torch.ones(2, requires_grad=True)
z = w.detach()
print({BREAKS_OUT!r})
for turn in range(3):
    z += 1
    print("turn", turn)
last = w.sum()
"""
# Places in the steps of the program, from 0.
DETACHED, PRINTED, WRITTEN = 2, 3, 4
AXE = AXE_FILE_PATH.read_text(encoding="utf-8")
PROBLEMS = """async () => {
  const {violations} = await axe.run(document, {resultTypes: ["violations"]});
  const places = (one) => one.nodes.slice(0, 3).map((node) => String(node.target));
  return violations.map((one) => [one.id, ...places(one)]);
}"""
FITS = "document.documentElement.scrollWidth <= innerWidth"
SMALL = """(least) => [...document.querySelectorAll(
    ".steps :is(button, label, a, input[type=range])")]
  .filter((one) => one.checkVisibility())
  .map((one) => [one.textContent, one.getBoundingClientRect()])
  .filter(([, box]) => Math.min(box.width, box.height) < least).map(([text]) => text)"""
LIT = "[...document.querySelectorAll('.steps-line')].flatMap((one, at) => "
LIT += "one.classList.contains('lit') ? [at + 1] : [])"
FAINT = LIT.replace("('lit')", "('future')")
FOCUSED = "document.activeElement.textContent"
# What moves is noted when it begins: how long it takes hangs on the machine.
NOTE_MOVES = """
window.moved = [];
const animate = Element.prototype.animate;
Element.prototype.animate = function (frames, options) {
  window.moved.push([this.getAttribute("class") ?? this.tagName, options.duration]);
  return animate.call(this, frames, options);
};"""
ALL_NAMED = "[...document.querySelectorAll('*')].map((one) => one.localName)"
# Elements of a page without scripts; a frame's text has no others than its last ones.
ELEMENTS = {"html", "head", "meta", "title", "link", "style", "body", "main", "h1"}
ELEMENTS |= {"footer", "script", "pre", "ol", "li", "b", "code", "br"}
NASTY = [
    *("</script>", "<!--<script>", "]]>", "</pre>", "</title>", "</style>", "&lt;"),
    *("<img src=x onerror=x()>", '" onload="x()', "' onload='x()", "$title", "${x}"),
    *("\x00", "\ud800", "\udfff\ud800", "\u202e", "\u05d0\u05d1", "\x1b[31m", "\uffff"),
    *(
        "\n",
        "\r",
        "\r\n",
        "\t",
        "\u2028",
        "\ufeff",
        "\u0085",
        "\U0001f469\u200d\U0001f4bb",
    ),
]
TEXTS = st.lists(st.sampled_from(NASTY) | st.text(max_size=4), max_size=6).map("".join)


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    """Return the steps of a program that prints what would break out of a page."""
    seen = Steps(f"Title {BREAKS_OUT}").run(PROGRAM, {"__name__": "__main__"})
    return seen.data()


@pytest.fixture
def events(data: dict[str, Any]) -> list[int]:
    """Return the places of the events among the steps."""
    return [place for place, step in enumerate(data["steps"]) if step["event"]]


@pytest.fixture
def saved(data: dict[str, Any], tmp_path: Path) -> Path:
    """Return the file that the steps are saved in."""
    save_steps(data, tmp_path / "bug.html")
    return tmp_path / "bug.html"


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """Open a narrow tab that gathers what goes wrong in it."""
    page = browser.new_page(viewport={"width": 320, "height": 700})
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console",
        lambda said: wrong.append(said.text) if said.type == "error" else None,
    )
    yield page
    page.close()
    assert wrong == []


def number(page: Any) -> str:
    """Return which step is shown, of how many."""
    return page.locator(".steps-count").text_content()


def said_on(page: Any) -> str:
    """Return the sentence that is shown."""
    return page.locator(".steps-said > p").first.text_content()


def asked_for_steps(asked: list[str]) -> list[str]:
    """Return the names of the files of steps among what a page asked for."""
    return [Path(urlsplit(one).path).name for one in asked if "_static/steps" in one]


def read_back(page: str) -> tuple[BeautifulSoup, dict[str, Any]]:
    """Return a page as a browser reads it, and the steps that are in it."""
    read = BeautifulSoup(page, "html5lib")
    data = json.loads(read.select_one("#data").string)
    for step, item in zip(data["steps"], read.select("main > ol > li"), strict=True):
        printed = item.find("pre")
        step["printed"] = printed.get_text() if printed else ""
    return read, data


# -- One file -------------------------------------------------------------------------


def test_the_file_is_whole_and_lets_nothing_else_run(data: dict[str, Any]) -> None:
    page, kept = read_back(steps_page(data))
    assert kept == data
    script = page.select("script")[-1]
    assert BREAKS_OUT not in page.select_one("#data").string
    assert page.title.string == data["title"] == page.h1.string
    loaded = [tag for tag in page.find_all(True) if tag.get("src") or tag.get("href")]
    assert [tag["href"] for tag in loaded] == ["data:,"]
    policy = page.select_one("meta[http-equiv]")["content"]
    for part in (script, page.style):
        digest = hashlib.sha256(part.string.encode()).digest()
        assert f"'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert "default-src 'none'" in policy and "unsafe" not in policy
    # Without scripts it is a list of what happened.
    for item, step in zip(page.select("ol > li"), data["steps"], strict=True):
        assert step["said"] in item.get_text()
        marks = [mark.get_text() for mark in item.select("b")]
        assert marks == ([f"{step['event']}:"] if step["event"] else [])
    assert page.select_one("main > pre").get_text() == "\n".join(data["code"])
    assert data["torch"] in page.footer.get_text()
    assert "tensor_maps" in page.footer.get_text()


@settings(max_examples=40, deadline=None)
@given(TEXTS, TEXTS, TEXTS, TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_any_text_stays_text(
    title: str, printed: str, said: str, raised: str, code: list[str]
) -> None:
    step = {"first": 1, "last": len(code), "turn": [], "changed": [], "names": [title]}
    step |= {"said": said, "printed": printed, "raised": raised, "event": "raises"}
    step |= {"drawing": None, "note": said}
    steps = [step, step | {"printed": "", "event": None}]
    data = {"format": 2, "title": title, "torch": "2.13.0", "code": code}
    data |= {"steps": steps, "drawings": [], "captions": []}
    page = steps_page(data)
    page.encode()  # a notebook and a file are UTF-8
    read, kept = read_back(page)
    assert {tag.name for tag in read.find_all(True)} <= ELEMENTS
    assert not [tag for tag in read.find_all(True) if {"onload", "src"} & {*tag.attrs}]
    assert len(read.select("li")) == 2 and len(read.select("script")) == 2
    shown = kept["steps"][0]
    letters = "".join(filter(str.isalnum, printed))
    assert "".join(filter(str.isalnum, shown["printed"])) == letters
    for mark in ("\u202e", "\x00", "\x1b"):
        assert mark not in page
    if printed.isprintable() and title.isprintable():
        assert shown["printed"] == printed and kept["title"] == title
        assert shown["names"] == [title]
    frame = BeautifulSoup(steps_frame(data), "html5lib")
    assert frame.iframe["srcdoc"] == steps_page(data, "")
    around = {tag.name for tag in frame.body.find_all(True)}
    assert around <= {"iframe", "details", "summary", "ol", "li", "b", "code", "br"}


def test_much_output_is_cut_and_quickly() -> None:
    program = (
        "print('<b>' * 3_500_000)\nfor k in range(3):\n    print('y\\n' * 10**6)\n"
    )
    with contextlib.redirect_stdout(io.StringIO()) as heard:
        page = steps_page(Steps("Much").run(program, {}).data())
    assert len(heard.getvalue()) > 10**7 and len(page) < 10**6
    shown = [step["printed"] for step in read_back(page)[1]["steps"]]
    assert max(map(len, shown)) == 20_000 and "more characters" in page


def test_a_frame_holds_the_file_and_the_events_as_text(data: dict[str, Any]) -> None:
    shown = BeautifulSoup(steps_frame(data), "html.parser")
    assert read_back(shown.iframe["srcdoc"])[1] == data
    assert shown.iframe["title"] == f"Steps of {data['title']}"
    assert not shown.select("script, img")
    told = [step for step in data["steps"] if step["event"]]
    assert shown.summary.get_text() == f"{len(told)} events as text"
    for item, step in zip(shown.select("details li"), told, strict=True):
        statement = data["code"][step["first"] - 1].strip()
        assert item.code.get_text().startswith(statement)
        assert step["said"] in item.get_text()
    assert "no steps" in steps_frame({**data, "steps": []})
    plain = [step | {"event": None} for step in data["steps"]]
    shown = BeautifulSoup(steps_frame({**data, "steps": plain}), "html.parser")
    assert shown.summary.get_text() == f"{len(plain)} statements as text"
    assert len(shown.select("details li")) == len(plain)


def test_the_viewer_is_small() -> None:
    parts = asset("steps.js"), asset("steps.css")
    weights = [len(gzip.compress(part.encode(), 9)) for part in parts]
    assert sum(weights) < MOST_OF_VIEWER


def test_the_file_loads_nothing_and_holds_hostile_text(
    browser: Any, saved: Path, data: dict[str, Any]
) -> None:
    context = browser.new_context(bypass_csp=False)  # the file has a policy of its own
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(saved.as_uri())
    page.keyboard.press("End")
    assert [one for one in asked if not one.startswith("data:")] == [saved.as_uri()]
    assert page.title() == data["title"]
    assert not page.locator("img").count()
    assert BREAKS_OUT in page.locator(".steps-output").text_content()
    assert page.locator(".steps h1").text_content() == data["title"]
    # What gets in all the same does not run: the file's own policy sees to it.
    refused = page.evaluate(
        """() => new Promise((done) => {
          addEventListener("securitypolicyviolation", (event) => {
            if (event.effectiveDirective === "script-src-attr") done(true);
          });
          document.body.insertAdjacentHTML(
            "beforeend", "<img src=x onerror='document.title = 1'>");
        })"""
    )
    assert refused and page.title() == data["title"]
    context.close()


def test_a_browser_shows_any_text(tab: Any, tmp_path: Path, data: dict) -> None:
    texts = [f"{one}a{one}" for one in NASTY]
    steps = [
        data["steps"][0]
        | {"printed": text, "said": text, "raised": text, "event": None}
        for text in texts
    ]
    odd = data | {"title": "".join(texts), "steps": steps}
    save_steps(odd, tmp_path / "odd.html")
    tab.goto((tmp_path / "odd.html").as_uri())
    tab.keyboard.press("End")
    kept = read_back((tmp_path / "odd.html").read_text(encoding="utf-8"))[1]
    printed = "".join(step["printed"] for step in kept["steps"])
    assert tab.locator(".steps-output").text_content() == printed
    assert said_on(tab) == kept["steps"][-1]["said"]
    assert not {"img", "iframe", "object"} & {*tab.evaluate(ALL_NAMED)}
    assert tab.locator("script").count() == 2 and tab.evaluate(FITS)


# -- Going from event to event ---------------------------------------------------------


def test_all_controls_by_keyboard(
    tab: Any, saved: Path, data: dict[str, Any], events: list[int]
) -> None:
    steps, count = data["steps"], len(events)
    assert 2 < count < len(steps)
    tab.goto(saved.as_uri())

    def shows(at: int) -> None:
        place = events[at]
        step = steps[place]
        until = [*events, len(steps)][at + 1]
        assert number(tab) == f"{at + 1} of {count}"
        assert said_on(tab) == step["said"]
        first, last = step["first"], step["last"]
        assert tab.evaluate(LIT) == [*range(first, last + 1)]
        statement = tab.locator(".steps-said code").first.text_content()
        assert statement == "\n".join(data["code"][first - 1 : last]).strip()
        assert tab.locator(".steps-kind").text_content()[1:] == step["event"]
        assert tab.evaluate("location.hash") == f"#step-{place + 1}"
        # What is printed before the next event belongs to this one.
        printed = "".join(step["printed"] for step in steps[:until])
        assert tab.locator(".steps-output").text_content() == printed
        new = "".join(one["printed"] for one in steps[place if at else 0 : until])
        assert tab.locator(".steps-output b").text_content() == new
        # What has not run yet is faint.
        ran = {n for one in steps[:until] for n in range(one["first"], one["last"] + 1)}
        faint = tab.evaluate(FAINT)
        assert faint == [n for n in range(1, len(data["code"]) + 1) if n not in ran]
        mark = tab.locator(".steps-marks .lit")
        assert mark.get_attribute("class") == f"{step['event']} lit"
        assert mark.text_content() == tab.locator(".steps-kind b").text_content() != ""
        assert tab.evaluate(FITS)

    shows(0)
    tab.keyboard.press("End")
    tab.keyboard.press("ArrowRight")
    shows(count - 1)
    tab.keyboard.press("ArrowLeft")
    shows(count - 2)
    tab.keyboard.press("Home")
    tab.keyboard.press("ArrowLeft")
    shows(0)
    tab.keyboard.press("End")
    tab.get_by_role("button", name="Back").press("Enter")
    shows(count - 2)
    tab.get_by_role("button", name="Forward").press("Space")
    shows(count - 1)
    slider = tab.get_by_role("slider", name="Step")
    slider.press("Home")
    slider.press("PageUp")
    assert slider.get_attribute("aria-valuetext").startswith(f"{number(tab)}: ")
    assert slider.input_value() == number(tab).split()[0]
    tab.reload()
    assert number(tab) == f"{slider.input_value()} of {count}"
    link = tab.get_by_role("link", name="Link").get_attribute("href")
    assert link == tab.evaluate("location.hash")
    assert tab.evaluate(SMALL, 24) == []


def test_every_line_is_a_switch(
    tab: Any, saved: Path, data: dict[str, Any], events: list[int]
) -> None:
    count = len(data["steps"])
    tab.goto(f"{saved.as_uri()}#step-{WRITTEN + 1}")
    switch = tab.get_by_role("switch", name="Every line")
    assert not switch.is_checked()
    switch.press("Space")
    assert number(tab) == f"{WRITTEN + 1} of {count}"
    assert tab.locator(".steps-marks > i").count() == len(events)
    tab.keyboard.press("ArrowLeft")
    assert number(tab) == f"{PRINTED + 1} of {count}"
    assert not tab.locator(".steps-kind").is_visible()
    # It holds as long as the tab is open, and ends at the event before.
    tab.reload()
    assert switch.is_checked() and number(tab) == f"{PRINTED + 1} of {count}"
    switch.press("Space")
    assert number(tab) == f"{events.index(DETACHED) + 1} of {len(events)}"
    assert said_on(tab) == data["steps"][DETACHED]["said"]
    tab.reload()
    assert not switch.is_checked()


def test_an_address_is_the_same_moment_for_everybody(
    tab: Any, saved: Path, data: dict[str, Any], events: list[int]
) -> None:
    tab.goto(f"{saved.as_uri()}#step-{DETACHED + 1}")
    assert number(tab) == f"{events.index(DETACHED) + 1} of {len(events)}"
    # An old link, to a line between two events, shows all lines, and only here.
    tab.evaluate(f"location.hash = '#step-{PRINTED + 1}'")
    tab.wait_for_function("document.querySelector('.steps input[role]').checked")
    assert number(tab) == f"{PRINTED + 1} of {len(data['steps'])}"
    assert said_on(tab) == data["steps"][PRINTED]["said"]
    tab.evaluate("location.hash = ''")
    tab.reload()
    assert number(tab) == f"1 of {len(events)}"
    for nowhere, place in (
        ("#step-999", len(data["steps"])),
        ("#other-2", events[0] + 1),
    ):
        tab.goto("about:blank")
        tab.goto(saved.as_uri() + nowhere)
        assert tab.evaluate("location.hash") == f"#step-{place}"


def test_without_events_every_line_is_shown(
    tab: Any, tmp_path: Path, data: dict
) -> None:
    plain = [step | {"event": None} for step in data["steps"]]
    for name, steps, shown in (("no", plain, len(plain)), ("one", plain[:1], 1)):
        save_steps(data | {"steps": steps}, tmp_path / f"{name}.html")
        tab.goto((tmp_path / f"{name}.html").as_uri())
        assert number(tab) == f"1 of {shown}"
        assert not tab.get_by_role("switch").is_visible()
        assert tab.get_by_role("slider").is_visible() == (shown > 1)


def test_a_loop_is_left_and_an_iteration_passed(
    tab: Any, saved: Path, data: dict[str, Any]
) -> None:
    inside = [place for place, one in enumerate(data["steps"]) if one["turn"]]
    second = next(at for at in inside if data["steps"][at]["turn"] == [[2, 3]])
    tab.goto(f"{saved.as_uri()}#step-{WRITTEN + 1}")
    following = tab.get_by_role("button", name="Next iteration")
    past = tab.get_by_role("button", name="After the loop")
    # Each iteration is one event: forward leads to the next one as well.
    assert not following.is_visible() and past.is_visible()
    tab.get_by_role("switch").press("Space")
    assert tab.locator(".steps-turns").text_content() == "iteration 1 of 3"
    following.press("Enter")
    assert number(tab).startswith(f"{second + 1} of")
    assert tab.locator(".steps-turns").text_content() == "iteration 2 of 3"
    past.press("Enter")
    assert number(tab).startswith(f"{inside[-1] + 2} of")
    assert not past.is_visible() and not tab.locator(".steps-turns").is_visible()
    assert tab.evaluate(FOCUSED) == "Forward"  # what was pressed is gone


# -- Pictures --------------------------------------------------------------------------


def test_motion_is_for_those_who_want_it_and_only_forward(
    browser: Any, tmp_path: Path
) -> None:
    save_steps(moving(), tmp_path / "moving.html")
    moves = [
        [],
        ["tm-cut"],
        ["tm-row", "tm-tag"],
        ["circle", "tm-cell changed"],
        ["tm-arc"],
    ]
    for wanted in ("reduce", "no-preference"):
        context = browser.new_context(reduced_motion=wanted)
        page, wrong = context.new_page(), []
        page.add_init_script(NOTE_MOVES)
        page.on("pageerror", lambda error, wrong=wrong: wrong.append(str(error)))
        page.goto((tmp_path / "moving.html").as_uri())

        def moved(page: Any = page) -> list[str]:
            found = page.evaluate("window.moved.splice(0)")
            # What the animations ask for in milliseconds; no clock is read.
            assert all(asked_for <= 500 for _, asked_for in found)
            return sorted(name for name, _ in found)

        for at, expected in enumerate(moves):
            if at:
                page.keyboard.press("ArrowRight")
            assert number(page) == f"{at + 1} of 5"
            assert moved() == (expected if wanted != "reduce" else [])
        for place in range(3, 0, -1):
            page.keyboard.press("ArrowLeft")
            assert number(page) == f"{place + 1} of 5" and moved() == []
        # What carried the write is gone again.
        page.wait_for_function("document.querySelector('.steps-see circle') === null")
        assert wrong == []
        context.close()


def test_its_marks_are_named_and_its_caption_is_told(tab: Any, tmp_path: Path) -> None:
    save_steps(moving(), tmp_path / "moving.html")
    tab.goto(f"{(tmp_path / 'moving.html').as_uri()}#step-3")
    legend = tab.locator(".steps-legend > span").all_text_contents()
    assert legend == ["+ appears", "\u2193 written", "| cut", "\u2207 gradient"]
    assert tab.locator(".steps-see svg[role=img][aria-label]").count() == 1
    assert tab.locator(".steps-caption").text_content() == "one memory"
    # A step before there is any tensor says so.
    tab.evaluate("location.hash = '#step-1'")
    tab.wait_for_function("!document.querySelector('.steps-see svg')")
    assert "no tensor" in tab.locator(".steps-see").text_content()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (320, 700)])
def test_the_picture_is_large_and_beside_its_sentence(
    browser: Any, tmp_path: Path, width: int, height: int
) -> None:
    save_steps(moving(), tmp_path / "moving.html")
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto((tmp_path / "moving.html").as_uri())
    page.keyboard.press("End")
    svg, code, said, see = (
        page.locator(f".steps-{name}").bounding_box()
        for name in ("see svg", "code", "said", "see")
    )
    assert svg["width"] >= (400 if width > 1000 else 280)
    assert see["y"] + see["height"] <= said["y"]
    if width > 1000:
        assert code["x"] + code["width"] <= see["x"] and said["x"] == see["x"]
    else:
        assert said["y"] + said["height"] <= code["y"]
        assert code["y"] + code["height"] <= height
    page.close()


# -- In a notebook ---------------------------------------------------------------------


def test_a_frame_of_a_notebook_has_its_colours(
    browser: Any, data: dict[str, Any]
) -> None:
    page = browser.new_page(viewport={"width": 800, "height": 700})
    # A notebook's colours need not be those of the system.
    page.set_content(f"<body style='background: #111; color: #eee'>{steps_frame(data)}")
    frame = page.locator("iframe").element_handle().content_frame()
    count = sum(bool(step["event"]) for step in data["steps"])
    assert number(frame) == f"1 of {count}"
    frame.get_by_role("button", name="Forward").press("End")
    assert number(frame) == f"{count} of {count}"
    assert not frame.get_by_role("link").is_visible()  # a frame has no address
    scheme = "getComputedStyle(document.documentElement).colorScheme"
    assert frame.evaluate(scheme) == "dark"
    page.evaluate("document.body.style = 'background: #fff; color: #111'")
    frame.wait_for_function(f"{scheme} === 'light'")
    page.close()


# -- On a lesson's page ----------------------------------------------------------------


# -- The player: the picture that opens a lesson ---------------------------------------

LEAD = 2  # of the steps: its event is shown first
STATE = """() => {
  const part = (name) => document.querySelector(`.player-${name}`);
  const dots = [...document.querySelectorAll(".player-dots > button")];
  return [part("count").textContent, part("statement").textContent,
    part("said").textContent, part("now").innerHTML.trim(),
    dots.findIndex((dot) => dot.ariaCurrent === "step") + 1, location.hash];
}"""
HEIGHT = "document.querySelector('.player').getBoundingClientRect().height"


@pytest.fixture
def player(tmp_path: Path) -> Path:
    """Return a page with a player as a lesson has it, and the site's own script."""
    static = tmp_path / "_static"
    static.mkdir()
    for name in ("code.js", "lessons.css"):
        shutil.copy(ROOT / "conf" / "static" / name, static)
    for name in ("steps.js", "steps.css", "page.css"):
        (static / name).write_text(asset(name), encoding="utf-8")
    data = moving() | {"lead": LEAD}
    data["wide"], data["high"] = size_of_events(data)
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
    return page


@pytest.mark.parametrize("width", [320, 1280])
def test_the_first_picture_plays(tab: Any, player: Path, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(player.as_uri())
    at_first = tab.evaluate(STATE)
    own = moving()["drawings"][LEAD - 1]
    read = BeautifulSoup(own, "html.parser").svg
    assert at_first[:3] == ["2 of 5", "z = w.detach()", "z shares w's memory."]
    assert BeautifulSoup(at_first[3], "html.parser").svg.attrs == read.attrs
    assert asked_for_steps(asked) == []
    high = tab.evaluate(HEIGHT)

    def shows(place: int, step: dict[str, Any]) -> None:
        tab.wait_for_function(
            "(text) => document.querySelector('.player-count').textContent === text",
            arg=f"{place} of 5",
        )
        wanted = [f"{place} of 5", MOVING[step["first"] - 1], step["said"]]
        state = tab.evaluate(STATE)
        assert state[:3] + state[4:] == [*wanted, place, f"#step-{place + 1}"]
        # Off the first event and back to it, the picture is the same.
        assert (state[3] == at_first[3]) == (place == LEAD)
        assert tab.evaluate(HEIGHT) == high and tab.evaluate(FITS)

    steps = moving()["steps"]
    forward = tab.get_by_role("button", name="Forward")
    forward.press("Enter")
    shows(3, steps[3])
    wanted = ["steps.css", "steps.js", "steps.lesson.js"]
    assert sorted(asked_for_steps(asked)) == wanted
    for key, place in (("ArrowLeft", 2), ("ArrowLeft", 1), ("End", 5), ("Home", 1)):
        tab.keyboard.press(key)
        shows(place, steps[place])
    tab.keyboard.press("ArrowLeft")
    shows(1, steps[1])
    back = tab.get_by_role("button", name="Back")
    assert back.get_attribute("aria-disabled") == "true"
    forward.click()
    shows(2, steps[2])
    assert back.get_attribute("aria-disabled") == "false"
    assert sorted(asked_for_steps(asked)) == wanted
    # A dot for each event jumps there; the arrows take the focus along.
    tab.get_by_role("button", name="4: z += 1").click()
    shows(4, steps[4])
    tab.keyboard.press("ArrowRight")
    shows(5, steps[5])
    assert tab.evaluate("document.activeElement.ariaLabel") == "5: l = c * w"
    tab.get_by_role("button", name="To the start").click()
    shows(1, steps[1])
    forward.click()
    shows(2, steps[2])
    # Elsewhere the keys do what they always do.
    tab.evaluate("document.activeElement.blur()")
    tab.keyboard.press("ArrowRight")
    shows(2, steps[2])


def test_the_player_is_opened_large_at_its_event(tab: Any, player: Path) -> None:
    tab.goto(player.as_uri())
    large = tab.get_by_role("button", name="Open large")
    large.press("Enter")
    dialog = tab.get_by_role("dialog", name="What moves")
    dialog.wait_for()
    assert number(tab) == "2 of 5" and tab.evaluate(FOCUSED) == "Forward"
    assert dialog.locator(".steps-see svg").is_visible()
    tab.keyboard.press("End")
    tab.keyboard.press("Escape")
    tab.wait_for_function("!document.querySelector('dialog[open]')")
    state = tab.evaluate(STATE)
    assert state[0] == "5 of 5" and state[4:] == [5, "#step-6"]
    assert tab.evaluate(FOCUSED) == "Open large"


def test_an_address_shows_its_event_in_the_picture(tab: Any, player: Path) -> None:
    for place, shown in ((5, "4 of 5"), (3, "2 of 5"), (1, "1 of 6")):
        tab.goto("about:blank")
        tab.goto(f"{player.as_uri()}#step-{place}")
        tab.wait_for_function("document.querySelector('.steps-dialog')")
        state = tab.evaluate(STATE)
        assert state[0] == shown and state[5] == f"#step-{place}"
        assert not tab.get_by_role("dialog").is_visible()
    tab.evaluate("location.hash = '#step-6'")
    tab.wait_for_function(f"({STATE})()[0] === '6 of 6'")
    assert tab.evaluate(STATE)[2] == moving()["steps"][5]["said"]


def test_without_scripts_it_is_a_picture_with_a_caption(
    browser: Any, player: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(player.as_uri())
    assert page.locator(".player-now > svg").is_visible()
    assert page.locator(".player-statement").inner_text() == "z = w.detach()"
    assert page.locator(".player-said").inner_text() == "z shares w's memory."
    assert not page.get_by_role("button").count()
    assert not page.get_by_text("2 of 5").is_visible()
    context.close()


def test_a_player_that_does_not_load_says_so(browser: Any, player: Path) -> None:
    steps = player.with_name("_static") / "steps.lesson.js"
    kept = steps.rename(steps.with_suffix(".kept"))
    tab = browser.new_page()
    tab.goto(player.as_uri())
    forward = tab.get_by_role("button", name="Forward")
    forward.click()
    tab.get_by_text("try again").wait_for()
    kept.rename(steps)
    forward.click()
    tab.wait_for_function(f"({STATE})()[0] === '3 of 5'")
    tab.close()


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 320), ("dark", 1280), ("dark", 320)]
)
def test_axe_finds_nothing_in_steps(
    browser: Any, player: Path, saved: Path, scheme: str, width: int
) -> None:
    view = {"width": width, "height": 900}
    context = browser.new_context(
        viewport=view, color_scheme=scheme, reduced_motion="reduce", bypass_csp=True
    )
    page, found = context.new_page(), []
    addresses = [f"{player.as_uri()}#step-{place}" for place in (1, 5)]
    for address in (*addresses, f"{saved.as_uri()}#step-{DETACHED}"):
        page.goto("about:blank")
        page.goto(address)
        page.locator(".steps").wait_for(state="attached")
        page.evaluate(AXE)
        found += page.evaluate(PROBLEMS)
        found += page.evaluate(SMALL.replace(".steps", ".player"), 24)
        if page.locator(".player-large").count():
            page.locator(".player-large").click()
            found += page.evaluate(PROBLEMS)
    context.close()
    assert found == []
