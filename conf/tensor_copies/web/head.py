"""What the head of a page says of it: a description, and a card for shared links.

The description is the page's own first paragraph. The picture of a lesson is its
first one; other pages share one, of a shared memory and a copy, with the site's name.
"""

from __future__ import annotations

import re
import shutil
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging

from tensor_copies.figures.pictures import (
    CARD_HEIGHT,
    CARD_WIDTH,
    Preview,
    card,
    load_preview,
    preview_file,
)
from tensor_copies.machine.lesson_list import lesson_scripts

logger = logging.getLogger(__name__)
LONGEST = 160  # characters; what a search engine shows of a description
SENTENCE = re.compile(r".*?[.?!](?=\s|$)")
SITE = "What a PyTorch call does to memory, gradients and devices, shown by running it."
SITE_CARD = "tensor_copies_card.png"


def add_head(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Put description and card into the head of a page, and what mending.py asks."""
    said = app.env.metadata.get(page, {}).get("description", SITE)
    description = context.get("description", said)
    title = re.sub("<[^>]*>", "", context.get("title", ""))
    if not title or page == app.config.root_doc:  # home goes by the site's name
        title = app.config.project
    name, words = SITE_CARD, SITE
    if (preview := preview_file(app.srcdir, page)) is not None:
        name = preview.with_suffix(".png").name
        words = escape(load_preview(preview).words)
    base = app.config.html_baseurl
    # A preview needs the whole address; without one the link stays within the site.
    image = (
        urljoin(base, f"_images/{name}")
        if base
        else context["pathto"](f"_images/{name}", resource=True)
    )
    properties = {
        "og:type": "website" if preview is None else "article",
        "og:site_name": escape(app.config.project),
        "og:title": title,
        "og:description": escape(description),
        "og:image": image,
        "og:image:width": CARD_WIDTH,
        "og:image:height": CARD_HEIGHT,
        "og:image:alt": shorten(words, 400, placeholder=" ..."),
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
    context["metatags"] = "\n".join([context.get("metatags", ""), *lines])


def copy_cards(app: Sphinx) -> None:
    """Put the cards of all lessons, and that of the site, into the site."""
    target = Path(app.outdir, "_images")
    target.mkdir(exist_ok=True)
    found = (preview_file(app.srcdir, page) for page in lesson_scripts(app))
    kept = [path for path in found if path is not None]
    for path in kept:
        shutil.copy2(path.with_suffix(".png"), target)
    if kept:
        sign = _sign([load_preview(path) for path in kept])
        (target / SITE_CARD).write_bytes(card(sign, app.config.html_title))


def _sign(previews: list[Preview]) -> Preview:
    """Return the site's picture: a shared memory beside a copy, as lessons saw them."""
    first = {preview.shows: preview for preview in reversed(previews)}
    shown = [first[sign] for sign in ("shared", "copied") if sign in first]
    shown = shown or previews[:1]
    words = " ".join(preview.words for preview in shown)
    return Preview(words, [part for preview in shown for part in preview.parts])


def add_styles(app: Sphinx, page: str, *_: object) -> None:
    """Load the styles in ``static/`` that a page's front matter names (``styles:``)."""
    for name in app.env.metadata.get(page, {}).get("styles", "").split():
        app.add_css_file(name)


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
    for sentence in SENTENCE.findall(text):
        if len(whole + sentence) > LONGEST:
            break
        whole += sentence
    return whole or shorten(text, LONGEST, placeholder=" ...")
