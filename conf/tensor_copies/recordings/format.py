"""Recordings: what other machines saw when they ran a lesson, kept as data.

``docs/recordings/<machine>/<lesson>.json`` is what one machine saw of one lesson::

    {
      "schema": 2,                    the version of this format
      "lesson": "1_basics/detach",    section and name of the script
      "machine": {...},               the fields of machine.Fingerprint
      "day": "2026-11-21",            when it ran
      "blocks": [                     one for each code block, in order
        {
          "key": "0123456789abcdef",  running hash of the code, see keys()
          "output": ["a line", ...],  what it printed, but for its tables
          "figures": ["detach.1.json"]
        }
      ]
    }

The setup has its key alone: no page shows what it prints. A block of which the stand-in
device can show nothing that is true has ``left_out``, the reason. A figure is a file:
the data of a chart (plots.data_of), of a ``map``, a ``table`` or the ``samples`` of a
benchmark.

``<page>.page.json`` has what a page ``observed`` with its cells tagged ``recorded`` (on
a page of messages, with those of its entries: ``errors-devices.page.json``), and one
``key`` for all these cells.
``atlas.json`` has the ``key`` of the probes, ``columns``, and ``records``, a list of
values each. check.py reads what this module writes.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

from tensor_copies.recordings.cells import cells
from tensor_copies.run.blocks import blocks_of
from tensor_copies.run.code_keys import PROBES, digest_of, hash_of, key_of
from tensor_copies.run.fingerprint import CONF, Fingerprint, fingerprint

SCHEMA = 2
MESSAGES = "errors"  # the folder of pages with messages, below the other pages
LONGEST_OUTPUT = 100_000  # characters in one block or cell
# What a row of the table of calls says to a probe.
OBSERVED = ("id", "code", "given", "subject", "states")
# A marker that changes neither what runs nor what is seen (predictions.py).
PREDICT = r"^[ \t]*#[ \t]*sphinx_gallery_predict\b"
# All that change neither: they say where on the page something stands.
FOR_THE_PAGE = (
    r"^[ \t]*#[ \t]*sphinx_gallery_"
    r"(predict(_instead(_\d+)?)?|lead|timeline|tensor_map_graph|short_title|try)\b"
)
# Cells that are recorded: by their own code, or by what they raise (see messages).
RECORDED = {"recorded", "raises-exception", "warning"}


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
    output: str = ""
    figures: Sequence[str] = ()
    left_out: str = ""


@dataclass(frozen=True)
class Recording:
    """What one machine saw when it ran one lesson."""

    lesson: str
    machine: Fingerprint
    day: str
    blocks: list[Block]


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
    """The Atlas as one machine probed it: one list of values for each record."""

    machine: Fingerprint
    day: str
    key: str
    columns: list[str]
    records: list[list[Any]]


# What the data of a chart have one of.
CHARTS = {"panels", "bars", "lines"}
# Whose data are shown beside the live ones, whatever a reader chooses.
BESIDE = CHARTS | {"table", "samples"}


@dataclass(frozen=True)
class Seen:
    """What one machine saw in one block, loaded to be shown.

    ``figures`` has the data of each figure by the name of its file.
    """

    machine: Fingerprint
    day: str
    output: str
    figures: dict[str, dict[str, Any]]

    def data(self, kind: str) -> list[Any]:
        """Return the data of the figures of one kind."""
        return [figure[kind] for figure in self.figures.values() if kind in figure]

    @property
    def alternatives(self) -> dict[str, dict[str, Any]]:
        """The figures that are shown in the place of the live ones, not beside them."""
        figures = self.figures.items()
        return {file: data for file, data in figures if not BESIDE & set(data)}

    def with_figures(self, which: slice, output: str) -> Seen:
        """Return the same with this output, and of the alternatives only some."""
        dropped = {*self.alternatives} - {*list(self.alternatives)[which]}
        figures = {
            file: data for file, data in self.figures.items() if file not in dropped
        }
        return replace(self, figures=figures, output=output)


@cache
def atlas_key() -> str:
    """Return the key of the probes of the Atlas: what runs, and what looks.

    The help, the words for readers and the links of a row are no part of it.
    """
    from tensor_maps.atlas.calls import CALLS, read_calls

    folder = CONF / "tensor_maps" / "src" / "tensor_maps" / "atlas"
    rows = [
        [getattr(row, name) for name in OBSERVED]
        for row in read_calls(folder / CALLS.name).values()
    ]
    return key_of(json.dumps(rows), digest_of(*PROBES))


def page_name(page: Path) -> tuple[Path, str]:
    """Return the folder of all pages, and the name of a page in it."""
    folder = page.resolve().parent
    if folder.name == MESSAGES:
        return folder.parent, f"{MESSAGES}/{page.stem}"
    return folder, page.stem


def file_name(page: str) -> str:
    """Return the name of the recording of a page."""
    return f"{page.replace('/', '-')}.page.json"


def recorded_cells(page: Path) -> str:
    """Return the code of the cells of a page (MyST) that are recorded."""
    return "\n".join(
        f"\n{cell.code}\n" for cell in cells(page) if RECORDED & set(cell.tags)
    )


def page_key(page: Path) -> str:
    """Return the hash of the recorded cells of a page."""
    return key_of(recorded_cells(page))


def cuda_first(seen: list[Any]) -> list[Any]:
    """Leave out what the stand-in saw of a code if CUDA saw it, elsewhere or here.

    Each has the ``machine`` that saw it.
    """
    kinds = {one.machine.device_kind for one in seen} | {fingerprint().device_kind}
    if "cuda" in kinds:
        return [one for one in seen if one.machine.device_kind != "stand-in"]
    return seen


def seen_elsewhere(page: Path) -> list[PageRecording]:
    """Return what other machines observed with the code that a page has now.

    What the stand-in observed is not among it where CUDA has observed the same. A file
    that is not as it should be raises :class:`BadRecording`.
    """
    from tensor_copies.recordings.check import load_page  # which imports this

    found = []
    docs, name = page_name(page)
    for path in sorted(docs.glob(f"recordings/*/{file_name(name)}")):
        if path.parent.name != fingerprint().name:
            recording = load_page(path)
            if recording.key == page_key(page):
                found.append(recording)
    return cuda_first(found)


def pages_digest(root: Path) -> str:
    """Return a hash of all recordings of pages under the repository's root."""
    found = filter(Path.is_file, sorted(root.glob("docs/recordings/*/*.page.json")))
    return key_of(*(f"{path.parent.name} {hash_of(path)}" for path in found))[:8]


