"""JSON that is kept between builds, with a digest that tells when it was damaged."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any


def save(path: Path, data: Any) -> None:
    """Write data to a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(f".{os.getpid()}")
    text = json.dumps(data)
    aside.write_text(f"{_digest(text)}\n{text}", encoding="utf-8")
    aside.replace(path)


def load(path: Path) -> Any:
    """Return what was kept in a file; None where there is none, or it is damaged."""
    try:
        digest, text = path.read_text(encoding="utf-8").split("\n", 1)
        return json.loads(text) if digest == _digest(text) else None
    except (OSError, ValueError):
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
