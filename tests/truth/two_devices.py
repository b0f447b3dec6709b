"""What tests run with the simulated device, each function in a fresh process."""

from __future__ import annotations

import io
import os
import re
import tempfile
import traceback
import warnings
from contextlib import redirect_stdout
from pathlib import Path

import torch
from IPython.core.interactiveshell import InteractiveShell
from reading import ROOT
from tensor_copies.figures import figures_of
from tensor_copies.gallery.isolation import prepare
from tensor_copies.gallery.pages import cells, cells_in
from tensor_copies.machines import runner
from tensor_copies.simulated import NAME, load_device, with_its_name
from traitlets.config import Config


def pages_that_ask() -> list[Path]:
    """Return the pages whose cells ask for a device."""
    folders = (ROOT / "docs" / name for name in ("", "errors", "questions"))
    pages = (page for folder in folders for page in sorted(folder.glob("*.md")))
    code = {page: "".join(cell.code for cell in cells(page)) for page in pages}
    return [page for page in code if re.search("cuda|accelerator", code[page])]


def run_page(page: Path) -> None:
    """Run the cells of a page in a shell of its own; raise what one should not."""
    load_device()
    prepare({}, page.name)
    quiet = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell.instance(config=quiet)
    with tempfile.TemporaryDirectory() as there, redirect_stdout(io.StringIO()):
        os.chdir(there)
        for cell in cells_in(with_its_name(page.read_text("utf-8"))):
            done = shell.run_cell(cell.code, store_history=True)
            error = done.error_before_exec or done.error_in_exec
            if error is not None and "raises-exception" not in cell.tags:
                last = "".join(traceback.format_exception(error)[-6:])
                raise AssertionError(f"the cell on line {cell.line}:\n{last}")


def run_to_its_end(script: Path) -> None:
    """Run a lesson, also what takes times, of which a build runs nothing there."""
    runner.takes_times = lambda code: False
    runner.run_lesson(script, figures_of, simulated=True)


def broken_rules(rules: dict[str, str]) -> dict[str, list[str]]:
    """Return the rules that do not hold: the line, and what it raised."""
    load_device()
    warnings.simplefilter("error")
    broken = {}
    for rule, code in rules.items():
        try:
            exec(compile(code, rule, "exec"), {"torch": torch, "d": NAME})
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1].lineno
            broken[rule] = [code.splitlines()[where - 1], traceback.format_exc()]
    return broken
