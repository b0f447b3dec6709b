"""The sections of each page, as the search and ``llms.txt`` list them.

A section is what a link can lead to: a step of a lesson, an error entry, a mistake, a
question, a term of the glossary, a call of the Atlas, or a part of another page. They
are taken from what Sphinx has read, not from written HTML, and kept with the page, so
that a build that reads few pages knows the sections of all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from textwrap import shorten

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import docname_join

from tensor_copies.atlas.data import live_atlas
from tensor_copies.atlas.words import one_line, sign_of
from tensor_copies.explorer.signs import SIGNS
from tensor_copies.gallery.lessons import lesson_scripts, short_titles
from tensor_copies.lessons.listing import lesson_rows
from tensor_copies.lessons.predict import OUTPUT, choices
from tensor_copies.markup import LONGEST, beginning, is_fold

LESSON, ERROR, CALL, MISTAKE, TERM, QUESTION, PAGE = KINDS = (
    "Lesson", "Error", "Call", "Mistake", "Term", "Question", "Page",
)  # fmt: skip
FACT = "sections"
PRINTED = {"output", OUTPUT}  # the classes of what code printed
# Furniture of a page, by the class of the part that has it: no text of a section.
# A cell that is folded or removed computes what the page shows.
FURNITURE = {
    *("actions", "side", "output-head"),
    *("tag_hide-input", "tag_hide-cell", "tag_remove-input", "tag_remove-cell"),
}
OF_CLASS = {"entry": ERROR, "mistake": MISTAKE, "question-entry": QUESTION}
TITLE = re.compile("<<([^<>]+)>>")
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


def keep_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the sections of the page that is being read, when all parts are in place."""
    page = app.env.docname
    found = [asdict(one) for one in _sections(app, doctree)]
    app.env.metadata[page][FACT] = json.dumps(found)


def sections_of(app: Sphinx, page: str) -> list[Section]:
    """Return the sections of a page, the page as a whole first, then calls."""
    facts, titles = app.env.metadata.get(page, {}), app.env.titles

    labels = app.env.get_domain("std").labels

    def title(found: re.Match) -> str:
        if found[1].startswith("#"):
            *_, words = labels.get(found[1][1:].lower(), ("", "", ""))
        else:
            words = titles[found[1]].astext() if found[1] in titles else ""
        return json.dumps(words)[1:-1]

    kept = json.loads(TITLE.sub(title, facts.get(FACT, "[]")))
    found = [Section(**one) for one in kept]
    entries = app.env.get_domain("index").entries.get(page, ())
    rows = {target for _, _, target, *_ in entries}
    # Only a page that shows the Atlas has rows of it.
    calls = _calls() if "atlas_probed" in facts and rows else ()
    return found + [call for call in calls if call.anchor in rows]


def _sections(app: Sphinx, doctree: nodes.document) -> Iterator[Section]:
    is_lesson = app.env.docname in lesson_scripts(app)
    for section in doctree.findall(nodes.section):
        is_page = isinstance(section.parent, nodes.document)
        own = [node for node in _own(section) if not _is_furniture(node)]
        remembered = _remembered(section) if is_page and is_lesson else []
        written = _Text(app, [*own, *remembered])
        heading = _plain(app, section[0])
        if is_lesson and heading == "Remember":
            continue  # its lines stand with the page
        asked = [node["words"] for node in own if isinstance(node, choices)]
        kind = next(
            (OF_CLASS[name] for name in section["classes"] if name in OF_CLASS),
            LESSON if is_lesson else QUESTION if asked else PAGE,
        )
        said = [_plain(app, node) for node in own if _says(node)]
        said += [_listed(node) for node in own if isinstance(node, lesson_rows)]
        if is_page:
            said.insert(0, app.env.metadata[app.env.docname].get("description", ""))
        sentence = beginning(_first([*said, *asked]))
        if sentence or written.code or is_page:
            anchor = "" if is_page else section["ids"][0]
            yield Section(anchor, kind, heading, sentence, *written.parts())
    for term in doctree.findall(nodes.definition_list_item):
        if isinstance(term.parent.parent, addnodes.glossary):
            written = _Text(app, term[-1].findall())
            sentence = beginning(_plain(app, term[-1]))
            for name in (one for one in term if isinstance(one, nodes.term)):
                heading = _plain(app, name)
                yield Section(name["ids"][0], TERM, heading, sentence, *written.parts())


