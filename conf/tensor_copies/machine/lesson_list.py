"""Which lessons there are, and the page that each of them becomes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tensor_copies.machine.reading_order import READING_ORDER

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def lesson_scripts(app: Sphinx) -> dict[str, Path]:
    """Return the script of every lesson, by the name of its page, in reading order."""
    conf = app.config.sphinx_gallery_conf
    lessons: dict[str, Path] = {}
    for examples, gallery in zip(
        conf["examples_dirs"], conf["gallery_dirs"], strict=True
    ):
        root = Path(app.srcdir, examples).resolve()
        for script in sorted(root.rglob("*.py"), key=_reading_place):
            page = (gallery / script.relative_to(root)).with_suffix("").as_posix()
            lessons[page] = script
    return lessons


def _reading_place(script: Path) -> tuple[int, str]:
    try:
        return READING_ORDER.index(script.name), script.name
    except ValueError:  # the gallery will ask for a place
        return len(READING_ORDER), script.name
