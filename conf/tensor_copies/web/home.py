"""What else the home page has: the box for a message, and doors with counts.

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
from tensor_copies.run.lesson_list import lesson_scripts
from tensor_copies.run.templates import TEMPLATES

QUESTION = re.compile(r"^## \d+\. ", re.MULTILINE)
MISTAKE = re.compile(r"^### ", re.MULTILINE)


class MessageBox(SphinxDirective):
    """A box to paste an error message into (``{message-box}``)."""

    def run(self) -> list[nodes.Node]:
        """Return a form that asks the search page; its example is what most meet."""
        records = (
            one for one in live_atlas()["records"] if one["operation"] == "numpy"
        )
        form = TEMPLATES.get_template("web/message_box.html").render(
            search=self.env.app.builder.get_relative_uri(self.env.docname, "search"),
            example=next((one["error"] for one in records if one["error"]), ""),
        )
        return [nodes.raw("", form, format="html")]


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
         "One idea each, in order or alone. All are scripts that run."),
        ("atlas", f"Look up: {calls} calls",
         f"The Atlas, one table: what each does to {kinds} kinds of x."),
        ("errors", f"Fix: {messages} messages",
         "What each error or warning means, how to fix it, and what that costs."),
        ("silent_mistakes", f"Beware: {mistakes} silent mistakes",
         "Code that raises nothing and is wrong, beside code that is right."),
        ("self_check", f"Test yourself: {questions} questions",
         "Predict what the code prints, then see what it prints."),
        ("cheat_sheet", "Cheat sheet: one page",
         "Calls in signs, pictures, messages and rules, on one A4."),
    ]  # fmt: skip
