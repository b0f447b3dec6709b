"""Adds the cell magic ``%%steps`` to a notebook."""

from __future__ import annotations

import linecache
from contextlib import suppress
from types import FrameType
from typing import Any

from tensor_maps.steps.watch import Steps

MAGIC = "%%steps"


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the cell magic ``%%steps``, with ``%load_ext tensor_maps``.

    The cell runs as without it, with its last value and with ``await``, and then its
    steps are shown, also if it raises. What stands behind ``%%steps`` is the title.
    """
    if hasattr(shell, "tensor_maps_cells"):
        return
    cells = shell.tensor_maps_cells = _Cells(shell)
    shell.input_transformers_cleanup.append(cells.without_magic)
    shell.events.register("pre_run_cell", cells.begin)
    shell.events.register("post_run_cell", cells.end)


class _Cells:
    """The cells of one shell that begin with ``%%steps``."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.seen: Steps | None = None

    def without_magic(self, lines: list[str]) -> list[str]:
        """Empty the first line, so that the cell runs as any other does."""
        is_mine = bool(lines) and lines[0].split()[:1] == [MAGIC]
        return ["\n", *lines[1:]] if is_mine else lines

    def begin(self, info: Any) -> None:
        """Begin to watch a cell that is about to run."""
        words = info.raw_cell.strip().partition("\n")[0].split(maxsplit=1)
        if words[:1] != [MAGIC]:
            return
        source = self.shell.transform_cell(info.raw_cell)

        def is_cell(frame: FrameType) -> bool:
            if frame.f_globals is not self.shell.user_ns:
                return False  # before it is read: it may be a large module
            text = "".join(linecache.getlines(frame.f_code.co_filename))
            return text.rstrip() == source.rstrip()

        seen = Steps(*words[1:])
        with suppress(SyntaxError):  # IPython says more
            seen.follow(source, is_cell)
            self.seen = seen

    def end(self, result: Any) -> None:
        """Show the steps of the cell that has run."""
        seen, self.seen = self.seen, None
        if seen is not None:
            from IPython.display import display

            seen.stop()
            display(seen)
