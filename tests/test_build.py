"""What the build promises, each promise once: on one tiny site, built once.

The site is built in surroundings that should not matter: a profile of IPython, scratch
modules, variables of Python. Its lessons leave behind what they can.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import build_site
import programs
import psutil
import pytest
from conftest import (
    PATIENCE,
    Built,
    TinySite,
    computing_page,
    lesson,
    new_tiny_site,
)
from reading import soup
from tensor_copies.machine import apart, code_keys, kept_json
from tensor_copies.machine.fingerprint import Fingerprint
from tensor_copies.recordings import format as recordings

pytestmark = pytest.mark.slow
SECTION = Path("examples", "1_first")
LEAVES = """
import random, subprocess, threading, time, torch
from torch.utils._python_dispatch import TorchDispatchMode

class Twice(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        return function(*arguments, **(named or {}))

torch.Tensor.clone = torch.Tensor.detach
torch.set_default_dtype(torch.float64)
torch.autocast("cpu", dtype=torch.bfloat16).__enter__()
Twice().__enter__()
torch.nn.modules.module.register_module_forward_hook(lambda *given: given[2] * 100)
threading.Thread(target=time.sleep, args=(PATIENCE,)).start()
subprocess.Popen(["sleep", "4171"], start_new_session=True)
random.seed(0)
print("it left much")
""".replace("PATIENCE", str(PATIENCE))
FINDS = """
import torch
x = torch.ones(2, requires_grad=True)
print("clone:", x.clone().grad_fn is not None, x.dtype)
print("mm:", torch.mm(torch.ones(1, 1), torch.ones(1, 1)).dtype)
print("module:", torch.nn.Identity()(torch.ones(1)).item())
print("modes:", torch._C._len_torch_dispatch_stack())
try:
    assert False
except AssertionError:
    print("assertions run")
# sphinx_gallery_tensor_map = "x"
"""
FOUND = """clone: True torch.float32
mm: torch.float32
module: 1.0
modes: 0
assertions run
"""
CELL = """import random, subprocess, torch
process = subprocess.Popen(["sleep", "4172"], start_new_session=True)
print(torch.ones(1).dtype, __debug__, random.choice([7]))"""
PROSE = "# Prose\n\nSome words. See {doc}`what computes <computes>`.\n"
SCRATCH = "raise RuntimeError('a scratch file was imported')\n"


def surroundings(folder: Path) -> dict[str, str]:
    """Return variables that would change results, and make files that would."""
    startup = folder / "home" / ".ipython" / "profile_default" / "startup" / "own.py"
    startup.parent.mkdir(parents=True)
    startup.write_text("import torch; torch.set_default_dtype(torch.float64)\n")
    kernel = folder / "home" / ".local" / "share" / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text('{"argv": ["false"], "language": "python"}')
    (folder / "random.py").write_text(SCRATCH)
    return {
        **os.environ,
        "HOME": str(folder / "home"),
        "PYTHONOPTIMIZE": "2",
        "PYTHONWARNINGS": "ignore",
        "PYTHONSTARTUP": str(startup),
        "MPLBACKEND": "nonsense",
    }


def running(*commands: str) -> list[str]:
    """Return those of the commands that some process runs."""
    found = [
        " ".join(one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"])
    ]
    return [command for command in commands if command in found]


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[TinySite, Built]:
    """Return a site that was built in such surroundings, and how that ended."""
    folder = tmp_path_factory.mktemp("promises")
    site = new_tiny_site(folder / "with a space, it's so")
    site.write_lessons(
        {"leaves.py": lesson("Leaves", LEAVES), "finds.py": lesson("Finds", FINDS)}
    )
    site.order(["leaves.py", "finds.py", "renamed.py", "added.py"])
    docs = site.folder / "docs"
    (docs / "computes.md").write_text(computing_page(code=CELL))
    (docs / "prose.md").write_text(PROSE)
    entries = "auto_examples/index\ncomputes\nprose"
    (docs / "index.md").write_text(f"# Tiny\n\n```{{toctree}}\n{entries}\n```\n")
    (docs / "random.py").write_text(SCRATCH)
    environment = surroundings(folder)
    (site.folder / "random.py").write_text(SCRATCH)
    built = site.build(env=environment)
    assert built.status == 0, built.output
    return site, built


@pytest.fixture(scope="session")
def there(first: tuple[TinySite, Built]) -> TinySite:
    """Return the built site; a test that changes it takes a copy."""
    return first[0]


@pytest.fixture
def site(there: TinySite, tmp_path: Path) -> TinySite:
    """Return a copy of the built site, at its own place again after the test."""
    return there.copy_to(tmp_path / there.folder.name)


def built(site: TinySite, *arguments: str) -> Built:
    """Build the site, which must go well."""
    done = site.build(*arguments)
    assert done.status == 0, done.output
    return done


def text_of(page: Path) -> str:
    return soup(page).get_text()


# 2. A process of its own for each lesson and page, in a plain environment.


def test_a_lesson_finds_what_a_new_python_finds(there: TinySite) -> None:
    assert FOUND in text_of(there.page("finds"))


def test_a_page_finds_what_a_new_python_finds(there: TinySite) -> None:
    assert "torch.float32 True 7" in text_of(there.html / "computes.html")


def test_lessons_that_take_times_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once, most = [], []

    def run(lesson: str, *_: Any, **__: Any) -> tuple[str, str, tuple[float], dict]:
        at_once.append(lesson)
        most.append(set(at_once))
        time.sleep(0.2)
        at_once.remove(lesson)
        return "", "", (0.0,), {}

    monkeypatch.setattr(apart, "run_apart", run)
    names = [
        f"{kind}{at}.py" for at in range(3) for kind in ("plain", "other", "timed")
    ]
    for name in names:
        clock = "from time import perf_counter" if "timed" in name else ""
        (tmp_path / name).write_text(clock)
    backend = apart.OneProcessEach()
    backend.start_call()
    asked = [
        backend.submit(programs.Batch((print, (name, tmp_path / "out", tmp_path, {}))))
        for name in names
    ]
    for one in asked:
        backend.retrieve_result(one)
    backend.stop_call()
    assert all(
        len(beside) == 1 for beside in most if any("timed" in one for one in beside)
    )
    assert max(map(len, most)) == 2


LIMITS = {"seconds": 60.0, "megabytes": 8000.0}
LOST: dict[str, tuple[Callable[..., Any], dict[str, float], str]] = {
    "exit": (programs.leave, {}, r"programs\.py: it ended its process with status 3"),
    "crash": (programs.crash, {}, r"programs\.py, line \d+: .* ended by SIGSEGV"),
    "hang": (programs.hang, {"seconds": 1}, r"programs\.py, line \d+: it ran longer"),
    "memory": (programs.grow, {"megabytes": 900}, r"it takes \d\.\d GB of memory"),
    "sys.exit": (programs.stop, {}, r"programs\.py: line \d+: SystemExit\(4\)"),
    "file": (programs.write, {}, r"programs\.py: it left the file left\.txt among"),
    "fd 1": (programs.print_past, {}, r"'hello' was printed past sys\.stdout"),
}


@pytest.mark.parametrize("what", LOST)
def test_a_process_that_does_not_end_well_is_said_in_a_line(
    what: str, tmp_path: Path
) -> None:
    function, limits, said = LOST[what]
    with pytest.raises(apart.LessonLost, match=said) as lost:
        apart.run_apart(
            "programs.py", function, tmp_path, folder=tmp_path, **{**LIMITS, **limits}
        )
    assert "\n" not in str(lost.value)


def test_what_a_lesson_started_ends_with_it_also_where_it_is_lost(
    tmp_path: Path,
) -> None:
    with pytest.raises(apart.LessonLost):
        apart.run_apart(
            *("programs.py", programs.start_and_hang, tmp_path),
            **{**LIMITS, "seconds": 2, "folder": tmp_path},
        )
    assert (tmp_path / ".started").exists()
    assert not running("sleep 4173")


# 5. Nothing outlives the build; nothing is written outside of its folders.


def test_nothing_outlives_the_build(first: tuple[TinySite, Built]) -> None:
    assert not running("sleep 4171", "sleep 4172")


def test_nothing_is_written_outside_of_the_folders_of_the_build(
    there: TinySite,
) -> None:
    made = {"build", "conf", "docs", "examples", "random.py"}
    assert {path.name for path in there.folder.iterdir()} == made
    docs = {path.name for path in (there.folder / "docs").iterdir()}
    assert docs == {"auto_examples", "computes.md", "index.md", "prose.md", "random.py"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_build_that_is_stopped_leaves_the_site_and_no_process(
    number: signal.Signals, site: TinySite
) -> None:
    before = site.published()
    waits = (
        'import subprocess\nsubprocess.run(["sleep", "4174"], start_new_session=True)'
    )
    (site.folder / SECTION / "finds.py").write_text(lesson("Finds", waits))
    build = site.start()
    until = time.monotonic() + PATIENCE
    while not running("sleep 4174"):
        assert build.poll() is None and time.monotonic() < until
        time.sleep(0.1)
    build.send_signal(number)
    build.communicate(timeout=PATIENCE)
    while running("sleep 4174") and time.monotonic() < until:
        time.sleep(0.1)
    assert not running("sleep 4174", sys.executable)
    assert site.published() == before


# 1. A build that fails or is stopped leaves the published site as it was.
# 4. What is wrong is said in one line.


def test_what_fails_is_named_and_the_site_stays(site: TinySite) -> None:
    before = site.published()
    docs = site.folder / "docs"
    wrong = {
        SECTION / "finds.py": lesson("Finds", "print('so far')\n1 / 0"),
        SECTION / "leaves.py": lesson("Leaves", "raise KeyError('and this')"),
    }
    whole = {name: (site.folder / name).read_text() for name in wrong}
    for name, text in wrong.items():
        (site.folder / name).write_text(text)
    failed = site.build()
    assert failed.status == 2
    for said in ('finds.py", line 8', "ZeroDivisionError", 'leaves.py", line 7'):
        assert said in failed.output
    assert "build/html is still the last good site" in failed.output
    for name, text in whole.items():
        (site.folder / name).write_text(text)
    (docs / "prose.md").write_text(f"{PROSE}\n{{doc}}`nowhere`\n")
    (docs / "computes.md").write_text(computing_page(code="1 / 0"))
    failed = site.build()
    assert failed.status == 2
    assert "computes.md" in failed.output and "ZeroDivisionError" in failed.output
    (docs / "computes.md").write_text(computing_page(code=CELL))
    for _ in range(2):  # a warning is said again, though nothing has changed
        failed = site.build()
        assert failed.status == 2
        assert "prose.md:5: WARNING: unknown document: 'nowhere'" in failed.output
    assert site.published() == before
    (docs / "prose.md").write_text(PROSE)
    built(site)
    assert site.published().keys() == before.keys()


def test_a_build_killed_between_two_renames_leaves_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, html = tmp_path / "staging", tmp_path / "html"
    for folder, text in ((new, "new"), (html, "old")):
        folder.mkdir()
        (folder / "index.html").write_text(text)
    rename, renamed = Path.rename, []

    def killed(self: Path, target: Path) -> Path:
        if len(renamed) == 1:
            raise KeyboardInterrupt
        renamed.append(target)
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            build_site.publish(new, html)
    assert not html.exists()
    build_site.recover(html)
    assert (html / "index.html").read_text() == "old"
    build_site.publish(new, html)
    assert (html / "index.html").read_text() == "new"
    assert {path.name for path in tmp_path.iterdir()} == {"html", "staging"}


def test_a_site_that_is_a_link_stays_one(tmp_path: Path) -> None:
    new, served, html = (tmp_path / name for name in ("staging", "served", "html"))
    new.mkdir()
    html.symlink_to(served)
    for text in ("one", "two"):
        (new / "index.html").write_text(text)
        build_site.publish(new, html)
        assert html.is_symlink() and (served / "index.html").read_text() == text


def test_two_builds_at_once(site: TinySite) -> None:
    from filelock import FileLock

    with FileLock(site.folder / "build" / "lock"):
        done = site.build()
    assert done.status == 2
    assert "build_site: another build runs in this folder" in done.output


# 3. What is published is what the sources say; the next build sees any difference.


def clean(site: TinySite) -> dict[str, str]:
    """Build without anything that was read or written before; return the files."""
    for folder in ("doctrees", "staging", "html"):
        shutil.rmtree(site.folder / "build" / folder)
    built(site)
    return site.published()


def recording_of(site: TinySite, name: str) -> None:
    """Write a recording of a lesson, as another machine would have made it."""
    machine = Fingerprint("cpu", "Other", "2.9.0", "2.1.0", "3.12.1")
    keys = recordings.keys(site.folder / SECTION / f"{name}.py").values()
    blocks = tuple(recordings.Block(key, "seen elsewhere", ()) for key in keys)
    whole = recordings.Recording(f"1_first/{name}", machine, "2026-01-02", 1.0, blocks)
    recordings.save(whole, {}, site.folder / "docs" / "recordings" / machine.name)


def test_the_next_build_sees_any_difference_and_is_a_clean_one(site: TinySite) -> None:
    docs, examples = site.folder / "docs", site.folder / SECTION
    none = "Lessons: 0 of 2 ran, 2 kept from earlier builds."
    assert built(site).lessons == none  # in another folder: nothing is run again
    page = docs / "prose.md"
    date = page.stat().st_mtime_ns
    page.write_text(PROSE.replace("Some words", "Other letters"))
    os.utime(page, ns=(date, date))
    recording_of(site, "finds")
    assert built(site).lessons == none
    assert "Other letters" in text_of(site.html / "prose.html")
    assert "seen elsewhere" in text_of(site.page("finds"))
    assert site.published() == clean(site)
    # A title is on other pages too.
    page.write_text(page.read_text().replace("# Prose", "# Another title"))
    style = site.folder / "conf" / "static" / "site.css"
    style.write_text(f"{style.read_text()}\n.edited {{ color: teal; }}\n")
    assert built(site).lessons == none
    assert "Another title" in text_of(site.html / "computes.html")
    assert "teal" in (site.html / "_static" / "site.css").read_text()
    # A lesson renamed, its map gone with it; another edited, and alone run again.
    shutil.rmtree(docs / "recordings")
    (examples / "finds.py").rename(examples / "renamed.py")
    again = built(site)
    assert again.lessons == "Lessons: 1 of 2 ran, 1 kept from earlier builds."
    assert not any("finds" in name for name in site.published())
    assert site.published() == clean(site)


# The keys, without a build.


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        ("tensor_copies/machine/isolation.py", {"lessons", "answers"}),
        ("tensor_copies/figures/steps.py", {"lessons"}),
        ("tensor_maps/src/tensor_maps/observe.py", {"lessons", "pages"}),
        ("tensor_maps/src/tensor_maps/reading.py", {"lessons", "pages", "atlas"}),
        ("tensor_maps/src/tensor_maps/atlas/run.py", {"pages", "atlas"}),
        ("tensor_maps/src/tensor_maps/steps/viewer.py", {"pages"}),
        ("tensor_copies/explorer/probing.py", {"explorer"}),
        ("tensor_copies/lessons/variants.py", {"answers"}),
        ("tensor_copies/lessons/page.py", set()),
        ("conf.py", set()),
        ("static/site.css", set()),
    ],
)
def test_a_key_changes_with_what_shapes_a_result(
    place: str, changes: set[str], there: TinySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = there.folder / "conf"
    monkeypatch.setattr(code_keys, "CONF", conf)
    monkeypatch.setattr(code_keys, "ROOT", there.folder)

    def keys() -> dict[str, str]:
        code_keys.digest_of.cache_clear()
        named = {
            name.removeprefix("SHAPES_").lower(): code_keys.digest_of(*patterns)
            for name, patterns in vars(code_keys).items()
            if name.startswith("SHAPES_")
        }
        made, dress = code_keys.pages_are_made_from(), code_keys.pages_are_dressed_in()
        return {**named, "made": made, "dress": dress}

    before, text = keys(), (conf / place).read_text()
    (conf / place).write_text(f"{text}\n")
    after = keys()
    (conf / place).write_text(text)
    assert keys() == before
    seen = {name for name in before if before[name] != after[name]}
    if "atlas" in changes:
        changes = {*changes, "explorer"}
    assert seen == {*changes, "dress" if place.startswith("static") else "made"}


def test_every_file_that_a_key_names_is_there() -> None:
    for name, patterns in vars(code_keys).items():
        if name.startswith("SHAPES_"):
            for pattern in patterns:
                assert list(code_keys.CONF.glob(pattern)), f"{name}: {pattern}"


def test_what_was_kept_for_old_code_is_removed(tmp_path: Path) -> None:
    for age in range(kept_json.NEWEST + 2):
        path = tmp_path / f"{age}.json"
        path.write_text("{}")
        os.utime(path, (1e9 - age, 1e9 - age))
    (tmp_path / "now").mkdir()
    kept_json.prune(tmp_path)
    newest = {f"{age}.json" for age in range(kept_json.NEWEST - 1)}
    assert {path.name for path in tmp_path.iterdir()} == {"now", *newest}


def test_nothing_changed_imports_no_torch(there: TinySite) -> None:
    code = "import runpy, sys; runpy.run_path('conf/conf.py'); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=there.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"torch", "matplotlib", "numpy"}.isdisjoint(done.stdout.split())
