"""Steps as a reader has them: in a file, in a notebook and on a lesson's page."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from bs4 import BeautifulSoup
from nbclient import NotebookClient
from reading import ROOT, SCRIPTS, page_of
from tensor_maps.steps.viewer import asset, save_steps, steps_frame, steps_page
from watching import run_steps

MOST_OF_VIEWER, MOST_OF_LESSON = 8_000, 12_000  # bytes, compressed
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
DETACHED, WRITTEN = 2, 4
AXE = AXE_FILE_PATH.read_text(encoding="utf-8")
PROBLEMS = """async () => {
  const {violations} = await axe.run(document, {resultTypes: ["violations"]});
  const places = (one) => one.nodes.slice(0, 3).map((node) => String(node.target));
  return violations.map((one) => [one.id, ...places(one)]);
}"""
FITS = "document.documentElement.scrollWidth <= innerWidth"
SMALL = """(least) => [...document.querySelectorAll(".steps :is(button, input, a)")]
  .filter((one) => one.checkVisibility())
  .map((one) => [one.textContent, one.getBoundingClientRect()])
  .filter(([, box]) => Math.min(box.width, box.height) < least).map(([text]) => text)"""
LIT = "[...document.querySelectorAll('.steps-line')].flatMap((one, at) => "
LIT += "one.classList.contains('lit') ? [at + 1] : [])"
FOCUSED = "document.activeElement.textContent"


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    """Return the steps of a program that prints what would break out of a page."""
    seen = run_steps(PROGRAM, {"__name__": "__main__"}, f"Title {BREAKS_OUT}").data()
    before, after = seen["steps"][DETACHED - 1], seen["steps"][DETACHED]
    pictures = [[one["graph"], one["memory"]] for one in (before, after)]
    question = "What is z on?"
    seen["asks"] = [
        {
            "step": DETACHED,
            "question": question,
            "pictures": pictures,
            "right": 1,
            "instead": "z = w.new()",
        }
    ]
    return seen


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
    """Return which step is shown."""
    return page.locator(".steps-count").text_content()


def asked_for_steps(asked: list[str]) -> list[str]:
    """Return the names of the files of steps among what a page asked for."""
    return [Path(urlsplit(one).path).name for one in asked if "_static/steps" in one]


# -- One file -------------------------------------------------------------------------


def test_the_file_is_whole_and_lets_nothing_else_run(data: dict[str, Any]) -> None:
    page = BeautifulSoup(steps_page(data), "html.parser")
    kept, script = page.select("script")
    assert json.loads(kept.string) == data and kept["type"] == "application/json"
    assert kept["id"] == "data" and BREAKS_OUT not in str(kept)
    assert page.title.string == data["title"] == page.h1.string
    loaded = [tag for tag in page.find_all(True) if tag.get("src") or tag.get("href")]
    assert [tag["href"] for tag in loaded] == ["data:,"]
    policy = page.select_one("meta[http-equiv]")["content"]
    for part in (script, page.style):
        digest = hashlib.sha256(part.string.encode()).digest()
        assert f"'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert "default-src 'none'" in policy and "unsafe" not in policy
    # Without scripts it is a list of what happened.
    listed = [item.get_text() for item in page.select("main > ol > li")]
    assert len(listed) == len(data["steps"])
    for item, step in zip(listed, data["steps"], strict=True):
        assert step["said"] in item and step["printed"].strip() in item
    assert page.select_one("main > pre").get_text() == "\n".join(data["code"])
    assert data["torch"] in page.footer.get_text()
    assert "tensor_maps" in page.footer.get_text()


def test_only_a_file_of_html_is_replaced(data: dict[str, Any], tmp_path: Path) -> None:
    mine = tmp_path / "train.py"
    mine.write_text("mine")
    with pytest.raises(ValueError, match=r"name the file like bug\.html, not .*train"):
        save_steps(data, mine)
    assert mine.read_text() == "mine"
    again = tmp_path / "bug.html"
    again.write_text("old")
    save_steps(data, str(again))
    assert again.read_text(encoding="utf-8") == steps_page(data)


def test_a_frame_holds_the_file(data: dict[str, Any]) -> None:
    shown = BeautifulSoup(steps_frame(data), "html.parser")
    page = BeautifulSoup(shown.iframe["srcdoc"], "html.parser")
    assert json.loads(page.select_one("#data").string) == data
    assert shown.iframe["title"] == f"Steps of {data['title']}"
    assert not shown.select("script, img")
    assert "no steps" in steps_frame({**data, "steps": []})


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


def test_without_scripts_the_steps_are_listed(
    browser: Any, saved: Path, data: dict[str, Any]
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(saved.as_uri())
    assert page.locator("ol > li").count() == len(data["steps"])
    assert page.locator("ol > li").last.is_visible()
    context.close()


# -- Going from step to step -----------------------------------------------------------


def test_all_controls_by_keyboard(tab: Any, saved: Path, data: dict[str, Any]) -> None:
    steps = data["steps"]
    count = len(steps)
    tab.goto(saved.as_uri())
    assert number(tab) == f"step 1 of {count}"
    said = tab.get_by_role("status")

    def shows(place: int) -> None:
        assert number(tab) == f"step {place + 1} of {count}"
        assert said.text_content() == steps[place]["said"]
        first, last = steps[place]["first"], steps[place]["last"]
        assert tab.evaluate(LIT) == [*range(first, last + 1)]
        assert tab.evaluate("location.hash") == f"#step-{place + 1}"
        printed = "".join(step["printed"] for step in steps[: place + 1])
        assert tab.locator(".steps-output").text_content() == printed
        assert tab.evaluate(FITS)

    tab.keyboard.press("ArrowRight")
    shows(1)
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowLeft")
    shows(0)
    tab.keyboard.press("End")
    tab.keyboard.press("ArrowRight")
    shows(count - 1)
    tab.keyboard.press("Home")
    shows(0)
    for name, place in (("Last", count - 1), ("Back", count - 2), ("First", 0)):
        tab.get_by_role("button", name=name, exact=True).press("Enter")
        shows(place)
    tab.get_by_role("button", name="Forward").press("Space")
    shows(1)
    slider = tab.get_by_role("slider", name="Step")
    slider.press("PageUp")
    assert number(tab) == slider.get_attribute("aria-valuetext")
    assert slider.input_value() == number(tab).split()[1]
    tab.reload()
    assert number(tab) == f"step {slider.input_value()} of {count}"
    # What is written into the address is gone to; what leads nowhere is not.
    tab.evaluate("location.hash = '#step-2'")
    tab.wait_for_function(
        "document.querySelector('.steps-count').textContent[5] === '2'"
    )
    shows(1)
    assert tab.get_by_role("link", name="Link").get_attribute("href") == "#step-2"
    assert tab.evaluate(SMALL, 24) == []


def test_a_loop_is_left_and_a_turn_passed(
    tab: Any, saved: Path, data: dict[str, Any]
) -> None:
    inside = [place for place, one in enumerate(data["steps"]) if one["turn"]]
    second = next(at for at in inside if data["steps"][at]["turn"] == [[2, 3]])
    tab.goto(f"{saved.as_uri()}#step-{WRITTEN + 1}")
    assert tab.locator(".steps-turns").text_content() == "turn 1 of 3"
    tab.get_by_role("button", name="Next turn").press("Enter")
    assert number(tab).startswith(f"step {second + 1} of")
    assert tab.locator(".steps-turns").text_content() == "turn 2 of 3"
    tab.get_by_role("button", name="After the loop").press("Enter")
    assert number(tab).startswith(f"step {inside[-1] + 2} of")
    assert not tab.get_by_role("button", name="After the loop").is_visible()
    assert tab.evaluate(FOCUSED) == "Forward"  # what was pressed is gone


def test_what_changed_is_underlined(
    tab: Any, saved: Path, data: dict[str, Any]
) -> None:
    assert data["steps"][WRITTEN]["changed"]
    tab.goto(f"{saved.as_uri()}#step-{WRITTEN + 1}")
    marked = tab.locator(".steps-map .steps-new")
    assert marked.count() >= 1
    names = {one.split(" ")[0].strip(",") for one in marked.all_text_contents()}
    assert names & set(data["steps"][WRITTEN]["changed"])
    assert tab.locator(".steps-map svg[role=img][aria-label]").count() == 2


def test_before_the_surprise_it_asks(
    tab: Any, saved: Path, data: dict[str, Any]
) -> None:
    (ask,) = data["asks"]
    truth = data["steps"][DETACHED]["said"]
    tab.goto(f"{saved.as_uri()}#step-{DETACHED}")
    tab.keyboard.press("ArrowRight")
    said = tab.get_by_role("status")
    assert said.text_content() == f"{ask['question']} Choose one, or skip."
    assert number(tab).startswith(f"before step {DETACHED + 1} of")
    pictures = tab.get_by_role("group", name=ask["question"]).locator(".steps-choice")
    assert pictures.count() == 2
    # In the order of the data, as the number of the step is even.
    pictures.nth(0).press("Enter")
    more = " The other picture is that of z = w.new()."
    assert said.text_content() == f"Not this one: {truth}{more}"
    assert pictures.nth(0).get_attribute("class") == "steps-choice wrong"
    assert pictures.nth(1).get_attribute("class") == "steps-choice right"
    pictures.nth(1).press("Enter")  # too late
    assert said.text_content() == f"Not this one: {truth}{more}"
    tab.get_by_role("button", name="Go on").press("Enter")
    assert said.text_content() == truth and tab.evaluate(FOCUSED) == "Forward"
    # It asks once; a jump is not asked; a question can be skipped.
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowRight")
    assert said.text_content() == truth
    tab.reload()
    assert said.text_content() == truth
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowRight")
    pictures.nth(1).press("Enter")
    assert said.text_content() == f"Right: {truth}{more}"
    tab.keyboard.press("ArrowLeft")
    assert number(tab).startswith(f"step {DETACHED} of")
    tab.reload()
    tab.keyboard.press("ArrowRight")
    tab.get_by_role("button", name="Skip").press("Enter")
    assert said.text_content() == truth


def test_motion_is_for_those_who_want_it(browser: Any, saved: Path) -> None:
    for wanted, scrolls, moves in (
        ("reduce", "auto", "none"),
        ("no-preference", "smooth", "steps-new"),
    ):
        context = browser.new_context(reduced_motion=wanted)
        page = context.new_page()
        page.goto(f"{saved.as_uri()}#step-{WRITTEN + 1}")
        style = "getComputedStyle(document.querySelector('.steps-{}')).{}"
        assert page.evaluate(style.format("code", "scrollBehavior")) == scrolls
        assert page.evaluate(style.format("new", "animationName")) == moves
        context.close()


# -- In a notebook ---------------------------------------------------------------------


def test_a_notebook_shows_the_steps_of_a_cell(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = ROOT / "conf" / "tensor_maps" / "src"
    monkeypatch.setenv("PYTHONPATH", str(tool))
    cells = [
        "%load_ext tensor_maps\nimport torch",
        "%%steps In a cell\nw = torch.ones(2, requires_grad=True)\nz = w.detach()",
        "%%steps\nz += 1\nw += 1\nnever = 1",
        "from tensor_maps import steps\nwith steps() as seen:\n    z *= 2\nseen",
    ]
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    client = NotebookClient(book, allow_errors=True, resources={"metadata": {}})
    client.execute(cwd=os.fspath(tmp_path))
    kinds = [[one.output_type for one in cell.outputs] for cell in book.cells]
    assert kinds == [[], ["execute_result"], ["display_data", "error"], kinds[1]]
    frames = [cell.outputs[0].data["text/html"] for cell in book.cells[1:]]
    assert book.cells[2].outputs[1].ename == "RuntimeError"
    page = browser.new_page(viewport={"width": 800, "height": 700})
    # A notebook's colours need not be those of the system.
    page.set_content(f"<body style='background: #111; color: #eee'>{''.join(frames)}")
    assert page.locator("iframe").count() == 3
    first, second, _ = (
        one.content_frame() for one in page.locator("iframe").element_handles()
    )
    first.get_by_role("button", name="Forward").click()
    assert number(first) == "step 2 of 2"
    assert "z" in first.get_by_role("status").text_content()
    assert not first.get_by_role("link").is_visible()  # a frame has no address
    scheme = "getComputedStyle(document.documentElement).colorScheme"
    assert first.evaluate(scheme) == "dark"
    page.evaluate("document.body.style = 'background: #fff; color: #111'")
    first.wait_for_function(f"{scheme} === 'light'")
    second.get_by_role("button", name="Last").click()
    assert "RuntimeError" in second.locator(".steps-raised").text_content()
    page.close()


def test_the_page_on_maps_steps_through_a_training_loop(
    browser: Any, site: Path
) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto((site / "tensor_maps.html").as_uri())
    frame = page.locator("iframe").element_handle().content_frame()
    frame.get_by_role("button", name="Last").click()
    assert (
        "losses[0] > losses[-1] = tensor(True)"
        in frame.locator(".steps-output").inner_text()
    )
    assert page.evaluate(FITS) and frame.evaluate(FITS)
    page.close()


# -- On a lesson's page ----------------------------------------------------------------


@pytest.fixture(scope="module")
def detach(site: Path) -> Path:
    """Return a page that has steps."""
    (script,) = (one for one in SCRIPTS if one.stem == "detach")
    return page_of(site, script)


def test_steps_load_when_they_are_asked_for(tab: Any, detach: Path) -> None:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(detach.as_uri())
    button = tab.get_by_role("button", name="Step through")
    assert asked_for_steps(asked) == []
    assert tab.evaluate("scrollY") == 0 and tab.evaluate(FITS)
    button.press("Enter")
    dialog = tab.get_by_role("dialog")
    dialog.wait_for()
    wanted = ["detach.js", "steps.css", "steps.js"]
    assert sorted(asked_for_steps(asked)) == wanted
    assert tab.evaluate(FOCUSED) == "Forward"
    assert tab.evaluate("location.hash") == "#step-1"
    tab.keyboard.press("ArrowRight")
    assert number(tab).startswith("step 2 of ") and tab.evaluate(FITS)
    tab.keyboard.press("Escape")
    assert not dialog.is_visible() and tab.evaluate("location.hash") == ""
    assert tab.evaluate(FOCUSED) == "Step through"
    # It goes on where it was left, and loads nothing again.
    button.press("Enter")
    assert number(tab).startswith("step 2 of ")
    assert sorted(asked_for_steps(asked)) == wanted
    dialog.get_by_role("button", name="Close").click()
    assert not dialog.is_visible() and tab.evaluate(FOCUSED) == "Step through"


def test_an_address_opens_its_step(browser: Any, detach: Path) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(f"{detach.as_uri()}#step-7")
    page.get_by_role("dialog").wait_for()
    assert number(page).startswith("step 7 of ")
    assert page.evaluate(SMALL, 44) == [] and page.evaluate(FITS)
    context.close()


def test_without_scripts_a_page_has_no_button(browser: Any, detach: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(detach.as_uri())
    assert page.locator(".step-through").count() == 1
    assert not page.locator(".step-through").is_visible()
    context.close()


def test_a_mistake_is_stepped_through_beside_its_cure(browser: Any, site: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{(site / 'silent_mistakes.html').as_uri()}#silent-data-step-4")
    dialog = page.get_by_role("dialog", name="A write through .data")
    dialog.wait_for()
    assert number(page).startswith("step 4 of ")
    code = dialog.locator(".steps-line").all_text_contents()
    assert code[0] == "# Wrong" and "# Right" in code
    page.keyboard.press("Escape")
    buttons = page.get_by_role("button", name="Step through")
    assert buttons.count() == page.locator(".pair").count() > 5
    buttons.nth(1).press("Enter")
    page.wait_for_function("document.querySelectorAll('dialog[open]').length === 1")
    assert page.evaluate("location.hash").endswith("-step-1")
    page.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 320), ("dark", 1280)])
def test_axe_finds_nothing_in_steps(
    browser: Any, detach: Path, saved: Path, scheme: str, width: int
) -> None:
    view = {"width": width, "height": 900}
    context = browser.new_context(
        viewport=view, color_scheme=scheme, reduced_motion="reduce", bypass_csp=True
    )
    page, found = context.new_page(), []
    for address in (f"{detach.as_uri()}#step-12", f"{saved.as_uri()}#step-{DETACHED}"):
        page.goto(address)
        page.locator(".steps").wait_for()
        if address.startswith(saved.as_uri()):
            page.keyboard.press("ArrowRight")  # it asks
            assert page.locator(".steps-choice").count() == 2
        page.evaluate(AXE)
        found += page.evaluate(PROBLEMS)
    context.close()
    assert found == []


def test_what_a_lesson_has_to_load_is_small(
    site: Path, pages: dict[Path, BeautifulSoup]
) -> None:
    published = sorted((site / "_static" / "steps").rglob("*.js"))
    buttons = [one for page in pages.values() for one in page.select(".step-through")]
    # What another machine did otherwise is loaded when it is chosen.
    own = [file for file in published if "." not in file.stem]
    assert len(own) == len(buttons) > 0
    for file in published:
        assert len(gzip.compress(file.read_bytes(), 9)) <= MOST_OF_LESSON, file.name
    viewer = site / "_static" / "steps.js"
    assert viewer.read_text(encoding="utf-8") == asset("steps.js")
