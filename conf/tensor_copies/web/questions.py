"""Questions: headings in people's words, each with a short answer that ran.

A page ``docs/questions/<theme>.md`` has about a dozen of them, each of this form::

    (q-its-address)=
    ## How do I ...?

    The answer, in one to three sentences.

    (a cell of at most ten lines, with assertions at its end)

    - **Memory**: what stays shared, and other caveats

    See {doc}`a lesson`. Asked: [one thread](https://...), [another](https://...)

The build refuses one that lacks a part. A list of them stands at the top of the page,
``{questions}`` lists those of all pages, and a lesson's foot those that link to it.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from tensor_copies.gallery.kept import ELSEWHERE
from tensor_copies.gallery.lessons import lesson_scripts
from tensor_copies.gallery.pages import cells_in
from tensor_copies.lessons.page import take_assertions
from tensor_copies.markup import code_in

FOLDER, ENTRY = "questions", "question-entry"
# Lines of a question's source that are not blank, lines of code before the assertions,
# characters of a heading, addresses of threads.
MOST_LINES, MOST_CODE, LONGEST_HEADING, LEAST_ADDRESSES = 30, 12, 80, 2
HEADING = re.compile(r"^(?:\((?P<label>[^()\s]+)\)=\n)?## (?P<heading>.+)$", re.M)
ADDRESS = re.compile(r"\]\(https?://[^)\s]+\)")
FENCE = re.compile(r"^(```+).*?^\1[ \t]*$", re.M | re.S)


@dataclass(frozen=True)
class Asked:
    """A question as its page has it: the address, the heading, where it stands."""

    label: str
    heading: str
    line: int
    source: str


def questions_in(page: Path) -> list[Asked]:
    """Return the questions of a page, in order."""
    text = page.read_text(encoding="utf-8")
    # A comment in code may look like a heading.
    plain = FENCE.sub(lambda found: re.sub(r"[^\n]", "x", found[0]), text)
    found = list(HEADING.finditer(plain))
    ends = [*(one.start() for one in found[1:]), len(text)]
    return [
        Asked(
            one["label"] or "",
            one["heading"].strip(),
            text.count("\n", 0, one.start("heading")) + 1,
            text[one.start() : end],
        )
        for one, end in zip(found, ends, strict=True)
    ]


def faults_of(question: Asked) -> Iterator[str]:
    """Yield what a question lacks, with what to write."""
    if not question.label.startswith("q-"):
        yield "has no address: write (q-two-words)= above its heading"
    if len(question.heading) > LONGEST_HEADING:
        yield f"has a heading of more than {LONGEST_HEADING} characters"
    lines = [line for line in question.source.split("\n") if line.strip()]
    if len(lines) > MOST_LINES:
        yield f"has {len(lines)} lines, {MOST_LINES} at most"
    answer = question.source.partition(f"## {question.heading}\n")[2].lstrip("\n")
    if not re.match(r"[^`\-(:#>|]", answer) and not re.match(r"`[^`]", answer):
        yield "does not begin with its answer: write a sentence below its heading"
    codes = [cell.code for cell in cells_in(question.source)]
    if len(codes) != 1:
        yield f"has {len(codes)} cells that run: show its answer in one"
    for code in codes:
        if not re.search(r"^\s*assert ", code, re.M):
            yield "asserts nothing: end its cell with an assertion"
        shown = list(filter(str.strip, code.partition("\nassert ")[0].split("\n")))
        if len(shown) > MOST_CODE:
            yield f"has {len(shown)} lines of code, {MOST_CODE} at most"
    _, said, asked = question.source.rpartition("Asked:")
    if not said or len(ADDRESS.findall(asked)) < LEAST_ADDRESSES:
        yield (
            f"names fewer than {LEAST_ADDRESSES} threads: end it with Asked: "
            "[one](https://...), [another](https://...)"
        )


def arrange(app: Sphinx, doctree: nodes.document) -> None:
    """Hold the questions of a page against their form, and fold their assertions."""
    page = app.env.docname
    if posixpath.dirname(page) != FOLDER or page == f"{FOLDER}/index":
        return
    source = Path(app.env.doc2path(page))
    asked = questions_in(source)
    for one in asked:
        for fault in faults_of(one):
            raise ExtensionError(
                f"{page}.md, line {one.line}: the question '{one.heading}' {fault}"
            )
    top = next(doctree.findall(nodes.section))
    entries = [one for one in top if isinstance(one, nodes.section)]
    rows = nodes.bullet_list(classes=["question-list"])
    for section, one in zip(entries, asked, strict=True):
        section["classes"].append(ENTRY)
        for cell in section.findall(nodes.container):
            if "cell" in cell["classes"]:
                _fold_assertions(cell)
        rows += _row(one)
    top.insert(top.index(entries[0]) if entries else len(top), rows)
    beside: dict[str, list[list[str]]] = {}
    for section, one in zip(entries, asked, strict=True):
        for link in section.findall(addnodes.pending_xref):
            if link["reftype"] in ("doc", "myst"):
                target = posixpath.normpath(
                    posixpath.join(FOLDER, link["reftarget"].removesuffix(".md"))
                ).lstrip("/")
                linking = beside.setdefault(target, [])
                if linking[-1:] != [[one.label, one.heading]]:
                    linking.append([one.label, one.heading])
    app.env.metadata[page][ELSEWHERE] = json.dumps(beside)


def _fold_assertions(cell: nodes.container) -> None:
    """Fold the assertions at the end of a cell below its output."""
    (code, *_) = cell.findall(nodes.literal_block)
    cell += take_assertions(code)


def _row(one: Asked) -> nodes.list_item:
    """Return a line of a list: the question, which leads to its answer."""
    words = nodes.inline("", "", *code_in(one.heading))
    link = addnodes.pending_xref(
        "",
        words,
        refdomain="std",
        reftype="ref",
        reftarget=one.label,
        refexplicit=True,
        refwarn=True,
    )
    return nodes.list_item("", nodes.paragraph("", "", link))


class Questions(SphinxDirective):
    """The questions of all pages, by theme (``{questions}``)."""

    def run(self) -> list[nodes.Node]:
        """Return a section with a list for each page of questions."""
        env = self.env
        found: list[nodes.Node] = []
        for page in sorted(Path(env.srcdir, FOLDER).glob("[!.]*.md")):
            if page.stem == "index":
                continue
            env.note_dependency(str(page))
            title = re.search(r"^# (.+)$", page.read_text("utf-8"), re.M)
            words = title[1] if title else page.stem
            section = nodes.section("", ids=[nodes.make_id(f"theme-{page.stem}")])
            heading = nodes.title("", "", *code_in(words))
            rows = nodes.bullet_list(classes=["question-list"])
            rows += [_row(one) for one in questions_in(page)]
            section += [heading, rows]
            found.append(section)
        return found


def add_beside(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """List at the end of a lesson the questions that link to it."""
    if page not in lesson_scripts(app):
        return
    found = [
        one
        for facts in app.env.metadata.values()
        for one in json.loads(facts.get(ELSEWHERE, "{}")).get(page, ())
    ]
    if not found:
        return
    rows = nodes.bullet_list(classes=["question-list"])
    labels = app.env.get_domain("std").labels
    for label, heading in sorted(found):
        where, anchor, _ = labels[label]
        words = nodes.inline("", "", *code_in(heading))
        uri = f"{app.builder.get_relative_uri(page, where)}#{anchor}"
        link = nodes.reference("", "", words, refuri=uri, internal=True)
        rows += nodes.list_item("", nodes.paragraph("", "", link))
    said = nodes.paragraph(text="Questions beside this lesson:")
    top = next(doctree.findall(nodes.section))
    top += nodes.container("", said, rows, classes=["questions-beside"])
