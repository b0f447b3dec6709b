"""What people write, looked at before anything is built: one line says what is wrong.

The libraries that read a source name neither file nor line when its bytes are no text,
publish a conflict that nobody resolved, and read themselves to the end of Python's
stack where pages include each other. So all sources are read here first. What editors
and systems leave (names that begin with a dot) is no source.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

from tensor_copies.run.fingerprint import CONF

ROOT = CONF.parent
KINDS = {"docs": (".md", ".rst", ".toml", ".txt"), "examples": (".py", ".rst", ".txt")}
# By editors and by the gallery.
PASSED_OVER = re.compile(r"(^|/)(\.|__pycache__($|/))|~$|^docs/auto_examples($|/)")
HEADER = "GALLERY_HEADER.rst"
# Names of pages that the build makes.
TAKEN = re.compile(r"docs/(404|genindex|search)\.(md|rst)|examples/.*/index\.py")
MARK = "\ufeff"  # what some editors put before the text of a file
# What no line may be; in a page that runs a reader takes the last for a cell.
UNFIT = {
    r"(# ?)?(<{7}|>{7}) ": "a conflict is not resolved: keep one of its sides",
    r"[^#\"'`]*\b(breakpoint\(\)|pdb\.set_trace\(\))\s*$": (
        "it waits for a person: take the breakpoint out"
    ),
}
RUNS = "file_format: mystnb"
UNFIT_IN_A_PAGE_THAT_RUNS = {
    r"[`:]{3,} *(python|py|ipython3?)\s*$": (
        "this code does not run: write `{code-cell} ipython3`, or `{code-block} "
        "python` where it should not"
    ),
    r":tags: *[^\[\s]": "tags are a list: write `:tags: [NAME]`",
}
# Forbidden in HTML, or such that what is read is not what is written.
HIDDEN = re.compile(r"[\0-\x08\x0b\f\x0e-\x1f\x7f\xa0\u200b\u202a-\u202e\u2066-\u2069]")
INCLUDE = re.compile(r"^(?:[`:]{3,} *\{include\}|\.\. include::) *(\S+)", re.M)
FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,}|:{3,})(.*)")
TITLE = re.compile(r"\S.*\n([=\-~#*^\"])\1*\s*$", re.M)
_at_work: dict[str, set[str]] = {}  # what runs, and beside each all that ran meanwhile


class UnfitSource(ExtensionError):
    """A source cannot be published; the message names file, line, and what to do."""


def files_of(root: Path) -> set[str]:
    """Return what is among and beside the sources, but for what nobody wrote there.

    Code that runs in a build adds nothing: the next would take it for a source.
    """
    found = {path.name for path in root.iterdir()}
    for folder in KINDS:
        for inside, folders, names in os.walk(root / folder):
            within = Path(inside).relative_to(root)
            found |= {(within / name).as_posix() for name in (*folders, *names)}
    return {name for name in found if not PASSED_OVER.search(name)}


def sources(root: Path) -> list[Path]:
    """Return the files that people write, but for recordings and scripts of a page."""
    kinds = ((name, KINDS.get(name.partition("/")[0], ())) for name in files_of(root))
    return [root / name for name, endings in sorted(kinds) if name.endswith(endings)]


@contextmanager
def nothing_left(name: str, root: Path = ROOT) -> Iterator[None]:
    """Raise :class:`UnfitSource` if a source comes or goes; name all that ran."""
    before, _at_work[name] = files_of(root), {name, *_at_work}
    for beside in list(_at_work.values()):
        beside.add(name)
    yield
    names, now = " or ".join(sorted(_at_work.pop(name))), files_of(root)
    for file in sorted(now ^ before):
        if file in before:
            raise UnfitSource(f"{names} removed the file {file}: put it back")
        raise UnfitSource(
            f"{names} left the file {file} among the sources: remove it, "
            "and write to a temporary folder"
        )


def require_sound(app: Sphinx | None = None) -> None:
    """Raise :class:`UnfitSource` for the first source that is not fit."""
    for problem in problems(ROOT):
        raise UnfitSource(problem)


def problems(root: Path) -> Iterator[str]:
    """Say what is wrong with the sources below a folder."""
    included: dict[Path, set[Path]] = {}
    for name in sorted(files_of(root)):
        if "/" in name and (root / name).is_symlink() and (root / name).is_dir():
            yield f"{name} is a link to a folder: put the folder itself there"
        if not name.isprintable():
            yield f"{name!a}: give it a name of letters and numbers"
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        if not path.is_file():
            kind = "a folder" if path.is_dir() else "no file with text"
            yield f"{name} is {kind}: remove it, or give it another name"
            continue
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            byte = f"byte {error.object[error.start]:#04x}"
            yield f"{name}, line {line}: {byte} is not UTF-8: save the file as UTF-8"
            continue
        yield from (f"{name}{problem}" for problem in _of_text(text))
        if path.suffix == ".md" and (line := _open_block(text)):
            yield f"{name}, line {line}: this block does not end: write its last line"
        if path.suffix in (".md", ".rst"):
            files = map(path.parent.joinpath, INCLUDE.findall(text))
            included[path.resolve()] = {file.resolve() for file in files}
        if TAKEN.fullmatch(name):
            yield f"{name}: the build makes a page of this name: give it another"
        if re.fullmatch(r"examples/.+/.+/.+\.py", name):
            yield f"{name}: a section has no folders: move the lesson out of it"
    for path in (root / "examples", *sorted((root / "examples").iterdir())):
        if path.is_dir() and not path.name.startswith((".", "__")):
            yield from _of_section(path, path.relative_to(root).as_posix())
    if circle := [path.name for path in _circle(included)]:
        yield f"{circle[0]} includes itself: {' → '.join(circle)}. Take one include out"


def _of_text(text: str) -> Iterator[str]:
    if text.startswith(MARK):
        yield " begins with a byte order mark: save it as UTF-8 without"
    unfit = UNFIT | (UNFIT_IN_A_PAGE_THAT_RUNS if RUNS in text else {})
    for number, line in enumerate(text.split("\n"), 1):
        for pattern, why in unfit.items():
            if re.match(pattern, line):
                yield f", line {number}: {why}"
        if found := HIDDEN.search(line.removesuffix("\r")):
            sign = f"U+{ord(found[0]):04X}"
            yield f", line {number}: it has the hidden character {sign}: take it out"


def _open_block(text: str) -> int:
    """Return the line of a fenced block that does not end, or 0."""
    fence, began = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        found = FENCE.match(line.strip())
        if found and not fence:
            fence, began = found[1], number
        elif found and found[1].startswith(fence) and not found[2]:
            fence, began = "", 0
    return began


def _of_section(folder: Path, name: str) -> Iterator[str]:
    if not (header := folder / HEADER).is_file():
        yield f"{name} has no {HEADER}: write one, a title underlined with ==="
    elif not TITLE.search(header.read_text("utf-8", "replace")):
        yield f"{name}/{HEADER} has no title: write one, underlined with ==="


def _circle(graph: Mapping[Any, Iterable[Any]]) -> list[Any]:
    """Return what leads back to itself, with what is between; nothing if none does."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def require_no_circle(app: Sphinx, env: BuildEnvironment) -> None:
    """Raise :class:`UnfitSource` where pages list each other in their toctrees."""
    if circle := _circle(env.toctree_includes):
        raise UnfitSource(
            f"{circle[0]}: the toctrees list {' → '.join(circle)}: take one of them out"
        )
