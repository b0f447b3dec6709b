"""The Atlas's data: probed once by each machine, kept, compared, and published.

The probes (atlas.py) run in a Python of their own, once for each machine, and what
they saw is kept under ``build/atlas``: a build that changes nothing imports no torch.
All pages draw their cells from here, and so do ``atlas.json`` and ``atlas.csv``,
which the build writes beside the pages.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.errors import SphinxError
from sphinx.util import logging

from tensor_copies.machine import progress
from tensor_copies.machine.code_keys import hash_of, key_of
from tensor_copies.machine.fingerprint import CONF, Fingerprint, fingerprint
from tensor_copies.machine.outdated import depend_on
from tensor_copies.recordings.check import load_atlas
from tensor_copies.recordings.format import (
    ATLAS_KEYS,
    AtlasRecording,
    BadRecording,
    atlas_key,
)
from tensor_copies.recordings.shown import _refuse, renewal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)
ATLAS = CONF / "standalone" / "atlas.py"
KEPT = CONF.parent / "build" / "atlas"
TIME_LIMIT = 300  # seconds
SCHEMA = 1
ABOUT_MACHINE = {
    "machine": "which machine ran the probe, by the name in the list of machines",
    "source": "live: probed in the build that made this file; recorded: by another "
    "machine, and kept as data",
}


class AtlasFailed(SphinxError):
    """The probes did not end well; the message is one line."""

    category = "The Atlas"


@dataclass(frozen=True)
class View:
    """What one machine saw with ``x`` on one kind of device."""

    machine: Fingerprint
    source: str
    day: str
    device: str
    records: dict[tuple[str, str], dict[str, Any]]

    @property
    def label(self) -> str:
        """Name the machine, and the device of ``x`` where that is not its own."""
        if self.device == self.machine.device_kind:
            return self.machine.label
        return f"{self.machine.label}, x on the {self.device.upper()}"


def probe() -> dict[str, Any]:
    """Run all probes in a new Python; return what ``atlas.py --json`` prints.

    Raises
    ------
    AtlasFailed
        If a probe fails or does not end.
    """
    command = [sys.executable, str(ATLAS), "--json"]
    # These two would change what a probe sees.
    changing = ("PYTHONWARNINGS", "CUDA_LAUNCH_BLOCKING")
    clean = {key: value for key, value in os.environ.items() if key not in changing}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIME_LIMIT, env=clean
        )
    except subprocess.TimeoutExpired:
        raise AtlasFailed(f"the probes took more than {TIME_LIMIT} s") from None
    if done.returncode != 0:
        said = done.stderr.strip().rpartition("\n")[2]
        raise AtlasFailed(
            f"a probe failed (`python conf/standalone/atlas.py` shows it): {said}"
        )
    return json.loads(done.stdout)


def live() -> dict[str, Any]:
    """Return what this machine sees, from the last time it looked if it did."""
    kept = KEPT / f"{live_key()}.json"
    try:
        digest, text = kept.read_text(encoding="utf-8").split("\n", 1)
        if digest == key_of(text):  # else it is damaged
            return json.loads(text)
    except (OSError, ValueError):
        pass
    seen = {"day": date.today().isoformat(), **probe()}
    progress.say(f"Atlas: probed {len(seen['records'])} records")
    kept.parent.mkdir(parents=True, exist_ok=True)
    aside = kept.with_suffix(f".{os.getpid()}")
    text = json.dumps(seen)
    aside.write_text(f"{key_of(text)}\n{text}", encoding="utf-8")
    aside.replace(kept)
    return seen


def recorded(app: Sphinx) -> list[AtlasRecording]:
    """Return the Atlases of other machines, stale ones too; warn of refused ones."""
    found = []
    for path in _files(app):
        try:
            found.append(load_atlas(path))
        except BadRecording as bad:
            _refuse(app, bad)
    return found


def views(app: Sphinx) -> list[View]:
    """Return what all machines saw, this one's own device first."""
    atlas, here = live(), fingerprint()
    found = list(_views(here, "live", atlas["day"], atlas["records"]))
    found.sort(key=lambda view: view.device != here.device_kind)
    known = {
        (row["id"], state, device)
        for row in atlas["operations"]
        for state in row["states"]
        for device in ("cpu", "cuda")
    }
    for other in recorded(app):
        records = [dict(zip(other.columns, row, strict=True)) for row in other.records]
        if {tuple(record[key] for key in ATLAS_KEYS) for record in records} <= known:
            found += _views(other.machine, "recorded", other.day, records)
        else:
            name = f"recordings/{other.machine.name}/atlas.json"
            _refuse(app, BadRecording(f"{name} is refused: it has unknown probes"))
    return found


