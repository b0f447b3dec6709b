"""The explorer: put calls together, see what they do to memory, gradient and device.

Its own code, since no library draws this: thousands of chains of calls are probed at
build time, kept small, drawn by one script and, for the page as it opens, in Python.
"""

from __future__ import annotations

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive; write the data when all pages have been read."""
    from tensor_copies.explorer import page
    from tensor_copies.gallery import PARALLEL

    app.connect("builder-inited", page.want_probes, priority=420)
    app.add_directive("explorer", page.ExplorerDirective)
    app.add_node(page.explorer, html=(page.visit_explorer, None))
    # After the error index was read: the messages lead to their entries.
    app.connect("env-updated", page.write_data)
    app.connect("html-page-context", page.load_explorer)
    return PARALLEL
