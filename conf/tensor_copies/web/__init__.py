"""The site around the pages: head, foot, addresses, search."""

from __future__ import annotations

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the writing of the pages, and to what is written beside them."""
    from tensor_copies.web import (
        chain_links,
        cheat_sheet,
        files,
        foot,
        head,
        home,
        machines,
        made_pages,
        search_index,
        sections,
        steps_of_pairs,
        wheel,
    )

    # A change makes Sphinx read the pages again, or write them again.
    app.add_config_value("site_repository", "", "env", types=str)
    app.add_config_value("site_is_indexed", True, "html", types=bool)
    app.add_config_value("redirects", {}, "html", types=dict)
    app.add_directive("sheet-calls", cheat_sheet.SheetCalls)
    app.add_directive("sheet-pictures", cheat_sheet.SheetPictures)
    app.add_directive("sheet-messages", cheat_sheet.SheetMessages)
    app.add_directive("sheet-foot", cheat_sheet.SheetFoot)
    app.add_directive("doors", home.Doors)
    app.add_directive("message-box", home.MessageBox)
    app.add_directive("machines", machines.Machines)
    app.add_directive("install-line", wheel.InstallLine)
    # After the row of actions was made (400) and the lesson's place put in it (410).
    app.connect("doctree-read", chain_links.add_link, priority=420)
    # When all pages have been read.
    app.connect("doctree-resolved", chain_links.make_link)
    app.connect("doctree-resolved", cheat_sheet.fill)
    # After the pairs were set side by side (460).
    app.connect("doctree-read", steps_of_pairs.add_buttons, priority=470)
    app.connect("doctree-read", head.keep_description)
    app.connect("html-page-context", foot.add_foot)
    app.connect("html-page-context", head.add_head)
    app.connect("html-page-context", head.add_styles)
    # When all parts of a page are in place, and before its reading ends (900).
    app.connect("doctree-read", sections.keep, priority=895)
    app.connect("env-updated", search_index.write)
    app.connect("builder-inited", made_pages.replace_search)
    app.connect("html-collect-pages", made_pages.make)

    def finish(app: Sphinx, exception: Exception | None) -> None:
        if exception is None and app.builder.format == "html":
            steps_of_pairs.publish(app)
            files.write(app)
            wheel.publish(app)

    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
