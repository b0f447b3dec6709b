"""Steps of a lesson: what became of its tensors, statement by statement.

The gallery runs a lesson; :func:`begin` and :func:`end` are its hooks around that run.
In between each statement of the lesson is followed by a look at all tensors that have a
name (tensor_maps.steps). So the run that is watched is the one that is shown.
What was seen is kept beside the lesson's pictures, in sentences and drawings.
What a watched lesson leaves to chance is the same in each build: its steps show all
values, also those that it does not print.

Of the events those are told that have to do with the picture that opens the page.

A lesson that takes times is not watched: watching makes each call of a Python function
a little slower.
"""

from __future__ import annotations

import ast
import gzip
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config

from tensor_copies.figures.maps import names_in
from tensor_copies.gallery.lessons import (
    MARKER_LINE,
    blocks_of,
    script_of,
    takes_times,
)

if TYPE_CHECKING:
    from tensor_maps.steps.watch import Steps

# These count across statements; within a function they see nothing of the looks between
# two.
COUNTING = {"profile", "tracemalloc", "getrusage", "max_memory_allocated"}
# What a reader loads, compressed, and how high a picture of an event is, in pixels. To
# keep to it a picture may have fewer names: the first number that does, or the last.
MOST_BYTES, MOST_HIGH = 11_900, 210
DRAWN = (5, 4, 3, 2)
SIZE = re.compile(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"')
_watching: dict[str, Steps] = {}


def is_watched(script: Path) -> bool:
    """Whether a lesson is watched: it takes no times, and counts only in functions."""
    source = script.read_text(encoding="utf-8")
    try:
        body = ast.parse(source).body
    except SyntaxError:  # the gallery says more
        return False
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    for statement in body:
        for node in () if isinstance(statement, functions) else ast.walk(statement):
            match node:
                case ast.Name(name) | ast.Attribute(attr=name) if name in COUNTING:
                    return False
    return not takes_times(source)


def begin_watching(gallery_conf: dict[str, Any], lesson: str, when: str) -> None:
    """Begin to watch a lesson (a ``reset_modules`` hook: the last before it runs)."""
    if when != "before":
        return
    script = script_of(lesson)
    _path(_folder(gallery_conf, script), script.stem).unlink(missing_ok=True)
    if not is_watched(script):
        return
    _watching[lesson] = watch_script(script, script.read_text(encoding="utf-8"))


def watch_script(script: Path, source: str) -> Steps:
    """Begin to watch what is run as a lesson, whose text is now ``source``."""
    from tensor_maps.steps.watch import Steps

    seen = Steps(script.stem)
    seen.follow(source, str(script))
    return seen


def end_watching(gallery_conf: dict[str, Any], lesson: str, when: str) -> None:
    """Keep what was seen of a lesson (a ``reset_modules`` hook: the first after it).

    Raises
    ------
    ExtensionError
        If the lesson could not be watched to its end.
    """
    seen = _watching.pop(lesson, None)
    if when != "after" or seen is None:
        return
    seen.stop()
    script = script_of(lesson)
    folder = _folder(gallery_conf, script)
    passed = folder / f"{lesson}.md5"  # the gallery's note
    if passed.exists():
        if seen.failed:
            passed.unlink()
            raise ExtensionError(f"{lesson} could not be watched:\n{seen.failed}")
        path = _path(folder, script.stem)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_as_json(seen, script), encoding="utf-8")


def _folder(gallery_conf: dict[str, Any], script: Path) -> Path:
    gallery = gallery_conf["gallery_dirs"][0]
    return Path(gallery_conf["src_dir"], gallery, script.parent.name)


def _path(folder: Path, lesson: str) -> Path:
    """Return where what was seen of a lesson is kept, beside its picture for cards."""
    return folder / "images" / "thumb" / f"sphx_glr_{lesson}_steps.json"


def steps_file(source: str | Path, page: str) -> Path | None:
    """Return the steps of the lesson that a page shows, as JSON, if it has steps.

    ``source`` is the folder of all pages.
    """
    folder, _, name = page.rpartition("/")
    path = _path(Path(source, folder), name)
    return path if path.exists() else None


def _as_json(seen: Steps, script: Path) -> str:
    """Return steps with their drawings: the same steps give the same text."""
    about = _lead_of(script)
    for most in DRAWN:
        shown = as_shown(seen.data(most, *about), script)
        shown["wide"], shown["high"] = size_of_events(shown)
        if not about[0]:  # a chart opens the page
            shown["lead"] = None
        text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        is_light = len(gzip.compress(text.encode(), 9, mtime=0)) <= MOST_BYTES
        if is_light and shown["high"] <= MOST_HIGH:
            break
    return text


def _lead_of(script: Path) -> tuple[list[str], tuple[int, int]]:
    """Return the names that open a lesson's page, and the lines of their block."""
    for kind, content, first in blocks_of(script):
        marks = extract_file_config(content) if kind == "code" else {}
        if marks.get("lead") is True and "tensor_map" in marks:
            # As steps write the names of items.
            names = [
                name.replace('"', "'") for name in names_in(marks["tensor_map"])[0]
            ]
            return names, (first, first + content.count("\n"))
    return [], (0, 0)


def size_of_events(data: dict[str, Any]) -> tuple[float, float]:
    """Return how wide the widest, and how high the highest drawing of an event is."""
    drawn = {step["drawing"] for step in data["steps"] if step["event"]} - {None}
    sizes = [SIZE.search(data["drawings"][at]).groups() for at in drawn]
    wide, high = zip(*sizes, strict=True) if sizes else ((0,), (0,))
    return max(map(float, wide)), max(map(float, high))


def as_shown(data: dict[str, Any], script: Path) -> dict[str, Any]:
    """Return steps with the code and the lines of :func:`shown_lines`."""
    code, number_of = shown_lines(script)
    steps = [
        step | {"first": number_of[step["first"]], "last": number_of[step["last"]]}
        for step in data["steps"]
    ]
    return data | {"code": code, "steps": steps}


def shown_lines(script: Path) -> tuple[list[str], dict[int, int]]:
    """Return the code that a reader of the page sees, and the number of each line.

    That is the code of all blocks, without prose and marker comments, and with one
    blank line between two blocks. The numbers are by those in the script.
    """
    code: list[str] = []
    number_of: dict[int, int] = {}
    for kind, content, first in blocks_of(script):
        if kind != "code":
            continue
        lines = [
            (first + at, line)
            for at, line in enumerate(content.split("\n"))
            if not MARKER_LINE.fullmatch(line)
        ]
        for end in (0, -1):
            while lines and not lines[end][1].strip():
                del lines[end]
        code += [""] if code and lines else []
        for number, line in lines:
            code.append(line)
            number_of[number] = len(code)
    return code, number_of
