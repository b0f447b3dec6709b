"""The Atlas's data: probed once by each machine, kept, compared, and published.

The probes (tensor_maps.atlas) run in a fresh process, once for each machine. All pages
draw their cells from here, and so do ``atlas.json`` and ``atlas.csv``, which the build
writes beside the pages.

Where this machine has no GPU but a C++ compiler, the probes run once more, with the
simulated device: what happens between two devices is then on the page of every machine.
What other machines recorded is shown before it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tensor_copies import simulated
from tensor_copies.gallery.kept import MAPS, Kept, hash_of
from tensor_copies.gallery.machine import Machine, this_machine
from tensor_copies.machines.recording import recordings, simulated_machine

SCHEMA = 1
ABOUT_MACHINE = {
    "machine": "which machine ran the probe, by the name in the list of machines",
    "source": "live: probed in the build that made this file; recorded: by another "
    "machine, and kept as data; simulated: probed in that build, on a simulated "
    "device in CPU memory, whose name is standin, instead of a GPU",
}
DEVICE_CODE = "tensor_copies/simulated/*"
ACCELERATOR = "accelerator"  # what a call needs that goes to another device
LIVE, RECORDED, SIMULATED = "live", "recorded", "simulated"


@dataclass(frozen=True)
class View:
    """What one machine saw with ``x`` on one kind of device."""

    machine: Machine
    source: str
    day: str
    device: str
    records: dict[tuple[str, str], dict[str, Any]]

    @property
    def machine_label(self) -> str:
        """Name the machine; the simulated device by what it is."""
        if self.source == SIMULATED:
            return f"simulated device, {this_machine().label.partition(', ')[2]}"
        return self.machine.label

    @property
    def label(self) -> str:
        """Name the machine, and the device of ``x`` where that is not its own."""
        if self.source == SIMULATED or self.device == self.machine.device_kind:
            return self.machine_label
        return f"{self.machine.label}, x on the {self.device.upper()}"


def probe(second_device: bool = False) -> dict[str, Any]:
    """Run all probes, with the simulated device or not; return what they saw."""
    from tensor_maps.atlas.run import run  # imports torch, as what builds need not

    if second_device:
        simulated.load_device()
    day = datetime.now(UTC).date().isoformat()
    return {"day": day, "key": probes_key(), **run()}


def probes_key() -> str:
    """Return the hash of what probes, by which a recording is known to be current."""
    return hash_of("tensor_maps/src/tensor_maps/atlas/*")


HERE = Kept("atlas", MAPS, probe)
ON_SIMULATED = Kept("atlas-simulated", (*MAPS, DEVICE_CODE), probe, (True,))


def want_probes(app: Sphinx) -> None:
    """Have the build run the probes, if a page shows what they see."""
    docs = Path(app.srcdir).glob("*.md")
    if any("```{atlas" in page.read_text(encoding="utf-8") for page in docs):
        if simulated.is_wanted():  # first, since it may have to compile the device
            ON_SIMULATED.want()
        HERE.want()


def live_atlas() -> dict[str, Any]:
    """Return what this machine sees."""
    return HERE.value()


def on_simulated_device() -> dict[str, Any] | None:
    """Return what the probes see with the simulated device, where there is no GPU."""
    return ON_SIMULATED.value() if simulated.is_wanted() else None


def views(app: Sphinx) -> list[View]:
    """Return what all machines saw: this one first, the simulated device last."""
    atlas, here = live_atlas(), this_machine()
    found = list(_views(here, LIVE, atlas["day"], atlas["records"]))
    found.sort(key=lambda view: view.device != here.device_kind)
    for other in recordings():
        if other.atlas.get("key") == probes_key():  # else it is of other probes
            records = other.atlas["records"]
            found += _views(other.machine, RECORDED, other.day, records)
    if (second := on_simulated_device()) is not None:
        machine = simulated_machine()
        # For an x on the CPU the live probe is better, except where a call moves it to
        # a device.
        moving = {r["id"] for r in second["operations"] if r["needs"] == ACCELERATOR}
        records = [
            record
            for record in second["records"]
            if record["device"] != "cpu" or record["operation"] in moving
        ]
        found += _views(machine, SIMULATED, second["day"], records)
    return found


def _views(
    machine: Machine, source: str, day: str, records: list[dict[str, Any]]
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
