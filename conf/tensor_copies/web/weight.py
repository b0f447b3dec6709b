"""Leave out what a reader has no use for: files of a page, comments of a style.

Extensions add their files to every page of a site. A reader on a phone pays for each
of them on the first visit, before the page is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tensor_copies.lessons.predictions import choices

# None of our styles has a text in quotes that looks like one.
COMMENT = re.compile(r"[ \t]*/\*.*?\*/[ \t]*\n?", re.DOTALL)


def _is_computed(doctree: nodes.document) -> bool:
    return any("cell" in node["classes"] for node in doctree.findall(nodes.container))


def _has_code(doctree: nodes.document) -> bool:
    return next(doctree.findall(nodes.literal_block), None) is not None


def _has_choices(doctree: nodes.document) -> bool:
    return next(doctree.findall(choices), None) is not None


def _never(doctree: nodes.document) -> bool:
    return False


# Which pages need a file, by the beginning of its name.
NEEDED_BY: dict[str, Callable[[nodes.document], bool]] = {
    "mystnb.": _is_computed,
    "code.js": _has_code,
    "predict.js": _has_choices,
    "pygments.": _has_code,
    # Furo's rules for extensions and an ad that this site does not have.
    "furo-extensions.": _never,
    "sg-tags.": _never,  # filters the gallery's cards by tags; no lesson has any
    # Keys and marks of Sphinx's own search, in the place of which there is ours.
    "doctools.": _never,
    "documentation_options.": _never,
    "sphinx_highlight.": _never,
}


def trim(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Drop the files that a page does not need from its lists of files."""
    for kind in ("css_files", "script_files"):
        context[kind] = [
            file for file in context[kind] if _is_needed(str(file.filename), doctree)
        ]


def drop_comments(app: Sphinx, error: Exception | None) -> None:
    """Publish our styles without their comments, which a reader would wait for."""
    if error is not None or app.builder.format != "html":
        return
    for folder in app.config.html_static_path:
        static = Path(app.confdir, folder)
        for source in static.rglob("*.css"):
            published = Path(app.outdir, "_static", source.relative_to(static))
            text = COMMENT.sub("", source.read_text(encoding="utf-8"))
            if published.exists() and published.read_text(encoding="utf-8") != text:
                published.write_text(text, encoding="utf-8")


def _is_needed(file: str, doctree: nodes.document | None) -> bool:
    name = PurePosixPath(file).name
    for beginning, needs in NEEDED_BY.items():
        if name.startswith(beginning):
            return doctree is not None and needs(doctree)
    return True
