"""Steps on other machines: kept as facts, shown where they differ, never trusted."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, TinySite, lesson, new_tiny_site
from reading import soup
from recording import OTHER, OTHER_NAME, pretend_other_machine, record, recorded
from tensor_copies.figures.steps import NOT_SHOWN, shown_lines
from tensor_copies.lessons.steps import with_others
from tensor_copies.machine.fingerprint import Fingerprint
from tensor_copies.recordings import check, other_steps, step_facts
from tensor_copies.recordings.format import BadRecording
from tensor_maps import Steps
from watching import run_steps

FIRST = """import torch
x = torch.ones(2)
z = x + 1
y = x[:1]
assert y.numel() == 1"""
SECOND = """for turn in range(5):
    y += 1
print(x.tolist())"""
SAME = "import torch\nx = torch.ones(2)\ny = x.clone()"
DIFFERS, AFTER = 3, 4  # numbers of steps of the lesson, from 0
WORDS = "y is new, with a memory of its own on cuda:0."
NAME = "CUDA (Test Card 9), torch 2.11.0"
PROGRAMS = (
    f"{FIRST}\n{SECOND}",
    """import torch
w = torch.ones(2, requires_grad=True)
for outer in range(3):
    for inner in range(4):
        w.detach()[0] += 1
    (w * w).sum().backward()
try:
    w += 1
except RuntimeError as error:
    print(error)
del w
""",
    "import torch\nnet = torch.nn.Linear(2, 1)\n\nif net:\n    out = net(\n        net"
    ".weight\n    )\n",
)


def drawn_from(path: Path) -> dict[str, Any]:
    """Read a file of steps, and draw them."""
    return check.drawn_steps(path, check.load_steps(path), CODE, (6, 16))


def facts_of(script: Path, change: Callable[[str], str]) -> list[dict[str, Any]]:
    """Run a changed script; return its steps as if ``y`` had been on a GPU."""
    seen = Steps()
    seen.run(change(script.read_text()), {"__name__": "__main__"})
    facts = json.loads(json.dumps(seen.facts()))
    for fact in facts:
        for tensor in fact["seen"]["tensors"]:
            if "y" in tensor["names"]:
                tensor["device"] = "cuda:0"
                storage = fact["seen"]["storages"][tensor["storage"]]
                storage["device"] = "cuda:0"
    return facts


def text_of(script: Path, facts: list[dict[str, Any]]) -> str:
    return step_facts.as_text(step_facts.packed(facts, shown_lines(script)[1]))


# -- Recording ------------------------------------------------------------------------


@pytest.mark.parametrize("program", PROGRAMS)
def test_facts_make_the_same_steps_again(program: str) -> None:
    seen = run_steps(program, {}, "mine")
    lines = range(1, len(program.splitlines()) + 1)
    packed = step_facts.packed(seen.facts(), dict(zip(lines, lines, strict=True)))
    kept = json.loads(step_facts.as_text(packed))
    assert kept == packed
    again = Steps.from_facts(program, step_facts.unpacked(kept), "mine")
    for drawn in ((6, 16), (2, 3)):
        assert again.data(*drawn)["steps"] == seen.data(*drawn)["steps"]
        assert again.data(*drawn)["drawings"] == seen.data(*drawn)["drawings"]
    with pytest.raises(ValueError, match="there is no statement on lines 1 to 1"):
        Steps.from_facts("# nothing\n" + program, seen.facts()).data()


@pytest.fixture(scope="module")
def recorded_site(tmp_path_factory: pytest.TempPathFactory) -> TinySite:
    """Return a tiny site with recordings of a watched run, not yet built."""
    site = new_tiny_site(tmp_path_factory.mktemp("recorded") / "tiny")
    chance = f"{SAME}\nimport random\nprint(random.random(), torch.rand(1).item())"
    real = (ROOT / "examples" / "1_basics" / "detach.py").read_text()
    real = re.sub(":(doc|ref):`[^`]*`", "another page", real)
    timed = "import time\nbegan = time.perf_counter()"
    site.write_lessons(
        {
            "a.py": lesson("A", FIRST, SECOND),
            "same.py": lesson("Same", chance),
            "real.py": real,
            "timed.py": lesson("Timed", timed),
        }
    )
    done = record(site)
    assert done.status == 0, done.output
    return site


def test_a_recording_names_its_steps(recorded_site: TinySite, tmp_path: Path) -> None:
    (folder,) = (recorded_site.folder / "docs" / "recordings").iterdir()
    names = {name: data.get("steps") for name, data in recorded(recorded_site).items()}
    assert names.pop("timed") is None
    assert names == {name: f"{name}.steps.json" for name in names}
    assert {path.name for path in folder.glob("*.steps.json")} == set(names.values())
    # Of a lesson that is no longer watched, none are left.
    site = recorded_site.copy_to(tmp_path / "tiny")
    script = site.folder / "examples" / "1_first" / "a.py"
    script.write_text(f"{script.read_text()}\nimport timeit\n")
    assert record(site, "--only", "a").status == 0
    assert "steps" not in recorded(site)["a"]
    assert not [*site.folder.rglob("a.steps.json")]


def test_watching_changes_nothing_that_is_recorded(
    recorded_site: TinySite, tmp_path: Path
) -> None:
    site = recorded_site.copy_to(tmp_path / "tiny")
    module = site.folder / "conf" / "tensor_copies" / "figures" / "steps.py"
    head = "def not_watched(script: Path) -> str:\n"
    text = module.read_text()
    assert head in text
    module.write_text(text.replace(head, f"{head}    return 'not here'\n"))
    shutil.rmtree(site.folder / "docs" / "recordings")
    assert record(site, "--only", "real").status == 0
    unwatched, watched = recorded(site)["real"], recorded(recorded_site)["real"]
    assert "steps" in watched and "steps" not in unwatched
    assert watched["blocks"] == unwatched["blocks"]
    figures = [path.name for path in site.folder.glob("docs/recordings/*/real.[0-9]*")]
    assert figures
    for name in figures:
        one, other = (
            next(folder.rglob(name)).read_bytes()
            for folder in (site.folder, recorded_site.folder)
        )
        assert one == other


# -- On the page ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def shown(
    recorded_site: TinySite, tmp_path_factory: pytest.TempPathFactory
) -> TinySite:
    """Return the site, built with another machine's steps that differ in one lesson."""
    site = recorded_site.copy_to(tmp_path_factory.mktemp("shown") / "tiny")
    there = pretend_other_machine(site, lambda line: line)
    script = site.folder / "examples" / "1_first" / "a.py"
    facts = facts_of(script, lambda text: text.replace("x[:1]", "x[:1].clone()"))
    (there / "a.steps.json").write_text(text_of(script, facts))
    built = site.build()
    assert built.status == 0, built.output
    assert "Stale" not in built.output and "Orphan" not in built.output
    return site


