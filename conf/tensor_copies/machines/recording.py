"""Read and write a recording (docs/recordings): what another machine gave.

A *recording* is one JSON file for each machine, ``docs/recordings/<machine>.json``,
which ``nox -s record`` writes there. A build has the same of the simulated device, of
which nothing is committed; where CUDA is recorded, that takes its place.
"""

import json
import re
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tensor_copies.gallery.kept import CONF, key_of
from tensor_copies.gallery.lessons import blocks_of, without_markers
from tensor_copies.gallery.machine import Machine, this_machine

# The markers that change what a block draws.
DRAWING = re.compile(r"sphinx_gallery_tensor_map.*")
RECORDINGS = CONF.parent / "docs" / "recordings"


@dataclass
class Block:
    """One code block: its key, the text that it printed, and what it drew.

    ``figures`` are the data of maps and charts (``figures_of``).
    """

    key: str
    text: str = ""
    figures: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Recording:
    """What one machine gave, and the ISO date of that day.

    ``lessons`` has the fields of the blocks of each lesson, ``calls`` what the probes
    returned.
    """

    machine: Machine
    day: str
    lessons: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    calls: dict[str, Any] = field(default_factory=dict)

    def save(self) -> Path:
        """Write it to its file; return which."""
        path = RECORDINGS / f"{self.machine.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        return path


def load(path: Path) -> Recording:
    """Read a recording."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return Recording(Machine(**data.pop("machine")), **data)


@cache
def recordings() -> tuple[Recording, ...]:
    """Return the recordings of all machines but this one, which is on the page."""
    files = sorted(RECORDINGS.glob("*.json"))
    return tuple(load(file) for file in files if file.stem != this_machine().name)


def simulated_machine() -> Machine:
    """Return this machine with the simulated device in the place of a GPU."""
    return replace(this_machine(), device_kind="simulated", device_name="no GPU")


def keyed_blocks(script: Path) -> list[tuple[str, Any]]:
    """Return the code blocks of a script, each with its key.

    A key is a running hash of the code, and of the markers that say what is drawn: an
    edit changes that of its block and of all later ones. An edit of prose changes none.
    """
    found, code = [], []
    for block in blocks_of(script):
        if block.type == "code":
            drawn = "".join(DRAWING.findall(block.content))
            code.append(without_markers(block.content).strip() + drawn)
            found.append((key_of(*code), block))
    return found
