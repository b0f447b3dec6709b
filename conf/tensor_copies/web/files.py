"""What machines read of the site: Markdown, ``llms.txt``, the sitemap, ``robots.txt``.

All list the pages with a document of their own. Beside each page stands its Markdown:
``detach.md`` beside ``detach.html``. ``llms.txt`` leads to these, and has the sections
of each page below it, as the search finds them; ``llms-full.txt`` is all of it. A
sitemap must give whole addresses, so it is made only where the site's address is known.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from urllib.parse import urljoin

from sphinx.application import Sphinx

from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.lessons.player import write_file
from tensor_copies.web.head import SITE
from tensor_copies.web.search_index import pages_in_order
from tensor_copies.web.sections import sections_of


def write_files(app: Sphinx) -> None:
    """Write the files, or remove what is not wanted any more."""
    pages = pages_in_order(app)
    base = app.config.html_baseurl
    mapped = bool(base) and app.config.site_is_indexed
    robots = f"User-agent: *\nAllow: /\n\nSitemap: {urljoin(base, 'sitemap.xml')}\n"
    whole = [f"# {app.config.project}\n\n> {SITE}\n"]
    for page in pages:
        text = _markdown(app, page)
        write_file(app, markdown_name(app.builder.get_target_uri(page)), text)
        whole.append(re.sub(r"^(#+ .*\n\n\w+, \S+)$", r"#\1", text, flags=re.MULTILINE))
    _write(app, "llms.txt", _llms(app, pages))
    _write(app, "llms-full.txt", "\n".join(whole))
    _write(app, "sitemap.xml", _sitemap(app, pages) if mapped else "")
    _write(app, "robots.txt", robots if mapped else "")


def _write(app: Sphinx, name: str, text: str) -> None:
    if text:
        write_file(app, name, text)
    else:
        Path(app.outdir, name).unlink(missing_ok=True)


def _llms(app: Sphinx, pages: list[str]) -> str:
    lessons = lesson_scripts(app)
    lines = [f"# {app.config.project}", "", f"> {SITE}", "", "## Lessons", ""]
    lines += [_lines(app, page) for page in pages if page in lessons]
    lines += ["", "## Pages", ""]
    lines += [_lines(app, page) for page in pages if page not in lessons]
    return "\n".join(lines) + "\n"


def _lines(app: Sphinx, page: str) -> str:
    """Return the link to a page's Markdown, what it says, and its sections' links."""
    title, said = app.env.titles[page].astext(), app.env.metadata[page]["description"]
    lines = [f"- [{_escaped(title)}]({markdown_name(_address(app, page))}): {said}"]
    for section in sections_of(app, page):
        if section.anchor:
            address = _address(app, page, section.anchor)
            link = f"[{_escaped(section.heading)}]({address})"
            lines.append(f"  - {section.kind}: {link}: {section.sentence}".rstrip(": "))
    return "\n".join(lines)


def markdown_name(address: str) -> str:
    """Return the name of the Markdown beside a page, from the page's own."""
    return f"{address.removesuffix('.html')}.md"


def _markdown(app: Sphinx, page: str) -> str:
    """Return what every section of a page says."""
    return "\n".join(
        f"{'##' if section.anchor else '#'} {_escaped(section.heading)}\n\n"
        f"{section.kind}, {_address(app, page, section.anchor)}\n\n{section.text}"
        for section in sections_of(app, page)
    )


def _address(app: Sphinx, page: str, anchor: str = "") -> str:
    address = urljoin(app.config.html_baseurl, app.builder.get_target_uri(page))
    return f"{address}#{anchor}" if anchor else address


def _escaped(title: str) -> str:
    return re.sub(r"([\[\]<>])", r"\\\1", title)


def _sitemap(app: Sphinx, pages: list[str]) -> str:
    base = app.config.html_baseurl
    addresses = [urljoin(base, app.builder.get_target_uri(page)) for page in pages]
    lines = (f"<url><loc>{escape(address)}</loc></url>\n" for address in addresses)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{''.join(lines)}</urlset>\n"
    )
