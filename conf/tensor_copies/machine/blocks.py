"""The blocks of a script, split once for each text that it has in a build.

Most rooms look at the blocks of all lessons, and to split one takes 20 milliseconds.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from tensor_copies.machine.code_keys import hash_of


def blocks_of(script: Path | str) -> list[Any]:
    """Return the blocks that the gallery splits a script into."""
    return list(_split(str(script), hash_of(Path(script))))


@cache
def _split(script: str, digest: str) -> tuple[Any, ...]:
    return tuple(split_code_and_text_blocks(script)[1])
