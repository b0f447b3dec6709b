"""What the search page says of each page that it finds: its kind and what it is about.

Sphinx would fetch each page that it finds and cut a piece out of it, the words of
buttons and drawings among them. The search page gets a list instead
(``_static/search_pages.js``), from which ``static/search_results.js`` takes the
page's own description, as search engines do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes

from tensor_copies.machine.lesson_list import lesson_scripts

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

DATA = "search_pages.js"
LESSON, PAGE = "Lesson", "Page"
# What an index entry of a page is, where it is not just a place on it.
ENTRIES = {"atlas": "Call", "glossary": "Term"}


def write_list(app: Sphinx, env: BuildEnvironment) -> None:
    """Write the list, lessons first and in reading order: a script, as for a file."""
    if app.builder.format != "html":
        return
    lessons = list(lesson_scripts(app))
    others = sorted(set(env.found_docs) - set(lessons))
    pages = {
        page: [
            LESSON if page in lessons else PAGE,
            env.metadata.get(page, {}).get("description", ""),
        ]
        for page in [*lessons, *others]
    }
    entries = {
        page: {
            target: [value, meanings.get(target, "")]
            for _, value, target, *_ in found
            if target
        }
        for page, found in env.get_domain("index").entries.items()
        if found and page in ENTRIES
        for meanings in [_meanings(env.get_doctree(page))]
    }
    data = {"pages": pages, "entries": entries, "kinds": ENTRIES}
    static = Path(app.outdir, "_static")
    static.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    (static / DATA).write_text(f"window.searchPages={text};\n", encoding="utf-8")


def _meanings(doctree: nodes.document) -> dict[str, str]:
    """Return the first sentence of each definition, by the target of its term."""
    found = {}
    for item in doctree.findall(nodes.definition_list_item):
        text = " ".join(item[-1].astext().split())
        sentence, dot, _ = text.partition(". ")
        for term in item.findall(nodes.term):
            found |= dict.fromkeys(term["ids"], sentence + dot.strip())
    return found


def add_scripts(app: Sphinx, page: str, *_: object) -> None:
    """Load list and script on the search page only, after the one for messages."""
    if page == "search":
        for script in (DATA, "search_results.js"):
            app.add_js_file(script, loading_method="defer")
