"""The table of what is installed, at the top of each log, and of the licences."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata

from conftest import PATIENCE, ROOT
from tensor_copies.machine import packages


def table(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "conf/packages.py", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE
    )


def test_it_has_all_that_the_site_needs_with_licences() -> None:
    shown = dict(re.findall(r"(?m)(?:^|\s{2})([a-z][\w-]*) (\d\S*)", table().stdout))
    # Sphinx asks for the last two.
    for name in ("torch", "numpy", "perfplot", "furo", "jinja2", "docutils"):
        assert shown[name] == metadata.version(name)
    lines = table("--licences").stdout.splitlines()[2:]
    licences = {
        name: licence for name, _, licence in (re.findall(r"[^|]+", x) for x in lines)
    }
    assert [name.strip() for name in licences] == sorted(shown)
    assert packages.NOT_SAID not in "".join(licences.values())
    # The README says what that means. When it is another, it has to say that.
    assert "GPL" in licences[" perfplot "]


def test_an_unknown_group_is_named() -> None:
    done = table("nonsense")
    assert done.returncode == 2
    assert done.stderr == "packages: no group 'nonsense' in pyproject.toml\n"


def test_columns_are_read_from_the_top() -> None:
    cells = [f"package-{number} 1.0" for number in range(10)]
    lines = packages.columns(cells)
    assert all(len(line) <= packages.WIDTH for line in lines)
    assert [line.split()[0] for line in lines] == [
        f"package-{number}" for number in range(len(lines))
    ]
    assert sorted(" ".join(lines).split()) == sorted(" ".join(cells).split())
    assert packages.columns([]) == []