def published(site: TinySite) -> dict[str, str]:
    """Return the published steps by the name of their file."""
    folder = site.html / "_static" / "steps" / "1_first"
    return {path.name: path.read_text() for path in folder.iterdir()}


def steps_in(script: str) -> dict[str, Any]:
    return json.loads(script.partition("(")[2].rpartition(")")[0])


def test_only_what_differs_is_published(shown: TinySite) -> None:
    files = published(shown)
    (other,) = (name for name in files if name.count(".") == 2)
    assert set(files) == {"a.js", "same.js", "real.js", other}
    for name in ("same.js", "real.js"):
        assert not {"machines", "here", *NOT_SHOWN} & set(steps_in(files[name]))
        assert "Test Card" not in files[name]
    own = steps_in(files["a.js"])
    (machine,) = own["machines"]
    assert machine["name"] == NAME and machine["file"].startswith(f"{other}?v=")
    assert own["here"].startswith("This build (CPU, torch ")
    assert machine["differs"][str(DIFFERS)] == WORDS
    assert not {"0", "1", "2", str(AFTER)} & set(machine["differs"])
    (printing,) = (
        place for place, step in enumerate(own["steps"]) if step["printed"][:1] == "["
    )
    assert machine["differs"][str(printing)] == "it prints [1.0, 1.0]"
    data = json.loads(files[other].partition("=")[2].strip().rstrip(";"))
    assert data["steps"][:DIFFERS] == [*range(DIFFERS)]  # as here: not said twice
    step = data["steps"][DIFFERS]
    assert step["said"] == WORDS and step["here"] == DIFFERS
    assert step["memory"] >= len(own["drawings"])
    assert "cuda:0" in data["drawings"][step["memory"] - len(own["drawings"])]
    assert all(len(gzip.compress(text.encode())) < 12_000 for text in files.values())


