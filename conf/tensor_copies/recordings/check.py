"""Read recordings: a file that is not as this build writes it is refused with one line.

They come by review, as code does. What is left to see to: a merge that left half a
file, a file of an older format, a file that was renamed; and control characters
(terminal escapes, marks that turn the direction of writing), which become U+FFFD.
Markup is the business of who shows a text: it is escaped there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tensor_copies.recordings.format import (
    SCHEMA,
    AtlasRecording,
    BadRecording,
    Block,
    PageRecording,
    Recording,
    atlas_key,
    file_name,
    inert,
)
from tensor_copies.run.fingerprint import Fingerprint


class _Wrong(Exception):
    """What is wrong with a file, in half a sentence."""


def load_recording(path: Path) -> Recording:
    """Read the recording of a lesson; raise :class:`BadRecording` if it is wrong."""
    with _naming(path):
        return _lesson(path, _read(path))


@cache  # several parts of a build read all recordings
def _lesson(path: Path, raw: bytes) -> Recording:
    data = _recording(path, raw)
    if data["lesson"].rpartition("/")[2] != path.stem:
        raise _Wrong("its lesson is not the one that the file is named after")
    for block in data["blocks"]:
        block["output"] = "\n".join(block.get("output", ()))
    return Recording(**data | {"blocks": [Block(**block) for block in data["blocks"]]})


def load_page(path: Path) -> PageRecording:
    """Read what a machine observed on a page; raise as :func:`load` does."""
    with _naming(path):
        data = _recording(path, _read(path))
        if file_name(data["page"]) != path.name:
            raise _Wrong("its page is not the one that the file is named after")
        return PageRecording(**data)


def load_atlas(path: Path) -> AtlasRecording:
    """Read the Atlas of a machine; raise as :func:`load` does.

    Records of other probes than those of today are not returned.
    """
    from tensor_maps.atlas.calls import COLUMNS

    with _naming(path):
        data = _recording(path, _read(path))
        if data["key"] != atlas_key():
            data |= {"columns": [], "records": []}
        elif data["columns"] != list(COLUMNS):
            raise _Wrong("its columns are not those of the Atlas")
        return AtlasRecording(**data)


def load_figure(path: Path) -> dict[str, Any]:
    """Read the data of a recorded figure; raise as :func:`load` does.

    Of a picture (PNG) that is ``picture``, the name of its file.
    """
    with _naming(path):
        raw = _read(path)
        return {"picture": path.name} if path.suffix == ".png" else _parse(raw)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn what is wrong inside a file into one line that names the file."""
    try:
        yield
    except OSError as error:
        why = f"it cannot be read ({error.strerror})"
    except _Wrong as wrong:
        why = str(wrong)
    except (LookupError, TypeError, AttributeError):
        why = "its properties are not those that `nox -s record` writes"
    else:
        return
    raise BadRecording(f"{'/'.join(path.parts[-3:])} is refused: {why}")


def _recording(path: Path, raw: bytes) -> dict[str, Any]:
    """Return the properties of a recording, its machine as a fingerprint."""
    data = _parse(raw)
    if data.pop("schema") != SCHEMA:
        raise _Wrong(f"its format is not {SCHEMA}, which this build reads")
    machine = Fingerprint(**data["machine"])
    if machine.name != path.parent.name:
        raise _Wrong("its machine is not the one that the folder is named after")
    return data | {"machine": machine}


def _read(path: Path) -> bytes:
    if path.exists() and not path.is_file():  # a pipe would never end
        raise _Wrong("it is not a file")
    return path.read_bytes()


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        return _inert(json.loads(raw.decode("utf-8")))
    except (ValueError, RecursionError):
        raise _Wrong("it is not whole JSON") from None


def _inert(value: Any) -> Any:
    if isinstance(value, str):
        return inert(value)
    if isinstance(value, list):
        return [_inert(item) for item in value]
    if isinstance(value, dict):
        return {inert(name): _inert(item) for name, item in value.items()}
    return value
