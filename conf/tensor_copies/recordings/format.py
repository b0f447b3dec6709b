"""Recordings: what other machines saw when they ran a lesson, kept as data.

One file per lesson and machine, ``docs/recordings/<machine>/<lesson>.json``::

    {
      "schema": 1,                    the version of this format
      "lesson": "1_basics/detach",    section and name of the script
      "machine": {...},               the fields of machine.Fingerprint
      "day": "2026-11-21",            when it ran
      "seconds": 0.02,                how long it took
      "blocks": [                     one for each code block, in order
        {
          "key": "0123456789abcdef",  running hash of the code, see keys()
          "output": ["a line", ...],  what the gallery shows for the block
          "figures": ["detach.1.json"]
        }
      ]
    }

A block of which the stand-in device can show nothing that is true has ``left_out``,
the reason, in the place of ``output`` and ``figures``.

A page that shows what depends on the device has cells tagged ``recorded``. They use
torch and NumPy alone and leave a dictionary ``observed`` of dictionaries of texts.
On the error index it is made from what the cells of its entries raise (see messages).
Beside the lessons stands ``<page>.page.json``, with ``page``, one ``key`` for all
these cells, and ``observed`` in the place of ``lesson``, ``seconds`` and ``blocks``.

A figure is a file beside it: ``.json`` with the plotted data (figures.data_of), which
the site draws in its own style, or with a tensor map (``{"map": ...}``, see
tensor_maps.observe), or the samples of a benchmark (``{"samples": ...}``), or
``.png`` where a figure is more than lines.

The Atlas as another machine probed it is ``atlas.json``: ``key``, the hash of the
probes (atlas.py), ``columns`` with their names, and ``records``, a list of values each.

A recording is data from elsewhere. :func:`load` takes nothing on trust: a file that
is not exactly as above is refused with one line that names it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from tensor_copies.machine.fingerprint import (
    CONF,
    DEVICES,
    Fingerprint,
    fingerprint,
)
from tensor_copies.recordings.cells import cells

SCHEMA = 1
LARGEST_FILE = 400_000  # bytes
LONGEST_OUTPUT = 100_000  # characters in one block or cell
LONGEST_CELL = 4_000  # characters in one text of a page
MOST_POINTS = 10_000  # in one line of a figure
MOST_IN_MAP = 200  # tensors, nodes, edges or storages
FILE_NAME = re.compile(r"[\w.-]+\.(json|png)")
MOST_LINES = 20  # of a figure
MOST_SAMPLES = 20_000  # of a benchmark
OF_SOME_LINES = ("low", "high", "dash")  # a band around it; drawn dashed
MOST_RECORDS = 2000  # of the Atlas
# The columns of the Atlas: what each holds. All but the first three may be null.
ATLAS_COLUMNS: dict[str, type] = {
    "operation": str, "state": str, "device": str, "same_object": bool,
    "shares_memory": bool, "shares_version": bool, "requires_grad": bool,
    "is_leaf": bool, "grad_fn": str, "gradient_flows": bool, "result": str,
    "result_device": str, "strides_kept": bool, "new_bytes": int, "cuda_bytes": int,
    "waits": bool, "changes_x": bool, "warning": str, "error": str,
}  # fmt: skip
ATLAS_KEYS = ("operation", "state", "device")
# A marker that changes neither what runs nor what is seen (predictions.py).
PREDICT = r"^[ \t]*#[ \t]*sphinx_gallery_predict\b"
# Cells that are recorded: by their own code, or by what they raise (see messages).
RECORDED = {"recorded", "raises-exception", "warning"}
PNG = b"\x89PNG\r\n\x1a\n"
WIDEST_PNG = 10_000  # pixels, and as many high


class BadRecording(Exception):
    """A recording is refused; the message names the file and says why."""


class TooLong(ExtensionError):
    """A block or cell prints more than a page takes; the message names it."""


@dataclass(frozen=True)
class Block:
    """What one code block gave: its key, its text, and its figures' files or data.

    ``left_out`` says why it is not shown, if it is not.
    """

    key: str
    output: str
    figures: tuple[str, ...]
    left_out: str = ""


@dataclass(frozen=True)
class Recording:
    """What one machine saw when it ran one lesson."""

    lesson: str
    machine: Fingerprint
    day: str
    seconds: float
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class PageRecording:
    """What one machine observed with the recorded cells of one page."""

    page: str
    machine: Fingerprint
    day: str
    key: str
    observed: dict[str, dict[str, str]]


@dataclass(frozen=True)
class AtlasRecording:
    """The Atlas as one machine probed it: one tuple of values for each record."""

    machine: Fingerprint
    day: str
    key: str
    columns: tuple[str, ...]
    records: tuple[tuple[Any, ...], ...]


def atlas_key() -> str:
    """Return the hash of the probes of the Atlas."""
    probes = (CONF / "standalone" / "atlas.py").read_bytes()
    return hashlib.sha256(probes).hexdigest()[:16]


def save_atlas(recording: AtlasRecording, folder: Path) -> None:
    """Write the Atlas that a machine probed into the machine's folder."""
    _write(folder / "atlas.json", {"schema": SCHEMA, **asdict(recording)})


