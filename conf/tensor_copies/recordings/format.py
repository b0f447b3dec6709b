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

A figure is a file beside it: ``.json`` with the plotted data (plots.data_of), which
the site draws in its own style, or with a tensor map (``{"map": ...}``, see
tensor_maps.observe), a table (``{"table": ...}``, see tables.requested_table) or the
samples of a benchmark (``{"samples": ...}``); or ``.png`` where a figure is no chart.
The text of a table is no part of a block's ``output``.

The Atlas as another machine probed it is ``atlas.json``: ``key``, the hash of the
probes (tensor_maps.atlas), ``columns`` with their names, and ``records``, a list of
values each.

This module is what writes them; what reads them, and refuses those that are not
exactly as above, is check.py.
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

from tensor_copies.machine.blocks import blocks_of
from tensor_copies.machine.code_keys import PROBES, digest_of, hash_of, key_of
from tensor_copies.machine.fingerprint import CONF, Fingerprint, fingerprint
from tensor_copies.recordings.cells import cells

SCHEMA = 1
LARGEST_FILE = 400_000  # bytes
LONGEST_OUTPUT = 100_000  # characters in one block or cell
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
# All that change neither: they say where on the page something stands.
FOR_THE_PAGE = (
    r"^[ \t]*#[ \t]*sphinx_gallery_"
    r"(predict(_instead(_\d+)?)?|setup|lead|step_ask|tensor_map_graph)\b"
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
    seconds: float
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
CHARTS = {"panels", "bars"}
# Whose data are shown beside the live ones, whatever a reader chooses.
BESIDE = CHARTS | {"table", "samples"}


@dataclass(frozen=True)
class Seen:
    """What one machine saw in one block, loaded to be shown.

    ``figures`` has the data of each figure by the name of its file, {} for one that was
    refused.
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


# What a row of the table of calls says to a probe.
OBSERVED = ("id", "code", "given", "subject", "states")


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


def save_atlas(recording: AtlasRecording, folder: Path) -> None:
    """Write the Atlas that a machine probed into the machine's folder."""
    _write(folder, {"atlas.json": {"schema": SCHEMA, **asdict(recording)}})


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
    return key_of(recorded_cells(page))


def save_page(recording: PageRecording, folder: Path) -> None:
    """Write what a machine observed into the machine's folder."""
    data = {"schema": SCHEMA, **asdict(recording)}
    _write(folder, {f"{recording.page}.page.json": data})


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

    What the stand-in observed is not among it where CUDA has observed the same.

    Raises
    ------
    BadRecording
        If a file is not exactly as it should be.
    """
    from tensor_copies.recordings.check import load_page  # which imports this

    found = []
    for path in sorted(page.parent.glob(f"recordings/*/{page.stem}.page.json")):
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


def save(recording: Recording, figures: dict[str, Any], folder: Path) -> None:
    """Write a recording and its figures into the folder of its machine.

    ``figures`` has the content of each figure's file by its name: data, or the bytes
    of a PNG.

    Raises
    ------
    TooLong
        If a file would be larger than a build takes; nothing is written.
    """
    name = recording.lesson.rpartition("/")[2]
    data = {"schema": SCHEMA, **asdict(recording)}
    for block in data["blocks"]:
        if block["left_out"]:
            del block["output"], block["figures"]
        else:
            del block["left_out"]
            block["output"] = block["output"].split("\n")
    _write(folder, figures | {f"{name}.json": data})
    for old in folder.glob(f"{name}.[0-9]*"):
        if old.name not in figures:
            old.unlink(missing_ok=True)


def _write(folder: Path, contents: dict[str, Any]) -> None:
    """Write files by name, data as JSON, each of them whole."""
    files: dict[str, bytes] = {}
    for name, content in contents.items():
        if not isinstance(content, bytes):
            indent = None if "samples" in content else 1  # a thousand rows
            content = (json.dumps(content, indent=indent) + "\n").encode()
        if len(content) > LARGEST_FILE:
            raise TooLong(
                f"{name} would have {len(content)} bytes, a build takes {LARGEST_FILE}"
            )
        files[name] = content
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        aside = folder / f"{name}.tmp"
        aside.write_bytes(content)
        aside.replace(folder / name)


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
