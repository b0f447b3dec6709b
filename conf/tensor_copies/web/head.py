"""What the head of a page says of it: a description, and a card for shared links.

The description is the page's own first paragraph. All pages share the picture, of a
shared memory and a copy: ``static/card.png``, drawn by tensor_maps.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from markupsafe import Markup
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging

from tensor_copies.gallery.lessons import lesson_scripts

logger = logging.getLogger(__name__)
LONGEST = 160  # characters; what a search engine shows of a description
SENTENCE = re.compile(r".*?[.?!](?=\s|$)")
SITE = "What a PyTorch call does to memory, gradients and devices, shown by running it."
CARD, CARD_SIZE = "_static/card.png", (1200, 630)
OF_CELLS = "mystnb."  # styles of a page that computes
OF_CODE = ("pygments.", "code.js", "lessons.css")
OF_QUESTIONS = "predict."
UNUSED = (
    # Furo's rules for extensions and an ad that this site does not have.
    "furo-extensions.",
    "sg-tags.",  # filters the gallery's cards by tags; no lesson has any
    # Keys and marks of Sphinx's own search, in the place of which there is ours.
    *("doctools.", "documentation_options.", "sphinx_highlight."),
)
ON_CARD = "Two tensors share memory, without a gradient. Beside them is a copy."


def add_head(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Put description and card into the head of a page."""
    said = app.env.metadata.get(page, {}).get("description", SITE)
    description = context.get("description", said)
    title = escape(Markup(context.get("title", "")).striptags())
    if not title or page == app.config.root_doc:  # home goes by the site's name
        title = app.config.project
    base = app.config.html_baseurl
    # A link preview needs the whole address; without one the link stays in the site.
    image = urljoin(base, CARD) if base else context["pathto"](CARD, resource=True)
    properties = {
        "og:type": "article" if page in lesson_scripts(app) else "website",
        "og:site_name": escape(app.config.project),
        "og:title": title,
        "og:description": escape(description),
        "og:image": image,
        "og:image:width": CARD_SIZE[0],
        "og:image:height": CARD_SIZE[1],
        "og:image:alt": ON_CARD,
    }
    if base and context.get("pageurl"):
        properties["og:url"] = urljoin(base, app.builder.get_target_uri(page))
    lines = [
        f'<meta name="description" content="{escape(description)}">',
        *(f'<meta property="{key}" content="{properties[key]}">' for key in properties),
        '<meta name="twitter:card" content="summary_large_image">',
    ]
    if doctree is None or not app.config.site_is_indexed:
        lines.append('<meta name="robots" content="noindex">')
    context["site_icon"] = Path(app.confdir, app.config.html_favicon).read_text()
    # docutils repeats what Furo says (github.com/sphinx-doc/sphinx/issues/11699).
    given = context.get("metatags", "").splitlines()
    kept = [line for line in given if 'name="viewport"' not in line]
    context["metatags"] = "\n".join([*kept, *lines])


def load_what_is_used(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Load the styles that a page's front matter names (``styles:``), and no unused.

    Extensions add their files to every page. Left out, they save a phone 12 kB before
    a page is drawn, a quarter of a lesson; and the home page 9 kB, which has no code.
    """
    for name in app.env.metadata.get(page, {}).get("styles", "").split():
        app.add_css_file(name)
    unused = list(UNUSED)
    if not _has(doctree, nodes.container, "cell"):
        unused.append(OF_CELLS)
    if not _has(doctree, nodes.literal_block):
        unused += OF_CODE
    if not _has(doctree, nodes.inline, "predict-question"):
        unused.append(OF_QUESTIONS)
    for kind in ("css_files", "script_files"):
        context[kind] = [
            file
            for file in context[kind]
            if not Path(str(file.filename)).name.startswith(tuple(unused))
        ]
        for name in (str(file.filename) for file in context[kind]):
            # The style of cells is written after the pages.
            if not Path(app.outdir, name).exists() and OF_CELLS not in name:
                logger.warning(
                    "%s is not there: mend its name, or put it into conf/static",
                    name, location=page, once=True,
                )  # fmt: skip


def _has(doctree: nodes.document | None, kind: type, name: str = "") -> bool:
    """Whether a page has a node of a kind, with a class if one is named."""
    found = doctree.findall(kind) if doctree is not None else ()
    return any(not name or name in node["classes"] for node in found)


def keep_description(app: Sphinx, doctree: nodes.document) -> None:
    """Keep what a page says of itself, for its head and for lists of pages."""
    paragraphs = (
        one
        for one in doctree.findall(nodes.paragraph)
        # No switch, no download, no note on the machines: those have classes of ours.
        if isinstance(one.parent, nodes.section) and not one["classes"]
    )
    opening = next(paragraphs, nodes.paragraph())
    for link in opening.findall(addnodes.pending_xref):
        if link["reftype"] == "doc" and not link["refexplicit"]:
            # Its words are the title of a page that may not be read yet.
            logger.warning(
                "say in words what the first paragraph links to, as in "
                "{doc}`words <page>`: it describes the page",
                location=link,
            )
    said = beginning(" ".join(opening.astext().split()))
    app.env.metadata[app.env.docname]["description"] = said or SITE


def beginning(text: str) -> str:
    """Return the beginning of a text on one line: whole sentences if they fit."""
    whole = ""
    for sentence in SENTENCE.findall(text[: 2 * LONGEST]):  # it reads each letter often
        if len(whole + sentence) > LONGEST:
            break
        whole += sentence
    return whole or shorten(text, LONGEST, placeholder=" ...")
