"""Steps as a reader has them: in a file and in a notebook."""

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from conftest import opened
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import axe_of
from running import leaf, ran
from tensor_maps import tensor_map
from tensor_maps.steps.viewer import asset, steps_frame, steps_page

BREAKS_OUT = "</script><script>document.title = 'out'</script><img src=x onerror=out()>"
PROGRAM = f"""import torch
w = torch.ones(1, requires_grad=True)
z = w.detach()
print({BREAKS_OUT!r})
c = z.clone()
z += 1
loss = c * w
for turn in range(3):
    z += 1
    print("turn", turn)
last = w.sum()
print("end")
"""
CUT, PRINTED, FIRST_TURN, SECOND_TURN, AFTER_LOOP = 3, 4, 8, 10, 14
TRAINING = """
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters())
x, y = torch.randn(32, 8), torch.randn(32, 1)
for epoch in range(5):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FITS = "document.documentElement.scrollWidth <= innerWidth"
SMALL = """[...document.querySelectorAll(
    ".steps :is(button, label, a, input[type=range])")]
  .filter((one) => one.checkVisibility())
  .map((one) => [one.textContent, one.getBoundingClientRect()])
  .filter(([, box]) => Math.min(box.width, box.height) < 24).map(([text]) => text)"""
LINES = """(kind) => [...document.querySelectorAll('.steps-line')]
  .flatMap((one, at) => one.classList.contains(kind) ? [at + 1] : [])"""
NASTY = ["</script>", "<!--<script>", "]]>", "</pre>", "</title>", "</style>", "&lt;"]
NASTY += ["<img src=x onerror=x()>", '" onload="x()', "' onload='x()", "$title", "${x}"]
NASTY += [*"\x00\ud800\u202e\u05d0\x1b\uffff\n\r\t\u2028\ufeff\x85\u200d", "\r\n"]
TEXTS = st.lists(st.sampled_from(NASTY) | st.text(max_size=4), max_size=6).map("".join)


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    """Return the steps of a program that prints what would break out of a page."""
    return ran(PROGRAM, title=f"Title {BREAKS_OUT}").data()


@pytest.fixture(scope="module")
def events(data: dict[str, Any]) -> list[int]:
    """Return the numbers of the steps that are events, from 1."""
    return [number for number, one in enumerate(data["steps"], 1) if one["event"]]


@pytest.fixture
def saved(data: dict[str, Any], tmp_path: Path) -> str:
    """Return the address of these steps in a file."""
    (tmp_path / "bug.html").write_text(steps_page(data), encoding="utf-8")
    return (tmp_path / "bug.html").as_uri()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """Open a narrow tab that gathers what goes wrong in it."""
    with opened(browser) as go:
        page, wrong = go(viewport={"width": 320, "height": 700}), []
        page.on(
            "console", lambda said: said.type == "error" and wrong.append(said.text)
        )
        yield page
        assert wrong == []


def shown(page: Any, part: str) -> str:
    return page.locator(f".steps-{part}").first.text_content()


def open_at(page: Any, address: str) -> None:
    page.goto("about:blank")
    page.goto(address)
    page.locator(".steps").wait_for(state="attached")


# -- One file, and a cell's output -----------------------------------------------------


def outline(html: str) -> list[tuple[str, list[str]]]:
    """Return what a page is made of, as a browser reads it."""
    tags = BeautifulSoup(html, "html5lib").find_all(True)
    return [(tag.name, [*tag.attrs]) for tag in tags]


def steps_of(title: str, printed: str, said: str, *code: str) -> dict[str, Any]:
    step = {"first": 1, "last": len(code), "turn": [], "names": [], "said": said}
    step |= {"printed": printed, "raised": said, "event": "cut", "drawing": None}
    steps = [step, step | {"printed": "", "event": None}]
    data = {"title": title, "torch": "2.13.0", "code": [*code], "steps": steps}
    return data | {"drawings": [], "captions": []}


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXTS, min_size=4, max_size=6))
def test_any_text_stays_text(texts: list[str]) -> None:
    data, plain = steps_of(*texts), steps_of(*(text and "a" for text in texts))
    page = steps_page(data)
    page.encode()  # a notebook and a file are UTF-8
    assert outline(page) == outline(steps_page(plain))
    assert outline(steps_frame(data)) == outline(steps_frame(plain))
    read = BeautifulSoup(page, "html5lib")
    packed = base64.b64decode(read.select_one("#data").string, validate=True)
    kept = json.loads(gzip.decompress(packed))
    assert kept == data or not "".join(texts).isprintable()
    assert not {"\u202e", "\x00", "\x1b"} & {*page, *kept["title"]}
    # Without scripts it is a list.
    assert read.select_one("main > pre").get_text() == "\n".join(kept["code"])
    for item, one in zip(read.select("li"), kept["steps"], strict=True):
        assert one["said"] in item.get_text()
        assert (item.pre.get_text() if item.pre else "") == one["printed"]


def test_a_cell_is_small_and_tells_its_events_as_text(
    data: dict[str, Any], events: list[int]
) -> None:
    seen = ran(TRAINING)
    cell = {"text/html": seen._repr_html_(), "text/plain": repr(seen)}
    assert len(json.dumps(cell)) < 60_000
    viewer = asset("steps.js") + asset("steps.css")
    assert len(gzip.compress(viewer.encode(), 9)) < 8_000
    plain = data | {"steps": [step | {"event": None} for step in data["steps"]]}
    every = [*range(1, len(data["steps"]) + 1)]
    for kind, one, numbers in ("event", data, events), ("statement", plain, every):
        page = BeautifulSoup(steps_frame(one), "html.parser")
        assert [int(item["value"]) for item in page.select("li")] == numbers
        assert page.summary.string == f"{len(numbers)} {kind}s as text"
    assert "no steps" in steps_frame(data | {"steps": []})


def test_the_file_loads_nothing_and_shows_text_as_text(
    tab: Any, saved: str, data: dict[str, Any]
) -> None:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(saved)
    tab.get_by_role("button", name="Forward").press("End")
    assert shown(tab, "head h1") == data["title"] == tab.title()
    assert BREAKS_OUT in shown(tab, "output") and not tab.locator("img").count()
    assert [one for one in asked if not one.startswith(("data:", "blob:"))] == [saved]


# -- Going from event to event ---------------------------------------------------------


def test_all_controls_by_keyboard(
    tab: Any, saved: str, data: dict[str, Any], events: list[int]
) -> None:
    steps, count = data["steps"], len(events)
    tab.goto(saved)

    def shows(at: int) -> None:
        number, until = events[at], [*events, len(steps) + 1][at + 1]
        step, ran = steps[number - 1], steps[: until - 1]
        assert shown(tab, "count") == f"{at + 1} of {count}"
        assert shown(tab, "said > p") == step["said"]
        assert shown(tab, "kind")[1:] == step["event"]
        assert shown(tab, "marks .lit") == shown(tab, "kind b") != ""
        assert shown(tab, "caption") == data["captions"][step["drawing"]]
        assert tab.evaluate("location.hash") == f"#step-{number}"
        # What is printed before the next event belongs to this one; what has not run
        # yet is faint.
        assert shown(tab, "output") == "".join(one["printed"] for one in ran)
        lines = {line for one in ran for line in range(one["first"], one["last"] + 1)}
        faint = {*range(1, len(data["code"]) + 1)} - lines
        assert tab.evaluate(LINES, "future") == sorted(faint)
        assert tab.evaluate(LINES, "lit") == [*range(step["first"], step["last"] + 1)]
        assert tab.evaluate(FITS)

    shows(0)
    for at in range(1, count):
        tab.keyboard.press("ArrowRight")
        shows(at)
    for key, at in ("ArrowRight", -1), ("ArrowLeft", -2), ("Home", 0), ("End", -1):
        tab.keyboard.press(key)
        shows(range(count)[at])
    tab.get_by_role("button", name="Back").press("Enter")
    shows(count - 2)
    slider = tab.get_by_role("slider", name="Step")
    slider.press("Home")
    tab.get_by_role("button", name="Forward").press("Space")
    shows(1)
    assert slider.get_attribute("aria-valuetext").startswith(f"2 of {count}: z = ")
    tab.reload()
    shows(1)


def test_every_line_is_a_switch_and_an_address_is_one_moment_for_everybody(
    tab: Any, saved: str, data: dict[str, Any], events: list[int]
) -> None:
    some, every = f" of {len(events)}", f" of {len(data['steps'])}"
    # A link to a line between two events shows all lines, and only here.
    for asked, number in ((CUT, f"2{some}"), (PRINTED, f"{PRINTED}{every}")):
        open_at(tab, f"{saved}#step-{asked}")
        assert shown(tab, "count") == number
    for asked, lands in (("#step-999", len(data["steps"])), ("#other-2", events[0])):
        open_at(tab, saved + asked)
        assert tab.evaluate("location.hash") == f"#step-{lands}"
    open_at(tab, f"{saved}#step-{FIRST_TURN}")
    switch = tab.get_by_role("switch", name="Every line")
    following = tab.get_by_role("button", name="Next iteration")
    past = tab.get_by_role("button", name="After the loop")
    # Each iteration is one event: forward leads to the next one as well.
    assert not switch.is_checked() and not following.is_visible() and past.is_visible()
    switch.press("Space")
    assert shown(tab, "count") == f"{FIRST_TURN}{every}" and switch.is_checked()
    assert shown(tab, "turns") == "iteration 1 of 3"
    following.press("Enter")
    assert shown(tab, "count") == f"{SECOND_TURN}{every}"
    past.press("Enter")
    assert shown(tab, "count") == f"{AFTER_LOOP}{every}" and not past.is_visible()
    # What was pressed is gone.
    assert tab.evaluate("document.activeElement.textContent") == "Forward"
    tab.keyboard.press("ArrowLeft")
    assert not tab.locator(".steps-kind").is_visible()
    switch.press("Space")
    assert shown(tab, "count") == f"{len(events) - 1}{some}"


@pytest.mark.parametrize("count", [1, 2])
def test_without_events_every_line_is_shown(
    tab: Any, tmp_path: Path, data: dict[str, Any], count: int
) -> None:
    page = steps_page(data | {"steps": data["steps"][:1] * count})
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    open_at(tab, (tmp_path / "a.html").as_uri())
    assert shown(tab, "count") == f"1 of {count}" and "no tensor" in shown(tab, "see")
    assert not tab.get_by_role("switch").is_visible()
    assert tab.get_by_role("slider").is_visible() == (count > 1)


@pytest.mark.parametrize("width", [940, 390])
def test_a_frame_of_a_notebook_has_its_colours_and_is_as_high_as_its_content(
    tab: Any, width: int, data: dict[str, Any], events: list[int]
) -> None:
    tab.set_viewport_size({"width": width, "height": 700})
    # A notebook's colours need not be those of the system.
    tab.set_content(f"<body style='background: #111; color: #eee'>{steps_frame(data)}")
    frame = tab.locator("iframe").element_handle().content_frame()
    assert shown(frame, "count") == f"1 of {len(events)}"
    frame.get_by_role("button", name="Forward").press("End")
    assert shown(frame, "count") == f"{len(events)} of {len(events)}"
    assert not frame.get_by_role("link").is_visible()  # a frame has no address
    scheme = "getComputedStyle(document.documentElement).colorScheme"
    assert frame.evaluate(scheme) == "dark"
    tab.evaluate("document.body.style = 'background: #fff; color: #111'")
    frame.wait_for_function(f"{scheme} === 'light'")
    whole = "document.documentElement.scrollHeight === innerHeight"
    frame.wait_for_function(whole)
    two = ran("w = torch.ones(2, requires_grad=True)\nz = w.detach()").data()
    tab.set_content(steps_frame(two))
    frame = tab.locator("iframe").element_handle().content_frame()
    frame.wait_for_function(f"innerHeight !== 480 && {whole}")
    assert frame.evaluate("innerHeight") < (420 if width > 800 else 700)


def test_a_map_in_a_dark_notebook_is_dark(tab: Any) -> None:
    lit = "getComputedStyle(document.querySelector('figure')).color"
    for light, colour in ("true", "rgb(0, 0, 0)"), ("false", "rgb(230, 231, 233)"):
        html = tensor_map(w=leaf(1.0))._repr_html_()
        tab.set_content(f"<body data-jp-theme-light={light}>{html}")
        assert tab.evaluate(lit) == colour


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_the_picture_is_beside_its_sentence_and_axe_finds_nothing(
    tab: Any, saved: str, scheme: str, width: int
) -> None:
    tab.set_viewport_size({"width": width, "height": 800})
    tab.emulate_media(color_scheme=scheme)
    open_at(tab, f"{saved}#step-{CUT}")
    parts = ("code", "said", "see", "see svg")
    code, said, see, svg = (tab.locator(f".steps-{n}").bounding_box() for n in parts)
    own = float(tab.locator(".steps-see svg").get_attribute("width"))
    is_wide = width > 1000
    assert see["y"] + see["height"] <= said["y"] and said["x"] == see["x"]
    assert svg["width"] >= own * (1.2 if is_wide else 1)
    assert (code["x"] + code["width"] <= see["x"]) == is_wide
    assert (said["y"] + said["height"] <= code["y"]) != is_wide
    assert axe_of(tab) == tab.evaluate(SMALL) == []
