"""The ways from lesson to lesson: overviews, the sidebar, next and previous.

The gallery's cards show a title and nothing else; a list takes their place, by the
questions that order.txt has as headings: in each row the lesson's first picture, its
title, and its answer. The overview has a filter, and ticks what the browser remembers
as read (static/lesson_list.js).

The sidebar has the sections, and below each its lessons by their short titles. "Next"
and "Previous" pass the overviews by.
"""

from __future__ import annotations

import re
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from tensor_copies.figures.maps import drawn_card
from tensor_copies.figures.pictures import card_file
from tensor_copies.gallery.lessons import GROUPS, blocks_of, lesson_scripts
from tensor_copies.lessons.blocks import UnknownPage
from tensor_copies.lessons.predictions import set_words
from tensor_copies.lessons.short_titles import short_title

# Roles in an answer: a page with its own words, any other name.
TEXT_LINK = re.compile(r":\w+:`([^`<]+?)\s*<[^`>]*>`")
NAME = re.compile(r":(\w+):`(~?)([^`]+)`")
SENTENCE = re.compile(r".+?[.?!](?=\s|$)")
LONGEST_ANSWER = 160  # characters, of more than one sentence
EMPHASIS = re.compile(r"(?<!\w)\*(\w[^*]*)\*")
# What the script fills and shows: it needs one to be of use.
FILTER = """<div class="lesson-filter" data-of="{of}" hidden>
<label>Filter <input type="search" placeholder="such as {example}"
 autocomplete="off" spellcheck="false"></label>
<p role="status"></p>
<button type="button" hidden>Forget what I have read</button>
</div>
"""


def row_filter(app: Sphinx, of: str, example: str) -> nodes.raw:
    """Return a filter of the rows of the page that is read, and have it loaded there.

    ``of`` says what the rows are, ``example`` what a reader may type.
    """
    app.env.metadata[app.env.docname]["has_lesson_filter"] = True
    return nodes.raw("", FILTER.format(of=of, example=example), format="html")


def change_overview(app: Sphinx, doctree: nodes.document) -> None:
    """Change the overview of all lessons or of a section; leave every other page."""
    (gallery,) = app.config.sphinx_gallery_conf["gallery_dirs"]
    page = app.env.docname
    folder, _, name = page.rpartition("/")
    if name != "index" or not f"{folder}/".startswith(f"{gallery}/"):
        return
    top = next(doctree.findall(nodes.section))
    _list_in_order(app, doctree, top, is_section=folder != gallery)
    listed, names = _take_cards(doctree, top)
    lessons = {
        lesson: script
        for lesson, script in lesson_scripts(app).items()
        if lesson.startswith(f"{folder}/")
    }
    if missing := lessons.keys() - listed:
        raise UnknownPage(page, f"there is no card of {', '.join(sorted(missing))}")
    if folder == gallery:
        top += row_filter(app, "lessons", "clone or NumPy")
    for heading, group in groupby(lessons, lambda one: GROUPS.get(lessons[one].name)):
        rows = nodes.bullet_list(classes=["lesson-rows"])
        for lesson in group:
            rows += _row(app, lesson, lessons[lesson])
        if heading:
            title = nodes.title()
            set_words(title, heading)
            # Links to the gallery's own sections lead on to the first of each.
            ids = [nodes.make_id(heading), *names.pop(lesson.rpartition("/")[0], ())]
            rows = nodes.section("", title, rows, ids=ids)
        top += rows
    app.env.metadata[page]["styles"] = "lesson_list.css"


def _take_cards(
    doctree: nodes.document, top: nodes.section
) -> tuple[set[str], dict[str, list[str]]]:
    """Take the gallery's cards, which are boxes of raw HTML, and its sections away.

    Return the lessons that have cards, and the ids of the sections by their folders.
    """
    listed, names = set(), {}
    for section in list(doctree.findall(nodes.section)):
        links = []
        for node in list(section.children):
            if isinstance(node, addnodes.only):
                links += node.findall(_is_link)
            if isinstance(node, addnodes.only | nodes.raw):
                section.remove(node)
        found = {link["reftarget"].lstrip("/") for link in links}
        listed |= found
        if found and section is not top:
            names[next(iter(found)).rpartition("/")[0]] = section["ids"]
            section.parent.remove(section)
    return listed, names


def _list_in_order(
    app: Sphinx, doctree: nodes.document, top: nodes.section, is_section: bool
) -> None:
    """Let the sidebar list the sections, or the lessons of a section."""
    lessons = lesson_scripts(app)
    folder = app.env.docname.rpartition("/")[0]
    trees = list(doctree.findall(addnodes.toctree))
    if not trees:  # there are no lessons in it
        app.env.metadata[app.env.docname]["orphan"] = True
        return
    for tree in trees:
        tree.parent.remove(tree)
    top += trees[0]
    sections = dict.fromkeys(lesson.rpartition("/")[0] for lesson in lessons)
    entries = [(None, f"{section}/index") for section in sections]
    if is_section:
        entries = [
            (short_title(script), lesson)
            for lesson, script in lessons.items()
            if lesson.startswith(f"{folder}/")
        ]
    trees[0]["entries"] = entries
    trees[0]["includefiles"] = [page for _, page in entries]


def _is_link(node: nodes.Node) -> bool:
    return isinstance(node, addnodes.pending_xref) and node["reftype"] == "doc"


def _row(app: Sphinx, lesson: str, script: Path) -> nodes.list_item:
    """Return the row of a lesson: picture, title, answer."""
    app.env.note_dependency(str(script))
    item = nodes.list_item()
    if (kept := card_file(app.srcdir, lesson)) is not None:
        app.env.note_dependency(kept)
        item += nodes.raw("", drawn_card(kept), format="html")
    title, answer = title_and_answer(script)
    uri = app.builder.get_relative_uri(app.env.docname, lesson)
    link = nodes.reference("", "", refuri=uri, internal=True)
    set_words(link, title)
    said = nodes.paragraph()
    set_words(said, answer)
    item += [nodes.paragraph("", "", link), said]
    return item


def title_and_answer(script: Path) -> tuple[str, str]:
    """Return the title of a lesson, and as many sentences of its answer as a row has.

    Names that are links on its page are code here, between double backticks.
    """
    head, answer, *_ = f"{blocks_of(script)[0].content.strip()}\n\n".split("\n\n")
    words = " ".join(answer.split())
    words = EMPHASIS.sub(r"\1", NAME.sub(_as_code, TEXT_LINK.sub(r"\1", words)))
    first, *more = SENTENCE.findall(words) or [words]
    for sentence in more:
        if len(first + sentence) > LONGEST_ANSWER:
            break
        first += sentence
    return head.partition("\n")[0], first


def _as_code(found: re.Match) -> str:
    role, last, name = found.groups()
    name = name.rpartition(".")[2] if last else name.removeprefix("torch.Tensor.")
    return f"``{name}{'()' * (role in ('meth', 'func'))}``"


def lead_on(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Make "Next" and "Previous" of a lesson lead to lessons, past the overviews.

    Before the first lesson and after the last one the table of contents decides.
    """
    if app.env.metadata.get(page, {}).get("has_lesson_filter"):
        app.add_js_file("lesson_list.js", loading_method="defer")
    scripts = lesson_scripts(app)
    lessons = list(scripts)
    if page not in lessons:
        return
    place = lessons.index(page)
    for button, near in ("prev", place - 1), ("next", place + 1):
        if 0 <= near < len(lessons):
            context[button] = {
                "link": app.builder.get_relative_uri(page, lessons[near]),
                "title": escape(short_title(scripts[lessons[near]])),
            }
