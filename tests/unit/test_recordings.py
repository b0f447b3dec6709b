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
from recording import OTHER, OTHER_NAME, pretend_other_machine, record, recorded
from tensor_copies.recordings import check
from tensor_copies.recordings import format as recordings
from tensor_copies.run import fingerprint as machine

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
print("counted")"""


@pytest.fixture(scope="module")
def recorded_site(tmp_path_factory: pytest.TempPathFactory) -> TinySite:
    """Return a tiny site with recordings, not yet built."""
    site = new_tiny_site(tmp_path_factory.mktemp("recorded") / "tiny")
    site.write_lessons(
        {
            "a.py": lesson("A", FIRST, SECOND),
            "draw.py": lesson("Draw", DRAW, DRAW_COUNTS),
            "timed.py": lesson(
                "Timed", f"# sphinx_gallery_setup = True\n{FIRST}", TIMED
            ),
        }
    )
    done = record(site)
    assert done.status == 0, done.output
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
    assert names == [["draw.1.json"], ["draw.2.json"]]
    (folder,) = (recorded_site.folder / "docs" / "recordings").iterdir()
    figure = json.loads((folder / "draw.1.json").read_text())
    assert figure["bars"][1] == {"name": "copy_(x)", "value": 5.0, "text": "5 ms"}
    # No page shows what the setup prints.
    setup, timed = recorded(recorded_site)["timed"]["blocks"]
    assert set(setup) == {"key"} and timed["output"] == ["clone 43.4 ms"]


def test_recording_again_changes_only_the_day_and_needs_no_theme(
    recorded_site: TinySite, tmp_path: Path
) -> None:
    """Nor anything else that a closed machine may lack; and it leaves nothing else."""
    site = recorded_site.copy_to(tmp_path / "tiny")
    missing = tmp_path / "missing"
    missing.mkdir()
    for name in ("nox", "furo", "myst_nb", "myst_parser", "IPython", "pandas"):
        (missing / f"{name}.py").write_text("raise ImportError('not on this machine')")

    def files() -> dict[str, bytes]:
        vary = re.compile(rb'"day": .*')
        every = [path for path in site.folder.rglob("*") if path.is_file()]
        kept = [path for path in every if "__pycache__" not in path.parts]
        return {str(path): vary.sub(b"", path.read_bytes()) for path in kept}

    before = files()
    done = record(site, env={**os.environ, "PYTHONPATH": str(missing)})
    assert done.status == 0, done.output
    assert files() == before


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
    assert record(tiny_site, "--only", "right").status == 0
    unknown = record(tiny_site, "--only", "nonsense")
    assert unknown.status == 2
    assert unknown.output.startswith("record: no lesson 'nonsense'. There are: zero,")
    page = tiny_site.folder / "docs" / "page.md"
    page.write_text(RECORDED_PAGE + "\n:::{code-cell}\n:tags: [recorded]\n1\n:::\n")
    line = len(page.read_text().splitlines()) - 3
    done = record(tiny_site)
    assert done.status == 2
    assert done.output.startswith(f"record: page.md, line {line}: this cell cannot be")


def different(line: str) -> str:
    return line.replace("cpu", "cuda").replace("43.4", "50.1")


@pytest.fixture(scope="module")
def shown(
    recorded_site: TinySite, tmp_path_factory: pytest.TempPathFactory
) -> TinySite:
    """Return the site, built with another machine's recordings that differ."""
    site = recorded_site.copy_to(tmp_path_factory.mktemp("shown") / "tiny")
    there = pretend_other_machine(site, different)
    timed = there / "draw.1.json"
    timed.write_text(timed.read_text().replace("5.0", "2.0").replace("5 ms", "2 ms"))
    (site.folder / "docs" / "machines.md").write_text(
        "# Machines\n\n```{machines}\n```\n"
    )
    index = site.folder / "docs" / "index.md"
    index.write_text(index.read_text().replace("/index\n", "/index\nmachines\n"))
    built = site.build()
    assert built.status == 0, built.output
    assert "Stale" not in built.output
    return site


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
    card = "On CUDA (Test Card 9) with torch 2.11.0, only the outputs with tabs differ."
    assert card in foot and "The same results" not in foot
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


def test_the_machines_page(shown: TinySite) -> None:
    text = soup(shown.html / "machines.html").select_one("article").get_text(" ")
    assert f"The machine of this build: {machine.fingerprint()}" in text
    assert "torch 2.11.0, NumPy 2.4.0, Python 3.12.3 on CUDA (Test Card 9)" in text
    assert "all 3" in text


