"""What else the home page has: doors with counts.

The counts are taken from what the doors lead to, when the page is read.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tensor_copies.atlas.data import live_atlas, note_use
from tensor_copies.errors.messages import entries, families
from tensor_copies.gallery.lessons import lesson_scripts

QUESTION = re.compile(r"^## \d+\. ", re.MULTILINE)
MISTAKE = re.compile(r"^### ", re.MULTILINE)


class Doors(SphinxDirective):
    """Ways into the site, each with what is behind it, counted (``{doors}``)."""

    def run(self) -> list[nodes.Node]:
        """Return a list of links; a page that is not there has none."""
        app, env = self.env.app, self.env
        note_use(app, env.docname)
        doors = nodes.bullet_list(classes=["doors"])
        for family in families(Path(env.srcdir)):
            env.note_dependency(str(family))
        for page, title, text in _doors(app):
            env.note_dependency(env.doc2path(page))
            uri = app.builder.get_relative_uri(env.docname, page)
            link = nodes.reference("", title, refuri=uri, internal=True)
            said = nodes.paragraph(text=text)
            doors += nodes.list_item("", nodes.paragraph("", "", link), said)
        return [doors]


def _doors(app: Sphinx) -> list[tuple[str, str, str]]:
    lessons = lesson_scripts(app)
    atlas = live_atlas()
    calls, kinds = len(atlas["operations"]), len(atlas["states"])
    messages = sum(len(entries(page)) for page in families(Path(app.srcdir)))
    mistakes, questions = (
        len(pattern.findall(Path(app.env.doc2path(page)).read_text(encoding="utf-8")))
        for page, pattern in (("silent_mistakes", MISTAKE), ("self_check", QUESTION))
    )
    return [
        ("auto_examples/index", f"Learn: {len(lessons)} lessons",
         "One idea each, in order or alone. Each is a script that runs."),
        ("atlas", f"Look up: {calls} calls",
         f"The Atlas, one table, shows what each does to {kinds} kinds of x."),
        ("errors", f"Fix: {messages} messages",
         "What each error or warning means, how to fix it, and what that costs."),
        ("silent_mistakes", f"Beware: {mistakes} silent mistakes",
         "Wrong code that doesn't raise an error, beside the right code."),
        ("self_check", f"Test yourself: {questions} questions",
         "Predict what the code prints, then see what it prints."),
        ("cheat_sheet", "Cheat sheet: one page",
         "The main calls, pictures, error messages and rules on one A4."),
    ]  # fmt: skip
