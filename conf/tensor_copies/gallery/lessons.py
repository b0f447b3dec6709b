"""The lessons: their scripts, pages and order, their code blocks, their markers.

Lessons are sorted by folder, and inside a folder by ``examples/order.txt``. Its lines
``# ...`` are the headings under which the list of lessons shows those that follow.

A marker is a comment that begins with ``sphinx_gallery_``, which no reader meets:
``docs/maintainers/markers.md`` lists them.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ConfigError
from sphinx_gallery.py_source_parser import (
    extract_file_config,
    split_code_and_text_blocks,
)
from sphinx_gallery.sorting import FunctionSortKey

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
ORDER = EXAMPLES / "order.txt"
MARKER_LINE = re.compile(r"^[ \t]*#[ \t]*sphinx_gallery_\w+.*(?:\n|\Z)", re.MULTILINE)
CLOCKS = (
    *("perf_counter", "perf_counter_ns", "process_time", "process_time_ns"),
    *("monotonic", "monotonic_ns", "time_ns", "elapsed_time"),
    *("timeit", "Timer", "blocked_autorange", "adaptive_autorange", "timings_s"),
)
# The library's name alone stands also where its version is looked up.
TIMING = re.compile(rf"\b(?:{'|'.join(CLOCKS)}|perfplot\.\w+)\b")


def _groups() -> dict[str, str]:
    """Return the heading above each name in the order; it is empty above the first."""
    heading, found = "", {}
    text = ORDER.read_text(encoding="utf-8") if ORDER.exists() else ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("#"):
            heading = line.removeprefix("#").strip()
        else:
            found[line] = heading
    return found


GROUPS = _groups()
READING_ORDER = tuple(GROUPS)


class ReadingOrder(FunctionSortKey):
    """Sort key of the gallery: the place of a lesson in the order."""

    def __init__(self, src_dir: str) -> None:
        super().__init__(_place)


def _place(lesson: str) -> int:
    if lesson not in READING_ORDER:
        raise ConfigError(f"{lesson}: add a line with its name to examples/order.txt.")
    return READING_ORDER.index(lesson)


def lesson_scripts(app: Sphinx) -> dict[str, Path]:
    """Return the script of each lesson, by the name of its page, in reading order."""
    gallery = app.config.sphinx_gallery_conf["gallery_dirs"][0]
    return {
        f"{gallery}/{script.parent.name}/{script.stem}": script for script in scripts()
    }


@cache
def scripts() -> list[Path]:
    """Return the scripts of all lessons, in reading order."""
    found = EXAMPLES.glob("*/[!.]*.py")
    found = sorted(found, key=lambda path: (path.parent, _place(path.name)))
    for section in {script.parent for script in found}:
        if not (section / "GALLERY_HEADER.rst").exists():  # the gallery passes over it
            raise ConfigError(f"examples/{section.name} has no GALLERY_HEADER.rst.")
    return found


def depend_on_lessons(app: Sphinx) -> None:
    """Read the page that is being read again when any lesson changes."""
    for script in lesson_scripts(app).values():
        app.env.note_dependency(str(script))


def script_of(lesson: str) -> Path:
    """Return the script of a lesson, of which a hook is told only the file's name."""
    return next(EXAMPLES.glob(f"*/{lesson}"))


def blocks_of(script: Path | str) -> list[Any]:
    """Return the blocks of text and code that the gallery splits a script into."""
    return list(_split(str(script), Path(script).stat().st_mtime_ns))


@cache  # most rooms look at the blocks of all lessons: 20 milliseconds each
def _split(script: str, _changed: int) -> tuple[Any, ...]:
    return tuple(split_code_and_text_blocks(script)[1])


def takes_times(code: str) -> bool:
    """Whether code uses a clock, or what one has shown: it runs alone, unwatched."""
    return TIMING.search(code) is not None


def without_markers(script: str) -> str:
    """Return the text of a script without its marker comments."""
    return MARKER_LINE.sub("", script)


def markers_of(script: Path) -> list[tuple[int, dict[str, Any]]]:
    """Return the line of each code block, and what its markers ask for."""
    return [
        (block.lineno, extract_file_config(block.content))
        for block in blocks_of(script)
        if block.type == "code"
    ]