def recorded_cells(page: Path) -> str:
    """Return the code of the cells of a page (MyST) that are recorded.

    Raises
    ------
    BadCell
        If a cell cannot be read.
    """
    return "\n".join(
        f"\n{cell.code}\n" for cell in cells(page) if RECORDED & set(cell.tags)
    )


def page_key(page: Path) -> str:
    """Return the hash of the recorded cells of a page."""
    return hashlib.sha256(recorded_cells(page).encode()).hexdigest()[:16]


def save_page(recording: PageRecording, folder: Path) -> None:
    """Write what a machine observed into the machine's folder."""
    data = {"schema": SCHEMA, **asdict(recording)}
    _write(folder / f"{recording.page}.page.json", data)


class Recorded(Protocol):
    """Anything that a machine has recorded."""

    @property
    def machine(self) -> Fingerprint:
        """Return the machine."""


Seen = TypeVar("Seen", bound=Recorded)


def cuda_first(seen: list[Seen]) -> list[Seen]:
    """Leave out what the stand-in saw of a code if CUDA saw it, elsewhere or here."""
    kinds = {one.machine.device_kind for one in seen} | {fingerprint().device_kind}
    if "cuda" in kinds:
        return [one for one in seen if one.machine.device_kind != "stand-in"]
    return seen


def seen_elsewhere(page: Path) -> list[PageRecording]:
    """Return what other machines observed with the code that a page has now.

    What the stand-in observed is not among it where CUDA has observed the same.

    Raises
    ------
    BadRecording
        If a file is not exactly as it should be.
    """
    found = []
    for path in sorted(page.parent.glob(f"recordings/*/{page.stem}.page.json")):
        if path.parent.name != fingerprint().name:
            recording = load_page(path)
            if recording.key == page_key(page):
                found.append(recording)
    return cuda_first(found)


def pages_digest(root: Path) -> str:
    """Return a hash of all recordings of pages under the repository's root."""
    digest = hashlib.sha256()
    for path in sorted(root.glob("docs/recordings/*/*.page.json")):
        if path.is_file():
            digest.update(path.parent.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:8]


def keys(script: Path) -> dict[int, str]:
    """Return the key of each code block of a script, by the line it starts on.

    A key is a running hash of the code up to and including the block. So an edit of
    the prose changes none, and an edit of code changes that block's and all later.
    A question (see predictions.py) is prose.
    """
    running = hashlib.sha256()
    found = {}
    for kind, content, line in split_code_and_text_blocks(str(script))[1]:
        if kind == "code":
            lines = [
                line.rstrip()
                for line in content.splitlines()
                if not re.match(PREDICT, line)
            ]
            running.update("\n".join(lines).strip().encode() + b"\0")
            found[line] = running.hexdigest()[:16]
    return found


def save(recording: Recording, figures: dict[str, Any], folder: Path) -> None:
    """Write a recording and its figures into the folder of its machine.

    Parameters
    ----------
    recording
        What to write.
    figures
        The content of each figure's file, by its name: data or the bytes of a PNG.
    folder
        ``docs/recordings/<machine>``; made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = recording.lesson.rpartition("/")[2]
    for old in folder.glob(f"{name}.[0-9]*"):
        old.unlink()
    for file, content in figures.items():
        if isinstance(content, bytes):
            (folder / file).write_bytes(content)
        else:
            indent = None if "samples" in content else 1  # a thousand rows
            (folder / file).write_text(json.dumps(content, indent=indent) + "\n")
    data = {"schema": SCHEMA, **asdict(recording)}
    for block in data["blocks"]:
        unused = ("output", "figures") if block["left_out"] else ("left_out",)
        for field in unused:
            del block[field]
        if "output" in block:
            block["output"] = block["output"].split("\n")
    _write(folder / f"{name}.json", data)


def _write(path: Path, data: dict[str, Any]) -> None:
    """Write JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".tmp")
    aside.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    aside.replace(path)


