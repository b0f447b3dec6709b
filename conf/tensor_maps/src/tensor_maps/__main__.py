"""Run a script, and write what became of its tensors: ``python -m tensor_maps``."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import NoReturn

USAGE = "python -m tensor_maps script.py [arguments] -o steps.html [--title TITLE]"


def _asked(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our own options, wherever they stand, and the rest: a script's line.

    What stands after ``--`` is the script's alone.
    """
    parser = argparse.ArgumentParser(
        "python -m tensor_maps", USAGE, __doc__, allow_abbrev=False
    )
    parser.add_argument("-o", "--output", help="the page to write, as steps.html")
    parser.add_argument("--title", help="what stands above the steps")
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, line = parser.parse_known_args(arguments[:end])
    return options, line + arguments[end + 1 :]


def _refuse(sentence: str) -> NoReturn:
    print(f"tensor_maps: {sentence}", file=sys.stderr)
    raise SystemExit(2)


def main(arguments: list[str] | None = None) -> int:
    """Run a script and write its steps; return the exit status."""
    options, line = _asked(sys.argv[1:] if arguments is None else arguments)
    if not line:
        _refuse(f"no script was given: {USAGE}")
    script, page = Path(line[0]), Path(options.output or "")
    if not options.output:
        _refuse(f"no page was given to write: {USAGE}")
    if not script.is_file():
        _refuse(f"there is no script {script}")
    if page.suffix != ".html":
        _refuse(f"steps are saved as HTML: name the page like steps.html, not {page}")
    if not page.parent.is_dir():
        _refuse(f"there is no folder {page.parent} to write {page.name} into")
    page = page.absolute()  # the script may go elsewhere
    try:
        source = importlib.util.decode_source(script.read_bytes())
    except (SyntaxError, UnicodeDecodeError) as error:
        _refuse(f"{script} is not text of Python: {error}")
    return _run(source, line, page, options.title or script.name)


def _run(source: str, line: list[str], page: Path, title: str) -> int:
    from tensor_maps.steps.watch import Steps  # not before: with it comes torch

    script = line[0]
    module = ModuleType("__main__")
    module.__dict__.update(__file__=script, __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = module
    sys.argv = line
    sys.path[0] = os.path.dirname(os.path.realpath(script))  # noqa: PTH120
    seen = Steps(title)
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
