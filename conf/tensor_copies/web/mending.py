"""What theme and extensions leave wrong in all pages, mended when a page is written.

This is for what no template and no option reaches. A mend goes when what it mends is
mended at its address; where it finds no place on a page that needs it, the build warns.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from sphinx.jinja2glue import BuiltinTemplateLoader
from sphinx.util import logging

logger = logging.getLogger(__name__)


class Mend(NamedTuple):
    """What is put in the place of a pattern."""

    mark: str  # a page that has this needs the mend
    pattern: str
    replacement: str
    reason: str
    upstream: str


FURO = '<div class="page">'
MENDS = [
    Mend(
        FURO,
        r'<aside class="sidebar-drawer"',
        r'\g<0> aria-label="Site"',
        "Two landmarks of one kind are told apart by names.",
        "https://github.com/pradyunsg/furo/issues",
    ),
    Mend(
        FURO,
        r'<aside class="toc-drawer[^"]*"',
        r'\g<0> aria-label="On this page"',
        "Two landmarks of one kind are told apart by names.",
        "https://github.com/pradyunsg/furo/issues",
    ),
    Mend(
        FURO,
        r'((?:<input type="checkbox" class="sidebar-toggle"[^>]*>\s*){2})'
        r'((?:<label class="overlay [^>]*>.*?</label>\s*){2})'
        r'(<a class="skip-to-content[^>]*>.*?</a>)',
        r'\3\n<nav class="drawers" aria-label="Drawers">\n\1</nav>\n\2',
        "The checkboxes that open the drawers are in no landmark, and the Tab key "
        "reaches them before the link that skips them.",
        "https://github.com/pradyunsg/furo/pull/660",
    ),
    Mend(
        FURO,
        r'(<div class="header-center">\s*<a [^>]*>.*?</a>)'
        r'(.*?<form class="sidebar-search-container"[^>]* action="([^"]*)")',
        r'\1<form class="header-search" role="search" aria-label="Search this site" '
        r'method="get" action="\3"><input type="search" name="q" placeholder="Search" '
        r'aria-label="Search this site" autocomplete="off" autocapitalize="none" '
        r'spellcheck="false"></form>\2',
        "On a phone the only search is in a drawer that is closed.",
        "https://github.com/pradyunsg/furo/issues/515",
    ),
    Mend(
        '<details class="admonition hide',
        r'<summary aria-label="Toggle hidden content">\s*'
        r'<p class="(collapsed admonition-title)">(.*?)</p>\s*'
        r'<p class="(expanded admonition-title)">(.*?)</p>',
        r'<summary>\n<span class="\1">\2</span>\n<span class="\3">\4</span>',
        "The label hides from a screen reader what the summary says, and a summary "
        "must not hold paragraphs.",
        "https://github.com/executablebooks/MyST-NB/issues",
    ),
    Mend(
        '<span class="n">',
        r'<span class="(?:n|nn|p|w)">([^<]*)</span>',
        r"\1",
        "A third of a page's elements say of names, commas and blanks that they have "
        "the colour of all text.",
        "https://github.com/pygments/pygments/issues",
    ),
]
# Links that are relative to a page: no scheme, not from the root, not of the page. A
# host shows one page at any depth, and Sphinx has no option that begins its links at
# the root: https://github.com/readthedocs/sphinx-notfound-page is there for that.
RELATIVE = re.compile(
    r'(?<=\s)(href|src|action|data-content_root|srcset)="(?![a-z]+:|/|#)(?:\./)?'
)


class MendingTemplates(BuiltinTemplateLoader):
    """Sphinx's own templates; each page they give is mended."""

    def render(self, template: str, context: dict[str, Any]) -> str:
        """Return the page."""
        page = mend(super().render(template, context), context.get("pagename", ""))
        if (root := context.get("links_begin_at")) is not None:
            page = RELATIVE.sub(rf'\1="{root}', page)
        return page


def mend(page: str, name: str) -> str:
    """Apply all mends to the HTML of a page."""
    for one in MENDS:
        if one.mark in page:
            pattern = re.compile(one.pattern, re.DOTALL)
            page, times = pattern.subn(one.replacement, page)
            if not times:
                logger.warning(
                    "mending.py finds no %s; see what stands there", one.pattern,
                    location=name,
                )  # fmt: skip
    return page
