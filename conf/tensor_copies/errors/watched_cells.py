"""In a page's kernel: what becomes of the tensors of its pairs, statement by statement.

IPython loads this as an extension where a page has pairs (machine/kernels.py). The
cells that are named in a file are watched while they run, as the page shows them; what
was seen is written beside that file, one file for each cell.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tensor_maps.steps.watch import Steps

from tensor_copies.machine import chances
from tensor_copies.machine.kernels import WATCH


class _Watching:
    """Watches those cells of one kernel that are wanted, in their order."""

    def __init__(self, shell: Any, folder: Path) -> None:
        self.shell, self.folder = shell, folder
        wanted = json.loads((folder / "wanted.json").read_text(encoding="utf-8"))
        self.wanted = dict(enumerate(wanted))
        self.watching: tuple[int, Steps] | None = None

    def begin(self, info: Any) -> None:
        """Begin to watch a cell that is about to run."""
        for number, source in self.wanted.items():
            if source == info.raw_cell:
                chances.take_out()
                seen = Steps(f"cell {number}")
                seen.follow(source, namespace=self.shell.user_ns)
                self.watching = number, seen
                del self.wanted[number]
                return

    def end(self, result: Any) -> None:
        """Write what was seen of the cell that has run."""
        if self.watching is None:
            return
        (number, seen), self.watching = self.watching, None
        seen.stop()
        if seen.failed:
            raise RuntimeError(seen.failed)
        text = json.dumps(seen.data())
        (self.folder / f"{number}.json").write_text(text, encoding="utf-8")


def load_ipython_extension(shell: Any) -> None:
    """Watch the cells of this kernel."""
    folder = os.environ.get(WATCH)
    if folder:
        watching = _Watching(shell, Path(folder))
        shell.events.register("pre_run_cell", watching.begin)
        shell.events.register("post_run_cell", watching.end)
