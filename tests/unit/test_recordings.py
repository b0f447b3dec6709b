"""Recordings of other machines: made as the gallery runs, shown inert, never stale."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, TinySite, lesson, new_tiny_site
from reading import parts_of, soup
from record import CannotStart, chosen
from recording import OTHER, OTHER_NAME, pretend_other_machine, record, recorded
from tensor_copies.recordings import check
from tensor_copies.recordings import format as recordings
from tensor_copies.run import fingerprint as machine
from tensor_copies.run.fingerprint import Fingerprint

FIRST = "x = 2\nprint('device cpu')\nprint('x is', x)"
SECOND = "print('y is', x + 1)"
TIMED = "print('clone 43.4 ms')"
DRAW = """import matplotlib.pyplot as plt
bars = plt.barh(["x.clone()", "copy_(x)"], [3, 5])
plt.bar_label(bars, ["3 ms", "5 ms"])
plt.title("copy_ takes more")
plt.xlabel("time")
print("drawn")"""
DRAW_COUNTS = """bars = plt.barh(["item", "detach"], [10, 1])
plt.bar_label(bars)
plt.title("Each read is a wait")
plt.xlabel("waits")
print("counted")
rows = [{"call": "x.cpu()", "copies": "no"}]
print("call | copies\\nx.cpu() | no")
# sphinx_gallery_table = "rows"
"""
HOST = "print('device cpu\\nsame')"


MADE = """import torch
w = torch.zeros(2, requires_grad=True)
z = w.detach()
print("made")
# sphinx_gallery_tensor_map = "w, z"
# sphinx_gallery_tensor_map_graph = True"""
ASKED = """z[0] = 7.0
print("device", w.device)
print("w", w.tolist())
assert w[0] == 7.0
# sphinx_gallery_predict = "What does ``w`` <now> hold?"
# sphinx_gallery_predict_instead = "w.detach() -> w.detach().clone()"
# sphinx_gallery_predict_instead_2 = "w.detach() -> w raises"

# %%
# This is why.

# %%
# This leads on.

print("end", torch.equal(w, z))"""
# What a machine that records may lack.
MISSING = ("nox", "furo", "myst_nb", "myst_parser", "IPython", "pandas")


@pytest.fixture(scope="module")
def recorded_site(tmp_path_factory: pytest.TempPathFactory) -> TinySite:
    """Return a tiny site with recordings, not yet built.

    They are made where what a closed machine may lack is not there.
    """
    site = new_tiny_site(tmp_path_factory.mktemp("recorded") / "tiny")
    setup = f"# sphinx_gallery_setup = True\n{FIRST}"
    lessons = {
        "a": (FIRST, SECOND), "draw": (DRAW, DRAW_COUNTS), "timed": (setup, TIMED),
        "asks": (MADE, ASKED), "hostile": ("print(1)",), "host": (HOST,),
    }  # fmt: skip
    site.write_lessons(
        {f"{name}.py": lesson(name.title(), *code) for name, code in lessons.items()}
    )
    missing = tmp_path_factory.mktemp("missing")
    for name in MISSING:
        (missing / f"{name}.py").write_text("raise ImportError('not on this machine')")
    done = record(site, env={**os.environ, "PYTHONPATH": str(missing)})
    assert done.status == 0, done.output
    # It leaves nothing else.
    assert {path.name for path in site.folder.iterdir()} == {"conf", "docs", "examples"}
    assert {path.name for path in (site.folder / "docs").iterdir()} == {
        *("index.md", "recordings")
    }
    return site


def test_the_format(recorded_site: TinySite) -> None:
    data = recorded(recorded_site)["a"]
    assert (data["schema"], data["lesson"]) == (2, "1_first/a")
    assert data["machine"]["torch"] == machine.fingerprint().torch
    assert [block["output"] for block in data["blocks"]] == [
        ["device cpu", "x is 2"],
        ["y is 3"],
    ]
    drawn = recorded(recorded_site)["draw"]
    names = [block["figures"] for block in drawn["blocks"]]
    assert names == [["draw.1.json"], ["draw.2.json", "draw.3.json"]]
    (folder,) = (recorded_site.folder / "docs" / "recordings").iterdir()
    figure = json.loads((folder / "draw.1.json").read_text())
    assert figure["bars"][1] == {"name": "copy_(x)", "value": 5.0, "text": "5 ms"}
    # No page shows what the setup prints.
    setup, timed = recorded(recorded_site)["timed"]["blocks"]
    assert set(setup) == {"key"} and timed["output"] == ["clone 43.4 ms"]


