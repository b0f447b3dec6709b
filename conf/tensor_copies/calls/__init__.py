"""What calls do: probed once, said in words, drawn, and shown on pages.

The Atlas, the explorer, tables, cards of the search and the costs of cures take their
facts from this room.
"""

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives; probe once, write the data when all pages are read."""
    from tensor_copies.calls import atlas, explorer, facts, tables
    from tensor_copies.gallery import PARALLEL

    app.connect("builder-inited", facts.want_probes, priority=410)
    app.add_directive("atlas", atlas.AtlasTable)
    app.add_directive("atlas-columns", atlas.AtlasColumns)
    app.add_directive("calls-table", tables.CallsTable)
    app.add_directive("call-pictures", tables.CallPictures)
    app.add_directive("explorer", explorer.ExplorerDirective)
    app.add_node(atlas.atlas, html=(atlas.visit_atlas, None))
    app.add_node(explorer.explorer, html=(explorer.visit_explorer, None))
    # After the error index was read: the messages lead to their entries.
    app.connect("env-updated", explorer.write_facts)
    app.connect("build-finished", facts.publish)
    return PARALLEL
