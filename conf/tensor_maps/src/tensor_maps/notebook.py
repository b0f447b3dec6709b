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
    cells = _Cells(shell)
    shell.tensor_maps_cells = cells
    shell.register_magic_function(cells.run, "cell", "steps")
    shell.input_transformers_cleanup.append(cells.without_magic)
    shell.events.register("pre_run_cell", cells.begin)
    shell.events.register("post_run_cell", cells.end)


def unload_ipython_extension(shell: Any) -> None:
    """Take the magic back."""
    cells = shell.__dict__.pop("tensor_maps_cells", None)
    if cells is not None:
        shell.input_transformers_cleanup.remove(cells.without_magic)
        shell.events.unregister("pre_run_cell", cells.begin)
        shell.events.unregister("post_run_cell", cells.end)
        shell.magics_manager.magics["cell"].pop("steps", None)


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

    def run(self, line: str, cell: str) -> Steps:
        """Run a cell below another magic, as ``%%time``, and return its steps."""
        options = _options(f"{MAGIC} {line}")
        if options is None:
            from IPython.core.error import UsageError

            raise UsageError(f"{line!r} was given; {USAGE} is taken")
        seen = Steps(**options)
        source = self.shell.transform_cell(cell)
        name = self.shell.compile.cache(source)
        try:
            seen.run(source, self.shell.user_ns, name)
        except BaseException:
            from IPython.display import display

            display(seen)
            raise
        return seen


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
