"""Whether a lesson that has just run has passed, for hooks around its run."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def noted_as_passed(gallery_conf: dict[str, Any], lesson: str) -> list[Path]:
    """Return the files in which the gallery notes that a lesson has passed."""
    source = Path(gallery_conf.get("src_dir", "."))
    return [
        noted
        for gallery in gallery_conf.get("gallery_dirs", ())
        for noted in (source / gallery).rglob(f"{lesson}.md5")
    ]


def has_failed(gallery_conf: dict[str, Any], lesson: str) -> bool:
    """Whether a lesson has failed that has just run.

    A build has removed the note of an earlier run (freshness.py), and the gallery
    names what failed after its hooks. Where there is no gallery, who runs the lesson
    names it before.
    """
    failing = {Path(path).name for path in gallery_conf.get("failing_examples", ())}
    in_a_gallery = bool(gallery_conf.get("gallery_dirs"))
    noted = noted_as_passed(gallery_conf, lesson)
    return lesson in failing or (in_a_gallery and not noted)
