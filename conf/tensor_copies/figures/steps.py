"""Watch the run of a lesson: what became of its tensors, statement by statement.

Around the run stand two hooks of the gallery (``reset_modules``). What
``tensor_maps.steps`` saw in between is kept as JSON beside the lesson's pictures, for
the player. A lesson that takes times is not watched, as that makes each call a little
slower; nor is one without a picture of its tensors.
"""

import gzip
import json
import re
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config

from tensor_copies.figures.maps import names_in
from tensor_copies.gallery.lessons import MARKER_LINE, blocks_of, script_of, takes_times

# These count across statements, where they are not within a function.
COUNTING = re.compile(
    r"(?m)^(?!from |import |[ \t#]).*"
    r"\b(profile|tracemalloc|getrusage|max_memory_allocated)\b"
)
# Most names in a picture: as many as keep the steps under MOST_BYTES. Pictures that are
# higher than MOST_HIGH have fewer.
NAMES, MOST_BYTES, MOST_HIGH = (5, 4, 3), 11_900, 210
SIZE = re.compile(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"')
_watching: dict[str, Any] = {}  # ``Steps``, by the file of a lesson
_painted: dict[str, Any] = {}  # the colours that its maps gave its storages


def is_watched(script: Path) -> bool:
    """Whether a lesson is watched: it shows tensors, and neither times nor counts."""
    source = script.read_text(encoding="utf-8")
    is_drawn = "sphinx_gallery_tensor_map" in source
    return is_drawn and not takes_times(source) and not COUNTING.search(source)


def watch(gallery_conf: dict[str, Any], lesson: str, when: str) -> None:
    """Watch a lesson from before its run to after it (the last ``reset_modules``)."""
    script = script_of(lesson)
    folder = Path(gallery_conf["gallery_dirs"][0], script.parent.name)
    path = steps_file(gallery_conf["src_dir"], (folder / script.stem).as_posix())
    if when == "before":
        path.unlink(missing_ok=True)
        if is_watched(script):
            from tensor_maps.steps.watch import Steps

            _watching[lesson] = Steps(script.stem)
            _watching[lesson].follow(
                script.read_text(encoding="utf-8"),
                lambda frame: Path(frame.f_code.co_filename).resolve() == script,
            )
    elif (seen := _watching.pop(lesson, None)) is not None:
        seen.stop()
        passed = path.parents[2] / f"{lesson}.md5"  # the gallery's note
        if passed.exists() and opening_of(script):
            if seen.failed:
                passed.unlink()
                raise ExtensionError(f"{lesson} could not be watched:\n{seen.failed}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(as_json(seen, script), encoding="utf-8")


def coloured(observed: dict[str, Any], script: str | Path) -> dict[str, Any]:
    """Give the storages of a map the colours that the lesson's steps give them."""
    name = Path(script).name
    if name not in _watching:
        return observed
    from tensor_maps.steps.pictures import Colours, names_on, number_storages

    colours = _painted.setdefault(name, Colours())
    at, numbers = number_storages(_watching[name].steps), []
    for storage in observed["storages"]:
        for known in [one for one in names_on(observed, storage) if one in at][:1]:
            storage["number"] = at[known]
            numbers.append(at[known])
    for number in numbers:
        colours.give(number, [*at.values()], numbers)
    colours.paint(observed["storages"])
    return observed


def steps_file(source: str | Path, page: str) -> Path:
    """Return where the steps of a page are, if it has steps."""
    folder, _, name = page.rpartition("/")
    return Path(source, folder, "images", "thumb", f"sphx_glr_{name}_steps.json")


def as_json(seen: Any, script: Path) -> str:
    """Return steps with their drawings: the same steps give the same text."""
    from tensor_maps.steps.pictures import as_data

    from tensor_copies.figures.about import About

    code, number_of = shown_lines(script)
    steps = seen.steps
    about = About(steps, *opening_of(script))
    colours = _painted.pop(script.name, {})
    for most in NAMES:
        shown = about.shown(steps, colours, most, MOST_HIGH)
        data = as_data(shown, seen.title, code) | {"lead": about.leads}
        for at, step in enumerate(data["steps"]):
            step |= {name: number_of[step[name]] for name in ("first", "last")}
            step |= {} if at in about.told else {"event": None}
        data["wide"], data["high"] = size_of_events(data)
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        if len(gzip.compress(text.encode(), 9, mtime=0)) <= MOST_BYTES:
            break
    return text


def opening_of(script: Path) -> tuple[Any, ...]:
    """Return what opens a page, if tensors do, as ``About`` takes it.

    These are the names, the lines of their block up to the marker ``lead``, what raises
    and what is copied.
    """
    for kind, content, first in blocks_of(script):
        marks = extract_file_config(content) if kind == "code" else {}
        if marks.get("lead") is True and "tensor_map" in marks:
            # As steps write items.
            names, *beside = names_in(marks["tensor_map"].replace('"', "'"))
            before = content.partition("# sphinx_gallery_lead")[0]
            return names, (first, first + before.count("\n")), *beside
    return ()


def size_of_events(data: dict[str, Any]) -> tuple[float, float]:
    """Return how wide the widest, and how high the highest drawing of an event is."""
    drawn = {step["drawing"] for step in data["steps"] if step["event"]} - {None}
    sizes = [SIZE.search(data["drawings"][at]).groups() for at in drawn]
    wide, high = (max(map(float, one)) for one in zip(*sizes, strict=True))
    return wide, high


def shown_lines(script: Path) -> tuple[list[str], dict[int, int]]:
    """Return the code that a reader of the page sees, and the number of each line.

    Two blocks are parted by a blank line. The numbers are by those in the script.
    """
    code: list[str] = []
    number_of: dict[int, int] = {}
    for kind, content, first in blocks_of(script):
        if kind == "code":
            code += [""] if code else []
            for number, line in enumerate(content.rstrip().split("\n"), first):
                if not MARKER_LINE.fullmatch(line) and (line or (code and code[-1])):
                    code.append(line)
                number_of[number] = len(code)
    return code, number_of
