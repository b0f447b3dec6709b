"""Code that did not run fails the build: its page would only look like a proof."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from tensor_copies.run.freshness import run_path
from tensor_copies.run.lesson_list import lesson_scripts

logger = logging.getLogger(__name__)


def require_run(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of a lesson that did not run, and of a page's cell that did not."""
    page = app.env.docname
    if page in lesson_scripts(app):
        if not run_path(app, page).exists():
            logger.warning("%s did not run", Path(page).name + ".py")
        return
    for cell in doctree.findall(nodes.container):
        is_idle = cell.get("nb_element") == "cell_code" and cell["exec_count"] is None
        if is_idle and (code := cell.astext().strip().partition("\n")[0]):
            logger.warning("%s: the cell with `%.60s` did not run", page, code)
