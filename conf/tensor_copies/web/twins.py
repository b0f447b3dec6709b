"""Write what machines read of the site: a page's Markdown, and ``llms.txt``.

Beside each page stands its Markdown: ``detach.md`` beside ``detach.html``. ``llms.txt``
leads to these, and has the sections of each page below it, as the search finds them.
"""

import re
from pathlib import Path
from urllib.parse import urljoin

from sphinx.application import Sphinx

from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.search.sections import all_sections
from tensor_copies.web.frame import SITE


def write_twins(app: Sphinx) -> tuple[()]:
    """Write the Markdown of each page, and the list of all (``html-collect-pages``)."""
    lessons, parts = lesson_scripts(app), {True: [], False: []}
    for page, sections in all_sections(app).items():
        address = urljoin(app.config.html_baseurl, app.builder.get_target_uri(page))
        listed = parts[page in lessons]
        said = app.env.metadata[page]["description"]
        title = _escaped(app.env.titles[page].astext())
        listed.append(f"- [{title}]({address.removesuffix('.html')}.md): {said}")
        text = []
        for one in sections:
            link = f"{address}#{one.anchor}" if one.anchor else address
            head, heading = "##" if one.anchor else "#", _escaped(one.heading)
            text.append(f"{head} {heading}\n\n{one.kind}, {link}\n\n{one.text}")
            if one.anchor:
                line = f"  - {one.kind}: [{heading}]({link}): {one.sentence}"
                listed.append(line.rstrip(": "))
        Path(app.outdir, f"{page}.md").write_text("\n".join(text), encoding="utf-8")
    lines = [f"# {app.config.project}", "", f"> {SITE}"]
    lines += ["", "## Lessons", "", *parts[True], "", "## Pages", "", *parts[False]]
    Path(app.outdir, "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ()  # no page of Sphinx


def _escaped(title: str) -> str:
    return re.sub(r"([\[\]<>])", r"\\\1", title)
