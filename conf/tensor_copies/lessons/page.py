"""How the gallery's pages look: actions under the title, cards with words.

On a lesson the gallery puts a note before the title ("Go to the end to download
...") and three boxes at the end; one row of links under the title takes their place.
The script that it offers has no marker comments (see notebooks.py).
"Next" and "Previous" lead from lesson to lesson in reading order, past the overviews.

On an overview the gallery puts cards that show a title and nothing else; a list takes
theirs: the title, the lesson's first picture in the reader's colours and the first
sentences.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from tensor_copies.figures.pictures import card_file
from tensor_copies.lessons.notebooks import BRANCH, GPU, offered_script
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.recordings.live import UnknownPage

LABELS = {".py": "Script (.py)", ".ipynb": "Notebook (.ipynb)"}
ACTIONS = "lesson-actions"
COLAB = "https://colab.research.google.com/github"
INTRODUCTION = re.compile(r'tooltip="([^"]*)"')


def change_page(app: Sphinx, doctree: nodes.document) -> None:
    """Rewrite a page of the gallery; leave every other page as it is."""
    lessons = lesson_scripts(app)
    if app.env.docname in lessons:
        _move_downloads(doctree, app.env.docname)
        _link_to_colab(app, doctree)
        app.env.metadata[app.env.docname]["styles"] = "lessons.css"
    listed: list[str] = []
    for section in list(doctree.findall(nodes.section)):
        listed += _list_lessons(app, section)
    folder, _, name = app.env.docname.rpartition("/")
    wanted = {lesson for lesson in lessons if lesson.startswith(f"{folder}/")}
    missing = sorted(wanted - set(listed))
    if name == "index" and missing:  # an overview
        raise UnknownPage(app.env.docname, f"there is no card of {missing[0]}")


def _link_to_colab(app: Sphinx, doctree: nodes.document) -> None:
    """Add the link that opens the notebook of a lesson on Colab, if it is there."""
    if repository := app.config.site_repository.removeprefix("https://github.com/"):
        name = app.env.docname.partition("/")[2]
        address = f"{COLAB}/{repository}/blob/{BRANCH}/{name}.ipynb"
        link = nodes.reference("", f"Colab ({GPU} GPU)", refuri=address)
        actions_of(doctree).append(nodes.paragraph("", "", link))


def _move_downloads(doctree: nodes.document, page: str) -> None:
    found: dict[str, addnodes.download_reference] = {}
    for only in list(doctree.findall(addnodes.only)):
        for link in only.findall(addnodes.download_reference):
            for ending, label in LABELS.items():
                if link["reftarget"].endswith(ending):
                    found[ending] = link
                    link.clear()
                    link += nodes.inline(text=label)
        classes = {
            name for node in only.findall(nodes.Element) for name in node["classes"]
        }
        if classes & {"sphx-glr-download-link-note", "sphx-glr-footer"}:
            only.parent.remove(only)
    title = next(doctree.findall(nodes.title), None)
    if title is None or set(found) != set(LABELS):
        name = Path(doctree.get("source", "")).stem
        raise UnknownPage(name, "it has not a title and two files to download")
    found[".py"]["reftarget"] = f"/{offered_script(page)}"
    row = nodes.container(classes=[ACTIONS])
    for ending in LABELS:
        row += nodes.paragraph("", "", found[ending])
    section = title.parent
    section.insert(section.index(title) + 1, row)


def actions_of(doctree: nodes.document) -> nodes.container:
    """Return the row of actions of a lesson's page."""
    rows = doctree.findall(nodes.container)
    return next(row for row in rows if ACTIONS in row["classes"])


def _list_lessons(app: Sphinx, section: nodes.section) -> list[str]:
    """Put a list in the place of the gallery's cards; return the lessons on it."""
    listed = []
    cards = nodes.bullet_list(classes=["lesson-cards"])
    introduction = ""
    for node in list(section.children):
        if isinstance(node, nodes.raw) and re.search("sphx-glr-|sg-tag", str(node)):
            if found := INTRODUCTION.search(node.astext()):
                introduction = unescape(found[1])
            section.remove(node)
        elif isinstance(node, nodes.raw) and node.astext().strip() == "</div>":
            section.remove(node)
        elif isinstance(node, addnodes.only) and introduction:
            if not cards.children:
                section.insert(section.index(node), cards)
            lesson, card = _card(app, node, introduction)
            listed.append(lesson)
            cards += card
            section.remove(node)
            introduction = ""
    return listed


def _card(
    app: Sphinx, made: addnodes.only, introduction: str
) -> tuple[str, nodes.list_item]:
    """Make a card of a lesson: title, picture, what the reader will see."""
    links = list(made.findall(addnodes.pending_xref))
    if len(links) != 1:
        raise UnknownPage(app.env.docname, f"a card has {len(links)} links")
    (link,) = links
    item = nodes.list_item("", nodes.paragraph("", "", link))
    lesson = link["reftarget"].lstrip("/")
    if (kept := card_file(app.srcdir, lesson)) is not None:
        app.env.note_dependency(kept)
        item += nodes.raw("", kept.read_text(encoding="utf-8"), format="html")
    item += nodes.paragraph(text=introduction)
    return lesson, item


def lead_on(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Make "Next" and "Previous" of a lesson lead to lessons, past the overviews.

    Before the first lesson and after the last one the table of contents decides.
    """
    lessons = list(lesson_scripts(app))
    if page not in lessons:
        return
    place = lessons.index(page)
    neighbours = {"prev": lessons[:place][-1:], "next": lessons[place + 1 :][:1]}
    for button, found in neighbours.items():
        for other in found:
            title = app.builder.render_partial(app.env.titles[other])["title"]
            link = app.builder.get_relative_uri(page, other)
            context[button] = {"link": link, "title": title}
