"""What machines read of the site: ``llms.txt``, ``sitemap.xml`` and ``robots.txt``.

All three list the pages with a document of their own. A sitemap must give whole
addresses, so it is made only where the site's address is known.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.web.head import SITE

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the three files, or remove what is not wanted any more."""
    if exception is not None or app.builder.name != "html":
        return
    pages = _in_order(app)
    base = app.config.html_baseurl
    mapped = bool(base) and app.config.site_is_indexed
    _write(app, "llms.txt", _llms(app, pages))
    _write(app, "sitemap.xml", _sitemap(app, pages) if mapped else "")
    _write(app, "robots.txt", _robots(base) if mapped else "")


def _in_order(app: Sphinx) -> list[str]:
    """Return home, the lessons in reading order, and the other pages by name."""
    lessons = list(lesson_scripts(app))
    first = [app.config.root_doc, *lessons]
    return first + sorted(app.env.found_docs - set(first))


def _write(app: Sphinx, name: str, text: str) -> None:
    path = Path(app.outdir, name)
    if text:
        path.write_text(text, encoding="utf-8")
    else:
        path.unlink(missing_ok=True)


def _llms(app: Sphinx, pages: list[str]) -> str:
    lessons = set(lesson_scripts(app))
    lines = [f"# {app.config.project}", "", f"> {SITE}", "", "## Lessons", ""]
    lines += [_line(app, page) for page in pages if page in lessons]
    lines += ["", "## Pages", ""]
    lines += [_line(app, page) for page in pages if page not in lessons]
    return "\n".join(lines) + "\n"


def _line(app: Sphinx, page: str) -> str:
    """Return a page's link with its title and what it says of itself."""
    address = urljoin(app.config.html_baseurl, app.builder.get_target_uri(page))
    title = re.sub(r"([\[\]<>])", r"\\\1", app.env.titles[page].astext())
    return f"- [{title}]({address}): {app.env.metadata[page]['description']}"


def _sitemap(app: Sphinx, pages: list[str]) -> str:
    base = app.config.html_baseurl
    addresses = [urljoin(base, app.builder.get_target_uri(page)) for page in pages]
    lines = [f"<url><loc>{escape(address)}</loc></url>" for address in addresses]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
            *lines,
            "</urlset>\n",
        ]
    )


def _robots(base: str) -> str:
    return f"User-agent: *\nAllow: /\n\nSitemap: {urljoin(base, 'sitemap.xml')}\n"