def load(path: Path) -> Recording:
    """Read a recording; raise :class:`BadRecording` unless it is just as it should be.

    The text of its blocks is made inert: control characters (terminal escapes, marks
    that turn the direction of writing) become U+FFFD. Markup is the reader's job.
    """
    with _naming(path):
        return _load(path)


def load_page(path: Path) -> PageRecording:
    """Read what a machine observed on a page, as careful as :func:`load`."""
    with _naming(path):
        return _load_page(path)


def load_atlas(path: Path) -> AtlasRecording:
    """Read the Atlas of a machine, as careful as :func:`load`.

    Records of other probes than those of today are not looked at, nor returned.
    """
    with _naming(path):
        data, machine, day = _common(path, AtlasRecording)
        key = _text(data["key"], "key", 64)
        if key != atlas_key():
            return AtlasRecording(machine, day, inert(key), (), ())
        columns = tuple(ATLAS_COLUMNS)
        _require(data["columns"] == list(columns), "its columns are not the Atlas's")
        rows = data["records"]
        _require(
            isinstance(rows, list) and len(rows) <= MOST_RECORDS,
            f"its records are not a list of at most {MOST_RECORDS}",
        )
        records = tuple(_atlas_record(row) for row in rows)
        seen = {record[: len(ATLAS_KEYS)] for record in records}
        _require(len(seen) == len(records), "two records are of the same probe")
        return AtlasRecording(machine, day, key, columns, records)


def load_figure(path: Path) -> dict[str, Any] | None:
    """Read the data of a recorded figure; return None for a picture (PNG).

    Raises
    ------
    BadRecording
        If the file is missing, too large or not what its name says.
    """
    with _naming(path):
        raw = _read(path)
        if path.suffix == ".png":
            _require(_is_png(raw), "it is not a whole PNG picture")
            return None
        data = _parse(raw)
        if "samples" in data:
            return _samples(data)
        return _map(data) if "map" in data else _figure(data)


def require_fitting(what: str, text: str) -> None:
    """Raise :class:`TooLong` if ``what`` prints more than a page takes."""
    if len(text) > LONGEST_OUTPUT:
        raise TooLong(
            f"{what} prints {len(text)} characters, a page takes {LONGEST_OUTPUT}"
        )


def check_file(path: Path) -> None:
    """Raise :class:`BadRecording` unless a build takes a file of a recording."""
    if path.name == "atlas.json":
        load_atlas(path)
    elif path.name.endswith(".page.json"):
        load_page(path)
    elif "." in path.stem:
        load_figure(path)
    else:
        load(path)


