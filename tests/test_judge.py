"""Whatever ends the process that builds, the parent names it and publishes nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import GOOD, PATIENCE, TinySite, computing_page, lesson

LAST_GOOD = "still the last good site"
# What a lesson does, and what the build then says in one line.
ENDINGS = {
    "sys.exit": ("import sys\nsys.exit(0)", "sys.exit(0) was called"),
    "os._exit": ("import os\nos._exit(0)", "ended with status 0, before it was done"),
    "segfault": ("import ctypes\nctypes.string_at(0)", "was ended by SIGSEGV"),
    "killed": (
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "was ended by SIGKILL: often a lack of memory",
    ),
    "its clock disarmed": (
        "import faulthandler, signal\nsignal.alarm(0)\n"
        "faulthandler.cancel_dump_traceback_later()\nwhile True:\n    pass",
        "its own clock could not stop it",
    ),
}


def speak_up_soon(site: TinySite) -> None:
    """Have a build name what still runs, and end what hangs, ten times sooner."""
    script = site.folder / "conf" / "build_site.py"
    wait = re.compile(r"^(SECONDS_OF_(?:GRACE|SILENCE)) = (\d+)$", re.MULTILINE)
    text, number = wait.subn(r"\1 = \2 / 10", script.read_text(encoding="utf-8"))
    assert number == 2
    script.write_text(text, encoding="utf-8")


def read_until(build: subprocess.Popen[str], words: str) -> str:
    """Return what a build says until a line has ``words``, or it ends."""
    output = line = build.stdout.readline()
    while line and words not in line:
        line = build.stdout.readline()
        output += line
    assert words in line, output
    return output


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_lesson_that_ends_the_process_is_named(
    ending: str, good_site: TinySite, tmp_path: Path
) -> None:
    code, said = ENDINGS[ending]
    site = good_site.copy_to(tmp_path / "tiny")
    speak_up_soon(site)
    before = site.published()
    site.write_lessons({"good.py": GOOD, "planted.py": lesson("Planted", code)})
    limit = ["-D", "lesson_time_limit=3"] if "clock" in ending else []
    built = site.build_alone(*limit)
    assert built.status == 2
    (line,) = (li for li in built.output.splitlines() if li.startswith("build_site: "))
    assert said in line and "planted.py" in line
    assert LAST_GOOD in built.output
    assert site.published() == before


def test_a_build_that_is_stopped_leaves_no_trace(
    good_site: TinySite, tmp_path: Path
) -> None:
    site = good_site.copy_to(tmp_path / "tiny")
    speak_up_soon(site)
    before = site.published()
    code = "import time\nprint('begun')\ntime.sleep(600)"
    site.write_lessons({"good.py": GOOD, "planted.py": lesson("Planted", code)})
    # The lock is free and nothing of a stopped build is in the way of the next.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        build = site.start()
        read_until(build, "planted.py")  # named once it has run for a while
        os.kill(build.pid, number)
        output = build.communicate(timeout=PATIENCE)[0]
        if number != signal.SIGKILL:
            assert build.returncode == 2
            assert "build_site: interrupted (while running planted.py)" in output
            assert LAST_GOOD in output
        assert site.published() == before
    site.write_lessons({"good.py": GOOD})
    built = site.build_alone()
    assert built.status == 0, built.output
    assert site.published() == before


def test_two_builds_at_once(good_site: TinySite, tmp_path: Path) -> None:
    site = good_site.copy_to(tmp_path / "tiny")
    speak_up_soon(site)
    go = tmp_path / "go"
    code = f"import pathlib, time\nwhile not pathlib.Path({str(go)!r}).exists():\n"
    code += "    time.sleep(0.1)"
    site.write_lessons({"good.py": GOOD, "planted.py": lesson("Planted", code)})
    first = site.start()
    read_until(first, "planted.py")
    second = site.build_alone()
    assert second.status == 2
    assert "build_site: Another build runs in this folder." in second.output
    go.touch()
    output = first.communicate(timeout=PATIENCE)[0]
    assert first.returncode == 0, output


def test_the_log_is_for_a_person(good_site: TinySite, tmp_path: Path) -> None:
    """A lesson's name and time, a page's name and time, what to open; no more."""
    site = good_site.copy_to(tmp_path / "tiny")
    profiles = "import torch\nwith torch.profiler.profile():\n    print(1)"
    site.write_lessons({"good.py": GOOD, "new.py": lesson("New", profiles)})
    (site.folder / "docs" / "page.md").write_text(computing_page("Page", "print(1)"))
    index = site.folder / "docs" / "index.md"
    index.write_text(index.read_text().replace("/index\n", "/index\npage\n"))
    built = site.build_alone()
    assert built.status == 0, built.output
    lines = [" ".join(line.split()[:2]) for line in built.output.splitlines()]
    wanted = ["lesson new.py", "page page", "Machine: torch", "Lessons: 1", "The site"]
    # A slow machine says now and then what is still running.
    assert list(dict.fromkeys(lines)) == wanted, built.output
