"""Choose the styles and scripts of each page, and fill its head and foot.

The head describes the page by its own first paragraph. The foot says who ran what the
page shows, and leads to what it is made from. Files that no part of a page uses are
left out: extensions add 12 kB to every page, a quarter of a lesson.
"""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from babel.dates import format_date
from docutils import nodes
from sphinx.application import Sphinx

from tensor_copies.gallery.machine import this_machine
from tensor_copies.markup import beginning

SITE = "What a PyTorch call does to memory, gradients and devices, shown by running it."
GALLERY = "auto_examples/"
# Of Furo, the gallery and Sphinx's search, for features that this site does not use.
UNUSED = (
    *("furo-extensions.", "sg-tags."),
    *("doctools.", "documentation_options.", "sphinx_highlight."),
)
OF_CELLS, OF_QUESTIONS = ("mystnb.",), ("predict.",)
OF_CODE = ("pygments.", "code.js", "lessons.css")


def keep_description(app: Sphinx, doctree: nodes.document) -> None:
    """Keep what a page says of itself, for its head and for lists of pages."""
    paragraphs = (
        one
        for one in doctree.findall(nodes.paragraph)
        if isinstance(one.parent, nodes.section)
    )
    words = next(paragraphs, nodes.paragraph()).astext()
    app.env.metadata[app.env.docname]["description"] = beginning(words) or SITE


def tell_template(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the template of a page its description, stamp, links and files."""
    facts = app.env.metadata.get(page, {})
    context.setdefault("description", facts.get("description", SITE))
    context["metatags"] = ""  # docutils repeats what Furo says of the viewport
    if doctree is not None:
        context["stamp"] = _stamp(app, page)
        context["machine"] = this_machine()
        context["markdown"] = f"{page.rpartition('/')[2]}.md"
        if context["repository"]:
            # Furo reads this as a theme option: here it is the page's own.
            edit = f"{context['repository']}/edit/main/{_source(page)}"
            context["theme_source_edit_link"] = edit
    if page.startswith(GALLERY) and page.endswith("/index"):
        context["furo_hide_toc"] = False  # Furo takes its headings for lists alone
    for name in facts.get("styles", "").split():
        app.add_css_file(name, priority=900)  # after those of all pages
    for name in facts.get("scripts", "").split():
        app.add_js_file(name, loading_method="defer")
    unused = UNUSED
    # The cells of an entry of the error index are drawn as a card.
    is_plain = "messages" not in facts and _has(doctree, nodes.container, "cell")
    unused += () if is_plain else OF_CELLS
    unused += () if _has(doctree, nodes.literal_block) else OF_CODE
    unused += () if _has(doctree, nodes.admonition, "predict") else OF_QUESTIONS
    for kind in ("css_files", "script_files"):
        names = [(Path(str(one.filename)).name, one) for one in context[kind]]
        context[kind] = [one for name, one in names if not name.startswith(unused)]


def _has(doctree: nodes.document | None, kind: type, name: str = "") -> bool:
    """Whether a page has a node of a kind, with a class if one is named."""
    found = doctree.findall(kind) if doctree is not None else ()
    return any(not name or name in node["classes"] for node in found)


def _stamp(app: Sphinx, page: str) -> str:
    """Return the line that says which machine ran what a page shows, and when."""
    machine, facts = this_machine().in_sentence, app.env.metadata[page]
    ran = getattr(app.env, "nb_metadata", {}).get(page, {}).get("exec_data")
    note = Path(app.srcdir, f"{page}.py.md5")  # the gallery's, of a lesson's run
    if ran or note.exists():
        moment = ran["mtime"] if ran else note.stat().st_mtime
        day = datetime.fromtimestamp(moment, UTC).date().isoformat()
    elif "atlas_probed" in facts:
        day = facts["atlas_probed"]
    else:
        return f"No code runs on this page. The lessons ran on {machine}."
    return f"Ran on {machine} on {in_words(day)}."


def in_words(day: str) -> str:
    """Return an ISO date as 21 November 2026, in English in each locale."""
    return format_date(date.fromisoformat(day), "d MMMM y", locale="en")


def _source(page: str) -> str:
    """Return the path in the repository of what a page is made from."""
    if not page.startswith(GALLERY):
        return f"docs/{page}.md"
    ending = ".rst" if page.endswith("/index") else ".py"
    return f"examples/{page.removeprefix(GALLERY)}{ending}"
