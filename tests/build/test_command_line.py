"""What is said of a wrong command, before anything is built or made."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from typing import Any

import pytest
from reading import PATIENCE, ROOT
from tensor_copies.run import fingerprint as machine

BUILD = "conf/build_site.py"
NOX = "-m", "nox", "--no-venv", "-s"


def run(*arguments: str, **variables: str) -> tuple[int, str]:
    """Run Python here; return its exit status and what it said."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("arguments", "variables", "words"),
    [
        ([BUILD, "--nonsense"], {}, ["unrecognized arguments: --nonsense", "--help"]),
        ([BUILD, "-b", "nonsense"], {}, ["argument -b/--builder: invalid choice"]),
        ([BUILD, "-D", "many"], {}, ["'many' is not NAME=VALUE"]),
        # Without its site packages Python has none of what a build needs.
        (["-S", BUILD], {}, ["Not installed: torch, numpy,", "nox -s docs"]),
        (
            [BUILD],
            {machine.QUALITY: "fast"},
            ["'fast': set one of quick, normal, long"],
        ),
        (
            [*NOX, "docs", "--", "--nonsense"],
            {},
            ["unrecognized arguments: --nonsense"],
        ),
    ],
)
def test_a_wrong_command_is_told_in_a_line(
    arguments: list[str], variables: dict[str, str], words: list[str]
) -> None:
    status, said = run(*arguments, **variables)
    lines = [line for line in said.splitlines() if line.startswith("build_site:")]
    assert status and len(lines) == 1 and "Traceback" not in said, said
    if arguments[0] != "-m":  # nox has a status of its own
        assert status == 2
    assert all(word in lines[0] for word in words)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((sys, "version_info", (3, 10, 4)), r"use Python 3\.11 or newer"),
        ((machine, "version_of", lambda _: "2.5.1+cpu"), r"install torch>=2\.6"),
    ],
)
def test_what_is_too_old_is_named(
    change: tuple[Any, str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*change)
    with pytest.raises(machine.UnfitMachine, match=said):
        machine.check()


def test_a_long_quality_may_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {}
    for quality in machine.LESSON_SECONDS:
        monkeypatch.setenv(machine.QUALITY, quality)
        options = runpy.run_path(str(ROOT / "conf/conf.py"))
        seconds[quality] = options["lesson_time_limit"]
    assert seconds["quick"] == seconds["normal"] < seconds["long"]


def test_the_two_commands_of_the_readme_are_one_form_and_what_ci_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^```sh\n(.+ && .+ -s (\w+))\n```$", text, re.MULTILINE)
    commands = {task: command for command, task in found}
    assert set(commands) == {"docs", "tests"}
    assert commands["tests"] == commands["docs"].removesuffix("docs") + "tests"
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert commands["tests"] in script


def test_an_older_python_is_told_before_anything_is_made() -> None:
    program = (
        "import nox, runpy, sys; sys.version_info = (3, 10, 4)\n"
        "runpy.run_path('noxfile.py')"
    )
    status, said = run("-c", program)
    assert status == 1 and said.count("\n") == 1
    assert said.startswith("Run nox with Python 3.11 or newer")
