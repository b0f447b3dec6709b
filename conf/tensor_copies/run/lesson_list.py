"""Which lessons there are, their order (``examples/order.txt``), and their pages.

Lessons are sorted by folder, and inside a folder by that file. Its lines ``# ...`` are
the headings under which the list of lessons shows those that follow.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ConfigError
from sphinx_gallery.sorting import FunctionSortKey

from tensor_copies.run import progress
from tensor_copies.run.fingerprint import CONF

ORDER = CONF.parent / "examples" / "order.txt"


def _groups() -> dict[str, str]:
    """Return the heading above each name in the order; it is empty above the first."""
    heading, found = "", {}
    # sources.py says what is no UTF-8.
    text = ORDER.read_text("utf-8", "replace") if ORDER.is_file() else ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("#"):
            heading = line.removeprefix("#").strip()
        else:
            found[line] = heading
    return found


GROUPS = _groups()
READING_ORDER = tuple(GROUPS)


def lesson_scripts(app: Sphinx) -> dict[str, Path]:
    """Return the script of every lesson, by the name of its page, in reading order.

    They are looked for once in a build: each page asks for them several times.
    """
    if not hasattr(app, "found_lessons"):
        app.found_lessons = _find(app)
    return dict(app.found_lessons)


def _find(app: Sphinx) -> dict[str, Path]:
    conf = app.config.sphinx_gallery_conf
    (examples,), (gallery,) = conf["examples_dirs"], conf["gallery_dirs"]
    root = Path(app.srcdir, examples).resolve()
    place = {name: number for number, name in enumerate(READING_ORDER)}
    # The gallery will ask for a place of one that has none.
    found = sorted(
        (script.parent, place.get(script.name, len(place)), script.name)
        for script in root.rglob("*.py")
    )
    pages = (folder.relative_to(root) / name for folder, _, name in found)
    return {
        (gallery / page).with_suffix("").as_posix(): root / page
        for page in pages
        # An editor or a system has left the others.
        if not any(part.startswith(".") for part in page.parts)
    }


def report_unknown(app: Sphinx, exception: Exception | None) -> None:
    """Name what the reading order has a place for and what is no lesson."""
    if exception is None:
        there = {script.name for script in lesson_scripts(app).values()}
        for name in READING_ORDER:
            if name not in there:
                progress.say(f"examples/order.txt names {name}, which is no lesson")


class ReadingOrder(FunctionSortKey):
    """Sort key of the gallery: the place of a lesson in the order."""

    def __init__(self, src_dir: str) -> None:
        super().__init__(_place)


def _place(lesson: str) -> int:
    if " " in lesson:
        raise ConfigError(f"{lesson}: give the lesson a name without spaces.")
    if lesson not in READING_ORDER:
        raise ConfigError(
            f"{lesson} has no place yet: add a line with its name to "
            "examples/order.txt."
        )
    return READING_ORDER.index(lesson)