def keys(script: Path) -> dict[int, str]:
    """Return the key of each code block of a script, by the line it starts on.

    A key is a running hash of the code up to and including the block. So an edit of
    the prose changes none, and an edit of code changes that block's and all later.
    A question (see predictions.py) is prose, and so is what the page shows first.
    """
    code: list[str] = []
    found = {}
    for kind, content, line in blocks_of(script):
        if kind == "code":
            lines = [
                line.rstrip()
                for line in content.splitlines()
                if not re.match(FOR_THE_PAGE, line)
            ]
            code.append("\n".join(lines).strip())
            found[line] = key_of(*code, "")
    return found


def save_recording(recording: Recording, figures: dict[str, Any], folder: Path) -> None:
    """Write a recording and its figures into the folder of its machine.

    ``figures`` has the data of each figure by the name of its file.
    """
    name = recording.lesson.rpartition("/")[2]
    data = asdict(recording)
    for block in data["blocks"]:
        block["output"] = block["output"].split("\n") if block["output"] else []
        for empty in [key for key, value in block.items() if not value]:
            del block[empty]
    for old in folder.glob(f"{name}.[0-9]*"):
        old.unlink()
    _write(folder, figures | {f"{name}.json": {"schema": SCHEMA, **data}})


def save_page(recording: PageRecording, folder: Path) -> None:
    """Write what a machine observed on a page into the machine's folder."""
    data = {"schema": SCHEMA, **asdict(recording)}
    _write(folder, {file_name(recording.page): data})


def save_atlas(recording: AtlasRecording, folder: Path) -> None:
    """Write the Atlas that a machine probed into the machine's folder."""
    _write(folder, {"atlas.json": {"schema": SCHEMA, **asdict(recording)}})


def _write(folder: Path, contents: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        indent = None if "samples" in content else 1  # a thousand rows
        (folder / name).write_text(json.dumps(content, indent=indent) + "\n", "utf-8")


def require_fitting(what: str, text: str) -> None:
    """Raise :class:`TooLong` if ``what`` prints more than a page takes."""
    if len(text) > LONGEST_OUTPUT:
        raise TooLong(
            f"{what} prints {len(text)} characters, a page takes {LONGEST_OUTPUT}"
        )


def inert(text: str, keep: str = "\n") -> str:
    """Replace every control and format character but those to keep."""
    return "".join(
        "\ufffd"
        if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in keep
        else c
        for c in text
    )
