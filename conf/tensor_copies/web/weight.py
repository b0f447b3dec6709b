"""The files that a page loads: those that it names, and of all others what it needs.

Extensions add their files to every page of a site. A reader on a phone pays for each
of them on the first visit, before the page is drawn. So those that a page has no use
for are left out, and of our styles the comments.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tensor_copies.lessons.predictions import choices

# None of our styles has a text in quotes that looks like one.
COMMENT = re.compile(r"[ \t]*/\*.*?\*/[ \t]*\n?", re.DOTALL)


def _is_cell(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "cell" in node["classes"]


# What a page must have to need a file, by the beginning of the file's name.
NEEDED_FOR: dict[str, Any] = {
    "mystnb.": _is_cell,
    "code.js": nodes.literal_block,
    "predict.js": choices,
    "pygments.": nodes.literal_block,
}
NEVER_NEEDED = (
    # Furo's rules for extensions and an ad that this site does not have.
    "furo-extensions.",
    "sg-tags.",  # filters the gallery's cards by tags; no lesson has any
    # Keys and marks of Sphinx's own search, in the place of which there is ours.
    *("doctools.", "documentation_options.", "sphinx_highlight."),
)


def add_styles(app: Sphinx, page: str, *_: object) -> None:
    """Load the styles in ``static/`` that a page's front matter names (``styles:``)."""
    for name in app.env.metadata.get(page, {}).get("styles", "").split():
        app.add_css_file(name)


def trim(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Drop the files that a page does not need from its lists of files."""
    for kind in ("css_files", "script_files"):
        context[kind] = [
            file for file in context[kind] if _is_needed(str(file.filename), doctree)
        ]


def drop_comments(app: Sphinx) -> None:
    """Publish our styles without their comments, which a reader would wait for."""
    for folder in app.config.html_static_path:
        static = Path(app.confdir, folder)
        for source in static.rglob("*.css"):
            published = Path(app.outdir, "_static", source.relative_to(static))
            text = COMMENT.sub("", source.read_text(encoding="utf-8"))
            if published.exists() and published.read_text(encoding="utf-8") != text:
                published.write_text(text, encoding="utf-8")


def _is_needed(file: str, doctree: nodes.document | None) -> bool:
    name = PurePosixPath(file).name
    for beginning, wanted in NEEDED_FOR.items():
        if name.startswith(beginning):
            return doctree is not None and any(doctree.findall(wanted))
    return not name.startswith(NEVER_NEEDED)
