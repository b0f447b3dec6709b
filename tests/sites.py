"""Tiny sites: our conf/ with other lessons and pages, in a folder of their own.

Only test_build.py builds them, so that each is built once.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from reading import PATIENCE, ROOT

# A variable that all processes have which a build of a tiny site has started.
MARK = "BUILDS_THE_TINY_SITE"
INDEX = "# Tiny\n\n```{{toctree}}\n{}\n```\n"
TINY_LESSON = '''"""{title}
{underline}

A lesson of a tiny site.
"""
# sphinx_gallery_short_title = "Tiny"
{first}
# %%
# Then
# ----
{second}
'''


def lesson(title: str, first: str, second: str = "print('end')") -> str:
    """Return a script of two code blocks; ``first`` starts on line 7."""
    underline = "=" * len(title)
    return TINY_LESSON.format(
        title=title, underline=underline, first=first, second=second
    )


def computing_page(title: str = "Computes", code: str = 'print("the page ran")') -> str:
    """Return a page with one cell, which MyST-NB runs."""
    return (
        "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n\n"
        f"# {title}\n\n```{{code-cell}} ipython3\n{code}\n```\n"
    )


def plain(text: str) -> str:
    """Return what a program printed without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@dataclass(frozen=True)
class Built:
    """How a build ended: its exit status and all that it printed."""

    status: int
    output: str

    @property
    def lessons(self) -> str:
        """The build's line on how many lessons ran."""
        return next(
            line for line in self.output.splitlines() if line.startswith("Lessons:")
        )


class TinySite:
    """A site of its own in a temporary folder: our conf/, other lessons and pages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.html = folder / "build" / "html"

    def write_lessons(self, lessons: dict[str, str], section: str = "1_first") -> None:
        """Make ``lessons`` (text by file name) the lessons, in this order."""
        examples = self.folder / "examples"
        shutil.rmtree(examples, ignore_errors=True)
        (examples / section).mkdir(parents=True)
        for place in (examples, examples / section):
            header = f"{place.name}\n{'=' * 20}\n"
            (place / "GALLERY_HEADER.rst").write_text(header)
        for name, text in lessons.items():
            (examples / section / name).write_text(text)
        self.order(list(lessons))

    def order(self, names: list[str]) -> None:
        """Give the lessons this reading order."""
        (self.folder / "examples" / "order.txt").write_text("\n".join(names) + "\n")

    def forward(self, moved: dict[str, str]) -> None:
        """Make the old names of pages forward to the new ones."""
        self.set("redirects", moved)

    def set(self, name: str, value: Any) -> None:
        """Set an option of the site that stands on one line of conf.py."""
        options = self.folder / "conf" / "conf.py"
        line = re.compile(f"(?m)^{name} = .*$")
        text, changed = line.subn(f"{name} = {value!r}", options.read_text())
        assert changed == 1, name
        options.write_text(text)

    def command(self, *arguments: str, **options: Any) -> dict[str, Any]:
        """Return what starts the site's own build, as a person does."""
        env = options.pop("env", None) or os.environ
        return {
            "args": [sys.executable, "conf/build_site.py", *arguments],
            "cwd": self.folder,
            "env": {**env, MARK: str(self.folder)},
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "text": True,
            **options,
        }

    def build(self, *arguments: str, **options: Any) -> Built:
        """Build the site; return how that ended."""
        command = self.command(*arguments, **options)
        done = subprocess.run(**command, timeout=PATIENCE)
        return Built(done.returncode, plain(done.stdout))

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Start to build the site, in the background."""
        return subprocess.Popen(**self.command(*arguments, **options))

    def running(self) -> list[str]:
        """Return the commands of all processes that go back to a build of the site."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == str(self.folder):
                    found.append(" ".join(process.cmdline()))
            except psutil.Error:  # it has ended, or belongs to another user
                continue
        return found

    def page(self, name: str, section: str = "1_first") -> Path:
        """Return the published page of a lesson."""
        return self.html / "auto_examples" / section / f"{name}.html"

    def published(self) -> dict[str, str]:
        """Return a hash of every published file, by its path."""
        return {
            str(path.relative_to(self.html)): hashlib.sha256(
                path.read_bytes()
            ).hexdigest()
            for path in sorted(self.html.rglob("*"))
            if path.is_file()
        }

    def copy_to(self, folder: Path) -> TinySite:
        """Return a copy of this site, with all that it has built."""
        shutil.copytree(self.folder, folder)
        return TinySite(folder)


def new_tiny_site(folder: Path) -> TinySite:
    """Make a site with our conf/ and an index, without lessons."""
    shutil.copytree(
        ROOT / "conf", folder / "conf", ignore=shutil.ignore_patterns("__pycache__")
    )
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text(INDEX.format("auto_examples/index"))
    site = TinySite(folder)
    site.forward({})
    return site
