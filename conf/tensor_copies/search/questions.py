"""List the questions: all on one page, and below a lesson those that link to it.

A page ``docs/questions/<theme>.md`` has about twenty, the most asked first. Each is a
section with a label, a heading in people's words, its answer, a cell and threads;
``tests/unit/test_questions.py`` holds them to that form. What a question would say of a
message stands in the message's entry, below its heading "More on this", to which the
question's label leads.
"""

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import docname_join

from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.lessons.page import take_assertions
from tensor_copies.markup import SENTENCE, code_in, fold, with_code

FOLDER, INDEX, MESSAGES = "questions/", "questions/index", "errors/"
MORE = "More on this"
SHORT = 40  # characters of a first sentence that needs the second one


def arrange(app: Sphinx, doctree: nodes.document) -> None:
    """Arrange the questions of a page, or what an entry of a message has of one."""
    page, sections = app.env.docname, [*doctree.findall(nodes.section)]
    if page.startswith(FOLDER) and page != INDEX:
        asked = [_question(page, section) for section in sections[1:]]
        app.env.metadata[page]["questions"] = asked
    elif page.startswith(MESSAGES):
        for section in sections:
            if section[0].astext() == MORE:
                _fold_assertions(section)
                foot = section.parent
                foot.remove(section)
                foot.insert(1, fold(MORE, *section[1:], kind="more"))
        # The address of the question that it was becomes one of the entry.
        for name, anchor in doctree.nameids.items():
            if name.startswith("q-") and anchor not in doctree.ids[anchor]["ids"]:
                doctree.ids[anchor]["ids"].append(anchor)


def _question(page: str, section: nodes.section) -> dict[str, Any]:
    """Fold the assertions of a question; return what other pages show of it."""
    section["classes"].append("question-entry")
    _fold_assertions(section)
    first, *more = SENTENCE.findall(with_code(section.next_node(nodes.paragraph)))
    links = section.findall(addnodes.pending_xref)
    return {
        "anchor": section["ids"][0],
        "heading": with_code(section[0]),
        "answer": first + "".join(more[: len(first) < SHORT]),
        "links": sorted({docname_join(page, one["reftarget"]) for one in links}),
    }


def _fold_assertions(section: nodes.section) -> None:
    """Fold the assertions at the end of each cell below its output."""
    for cell in section.findall(nodes.container):
        if "cell" in cell["classes"] and (code := cell.next_node(nodes.literal_block)):
            cell += take_assertions(code)


def list_questions(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """List all questions on their index, and at the end of a lesson those on it."""
    if page != INDEX and page not in lesson_scripts(app):
        return
    top = next(doctree.findall(nodes.section))
    beside = nodes.bullet_list(classes=["question-list"])
    for theme in app.env.toctree_includes.get(INDEX, ()):
        rows, uri = beside.copy(), app.builder.get_relative_uri(page, theme)
        for one in app.env.metadata[theme]["questions"]:
            words, to = code_in(one["heading"]), f"{uri}#{one['anchor']}"
            link = nodes.reference("", "", *words, refuri=to, internal=True)
            row = nodes.list_item("", nodes.paragraph("", "", link))
            if page == INDEX:
                row += nodes.paragraph("", "", *code_in(one["answer"]))
                rows += row
            elif page in one["links"]:
                beside += row
        if page == INDEX:
            title, ids = app.env.titles[theme].deepcopy(), [nodes.make_id(theme)]
            top += nodes.section("", title, rows, ids=ids, classes=["question-theme"])
    if beside.children:
        said = nodes.paragraph(text="Related questions:")
        top += nodes.container("", said, beside, classes=["questions-beside"])
