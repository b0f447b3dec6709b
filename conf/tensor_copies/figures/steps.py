"""Steps of a lesson: what became of its tensors, statement by statement.

The gallery runs a lesson; :func:`begin` and :func:`end` are its hooks around that run.
In between each statement of the lesson is followed by a look at all tensors that have a
name (standalone/tensor_maps.py). So the run that is watched is the one that is shown.
What was seen is kept beside the lesson's pictures, and goes with them when the lesson
has to be run again.

A lesson that takes times is not watched: watching makes each call of a Python function
a little slower.
"""

from __future__ import annotations

import ast
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from tensor_copies.machine.markers import LINE

if TYPE_CHECKING:
    from standalone.tensor_maps import Steps

# What takes times, or counts across statements, with the reason that a reader is told.
TIMES = "It takes times, and watching would change them."
COUNTS = "It counts what is allocated or run, and looking would be counted."
NOT_WATCHED = {
    **dict.fromkeys(
        ("perf_counter", "perf_counter_ns", "monotonic", "process_time", "time_ns"),
        TIMES,
    ),
    **dict.fromkeys(("Timer", "timeit", "repeat", "perfplot", "elapsed_time"), TIMES),
    "BENCHMARK_QUALITY": TIMES,
}
# These count; within a function they see nothing of the looks between two statements.
NOT_WATCHED_OUTSIDE_FUNCTIONS = dict.fromkeys(
    ("profile", "tracemalloc", "getrusage", "max_memory_allocated"), COUNTS
)
# What a reader loads, compressed; and how many names a picture may have to keep to it.
MOST_BYTES = 12_000
DRAWN = (6, 5, 4, 3, 2)
_watching: dict[str, Steps] = {}


def not_watched(script: Path) -> str:
    """Return why a lesson is not watched, or nothing if it is."""
    tree = ast.parse(script.read_text(encoding="utf-8"))
    for name in _names(tree):
        if name in NOT_WATCHED:
            return NOT_WATCHED[name]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)
    for statement in tree.body:
        if not isinstance(statement, functions):
            for name in _names(statement):
                if name in NOT_WATCHED_OUTSIDE_FUNCTIONS:
                    return NOT_WATCHED_OUTSIDE_FUNCTIONS[name]
    return ""


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield each name, attribute, imported name and short text of code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name.rpartition(".")[2]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def begin(gallery_conf: dict[str, Any], lesson: str, when: str) -> None:
    """Begin to watch a lesson (a ``reset_modules`` hook: the last before it runs)."""
    if when != "before":
        return
    script = _script(gallery_conf, lesson)
    if script is None or not_watched(script):
        return
    from standalone.tensor_maps import Steps

    seen = Steps(script.stem)
    seen.follow(script.read_text(encoding="utf-8"), str(script))
    _watching[lesson] = seen


def end(gallery_conf: dict[str, Any], lesson: str, when: str) -> None:
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
    if seen.failed:
        raise ExtensionError(f"{lesson} could not be watched:\n{seen.failed}")
    script = _script(gallery_conf, lesson)
    failing = {Path(path).name for path in gallery_conf.get("failing_examples", ())}
    if script is None or lesson in failing:
        return
    for gallery in gallery_conf["gallery_dirs"]:
        folder = Path(gallery_conf["src_dir"], gallery, script.parent.name)
        if folder.is_dir():
            path = steps_path(folder, script.stem)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(as_kept(seen, script), encoding="utf-8")


def _script(gallery_conf: dict[str, Any], lesson: str) -> Path | None:
    """Return the script of a lesson, of which a hook is told only the file's name."""
    source = Path(gallery_conf["src_dir"])
    for folder in gallery_conf["examples_dirs"]:
        for script in sorted((source / folder).resolve().rglob(lesson)):
            return script
    return None


def steps_path(folder: Path, lesson: str) -> Path:
    """Return where the steps of a lesson are kept, beside its picture for cards."""
    return folder / "images" / "thumb" / f"sphx_glr_{lesson}_steps.json"


def steps_file(source: str | Path, page: str) -> Path | None:
    """Return where the steps of the lesson that a page shows are kept, if they are."""
    folder, _, name = page.rpartition("/")
    path = steps_path(Path(source, folder), name)
    return path if path.exists() else None


def as_kept(seen: Steps, script: Path) -> str:
    """Return the steps of a lesson as they are kept.

    Raises
    ------
    ExtensionError
        If they weigh too much even with few names in each picture.
    """
    for drawn in DRAWN:
        text = as_json(as_shown(seen.data(drawn), script))
        weight = len(gzip.compress(text.encode(), 9, mtime=0))
        if weight <= MOST_BYTES:
            return text
    raise ExtensionError(
        f"the steps of {script.name} weigh {weight:,} bytes; a reader is sent "
        f"{MOST_BYTES:,} at most: make the lesson shorter, or its loops"
    )


def as_json(data: dict[str, Any]) -> str:
    """Return steps as the text that is kept: the same data give the same text."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def as_shown(data: dict[str, Any], script: Path) -> dict[str, Any]:
    """Return steps with the code that a reader of the page sees, and its lines.

    That is the code of all blocks, without prose and marker comments, and with one
    blank line between two blocks.
    """
    code: list[str] = []
    number_of: dict[int, int] = {}
    for kind, content, first in split_code_and_text_blocks(str(script))[1]:
        if kind != "code":
            continue
        lines = [
            (first + at, line)
            for at, line in enumerate(content.split("\n"))
            if not LINE.fullmatch(line)
        ]
        while lines and not lines[0][1].strip():
            del lines[0]
        while lines and not lines[-1][1].strip():
            del lines[-1]
        code += [""] if code and lines else []
        for number, line in lines:
            code.append(line)
            number_of[number] = len(code)
    steps = [
        step | {"first": number_of[step["first"]], "last": number_of[step["last"]]}
        for step in data["steps"]
    ]
    return data | {"code": code, "steps": steps}
