"""Run each call once on each kind of x and each device; hand out what was seen.

The probes run in one fresh process, which has the simulated device where there is no
GPU; what they see is kept for the builds to come. All pages take their facts from here.
A row of the Atlas and a chain of the explorer's calls are the same kind of thing: code.
"""

import csv
import json
import warnings
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from tensor_maps.atlas import calls as atlas

from tensor_copies import simulated
from tensor_copies.gallery.kept import MAPS, Kept, hash_of
from tensor_copies.gallery.machine import Machine, this_machine
from tensor_copies.machines.recording import recordings, simulated_machine

Record = dict[str, Any]
CPU, DEVICE, LEAF = "cpu", "device", "leaf"
CONDITION = ("operation", "state", "device")  # of a record; the rest is the outcome
ACCELERATOR = "accelerator"  # what a call needs that goes to another device
ABOUT_MACHINE = {
    "machine": "which machine ran the probe, by the name in the list of machines",
    "source": "live: probed in the build that made this file; recorded: by another "
    "machine, and kept as data; simulated: probed in that build, on a simulated "
    "device in CPU memory, whose name is standin, instead of a GPU",
}


def probe_all(second_device: bool) -> dict[str, Any]:
    """Run all rows and chains, with the simulated device or not; draw them.

    Returns
    -------
    dict
        ``day``; ``code``, a hash of what probes, by which a recording is known to be
        current; ``device``, the kind that is not the CPU, or null; ``pictures`` and
        ``outcomes``, each written once; and ``seen``, by code, kind of device and kind
        of x the number of the outcome.
    """
    if second_device:
        simulated.load_device()
    import torch  # not before: a build that probes nothing does not need it
    from tensor_maps.atlas import probe as probing

    from tensor_copies.calls.pictures import draw

    torch.set_warn_always(True)  # or a warning would show in one record alone
    warnings.simplefilter("ignore")  # the probe looks at them itself
    pictures: dict[str, int] = {}
    outcomes: dict[str, int] = {}
    seen: dict[str, dict[str, dict[str, int]]] = {}
    raising = set()

    def run(call: atlas.Call, state: str, device: str) -> None:
        record = probing.probe(call, state, device)
        outcome = {key: record[key] for key in atlas.COLUMNS if key not in CONDITION}
        if record["error"] is None:
            more = probing.observation(call, state, device)
            outcome["writes"] = more["writes"]
            drawn = draw(call, more["observed"])
        else:
            raising.add((call.code, state, device))
            before = probing.observed({"x": probing.Run(call, state, device).x})
            drawn = draw(call, before, record["error"].partition(":")[0])
        outcome["picture"] = pictures.setdefault(drawn, len(pictures))
        number = outcomes.setdefault(json.dumps(outcome), len(outcomes))
        seen.setdefault(call.code, {}).setdefault(device, {})[state] = number

    for row in probing.plan():
        run(*row)
    kinds = probing.devices()
    for chain in atlas.chains(len(kinds) > 1):
        code = atlas.code_of(chain)
        call = atlas.Call(code, code, given=atlas.TABLE["given"]["device"])
        for device in kinds:
            for state in atlas.STATES:
                if chain and (atlas.code_of(chain[:-1]), state, device) in raising:
                    raising.add((call.code, state, device))
                elif state not in seen.get(call.code, {}).get(device, {}):
                    run(call, state, device)
    return {
        "day": datetime.now(UTC).date().isoformat(),
        "code": hash_of("tensor_maps/src/tensor_maps/atlas/*"),
        "device": probing.accelerator(),
        "pictures": list(pictures),
        "outcomes": list(map(json.loads, outcomes)),
        "seen": seen,
    }


PROBING = ("calls/facts.py", "calls/pictures.py", "simulated/*")
CODE = (*MAPS, *(f"tensor_copies/{path}" for path in PROBING))
PROBED = Kept("calls", CODE, probe_all, (simulated.is_wanted(),))


