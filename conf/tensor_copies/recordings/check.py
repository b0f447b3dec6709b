"""Read recordings: a file that is not as this build writes it is refused with one line.

They come by review, as code does. What is left to see to: a merge that left half a
file, a file of an older format; and control characters (terminal escapes, marks that
turn the direction of writing), which become U+FFFD. Markup is the business of who shows
a text: it is escaped there.
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
    inert,
)
from tensor_copies.run.fingerprint import Fingerprint


class _Wrong(Exception):
    """What is wrong with a file, in half a sentence."""


def load_recording(path: Path) -> Recording:
    """Read the recording of a lesson; raise :class:`BadRecording` if it is wrong."""
    with _naming(path):
        return _lesson(path.read_bytes())


@cache  # several parts of a build read all recordings
def _lesson(raw: bytes) -> Recording:
    data = _recording(raw)
    for block in data["blocks"]:
        block["output"] = "\n".join(block.get("output", ()))
    return Recording(**data | {"blocks": [Block(**block) for block in data["blocks"]]})


def load_page(path: Path) -> PageRecording:
    """Read what a machine observed on a page; raise as :func:`load_recording` does."""
    with _naming(path):
        return PageRecording(**_recording(path.read_bytes()))


def load_atlas(path: Path) -> AtlasRecording:
    """Read the Atlas of a machine; raise as :func:`load_recording` does.

    Records of other probes than those of today are not returned.
    """
    with _naming(path):
        data = _recording(path.read_bytes())
        if data["key"] != atlas_key():
            data |= {"columns": [], "records": []}
        return AtlasRecording(**data)


def load_figure(path: Path) -> dict[str, Any]:
    """Read the data of a recorded figure; raise as :func:`load_recording` does."""
    with _naming(path):
        return _parse(path.read_bytes())


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


def _recording(raw: bytes) -> dict[str, Any]:
    """Return the properties of a recording, its machine as a fingerprint."""
    data = _parse(raw)
    if data.pop("schema") != SCHEMA:
        raise _Wrong(f"its format is not {SCHEMA}, which this build reads")
    return data | {"machine": Fingerprint(**data["machine"])}


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
