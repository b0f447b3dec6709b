"""The foot of each page: who ran what it shows, and the ways to mend it.

"Something wrong on this page?" opens a report that names the page and the machine.
Furo's edit link leads to what the page is made from: for a lesson, its script.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from babel.dates import format_date
from sphinx.application import Sphinx

from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.gallery.machine import this_machine
from tensor_copies.web.address import BRANCH
from tensor_copies.web.files import markdown_name

HEADER = "GALLERY_HEADER.rst"  # of an overview
MACHINES = "machines"  # the page
REPORT = """What is wrong, and what did you expect?



Page: {page}
{stamp}
Machine: {machine}
"""


def add_foot(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Hand the stamp and the links to the template of a page with a document."""
    if doctree is None:
        return
    context["stamp"] = stamp(app, page)
    uri = app.builder.get_target_uri(page).rpartition("/")[2]
    context["markdown_link"] = markdown_name(uri)
    if MACHINES in app.env.found_docs and page != MACHINES:
        context["machines_link"] = context["pathto"](MACHINES)
    if repository := app.config.site_repository:
        # Furo reads this as a theme option: here it is the page's own.
        context["theme_source_edit_link"] = (
            f"{repository}/edit/{BRANCH}/{source_of(app, page)}"
        )
        context["report_link"] = report_link(app, page, context["stamp"])


def stamp(app: Sphinx, page: str) -> str:
    """Return the line that says which machine ran what a page shows, and when."""
    facts, machine = app.env.metadata.get(page, {}), this_machine().in_sentence
    ran = getattr(app.env, "nb_metadata", {}).get(page, {}).get("exec_data")
    if page in lesson_scripts(app):
        note = Path(app.srcdir, f"{page}.py.md5")  # the gallery's, of the run
        day = day_of(note.stat().st_mtime)
    elif ran:
        day = day_of(ran["mtime"])
    elif "atlas_probed" in facts:
        day = facts["atlas_probed"]
    else:
        return f"No code runs on this page. The lessons ran on {machine}."
    return f"Ran on {machine} on {in_words(day)}."


def day_of(moment: float) -> str:
    """Return the ISO date of a moment, in seconds since 1970."""
    return datetime.fromtimestamp(moment, UTC).date().isoformat()


def in_words(day: str) -> str:
    """Return an ISO date as a reader writes it, such as 21 November 2026.

    In English, whatever the locale of the machine that builds: Sphinx sets it, and
    ``strftime`` would follow.
    """
    return format_date(date.fromisoformat(day), "d MMMM y", locale="en")


def source_of(app: Sphinx, page: str) -> str:
    """Return the path in the repository of what a page is made from."""
    gallery = app.config.sphinx_gallery_conf["gallery_dirs"][0]
    examples = app.config.sphinx_gallery_conf["examples_dirs"][0]
    if (source := lesson_scripts(app).get(page)) is None:
        source = Path(app.env.doc2path(page))
        if page.startswith(f"{gallery}/"):
            section = Path(page).parent.relative_to(gallery)
            source = Path(app.srcdir, examples).resolve() / section / HEADER
    return source.relative_to(Path(app.srcdir).parent).as_posix()


def report_link(app: Sphinx, page: str, stamp: str) -> str:
    """Return the address of a new report, filled in with page and machine."""
    uri = app.builder.get_target_uri(page)
    body = REPORT.format(
        page=app.config.html_baseurl + uri,
        stamp=stamp,
        machine=this_machine(),
    )
    title = f"{app.env.titles[page].astext()}: "
    query = urlencode({"title": title, "body": body})
    return f"{app.config.site_repository}/issues/new?{query}"
