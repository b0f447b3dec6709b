"""Runs a script, and writes what became of its tensors: ``python -m tensor_maps``."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

USAGE = "python -m tensor_maps script.py [arguments] -o steps.html"


def main(arguments: list[str] | None = None) -> int:
    """Run a script and write its steps; return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(
        "python -m tensor_maps", USAGE, __doc__, allow_abbrev=False
    )
    parser.add_argument("-o", "--output", help="the page to write, as steps.html")
    # What stands after `--` is the script's alone; what else is not ours is its too.
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, line = parser.parse_known_args(arguments[:end])
    line += arguments[end + 1 :]
    page = Path(options.output or "")
    if not line:
        parser.error("no script was given")
    if not Path(line[0]).is_file():
        parser.error(f"there is no script {line[0]}")
    if not options.output:
        parser.error("no page was given to write")
    if page.suffix != ".html":
        parser.error(f"steps are saved as HTML: name it like steps.html, not {page}")
    if not page.parent.is_dir():
        parser.error(f"there is no folder {page.parent} to write {page.name} into")
    try:
        source = importlib.util.decode_source(Path(line[0]).read_bytes())
    except (SyntaxError, UnicodeDecodeError) as error:
        parser.error(f"{line[0]} is not text of Python: {error}")
    return _run(source, line, page.absolute())  # the script may go elsewhere


def _run(source: str, line: list[str], page: Path) -> int:
    from tensor_maps.steps.watch import Steps  # not before: with it comes torch

    script = line[0]
    module = sys.modules["__main__"] = ModuleType("__main__")
    vars(module).update(__file__=script, __builtins__=__builtins__, __cached__=None)
    sys.argv = line
    sys.path[0] = os.path.dirname(os.path.realpath(script))  # noqa: PTH120
    seen = Steps(Path(script).name)
    try:
        seen.run(source, module.__dict__, script)
    except SystemExit:
        raise  # Python ends with its status
    except BaseException as error:
        # The traceback of the script alone.
        traceback = error.__traceback__
        while traceback and traceback.tb_frame.f_code.co_filename != script:
            traceback = traceback.tb_next
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        seen.save(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
