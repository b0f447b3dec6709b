"""Reading recordings: data from elsewhere, of which nothing is taken on trust.

The schemas say what a file holds (fastjsonschema, which MyST-NB brings, makes a
function of each; a machine that only records needs neither). What a schema cannot say
is asked after it: a file's name, two lists of one length, a map that can be drawn. A
file that is not so is refused with one line. The texts of the others are made inert:
control characters (terminal escapes, marks that turn the direction of writing) become
U+FFFD. Markup is the business of who shows them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import date
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

from fastjsonschema import JsonSchemaValueException, compile

from tensor_copies.machine.fingerprint import DEVICES, Fingerprint
from tensor_copies.recordings.format import (
    ATLAS_COLUMNS,
    ATLAS_KEYS,
    LARGEST_FILE,
    LONGEST_OUTPUT,
    SCHEMA,
    AtlasRecording,
    BadRecording,
    Block,
    PageRecording,
    Recording,
    atlas_key,
    inert,
)

Schema = dict[str, Any]
DRAFT = "http://json-schema.org/draft-07/schema"
WIDEST_PNG = 10_000  # pixels, and as many high
LONGEST_REASON = 120  # characters


def _text(longest: int, **more: Any) -> Schema:
    return {"type": "string", "maxLength": longest, **more}


def _list(items: Any, most: int | None = None, least: int = 0) -> Schema:
    most_items = {} if most is None else {"maxItems": most}
    return {"type": "array", "items": items, "minItems": least, **most_items}


def _row(kinds: Iterable[Schema]) -> Schema:
    """Describe a list with one value for each column."""
    columns = [*kinds]
    return _list(columns, least=len(columns)) | {"additionalItems": False}


def _object(optional: Schema | None = None, /, **needed: Schema) -> Schema:
    return {
        "type": "object",
        "properties": needed | (optional or {}),
        "required": list(needed),
        "additionalProperties": False,
    }


def _dictionary(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _or_null(kind: Schema) -> Schema:
    return kind | {"type": [kind["type"], "null"]}


NUMBER = {"type": "number", "minimum": -1e300, "maximum": 1e300}
COUNT = {"type": "integer", "minimum": 0, "maximum": 2**53}
COUNTED = COUNT | {"minimum": -(2**53)}
RATIO = {"type": "number", "minimum": 1e-9, "maximum": 1e9}
FLAG = {"type": "boolean"}
SHORT, NAME, KEY = _text(2000), _text(200), _text(64)
CELL = _text(100) | NUMBER | {"type": ["string", "boolean", "number"]}
COMMON = {
    "schema": {"const": SCHEMA},
    "machine": _object(
        **{field.name: _text(100) for field in fields(Fingerprint)}
        | {"device_kind": {"enum": list(DEVICES)}}
    ),
    "day": _text(10, format="date"),
}
BLOCK = {
    "if": {"type": "object", "required": ["left_out"]},
    "then": _object(key=KEY, left_out=_text(1000)),
    "else": _object(
        key=KEY,
        output=_list(_text(LONGEST_OUTPUT)),
        figures=_list(_text(100, pattern=r"\A[\w.-]+\.(json|png)\Z")),
    ),
}
LESSON = _object(
    **COMMON,
    lesson=_text(100, pattern=r"\A[\w-]+/[\w-]+\Z"),
    seconds=NUMBER,
    blocks=_list(BLOCK),
)
PAGE = _object(
    **COMMON, page=_text(100), key=KEY, observed=_dictionary(_dictionary(_text(4000)))
)
# Records of other probes than those of today may be anything: they are not shown.
STALE_ATLAS = _object(**COMMON, key=KEY, columns={}, records={})
IN_ATLAS: dict[type, Schema] = {str: _text(1000), bool: FLAG, int: COUNT}
ATLAS_RECORD = _row(
    IN_ATLAS[kind] if name in ATLAS_KEYS else _or_null(IN_ATLAS[kind])
    for name, kind in ATLAS_COLUMNS.items()
)
ATLAS = _object(
    columns={"const": list(ATLAS_COLUMNS)}, records=_list(ATLAS_RECORD, 2000)
)
TITLES = {"title": _text(500), "xlabel": _text(200)}
BAR = _object(name=_text(80), value=RATIO | {"minimum": 0}, text=_text(80))
RATIOS = _object(
    name=_text(80), text=_text(20), **dict.fromkeys(("low", "middle", "high"), RATIO)
)
PANEL = _object(title=_text(40), note=_text(40), rows=_list(RATIOS, 30, 1))
# The kinds of figures, each by the property that only it has.
FIGURES = {
    "samples": _object(
        samples=_object(
            columns=_list(_text(40), least=1), rows=_list(_list(CELL), 20_000, 1)
        )
    ),
    # Laying out a graph takes more than linear time: a lesson's has some ten nodes.
    "map": _object(map=_dictionary({"maxItems": 200})),
    "table": _object(
        table=_object(
            columns=_list(_text(80), 10, 1), rows=_list(_list(_text(1000)), 100, 1)
        )
    ),
    "bars": _object(**TITLES, bars=_list(BAR, 30, 1)),
    "panels": _object(**TITLES, panels=_list(PANEL, 8, 1)),
}


class _Wrong(Exception):
    """What is wrong with a file, in half a sentence."""


def load(path: Path) -> Recording:
    """Read the recording of a lesson; raise :class:`BadRecording` if it is wrong."""
    with _naming(path):
        return _lesson(path, _read(path))


@cache  # several parts of a build read all recordings
def _lesson(path: Path, raw: bytes) -> Recording:
    data = _recording(path, raw, LESSON)
    if data["lesson"].rpartition("/")[2] != path.stem:
        raise _Wrong("its lesson is not the one that the file is named after")
    for block in data["blocks"]:
        block["output"] = "\n".join(block.get("output", ()))
    return Recording(**data | {"blocks": [Block(**block) for block in data["blocks"]]})


def load_page(path: Path) -> PageRecording:
    """Read what a machine observed on a page, as careful as :func:`load`."""
    with _naming(path):
        data = _recording(path, _read(path), PAGE)
        if f"{data['page']}.page.json" != path.name:
            raise _Wrong("its page is not the one that the file is named after")
        return PageRecording(**data)


def load_atlas(path: Path) -> AtlasRecording:
    """Read the Atlas of a machine, as careful as :func:`load`.

    Records of other probes than those of today are not looked at, nor returned.
    """
    with _naming(path):
        return _atlas(path, _read(path), atlas_key())


@cache
def _atlas(path: Path, raw: bytes, key: str) -> AtlasRecording:
    data = _recording(path, raw, STALE_ATLAS)
    if data["key"] != key:
        return AtlasRecording(**data | {"columns": [], "records": []})
    _require({name: data[name] for name in ("columns", "records")}, ATLAS)
    probes = {tuple(row[: len(ATLAS_KEYS)]) for row in data["records"]}
    if len(probes) < len(data["records"]):
        raise _Wrong("two records are of the same probe")
    return AtlasRecording(**data)


def load_figure(path: Path) -> dict[str, Any]:
    """Read the data of a recorded figure, as careful as :func:`load`.

    Of a picture (PNG) that is ``picture``, the name of its file.
    """
    with _naming(path):
        raw = _read(path)
        if path.suffix == ".png":
            _require_png(raw)
            return {"picture": path.name}
        data = _parse(raw)
        kind = next((kind for kind in FIGURES if kind in data), "panels")
        _require(data, FIGURES[kind])
        if kind in ("samples", "table"):
            if {len(row) for row in data[kind]["rows"]} != {len(data[kind]["columns"])}:
                raise _Wrong("a row has not a value for each column")
        elif kind == "map":
            _require_drawable(data["map"])
        elif kind == "panels":
            _require_same_rows(data["panels"])
        return data


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn what is wrong inside a file into one line that names the file."""
    try:
        yield
    except _Wrong as wrong:
        where = "/".join(path.parts[-3:])
        raise BadRecording(f"{where} is refused: {wrong}") from None