def test_nothing_runs_again_for_what_others_saw(
    shown: TinySite, tmp_path: Path
) -> None:
    site = shown.copy_to(tmp_path / "tiny")
    before = published(site)
    for path in site.folder.glob("docs/recordings/*/a.steps.json"):
        path.write_text(path.read_text().replace("cuda:0", "cuda:1"))
    built = site.build()
    assert built.lessons.startswith("Lessons: 0 of 4 ran"), built.output
    after = published(site)
    assert WORDS in before["a.js"]
    assert WORDS.replace("cuda:0", "cuda:1") in after["a.js"]
    # Another text has another address, so that no browser shows what it had.
    pages = [soup(one.page("a")).select_one(".step-through") for one in (shown, site)]
    assert pages[0]["data-steps"] != pages[1]["data-steps"]
    # Steps of other code are not shown, nor are those that a recording lacks.
    script = site.folder / "examples" / "1_first" / "a.py"
    script.write_text(script.read_text().replace("print(x.tolist())", "print(x)"))
    built = site.build()
    assert built.status == 0 and "a matches 1 of 2 blocks" in built.output
    assert "machines" not in steps_in(published(site)["a.js"])


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """Open a narrow tab that gathers what goes wrong in it."""
    page = browser.new_page(viewport={"width": 320, "height": 700})
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    page.close()
    assert wrong == []


def count(page: Any) -> str:
    return page.locator(".steps-count").text_content()


def test_a_reader_sees_the_other_machine(tab: Any, shown: TinySite) -> None:
    own = steps_in(published(shown)["a.js"])
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(Path(request.url).name))
    tab.goto(f"{shown.page('a').as_uri()}#step-{DIFFERS + 1}")
    machine = tab.get_by_role("combobox", name="Machine")
    said = tab.locator(".steps-said [role=status]")
    others = tab.locator(".steps-others")
    assert others.text_content() == f"{NAME}: {WORDS}"
    here = own["steps"][DIFFERS]["said"]
    assert said.text_content() == here
    assert not [name for name in asked if OTHER_NAME[:4] in name]
    # By keyboard: left and right step, up and down choose.
    machine.focus()
    tab.keyboard.press("ArrowDown")
    tab.wait_for_function(
        "(words) => document.querySelector('.steps-said p').textContent === words",
        arg=WORDS,
    )
    assert others.text_content() == f"{own['here']}: {here}"
    assert "cuda:0" in tab.locator(".steps-map").text_content()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.keyboard.press("ArrowRight")
    assert count(tab).startswith(f"step {AFTER + 1} of")
    assert machine.input_value() == NAME  # it is kept
    assert others.text_content() == ""
    assert tab.evaluate("location.hash") == f"#step-{AFTER + 1}"
    tab.keyboard.press("End")
    assert "[1.0, 1.0]" in tab.locator(".steps-output").text_content()
    tab.keyboard.press("ArrowUp")
    assert "[6.0, 1.0]" in tab.locator(".steps-output").text_content()
    # What is the same everywhere has no choice.
    tab.goto(f"{shown.page('same').as_uri()}#step-1")
    tab.get_by_role("dialog").wait_for()
    assert not tab.get_by_role("combobox").is_visible()


def test_steps_that_do_not_load_say_so(
    tab: Any, shown: TinySite, tmp_path: Path
) -> None:
    site = shown.copy_to(tmp_path / "tiny")
    (other,) = (name for name in published(site) if name.count(".") == 2)
    (site.html / "_static" / "steps" / "1_first" / other).unlink()
    tab.goto(f"{site.page('a').as_uri()}#step-{DIFFERS + 1}")
    machine = tab.get_by_role("combobox", name="Machine")
    before = machine.input_value()
    machine.select_option(NAME)
    tab.get_by_text("did not load").wait_for()
    assert machine.input_value() == before
    assert count(tab).startswith(f"step {DIFFERS + 1} of")


# -- Nothing is taken on trust --------------------------------------------------------

CODE = f"{FIRST}\n\n{SECOND}"
HOSTILE = (
    "<script>document.title = 'out'</script>",
    "<img src=x onerror=alert(1)>",
    "</text></svg><foreignObject><body onload=alert(1)></foreignObject>",
    '" onload="alert(1)" x="',
    '<a href="https://example.org">x</a>',
    "javascript:alert(1)",
)


