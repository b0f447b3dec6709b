"""Mend in a written page what theme and extensions leave wrong in all of them.

Each mend names what it mends, and a mark of the pages that need it: where it does not
find its place on such a page, the build warns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

from sphinx.jinja2glue import BuiltinTemplateLoader
from sphinx.util import logging

logger = logging.getLogger(__name__)

# The narrowest phone (320 px) shows this many columns of code.
COLUMNS = 36

_SPAN = r'<span class="\1">\2</span>'
_FURO, _TEXT, _ANY = '<div class="page">', '<p class="stamp">', None
_HIDDEN = '<details class="admonition hide'
MENDS: list[tuple[str | None, str, str | Callable[[re.Match], str]]] = [
    # Furo: two landmarks of the same kind need names.
    (_FURO, r'<aside class="sidebar-drawer"(?=>)', r'\g<0> aria-label="Site"'),
    (
        _FURO,
        r'<aside class="toc-drawer( no-toc)?"(?=>)',
        r'\g<0> aria-label="On this page"',
    ),
    # Furo: the checkboxes that open the drawers are no part of any landmark, and would
    # be reached before the link that skips them.
    (
        _FURO,
        r'((?:<input type="checkbox" class="sidebar-toggle"[^>]*>\s*){2})'
        r'((?:<label class="overlay [^>]*>.*?</label>\s*){2})'
        r'(<a class="skip-to-content[^>]*>.*?</a>)',
        r'\3\n<nav class="drawers" aria-label="Drawers">\n\1</nav>\n\2',
    ),
    # Furo: on a phone the search is in a drawer. A box stands in sight beside the name,
    # which asks where the drawer's does.
    (
        _FURO,
        r'(<div class="header-center">\s*<a [^>]*>.*?</a>)'
        r'(.*?<form class="sidebar-search-container"[^>]* action="([^"]*)")',
        r'\1<form class="header-search" role="search" aria-label="Search this site" '
        r'method="get" action="\3"><input type="search" name="q" placeholder="Search" '
        r'aria-label="Search this site" autocomplete="off" autocapitalize="none" '
        r'spellcheck="false"></form>\2',
    ),
    # Sphinx: a caption of the sidebar is said to be a heading, but not of which level.
    (_ANY, r'<p class="caption" role="heading">', '<p class="caption">'),
    # MyST-NB: this label hides from a screen reader what the summary says, and a
    # summary must not hold paragraphs.
    (_HIDDEN, r'<summary aria-label="Toggle hidden content">', "<summary>"),
    (_HIDDEN, r'<p class="((?:collapsed|expanded) admonition-title)">(.*?)</p>', _SPAN),
    # docutils repeats Furo's.
    (_TEXT, r'<meta name="viewport" content="width=device-width, .*?" />\n?', ""),
    # Pygments: a third of a page's elements say of names, commas and blanks that they
    # have the colour that all text has.
    (_ANY, r'<span class="(?:n|nn|p|w)">([^<]*)</span>', r"\1"),
    # Code that may be wider than a phone is scrolled with the arrow keys.
    (_ANY, r"<pre>(.*?)</pre>", lambda found: _reachable(found)),
]
# Links that are relative to a page: no scheme, not from the root, not of the page.
_RELATIVE = re.compile(
    r'(?<=\s)(href|src|action|data-content_root|srcset)="(?![a-z]+:|/|#)(?:\./)?'
)


class MendingTemplates(BuiltinTemplateLoader):
    """Sphinx's own templates; each page they give is mended."""

    def render(self, template: str, context: dict[str, Any]) -> str:
        """Return the page."""
        page = mend(super().render(template, context), context.get("pagename", ""))
        if (root := context.get("links_begin_at")) is not None:
            page = _RELATIVE.sub(rf'\1="{root}', page)
        return page


def mend(page: str, name: str) -> str:
    """Apply all mends to the HTML of a page; warn of one that finds no place."""
    for mark, old, new in MENDS:
        page, times = re.subn(old, new, page, flags=re.DOTALL)
        if mark is not None and mark in page and times == 0:
            logger.warning(
                "mending.py finds no %s; see what stands there", old, location=name
            )
    return page


def _reachable(found: re.Match) -> str:
    text = unescape(re.sub("<[^>]*>", "", found[1]))
    if max(map(len, text.splitlines()), default=0) <= COLUMNS:
        return found[0]
    return f'<pre tabindex="0">{found[1]}</pre>'
