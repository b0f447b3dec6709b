"""List the lessons: rows with picture, title and answer, and what all ask to remember.

``lessons`` is a toctree, with a row for each of its lessons; its titles are the short
ones of the menu. Under a heading first the core lessons stand, then deeper ones, which
the menu indents::

    .. lessons::

        detach <detach>

    .. lessons::
        :deeper:

        Order of detach and clone <clone_detach>

``remember`` gathers the sections "Remember". Both are filled when all pages are read.

``path`` is a list of links to the lessons to begin with, and to what ends it. The links
at the feet of these pages follow it.
"""

import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.directives.other import TocTree
from sphinx.util import docname_join
from sphinx.util.docutils import SphinxDirective

from tensor_copies.gallery.lessons import depend_on_lessons, lesson_scripts
from tensor_copies.markup import beginning

SPACE = "\N{EM SPACE}"  # indents a line of a menu: a plain space would be dropped


class lesson_rows(nodes.Element):
    """The place of the rows of ``pages``; ``deeper`` ones have no picture."""


class remembered(nodes.Element):
    """The place of what all lessons ask to remember."""


class Lessons(TocTree):
    """A hidden toctree, and a row for each lesson in it."""

    option_spec: ClassVar = {"deeper": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return the toctree and the place of the rows."""
        deeper = self.options.pop("deeper", "no") is None
        self.options["hidden"] = None
        (wrapper,) = super().run()
        entries = wrapper[0]["entries"]
        if deeper:
            wrapper[0]["entries"] = [(SPACE + title, page) for title, page in entries]
        pages = [page for _, page in entries]
        for page in pages:  # a changed lesson changes its row
            self.env.note_dependency(self.env.doc2path(page))
        return [wrapper, lesson_rows(pages=pages, deeper=deeper)]


def show_groups_in_menu(app: Sphinx, doctree: nodes.document) -> None:
    """Let the menu list the headings of a section in its place (``doctree-read``)."""
    if next(doctree.findall(lesson_rows), None):
        contents = app.env.tocs[app.env.docname]
        ((_, headings),) = contents
        contents[:] = headings.children
        # The link to the first is that to the page: so the menu knows where it is.
        next(contents.findall(nodes.reference))["anchorname"] = ""


class Path(SphinxDirective):
    """The lessons to begin with, as a list of links; the last leads to what ends it."""

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return the list, and remember its pages."""
        parsed, here = self.parse_content_to_nodes(), self.env.docname
        links = (link for one in parsed for link in one.findall(addnodes.pending_xref))
        pages = [docname_join(here, link["reftarget"]) for link in links]
        self.env.metadata[here]["path"] = pages
        return parsed


def follow_path(
    app: Sphinx, page: str, _: str, context: dict[str, Any], *_more: Any
) -> None:
    """Lead from each page of the path to those beside it (``html-page-context``)."""
    found = (facts["path"] for facts in app.env.metadata.values() if "path" in facts)
    path = next(found, [])
    for name, step in (("prev", -1), ("next", 1)) if page in path else ():
        if 0 <= (at := path.index(page) + step) < len(path):
            title = app.builder.render_partial(app.env.titles[path[at]])["title"]
            said = "" if at == len(path) - 1 else f"{at + 1} of {len(path) - 1}: "
            uri = app.builder.get_relative_uri(page, path[at])
            context[name] = {"link": uri, "title": said + title}


class Remember(SphinxDirective):
    """What the lessons ask to remember, in reading order (``{remember}``)."""

    def run(self) -> list[nodes.Node]:
        """Return the place of the list."""
        depend_on_lessons(self.env.app)
        return [remembered()]


def fill_lists(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Fill the lists of a page (``doctree-resolved``)."""
    for place in list(doctree.findall(lesson_rows)):
        rows = nodes.bullet_list(classes=["lesson-rows"])
        for lesson in place["pages"]:
            picture, answer = _opening(app.env.get_doctree(lesson))
            link = nodes.paragraph("", "", _link(app, page, lesson))
            drawn = [] if place["deeper"] else [picture]
            rows += nodes.list_item("", *drawn, link, answer)
        said = [nodes.rubric(text="Deeper")] if place["deeper"] else []
        place.replace_self([*said, rows])
    for place in list(doctree.findall(remembered)):
        sheet = nodes.container(classes=["remember"])
        for lesson, script in lesson_scripts(app).items():
            sheet += nodes.section(
                "",
                nodes.title("", "", _link(app, page, lesson)),
                _points(app.env.get_doctree(lesson)),
                ids=[nodes.make_id(f"remember-{script.stem}")],
            )
        place.replace_self(sheet)


def _link(app: Sphinx, page: str, lesson: str) -> nodes.reference:
    uri = app.builder.get_relative_uri(page, lesson)
    title = plain(app.env.titles[lesson])
    return nodes.reference("", "", *title, refuri=uri, internal=True)


def _opening(lesson: nodes.document) -> tuple[nodes.raw, nodes.paragraph]:
    """Return the picture of a lesson and the beginning of its answer."""
    top = next(lesson.findall(nodes.section))
    answer = next(one for one in top if isinstance(one, nodes.paragraph))
    lead = next(one for one in top if "lead" in one.get("classes", ()))
    drawn = re.search(r"(?s)<svg.+?</svg>", lead.astext())[0]
    # The title stands beside it: a screen reader passes it by.
    picture = nodes.raw("", f'<div aria-hidden="true">{drawn}</div>', format="html")
    words = plain(answer, len(beginning(answer.astext())))
    return picture, nodes.paragraph("", "", *words)


def _points(lesson: nodes.document) -> nodes.bullet_list:
    """Return the points of the last section of a lesson, "Remember"."""
    *_, last = lesson.findall(nodes.section)
    points = [
        nodes.list_item("", nodes.paragraph("", "", *plain(item)))
        for item in last.findall(nodes.list_item)
    ]
    return nodes.bullet_list("", *points)


def plain(node: nodes.Element, left: int | None = None) -> list[nodes.Node]:
    """Return what a node says, or so many letters of it; only code keeps its mark."""
    left = len(node.astext()) if left is None else left
    said: list[nodes.Node] = []
    for text in node.findall(nodes.Text):
        words, left = text.astext()[: max(left, 0)], left - len(text.astext())
        words = words.replace("\n", " ")
        is_code = isinstance(text.parent, nodes.literal)
        said.append(nodes.literal(text=words) if is_code else nodes.Text(words))
    return [one for one in said if one.astext()]