def _views(
    machine: Fingerprint, source: str, day: str, records: list[dict[str, Any]]
) -> Iterator[View]:
    for device in dict.fromkeys(record["device"] for record in records):
        # An array is on the CPU: its rows are the same for every device.
        mine = {
            (record["operation"], record["state"]): record
            for record in sorted(records, key=lambda record: record["device"] == device)
        }
        yield View(machine, source, day, device, mine)


def _files(app: Sphinx) -> list[Path]:
    paths = sorted(Path(app.srcdir, "recordings").glob("*/atlas.json"))
    return [path for path in paths if path.parent.name != fingerprint().name]


def note_use(app: Sphinx, page: str) -> None:
    """Remember that a page shows the Atlas, and which."""
    depend_on(app, "atlas")
    app.env.metadata[page]["atlas_probed"] = live()["day"]


def key(app: Sphinx, page: str) -> str:
    """Return the key of all Atlases: the live one's and what the recorded ones hold."""
    files = (f"{path.parent.name} {hash_of(path)}" for path in _files(app))
    return key_of(live_key(), *files)


def live_key() -> str:
    """Return the key of what the probes give on this machine."""
    return key_of(fingerprint().signature, hash_of(ATLAS))


def _is_shown(app: Sphinx) -> bool:
    return any("atlas_probed" in metadata for metadata in app.env.metadata.values())


def publish(app: Sphinx, exception: Exception | None) -> None:
    """Write ``atlas.json`` and ``atlas.csv`` beside the pages."""
    if exception is not None or app.builder.format != "html" or not _is_shown(app):
        return
    atlas, seen = live(), views(app)
    columns = {**ABOUT_MACHINE, **atlas["columns"]}
    machines = {
        (view.machine.name, view.source): {
            "name": view.machine.name,
            "label": view.machine.label,
            "source": view.source,
            "day": view.day,
            **asdict(view.machine),
        }
        for view in seen
    }
    records = [
        {"machine": view.machine.name, "source": view.source, **record}
        for view in seen
        for record in view.records.values()
        if record["device"] == view.device
    ]
    whole = {
        "schema": SCHEMA,
        "columns": columns,
        "states": atlas["states"],
        "machines": list(machines.values()),
        "operations": atlas["operations"],
        "records": records,
    }
    out = Path(app.outdir)
    (out / "atlas.json").write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    with (out / "atlas.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(columns), lineterminator="\n")
        table.writeheader()
        for record in records:
            table.writerow({name: _cell(value) for name, value in record.items()})


def _cell(value: Any) -> Any:
    """Return a value as CSV has it: JSON's words, and nothing for null."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value


def report_stale(app: Sphinx, exception: Exception | None) -> None:
    """Name each Atlas of other probes than today's, and what renews it."""
    if exception is not None or not _is_shown(app):
        return
    for recording in recorded(app):
        if recording.key != atlas_key():
            progress.say(
                f"Stale: recordings/{recording.machine.name}, atlas does not match "
                f"conf/standalone/atlas.py; on that machine, run `{renewal('atlas')}`",
                lasting=True,
            )