CODE = "x = 1\n# sphinx_gallery_tensor_map = 'x'\nprint(x)"
WITH_SETUP = CODE.replace("x = 1", "# sphinx_gallery_setup = True\nx = 1")
# What shapes an output is in its key; what says where on the page it stands is not.
SAME = {
    "prose": lesson("Other title", CODE).replace("A lesson of a tiny", "Words of a"),
    "a question": lesson("A", f"{CODE}\n# sphinx_gallery_predict = 'What is x?'"),
    "the lead": lesson("A", f"{CODE}\n# sphinx_gallery_lead = True"),
}
OTHER_KEY = {
    "code": (lesson("A", CODE.replace("1", "2")), 0),
    "a comment": (lesson("A", f"{CODE}  # said"), 0),
    "another map": (lesson("A", CODE.replace("'x'", "'x, x'")), 0),
    "a setup": (lesson("A", WITH_SETUP), 0),
    "code of a later block": (lesson("A", CODE, "print('END')"), 1),
    "a table": (lesson("A", CODE, "print('end')\n# sphinx_gallery_table = 'x'"), 1),
}


def keys_of(folder: Path, text: str) -> list[str]:
    (folder / "a.py").write_text(text)
    return list(recordings.keys(folder / "a.py").values())


def test_a_key_has_all_that_shapes_what_is_recorded(tmp_path: Path) -> None:
    before = keys_of(tmp_path, lesson("A", CODE))
    for kind, text in SAME.items():
        assert keys_of(tmp_path, text) == before, kind
    for kind, (text, first) in OTHER_KEY.items():
        found = keys_of(tmp_path, text)
        same = [one == other for one, other in zip(found, before, strict=True)]
        assert same == [True] * first + [False] * (2 - first), kind


WRONG = {
    "zero.py": "x = 1 / 0",
    "first.py": "x = 1\n# sphinx_gallery_tensor_map_change = 'x'",
    "leaver.py": "import sys\nsys.exit(0)",
    "much.py": "print('x' * 200_000)",
    "upright.py": "import matplotlib.pyplot as plt\nplt.bar([1, 2], [3, 4])",
    "right.py": "print(1)",
}


def test_the_recorder_names_what_goes_wrong_and_keeps_the_others(
    tiny_site: TinySite,
) -> None:
    tiny_site.write_lessons({name: lesson(name, code) for name, code in WRONG.items()})
    done = record(tiny_site)
    assert done.status == 1, done.output
    assert "zero.py" in done.output and "ZeroDivisionError" in done.output
    assert "first.py: the block on line 6 asks for a map of what it" in done.output
    assert "leaver.py: line 8: SystemExit(0) was raised" in done.output
    assert "much.py: the block on line 6 prints 200000 characters" in done.output
    assert "upright.py: the block on line 6 draws a figure that is no" in done.output
    named = done.output.splitlines()[-1].removeprefix("record: failed: ").split(", ")
    assert set(named) == {"zero", "first", "leaver", "much", "upright"}
    assert list(recorded(tiny_site)) == ["right"]
    page = tiny_site.folder / "docs" / "page.md"
    page.write_text(RECORDED_PAGE + "\n:::{code-cell}\n:tags: [recorded]\n1\n:::\n")
    line = len(page.read_text().splitlines()) - 3
    done = record(tiny_site)
    assert done.status == 2
    assert done.output.startswith(f"record: page.md, line {line}: this cell cannot be")


def test_the_recorder_names_the_lessons_that_there_are() -> None:
    unknown = "no lesson 'nonsense'. There are: leaf_tensors, "
    with pytest.raises(CannotStart, match=unknown):
        chosen(["nonsense"], machine.fingerprint())


def different(line: str) -> str:
    return line.replace("cpu", "cuda").replace("43.4", "50.1")


