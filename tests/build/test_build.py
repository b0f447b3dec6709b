"""What the build promises (design.md), each promise once: on one tiny site.

It is built once, in surroundings that should not matter: a profile of IPython, scratch
modules, variables of Python. Its lessons leave behind what they can. This is the one
module that builds sites, each test in a copy of that which is there.
"""

from __future__ import annotations

import json
import logging
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException
from itertools import combinations
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import build_site
import misdeeds
import psutil
import pytest
import torch
from reading import PATIENCE, ROOT, rows_of, soup
from sites import (
    INDEX,
    Built,
    TinySite,
    computing_page,
    lesson,
    new_tiny_site,
    plain,
)
from sphinx.errors import ExtensionError
from tensor_copies.recordings import format as recordings
from tensor_copies.run import apart, code_keys, kept_json, progress
from tensor_copies.run.fingerprint import Fingerprint

pytestmark = pytest.mark.slow
SECTION = Path("examples", "1_first")
TO_END = 120  # seconds for what is killed, however much runs beside it
NONE_RAN = "Lessons: 0 of 4 ran, 4 kept from earlier builds."
# Each lesson notes when it runs, but on no page.
NOTED = """
import os, time
begun = time.time()
WORK
with open(os.environ.get("NOTES", os.devnull), "a") as notes:
    print("NAME", begun, time.time(), file=notes)
"""
LEAVES = """
import random, subprocess, threading, torch
from torch.utils._python_dispatch import TorchDispatchMode

class Twice(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        return function(*arguments, **(named or {}))

torch.Tensor.clone = torch.Tensor.detach
torch.set_default_dtype(torch.float64)
torch.autocast("cpu", dtype=torch.bfloat16).__enter__()
Twice().__enter__()
torch.nn.modules.module.register_module_forward_hook(lambda *given: given[2] * 100)
threading.Thread(target=time.sleep, args=(4000,)).start()
process = subprocess.Popen(["sleep", "4000"], start_new_session=True)
random.seed(0)
time.sleep(1)
print("it left much")
"""
FINDS = """
import wave, torch
x = torch.ones(2, requires_grad=True)
print("clone:", x.clone().grad_fn is not None, x.dtype)
print("mm:", torch.mm(torch.ones(1, 1), torch.ones(1, 1)).dtype)
print("module:", torch.nn.Identity()(torch.ones(1)).item())
print("modes:", torch._C._len_torch_dispatch_stack())
try:
    assert False
except AssertionError:
    print("assertions run")
time.sleep(1)
# sphinx_gallery_tensor_map = "x"
"""
FOUND = """clone: True torch.float32
mm: torch.float32
module: 1.0
modes: 0
assertions run
"""
TIMES = "time.perf_counter()\ntime.sleep(1)\n"
SHOWS = """
import matplotlib.pyplot as plt
rows = [{"call": "x.clone()", "time": "2 ms"}, {"call": "<b>", "time": 3}]
print(*rows[0], sep=" | ")
for row in rows:
    print(*row.values(), sep=" | ")
print("and more")
plt.plot([1, 2, 3], label="loss")
plt.show()
time.sleep(1)
# sphinx_gallery_table = "rows"
# sphinx_gallery_folded = "The code"
"""
LESSONS = {"leaves": LEAVES, "times": TIMES, "finds": FINDS, "shows": SHOWS}
CELL = """import random, subprocess, torch
process = subprocess.Popen(["sleep", "4000"], start_new_session=True)
print(torch.ones(1).dtype, __debug__, random.choice([7]))"""
GATHERS = "# Gathers\n\n```{remember}\n```\n\n```{calls}\n```\n"
REMEMBER = "print('end')\n\n# %%\n# Remember\n# --------\n# - One thing."
WRONGLY_ASKED = '"1_first/shows#them" = ["x"]\n"1_first/finds#then" = "x"\n'
NEW = lesson("Finds", "print('new')", REMEMBER)
QUESTIONS = '"1_first/shows#then" = ["and then"]\n'
PROSE = "# Prose\n\nSome words. See {doc}`what computes <computes>`.\n"
STYLED = "---\nstyles: no.css\n---\n\n"
SCRATCH = "raise RuntimeError('a scratch file was imported')\n"


