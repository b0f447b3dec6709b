"""List the sections of each page, as the search and ``llms.txt`` show them.

A section is what a link can lead to: a step of a lesson, an error entry, a mistake, a
question, a term of the glossary, a call of the Atlas, or a part of another page. They
are taken from what Sphinx has read, when it has read all pages and knows their titles.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from textwrap import shorten

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import docname_join
from tensor_maps.atlas.calls import SUBJECTS

from tensor_copies.calls.facts import facts
from tensor_copies.calls.words import card, one_line
from tensor_copies.gallery.lessons import lesson_scripts, short_titles
from tensor_copies.lessons.listing import lesson_rows
from tensor_copies.lessons.predict import OUTPUT, choices
from tensor_copies.markup import LONGEST, beginning, is_fold

LESSON, ERROR, CALL, MISTAKE, TERM, QUESTION, PAGE = KINDS = (
    "Lesson", "Error", "Call", "Mistake", "Term", "Question", "Page",
)  # fmt: skip
REMEMBER = "Remember"  # the section that ends a lesson
ATLAS = "atlas"  # the page that has a row for each call
# What plays the part of x, of which alone a card and a row say what they say.
OF = SUBJECTS | {"x": "2 × 3 float32 tensor", "a": "2 × 3 float32 NumPy array"}
OF_CLASS = {"entry": ERROR, "mistake": MISTAKE, "question-entry": QUESTION}
# Furniture of a page, by the class of the part that has it: no text of a section.
# A cell that is folded or removed computes what the page shows.
FURNITURE = {
    *("actions", "side", "output-head"),
    *("tag_hide-input", "tag_hide-cell", "tag_remove-input", "tag_remove-cell"),
}
APART = nodes.section | addnodes.glossary | nodes.comment  # no text of what holds them
RAISED = re.compile(r"\b\w*(?:Error|Warning):")


@dataclass(frozen=True)
class Section:
    """What a link can lead to."""

    anchor: str  # on the page; empty for the page as a whole
    kind: str  # one of ``KINDS``
    heading: str
    sentence: str  # that answers, of at most ``LONGEST`` characters
    prose: str  # all that it says, but for headings, code and outputs
    code: str
    text: str  # all, with code and outputs in their order, as Markdown


@cache
def all_sections(app: Sphinx) -> dict[str, list[Section]]:
    """Return the sections of all pages: home, the lessons in order, pages by name."""
    first = [app.config.root_doc, *lesson_scripts(app)]
    pages = first + sorted(app.env.found_docs - set(first))
    return {page: [*_sections(app, page)] for page in pages}


def _sections(app: Sphinx, page: str) -> Iterator[Section]:
    """Yield the sections of a page, the page as a whole first, then terms and calls."""
    doctree, is_lesson = app.env.get_doctree(page), page in lesson_scripts(app)
    for section in doctree.findall(nodes.section):
        is_page, heading = section.parent is doctree, _plain(app, page, section[0])
        if is_lesson and heading == REMEMBER:
            continue  # its lines stand with the page
        own = list(_own(section[1:]))
        if is_page and is_lesson:
            own += _own(section[-1][1:])
        asked = [node["words"] for node in own if isinstance(node, choices)]
        kind = LESSON if is_lesson else QUESTION if asked else PAGE
        for name in section["classes"]:
            kind = OF_CLASS.get(name, kind)
        described = app.env.metadata[page].get("description", "") if is_page else ""
        sentence = beginning(_first([described, *_answers(app, page, own), *asked]))
        prose, code, text = _said(app, page, own, kind)
        if sentence or code or is_page:
            anchor = "" if is_page else section["ids"][0]
            yield Section(anchor, kind, heading, sentence, prose, code, text)
    for term in doctree.findall(nodes.definition_list_item):
        if isinstance(term.parent.parent, addnodes.glossary):
            said = _said(app, page, term[-1].findall(), TERM)
            sentence = beginning(_plain(app, page, term[-1]))
            for name in term.findall(nodes.term):
                yield Section(name["ids"][0], TERM, name.astext(), sentence, *said)
    if page == ATLAS:
        yield from _calls()


def _calls() -> Iterator[Section]:
    """Yield a section for each row of the Atlas, with what its card says."""
    data = facts()
    for call in data.calls.values():
        said, notes = card(data, call)
        words = ", ".join([*(words for _, words in said), *notes])
        words = f"Of a {OF[call.subject]}: {words}."
        sentence = shorten(words, LONGEST, placeholder=" ...")
        prose = f"{call.group} {call.lesson.rpartition('/')[2].replace('_', ' ')}"
        code, heading = f"{call.code} {call.api}", one_line(call.code)
        yield Section(call.id, CALL, heading, sentence, prose, code, f"{sentence}\n")


def _own(parts: Iterable[nodes.Node]) -> Iterator[nodes.Node]:
    """Yield parts and what they hold, without furniture and sections below them."""
    for part in parts:
        classes = part.get("classes", ()) if isinstance(part, nodes.Element) else ()
        if FURNITURE & set(classes) or is_fold(part, "setup"):
            yield from (one for one in part.findall(nodes.raw) if one.get("cures"))
        elif not isinstance(part, APART):
            yield part
            yield from _own(part.children)


def _answers(app: Sphinx, page: str, own: list[nodes.Node]) -> Iterator[str]:
    """Yield what paragraphs and lists of lessons say, if no question asks for it."""
    folds = [one for one in own if is_fold(one, "predict")]
    asked_for = {id(part) for one in folds for part in one.findall()}
    for node in own:
        if isinstance(node, lesson_rows):
            names = (lesson.rpartition("/")[2] for lesson in node["pages"])
            yield ", ".join(short_titles()[name] for name in names)
        elif isinstance(node, nodes.paragraph) and id(node) not in asked_for:
            yield _plain(app, page, node)


def _first(said: Iterable[str]) -> str:
    """Return the first text, and with one that ends in a colon what follows it."""
    first = ""
    for text in filter(None, said):
        first = f"{first} {text}".strip()
        if not first.endswith(":"):
            break
    return first


def _plain(app: Sphinx, page: str, node: nodes.Element, code: str = "") -> str:
    """Return the text of a node on one line, with the titles of what it leads to.

    ``code`` is the mark around code.
    """
    parts, labels = [], app.env.get_domain("std").labels
    for text in node.findall(nodes.Text):
        link, part = text.parent.parent, text.astext()
        if "column-name" in text.parent["classes"]:
            continue  # it repeats the head of its column
        if isinstance(text.parent, nodes.literal):
            part = f"{code}{part}{code}"
        if isinstance(link, addnodes.pending_xref) and not link.get("refexplicit"):
            if link["reftype"] == "doc":
                target = docname_join(link.get("refdoc", page), link["reftarget"])
                part = app.env.titles[target].astext()
            elif link["reftype"] == "ref":
                *_, part = labels.get(link["reftarget"].lower(), ("", "", part))
        parts.append(part)
    return " ".join("".join(parts).split())


def _said(
    app: Sphinx, page: str, own: Iterable[nodes.Node], kind: str
) -> tuple[str, str, str]:
    """Return what nodes say in prose, in code, and all of it as Markdown."""
    prose, codes, markdown = [], [], []
    for node in own:
        if isinstance(node, nodes.paragraph):
            prose.append(_plain(app, page, node))
            mark = "- " if isinstance(node.parent, nodes.list_item) else ""
            if not isinstance(node.parent, nodes.entry):
                markdown.append(mark + _plain(app, page, node, code="`"))
        elif isinstance(node, nodes.table):
            rows = [
                [_plain(app, page, cell, code="`").replace("|", r"\|") for cell in row]
                for row in node.findall(nodes.row)
            ]
            rows.insert(1, ["---"] * len(rows[0]))
            markdown.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
        elif isinstance(node, nodes.literal_block):
            block = node.astext().strip()
            is_output = bool({"output", OUTPUT}.intersection(node["classes"]))
            if not is_output:
                codes.append(block)
            elif kind != ERROR:  # whose messages are in the list of messages
                prose += [line for line in block.splitlines() if RAISED.search(line)]
            markdown.append(f"```{'text' if is_output else 'python'}\n{block}\n```")
        elif isinstance(node, nodes.literal):
            codes.append(node.astext())
        elif isinstance(node, nodes.raw):
            for code, words in node.get("cures", ()):
                codes.append(code)
                prose.append(words)
                markdown.append(f"- `{code}`: {words}")
    return "\n".join(prose), "\n".join(codes), "\n\n".join(markdown) + "\n"
