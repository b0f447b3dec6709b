"""Tiny sites: a copy of our conf/ with other lessons and pages, in another folder."""

import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from reading import PATIENCE, ROOT

INDEX = "# Tiny\n\n```{{toctree}}\n{}\n```\n"
PAGE = """---
file_format: mystnb
kernelspec: {{name: python3}}
---

# {title}

```{{code-cell}} ipython3
{code}
```
"""
LESSONS = "Lessons\n=======\n\n.. toctree::\n\n    1_first/index\n"
SECTION = "First\n=====\n\nAll\n---\n\n.. lessons::\n\n"
LESSON = '''"""{title}
=============================

A lesson of a tiny site.
"""
# sphinx_gallery_lead = "what_waits.html"
{first}
# %%
# Then
# ----
{second}
'''


def lesson(title: str, first: str, second: str = "print('end')") -> str:
    """Return a script of two code blocks; ``first`` starts on line 7."""
    return LESSON.format(title=title, first=first, second=second)


def computing_page(title: str = "Computes", code: str = 'print("the page ran")') -> str:
    """Return a page with one cell, which MyST-NB runs."""
    return PAGE.format(title=title, code=code)


class TinySite:
    """A site in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.html = folder, folder / "build" / "html"

    def page(self, name: str) -> Path:
        """Return the published page of a lesson."""
        return self.html / "auto_examples" / "1_first" / f"{name}.html"

    def write_lessons(self, lessons: dict[str, str]) -> None:
        """Make ``lessons`` (text by file name) the lessons, in this order."""
        examples = self.folder / "examples"
        shutil.rmtree(examples, ignore_errors=True)
        (examples / "1_first").mkdir(parents=True)
        (examples / "index.rst").write_text(LESSONS)
        listed = "".join(f"    {name} <{Path(name).stem}>\n" for name in lessons)
        (examples / "1_first" / "index.rst").write_text(SECTION + listed)
        for name, text in lessons.items():
            (examples / "1_first" / name).write_text(text)

    def build(
        self, *command: str, env: dict[str, str] | None = None
    ) -> tuple[int, str]:
        """Build the site as a person does; return the exit status and what was said."""
        command = (sys.executable, *(command or ["conf/build_site.py"]))
        said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        options = {"cwd": self.folder, "env": env, "timeout": PATIENCE, **said}
        done = subprocess.run(command, **options)
        return done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)  # colours

    def published(self, where: str = "html") -> dict[str, str]:
        """Return a hash of every file of a folder in build/, by its path."""
        root = self.folder / "build" / where
        files = (path for path in root.rglob("*") if path.is_file())
        return {str(one.relative_to(root)): sha256(one.read_bytes()).hexdigest()
                for one in files}  # fmt: skip

    def copy_to(self, folder: Path) -> "TinySite":
        """Return a copy of this site, with all that it has built."""
        return TinySite(shutil.copytree(self.folder, folder))


def new_tiny_site(folder: Path) -> TinySite:
    """Make a site with our conf/ and an index, without lessons."""
    ours = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "conf", folder / "conf", ignore=ours)
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text(INDEX.format("auto_examples/index"))
    return TinySite(folder)


def rewrite(path: Path, old: str, new: str) -> None:
    """Replace a text in a file that has it."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
