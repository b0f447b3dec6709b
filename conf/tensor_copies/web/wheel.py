"""The package ``tensor_maps`` as readers install it: its wheel, made with the site.

The same sources make the same bytes: hatchling dates what is in the wheel by
``SOURCE_DATE_EPOCH``, or by a day of its own.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urljoin

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri
from tensor_maps import __version__

from tensor_copies.gallery.kept import CONF

FOLDER = "_downloads"
WHEEL = f"{FOLDER}/tensor_maps-{__version__}-py3-none-any.whl"


class InstallLine(SphinxDirective):
    """The line that installs the package, and its wheel (``{install-line}``)."""

    def run(self) -> list[nodes.Node]:
        """Return the line, with the address of this site if it has one."""
        app = self.env.app
        base, page = app.config.html_baseurl, self.env.docname
        here = app.builder.get_target_uri(page)
        link = f'<a href="{relative_uri(here, WHEEL)}" download>{Path(WHEEL).name}</a>'
        line = f"pip install {install_from(base)}"
        block = nodes.literal_block(line, line, language="sh")
        said = f'<p class="actions">{link}</p>'
        return [block, nodes.raw("", said, format="html")]


def install_from(base: str) -> str:
    """Return what pip is given: the address of the wheel, or its file."""
    return urljoin(base, WHEEL) if base else Path(WHEEL).name


def publish_wheel(app: Sphinx) -> None:
    """Build the wheel among the site's files."""
    from hatchling.builders.wheel import WheelBuilder

    folder = Path(app.outdir, FOLDER)
    folder.mkdir(exist_ok=True)
    for old in folder.glob("tensor_maps-*.whl"):
        old.unlink()
    for _ in WheelBuilder(str(CONF / "tensor_maps")).build(directory=str(folder)):
        pass  # each is a path that was written