class _Wrong(Exception):
    """What is wrong with a file, in half a sentence."""


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn what is wrong inside a file into one line that names the file."""
    try:
        yield
    except _Wrong as wrong:
        where = "/".join(path.parts[-3:])
        raise BadRecording(f"{where} is refused: {wrong}") from None


def _require(true: bool, otherwise: str) -> None:
    if not true:
        raise _Wrong(otherwise)


def _read(path: Path) -> bytes:
    _require(not path.is_symlink(), "it is a link")
    _require(path.is_file() or not path.exists(), "it is not a file")
    try:
        size = path.stat().st_size
        _require(size <= LARGEST_FILE, f"it has {size} bytes, {LARGEST_FILE} at most")
        return path.read_bytes()
    except OSError as error:
        raise _Wrong(f"it cannot be read ({error.strerror})") from None


def _is_png(raw: bytes) -> bool:
    """Whether the chunks of a PNG are whole, from IHDR with its size to IEND."""
    place, kinds, size = len(PNG), [], (0, 0)
    while raw.startswith(PNG) and len(raw) >= place + 12:
        (length,) = struct.unpack_from(">I", raw, place)
        chunk = raw[place + 4 : place + 8 + length]
        if raw[place + 8 + length : place + 12 + length] != struct.pack(
            ">I", zlib.crc32(chunk)
        ):
            return False
        if not kinds and len(chunk) == 17:
            size = struct.unpack_from(">II", chunk, 4)
        kinds.append(chunk[:4])
        place += 12 + length
    return (
        place == len(raw)
        and kinds[:1] == [b"IHDR"]
        and kinds[-1:] == [b"IEND"]
        and b"IDAT" in kinds
        and all(0 < pixels <= WIDEST_PNG for pixels in size)
    )


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        data = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise _Wrong("it is not whole JSON") from None
    _require(isinstance(data, dict), "it is not a JSON object")
    return data


def _load(path: Path) -> Recording:
    data, machine, day = _common(path, Recording)
    lesson = _text(data["lesson"], "lesson", 100)
    _require(
        re.fullmatch(r"[\w-]+/[\w-]+", lesson) is not None
        and lesson.rpartition("/")[2] == path.stem,
        "its lesson is not the one that the file is named after",
    )
    _require(isinstance(data["blocks"], list), "its blocks are not a list")
    blocks = tuple(_block(block) for block in data["blocks"])
    return Recording(lesson, machine, day, _number(data["seconds"]), blocks)


def _load_page(path: Path) -> PageRecording:
    data, machine, day = _common(path, PageRecording)
    page = _text(data["page"], "page", 100)
    _require(
        f"{page}.page.json" == path.name,
        "its page is not the one that the file is named after",
    )
    observed = data["observed"]
    _require(
        isinstance(observed, dict)
        and all(isinstance(row, dict) for row in observed.values()),
        "what it observed is not a dictionary of dictionaries",
    )
    rows = {
        inert(row): {
            inert(column): inert(_text(cell, "cell", LONGEST_CELL))
            for column, cell in cells.items()
        }
        for row, cells in observed.items()
    }
    return PageRecording(page, machine, day, _text(data["key"], "key", 64), rows)


def _common(path: Path, kind: type) -> tuple[dict[str, Any], Fingerprint, str]:
    """Check what recordings of lessons and of pages share; return it, parsed."""
    data = _parse(_read(path))
    _require(
        data.get("schema") == SCHEMA,
        f"its schema is {data.get('schema')!r:.20}, this build reads {SCHEMA}",
    )
    wanted = {"schema", *(field.name for field in fields(kind))}
    _require(set(data) == wanted, "its fields are not those of a recording")
    day = _text(data["day"], "day", 10)
    try:
        date.fromisoformat(day)
    except ValueError:
        raise _Wrong("its day is not a date") from None
    machine = _machine(data["machine"])
    _require(
        machine.name == path.parent.name,
        "its machine is not the one that the folder is named after",
    )
    return data, machine, day


def _machine(data: Any) -> Fingerprint:
    names = [field.name for field in fields(Fingerprint)]
    _require(
        isinstance(data, dict) and sorted(data) == sorted(names),
        "its machine has not the fields of a fingerprint",
    )
    texts = {name: inert(_text(data[name], name, 100)) for name in names}
    _require(
        texts["device_kind"] in DEVICES, f"its device is none of {', '.join(DEVICES)}"
    )
    return Fingerprint(**texts)


def _block(data: Any) -> Block:
    if isinstance(data, dict) and set(data) == {"key", "left_out"}:
        reason = inert(_text(data["left_out"], "reason", LONGEST_CELL))
        return Block(_text(data["key"], "key", 64), "", (), reason)
    _require(
        isinstance(data, dict) and set(data) == {"key", "output", "figures"},
        "a block has not the fields of a block",
    )
    lines, figures = data["output"], data["figures"]
    _require(
        isinstance(lines, list) and all(isinstance(line, str) for line in lines),
        "the output of a block is not a list of lines",
    )
    output = "\n".join(lines)
    _require(len(output) <= LONGEST_OUTPUT, "the output of a block is too long")
    _require(
        isinstance(figures, list)
        and all(
            isinstance(file, str) and FILE_NAME.fullmatch(file) for file in figures
        ),
        "a figure is not a plain file name",
    )
    return Block(_text(data["key"], "key", 64), inert(output), tuple(figures))


def _atlas_record(row: Any) -> tuple[Any, ...]:
    _require(
        isinstance(row, list) and len(row) == len(ATLAS_COLUMNS),
        "a record has not a value for each column",
    )
    return tuple(
        _atlas_value(value, name, kind)
        for value, (name, kind) in zip(row, ATLAS_COLUMNS.items(), strict=True)
    )


def _atlas_value(value: Any, name: str, kind: type) -> Any:
    if value is None and name not in ATLAS_KEYS:
        return None
    if kind is str:
        return inert(_text(value, name, 1000))
    _require(type(value) is kind, f"a value of {name} is not {kind.__name__} or null")
    _require(kind is bool or 0 <= value < 2**53, f"a value of {name} is out of range")
    return value


def _map(data: dict[str, Any]) -> dict[str, Any]:
    """Take the data of a tensor map if it can be drawn and described."""
    from standalone.tensor_maps import describe, draw

    seen = data["map"]
    _require(
        set(data) == {"map"} and isinstance(seen, dict),
        "its fields are not those of a map",
    )
    # Laying out a graph takes more than linear time: a lesson's has some ten nodes.
    _require(
        all(
            len(part) <= MOST_IN_MAP
            for part in seen.values()
            if hasattr(part, "__len__")
        ),
        f"a part of the map has more than {MOST_IN_MAP} entries",
    )
    try:
        draw(seen)
        describe(seen)
    except Exception:  # whatever is wrong inside, it is not a map
        raise _Wrong("it is not a map that can be drawn") from None
    return data


def _figure(data: dict[str, Any]) -> dict[str, Any]:
    texts = ("title", "xlabel", "ylabel")
    _require(
        set(data) == {*texts, "xscale", "yscale", "lines"},
        "its fields are not those of a figure",
    )
    for name in texts:
        data[name] = inert(_text(data[name], name, 200))
    for name in ("xscale", "yscale"):
        _require(data[name] in ("linear", "log"), f"its {name} is not linear or log")
    _require(
        isinstance(data["lines"], list) and 0 < len(data["lines"]) <= MOST_LINES,
        f"its lines are not a list of 1 to {MOST_LINES}",
    )
    for line in data["lines"]:
        _require(
            isinstance(line, dict)
            and {"label", "x", "y"} <= set(line) <= {"label", "x", "y", *OF_SOME_LINES}
            and ("low" in line) == ("high" in line)
            and line.get("dash", True) is True,
            "a line has not the fields of a line",
        )
        line["label"] = inert(_text(line["label"], "label", 200))
        for band in {"low", "high"} & set(line):
            _require(
                isinstance(line[band], list) and isinstance(line["x"], list),
                "a line is not a list of points",
            )
            line[band] = [_number(value) for value in line[band]]
            _require(
                len(line[band]) == len(line["x"])
                and (data["yscale"] == "linear" or all(v > 0 for v in line[band])),
                "the band of a line does not fit it",
            )
        for axis in ("x", "y"):
            _require(
                isinstance(line[axis], list) and len(line[axis]) <= MOST_POINTS,
                "a line is not a list of points",
            )
            line[axis] = [_number(value) for value in line[axis]]
            _require(
                data[f"{axis}scale"] == "linear" or all(v > 0 for v in line[axis]),
                "a logarithmic axis has a number that is not positive",
            )
        _require(
            0 < len(line["x"]) == len(line["y"]), "a line's x and y differ in length"
        )
    return data


def _samples(data: dict[str, Any]) -> dict[str, Any]:
    """Take the samples of a benchmark: texts, numbers and truths in a table."""
    table = data["samples"]
    _require(
        set(data) == {"samples"}
        and isinstance(table, dict)
        and set(table) == {"columns", "rows"}
        and all(isinstance(part, list) for part in table.values())
        and 0 < len(table["rows"]) <= MOST_SAMPLES,
        f"it is not a table of 1 to {MOST_SAMPLES} samples",
    )
    table["columns"] = [inert(_text(name, "column", 40)) for name in table["columns"]]
    for row in table["rows"]:
        _require(
            isinstance(row, list) and len(row) == len(table["columns"]),
            "a sample has not a value for each column",
        )
        for place, value in enumerate(row):
            if isinstance(value, str):
                row[place] = inert(_text(value, "value", 100))
            elif not isinstance(value, bool | int):
                row[place] = _number(value)
    return data


def _text(value: Any, what: str, longest: int) -> str:
    _require(
        isinstance(value, str) and len(value) <= longest,
        f"its {what} is not a text of at most {longest} characters",
    )
    return value


def _number(value: Any) -> float:
    _require(
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < 1e300
        and math.isfinite(value),
        "a number is not a finite number",
    )
    return float(value)


def inert(text: str, keep: str = "\n") -> str:
    """Replace every control and format character but those to keep."""
    return "".join(
        "\ufffd"
        if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in keep
        else c
        for c in text
    )
