"""Which pages must be written again, and what must go from the built site.

A page shows things of other pages: their titles in the sidebar and in links, their
order in "Next" and "Previous". Sphinx writes again only the pages that it has read
again. So all that pages take from each other is noted as one key; when it changes, all
pages are written, into an emptied folder, as in a clean build.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tensor_copies.machine.code_keys import key_of
from tensor_copies.machine.fingerprint import CONF, fingerprint
from tensor_copies.machine.lesson_list import lesson_scripts

BUILD = CONF.parent / "build"


def write_what_changed(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return all pages if something that they share has changed."""
    if app.builder.format != "html":
        return []
    # MyST-NB writes this after the pages, whose links say whether it was there.
    for late in Path(app.outdir, "_static").glob("mystnb.*.css"):
        late.unlink()
    shared = shared_key(app, env)
    if getattr(env, "shared_key", None) == shared:
        return []
    env.shared_key = shared
    if Path(app.outdir).is_relative_to(BUILD):  # else it may hold what is not ours
        for path in Path(app.outdir).iterdir():
            if path.is_dir() and path != Path(app.doctreedir):
                shutil.rmtree(path)
            elif path.is_file():
                path.unlink()
    return sorted(env.found_docs)


def shared_key(app: Sphinx, env: BuildEnvironment) -> str:
    """Return the key of all that a page may take from other pages."""
    names = env.get_domain("std")
    (gallery,) = app.config.sphinx_gallery_conf["gallery_dirs"]
    shared = [
        sorted((page, str(title)) for page, title in env.titles.items()),
        sorted((page, str(title)) for page, title in env.longtitles.items()),
        sorted((page, contents.pformat()) for page, contents in env.tocs.items()),
        sorted(env.toctree_includes.items()),
        [sorted(domain.get_objects()) for domain in env.domains.sorted()],
        sorted(names.labels.items()),
        sorted(names.anonlabels.items()),
        sorted(
            (page, sorted(metadata.get("myst_slugs", {}).items()))
            for page, metadata in env.metadata.items()
        ),
        # The files beside the pages: one that is gone must go from the site.
        sorted((name, file) for name, (_, file) in env.images.items()),
        sorted((name, file) for name, (_, file) in env.dlfiles.items()),
        sorted(
            path.relative_to(app.srcdir).as_posix()
            for path in Path(app.srcdir, gallery).rglob("images/**/*.*")
        ),
        list(lesson_scripts(app)),
        str(fingerprint()),
    ]
    return key_of(*map(repr, shared))