def _recording(path: Path, raw: bytes, schema: Schema) -> dict[str, Any]:
    """Return the properties of a recording, its machine as a fingerprint."""
    data = _parse(raw)
    _require(data, schema)
    del data["schema"]
    machine = Fingerprint(**data["machine"])
    if machine.name != path.parent.name:
        raise _Wrong("its machine is not the one that the folder is named after")
    return data | {"machine": machine}


def _read(path: Path) -> bytes:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise _Wrong("it is a link, or not a file")
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise _Wrong(f"it has {size} bytes, {LARGEST_FILE} at most")
        return path.read_bytes()
    except OSError as error:
        raise _Wrong(f"it cannot be read ({error.strerror})") from None


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        data = _inert(json.loads(raw.decode("utf-8"), parse_constant=_no_number))
    except (ValueError, RecursionError):
        raise _Wrong("it is not whole JSON") from None
    if not isinstance(data, dict):
        raise _Wrong("it is not a JSON object")
    return data


def _no_number(name: str) -> NoReturn:
    """Refuse NaN, which is neither JSON nor below or above any limit."""
    raise _Wrong(f"it has {name}, which is no number of JSON")


def _inert(value: Any) -> Any:
    if isinstance(value, str):
        return inert(value)
    if isinstance(value, list):
        return [_inert(item) for item in value]
    if isinstance(value, dict):
        return {inert(name): _inert(item) for name, item in value.items()}
    return value


def _require(data: dict[str, Any], schema: Schema) -> None:
    try:
        _validator(json.dumps(schema))(data)
    except JsonSchemaValueException as error:
        place = error.name.removeprefix("data").removeprefix(".") or "it"
        said = place + error.message.removeprefix(error.name)
        if len(said) > LONGEST_REASON:
            said = f"{said[:LONGEST_REASON]}..."
        raise _Wrong(said) from None


@cache
def _validator(schema: str) -> Callable[[dict[str, Any]], Any]:
    return compile({"$schema": DRAFT} | json.loads(schema), formats={"date": _is_day})


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _require_same_rows(panels: list[dict[str, Any]]) -> None:
    rows = [[row["name"] for row in panel["rows"]] for panel in panels]
    if any(names != rows[0] for names in rows):
        raise _Wrong("the panels of a chart have not the same rows")
    for panel in panels:
        if any(not row["low"] <= row["middle"] <= row["high"] for row in panel["rows"]):
            raise _Wrong("the middle of a ratio is not between its ends")


def _require_drawable(observed: dict[str, Any]) -> None:
    from tensor_maps.draw import draw
    from tensor_maps.words import describe

    try:
        draw(observed)
        describe(observed)
    except Exception:  # whatever is wrong inside, it is not a map
        raise _Wrong("it is not a map that can be drawn") from None


def _require_png(raw: bytes) -> None:
    from PIL import Image  # comes with matplotlib

    try:
        with Image.open(BytesIO(raw), formats=["PNG"]) as picture:
            picture.verify()
            small = max(picture.size) <= WIDEST_PNG
    except Exception:  # each kind of damage raises in a way of its own
        small = False
    if not small:
        raise _Wrong("it is not a whole PNG picture")