@pytest.fixture
def steps_path(tmp_path: Path) -> Path:
    """Return a file with the steps of :data:`CODE`, which is right."""
    facts = run_steps(CODE, {}).facts()
    lines = {line: line for line in range(1, 20)}
    path = tmp_path / "recordings" / OTHER_NAME / "a.steps.json"
    path.parent.mkdir(parents=True)
    path.write_text(step_facts.as_text(step_facts.packed(facts, lines)))
    return path


def texts_of(value: Any, put: Callable[[str], str]) -> Any:
    """Return data with each text of one word or more changed."""
    if isinstance(value, list):
        return [texts_of(item, put) for item in value]
    if isinstance(value, dict):
        return {name: texts_of(item, put) for name, item in value.items()}
    return put(value) if isinstance(value, str) else value


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_text_is_drawn_as_text(hostile: str, steps_path: Path) -> None:
    data = json.loads(steps_path.read_text())
    tables = data["tables"]
    kinds = {"tensor", "array", "operation", "leaf", "constant"}
    known = {*kinds, "x", "y", "z"}  # what the code does not name is not drawn
    for table in tables.values():
        table["rows"] = texts_of(
            table["rows"], lambda text: text if text in known else hostile
        )
    names = tables["tensors"]["columns"].index("names")
    for row in tables["tensors"]["rows"]:
        row[names].append(hostile)
    for step in data["steps"]:
        step["printed"] = step["raised"] = hostile
    steps_path.write_text(json.dumps(data))
    # Each drawing was looked through: it is made of shapes and texts alone.
    seen = drawn_from(steps_path)
    drawings = "".join(seen["drawings"])
    assert "<svg" in drawings and hostile[:4] in soup_of(drawings).get_text()
    page = soup_of(drawings)
    allowed = {"svg", "rect", "circle", "path", "text"}
    assert {tag.name for tag in page.find_all(True)} <= allowed
    attributes = {name for tag in page.find_all(True) for name in tag.attrs}
    assert not {"onload", "onerror", "href", "src", "style"} & attributes


def soup_of(text: str) -> Any:
    from bs4 import BeautifulSoup

    return BeautifulSoup(text, "html.parser")