def noted(name: str) -> str:
    """Return the script of a lesson that notes when it runs."""
    code = NOTED.replace("NAME", name).replace("WORK", LESSONS[name].strip())
    return lesson(name.title(), code, REMEMBER)


def surroundings(folder: Path) -> dict[str, str]:
    """Return variables that would change results, and make files that would."""
    startup = folder / "home" / ".ipython" / "profile_default" / "startup" / "own.py"
    startup.parent.mkdir(parents=True)
    startup.write_text("import torch; torch.set_default_dtype(torch.float64)\n")
    kernel = folder / "home" / ".local" / "share" / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text('{"argv": ["false"], "language": "python"}')
    (folder / "random.py").write_text(SCRATCH)
    (folder / "home" / "wave.py").write_text(SCRATCH)
    return {
        **os.environ,
        "HOME": str(folder / "home"),
        "NOTES": str(folder / "notes"),
        "PYTHONOPTIMIZE": "2",
        "PYTHONPATH": "../home",
        "PYTHONWARNINGS": "ignore",
        "PYTHONSTARTUP": str(startup),
        "MPLBACKEND": "nonsense",
    }


@pytest.fixture(scope="session", autouse=True)
def one_day() -> Iterator[None]:
    """Let all builds be of one day, also those around midnight."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1767225600")
        yield


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> TinySite:
    """Return a site of which nothing is built."""
    site = new_tiny_site(tmp_path_factory.mktemp("promises") / "it's 20%20 ü#, so?")
    site.write_lessons({f"{name}.py": noted(name) for name in LESSONS})
    site.order([f"{name}.py" for name in (*LESSONS, "renamed", "added")])
    docs = site.folder / "docs"
    (docs / "computes.md").write_text(computing_page(code=CELL))
    (docs / "prose.md").write_text(PROSE)
    (docs / "gathers.md").write_text(GATHERS)
    (docs / "asked.toml").write_text(QUESTIONS)
    listed = "auto_examples/index", "computes", "prose", "gathers"
    (docs / "index.md").write_text(INDEX.format("\n".join(listed)))
    return site


@pytest.fixture(scope="session")
def there(sources: TinySite, one_day: None, tmp_path_factory: Any) -> TinySite:
    """Return the site, built in such surroundings; who changes it takes a copy."""
    folder = tmp_path_factory.mktemp("built")
    site = sources.copy_to(folder / sources.folder.name)
    (site.folder / "docs" / "random.py").write_text(SCRATCH)
    (site.folder / "random.py").write_text(SCRATCH)
    built(site, env=surroundings(folder))
    return site


@pytest.fixture
def site(there: TinySite, tmp_path: Path) -> TinySite:
    """Return a copy of the built site."""
    return there.copy_to(tmp_path / there.folder.name)


def built(site: TinySite, *arguments: str, **options: Any) -> Built:
    """Build the site, which must go well."""
    done = site.build(*arguments, **options)
    assert done.status == 0, done.output
    return done


def fails(
    site: TinySite, *said: str, arguments: tuple[str, ...] = (), **options: Any
) -> None:
    """Build the site, which must fail, say this, and leave it as it was."""
    before = site.published()
    done = site.build(*arguments, **options)
    assert done.status == 2, done.output
    for words in said:
        assert words in done.output
    assert "build/html is still the last good site" in done.output
    assert site.published() == before


def rewrite(path: Path, old: str, new: str) -> None:
    """Replace a text in a file that has it, and leave the file its date."""
    text, date = path.read_text(), path.stat().st_mtime_ns
    assert old in text
    path.write_text(text.replace(old, new))
    os.utime(path, ns=(date, date))


def text_of(page: Path) -> str:
    return soup(page).get_text()


def until(seen: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Wait until something is so; return whether it became so in time."""
    deadline = time.monotonic() + seconds
    while not (now := seen()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return now


# 2. A process of its own for each lesson and page, in a plain environment.


def test_a_lesson_finds_what_a_new_python_finds(there: TinySite) -> None:
    assert FOUND in text_of(there.page("finds"))


def test_a_page_finds_what_a_new_python_finds(there: TinySite) -> None:
    assert "torch.float32 True 7" in text_of(there.html / "computes.html")


def test_a_lesson_that_takes_times_runs_alone(there: TinySite) -> None:
    notes = (there.folder.parent / "notes").read_text().splitlines()
    ran = {name: (float(a), float(z)) for name, a, z in map(str.split, notes)}
    assert set(ran) == set(LESSONS)
    begun, ended = ran.pop("times")
    assert all(z < begun or ended < a for a, z in ran.values()), ran
    two = combinations(ran.values(), 2)
    assert any(max(a, c) < min(b, d) for (a, b), (c, d) in two), "others run at once"


def test_a_table_is_said_once_and_code_can_be_folded(there: TinySite) -> None:
    page = soup(there.page("shows"))
    (table,) = page.select("div.lesson-table table")
    assert rows_of(table) == "call | time\nx.clone() | 2 ms\n<b> | 3\n"
    assert table.select_one("tbody th code").get_text() == "x.clone()"
    assert page.select_one(".sphx-glr-script-out pre").get_text().strip() == "and more"
    fold = page.select_one("details.folded")
    assert fold.summary.get_text() == "The code" and "rows = " in fold.get_text()
    assert not fold.find("table")


LIMITS = {"seconds": PATIENCE, "megabytes": 8000.0}
LOST: dict[str, tuple[Callable[..., Any], dict[str, float], str]] = {
    "exit": (misdeeds.leave, {}, r"misdeeds\.py: it ended its process with status 3"),
    "crash": (misdeeds.crash, {}, r"misdeeds\.py, line \d+: .* ended by SIGSEGV"),
    "memory": (misdeeds.grow, {"megabytes": 900}, r"it takes \d\.\d GB of memory"),
    "sys.exit": (misdeeds.stop, {}, r"misdeeds\.py: line \d+: SystemExit\(4\)"),
    "file": (misdeeds.write, {}, r"misdeeds\.py left the file left\.txt among"),
    "fd 1": (misdeeds.print_past, {}, r"'hello' was printed past sys\.stdout"),
    "fd 2": (misdeeds.warn_past, {}, r"'mind' was printed past .* sys\.stderr"),
    "fork": (
        misdeeds.fork_and_go_on,
        {},
        r"'a process that the lesson forked went on'",
    ),
}


def run_apart(deed: Callable[..., Any], folder: Path, **limits: float) -> Any:
    """Run what a lesson may do in a process of its own."""
    limits = {**LIMITS, **limits}
    return apart.run_apart("misdeeds.py", deed, folder, root=folder, **limits)


@pytest.mark.parametrize("what", LOST)
def test_a_process_that_does_not_end_well_is_said_in_a_line(
    what: str, tmp_path: Path
) -> None:
    deed, limits, said = LOST[what]
    with pytest.raises(ExtensionError, match=said) as lost:
        run_apart(deed, tmp_path, **limits)
    assert "\n" not in str(lost.value)


def test_nobody_waits_for_what_a_lesson_has_left(tmp_path: Path) -> None:
    with pytest.raises(apart.LessonLost, match="ended its process with status 3"):
        run_apart(misdeeds.leave_a_fork, tmp_path)
    left = psutil.Process(int((tmp_path / ".fork").read_text()))
    assert left.status() != psutil.STATUS_ZOMBIE, "it ended of its own accord"
    left.kill()


def test_a_lesson_that_takes_too_long_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def clock() -> float:  # it stands still until the lesson has begun
        return float((tmp_path / ".begun").exists())

    with monkeypatch.context() as patch:
        patch.setattr(apart, "monotonic", clock)
        said = r"misdeeds\.py, line \d+: it ran longer than 0 seconds"
        with pytest.raises(apart.LessonLost, match=said):
            run_apart(misdeeds.hang, tmp_path, seconds=0.5)


def test_no_answer_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(run_apart(misdeeds.answer_at_length, tmp_path)) == 10**7
    # As where much else runs: the process has ended before anyone looks at the pipe.
    with monkeypatch.context() as patch:
        patch.setattr(apart, "wait", lambda ready, seconds: wait(ready[1:], seconds))
        assert run_apart(misdeeds.answer_and_end, tmp_path) == "answered"


def test_a_warning_in_the_process_of_a_lesson_is_one_of_the_build(
    tmp_path: Path,
) -> None:
    heard: list[logging.LogRecord] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = heard.append
    logging.getLogger("sphinx").addHandler(handler)
    try:
        assert run_apart(misdeeds.warn, tmp_path) == "warned"
    finally:
        logging.getLogger("sphinx").removeHandler(handler)
    assert [(one.getMessage(), one.type, one.subtype) for one in heard] == [
        ("mind the step", "a", "b")
    ]


# 5. Nothing outlives the build; nothing is written outside of its folders.


def test_nothing_outlives_the_build(there: TinySite) -> None:
    assert until(lambda: not there.running(), TO_END), there.running()


def test_nothing_is_written_outside_of_the_folders_of_the_build(
    there: TinySite,
) -> None:
    made = {"build", "conf", "docs", "examples", "random.py"}
    assert {path.name for path in there.folder.iterdir()} == made
    docs = {path.name for path in (there.folder / "docs").iterdir()}
    assert docs == {
        *("auto_examples", "asked.toml", "random.py"),
        *("computes.md", "gathers.md", "index.md", "prose.md"),
    }


TAGGED = """:tags: [raises-exception, raises-exeption]

print("nothing")"""
LEAVES_A_FILE = """from pathlib import Path
_ = Path("left.txt").write_text("left")"""
WAITS = """
import subprocess
subprocess.run(["sleep", "4000"], start_new_session=True)
"""


def test_a_build_that_is_stopped_leaves_the_site_and_no_process(
    there: TinySite, tmp_path: Path
) -> None:
    builds = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        site = there.copy_to(tmp_path / number.name)
        (site.folder / SECTION / "finds.py").write_text(lesson("Finds", WAITS))
        builds[number] = site, site.start(start_new_session=True)
    site, build = builds[signal.SIGINT]
    # Ctrl+C goes to all that runs, as to what imports torch for the lessons.
    assert until(lambda: any("forkserver" in one for one in site.running()))
    os.killpg(build.pid, signal.SIGINT)
    for number, (site, build) in builds.items():
        if number != signal.SIGINT:
            assert until(lambda site=site: "sleep 4000" in site.running())
            build.send_signal(number)
        said, _ = build.communicate(timeout=PATIENCE)
        assert until(lambda site=site: not site.running(), TO_END), site.running()
        assert site.published() == there.published()
        if number != signal.SIGKILL:
            assert build.returncode == 2 and said.count("interrupted") == 1
            assert "Traceback" not in said


# 1. A build that fails or is stopped leaves the published site as it was.
# 4. What is wrong is said in one line.


def test_what_fails_is_named_and_the_site_stays(site: TinySite) -> None:
    before = site.published()
    docs, examples = site.folder / "docs", site.folder / SECTION
    whole = {name: (examples / name).read_text() for name in ("finds.py", "leaves.py")}
    hangs = f"{WAITS.replace('run(', 'Popen(')}\nwhile True:\n    pass"
    (examples / "finds.py").write_text(lesson("Finds", hangs))
    limit = "-D", "lesson_time_limit=3"
    fails(site, "build_site: finds.py", "ran longer than 3 seconds", arguments=limit)
    assert until(lambda: not site.running(), TO_END), site.running()
    (examples / "finds.py").write_text(lesson("Finds", "print('so far')\n1 / 0"))
    (examples / "leaves.py").write_text(lesson("Leaves", "raise KeyError('and this')"))
    # The last build was killed between two renames.
    site.html.rename(site.html.with_name("html.old"))
    done = site.build()
    for words in ('finds.py", line 8', "ZeroDivisionError", 'leaves.py", line 7'):
        assert done.status == 2 and words in done.output
    assert site.published() == before
    for name, text in whole.items():
        (examples / name).write_text(text)
    (docs / "prose.md").write_text(f"{STYLED}{PROSE}\n{{doc}}`nowhere`\n")
    (docs / "computes.md").write_text(computing_page(code="1 / 0"))

    def deaf() -> None:  # to the end of processes, as some daemons make what they start
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    fails(site, "computes.md", "ZeroDivisionError", preexec_fn=deaf)
    (docs / "computes.md").write_text(computing_page(code=TAGGED))
    fails(
        site, "has the tag raises-exeption, which means nothing", "raised nothing: take"
    )
    (docs / "computes.md").write_text(computing_page(code="%%capture\n1 / 0"))
    fails(site, "the cell with `%%capture` raised an error, which a magic kept")
    (docs / "computes.md").write_text(computing_page(code=LEAVES_A_FILE))
    fails(site, "build_site: computes left the file docs/left.txt among")
    (docs / "left.txt").unlink()
    (docs / "computes.md").write_text("# Circle\n\n```{toctree}\nindex\n```\n")
    fails(site, "the toctrees list", "index → computes", ": take one of them out")
    (docs / "computes.md").write_text(computing_page(code=CELL))
    (docs / "asked.toml").write_text(WRONGLY_ASKED)
    for _ in range(2):  # a warning is said again, though nothing has changed
        fails(
            site, "prose.md:9: WARNING: unknown document: 'nowhere'",
            "prose.md: WARNING: _static/no.css is not there",
            "asked.toml: 1_first/shows#them is no section; there are then",
            'asked.toml: write "1_first/finds#then" = ["a question", "another"]',
        )  # fmt: skip
    (docs / "prose.md").write_text(PROSE)
    (docs / "asked.toml").write_text(QUESTIONS)
    built(site)
    assert site.published().keys() == before.keys()


def test_a_build_that_nobody_hears_and_mends_what_is_kept(site: TinySite) -> None:
    (site.folder / SECTION / "finds.py").write_text(NEW)
    kept = {name: site.page(name).read_text() for name in ("times", "shows", "leaves")}
    made, prose = site.folder / "docs" / "auto_examples", site.html / "prose.html"
    whole = prose.read_text()
    staged = site.folder / "build" / "staging" / "prose.html"
    rewrite(staged, "Some words", "Older words")  # as where a backup was put back
    rewrite(made / "1_first" / "leaves.rst", "it left much", "it left less")
    for path in made.rglob("*times_thumb.png"):
        path.unlink()
    for path in made.rglob("*shows_001.svg"):  # as where the power failed
        path.write_bytes(b"")
    (database,) = (site.folder / "build" / "pages").rglob("global.db")
    database.write_bytes(b"no database")

    def begin() -> None:
        os.umask(0o077)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM})
        for stream in range(3):
            os.close(stream)

    built(site, preexec_fn=begin, env={**os.environ, "PYTHONINSPECT": "1"})
    assert "new" in text_of(site.page("finds"))
    assert kept == {name: site.page(name).read_text() for name in kept}
    assert prose.read_text() == whole
    assert database.read_bytes().startswith(b"SQLite")
    assert site.html.stat().st_mode & 0o777 == 0o755
    assert site.page("finds").stat().st_mode & 0o777 == 0o644


