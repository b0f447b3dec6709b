"""Former addresses of a lesson's sections: a heading may change, a link stays good."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FORMER = "former_sections.toml"
logger = logging.getLogger(__name__)


def keep_former_addresses(app: Sphinx, doctree: nodes.document) -> None:
    """Give each section the addresses that it once had (docs/former_sections.toml).

    One that leads to no section, or that another section has, is a warning, and so
    the end of a strict build.
    """
    listed = Path(app.srcdir, FORMER)
    if not listed.is_file():
        return
    app.env.note_dependency(str(listed))
    lesson = "/".join(app.env.docname.split("/")[-2:])
    found = {section["ids"][0]: section for section in doctree.findall(nodes.section)}
    for name, now in tomllib.loads(listed.read_text("utf-8")).items():
        page, _, former = name.partition("#")
        if page != lesson:
            continue
        if now in found and former not in doctree.ids:
            found[now]["ids"].append(former)
        else:
            logger.warning("%s: %s can't lead to %s", FORMER, name, now)
