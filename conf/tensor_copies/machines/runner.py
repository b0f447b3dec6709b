"""Run the blocks of a lesson and keep what each gave, without making a page of it.

So a build sees what the simulated device gives, and ``nox -s record`` what a machine
with a GPU does.
"""

import io
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tensor_copies.gallery.isolation import prepare
from tensor_copies.gallery.lessons import takes_times
from tensor_copies.machines.comparing import plain
from tensor_copies.machines.recording import Block, keyed_blocks
from tensor_copies.simulated import UNTRUE, load_device, with_its_name


def run_lesson(
    script: Path,
    look: Callable[[Any, dict[str, Any]], list[dict[str, Any]]],
    *,
    simulated: bool = False,
) -> list[dict[str, Any]]:
    """Run a lesson in this process; return what its blocks gave, each as a ``Block``.

    On the simulated device a lesson runs up to its first block that takes times.

    Parameters
    ----------
    look
        Returns the data of what a block drew, as the scrapers of the gallery keep them;
        it is given the block and what the gallery gives a scraper.
    """
    if simulated:
        load_device()
    prepare({}, script.name)
    space: dict[str, Any] = {"__name__": "__main__"}
    about = {"src_file": str(script), "example_globals": space}
    seen = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for key, block in keyed_blocks(script):
            if simulated and takes_times(block.content):
                break
            code = "\n" * (block.lineno - 1) + block.content
            code = with_its_name(code) if simulated else code
            with redirect_stdout(io.StringIO()) as printed:
                exec(compile(code, script.name, "exec"), space)
            figures = look(block, about)
            if simulated and UNTRUE.search(block.content):
                continue
            seen.append(asdict(Block(key, plain(printed.getvalue()), figures)))
    return seen