@dataclass(frozen=True)
class Facts:
    """What all calls do: ``here`` as this machine saw it, ``there`` with a GPU.

    ``there`` is this machine's too if it has a GPU or the simulated device, else what
    another machine recorded; it may be None.
    """

    here: dict[str, Any]
    there: dict[str, Any] | None
    machine: Machine  # that saw ``there``
    source: str  # how: live, recorded or simulated

    @cached_property
    def calls(self) -> dict[str, atlas.Call]:
        """The rows of the Atlas by their ids, without those that lack a library."""
        return {call.id: call for call in atlas.available()}

    @cached_property
    def by_code(self) -> dict[str, atlas.Call]:
        """The same by their code."""
        return {call.code: call for call in self.calls.values()}

    @cached_property
    def codes(self) -> list[str]:
        """The code of each row and chain that has a record."""
        return list(self.here["seen"] | (self.there or self.here)["seen"])

    @cached_property
    def chips(self) -> dict[str, str]:
        """The code of each chip that there is: without a second device not all."""
        return {
            key: chip.code
            for key, chip in atlas.CHIPS.items()
            if self.there is not None or not chip.needs
        }

    @cached_property
    def forms(self) -> dict[str, tuple[str, ...]]:
        """The ways to write each call, by its code."""
        rows = {call.code: call.also for call in self.calls.values() if call.also}
        return rows | {f"x{chip.code}": chip.also for chip in atlas.CHIPS.values()}

    @cached_property
    def devices(self) -> dict[str, str]:
        """What each device is, by the names that pages use."""
        gpu = "a GPU (simulated here)" if self.source == "simulated" else "a GPU"
        return {CPU: "the CPU"} | ({DEVICE: gpu} if self.there else {})

    def is_there(self, code: str, away: bool) -> bool:
        """Whether ``there`` has the record: of an x, or a call, on another device."""
        call = self.by_code.get(code)
        return away or (call.needs == ACCELERATOR if call else "(device)" in code)

    def record(self, code: str, state: str = LEAF, away: bool = False) -> Record | None:
        """Return what a call did to a kind of x, None if that was not run.

        ``away`` is an x that is not on the CPU. In addition to the columns of the
        Atlas a record has ``where`` (the device of the result), ``moved`` (whether it
        is another than that of x), ``other_values`` (the call computes, it is no copy),
        ``picture`` (SVG) and, unless the call raises, ``writes``.
        """
        call, is_there = self.by_code.get(code), self.is_there(code, away)
        seen = self.there if is_there else self.here
        kind = CPU if not away or seen is None else seen["device"]
        number = seen and seen["seen"].get(code, {}).get(kind, {}).get(state)
        if number is None:
            return None
        outcome = seen["outcomes"][number]
        there = outcome["result_device"]
        return {
            **outcome,
            "machine": (self.machine if is_there else this_machine()).name,
            "source": self.source if is_there else "live",
            "operation": call.id if call else code,
            "state": state,
            "device": kind,
            "where": CPU if there in (None, CPU) else DEVICE,
            "moved": there not in (None, kind),
            "other_values": call is not None and call.values == "other",
            "picture": seen["pictures"][outcome["picture"]],
        }


@cache
def facts() -> Facts:
    """Return what all calls do, as it was kept."""
    here, this = PROBED.value(), this_machine()
    if this.device_kind != CPU:
        return Facts(here, here, this, "live")
    for other in recordings():
        if other.calls.get("code") == here["code"]:  # else it is of other probes
            return Facts(here, other.calls, other.machine, "recorded")
    there = here if here["device"] else None
    return Facts(here, there, simulated_machine(), "simulated")


def is_shown(app: Sphinx) -> bool:
    """Whether the site has the Atlas; then its home has the explorer."""
    return Path(app.srcdir, "atlas.md").exists()


def want_probes(app: Sphinx) -> None:
    """Have the build run the probes, if a page shows what they see."""
    if is_shown(app):
        PROBED.want()


def publish(app: Sphinx, exception: Exception | None) -> None:
    """Write ``atlas.json`` and ``atlas.csv`` beside the pages that show the Atlas."""
    if exception is not None or app.builder.format != "html" or not is_shown(app):
        return
    data = facts()
    columns = {**ABOUT_MACHINE, **atlas.COLUMNS}
    records = [
        {key: record[key] for key in columns}
        for call in data.calls.values()
        for state in call.states
        for kind in data.devices
        if (record := data.record(call.code, state, kind == DEVICE)) is not None
    ]
    machines = {
        "live": (this_machine(), data.here),
        data.source: (data.machine, data.there),
    }
    whole = {
        "schema": 1,
        "columns": columns,
        "states": atlas.ALL_STATES,
        "machines": [
            {"name": machine.name, "source": source, "day": seen["day"]}
            | asdict(machine)
            for source, (machine, seen) in machines.items()
            if seen is not None
        ],
        "operations": [asdict(call) for call in data.calls.values()],
        "records": records,
    }
    out = Path(app.outdir)
    (out / "atlas.json").write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    with (out / "atlas.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        # JSON's words for what is true and false; what is null becomes nothing.
        for record in records:
            told = record.values()
            row = [json.dumps(one) if isinstance(one, bool) else one for one in told]
            table.writerow(row)
