"""Recording a tiny site, and making another machine's recordings of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import PATIENCE, Built, TinySite
from tensor_copies.run.fingerprint import Fingerprint

OTHER = {
    "device_kind": "cuda",
    "device_name": "Test Card 9",
    "torch": "2.11.0",
    "numpy": "2.4.0",
    "python": "3.12.3",
}
OTHER_NAME = Fingerprint(**OTHER).name


def record(site: TinySite, *arguments: str, **options: Any) -> Built:
    """Run the recorder of a tiny site."""
    done = subprocess.run(
        [sys.executable, "conf/record.py", *arguments],
        cwd=site.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        **options,
    )
    return Built(done.returncode, done.stdout)


def recorded(site: TinySite) -> dict[str, dict[str, Any]]:
    """Return the recordings of a site, by the lesson's name."""
    files = (site.folder / "docs" / "recordings").glob("*/*.json")
    return {
        path.stem: json.loads(path.read_text())
        for path in files
        if "." not in path.stem
    }


def pretend_other_machine(site: TinySite, change: Callable[[str], str]) -> Path:
    """Turn the site's recordings into another machine's, with changed lines."""
    (here,) = (site.folder / "docs" / "recordings").iterdir()
    there = here.rename(here.with_name(OTHER_NAME))
    for path in there.glob("*.json"):
        data = json.loads(path.read_text())
        if "blocks" in data:
            data["machine"] = OTHER
            for block in data["blocks"]:
                if "output" in block:
                    block["output"] = [change(line) for line in block["output"]]
            path.write_text(json.dumps(data))
    return there