HOSTILE = [
    "<script>alert('html')</script><img src=x onerror=alert(1)>",
    ".. raw:: html",
    "   <script>alert('rest')</script>",
    "`link <javascript:alert(1)>`_ |sub| *emphasis* ``code``",
    "```{raw} html",
    "[link](javascript:alert(1)) {term}`nothing`",
    "\x1b[31mred\x1b[0m \x07bell \u202ereversed",
    "</pre></div></body></html>",
    "&lt;b&gt; &amp;",
]
OLD = OTHER | {"device_kind": "cpu", "torch": "2.9.0"}
SIMULATED = OTHER | {"device_kind": "stand-in", "device_name": "host memory"}


def seen_by(other: dict[str, str], path: Path, output: list[str]) -> None:
    """Write a recording of another machine, whose last block is left out."""
    data = json.loads(path.read_text()) | {"machine": other}
    first, last = data["blocks"]
    left_out = {"key": last["key"], "left_out": "It shows times."}
    data["blocks"] = [{**first, "output": output}, left_out]
    there = path.parent.with_name(Fingerprint(**other).name) / path.name
    there.parent.mkdir(exist_ok=True)
    there.write_text(json.dumps(data))


@pytest.fixture(scope="module")
def shown(
    recorded_site: TinySite, tmp_path_factory: pytest.TempPathFactory
) -> TinySite:
    """Return the site, built with another machine's recordings that differ.

    One lesson no GPU has recorded, but an old machine and the simulated device.
    """
    site = recorded_site.copy_to(tmp_path_factory.mktemp("shown") / "tiny")
    there = pretend_other_machine(site, different)
    figure = json.loads((there / "draw.1.json").read_text())
    figure["bars"][1] |= {"value": 2.0, "text": "2 ms"}
    figure["title"] = "<script>alert('title')</script> $\\frac{$"
    figure["bars"][0]["name"] = "</text><script>alert(2)</script>"
    (there / "draw.1.json").write_text(json.dumps(figure))
    table = (there / "draw.3.json").read_text()
    (there / "draw.3.json").write_text(table.replace('"no"', '"yes"'))
    hostile = json.loads((there / "hostile.json").read_text())
    hostile["blocks"][0]["output"] = HOSTILE
    (there / "hostile.json").write_text(json.dumps(hostile))
    for map_ in there.glob("asks.*.json"):
        map_.write_text(map_.read_text().replace('"cpu"', '"cuda:0"'))
    seen_by(SIMULATED, there / "a.json", ["device standin", "x is 2"])
    seen_by(SIMULATED, there / "host.json", ["device standin", "same"])
    seen_by(OLD, there / "host.json", ["device old", "same"])
    (there / "host.json").unlink()
    docs = site.folder / "docs"
    (docs / "machines.md").write_text(
        "(stand-in-device)=\n# Machines\n\n```{machines}\n```\n"
    )
    index = docs / "index.md"
    index.write_text(index.read_text().replace("/index\n", "/index\nmachines\n"))
    built = site.build()
    assert built.status == 0, built.output
    assert "Stale" not in built.output
    assert "Running 2 wrong answers" in built.output
    return site


def as_read(tag: Any) -> str:
    return " ".join(tag.get_text(" ").split())


def test_both_outputs_where_they_differ(shown: TinySite) -> None:
    page = soup(shown.page("a"))
    (group,) = page.select(".machines-outputs")
    live, other = group.select(".variant")
    assert live.select_one(".variant-label").get_text().startswith("This build: CPU")
    label = other.select_one(".variant-label").get_text()
    assert "CUDA (Test Card 9), torch 2.11.0, Python 3.12" in label
    assert live.select_one("pre").get_text().strip() == "device cpu\nx is 2"
    assert other.select_one("pre").get_text().strip() == "device cuda\nx is 2"
    assert [mark.get_text() for mark in group.select(".differs")] == ["cpu", "cuda"]
    # Without the script, nothing is hidden.
    assert not group.select("[hidden]")
    assert "simulated" not in page.get_text(), "a GPU has seen it"
    tabs = group.select(".machine-tabs label")
    names = [" ".join(tab.get_text().split()) for tab in tabs]
    here = machine.fingerprint().torch.partition("+")[0]
    assert names == [f"CPU, torch {here}", "CUDA (Test Card 9), torch 2.11.0"]
    assert tabs[0].input["value"] in live["class"]
    assert tabs[1].input["value"] in other["class"]
    assert [tab.input.has_attr("checked") for tab in tabs] == [True, False]
    assert page.select_one('script[src*="code.js"]')


