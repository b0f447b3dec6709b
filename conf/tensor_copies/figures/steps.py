"""The steps of a lesson, as the gallery's run of it saw them."""

from __future__ import annotations

from pathlib import Path


def steps_file(source: Path, page: str) -> Path | None:
    """Return where the steps of the lesson that a page shows are kept, if they are."""
    folder, _, name = page.rpartition("/")
    path = Path(source, folder, "images", "thumb", f"sphx_glr_{name}_steps.json")
    return path if path.exists() else None
