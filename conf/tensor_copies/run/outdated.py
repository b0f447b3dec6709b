"""What Sphinx does not see of what changed between two builds.

It reads a page again when an option changes (code_keys.py makes two) or when a file of
the page has a newer date. A file that is put back or unpacked with its old date is
another file all the same: so a digest of the files of each page is kept with it. And it
writes only pages that it has read, though a page shows titles of others in its sidebar:
when what pages show of each other changes, all are written, into an emptied folder.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from docutils.nodes import document
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tensor_copies.run.code_keys import ROOT, hash_of, key_of
from tensor_copies.run.lesson_list import lesson_scripts

FACT = "made_from"
# What other pages show of a page, by its name among the facts of that page.
ELSEWHERE = "shown_elsewhere"


def depend_on_lessons(app: Sphinx) -> None:
    """Read the page that is being read again when any lesson changes."""
    for script in lesson_scripts(app).values():
        app.env.note_dependency(str(script))


def note_files(app: Sphinx, doctree: document) -> None:
    """Note what the files hold that a page was read from (after all other hooks)."""
    page = app.env.docname
    # What a page only offers for download is copied in each build, and no part of it.
    offered = {name for name, (pages, _) in app.env.dlfiles.items() if page in pages}
    app.env.dependencies[page] = {
        path for path in app.env.dependencies[page] if str(path) not in offered
    }
    app.env.metadata[page][FACT] = _files_of(app.env, page)


def find_outdated(app: Sphinx, env: BuildEnvironment, *_: object) -> list[str]:
    """Return the pages of which a file is another than it was."""
    return [
        page
        for page, metadata in env.metadata.items()
        if page in env.found_docs and metadata.get(FACT) != _files_of(env, page)
    ]


def _files_of(env: BuildEnvironment, page: str) -> str:
    files = [env.doc2path(page), *sorted(map(str, env.dependencies[page]))]
    return key_of(*(hash_of(Path(env.srcdir, name)) for name in files))


def write_what_changed(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return all pages if something has changed that they show of each other."""
    if app.builder.format != "html":
        return []
    # MyST-NB writes this after the pages, whose links say whether it was there.
    for late in Path(app.outdir, "_static").glob("mystnb.*.css"):
        late.unlink()
    shown = key_of(
        repr(sorted((page, str(title)) for page, title in env.titles.items())),
        repr(sorted(env.toctree_includes.items())),
        repr([sorted(domain.get_objects()) for domain in env.domains.sorted()]),
        repr(sorted(env.get_domain("std").labels.items())),
        repr(sorted((page, str(toc)) for page, toc in env.tocs.items())),
        repr(sorted((page, one.get(ELSEWHERE)) for page, one in env.metadata.items())),
        # The files beside the pages: one that is gone must go from the site.
        app.config.pages_are_dressed_in,
        repr(sorted((name, file) for name, (_, file) in env.images.items())),
        repr(sorted((name, file) for name, (_, file) in env.dlfiles.items())),
    )
    if getattr(env, "shown_of_others", None) == shown:
        return []
    env.shown_of_others = shown
    if Path(app.outdir).is_relative_to(ROOT / "build"):  # else it may hold other files
        for path in Path(app.outdir).iterdir():
            if path != Path(app.doctreedir):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    return sorted(env.found_docs)
