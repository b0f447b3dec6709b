"""The order in which a reader meets the lessons: that of ``examples/order.txt``."""

from __future__ import annotations

from sphinx.errors import ConfigError
from sphinx_gallery.sorting import FunctionSortKey

from tensor_copies.machine.fingerprint import CONF

ORDER = CONF.parent / "examples" / "order.txt"
READING_ORDER = (
    tuple(ORDER.read_text(encoding="utf-8").split()) if ORDER.is_file() else ()
)


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
