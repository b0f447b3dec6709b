"""Make what stands around the pages: head, foot, twins, wheel."""

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the writing of the pages, and to what is written beside them."""
    from tensor_copies.gallery import PARALLEL
    from tensor_copies.web import frame, machines, twins, wheel

    # A change makes Sphinx read the pages again.
    app.add_config_value("site_repository", "", "env", types=str)
    app.add_directive("machines", machines.Machines)
    app.add_directive("install-line", wheel.InstallLine)
    # When all parts of a page are in place, and before its reading ends (900).
    app.connect("doctree-read", frame.keep_description, priority=895)
    app.connect("html-page-context", frame.tell_template, priority=900)
    app.connect("html-collect-pages", twins.write_twins)
    app.connect("html-collect-pages", wheel.build_wheel)
    return PARALLEL
