"""Code that a page folds: how something was timed, drawn or counted.

A code block of a lesson asks with a comment that neither page nor notebook shows::

    # sphinx_gallery_folded = "The code that timed it"

Its code then stands in a native ``<details>`` under these words. What it printed or
drew stays in sight below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sphinx_gallery.py_source_parser import extract_file_config

from tensor_copies.machine.blocks import blocks_of
from tensor_copies.machine.folds import fold
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.recordings.live import code_blocks

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

MARKER = KIND = "folded"


def fold_code(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the code of the blocks of a lesson that ask for it."""
    script = lesson_scripts(app).get(app.env.docname)
    if script is None:
        return
    asked = {}
    for kind, content, line in blocks_of(script):
        if kind == "code" and MARKER in (wanted := extract_file_config(content)):
            asked[line] = str(wanted[MARKER])
    for block in code_blocks(doctree, set(asked)):
        box = fold(kind=KIND, words=asked[block.line])
        block.code.replace_self(box)
        box += block.code
