"""The cell magic ``%%steps``."""

from __future__ import annotations

from typing import Any

from tensor_maps.steps.watch import Steps


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the cell magic ``%%steps``, with ``%load_ext tensor_maps``.

    It runs the cell and shows its steps, also those of a cell that raises. What
    stands behind ``%%steps`` is the title.
    """

    def run_cell(title: str, cell: str) -> Steps:
        seen = Steps(title.strip() or None)
        try:
            seen.run(shell.transform_cell(cell), shell.user_ns)
        except BaseException:
            from IPython.display import display

            display(seen)
            raise
        return seen

    shell.register_magic_function(run_cell, "cell", "steps")
