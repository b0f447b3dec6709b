"""Mend in a written page what theme and extensions leave wrong in all of them.

Each mend names what it mends. The tests look at the built pages with axe, so a mend
that no longer finds its place is noticed there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

from sphinx.jinja2glue import BuiltinTemplateLoader

# The narrowest phone (320 px) shows this many columns of code.
COLUMNS = 36

_SPAN = r'<span class="\1">\2</span>'
MENDS: list[tuple[str, str | Callable[[re.Match], str]]] = [
    # Furo: two landmarks of the same kind need names.
    (r'<aside class="sidebar-drawer"(?=>)', r'\g<0> aria-label="Site"'),
    (r'<aside class="toc-drawer( no-toc)?"(?=>)', r'\g<0> aria-label="On this page"'),
    # Furo: the checkboxes that open the drawers are no part of any landmark.
    (
        r'<input type="checkbox" class="sidebar-toggle"[^>]*>\s*'
        r'<input type="checkbox" class="sidebar-toggle"[^>]*>(?!\s*</nav>)',
        r'<nav class="drawers" aria-label="Drawers">\g<0></nav>',
    ),
    # Furo: its icons have titles. Sphinx marks the words of a search in them as if
    # they were drawn, which raises, and marks nothing on the rest of the page.
    (r"(<symbol\b[^>]*>\s*<title)>", r'\1 class="nohighlight">'),
    # MyST-NB: this label hides from a screen reader what the summary says, and a
    # summary must not hold paragraphs.
    (r'<summary aria-label="Toggle hidden content">', "<summary>"),
    (r'<p class="((?:collapsed|expanded) admonition-title)">(.*?)</p>', _SPAN),
    # docutils repeats Furo's.
    (r'<meta name="viewport" content="width=device-width, initial-scale=1" />\n?', ""),
    # Pygments: a third of a page's elements say of names, commas and blanks that they
    # have the colour that all text has.
    (r'<span class="(?:n|nn|p|w)">([^<]*)</span>', r"\1"),
    # Code that may be wider than a phone is scrolled with the arrow keys.
    (r"<pre>(.*?)</pre>", lambda found: _reachable(found)),
]
_COMPILED = [(re.compile(old, re.DOTALL), new) for old, new in MENDS]


class MendingTemplates(BuiltinTemplateLoader):
    """Sphinx's own templates, with the mends applied to each page they give."""

    def render(self, template: str, context: dict[str, Any]) -> str:
        """Return the page."""
        return mend(super().render(template, context))


def mend(page: str) -> str:
    """Apply all mends to the HTML of a page; a second time changes nothing."""
    for old, new in _COMPILED:
        page = old.sub(new, page)
    return page


def _reachable(found: re.Match) -> str:
    text = unescape(re.sub("<[^>]*>", "", found[1]))
    if max(map(len, text.splitlines()), default=0) <= COLUMNS:
        return found[0]
    return f'<pre tabindex="0">{found[1]}</pre>'
