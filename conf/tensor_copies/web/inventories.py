"""The names in conf/inventories/: each one that a page links to, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)
LINK = re.compile(r'href="(https://[^"]*)"')


def report_unused(app: Sphinx) -> None:
    """Warn of each name that no page of the built site links to."""
    if not app.config.every_inventory_name_is_linked:
        return
    linked = {
        address
        for page in Path(app.outdir).rglob("*.html")
        for address in LINK.findall(page.read_text(encoding="utf-8"))
    }
    for library, inventory in app.env.intersphinx_named_inventory.items():
        for name in sorted({*(name for kind in inventory.values() for name in kind)}):
            items = [kind[name] for kind in inventory.values() if name in kind]
            if linked.isdisjoint(item.uri for item in items):
                logger.warning(
                    "conf/inventories/%s.inv has %s, and no page links to it; remove "
                    "the line",
                    library, name,
                )  # fmt: skip
