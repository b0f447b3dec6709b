"""Run lessons, pages that ask for a device and error messages on the stand-in device.

``python two_devices.py FOLDER LESSON ...`` records these lessons and the error
messages below FOLDER, and runs the cells of these pages as a notebook's kernel does. It
prints JSON: for each thing that ran an empty text, or what went wrong. Python warnings
are errors.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

MOST = 4000  # bytes of what went wrong: less than a pipe holds
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "conf"))


def pages_that_run() -> list[Path]:
    """Return the pages that ask for a device: the build has just run the others."""
    docs = ROOT / "docs"
    folders = docs, docs / "errors", docs / "questions"
    pages = sorted(page for folder in folders for page in folder.glob("*.md"))
    asking = re.compile(r"cuda|accelerator")
    return [page for page in pages if asking.search(page.read_text(encoding="utf-8"))]


def main(folder: Path, lessons: list[str]) -> None:
    """Print what went wrong, by the name of the lesson or page."""
    import record

    machine, recordings = record.second_device(), folder / "recordings"
    scripts = [p for p in (ROOT / "examples").glob("*/*.py") if p.stem in lessons]
    wrong = {f"lesson {lesson}": "" for lesson in lessons}
    with redirect_stdout(sys.stderr):
        failed = record.record_lessons(sorted(scripts), recordings, machine)
        wrong |= {f"lesson {name}": why for name, why in failed.items()}
        messages = sorted((ROOT / "docs" / "errors").glob("*.md"))
        tried = [
            _attempt(lambda page=page: record.record_page(page, recordings, machine))
            for page in messages
        ]
        wrong["messages"] = "\n".join(filter(None, tried))
        pages = _renamed_pages(folder)
        for name in ("torch._dynamo", "IPython.core.interactiveshell"):
            import_module(name)  # here, and not in each fork
        for page in sorted(pages.rglob("*.md")):
            os.chdir(page.parent)
            name = page.relative_to(pages).with_suffix("").as_posix()
            wrong[f"page {name}"] = _in_child(lambda page=page: _run_cells(page))
    print(json.dumps(wrong))


def _attempt(run: Callable[[], Any]) -> str:
    try:
        run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _in_child(run: Callable[[], Any]) -> str:
    """Attempt it in a fork of this process: a page's kernel is new."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, _attempt(run).encode()[:MOST])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as said:
        wrong = said.read()
    if status := os.waitpid(child, 0)[1]:
        return f"its process ended with status {status}"
    return wrong


def _renamed_pages(folder: Path) -> Path:
    """Copy the pages to where they find conf/ and the lessons, with the other name."""
    from tensor_copies.stand_in import for_stand_in

    shutil.copytree(ROOT / "conf", folder / "conf")
    (folder / "examples").symlink_to(ROOT / "examples")
    pages = folder / "docs"
    for section in ("errors", "questions"):
        (pages / section).mkdir(parents=True)
    docs = ROOT / "docs"
    for page in pages_that_run():
        text = for_stand_in(page.read_text(encoding="utf-8"))
        (pages / page.relative_to(docs)).write_text(text, encoding="utf-8")
    return pages


def _run_cells(page: Path) -> None:
    """Run the cells of a page in a shell of its own; raise what one should not."""
    from IPython.core.interactiveshell import InteractiveShell
    from tensor_copies.recordings.cells import cells
    from tensor_copies.run import isolation
    from traitlets.config import Config

    found = cells(page)
    if not found:
        return
    quiet = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell.instance(config=quiet)
    isolation.prepare({}, page.name, "before")
    for cell in found:
        done = shell.run_cell(cell.code)
        error = done.error_before_exec or done.error_in_exec
        if error is not None and "raises-exception" not in cell.tags:
            last = "".join(traceback.format_exception(error)[-6:])
            raise AssertionError(f"the cell on line {cell.line}:\n{last}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
