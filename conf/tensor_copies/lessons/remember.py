"""What every lesson asks its reader to remember, gathered on one page.

``{remember}`` gathers the "Remember" sections of the lessons, as Sphinx read them, in
reading order.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from tensor_copies.machine.blocks import blocks_of
from tensor_copies.machine.code_keys import key_of
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.machine.outdated import depend_on

HEADING = "Remember"
# A text as pieces, each with whether it is code.
Text = tuple[tuple[bool, str], ...]


@dataclass(frozen=True)
class Lesson:
    """What one lesson asks to remember: its page, its title and its points."""

    page: str
    title: Text
    points: tuple[Text, ...]


class remember(nodes.General, nodes.Element):
    """Stands where the lessons' points will be, until every lesson is read."""


class Remember(SphinxDirective):
    """Gather what the lessons ask to remember (``{remember}``)."""

    def run(self) -> list[nodes.Node]:
        """Return the place of the points."""
        depend_on(self.env.app, "lessons")
        return [remember()]


class Gather(SphinxPostTransform):
    """Put the points into their place, before links are resolved (10)."""

    default_priority = 5

    def run(self, **kwargs: object) -> None:
        """Fill the page if it has a place for the points."""
        for place in list(self.document.findall(remember)):
            sheet = nodes.container(classes=["remember"])
            sheet += [self._section(lesson) for lesson in gather(self.app)]
            place.replace_self(sheet)

    def _section(self, lesson: Lesson) -> nodes.section:
        uri = self.app.builder.get_relative_uri(self.env.docname, lesson.page)
        link = nodes.reference("", "", *_nodes(lesson.title), refuri=uri, internal=True)
        listing = nodes.bullet_list()
        for point in lesson.points:
            words = nodes.paragraph("", "", *_nodes(point))
            listing += nodes.list_item("", words)
        title = nodes.title("", "", link)
        name = nodes.make_id(f"remember-{Path(lesson.page).name}")
        return nodes.section("", title, listing, ids=[name])


def gather(app: Sphinx) -> list[Lesson]:
    """Return the points of every lesson, in reading order.

    Raises
    ------
    ExtensionError
        If a lesson has no section "Remember" with a list.
    """
    found = []
    for page, script in lesson_scripts(app).items():
        doctree = app.env.get_doctree(page)
        points = [
            _text(item)
            for section in doctree.findall(nodes.section)
            if section[0].astext() == HEADING
            for item in section.findall(nodes.list_item)
        ]
        if not points:
            raise ExtensionError(
                f'{script.name} has no section "{HEADING}" with a list: the cheat '
                "sheet has nothing to say of it"
            )
        found.append(Lesson(page, _text(app.env.titles[page]), tuple(points)))
    return found


def _text(node: nodes.Element) -> Text:
    return tuple(
        (isinstance(text.parent, nodes.literal), text.astext().replace("\n", " "))
        for text in node.findall(nodes.Text)
    )


def _nodes(text: Text) -> list[nodes.Node]:
    return [
        nodes.literal(text=words) if code else nodes.Text(words) for code, words in text
    ]


def key(app: Sphinx, page: str) -> str:
    """Return the key of all lessons' titles and points, in reading order."""
    parts = []
    for page, script in lesson_scripts(app).items():
        texts = [block.content for block in blocks_of(script) if block.type == "text"]
        parts += [page, *texts[:1], *(text for text in texts[1:] if HEADING in text)]
    return key_of(*parts)
