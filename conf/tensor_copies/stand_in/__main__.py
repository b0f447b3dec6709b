"""``python -m tensor_copies.stand_in lesson.py``: run a script on the stand-in."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tensor_copies.stand_in import CACHE, NoStandIn, environment, load
from tensor_copies.stand_in.scripts import run


def main() -> int:
    """Return 2 if there is no device or no script; the script's errors are its own."""
    parser = argparse.ArgumentParser(prog="stand_in", description="Run a script on it.")
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    parser.add_argument(
        "--cache", type=Path, default=CACHE, help="keeps the compiled device"
    )
    options = parser.parse_args()
    if not options.script.is_file():
        parser.error(f"there is no script {options.script}")
    try:
        load(options.cache)
    except NoStandIn as missing:
        print(f"stand_in: {missing}", file=sys.stderr)
        return 2
    os.environ.update(environment(options.cache))
    run(options.script, options.arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