def test_one_output_where_they_agree(shown: TinySite) -> None:
    page = soup(shown.page("a"))
    foot = page.select_one("p.stamp").get_text()
    card = "On CUDA (Test Card 9) with torch 2.11.0, only the outputs in tabs or folded"
    assert f"{card} tables differ." in foot and "The same results" not in foot
    assert page.select_one("p.stamp a")["href"].endswith("machines.html")
    assert page.get_text().count("y is 3") == 1
    assert [part.output.strip() for part in parts_of(shown.page("a"))] == [
        "device cpu\nx is 2",
        "y is 3",
    ]


def test_a_measured_time_is_no_difference(shown: TinySite) -> None:
    page = soup(shown.page("timed"))
    (group,) = page.select(".machines-outputs")  # not on the setup
    assert "50.1" in group.get_text() and not group.select(".differs")
    foot = page.select_one("p.stamp").get_text()
    assert foot.startswith("Ran on CPU with torch ") and "esults" not in foot


def test_a_recorded_plot_is_drawn_in_the_sites_style(shown: TinySite) -> None:
    page = soup(shown.page("draw"))
    # Beside each other on one scale, whatever the switch says, each with its machine.
    live, other = page.select("figure.chart")[0].select(".machine")
    assert "this build" in live.p.get_text()
    assert "Test Card 9" in other.p.get_text() and "recorded" in other.p.get_text()
    assert "5 ms" in live.get_text() and "2 ms" in other.get_text()
    assert live.select("rect")[0]["width"] == other.select("rect")[0]["width"]
    ids = [tag["id"] for tag in page.select("[id]")]
    assert len(ids) == len(set(ids))


def test_a_chart_that_is_the_same_elsewhere_is_shown_once(shown: TinySite) -> None:
    counts = soup(shown.page("draw")).select("figure.chart")[1]
    assert len(counts.select(".machine")) == 1


def test_a_table_that_differs_is_no_same_result(shown: TinySite) -> None:
    page = soup(shown.page("draw"))
    folded = page.select_one(".lesson-table details.folded")
    assert "Test Card 9" in folded.summary.get_text()
    assert [cell.get_text() for cell in folded.select("tbody td")] == ["copies yes"]
    foot = page.select_one("p.stamp").get_text()
    assert "folded tables differ." in foot and "The same results" not in foot


def test_the_box_of_a_question_holds_every_machines_output_and_the_reason(
    shown: TinySite,
) -> None:
    page = soup(shown.page("asks"))
    (box,) = page.select("details.predict")
    assert box.summary.get_text().strip() == "What does w <now> hold?"
    assert box.select_one("summary code").get_text() == "w"
    outputs = [as_read(pre) for pre in box.select(".machines-outputs > .variant pre")]
    assert outputs == ["device cpu w [7.0, 0.0]", "device cuda w [7.0, 0.0]"]
    assert len(box.select(".machine-tabs input")) == 2
    # A map, which the block above has, is the same on another device.
    assert len(page.select(".machines-outputs")) == len(page.select(".tensor-map")) == 1
    (proof,) = box.select(".predict-answer > details.checked")
    assert as_read(proof.summary) == "Printed and checked by 3 lines"
    assert proof.pre.get_text().strip().endswith("assert w[0] == 7.0")
    code = box.find_previous_sibling(class_="highlight-Python").get_text()
    assert "z[0]" in code and "print" not in code
    assert "This is why." in as_read(box)
    for outside in ("This leads on.", "made", "end True"):
        assert outside not in as_read(box) and outside in as_read(page)
    radios = box.find_previous_sibling().select("input")
    (right,) = [one for one in radios if one.has_attr("data-right")]
    assert right.find_parent("label").code.get_text() == "w [7.0, 0.0]"
    wrong = {one["data-said"] for one in radios if one is not right}
    assert len(wrong) == 2 and all("`z = w" in one for one in wrong), wrong


