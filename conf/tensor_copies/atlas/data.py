"""The Atlas's data: probed once by each machine, kept, compared, and published.

The probes (tensor_maps.atlas) run in a Python of their own, once for each machine. What
they saw is kept under ``build/atlas``: a build that changes nothing imports no torch.
All pages draw their cells from here, and so do ``atlas.json`` and ``atlas.csv``,
which the build writes beside the pages.

Where this machine has no GPU but a C++ compiler, the probes run once more, with the
stand-in as a second device: what happens between two devices is then on the page of
every machine. What CUDA machines recorded is shown before it.
"""

from __future__ import annotations

import csv
import json
import subprocess
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.errors import SphinxError
from sphinx.util import logging

from tensor_copies.machine import kept_json, progress
from tensor_copies.machine.ahead import once
from tensor_copies.machine.code_keys import SHAPES_ATLAS, digest_of, hash_of, key_of
from tensor_copies.machine.days import today
from tensor_copies.machine.fingerprint import CONF, Fingerprint, fingerprint, version_of
from tensor_copies.recordings.check import load_atlas
from tensor_copies.recordings.format import (
    ATLAS_KEYS,
    AtlasRecording,
    BadRecording,
    atlas_key,
)
from tensor_copies.recordings.others import loaded, refuse, report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)
PROBES = ("-m", "tensor_maps.atlas", "--json")
DEVICE = CONF / "tensor_copies" / "stand_in"
KEPT = CONF.parent / "build" / "atlas"
RECORDED_ATLAS = "atlas.json"
TIME_LIMIT = 300  # seconds
SCHEMA = 1
ABOUT_MACHINE = {
    "machine": "which machine ran the probe, by the name in the list of machines",
    "source": "live: probed in the build that made this file; recorded: by another "
    "machine, and kept as data; stand-in: probed in that build, with a device made in "
    "host memory, whose name is standin, in the place of a GPU",
}
ACCELERATOR = "accelerator"  # what a call needs that goes to another device
USED = ("pandas", "pillow")  # libraries that some probes use
LIVE, RECORDED, STAND_IN = "live", "recorded", "stand-in"


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
    def machine_label(self) -> str:
        """Name the machine; the stand-in by what it is."""
        if self.source == STAND_IN:
            return f"stand-in device (no GPU), {fingerprint().label.partition(', ')[2]}"
        return self.machine.label

    @property
    def label(self) -> str:
        """Name the machine, and the device of ``x`` where that is not its own."""
        if self.source == STAND_IN or self.device == self.machine.device_kind:
            return self.machine_label
        return f"{self.machine.label}, x on the {self.device.upper()}"


def probe(*, with_device: bool = False) -> dict[str, Any]:
    """Run all probes in a new Python; return what they print.

    Raises
    ------
    AtlasFailed
        If a probe fails or does not end.
    """
    # Imported late: it imports torch, which a build that probes nothing does not.
    from tensor_copies.stand_in import new_python

    try:
        done = new_python(*PROBES, with_device=with_device, seconds=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        raise AtlasFailed(f"the probes took more than {TIME_LIMIT} s") from None
    if done.returncode != 0:
        said = done.stderr.strip().rpartition("\n")[2]
        raise AtlasFailed(
            f"a probe failed (`python -m tensor_maps.atlas` shows it): {said}"
        )
    return json.loads(done.stdout)


@once
def live() -> dict[str, Any]:
    """Return what this machine sees, from the last time it looked if it did."""
    kept = _kept_live()
    if (seen := kept_json.load(kept)) is None:
        seen = _keep(kept, probe())
        progress.say(f"Atlas: probed {len(seen['records'])} records")
    return seen


def _kept_live() -> Path:
    return KEPT / f"{live_key()}.json"


@once
def on_stand_in() -> dict[str, Any] | None:
    """Return what is seen with the stand-in as a second device, kept as the live one.

    That is None where this machine has a GPU, or nothing to compile the device with.

    Raises
    ------
    AtlasFailed
        If a probe fails or does not end.
    """
    if fingerprint().device_kind != "cpu":
        return None
    kept = _kept_on_stand_in()
    if (seen := kept_json.load(kept)) is None:
        from tensor_copies.stand_in import NoStandIn

        try:
            said = probe(with_device=True)
        except NoStandIn as missing:
            reason = str(missing).partition("\n")[0]
            progress.say(f"Atlas: x on the CPU alone. {reason}")
            return None
        seen = _keep(kept, said)
        progress.say(f"Atlas: probed {len(seen['records'])} records on the stand-in")
    return seen


def _kept_on_stand_in() -> Path:
    """Return the file of what was seen on the stand-in that these sources make."""
    sources = (hash_of(path) for path in sorted(DEVICE.glob("*.*")))
    return KEPT / f"stand-in-{key_of(live_key(), *sources)}.json"


def _keep(path: Path, atlas: dict[str, Any]) -> dict[str, Any]:
    seen = {"day": today(), **atlas}
    kept_json.save(path, seen)
    return seen


def recorded(app: Sphinx) -> list[AtlasRecording]:
    """Return the Atlases of other machines, stale ones too; warn of refused ones."""
    return loaded(app, RECORDED_ATLAS, load_atlas)


def views(app: Sphinx) -> list[View]:
    """Return what all machines saw: this one first, the stand-in last."""
    atlas, here = live(), fingerprint()
    found = list(_views(here, LIVE, atlas["day"], atlas["records"]))
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
            found += _views(other.machine, RECORDED, other.day, records)
        else:
            name = f"recordings/{other.machine.name}/atlas.json"
            refuse(BadRecording(f"{name} is refused: it has unknown probes"))
    if (second := on_stand_in()) is not None:
        machine = replace(here, device_kind=STAND_IN, device_name="no GPU")
        # Of an x on the CPU it knows nothing better than a live probe, unless the call
        # goes to another device.
        between = {
            row["id"] for row in second["operations"] if row["needs"] == ACCELERATOR
        }
        records = [
            record
            for record in second["records"]
            if record["device"] != "cpu" or record["operation"] in between
        ]
        found += _views(machine, STAND_IN, second["day"], records)
    return found


def _views(
    machine: Fingerprint, source: str, day: str, records: list[dict[str, Any]]
) -> Iterator[View]:
    for device in dict.fromkeys(record["device"] for record in records):
        mine = {
            (record["operation"], record["state"]): record
            for record in records
            if record["device"] == device
        }
        yield View(machine, source, day, device, mine)


def note_use(app: Sphinx, page: str) -> None:
    """Remember that a page shows the Atlas, and which."""
    app.env.metadata[page]["atlas_probed"] = live()["day"]


def live_key() -> str:
    """Return the key of what the probes give on this machine."""
    versions = (f"{name} {version_of(name)}" for name in USED)
    return key_of(fingerprint().signature, digest_of(*SHAPES_ATLAS), *versions)


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
            "label": view.machine_label,
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
            table.writerow(  # with JSON's words for a bool, and nothing for null
                {
                    name: str(value).lower() if isinstance(value, bool) else value
                    for name, value in record.items()
                }
            )


def report_stale(app: Sphinx, exception: Exception | None) -> None:
    """Name each Atlas of other probes than today's, and what renews it."""
    if exception is not None or not _is_shown(app):
        return
    for recording in recorded(app):
        if recording.key != atlas_key():
            matches = "does not match tensor_maps.atlas"
            report(recording.machine, "atlas", matches)
