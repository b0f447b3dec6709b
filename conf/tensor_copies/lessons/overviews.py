"""The ways from lesson to lesson: overviews with cards, the sidebar, next and previous.

The gallery's cards show a title and nothing else; a list takes their place, with the
lesson's first picture and its first sentences. The sidebar has the sections, and below
each its lessons, with the number that a lesson has among all of them and a short name.
"Next" and "Previous" pass the overviews by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx_gallery.gen_rst import extract_intro_and_title

from tensor_copies.figures.maps import drawn_card
from tensor_copies.figures.pictures import card_file
from tensor_copies.figures.timelines import card as timeline_card
from tensor_copies.recordings.live import UnknownPage
from tensor_copies.run.blocks import blocks_of
from tensor_copies.run.lesson_list import lesson_scripts

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def change_overview(app: Sphinx, doctree: nodes.document) -> None:
    """Change the overview of all lessons or of a section; leave every other page."""
    (gallery,) = app.config.sphinx_gallery_conf["gallery_dirs"]
    folder, _, name = app.env.docname.rpartition("/")
    if name != "index" or not f"{folder}/".startswith(f"{gallery}/"):
        return
    _list_in_order(app, doctree, is_section=folder != gallery)
    for section in list(doctree.findall(nodes.section)):
        _give_cards(app, section)
    listed = {link["reftarget"].lstrip("/") for link in doctree.findall(_is_link)}
    for lesson in _lessons_in(app, folder):
        if lesson not in listed:
            raise UnknownPage(app.env.docname, f"there is no card of {lesson}")


def _lessons_in(app: Sphinx, folder: str) -> list[str]:
    return [page for page in lesson_scripts(app) if page.startswith(f"{folder}/")]


def _list_in_order(app: Sphinx, doctree: nodes.document, is_section: bool) -> None:
    """Let the sidebar list the sections, or the lessons of a section."""
    lessons = list(lesson_scripts(app))
    folder = app.env.docname.rpartition("/")[0]
    trees = list(doctree.findall(addnodes.toctree))
    if not trees:  # there are no lessons in it
        app.env.metadata[app.env.docname]["orphan"] = True
        return
    first, *others = trees
    for tree in others:
        tree.parent.remove(tree)
    sections = dict.fromkeys(lesson.rpartition("/")[0] for lesson in lessons)
    entries = [(None, f"{section}/index") for section in sections]
    if is_section:
        entries = [
            (f"{lessons.index(page) + 1} \N{MIDDLE DOT} {words_of(page)}", page)
            for page in _lessons_in(app, folder)
        ]
    first["entries"] = entries
    first["includefiles"] = [page for _, page in entries]


def _is_link(node: nodes.Node) -> bool:
    return isinstance(node, addnodes.pending_xref) and node["reftype"] == "doc"


def _give_cards(app: Sphinx, section: nodes.section) -> None:
    """Put one list in the place of the gallery's cards, which are boxes of raw HTML."""
    cards = nodes.bullet_list(classes=["lesson-cards"])
    for node in list(section.children):
        links = list(node.findall(_is_link)) if isinstance(node, addnodes.only) else ()
        for link in links:
            if not cards.children:
                section.insert(section.index(node), cards)
            cards += _card(app, link)
        if links or isinstance(node, nodes.raw):
            section.remove(node)


def _card(app: Sphinx, link: addnodes.pending_xref) -> nodes.list_item:
    """Return a card of a lesson: title, picture, what the reader will see."""
    item = nodes.list_item("", nodes.paragraph("", "", link))
    lesson = link["reftarget"].lstrip("/")
    script = lesson_scripts(app)[lesson]
    if drawn := timeline_card(script):
        item += nodes.raw("", drawn, format="html")
    elif (kept := card_file(app.srcdir, lesson)) is not None:
        app.env.note_dependency(kept)
        item += nodes.raw("", drawn_card(kept), format="html")
    said, _ = extract_intro_and_title(script, blocks_of(script)[0].content)
    item += nodes.paragraph(text=said)
    return item


def words_of(lesson: str) -> str:
    """Return the short name of a lesson: its title is a line long."""
    return lesson.rpartition("/")[2].replace("_", " ")


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
    for button, near in ("prev", place - 1), ("next", place + 1):
        if 0 <= near < len(lessons):
            title = app.env.titles[lessons[near]]
            context[button] = {
                "link": app.builder.get_relative_uri(page, lessons[near]),
                "title": app.builder.render_partial(title)["title"],
            }
