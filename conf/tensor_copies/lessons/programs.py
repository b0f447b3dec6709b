"""What runs in a process of its own: the programs of the questions of a page."""

from __future__ import annotations

import contextlib
import io
from tempfile import TemporaryDirectory

from tensor_copies.gallery import isolation

Printed = tuple[str, str]  # what a program prints, and the error that ends it


def run_all(name: str, programs: list[list[str]]) -> list[Printed]:
    """Return what the last block of each program prints, and what it raises."""
    isolation.prepare({}, name, "before")
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        return [_run(name, program) for program in programs]


def _run(name: str, blocks: list[str]) -> Printed:
    namespace, printed = {"__name__": "__main__", "__file__": name}, io.StringIO()
    try:
        for block in blocks:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                # Without assertions, which do not hold in a program that was changed.
                exec(compile(block, name, "exec", optimize=1), namespace)
    except Exception as error:
        return printed.getvalue(), f"{type(error).__name__}: {error}"
    return printed.getvalue(), ""