def test_the_simulated_device_is_shown_by_its_name_until_a_gpu_is(
    shown: TinySite,
) -> None:
    page = soup(shown.page("host"))
    (one,) = page.select(".machines-outputs")
    assert as_read(one.select_one(".live pre")) == "device cpu same"
    before, simulated = one.select(".recorded")  # each with what its machine saw
    assert "CPU, torch 2.9.0, Python" in before.select_one("p").get_text()
    assert as_read(before.pre) == "device old same"
    assert "simulated device, torch " in simulated.select_one("p").get_text()
    assert as_read(simulated.pre) == "device standin same"
    # What is left out, and why, stands on the page of machines.
    assert "It shows times." not in page.get_text()
    (note,) = simulated.select(".stand-in-note")
    assert note.get_text().startswith("Not a GPU. PyTorch treats CPU memory")
    assert note.a["href"].endswith("machines.html#stand-in-device")


def test_hostile_text_is_shown_inert(shown: TinySite) -> None:
    page = soup(shown.page("hostile"))
    text = page.select_one(".variant.recorded pre").get_text().strip("\n")
    inert = [re.sub("[\x07\x1b\u202e]", "\ufffd", line) for line in HOSTILE]
    assert text == "\n".join(inert)
    for name in ("hostile", "draw"):
        page = soup(shown.page(name))
        assert not [s for s in page.select("script") if "alert" in s.get_text()]
        assert not page.select("[onerror], [href^='javascript:'], svg script")
        assert page.select_one("footer")  # the page is whole


def test_the_machines_page(shown: TinySite) -> None:
    text = as_read(soup(shown.html / "machines.html").select_one("article"))
    assert f"The machine of this build: {machine.fingerprint()}" in text
    assert "torch 2.11.0, NumPy 2.4.0, Python 3.12.3 on CUDA (Test Card 9)" in text
    assert "Covers 5 of 6 lessons: " in text


NOTHING, OTHERWISE = "No named tensor changes", "All is as it was"


def test_prose_stales_nothing_and_code_stales_what_follows(
    shown: TinySite, tmp_path: Path
) -> None:
    site = shown.copy_to(tmp_path / "tiny")
    examples, docs = site.folder / "examples" / "1_first", site.folder / "docs"

    def rewrite(path: Path, old: str, new: str) -> None:
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")

    def tabs() -> dict[str, int]:
        names = ("a", "hostile", "timed", "asks", "draw")
        pages = {name: soup(site.page(name)) for name in names}
        return {n: len(page.select(".machines-outputs")) for n, page in pages.items()}

    def player() -> str:
        return (site.html / "_static/steps/1_first/asks.js").read_text("utf-8")

    # Prose, code of the second block and of the first, a program; and one is gone.
    rewrite(examples / "a.py", "A lesson of a tiny site.", "Other words.")
    rewrite(examples / "hostile.py", "print('end')", "print('end')  # here")
    rewrite(examples / "timed.py", "x = 2", "x = 2  # two")
    rewrite(examples / "asks.py", "7.0", "8.0")
    for kept in docs.glob("recordings/*/draw.*"):
        kept.unlink()
    built = site.build()
    assert built.status == 0 and "Running 2 wrong answers" in built.output
    stale = [line for line in built.output.splitlines() if OTHER_NAME in line]
    matching = {"hostile": "1 of 2", "timed": "0 of 2", "asks": "1 of 3"}
    for name, same in matching.items():
        said = f"recordings/{OTHER_NAME}, {name} matches {same} blocks"
        (line,) = [one for one in stale if said in one]
        assert f"run `nox -s record -- --only {name}`" in line
    assert len(stale) == 3, stale
    assert tabs() == {"a": 1, "hostile": 1, "timed": 0, "asks": 0, "draw": 0}
    machines = as_read(soup(site.html / "machines.html"))
    assert "Covers 4 of 6 lessons: " in machines
    assert "1 of 2 blocks are shown" in machines
    assert "nox -s record -- --only hostile" in machines
    right = soup(site.page("asks")).select_one("[data-right]").find_parent("label")
    assert right.code.get_text() == "w [8.0, 0.0]"
    assert NOTHING in player()
    # Recordings that vanish, and another word of the player, run nothing again.
    shutil.rmtree(docs / "recordings")
    package = site.folder / "conf" / "tensor_maps" / "src" / "tensor_maps"
    rewrite(package / "steps" / "words.py", NOTHING, OTHERWISE)
    without = site.build()
    assert without.lessons.startswith("Lessons: 0 of 6 ran")
    assert "wrong answers" not in without.output
    assert not any(tabs().values())
    assert OTHERWISE in player() and NOTHING not in player()
    # One that is refused stops the build.
    broken = docs / "recordings" / OTHER_NAME / "a.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    before, refused = site.published(), site.build()
    said = [line for line in refused.output.splitlines() if "is refused" in line]
    assert said == [
        f"WARNING: recordings/{OTHER_NAME}/a.json is refused: it is not whole JSON "
        "[recordings]"
    ]
    assert refused.status != 0 and "Traceback" not in refused.output
    assert site.published() == before


