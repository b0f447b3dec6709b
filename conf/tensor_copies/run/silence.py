"""Code that did not run as it says fails the build: it would only look like a proof."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from tensor_copies.run.freshness import run_path
from tensor_copies.run.lesson_list import lesson_scripts

# What a page of errors shows of one: the message without its frames.
RAISED = re.compile(r"[\w.]+(Error|Exception|Warning)\b")
logger = logging.getLogger(__name__)
# Of MyST-NB, of ours, and the names of what a cell raises or warns of.
TAG = re.compile(
    r"(remove|hide)-(cell|input|output)|raises-exception|warning|wrong|right|predict"
    r"|recorded|since-\d+\.\d+|\w+(Error|Warning|Exception)"
)


def require_run(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of a lesson that did not run, and of a page's cell that did not."""
    page = app.env.docname
    if page in lesson_scripts(app):
        if not run_path(app, page).exists():
            logger.warning("%s did not run", Path(page).name + ".py")
        return
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code":
            code = cell.astext().strip().partition("\n")[0]
            for problem in _problems(cell) if code else ():
                logger.warning("%s: the cell with `%.60s` %s", page, code, problem)


def _problems(cell: nodes.container) -> Iterator[str]:
    """Say how a cell is not what its page takes it for."""
    if cell["exec_count"] is None:
        yield "did not run"
    tags = [name.removeprefix("tag_") for name in cell["classes"] if "tag_" in name]
    for tag in tags:
        if not TAG.fullmatch(tag):
            yield f"has the tag {tag}, which means nothing here: mend its spelling"
    blocks = list(cell.findall(nodes.literal_block))
    traceback = any("traceback" in block["classes"] for block in blocks)
    if traceback and "raises-exception" not in tags:
        yield "raised an error, which a magic kept from ending the build"
    said = traceback or any(RAISED.match(one.astext()) for one in blocks)
    if "raises-exception" in tags and not said:
        yield "raised nothing: take its tag raises-exception away"
