"""The Atlas: run the probes, keep what they saw, show it as a table."""

from __future__ import annotations

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the table's directives; probe once, publish the data with the site."""
    from tensor_copies.atlas import chooser, data, lanes, page
    from tensor_copies.gallery import PARALLEL

    app.connect("builder-inited", data.want_probes, priority=410)
    app.add_directive("atlas", page.AtlasTable)
    app.add_directive("atlas-calls", chooser.AtlasCalls)
    app.add_directive("atlas-columns", page.AtlasColumns)
    app.add_directive("atlas-files", page.AtlasFiles)
    app.connect("env-updated", lanes.write_calls)
    app.connect("html-page-context", page.add_script)
    app.connect("html-page-context", chooser.add_script)
    app.connect("build-finished", data.publish_atlas)
    return PARALLEL
