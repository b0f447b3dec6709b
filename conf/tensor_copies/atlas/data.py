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
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tensor_copies.explorer.kept import printed_by
from tensor_copies.recordings.check import load_atlas
from tensor_copies.recordings.format import AtlasRecording, atlas_key
from tensor_copies.recordings.others import loaded, report_problems
from tensor_copies.run import kept_json, progress
from tensor_copies.run.ahead import once
from tensor_copies.run.code_keys import (
    SHAPES_ATLAS,
    SHAPES_STAND_IN,
    digest_of,
    key_of,
)
from tensor_copies.run.fingerprint import (
    CONF,
    Fingerprint,
    fingerprint,
    today,
    version_of,
)

PROBES = ("-m", "tensor_maps.atlas", "--json")
KEPT = CONF.parent / "build" / "atlas"
RECORDED_ATLAS = "atlas.json"
TIME_LIMIT = 300  # seconds
SCHEMA = 1
ABOUT_MACHINE = {
    "machine": "which machine ran the probe, by the name in the list of machines",
    "source": "live: probed in the build that made this file; recorded: by another "
    "machine, and kept as data; stand-in: probed in that build, on a simulated "
    "device in CPU memory, whose name is standin, instead of a GPU",
}
ACCELERATOR = "accelerator"  # what a call needs that goes to another device
USED = ("pandas", "pillow")  # libraries that some probes use
LIVE, RECORDED, STAND_IN = "live", "recorded", "stand-in"


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
            return f"simulated device, {fingerprint().label.partition(', ')[2]}"
        return self.machine.label

    @property
    def label(self) -> str:
        """Name the machine, and the device of ``x`` where that is not its own."""
        if self.source == STAND_IN or self.device == self.machine.device_kind:
            return self.machine_label
        return f"{self.machine.label}, x on the {self.device.upper()}"


def probe(*, with_device: bool = False) -> dict[str, Any]:
    """Run all probes in a new Python; return what they print."""
    shown_by = " (`python -m tensor_maps.atlas` shows it)"
    options = {"of": "The Atlas", "shown_by": shown_by, "seconds": TIME_LIMIT}
    return json.loads(printed_by(*PROBES, with_device=with_device, **options))


@once
def live_atlas() -> dict[str, Any]:
    """Return what this machine sees, from the last time it looked if it did."""
    path = KEPT / f"{atlas_made_from()}.json"
    return kept_json.load(path) or _probed(path)


@once
def on_stand_in() -> dict[str, Any] | None:
    """Return what the probes see with the stand-in as a second device.

    None where this machine has a GPU, or nothing to compile the device with.
    """
    if fingerprint().device_kind != "cpu":
        return None
    key = key_of(atlas_made_from(), digest_of(*SHAPES_STAND_IN))
    path = KEPT / f"stand-in-{key}.json"
    if (seen := kept_json.load(path)) is not None:
        return seen
    from tensor_copies.stand_in import NoStandIn  # which imports torch

    try:
        return _probed(path, with_device=True)
    except NoStandIn as missing:
        reason = str(missing).partition("\n")[0]
        progress.say(f"Atlas: x on the CPU alone. {reason}")
        return None


def _probed(path: Path, *, with_device: bool = False) -> dict[str, Any]:
    seen = {"day": today(), **probe(with_device=with_device)}
    kept_json.save(path, seen)
    where = " on the simulated device" if with_device else ""
    progress.say(f"Atlas: probed {len(seen['records'])} records{where}")
    return seen


def atlas_made_from() -> str:
    """Return the key of what the probes give on this machine."""
    versions = (f"{name} {version_of(name)}" for name in USED)
    return key_of(fingerprint().signature, digest_of(*SHAPES_ATLAS), *versions)


def recorded(app: Sphinx) -> list[AtlasRecording]:
    """Return the Atlases of other machines, stale ones too; warn of refused ones."""
    return loaded(app, RECORDED_ATLAS, load_atlas)


def views(app: Sphinx) -> list[View]:
    """Return what all machines saw: this one first, the stand-in last."""
    atlas, here = live_atlas(), fingerprint()
    found = list(_views(here, LIVE, atlas["day"], atlas["records"]))
    found.sort(key=lambda view: view.device != here.device_kind)
    for other in recorded(app):
        records = [dict(zip(other.columns, row, strict=True)) for row in other.records]
        found += _views(other.machine, RECORDED, other.day, records)
    if (second := on_stand_in()) is not None:
        machine = replace(here, device_kind=STAND_IN, device_name="no GPU")
        # For an x on the CPU the live probe is better, except where a call moves it to
        # a device.
        moving = {r["id"] for r in second["operations"] if r["needs"] == ACCELERATOR}
        records = [
            record
            for record in second["records"]
            if record["device"] != "cpu" or record["operation"] in moving
        ]
        found += _views(machine, STAND_IN, second["day"], records)
    return found


def _views(
    machine: Fingerprint, source: str, day: str, records: list[dict[str, Any]]
) -> Iterator[View]:
    by_device: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
    for record in records:
        mine = by_device.setdefault(record["device"], {})
        mine[record["operation"], record["state"]] = record
    for device, mine in by_device.items():
        yield View(machine, source, day, device, mine)


def note_use(app: Sphinx, page: str) -> None:
    """Remember that a page shows the Atlas, and which."""
    app.env.metadata[page]["atlas_probed"] = live_atlas()["day"]


def _is_shown(app: Sphinx) -> bool:
    return any("atlas_probed" in metadata for metadata in app.env.metadata.values())


def publish_atlas(app: Sphinx, exception: Exception | None) -> None:
    """Write ``atlas.json`` and ``atlas.csv`` beside the pages."""
    if exception is not None or app.builder.format != "html" or not _is_shown(app):
        return
    atlas, seen = live_atlas(), views(app)
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
            table.writerow({name: _in_csv(value) for name, value in record.items()})


def _in_csv(value: Any) -> Any:
    """Return JSON's word for a bool; what is null becomes nothing."""
    return str(value).lower() if isinstance(value, bool) else value


def report_stale_atlas(app: Sphinx, exception: Exception | None) -> None:
    """Name each Atlas of other probes than today's, and what renews it."""
    if exception is not None or not _is_shown(app):
        return
    for recording in recorded(app):
        if recording.key != atlas_key():
            report_problems(
                recording.machine, "atlas", "does not match tensor_maps.atlas"
            )
