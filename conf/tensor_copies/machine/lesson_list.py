"""Which lessons there are, the page that each of them becomes, what is no lesson."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from tensor_copies.machine import progress
from tensor_copies.machine.reading_order import READING_ORDER

MARK = b"\xef\xbb\xbf"  # what some editors put before the text of a file


class UnreadableLesson(ExtensionError):
    """A script is not plain UTF-8; the message names it and says how to mend it."""


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
    scripts = sorted(
        root.rglob("*.py"),
        key=lambda script: (place.get(script.name, len(place)), script.name),
    )
    return {
        (gallery / script.relative_to(root)).with_suffix("").as_posix(): script
        for script in scripts
    }


def require_utf8(script: Path) -> None:
    """Raise :class:`UnreadableLesson` unless a script is UTF-8 without a mark."""
    raw = script.read_bytes()
    if raw.startswith(MARK):
        raise UnreadableLesson(
            f"{script.name} begins with a byte order mark: save it as UTF-8 without"
        )
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UnreadableLesson(
            f"{script.name}, line {line}: byte {raw[error.start]:#04x} is not UTF-8: "
            "save the script as UTF-8"
        ) from None


def require_readable(app: Sphinx) -> None:
    """Look at the scripts before the gallery does, which names none of them."""
    for script in lesson_scripts(app).values():
        require_utf8(script)


def report_unknown(app: Sphinx, exception: Exception | None) -> None:
    """Name what the reading order has a place for and what is no lesson."""
    if exception is None:
        there = {script.name for script in lesson_scripts(app).values()}
        for name in READING_ORDER:
            if name not in there:
                progress.say(
                    f"examples/order.txt names {name}, and no lesson has this name"
                )
