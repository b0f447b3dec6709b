"""The cell magic ``%%steps``."""

from __future__ import annotations

import linecache
from types import FrameType
from typing import Any

from tensor_maps.steps.watch import Steps

MAGIC = "%%steps"
USAGE = "%%steps [--names w,z] [--turns 5] [title]"


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the cell magic ``%%steps``, with ``%load_ext tensor_maps``.

    The cell runs as without it, with its last value and with ``await``, and then its
    steps are shown, also if it raises. What stands behind ``%%steps`` is the title;
    before it may stand ``--names w,z`` and ``--turns 5``.
    """
    if hasattr(shell, "tensor_maps_cells"):
        return
    cells = shell.tensor_maps_cells = _Cells(shell)
    shell.register_magic_function(cells.refuse, "cell", "steps")
    shell.input_transformers_cleanup.append(cells.without_magic)
    shell.events.register("pre_run_cell", cells.begin)
    shell.events.register("post_run_cell", cells.end)


class _Cells:
    """The cells of one shell that begin with ``%%steps``."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.seen: Steps | None = None

    def without_magic(self, lines: list[str]) -> list[str]:
        """Leave the first line out, so that the cell runs as any other does."""
        if not lines or _options(lines[0]) is None:
            return lines
        return ["\n", *lines[1:]]

    def begin(self, info: Any) -> None:
        """Begin to watch a cell that is about to run."""
        raw = info.raw_cell.lstrip()
        options = _options(raw.partition("\n")[0])
        if options is None:
            return
        source = info.transformed_cell
        if source is None:
            source = self.shell.transform_cell(info.raw_cell)
        names = self.shell.user_ns

        def is_cell(frame: FrameType) -> bool:
            text = "".join(linecache.getlines(frame.f_code.co_filename))
            return frame.f_globals is names and text.rstrip() == source.rstrip()

        seen = Steps(**options)
        try:
            seen.follow_where(is_cell, source)
        except SyntaxError:
            return  # IPython says more
        self.seen = seen

    def end(self, result: Any) -> None:
        """Show the steps of the cell that has run."""
        if self.seen is None:
            return
        from IPython.display import display

        seen, self.seen = self.seen, None
        seen.stop()
        display(seen)

    def refuse(self, line: str, cell: str) -> None:
        """Say how the magic is written: a cell that has it in its first line ran."""
        from IPython.core.error import UsageError

        raise UsageError(f"{line!r} was given; {USAGE} is taken, in the first line")


def _options(line: str) -> dict[str, Any] | None:
    """Return what a line with the magic asks for, or nothing of another line."""
    magic, _, rest = line.strip().partition(" ")
    if magic != MAGIC:
        return None
    found: dict[str, Any] = {}
    rest = rest.strip()
    while rest.startswith("--"):
        option, _, rest = rest.partition(" ")
        option, equals, value = option.partition("=")
        if not equals:
            value, _, rest = rest.strip().partition(" ")
        rest = rest.strip()
        if option == "--names":
            found["names"] = [name for name in value.split(",") if name]
        elif option == "--turns" and value.isdecimal() and int(value):
            found["turns"] = int(value)
        else:
            return None
    return {**found, "title": rest or None}
