"""A lesson's script and its blocks, split once for each text that it has in a build.

Most rooms look at the blocks of all lessons, and to split one takes 20 milliseconds.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from tensor_copies.run.code_keys import hash_of


def blocks_of(script: Path | str) -> list[Any]:
    """Return the blocks that the gallery splits a script into."""
    return list(_split(str(script), hash_of(Path(script))))


def script_of(gallery_conf: dict[str, Any], lesson: str) -> Path | None:
    """Return the script of a lesson, of which a hook is told only the file's name."""
    source = Path(gallery_conf["src_dir"])
    for folder in gallery_conf["examples_dirs"]:
        for script in sorted((source / folder).resolve().rglob(lesson)):
            return script
    return None


@cache
def _split(script: str, digest: str) -> tuple[Any, ...]:
    return tuple(split_code_and_text_blocks(script)[1])
