"""What every lesson asks its reader to remember, gathered on one page.

``{remember}`` gathers the "Remember" sections of the lessons, as Sphinx read them, in
reading order.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from tensor_copies.gallery.lessons import depend_on_lessons, lesson_scripts

HEADING = "Remember"


class remember(nodes.General, nodes.Element):
    """Stands where the lessons' points will be, until every lesson is read."""


class Remember(SphinxDirective):
    """Gather what the lessons ask to remember (``{remember}``)."""

    def run(self) -> list[nodes.Node]:
        """Return the place of the points."""
        depend_on_lessons(self.env.app)
        return [remember()]


def fill_remembered(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the points of every lesson, which must have some, into their place."""
    for place in list(doctree.findall(remember)):
        sheet = nodes.container(classes=["remember"])
        for lesson, script in lesson_scripts(app).items():
            points = [
                nodes.list_item("", nodes.paragraph("", "", *_text(item)))
                for section in app.env.get_doctree(lesson).findall(nodes.section)
                if section[0].astext() == HEADING
                for item in section.findall(nodes.list_item)
            ]
            if not points:
                raise ExtensionError(
                    f'{script.name} has no section "{HEADING}" with a list: the page '
                    "that gathers them has nothing to say of it"
                )
            uri = app.builder.get_relative_uri(page, lesson)
            words = _text(app.env.titles[lesson])
            link = nodes.reference("", "", *words, refuri=uri, internal=True)
            sheet += nodes.section(
                "",
                nodes.title("", "", link),
                nodes.bullet_list("", *points),
                ids=[nodes.make_id(f"remember-{script.stem}")],
            )
        place.replace_self(sheet)


def _text(node: nodes.Element) -> list[nodes.Node]:
    """Return what a node says, and of its markup only which words are code."""
    said: list[nodes.Node] = []
    for text in node.findall(nodes.Text):
        words = text.astext().replace("\n", " ")
        is_code = isinstance(text.parent, nodes.literal)
        said.append(nodes.literal(text=words) if is_code else nodes.Text(words))
    return said
