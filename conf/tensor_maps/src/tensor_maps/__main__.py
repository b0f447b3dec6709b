"""Runs a script, and writes what became of its tensors: ``python -m tensor_maps``."""

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

USAGE = "python -m tensor_maps script.py [arguments] -o steps.html"


def main(arguments: list[str] | None = None) -> None:
    """Run a script and write its steps, also if it raises."""
    parser = argparse.ArgumentParser(
        "python -m tensor_maps", USAGE, __doc__, allow_abbrev=False
    )
    parser.add_argument("script", help="what else is given is the script's")
    told = {"required": True, "help": "the page to write, as steps.html"}
    parser.add_argument("-o", "--output", type=Path, **told)
    options, others = parser.parse_known_args(arguments)
    page = options.output.absolute()  # the script may go elsewhere
    if page.suffix != ".html" or not page.parent.is_dir():
        parser.error(f"{page} is no name of a page, as steps.html, in a folder")
    try:
        source = importlib.util.decode_source(Path(options.script).read_bytes())
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        parser.error(f"{options.script} cannot be read: {error}")
    from tensor_maps.steps.watch import Steps  # not before: with it comes torch

    script = options.script
    module = sys.modules["__main__"] = ModuleType("__main__")
    vars(module).update(__file__=script, __builtins__=__builtins__, __cached__=None)
    sys.argv = [script, *others]
    sys.path[0] = os.path.dirname(os.path.realpath(script))  # noqa: PTH120
    seen = Steps(Path(script).name)
    try:
        seen.run(source, module.__dict__, script)
    finally:
        seen.save(page)


if __name__ == "__main__":
    main()
