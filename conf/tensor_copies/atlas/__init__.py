"""The Atlas: run the probes, keep what they saw, show it as a table."""

from __future__ import annotations

from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Register the table's directives; probe once, publish the data with the site."""
    from tensor_copies.atlas import chooser, data, lanes, page
    from tensor_copies.run import ahead

    ahead.add("atlas", data.live_atlas)
    ahead.add("atlas", data.on_stand_in)
    app.add_directive("atlas", page.AtlasTable)
    app.add_directive("atlas-calls", chooser.AtlasCalls)
    app.add_directive("atlas-columns", page.AtlasColumns)
    app.add_directive("atlas-files", page.AtlasFiles)
    app.connect("env-updated", lanes.write_calls)
    app.connect("html-page-context", page.add_script)
    app.connect("html-page-context", chooser.add_script)
    app.connect("build-finished", data.publish_atlas)
    # After the report, beside the stale recordings of lessons.
    app.connect("build-finished", data.report_stale_atlas, priority=950)