def test_prose_stales_nothing_and_code_stales_what_follows(
    shown: TinySite, tmp_path: Path
) -> None:
    site = shown.copy_to(tmp_path / "tiny")
    script = site.folder / "examples" / "1_first" / "a.py"
    original = script.read_text()

    script.write_text(original.replace("A lesson of a tiny site.", "Other words."))
    prose = site.build()
    assert "Stale" not in prose.output
    assert len(soup(site.page("a")).select(".machines-outputs")) == 1

    script.write_text(original.replace("x + 1)", "x + 1 )"))
    second = site.build()
    command = "run `nox -s record -- --only a`"
    assert f"recordings/{OTHER_NAME}, a matches 1 of 2 blocks" in second.output
    assert command in second.output
    assert soup(site.page("a")).select(".machines-outputs")
    machines = soup(site.html / "machines.html").get_text()
    assert "1 of 2 blocks are shown" in machines
    assert "nox -s record -- --only a" in machines

    script.write_text(original.replace("x = 2", "x = 2 "[:-1] + "  # two"))
    first = site.build()
    assert "matches 0 of 2 blocks" in first.output
    assert not soup(site.page("a")).select(".machines-outputs")
    # A new or a vanished recording is seen without running a lesson again.
    script.write_text(original)
    for kept in site.folder.glob("docs/recordings/*/draw.*"):
        kept.unlink()
    assert site.build().status == 0
    machines = soup(site.html / "machines.html").get_text()
    title = soup(site.page("a")).h1.get_text().removesuffix("¶")
    assert f"Covers 2 of 3 lessons: {title}" in machines
    shutil.rmtree(site.folder / "docs" / "recordings")
    without = site.build()
    assert without.lessons.startswith("Lessons: 0 of 3 ran")
    assert not soup(site.page("a")).select(".machines-outputs")


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
        (number.lower(), f"{text} on {one.machine.label}")
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


def test_hostile_text_is_shown_inert(recorded_site: TinySite, tmp_path: Path) -> None:
    site = recorded_site.copy_to(tmp_path / "tiny")
    folder = pretend_other_machine(site, lambda line: line)
    for path in (folder / "a.json", folder / "draw.1.json"):
        data = json.loads(path.read_text())
        if "blocks" in data:
            data["blocks"][0]["output"] = HOSTILE
        else:
            data["title"] = "<script>alert('title')</script> $\\frac{$"
            data["bars"][0]["name"] = "</text><script>alert(2)</script>"
        path.write_text(json.dumps(data))
    built = site.build()
    assert built.status == 0, built.output
    page = soup(site.page("a"))
    shown_text = page.select_one(".variant.recorded pre").get_text().strip("\n")
    inert = [re.sub("[\x07\x1b\u202e]", "\ufffd", line) for line in HOSTILE]
    assert shown_text == "\n".join(inert)
    for name in ("a", "draw"):
        page = soup(site.page(name))
        assert not [s for s in page.select("script") if "alert" in s.get_text()]
        assert not page.select("[onerror], [href^='javascript:'], svg script")
        assert page.select_one("footer")  # the page is whole


REFUSED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "an older format": (lambda data: data | {"schema": 0}, "its format is not 2"),
    "no object": (lambda data: [data], "its properties are not those"),
    "a property less": (lambda data: data.pop("day") and data, "its properties"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind: str, recorded_site: TinySite, tmp_path: Path) -> None:
    site = recorded_site.copy_to(tmp_path / "tiny")
    path = pretend_other_machine(site, lambda line: line) / "a.json"
    change, reason = REFUSED[kind]
    whole = path.read_text()
    assert check.load_recording(path).lesson == "1_first/a"
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


def test_a_refused_recording_stops_the_build_with_one_line(
    recorded_site: TinySite, tmp_path: Path
) -> None:
    site = recorded_site.copy_to(tmp_path / "tiny")
    folder = pretend_other_machine(site, lambda line: line)
    (folder / "a.json").write_text("{")
    built = site.build()
    assert built.status != 0
    said = [line for line in built.output.splitlines() if "is refused" in line]
    assert said == [
        f"WARNING: recordings/{OTHER_NAME}/a.json is refused: it is not whole JSON "
        "[recordings]"
    ]
    assert "Traceback" not in built.output
    assert not site.html.exists()