def test_a_build_ends_where_its_words_cannot_be_written(site: TinySite) -> None:
    (site.folder / SECTION / "finds.py").write_text(NEW)
    before, closed = site.published(), subprocess.Popen(["true"], stdin=subprocess.PIPE)
    closed.wait()
    with closed.stdin as pipe:
        done = subprocess.run(
            **site.command(stdout=pipe, stderr=subprocess.PIPE), timeout=PATIENCE
        )
    assert done.returncode == 2 and "build_site: [Errno 32] Broken pipe" in done.stderr
    assert "Traceback" not in done.stderr and site.published() == before


def test_a_full_disk_and_a_wrong_option(site: TinySite) -> None:
    before = site.published()
    for limit in (0, 20_000):  # from the start, and in the middle

        def little_room(limit: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        done = site.build("-E", preexec_fn=little_room)
        lines = [line for line in done.output.splitlines() if "build_site:" in line]
        assert done.status == 2 and len(lines) == 1, done.output
        # As the system and SQLite say it.
        assert re.search("File too large|disk I/O error", lines[0]), done.output
        assert site.published() == before
    wrong = "-D", "html_theme=nonsense"
    fails(site, "build_site: ", "no theme named 'nonsense'", arguments=wrong)


def test_code_that_cannot_be_imported_is_said_in_a_line(
    sources: TinySite, tmp_path: Path
) -> None:
    site = sources.copy_to(tmp_path / "site")
    room, package = site.folder / ROOM / "run", site.folder / PACKAGE
    (package / ".#draw.py").symlink_to("me@host.1:1")  # Emacs locks it
    for name, said in {
        site.folder / "conf" / "random.py": "random.py hides Python's module random",
        room / "processes.py": "processes.py: invalid syntax (processes.py, line 1)",
        package / "observe.py": "observe.py: invalid syntax (observe.py, line 1)",
    }.items():
        text = name.read_text() if name.exists() else None
        name.write_text("def (:")
        done = site.build()
        assert done.status and said in done.output and done.output.count("\n") == 1
        name.unlink() if text is None else name.write_text(text)
    (package / ".#draw.py").unlink()
    odd = site.copy_to(tmp_path / "a:b").build()
    assert odd.status == 2 and "a:b has a : in its path" in odd.output


def test_a_failed_build_that_wrote_into_the_site_does_not_call_it_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def build(options: object) -> int:
        (tmp_path / "index.html").write_text("spoilt")
        return 2

    (tmp_path / "index.html").write_text("good")
    os.utime(tmp_path / "index.html", (0, 0))
    for name, value in {"build": build, "SITE": tmp_path, "_parse": str}.items():
        monkeypatch.setattr(build_site, name, value)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert build_site.main() == 2
    assert "wrote into build/html: build again" in capsys.readouterr().out


def publish(new: Path, html: Path, text: str) -> None:
    """Publish a site of one page."""
    new.mkdir(exist_ok=True)
    (new / "index.html").write_text(text)
    build_site.publish(new, html)


def test_what_stops_while_it_publishes_leaves_the_old_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, html = tmp_path / "staging", tmp_path / "html"
    publish(new, html, "old")
    rename, renamed = Path.rename, []

    def killed(self: Path, target: Path) -> Path:
        if len(renamed) == 1:
            raise KeyboardInterrupt
        renamed.append(target)
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            publish(new, html, "new")
    build_site.recover(html)
    assert (html / "index.html").read_text() == "old"
    (new / "dangling").symlink_to("nowhere")  # it cannot be copied; the page can
    (new / "other").symlink_to("nowhere")
    with pytest.raises(shutil.Error) as failed:
        publish(new, html, "new")
    assert progress.of_file(failed.value).count("Errno") == 1
    assert (html / "index.html").read_text() == "old"
    (new / "dangling").unlink()
    (new / "other").unlink()
    publish(new, html, "new")
    assert (html / "index.html").read_text() == "new"
    assert {path.name for path in tmp_path.iterdir()} == {"html", "staging"}


def test_a_site_that_is_a_link_stays_one(tmp_path: Path) -> None:
    html, served = tmp_path / "html", tmp_path / "served"
    html.symlink_to(served)
    for text in ("one", "two"):
        publish(tmp_path / "staging", html, text)
        assert html.is_symlink() and (served / "index.html").read_text() == text
    served.rename(tmp_path / "served.old")  # a build was killed between two renames
    build_site.recover(html)
    assert (html / "index.html").read_text() == "two"


def test_two_builds_at_once(site: TinySite) -> None:
    from filelock import FileLock

    with FileLock(site.folder / "build" / "lock"):
        fails(site, "build_site: another build runs in this folder")


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
    whole = recordings.Recording(f"1_first/{name}", machine, "2026-01-02", blocks)
    recordings.save_recording(
        whole, {}, site.folder / "docs" / "recordings" / machine.name
    )


def test_two_builds_from_nothing_are_equal(
    sources: TinySite, there: TinySite, tmp_path: Path
) -> None:
    again = sources.copy_to(tmp_path / "elsewhere")
    built(again)
    assert again.published() == there.published()


def test_the_next_build_sees_any_difference_and_is_a_clean_one(site: TinySite) -> None:
    docs, conf = site.folder / "docs", site.folder / "conf"
    page, shows = docs / "prose.md", site.folder / SECTION / "shows.py"
    rewrite(page, "Some words", "Other letters")
    rewrite(docs / "asked.toml", "and then", "and after")
    recording_of(site, "finds")
    style = conf / "static" / "site.css"
    style.write_text(f"{style.read_text()}\n.edited {{ color: teal; }}\n")
    rewrite(conf / "templates" / "page.html", '"stamp"', '"stamp edited"')
    assert built(site).lessons == NONE_RAN  # in another folder: nothing is run again
    assert "Other letters" in text_of(site.html / "prose.html")
    assert "and after" in (site.html / "_static" / "search_index.js").read_text()
    assert "seen elsewhere" in text_of(site.page("finds"))
    assert "teal" in (site.html / "_static" / "site.css").read_text()
    assert '"stamp edited"' in (site.html / "computes.html").read_text()
    # A title is on other pages too, and so is what is remembered and called. The size
    # of figures runs lessons.
    rewrite(page, "# Prose", "# Another title")
    rewrite(shows, "One thing.", "Another one.")
    edits = f"_ = open({str(page)!r}, 'a').write('Late words.')"
    rewrite(
        shows, "plt.show()", f"plt.show(); {edits}; torch.equal(*2 * [torch.ones(1)])"
    )
    rewrite(shows, "\nimport matplotlib", "\nimport torch, matplotlib")
    rewrite(conf / "tensor_copies" / "run" / "isolation.py", "(5.0, 3.9)", "(5.0, 2.9)")
    once = built(site)
    assert once.lessons == "Lessons: 4 of 4 ran, 0 kept from earlier builds."
    assert "docs/prose.md changed while this ran: build again." in once.output
    assert "Another title" in text_of(site.html / "computes.html")
    assert "Another one." in text_of(site.html / "gathers.html")
    assert soup(site.html / "gathers.html").find(id="torch.equal")
    # A lesson renamed, its map and its page gone with it; that alone is run, and a page
    # with other code.
    shutil.rmtree(docs / "recordings")
    (site.folder / SECTION / "finds.py").rename(site.folder / SECTION / "renamed.py")
    rewrite(docs / "computes.md", "__debug__", "__debug__, 'edited'")
    again = built(site)
    assert "changed while" not in again.output
    assert again.lessons == "Lessons: 1 of 4 ran, 3 kept from earlier builds."
    assert not any("finds" in name for name in site.published())
    assert "True edited 7" in text_of(site.html / "computes.html")
    assert site.published() == clean(site)


# The keys, without a build: what is kept, and what each key of it is made from.

KEYS = """
import json, os, runpy, sys, types
sys.path[:0] = map(os.path.abspath, ("conf", "conf/tensor_maps/src"))
from tensor_copies.atlas import data
from tensor_copies.explorer import kept
from tensor_copies.run import kept_json
from tensor_copies.run.freshness import lessons_key
for line in sys.stdin:
    if child := os.fork():  # what is read once in a build is read in each fork
        os.waitpid(child, 0)
        continue
    os.environ |= json.loads(line)
    sys.path[:0] = filter(None, [os.environ.get("PACKAGES")])
    conf = types.SimpleNamespace(**runpy.run_path("conf/conf.py"))
    keys = {
        "lessons": lessons_key(types.SimpleNamespace(config=conf)),
        "cells": conf.nb_execution_cache_path,
        "atlas": data.atlas_made_from(), "explorer": kept._kept_chains().stem,
        "read": conf.pages_are_made_from, "written": conf.pages_are_dressed_in,
    }
    kept_json.load = lambda path: keys.update({"stand-in": path.stem}) or {}
    data.on_stand_in()  # where there is a GPU it looks for nothing
    keys["torch"] = "torch" in sys.modules
    print(json.dumps(keys), flush=True)
    os._exit(0)
"""
ROOM, PACKAGE = "conf/tensor_copies", "conf/tensor_maps/src/tensor_maps"
PROBED = {"atlas", "explorer", "stand-in"}
SHAPED = {
    # files
    f"{ROOM}/run/isolation.py": {"lessons", "cells", "read"},
    f"{ROOM}/run/kernels.py": {"cells", "read"},
    f"{ROOM}/figures/steps.py": {"lessons", "read"},
    f"{ROOM}/errors/messages.py": {"cells", "read"},
    f"{ROOM}/explorer/probing.py": {"explorer", "read"},
    f"{ROOM}/stand_in/device.cpp": {"explorer", "stand-in", "read"},
    f"{ROOM}/lessons/page.py": {"read"},
    f"{PACKAGE}/observe.py": {"lessons", "cells", "read"},
    f"{PACKAGE}/reading.py": {"lessons", "cells", "read", *PROBED},
    f"{PACKAGE}/atlas/run.py": {"cells", "read", *PROBED},
    f"{PACKAGE}/atlas/calls.toml": {"cells", "read", *PROBED},
    f"{PACKAGE}/draw.py": {"cells", "read"},
    f"{PACKAGE}/steps/trace.py": {"lessons", "cells", "read"},
    f"{PACKAGE}/steps/words.py": {"cells", "read"},
    "conf/conf.py": {"read"},
    "conf/static/site.css": {"written"},
    "conf/templates/page.html": {"written"},
    "docs/recordings/other/finds.json": {"read"},
    "docs/recordings/other/computes.page.json": {"cells", "read"},
    "examples/1_first/added.py": {"read"},
    "docs/prose.md": set(),
    # packages
    "torch 9.9": {"lessons", "cells", "read", *PROBED},
    "numpy 9.9": {"lessons", "cells", "read", *PROBED},
    "matplotlib 9.9": {"lessons", "cells", "read"},
    "sphinx-gallery 9.9": {"lessons", "cells", "read"},
    "pandas 9.9": {"atlas", "stand-in", "read"},
    "ipykernel 9.9": {"lessons", "cells", "read"},
    "sphinx 9.9": {"read"},
    # variables
    "BENCHMARK_QUALITY=quick": {"lessons", "read"},
    "SITE_URL=https://example.org/": {"read"},
    "SOURCE_DATE_EPOCH=0": {"read"},
}


def test_each_key_changes_with_all_that_shapes_a_result(
    sources: TinySite, tmp_path: Path
) -> None:
    site = sources.copy_to(tmp_path / "site")
    command = site.command(stdin=subprocess.PIPE)
    command["args"] = [sys.executable, "-P", "-c", KEYS]
    with subprocess.Popen(**command) as process:

        def keys(**variables: str) -> dict[str, str]:
            process.stdin.write(json.dumps(variables) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        before, wrong = keys(), {}
        for shaping, changed in SHAPED.items():
            path = site.folder / shaping
            if " " in shaping:
                name, version = shaping.split()
                info = path / f"{name.replace('-', '_')}-{version}.dist-info"
                info.mkdir(parents=True)
                (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
                after = keys(PACKAGES=str(path))
            elif "=" in shaping:
                after = keys(**dict([shaping.split("=", 1)]))
            else:
                text = path.read_text() if path.exists() else None
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{text or ''}\n")
                after = keys()
                path.unlink() if text is None else path.write_text(text)
            seen = {name for name in before if before[name] != after[name]}
            if seen != changed & {*before}:
                wrong[shaping] = seen
        assert wrong == {}
        assert keys() == before
        # Only torch itself knows whether a CUDA build has a GPU.
        assert before["torch"] is (torch.version.cuda is not None)
        process.stdin.close()


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


def test_nothing_changed_imports_no_torch(sources: TinySite) -> None:
    code = "import runpy, sys; runpy.run_path('conf/conf.py'); print(*sys.modules)"
    # Only torch itself knows whether a CUDA build has a GPU, unless none may be used.
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=sources.folder,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"torch", "matplotlib", "numpy"}.isdisjoint(done.stdout.split())


# `nox -s live`


def test_live_serves_the_site_and_an_edit_of_it(site: TinySite) -> None:
    shutil.copy(ROOT / "noxfile.py", site.folder)
    (site.folder / "random.py").unlink()
    log = site.folder / "log"
    # Port 0 stands for any that is free.
    live = [sys.executable, "-m", "nox", "--no-venv", "-s", "live", "--", "--port", "0"]

    def served() -> str:
        """Return the home page as it is served, and nothing while none is."""
        where = re.search(r"Serving on (http://[\d.:]+)", plain(log.read_text()))
        try:
            with urllib.request.urlopen(where[1], timeout=PATIENCE) as answer:
                return answer.read().decode() if answer.status == 200 else ""
        except (OSError, TypeError, HTTPException):  # the last: while it is written
            return ""

    def shows(heading: str) -> bool:
        assert process.poll() is None, log.read_text()
        return f"<h1>{heading}" in served()

    with log.open("w") as output:
        # A group of its own, as a shell gives it.
        options = site.command(stdout=output, start_new_session=True)
        process = subprocess.Popen(**{**options, "args": live})
    try:
        assert until(lambda: shows("Tiny")), log.read_text()
        rewrite(site.folder / "docs" / "index.md", "# Tiny", "# Edited")
        (site.folder / "docs" / "index.md").touch()
        assert until(lambda: shows("Edited")), log.read_text()
        os.killpg(process.pid, signal.SIGINT)  # Ctrl+C
        process.wait(PATIENCE)
        assert until(lambda: not site.running(), TO_END), site.running()
        assert served() == ""
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
