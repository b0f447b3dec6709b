"""Which pages must be read again: those made from something that has changed.

Sphinx goes by dates. A file that is put back, unpacked or copied with its old date is
another file all the same, and a recording that is new was no file at all when the page
was read. So what a page was made from is noted as keys, by name, in its metadata;
a page whose keys are others now is read again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from docutils.nodes import document
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tensor_copies.machine.code_keys import hash_of, key_of

# The key of what a page is made from: of the page, or of all pages that ask for it.
Key = Callable[["Sphinx", str], str]
_keys: dict[str, Key] = {}
FACTS = "made_from"


def add_key(name: str, key: Key) -> None:
    """Give the keys of a kind a name, by which pages ask for it."""
    _keys[name] = key


def depend_on(app: Sphinx, name: str) -> None:
    """Read the page that is being read again when its key of this name changes."""
    page = app.env.docname
    facts = app.env.metadata[page].setdefault(FACTS, {})
    facts[name] = _keys[name](app, page)


def depend_on_files(app: Sphinx, doctree: document) -> None:
    """Note what the files that a page was read from hold (after all other hooks)."""
    page = app.env.docname
    # What a page only offers for download is copied in each build, and no part of it.
    offered = {name for name, (pages, _) in app.env.dlfiles.items() if page in pages}
    app.env.dependencies[page] = {
        path for path in app.env.dependencies[page] if str(path) not in offered
    }
    depend_on(app, "files")


def files_of(app: Sphinx, page: str) -> str:
    """Return the key of a page's source and of all files that it depends on."""
    files = [Path(app.env.doc2path(page))]
    files += (Path(app.srcdir, name) for name in sorted(app.env.dependencies[page]))
    return key_of(*map(hash_of, files))


def forget_dates(app: Sphinx) -> None:
    """Let no page be read again for a newer date of a file that holds the same.

    The gallery writes the files of a lesson anew each time that it runs, also those
    that other pages show and that have not changed.
    """
    for page, metadata in app.env.metadata.items():
        then = metadata.get(FACTS, {}).get("files")
        if page in app.env.all_docs and then == files_of(app, page):
            app.env.all_docs[page] = time.time_ns() // 1000


def find_outdated(app: Sphinx, env: BuildEnvironment, *_: object) -> list[str]:
    """Return the pages that were made from something else than there is now."""
    return [
        page
        for page, metadata in env.metadata.items()
        if any(
            _keys[name](app, page) != then
            for name, then in metadata.get(FACTS, {}).items()
        )
    ]
