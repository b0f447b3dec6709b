"""What a user who does something wrong is told: one line, and nothing is lost."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path

import build_site
import pytest
from conftest import PATIENCE, ROOT, TINY_INDEX, TinySite, lesson
from tensor_copies.machine import fingerprint as machine


def says_one_line(output: str, *words: str) -> None:
    lines = [line for line in output.splitlines() if line.startswith("build_site:")]
    assert len(lines) == 1, output
    assert "Traceback" not in output
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nonsense"], ["unrecognized arguments: --nonsense", "--help"]),
        (["-b", "nonsense"], ["argument -b/--builder: invalid choice: 'nonsense'"]),
        (["-D", "html_theme=nonsense"], ["no theme named 'nonsense' found"]),
    ],
)
def test_wrong_argument(
    arguments: list[str], words: list[str], tiny_site: TinySite
) -> None:
    tiny_site.write_lessons({"a.py": lesson("A", "print('a')")})
    built = tiny_site.build_alone(*arguments)
    assert built.status == 2
    says_one_line(built.output, *words)
    assert not tiny_site.html.exists()


def test_missing_packages(tiny_site: TinySite) -> None:
    # Without its site packages Python has none of what a build needs.
    command = [sys.executable, "-S", "conf/build_site.py"]
    done = subprocess.run(command, cwd=tiny_site.folder, capture_output=True, text=True)
    assert done.returncode == 2
    says_one_line(done.stderr, "Not installed: torch, numpy,", "nox -s docs")
    assert not (tiny_site.folder / "build").exists()


def test_python_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    with pytest.raises(machine.UnfitMachine, match=r"use Python 3\.11 or newer"):
        machine.check()


def test_torch_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "version_of", lambda package: "2.5.1+cpu")
    with pytest.raises(machine.UnfitMachine, match=r"install torch>=2\.6"):
        machine.check()


def test_unknown_quality(tiny_site: TinySite) -> None:
    built = tiny_site.build_alone(env={**os.environ, "BENCHMARK_QUALITY": "fast"})
    assert built.status == 2
    says_one_line(built.output, "'fast'", "set one of quick, normal, long")
    assert not tiny_site.html.exists()


def test_a_long_quality_may_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {}
    for quality in machine.LESSON_SECONDS:
        monkeypatch.setenv("BENCHMARK_QUALITY", quality)
        seconds[quality] = runpy.run_path(str(ROOT / "conf/conf.py"))[
            "lesson_time_limit"
        ]
    assert seconds["quick"] == seconds["normal"] < seconds["long"]


def test_normal_is_what_a_build_takes_that_is_told_nothing(
    tiny_site: TinySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_site.write_lessons({"a.py": lesson("A", "print('a')")})
    monkeypatch.delenv("BENCHMARK_QUALITY", raising=False)
    ran = [tiny_site.build().lessons]
    for quality in ("normal", "quick"):
        monkeypatch.setenv("BENCHMARK_QUALITY", quality)
        ran.append(tiny_site.build().lessons)
    counts = [line.split(" ran")[0] for line in ran]
    assert counts == ["Lessons: 1 of 1", "Lessons: 0 of 1", "Lessons: 1 of 1"]


def bind_root_to_permissions() -> None:
    """Take from root the right to write where the mode forbids it (Linux)."""
    drop_capability, dac_override = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE
    ctypes.CDLL(None).prctl(drop_capability, dac_override)


def test_read_only_folder(tiny_site: TinySite) -> None:
    tiny_site.write_lessons({"a.py": lesson("A", "print('a')")})
    docs = tiny_site.folder / "docs"
    docs.chmod(0o555)
    try:
        built = tiny_site.build_alone(preexec_fn=bind_root_to_permissions)
    finally:
        docs.chmod(0o755)
    assert built.status == 2
    says_one_line(built.output, "Permission denied", "auto_examples")


@pytest.mark.parametrize(
    ("bytes_per_file", "words"),
    [(0, "File too large"), (20_000, "File too large")],
    ids=["from the start", "in the middle"],
)
def test_full_disk(bytes_per_file: int, words: str, tiny_site: TinySite) -> None:
    tiny_site.write_lessons({"a.py": lesson("A", "print('a')")})
    assert tiny_site.build_alone().status == 0
    before = tiny_site.published()

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_per_file, bytes_per_file))

    built = tiny_site.build_alone("-E", preexec_fn=little_room)
    assert built.status == 2, built.output
    says_one_line(built.output, words)
    assert tiny_site.published() == before


def test_publishing_that_fails_keeps_the_last_site(tmp_path: Path) -> None:
    published = tmp_path / "html"
    published.mkdir()
    (published / "index.html").write_text("the last good site")
    with pytest.raises(OSError, match="nothing was built"):
        build_site.publish(tmp_path / "nothing was built here", published)
    assert (published / "index.html").read_text() == "the last good site"
    assert [path.name for path in tmp_path.iterdir()] == ["html"]


def test_nox_lists_its_tasks_with_their_purpose() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nox", "--list"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for task in (
        *("docs", "live", "tests", "unit", "record", "record-benchmarks", "bench"),
        *("lint", "links", "lock"),
        *("tests-oldest", "tests-newest"),
    ):
        (line,) = (
            line for line in done.stdout.splitlines() if line[2:].startswith(f"{task} ")
        )
        assert " -> " in line


@pytest.mark.parametrize(
    ("task", "arguments", "said"),
    [
        ("docs", ["--nonsense"], "build_site: unrecognized arguments: --nonsense."),
        ("links", ["-D", "many"], "build_site: 'many' is not NAME=VALUE"),
        ("record", ["--only", "nonsense"], "record: no lesson 'nonsense'."),
        ("record-benchmarks", ["--only", "x y"], "record: no lesson 'x y'."),
        ("bench", ["--rounds", "0"], "measure_build: --rounds is 1 or more"),
    ],
)
def test_nox_hands_arguments_on_and_fails_with_its_task(
    task: str, arguments: list[str], said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nox", "--no-venv", "-s", task, "--", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode != 0
    lines = [line for line in done.stdout.splitlines() if not line.startswith("nox > ")]
    assert len(lines) == 1, done.stdout
    assert lines[0].startswith(said)


def test_the_benchmarks_are_recorded_alone_and_long(
    tiny_site: TinySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    quality = "import os\nprint('quality', os.environ['BENCHMARK_QUALITY'])"
    lessons = {"plain.py": "print('plain')", "timed.py": quality}
    tiny_site.write_lessons({name: lesson(name, lessons[name]) for name in lessons})
    shutil.copy(ROOT / "noxfile.py", tiny_site.folder)
    monkeypatch.delenv("BENCHMARK_QUALITY", raising=False)
    bench = [sys.executable, "-m", "nox", "--no-venv", "-s", "record-benchmarks"]
    done = subprocess.run(bench, cwd=tiny_site.folder, capture_output=True, text=True)
    assert done.returncode == 0, done
    (recording,) = (tiny_site.folder / "docs" / "recordings").glob("*/*")
    assert recording.name == "timed.json"
    assert "quality long" in recording.read_text(encoding="utf-8")


def test_an_older_python_is_told_before_anything_is_made() -> None:
    program = (
        "import nox, runpy, sys; sys.version_info = (3, 10, 4)\n"
        "runpy.run_path('noxfile.py')"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("Run nox with Python 3.11 or newer")
    assert done.stderr.count("\n") == 1


@contextmanager
def running(command: list[str], folder: Path, log: Path) -> Iterator[subprocess.Popen]:
    """Run a command with its output in ``log``; end it as Ctrl+C does."""
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "NO_COLOR": "1"},
            start_new_session=True,  # a group of its own, as a shell gives it
        )
    try:
        yield process
        os.killpg(process.pid, signal.SIGINT)
        process.wait(PATIENCE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_live_serves_the_site_and_an_edit_of_it(
    tiny_site: TinySite, tmp_path: Path
) -> None:
    tiny_site.write_lessons({"a.py": lesson("A", "print('a')")})
    shutil.copy(ROOT / "noxfile.py", tiny_site.folder)
    log = tmp_path / "log"

    def home() -> str:
        """Return the home page as it is served, and nothing while none is."""
        served = re.search(r"Serving on (http://[\d.:]+)", log.read_text())
        try:
            with urllib.request.urlopen(served[1], timeout=PATIENCE) as answer:
                return answer.read().decode() if answer.status == 200 else ""
        except (OSError, TypeError, HTTPException):  # the last: while it is written
            return ""

    def wait_for(heading: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while f"<h1>{heading}" not in home():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)

    # Port 0 stands for any that is free.
    live = ["-m", "nox", "--no-venv", "-s", "live", "--", "--port", "0"]
    with running([sys.executable, *live], tiny_site.folder, log) as process:
        wait_for("Tiny")
        index = tiny_site.folder / "docs" / "index.md"
        index.write_text(TINY_INDEX.replace("# Tiny", "# Edited"))
        wait_for("Edited")
    assert home() == "", "nothing is left running"


def readme_commands() -> dict[str, str]:
    """Return the README's commands that begin at nothing, by their task."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^```sh\n(.+ && .+ -s (\w+))\n```$", text, re.MULTILINE)
    return {task: command for command, task in found}


