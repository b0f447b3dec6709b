"""Digests: of texts, of files, of what a kind of result is made from.

What is kept between two builds is kept by such a key. A key is made of bytes: a comment
changes it too. That runs a little more than must run, and needs no list of exceptions.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from functools import cache
from pathlib import Path

from tensor_copies.run.fingerprint import CONF, fingerprint, quality

ROOT = CONF.parent
PACKAGE = "tensor_maps/src/tensor_maps"
# What lessons leave is made by these files of conf/, beside the script itself. What
# only draws it, or finds words for steps, is not among them.
OBSERVING = ("observe", "reading", "words", "graph", "memory", "overlap", "compare")
WATCHING = ("watch", "course", "trace", "monitor", "listen", "decorate", "syntax")
ONLY_DRAWING = {"charts", "lines", "timelines", "timeline_part"}
LOOKING = ("step", "fact", "facts", "names", "content")
SHAPES_LESSONS = (
    *(f"tensor_copies/run/{name}.py" for name in ("apart", "isolation", "blocks")),
    *(f"tensor_copies/run/{name}.py" for name in ("clocks", "markers")),
    "tensor_copies/lessons/code_links.py",
    *(
        f"tensor_copies/figures/{path.name}"
        for path in (CONF / "tensor_copies" / "figures").glob("*.*")
        if path.stem not in ONLY_DRAWING
    ),
    *(f"{PACKAGE}/{name}.py" for name in OBSERVING),
    *(f"{PACKAGE}/steps/{name}.py" for name in (*WATCHING, *LOOKING)),
)
# What finds words for steps that were seen, and draws them.
DRAWS_STEPS = (
    *(f"tensor_copies/figures/{name}.py" for name in ("steps", "lead")),
    f"{PACKAGE}/**/*.py",
)
# What the cells of pages import, and what watches them.
SHAPES_PAGES = (
    f"{PACKAGE}/**/*.py",
    f"{PACKAGE}/**/*.toml",
    *(f"tensor_copies/errors/{name}.py" for name in ("page", "messages", "costs")),
    "tensor_copies/errors/watched_cells.py",
    "tensor_copies/run/isolation.py",
    "tensor_copies/run/kernels.py",
    "tensor_copies/recordings/cells.py",
    "tensor_copies/recordings/format.py",
    "tensor_copies/stand_in/*.py",
)
# What probes. The table of calls has words too: of it a recording counts the rows.
PROBES = (f"{PACKAGE}/atlas/probes.py", f"{PACKAGE}/atlas/run.py")
SHAPES_ATLAS = (f"{PACKAGE}/atlas/*", f"{PACKAGE}/reading.py")
SHAPES_STAND_IN = ("tensor_copies/stand_in/*.*",)
SHAPES_EXPLORER = (
    *(*SHAPES_ATLAS, *SHAPES_STAND_IN),
    *(f"tensor_copies/explorer/{name}.py" for name in ("chains", "data", "probing")),
)
# Files of conf/ that pages are only dressed in: they are written again, not read.
DRESS = ("static", "templates")
# What hosts say of the site's address (web/address.py), and the day of a build.
ENVIRONMENT = ("SITE_", "READTHEDOCS", "SOURCE_DATE_EPOCH")


def key_of(*parts: str) -> str:
    """Return sixteen hexadecimal digits that differ when any of the texts differs."""
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16]


def hash_of(path: Path) -> str:
    """Return a hash of a file's bytes, or nothing for a file that is not there."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


@cache
def digest_of(*patterns: str) -> str:
    """Return the key of the files of conf/ that have these paths."""
    return _digest(CONF, {path for one in patterns for path in CONF.glob(one)})


def _digest(root: Path, paths: set[Path]) -> str:
    named = {path.relative_to(root).as_posix(): path for path in paths}
    return key_of(
        *(
            f"{name} {hash_of(path)}"
            for name, path in sorted(named.items())
            if "__pycache__" not in path.parts and path.is_file()
        )
    )


def pages_are_made_from() -> str:
    """Return the key of what all pages are read with: code, packages, recordings.

    It is an option of Sphinx: when it changes, all pages are read again.
    """
    dress = {path for name in DRESS for path in (CONF / name).rglob("*")}
    packages = {
        place.name for folder in sys.path for place in Path(folder).glob("*.dist-info")
    }
    lessons = (path.name for path in (ROOT / "examples").rglob("*.*"))
    said = (f"{key}={value}" for key, value in os.environ.items())
    return key_of(
        _digest(CONF, set(CONF.rglob("*")) - dress),
        _digest(ROOT, set((ROOT / "docs" / "recordings").rglob("*"))),
        *(fingerprint().signature, quality(), platform.python_version()),
        # Where a compiler comes or goes, so does the simulated device.
        str(any(map(shutil.which, (os.environ.get("CXX", "c++"), "g++")))),
        *(hash_of(ROOT / "docs" / "former_sections.toml"), *sorted(packages)),
        *sorted(name for name in lessons if not name.startswith(".")),
        *sorted(one for one in said if one.startswith(ENVIRONMENT)),
    )


def pages_are_dressed_in() -> str:
    """Return the key of styles, scripts and templates: pages are written again."""
    return _digest(CONF, {path for name in DRESS for path in (CONF / name).rglob("*")})
