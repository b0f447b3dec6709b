"""The site around the pages: head, foot, addresses, search."""

from __future__ import annotations

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the writing of the pages, and to what is written beside them."""
    from tensor_copies.gallery import PARALLEL
    from tensor_copies.web import (
        cheat_sheet,
        files,
        foot,
        head,
        home,
        machines,
        made_pages,
        pages,
        questions,
        search_index,
        sections,
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
    app.add_directive("machines", machines.Machines)
    app.add_directive("questions", questions.Questions)
    app.add_directive("install-line", wheel.InstallLine)
    # Before Sphinx collects the contents of a page (500).
    app.connect("doctree-read", pages.change_page, priority=400)
    # When all parts of a page are in place, and before its reading ends (900).
    app.connect("doctree-read", head.keep_description, priority=895)
    app.connect("doctree-read", sections.keep_sections, priority=895)
    # When all pages have been read.
    for fill in (cheat_sheet.fill_sheet, questions.add_beside):
        app.connect("doctree-resolved", fill)
    for frame in (foot.add_foot, head.add_head, head.load_what_is_used):
        app.connect("html-page-context", frame)
    app.connect("env-updated", search_index.write_index)
    app.connect("builder-inited", made_pages.replace_search)
    app.connect("html-collect-pages", made_pages.make)

    def finish(app: Sphinx, exception: Exception | None) -> None:
        if exception is None and app.builder.format == "html":
            files.write_files(app)
            wheel.publish_wheel(app)

    app.connect("build-finished", finish)
    return PARALLEL
