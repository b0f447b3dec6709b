"""JSON that is kept between builds, by the key that names its file."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

NEWEST = 8  # of what is kept by key: enough to go back and forth between branches


def save(path: Path, data: Any) -> None:
    """Write data to a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(f".{os.getpid()}")
    aside.write_text(json.dumps(data), encoding="utf-8")
    aside.replace(path)


def load(path: Path) -> Any:
    """Return what was kept in a file; None where there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def prune(folder: Path) -> None:
    """Remove what was kept in a folder for states of the code that are long gone."""
    kept = sorted(folder.glob("*"), key=lambda path: path.stat().st_mtime)
    for path in kept[:-NEWEST]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