def _calls() -> Iterator[Section]:
    """Yield a section for each row of the Atlas, with what was seen of its first x."""
    atlas = live_atlas()
    seen = {(one["operation"], one["state"]): one for one in atlas["records"]}
    for row in atlas["operations"]:
        state = row["states"][0]
        record = seen.get((row["id"], state))
        said = "needs a second device"
        if record is not None:
            said = ", ".join(SIGNS[sign] for sign in sign_of(record))
            if record["error"] is not None:
                said += f": {record['error']}"
        what = atlas["subjects"].get(row["subject"], state.replace("_", " "))
        sentence = shorten(f"Of a {what}: {said}.", LONGEST, placeholder=" ...")
        name = one_line(row["code"])
        prose = f"{row['group']} {row['lesson'].rpartition('/')[2].replace('_', ' ')}"
        yield Section(
            row["id"], CALL, name, sentence, prose, f"{row['code']} {row['api']}",
            f"{sentence}\n",
        )  # fmt: skip


def _own(section: nodes.section) -> Iterator[nodes.Node]:
    """Yield the nodes of a section that are in no section, nor term, below it."""
    for child in section.children[1:]:
        if not isinstance(child, nodes.section | addnodes.glossary):
            yield from child.findall()


def _remembered(section: nodes.section) -> list[nodes.Node]:
    """Return the nodes of what a lesson says at its end."""
    last = section[-1]
    if isinstance(last, nodes.section) and last[0].astext() == "Remember":
        return list(_own(last))
    return []


def _is_furniture(node: nodes.Node) -> bool:
    while node is not None and not isinstance(node, nodes.section):
        if is_fold(node, "setup") or isinstance(node, nodes.comment):
            return True
        if isinstance(node, nodes.raw) and node.get("cures"):
            return False
        if isinstance(node, nodes.Element) and FURNITURE & set(node.get("classes", ())):
            return True
        node = node.parent
    return False


def _says(node: nodes.Node) -> bool:
    """Whether a node is a paragraph that does not stand behind a question."""
    if not isinstance(node, nodes.paragraph):
        return False
    while node is not None and not is_fold(node, "predict"):
        node = node.parent
    return node is None


def _listed(node: lesson_rows) -> str:
    """Return the short titles of lessons whose rows are not there yet."""
    names = (page.rpartition("/")[2] for page in node["pages"])
    return ", ".join(short_titles()[name] for name in names)


def _plain(app: Sphinx, node: nodes.Element, code: str = "") -> str:
    """Return the text of a node on one line, with the titles of what it leads to.

    ``code`` is the mark around code.
    """
    parts = []
    for text in node.findall(nodes.Text):
        link, part = text.parent.parent, text.astext()
        if isinstance(text.parent, nodes.literal):
            part = f"{code}{part}{code}"
        if (
            isinstance(link, addnodes.pending_xref)
            and link["reftype"] == "doc"
            and not link["refexplicit"]
        ):
            # That page may not be read yet: its title is put in when all are.
            here = link.get("refdoc", app.env.docname)
            part = f"<<{docname_join(here, link['reftarget'])}>>"
        elif (
            isinstance(link, addnodes.pending_xref)
            and link["reftype"] == "ref"
            and not link["refexplicit"]
        ):
            part = f"<<#{link['reftarget']}>>"
        parts.append(part)
    return " ".join("".join(parts).split())


def _first(said: list[str]) -> str:
    """Return the first text, and with one that ends in a colon what follows it."""
    first = ""
    for text in filter(None, said):
        first = f"{first} {text}".strip()
        if not first.endswith(":"):
            break
    return first


class _Text:
    """What nodes say, in prose and code, and as Markdown."""

    def __init__(self, app: Sphinx, found: Iterable[nodes.Node]) -> None:
        self.prose: list[str] = []
        self.code: list[str] = []
        self.markdown: list[str] = []
        for node in found:
            if isinstance(node, nodes.paragraph):
                said = _plain(app, node)
                self.prose.append(said)
                mark = "- " if isinstance(node.parent, nodes.list_item) else ""
                self.markdown.append(mark + _plain(app, node, code="`"))
            elif isinstance(node, nodes.literal_block):
                self._take_block(node)
            elif isinstance(node, nodes.literal):
                self.code.append(node.astext())
            elif isinstance(node, nodes.raw):
                for code, said in node.get("cures", ()):
                    self.code.append(code)
                    self.prose.append(said)
                    self.markdown.append(f"- `{code}`: {said}")

    def _take_block(self, node: nodes.literal_block) -> None:
        text = node.astext().strip()
        if "text_plain" in node["classes"] and text.startswith("<"):
            return  # the name of an object whose picture is shown
        is_output = bool(PRINTED & set(node["classes"]))
        if not is_output:
            self.code.append(text)
        else:
            self.prose += [line for line in text.splitlines() if RAISED.search(line)]
        self.markdown.append(f"```{'text' if is_output else 'python'}\n{text}\n```")

    def parts(self) -> tuple[str, str, str]:
        """Return prose, code and Markdown."""
        return (
            "\n".join(self.prose),
            "\n".join(self.code),
            "\n\n".join(self.markdown) + "\n",
        )