@pytest.mark.parametrize(
    "drawing",
    [
        "<svg {}><script>alert(1)</script></svg>",
        "<svg {} onload='alert(1)'/>",
        "<svg {}><foreignObject/></svg>",
        "<svg {}><a href='https://example.org'/></svg>",
        "<svg {}><rect fill='url(https://example.org/x)'/></svg>",
        "<svg {}><text style='background: red'/></svg>",
        "<svg {}><image href='x'/></svg>",
    ],
)
def test_what_is_more_than_shapes_is_refused(
    drawing: str, steps_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = drawing.format('xmlns="http://www.w3.org/2000/svg"')
    monkeypatch.setattr(
        Steps, "data", lambda self, *drawn: {"steps": [], "drawings": [drawing]}
    )
    with pytest.raises(BadRecording, match="has more than shapes and texts"):
        drawn_from(steps_path)


def edited(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    """Return a function that sets one value inside of data."""

    def change(data: Any) -> None:
        for part in path[:-1]:
            data = data[part]
        data[path[-1]] = to

    return change


TENSOR = ("tables", "tensors", "rows", 0)
REFUSED: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "another schema": (edited("schema", to=2), "schema must be same as const"),
    "more": (edited("drawings", to=["<svg/>"]), "it must not contain {'drawings'}"),
    "a drawing in a step": (
        edited("steps", 0, "svg", to="<svg/>"),
        "contain {'svg'}",
    ),
    "other columns": (
        edited("tables", "nodes", "columns", to=["x"]),
        "columns must",
    ),
    "a text for a number": (
        edited(*TENSOR, -1, to="0"),
        "[16] must be integer",
    ),
    "a list for a text": (edited(*TENSOR, 0, to=["cpu"]), "rows[0][0] must be string"),
    "a long text": (edited(*TENSOR, 0, to="x" * 300), "[0][0] must be shorter than"),
    "no such row": (edited("looks", 1, "tensors", to=[99]), "cannot be drawn"),
    "no such look": (edited("steps", 1, "look", to=99), "cannot be drawn"),
    "no such storage": (edited(*TENSOR, -3, to=77), "cannot be drawn"),
    "another line": (edited("steps", 1, "first", to=99), "not of the lesson's code"),
    "below zero": (edited("steps", 1, "look", to=-1), "steps[1].look must be bigger"),
    "no number": (edited("steps", 1, "look", to=float("nan")), "it has NaN"),
    "no list": (edited("steps", to={}), "steps must be array"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind: str, steps_path: Path) -> None:
    assert drawn_from(steps_path)["drawings"]
    change, reason = REFUSED[kind]
    data = json.loads(steps_path.read_text())
    change(data)
    steps_path.write_text(json.dumps(data))
    with pytest.raises(BadRecording) as refused:
        drawn_from(steps_path)
    message = str(refused.value)
    assert message.startswith(f"recordings/{OTHER_NAME}/a.steps.json is refused: ")
    assert reason in message and "\n" not in message and len(message) < 300


def test_refused_steps_stop_the_build_with_one_line(
    recorded_site: TinySite, tmp_path: Path
) -> None:
    site = recorded_site.copy_to(tmp_path / "tiny")
    there = pretend_other_machine(site, lambda line: line)
    (there / "a.steps.json").write_text("{")
    data = json.loads((there / "same.json").read_text())
    data["steps"] = "a.steps.json"
    (there / "same.json").write_text(json.dumps(data))
    built = site.build()
    assert built.status != 0
    said = [line for line in built.output.splitlines() if "is refused" in line]
    where = f"WARNING: recordings/{OTHER_NAME}"
    assert sorted(said) == [
        f"{where}/a.steps.json is refused: it is not whole JSON [recordings]",
        f"{where}/same.json is refused: its steps are not those that the file is "
        "named after [recordings]",
    ]
    assert "Traceback" not in built.output


# -- What counts as a difference ------------------------------------------------------


def told(program: str) -> dict[str, Any]:
    return run_steps(program, {}).data()


def compared(here: str, there: str) -> dict[int, str]:
    own, theirs = told(here), told(there)
    return other_steps.differences(own, theirs, theirs, theirs, set())


def test_what_counts_as_a_difference() -> None:
    assert compared(CODE, CODE) == {}
    clone = compared(CODE, CODE.replace("[:1]", "[:1].clone()"))
    assert clone[DIFFERS] == "y is new, with a memory of its own."
    assert AFTER not in clone
    # Where only the picture differs, the first of several steps says so.
    assert compared(
        "import torch\nx = torch.ones(2)\nprint(1)\nprint(2)\n",
        "import torch\nx = torch.zeros(2)\nprint(1)\nprint(2)\n",
    ) == {1: "the picture differs."}
    assert compared("print('a')\n", "print('b')\n") == {0: "it prints b"}
    assert compared("print('a')\n", "print('b' * 200)\n") == {0: "the output differs."}
    assert compared("x = 1\nif x:\n    y = 1\n", "x = 0\nif x:\n    y = 1\n") == {
        1: "this does not run there."
    }
    there = compared("x = 0\nif x:\n    y = 1\n", "x = 1\nif x:\n    y = 1\n")
    assert there == {0: "line 3 runs there, and not here: No tensor changes."}
    printed = "print(\"tensor([1.], device='{}')\")\n"
    assert compared(printed.format("cpu"), printed.format("cuda:0")) == {}
    own, theirs = told("print('a')\n"), told("print('b')\n")
    assert other_steps.differences(own, theirs, theirs, theirs, {1}) == {}


def test_too_many_words_are_left_out() -> None:
    machine = other_steps.OtherSteps("X", "x", {1: "y is new."}, "steps")
    own = other_steps.as_published([machine], "a")["own"]
    light = steps_in(with_others({"code": []}, own))
    assert light["machines"][0]["differs"] == {"1": "y is new."}
    heavy = "".join(chr(0x4E00 + place * 7919 % 20_000) for place in range(12_000))
    less = steps_in(with_others({"code": [heavy]}, own))
    assert less["machines"][0]["differs"] == {"1": "it differs."}
    assert other_steps.as_published([], "a") == {"own": {}, "files": {}}
    assert steps_in(with_others({"code": [heavy]}, {})) == {"code": [heavy]}


def test_where_there_are_two_devices_a_sentence_names_them() -> None:
    program = "import torch\nx = torch.ones(1)\nm = torch.ones(1, device='meta')\n"
    facts = run_steps(f"{program}y = x + 1\n", {}).facts()
    said = Steps.from_facts(f"{program}y = x + 1\n", facts).data()["steps"][-1]["said"]
    devices = {tensor["device"] for tensor in facts[-1]["seen"]["tensors"]}
    assert devices == {"cpu", "meta"}
    assert said == "y is new, with a memory of its own on cpu."
    assert Fingerprint(**OTHER).device_kind == "cuda"
