"""Arrange the page that sphinx-gallery made of a lesson, in one pass over its blocks.

A lesson begins with its answer (the first paragraph), the picture of the answer and a
row of actions. Comments in its blocks, which no reader meets, say what is special::

    # sphinx_gallery_setup = True                    the block is folded
    # sphinx_gallery_folded = "The code that draws"  its code is, under these words
    # sphinx_gallery_lead = True                     its first figure opens the page
    # sphinx_gallery_lead = "what_waits.html"        this diagram of conf/figures does
    # sphinx_gallery_try = "x.detach()"              a link to the explorer

Assertions at the end of a block are folded below its output.
"""

import ast
import json
from itertools import takewhile
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config

from tensor_copies.calls.explorer import address_of
from tensor_copies.figures.tables import with_tables
from tensor_copies.lessons.player import with_player
from tensor_copies.machines.below import Elsewhere
from tensor_copies.markup import code_in, fold

# What ends the outputs of a block on the gallery's page.
ENDS = nodes.comment | nodes.section | nodes.paragraph | addnodes.only | nodes.target
FILES = {".py": "Script", ".ipynb": "Notebook"}
COLAB = "https://colab.research.google.com/github"
BRANCH = "notebooks"  # where the workflow puts what Colab opens


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Carry the marker comments of a block to its page (the first image scraper)."""
    marks = {**extract_file_config(block.content), "line": block.lineno}
    return f".. raw:: marks\n\n    {json.dumps(marks)}\n"


def arrange_lesson(app: Sphinx, doctree: nodes.document) -> None:
    """Fold, move and add what the marks of a lesson ask for (``doctree-read``)."""
    raw = doctree.findall(nodes.raw)
    places = {one: json.loads(one.astext()) for one in raw if one["format"] == "marks"}
    if not places:
        return
    # A run that is new has another stamp at the foot of the page.
    app.env.note_dependency(str(Path(app.srcdir, f"{app.env.docname}.py.md5")))
    elsewhere = Elsewhere(app)
    lead: list[nodes.Node] = []
    asked: dict[str, Any] = {}
    for place, marks in places.items():
        asked |= marks
        lead += _arrange_block(app, place, marks, elsewhere)
    top = next(doctree.findall(nodes.section))
    answer = next((one for one in top if isinstance(one, nodes.paragraph)), None)
    if answer is None or len(lead) != 1:
        name = Path(app.env.docname).name
        said = f"{name}.py has no answer below its title, or not one picture to open it"
        raise ExtensionError(f"{said}: mark one block with sphinx_gallery_lead")
    opening = nodes.container("", with_player(app, lead[0]), classes=["lead"])
    actions = nodes.container("", *_actions(app, doctree, asked), classes=["actions"])
    at = top.index(answer) + 1
    top[at:at] = [opening, actions]
    for link in doctree.findall(nodes.reference):
        if link.astext().startswith("From "):  # it says what document a fact is from
            link["classes"].append("from-document")


def _arrange_block(
    app: Sphinx, place: nodes.raw, marks: dict[str, Any], elsewhere: Elsewhere
) -> list[nodes.raw]:
    """Arrange a block; return the figure that is to open the page, if it has that."""
    section, at = place.parent, place.parent.index(place)
    code = section[at - 1]
    given = list(takewhile(lambda one: not isinstance(one, ENDS), section[at + 1 :]))
    drawn = [one for one in given if isinstance(one, nodes.raw)]
    printed = [one for one in given if isinstance(one, nodes.literal_block)]
    shown = [part for one in printed for part in with_tables(one)]
    if any(isinstance(one, nodes.literal_block) for one in shown):
        shown.insert(0, nodes.paragraph(text="Output", classes=["output-head"]))
    lead = drawn[:1] if marks.get("lead") is True else []
    if isinstance(file := marks.get("lead"), str):  # a diagram, which no run has drawn
        path = Path(app.confdir, "figures", file)
        app.env.note_dependency(str(path))
        lead = [nodes.raw("", path.read_text("utf-8"), format="html")]
    outputs = [*(one for one in drawn if one not in lead), *shown]
    if marks.get("setup"):
        arranged = [fold("Setup", code, *outputs, kind="setup")]
    else:
        boxes = elsewhere.boxes(marks["line"], code.astext(), printed, drawn)
        if words := marks.get("folded"):
            arranged = [fold(words, code, kind="folded"), *outputs, *boxes]
        else:
            arranged = [code, *outputs, *boxes, *take_assertions(code)]
    section[at - 1 : at + 1 + len(given)] = arranged
    return lead


def take_assertions(code: nodes.literal_block) -> list[nodes.admonition]:
    """Take the assertions at the end of a block's code off it; return their fold."""
    text = code.astext()
    body = ast.parse(text).body
    checks = list(takewhile(lambda one: isinstance(one, ast.Assert), reversed(body)))
    if not checks or len(checks) == len(body):
        return []
    lines = text.splitlines(keepends=True)
    first = checks[-1].lineno - 1
    while lines[first - 1].lstrip().startswith("#"):
        first -= 1  # a comment right above belongs to what is below it
    checked = "".join(lines[first:])
    proof = nodes.literal_block(checked, checked, **code.non_default_attributes())
    # Sphinx highlights a block whose source is its text.
    code.rawsource = "".join(lines[:first]).rstrip() + "\n"
    code[:] = [nodes.Text(code.rawsource)]
    words = f"Show the check ({len(checks)} assertion{'s' * (len(checks) > 1)})"
    return [fold(words, proof, kind="checked")]


def _actions(
    app: Sphinx, doctree: nodes.document, asked: dict[str, Any]
) -> list[nodes.paragraph]:
    """Return the links below the picture; take the gallery's notes off the page."""
    files = {}
    for note in list(doctree.findall(addnodes.only)):
        found = list(note.findall(addnodes.download_reference))
        files |= {Path(one["reftarget"]).suffix: one for one in found}
        note.parent.remove(note)
    actions: list[nodes.Node] = []
    for ending, label in FILES.items():
        files[ending].children = [nodes.inline(text=label)]
        actions.append(files[ending])
    if repository := app.config.site_repository.removeprefix("https://github.com/"):
        lesson = app.env.docname.partition("/")[2]
        uri = f"{COLAB}/{repository}/blob/{BRANCH}/{lesson}.ipynb"
        actions.append(nodes.reference("", "Colab", refuri=uri))
    code = asked.get("try", "")
    if uri := address_of(app, app.env.docname, code):
        words = code_in(f"Try ``{code}`` in the explorer")
        actions.append(nodes.reference("", "", *words, refuri=uri))
    return [nodes.paragraph("", "", one) for one in actions]