def test_the_two_commands_are_one_form_and_the_first_thing_that_ci_runs() -> None:
    commands = readme_commands()
    assert set(commands) == {"docs", "tests"}
    assert commands["tests"] == commands["docs"].removesuffix("docs") + "tests"
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert commands["tests"] in script


def externally_managed(folder: Path) -> Path:
    """Make a Python that belongs to its distribution (PEP 668); return its bin/."""
    library = Path(sysconfig.get_path("stdlib"))
    base = Path(sys.base_prefix)
    bin_folder, copy = folder / "bin", folder / library.relative_to(base)
    bin_folder.mkdir(parents=True)
    shutil.copy(Path(sys.executable).resolve(), bin_folder / "python3")
    copy.mkdir(parents=True)
    for path in [*library.iterdir(), *library.parent.glob("libpython*")]:
        (copy.parent / path.relative_to(library.parent)).symlink_to(path)
    (copy / "EXTERNALLY-MANAGED").unlink(missing_ok=True)
    (copy / "EXTERNALLY-MANAGED").write_text("[externally-managed]\nError=use apt\n")
    return bin_folder


@pytest.mark.slow
def test_the_commands_work_where_the_system_manages_python(tmp_path: Path) -> None:
    bin_folder = externally_managed(tmp_path / "usr")
    clone = tmp_path / "a clone"  # with a space
    clone.mkdir()
    for name in ("noxfile.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, clone)
    environment = {
        **{name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"},
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
    }

    def shell(command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", command],
            cwd=clone,
            env={**environment, **more},
            capture_output=True,
            text=True,
        )

    command = readme_commands()["docs"]
    install, _, run = command.rpartition(" && ")
    done = shell(install)
    if "No matching distribution" in done.stderr and os.environ.get("CI") != "true":
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    # Without an environment this Python's pip installs nothing.
    ask = "import pip; print(pip.__path__[0].removesuffix('pip'))"
    pip = shell(f'.venv/bin/python -c "{ask}"').stdout.strip()
    refused = shell("python3 -m pip install --no-index nox", PYTHONPATH=pip)
    assert refused.returncode != 0
    assert "externally-managed-environment" in refused.stderr, refused.stderr
    listed = shell(run.replace("-s docs", "--list"))
    assert listed.returncode == 0 and "* docs -> " in listed.stdout, listed