RECORDED_PAGE = """---
file_format: mystnb
kernelspec: {name: python3}
---

# Page

```{code-cell} ipython3
:tags: [hide-input, recorded]

import torch

observed = {"row": {"column": torch.ones(1).device.type}}
```

```{code-cell} ipython3
print("not recorded", undefined_here)
```
"""


def test_a_page_with_recorded_cells(recorded_site: TinySite, tmp_path: Path) -> None:
    site = recorded_site.copy_to(tmp_path / "tiny")
    page = site.folder / "docs" / "page.md"
    page.write_text(RECORDED_PAGE)
    done = record(site, "--only", "page")
    assert done.status == 0, done.output
    (path,) = (site.folder / "docs" / "recordings").glob("*/page.page.json")
    saved = check.load_page(path)
    assert saved.observed == {"row": {"column": machine.fingerprint().device_kind}}
    assert recordings.seen_elsewhere(page) == []  # this machine's own
    other = path.parent.with_name(OTHER_NAME) / path.name
    other.parent.mkdir()
    data = {**json.loads(path.read_text()), "machine": OTHER}
    other.write_text(json.dumps(data))
    (elsewhere,) = recordings.seen_elsewhere(page)
    assert elsewhere.machine.device_name == "Test Card 9"
    page.write_text(page.read_text().replace("# Page", "# Other prose"))
    assert recordings.seen_elsewhere(page) == [elsewhere]
    page.write_text(page.read_text().replace("torch.ones(1)", "torch.ones(2)"))
    assert recordings.seen_elsewhere(page) == []


def test_the_article_shows_what_other_machines_saw_as_text(site: Path) -> None:
    """Also what looks like a tag, ``<AddBackward0>``; and no time that was measured."""
    article, here = ROOT / "docs" / "article.md", machine.fingerprint()
    elsewhere = [
        check.load_page(path)
        for path in (ROOT / "docs" / "recordings").glob("*/article.page.json")
        if path.parent.name != here.name
    ]
    current = [one for one in elsewhere if one.key == recordings.page_key(article)]
    assert current, "no current recording of the article is kept"
    seen = {
        (number.lower(), f"{text.replace('`', '')} on {one.machine.label}")
        for one in current
        for number, texts in one.observed.items()
        for text in texts.values()
    }
    shown = {
        (one.find_parent(id=True)["id"], one.get_text())
        for one in soup(site / "article.html").select(".elsewhere")
    }
    assert shown <= seen
    assert any("grad_fn=<" in text for _, text in shown)
    assert not {"c58", "c59"} & {number for number, _ in shown}


REFUSED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "an older format": (lambda data: data | {"schema": 0}, "its format is not 2"),
    "no object": (lambda data: [data], "its properties are not those"),
    "a property less": (lambda data: data.pop("day") and data, "its properties"),
}


def test_refused(recorded_site: TinySite, tmp_path: Path) -> None:
    kept = tmp_path / "docs" / "recordings"
    shutil.copytree(recorded_site.folder / "docs" / "recordings", kept)
    path = pretend_other_machine(TinySite(tmp_path), lambda line: line) / "a.json"
    whole = path.read_text()
    assert check.load_recording(path).lesson == "1_first/a"
    for change, reason in REFUSED.values():
        path.write_text(json.dumps(change(json.loads(whole))))
        with pytest.raises(recordings.BadRecording, match=reason) as refused:
            check.load_recording(path)
        message = str(refused.value)
        assert message.startswith(f"recordings/{OTHER_NAME}/a.json is refused: ")
        assert "\n" not in message
    for text in ("", whole[: len(whole) // 2], "<<<<<<< HEAD\n" + whole):
        path.write_text(text)
        with pytest.raises(recordings.BadRecording, match="not whole JSON"):
            check.load_recording(path)
    path.unlink()
    with pytest.raises(recordings.BadRecording, match="cannot be read"):
        check.load_recording(path)
