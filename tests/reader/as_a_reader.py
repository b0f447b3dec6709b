"""Runs a downloaded script as a reader does, in a process that has imported torch."""

import io
import os
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path


def run_as_a_reader(script: Path, folder: Path, environment: dict[str, str]) -> str:
    """Run a script in a folder; return what it prints."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv[:] = [str(script)]
    sys.path.insert(0, str(script.parent))
    with redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(script), run_name="__main__")
    return printed.getvalue()
