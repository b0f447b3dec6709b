"""What a lesson's player tells: of which lessons, which events, and how drawn."""

import re
import tomllib
from pathlib import Path

import pytest
import torch
from pytest_regressions.file_regression import FileRegressionFixture
from reading import LESSONS, parsed
from recorded import as_lines, check
from tensor_copies.figures import steps as kept
from tensor_copies.figures.about import About
from tensor_copies.lessons import player
from tensor_copies.markup import TEMPLATES
from tensor_maps import Steps
from tensor_maps.observe import observe
from tensor_maps.steps.pictures import as_data

PROGRAMS = tomllib.loads(Path(__file__).with_name("programs.toml").read_text("utf-8"))
TAG = re.compile(r'class="tm-tag" data-name="(.+?)"')


@pytest.mark.parametrize("name", PROGRAMS)
def test_recorded_events(name: str, file_regression: FileRegressionFixture) -> None:
    one = PROGRAMS[name]
    source = one["source"].lstrip("\n")
    steps = Steps("a").run(source).steps
    beside = one.get("raises"), one.get("copies", ())
    about = About(steps, one["names"], one["lines"], *beside)
    shown = about.shown(steps, {}, one.get("most", 4), one.get("high", 1e9))
    data = as_data(shown, "a", [])
    lines = []
    for at in sorted(about.told):
        step = data["steps"][at]
        mark, code = ">" * (at == about.leads), source.splitlines()[step["first"] - 1]
        lines += [f"{mark}{step['first']}: {code}", f"  {step['said']}"]
        if step["drawing"] is not None:
            lines.append(f"  {as_lines(parsed(data['drawings'][step['drawing']]))}")
    if "player" in one:  # what stands on the page before a button is pressed
        sizes = dict(zip(("wide", "high"), kept.size_of_events(data), strict=True))
        data |= {"lead": about.leads, "code": source.splitlines()} | sizes
        first = player.shown_first(data)
        page = TEMPLATES.get_template("lessons/player.html").render(first, address="-")
        lines.append(as_lines(parsed(page)))
    check("\n".join(lines), file_regression)


def test_what_is_watched_no_more_has_no_old_steps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kept, "script_of", lambda lesson: tmp_path / "1_a" / lesson)
    monkeypatch.setattr(kept, "is_watched", lambda script: False)
    old = kept.steps_file(str(tmp_path), "all/1_a/one")
    old.parent.mkdir(parents=True)
    old.touch()
    kept.watch({"gallery_dirs": ["all"], "src_dir": str(tmp_path)}, "one.py", "before")
    assert not old.exists()


def test_colours_are_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "lesson.py"
    code = "import torch\na = torch.zeros(2)\nb = torch.ones(2)\ndel a\nc = b[:1]\n"
    code += "d = b.clone()\nb = c\n# sphinx_gallery_tensor_map = 'b, d'\n"
    script.write_text(f'"""\nTitle\n=====\n"""\n{code}# sphinx_gallery_lead = True\n')
    seen = Steps("b")
    monkeypatch.setitem(kept._watching, script.name, seen)
    seen.follow(script.read_text(), lambda f: f.f_code.co_filename == str(script))
    exec(compile(script.read_text(), str(script), "exec"), {})
    seen.stop()
    named = {"d": torch.ones(2), "b": torch.ones(2), "x": torch.ones(2)}
    painted = kept.coloured(observe(named), script)["storages"]
    assert [one.get("colour") for one in painted] == [0, 1, None]
    text = kept.as_json(seen, script)
    assert "--line-1" in text.split('data-name=\\"d\\"')[1].split("</g>")[0]
    inks: dict[str, set[str]] = {}
    for drawing in seen.data()["drawings"]:
        for row in drawing.split('class="tm-row"')[1:]:
            for name in TAG.findall(row):
                inks.setdefault(name, set()).add(re.search(r"--line-\d", row)[0])
    assert inks["b, c"] == inks["c"] == inks["b"] == {"--line-2"} != inks["d"]


@pytest.mark.parametrize(
    ("code", "watched"),
    [
        ("x = 1", True),
        ("import time\nt = time.perf_counter()", False),
        ("from timeit import repeat", False),
        ("def f():\n    with profile() as p:\n        g()", True),
        ("with torch.profile() as p:\n    g()", False),
        ("from torch.profiler import profile", True),
    ],
)
def test_what_is_timed_is_not_watched(code: str, watched: bool, tmp_path: Path) -> None:
    script = tmp_path / "lesson.py"
    script.write_text(f"# sphinx_gallery_tensor_map = 'x'\n{code}")
    assert kept.is_watched(script) == watched
    script.write_text(code)
    assert not kept.is_watched(script)
    for name in ("detach", "what_stays_alive"):
        assert kept.is_watched(LESSONS[name].script)
