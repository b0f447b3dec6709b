"""Connect sphinx-gallery to fresh processes and to kept results."""

import sys
from tempfile import mktemp

from sphinx.application import Sphinx

# What each room's ``setup`` returns: Sphinx may read and write pages in two processes.
PARALLEL = {"parallel_read_safe": True, "parallel_write_safe": True}


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect around the gallery, which runs the lessons at ``builder-inited`` 500."""
    from jupyter_cache.cache.main import JupyterCacheBase
    from jupyter_client.manager import AsyncKernelManager

    from tensor_copies.gallery import kept, pages

    # Two processes write this cache. One that truncates it takes a page that the other
    # is just writing for an old one, and fails. There are few pages: keep all.
    JupyterCacheBase.truncate_caches = lambda cache: None
    # Ports are chosen before kernels take them: of two that begin at once one may die.
    if sys.platform == "linux":  # elsewhere one process reads (build_site.py)
        AsyncKernelManager.transport.default_value = "ipc"
        AsyncKernelManager._ip_default = lambda kernel: mktemp()  # its sockets' names
    # Sphinx reads all pages again when the first changes, and writes them again when
    # the second does.
    app.add_config_value("code_of_the_site", "", "env", str)
    app.add_config_value("style_of_the_site", "", "html", str)
    app.connect("config-inited", kept.forget_what_is_stale)
    app.connect("builder-inited", before_the_gallery, priority=490)
    app.connect("builder-inited", after_the_gallery, priority=510)
    app.connect("env-get-outdated", kept.remove_pages_that_are_gone)
    app.connect("env-before-read-docs", pages.spread_pages)
    app.connect("env-updated", kept.write_all_if_titles_changed, priority=50)
    return PARALLEL


def before_the_gallery(app: Sphinx) -> None:
    """Give each lesson a fresh process; begin what other rooms want."""
    from tensor_copies.gallery import isolation, kept

    isolation.use_fresh_processes(app)
    kept.begin_what_is_wanted()


def after_the_gallery(app: Sphinx) -> None:
    """Stop if lessons failed, before any page is read; wait for what was begun."""
    from tensor_copies.gallery import isolation, kept

    isolation.stop_if_lessons_failed(app)
    kept.finish_what_was_begun()
