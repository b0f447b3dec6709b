"""Build the package ``tensor_maps`` as readers install it: a wheel, with the site."""

from pathlib import Path
from urllib.parse import urljoin

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tensor_maps import __version__

from tensor_copies.gallery.kept import CONF

NAME = f"tensor_maps-{__version__}-py3-none-any.whl"


class InstallLine(SphinxDirective):
    """The lines that install the package, and its wheel (``{install-line}``)."""

    def run(self) -> list[nodes.Node]:
        """Return the lines, with the addresses of this site and of its repository."""
        base = self.config.html_baseurl
        line = f"pip install {urljoin(base, f'_downloads/{NAME}') if base else NAME}"
        if repository := self.config.html_context["repository"]:
            folder = "conf/tensor_maps"
            line += f'\npip install "git+{repository}#subdirectory={folder}"  # or this'
        said = f'<p class="actions"><a href="_downloads/{NAME}" download>{NAME}</a></p>'
        block = nodes.literal_block(line, line, language="sh")
        return [block, nodes.raw("", said, format="html")]


def build_wheel(app: Sphinx) -> tuple[()]:
    """Build the wheel among the site's files (``html-collect-pages``)."""
    from hatchling.builders.wheel import WheelBuilder

    folder = Path(app.outdir, "_downloads")
    folder.mkdir(exist_ok=True)
    list(WheelBuilder(str(CONF / "tensor_maps")).build(directory=str(folder)))
    return ()  # no page of Sphinx
