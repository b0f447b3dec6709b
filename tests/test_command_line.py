"""What a user who does something wrong is told: one line, and nothing is lost."""

from __future__ import annotations

import ctypes
import os
import resource
import runpy
import subprocess
import sys
from pathlib import Path

import build_site
import builder
import pytest
from conftest import ROOT, TinySite, lesson


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
        (["-j", "many"], ["invalid jobs_argument value: 'many'", "--help"]),
        (["-b", "nonsense"], ["Builder name nonsense not registered"]),
        (["-D", "html_theme=nonsense"], ["no theme named 'nonsense' found"]),
    ],
)
def test_wrong_argument(
    arguments: list[str], words: list[str], tiny_site: TinySite
) -> None:
    tiny_site.write_lessons({"a.py": lesson("A", "print('a')")})
    built = tiny_site.build(*arguments)
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
    with pytest.raises(builder.UnfitBuilder, match=r"use Python 3\.11 or newer"):
        builder.check()


def test_torch_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "_version", lambda package: "2.5.1+cpu")
    with pytest.raises(builder.UnfitBuilder, match=r"install torch>=2\.6"):
        builder.check()


def test_unknown_quality(tiny_site: TinySite) -> None:
    built = tiny_site.build(env={**os.environ, "BENCHMARK_QUALITY": "fast"})
    assert built.status == 2
    says_one_line(built.output, "'fast'", "set one of quick, normal, long")
    assert not tiny_site.html.exists()


def test_a_long_quality_may_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {}
    for quality in builder.LESSON_SECONDS:
        monkeypatch.setenv("BENCHMARK_QUALITY", quality)
        seconds[quality] = runpy.run_path(str(ROOT / "conf/conf.py"))[
            "lesson_time_limit"
        ]
    assert seconds["quick"] == seconds["normal"] < seconds["long"]


def bind_root_to_permissions() -> None:
    """Take from root the right to write where the mode forbids it (Linux)."""
    drop_capability, dac_override = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE
    ctypes.CDLL(None).prctl(drop_capability, dac_override)


def test_read_only_folder(tiny_site: TinySite) -> None:
    tiny_site.write_lessons({"a.py": lesson("A", "print('a')")})
    docs = tiny_site.folder / "docs"
    docs.chmod(0o555)
    try:
        built = tiny_site.build(preexec_fn=bind_root_to_permissions)
    finally:
        docs.chmod(0o755)
    assert built.status == 2
    says_one_line(built.output, "Cannot write to the folder docs", "writable")


@pytest.mark.parametrize(
    ("bytes_per_file", "words"),
    [(0, "Cannot write to the folder docs"), (50_000, "File too large")],
    ids=["from the start", "in the middle"],
)
def test_full_disk(bytes_per_file: int, words: str, tiny_site: TinySite) -> None:
    tiny_site.write_lessons({"a.py": lesson("A", "print('a')")})
    assert tiny_site.build().status == 0
    before = tiny_site.published()

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_per_file, bytes_per_file))

    built = tiny_site.build("-E", preexec_fn=little_room)
    assert built.status == 2, built.output
    says_one_line(built.output, words)
    assert tiny_site.published() == before


def test_publishing_that_fails_keeps_the_last_site(tmp_path: Path) -> None:
    published = tmp_path / "html"
    published.mkdir()
    (published / "index.html").write_text("the last good site")
    with pytest.raises(build_site.BuildProblem, match="not published"):
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
    for task in ("docs", "live", "tests", "record", "lint", "links"):
        (line,) = (
            line for line in done.stdout.splitlines() if line[2:].startswith(f"{task} ")
        )
        assert " -> " in line


@pytest.mark.parametrize(
    ("task", "arguments", "said"),
    [
        ("docs", ["--nonsense"], "build_site: unrecognized arguments: --nonsense."),
        ("links", ["-j", "many"], "build_site: argument"),
        ("record", ["--only", "nonsense"], "record: no lesson 'nonsense'."),
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
