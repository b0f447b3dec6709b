"""Every torch and NumPy call of the lessons, and the lessons that use it.

The gallery notes what each name in a lesson's code refers to, to link it to its
official page. The same notes, turned round, lead from a call to the lessons. A call
that stands only in the setup is no subject of the lesson, and is left out.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tensor_copies.gallery.lessons import (
    blocks_of,
    depend_on_lessons,
    lesson_scripts,
)
from tensor_copies.lessons.opening import setup_line

LIBRARIES = {"torch": "PyTorch", "numpy": "NumPy"}


class Calls(SphinxDirective):
    """List each call with its official page and its lessons (``{calls}``)."""

    def run(self) -> list[nodes.Node]:
        """Return a section per library, with one entry per call."""
        app = self.env.app
        depend_on_lessons(app)
        used = calls_of_lessons(app)
        sections = []
        for library, name in LIBRARIES.items():
            listing = nodes.definition_list(classes=["calls-of-lessons"])
            for call in sorted(used, key=lambda call: (call.lower(), call)):
                if call.partition(".")[0] == library:
                    listing += _entry(call, used[call])
            if listing.children:
                title = nodes.title(text=name)
                sections.append(nodes.section("", title, listing, ids=[library]))
        return sections


def calls_of_lessons(app: Sphinx) -> dict[str, list[str]]:
    """Return the pages of the lessons that use a call, by its official name."""
    used: dict[str, list[str]] = defaultdict(list)
    scripts = lesson_scripts(app)
    for page, notes in _notes(app).items():
        names = json.loads(notes.read_text(encoding="utf-8"))
        shown = _after_setup(scripts[page])
        found = {
            _official(app, written, names[written])
            for written in names
            if re.search(rf"\b{re.escape(written)}\b", shown)
        }
        for call in found - {""}:
            used[call].append(page)
    return used


def _notes(app: Sphinx) -> dict[str, Path]:
    pages = lesson_scripts(app)
    notes = {page: Path(app.srcdir, f"{page}.codeobj.json") for page in pages}
    return {page: path for page, path in notes.items() if path.exists()}


def _after_setup(script: Path) -> str:
    """Return the code of a lesson without the block that is its setup."""
    setup = setup_line(script)
    blocks = (one for one in blocks_of(script) if one.type == "code")
    return "\n".join(one.content for one in blocks if one.lineno != setup)


def _official(app: Sphinx, written: str, candidates: list[dict]) -> str:
    """Return the name under which a library documents what the code has written."""
    named = [
        candidate
        for candidate in candidates
        # A variable is noted too, under its class: `x` is no use of `torch.Tensor`.
        if candidate["name"].rpartition(".")[2] == written.rpartition(".")[2]
        and not candidate["is_explicit"]  # a link in the text
    ]
    # And `x.device` is no use of the class `torch.device`.
    owned = [candidate for candidate in named if "." in candidate["name"]]
    names = (
        f"{found[module]}.{found['name']}"
        for found in owned or named
        for module in ("module_short", "module")
    )
    return next((name for name in names if _documented(app, name)), "")


def _documented(app: Sphinx, name: str) -> bool:
    library = name.partition(".")[0]
    if library not in LIBRARIES:
        return False
    inventory = app.env.intersphinx_named_inventory[library]
    return any(name in inventory[kind] for kind in inventory if kind.startswith("py:"))


def _entry(call: str, pages: list[str]) -> nodes.definition_list_item:
    official = addnodes.pending_xref(
        "", nodes.literal(text=call), refdomain="py", reftype="obj", reftarget=call,
        refexplicit=True, refwarn=True,
    )  # fmt: skip
    lessons = nodes.paragraph()
    for number, page in enumerate(pages):
        link = addnodes.pending_xref(
            "", refdomain="std", reftype="doc", reftarget=f"/{page}", refexplicit=False,
            refwarn=True,
        )  # fmt: skip
        link += nodes.inline(text=page, classes=["doc"])  # its title, when all are read
        lessons += [nodes.Text("; " if number else ""), link]
    term = nodes.term("", "", official, ids=[call], classes=["call"])
    return nodes.definition_list_item("", term, nodes.definition("", lessons))
