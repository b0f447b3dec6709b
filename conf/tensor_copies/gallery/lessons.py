"""Read what lessons are: their scripts, order, short titles, blocks and markers.

Order and short titles stand in ``examples/<section>/index.rst``, which Sphinx reads as
a table of contents.

A marker is a comment that begins with ``sphinx_gallery_``, which no reader meets:
``docs/maintainers/markers.md`` lists them.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ConfigError
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
# A line of a list of lessons: "    detach <detach>".
LISTED = re.compile(r"^    (.+) <(?:\S+/)?(\w+)>$", re.MULTILINE)
MARKER_LINE = re.compile(r"^[ \t]*#[ \t]*sphinx_gallery_\w+.*(?:\n|\Z)", re.MULTILINE)
CLOCKS = (
    *("perf_counter", "perf_counter_ns", "process_time", "process_time_ns"),
    *("monotonic", "monotonic_ns", "time_ns", "elapsed_time"),
    *("timeit", "Timer", "blocked_autorange", "adaptive_autorange", "timings_s"),
)
# The library's name alone stands also where its version is looked up.
TIMING = re.compile(rf"\b(?:{'|'.join(CLOCKS)}|perfplot\.\w+)\b")


@cache
def short_titles() -> dict[str, str]:
    """Return the short title of each lesson by its name, in reading order."""
    indexes = sorted(EXAMPLES.glob("*/index.rst"))
    listed = (LISTED.findall(one.read_text(encoding="utf-8")) for one in indexes)
    return {name: title for found in listed for title, name in found}


def lesson_scripts(app: Sphinx) -> dict[str, Path]:
    """Return the script of each lesson, by the name of its page, in reading order."""
    gallery = app.config.sphinx_gallery_conf["gallery_dirs"][0]
    return {
        f"{gallery}/{script.parent.name}/{script.stem}": script for script in scripts()
    }


@cache
def scripts() -> list[Path]:
    """Return the scripts of all lessons, in reading order; each must have a place."""
    order = list(short_titles())
    found = sorted(EXAMPLES.glob("*/[!.]*.py"))
    for one in found:
        if one.stem not in order:
            index = f"examples/{one.parent.name}/index.rst"
            raise ConfigError(f"{one.name}: add 'Short title <{one.stem}>' to {index}.")
    return sorted(found, key=lambda one: order.index(one.stem))


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
