"""List the questions: all on one page, and below a lesson those that link to it.

A page ``docs/questions/<theme>.md`` has about twenty, the most asked first. Each is a
section with a label, a heading in people's words, its answer, a cell and threads;
``tests/unit/test_questions.py`` holds them to that form. A question that only quoted a
message is now a part of that message's entry, below its heading "More on this". Its old
address leads there.
"""

from __future__ import annotations

import json
import posixpath
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tensor_copies.gallery.kept import ELSEWHERE
from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.lessons.page import take_assertions
from tensor_copies.markup import SENTENCE, code_in, fold, with_code

FOLDER, INDEX, MESSAGES = "questions/", "questions/index", "errors/"
MORE = "More on this"
SHORT = 40  # characters of a first sentence that needs the second one


class question_index(nodes.General, nodes.Element):
    """The place of the index, until all pages are read."""


class Questions(SphinxDirective):
    """All questions, by page, with the beginnings of their answers."""

    def run(self) -> list[nodes.Node]:
        """Return the place of the index."""
        return [question_index()]


def arrange(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the assertions of each question; keep what other pages show of it."""
    page = app.env.docname
    if not page.startswith(FOLDER) or page == INDEX:
        return
    asked = []
    for section in doctree.findall(nodes.section):
        if isinstance(section.parent, nodes.document):
            continue
        section["classes"].append("question-entry")
        _fold_assertions(section)
        first, *more = SENTENCE.findall(with_code(section.next_node(nodes.paragraph)))
        links = {
            posixpath.join("/", FOLDER, link["reftarget"].removesuffix(".md"))
            for link in section.findall(addnodes.pending_xref)
        }
        asked.append(
            {
                "anchor": section["ids"][0],
                "heading": with_code(section[0]),
                "answer": first + "".join(more[: len(first) < SHORT]),
                "links": sorted(posixpath.normpath(link)[1:] for link in links),
            }
        )
    app.env.metadata[page][ELSEWHERE] = json.dumps(asked)


def fold_more(app: Sphinx, doctree: nodes.document) -> None:
    """Fold what a message's entry has below "More on this", beside its code.

    The address of the question that it was becomes one of the entry.
    """
    if not app.env.docname.startswith(MESSAGES):
        return
    for section in [*doctree.findall(nodes.section)]:
        if section[0].astext() == MORE:
            _fold_assertions(section)
            foot = section.parent
            foot.remove(section)
            foot.insert(1, fold(MORE, *section[1:], kind="more"))
    for name, anchor in doctree.nameids.items():
        if name.startswith("q-") and anchor not in doctree.ids[anchor]["ids"]:
            doctree.ids[anchor]["ids"].append(anchor)


def _fold_assertions(section: nodes.section) -> None:
    """Fold the assertions at the end of each cell below its output."""
    for cell in section.findall(nodes.container):
        if "cell" in cell["classes"] and (code := cell.next_node(nodes.literal_block)):
            cell += take_assertions(code)


def fill_index(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """List the questions of all pages, in the order of the menu."""
    for place in [*doctree.findall(question_index)]:
        themes = []
        for theme in app.env.toctree_includes[page]:
            title = app.env.titles[theme].deepcopy()
            rows = nodes.bullet_list(classes=["question-list"])
            for one in json.loads(app.env.metadata[theme][ELSEWHERE]):
                rows += _row(app, page, theme, one)
                rows[-1] += nodes.paragraph("", "", *code_in(one["answer"]))
            names = {"ids": [nodes.make_id(theme)], "classes": ["question-theme"]}
            themes.append(nodes.section("", title, rows, **names))
        place.replace_self(themes)


def add_beside(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """List at the end of a lesson the questions that link to it."""
    if page not in lesson_scripts(app):
        return
    rows = nodes.bullet_list(classes=["question-list"])
    for theme in app.env.toctree_includes.get(INDEX, ()):
        for one in json.loads(app.env.metadata[theme][ELSEWHERE]):
            if page in one["links"]:
                rows += _row(app, page, theme, one)
    if rows.children:
        said = nodes.paragraph(text="Related questions:")
        top = next(doctree.findall(nodes.section))
        top += nodes.container("", said, rows, classes=["questions-beside"])


def _row(app: Sphinx, page: str, theme: str, one: dict[str, Any]) -> nodes.list_item:
    """Return a line of a list: the question, which leads to its answer."""
    uri = f"{app.builder.get_relative_uri(page, theme)}#{one['anchor']}"
    words = code_in(one["heading"])
    link = nodes.reference("", "", *words, refuri=uri, internal=True)
    return nodes.list_item("", nodes.paragraph("", "", link))


def tell_moved(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Tell a page of questions where those are now that are an entry's."""
    if page.startswith(FOLDER):
        labels = app.env.get_domain("std").labels
        context["moved"] = {
            label: f"{app.builder.get_relative_uri(page, where)}#{anchor}"
            for label, (where, anchor, _) in sorted(labels.items())
            if label.startswith("q-") and where.startswith(MESSAGES)
        }
