"""Arrange messages: a card for each entry with its cures, and the box that finds them.

A page's kernel hands over data (:mod:`tensor_copies.errors.kernel`), and the directives
here draw it. When the page has been read, the parts of each entry are put in the order in
which a reader with an error needs them: the message, why, the cures, and folded at the
end the code that raises it.
"""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tensor_copies.errors.messages import entries_in, keep_message
from tensor_copies.explorer.page import address_of
from tensor_copies.explorer.signs import SIGNS, sheet
from tensor_copies.markup import TEMPLATES, fold

DESK = "errors"  # the page whose box finds the messages of all pages
LEGEND = ("shares", "copies", "itself", "flows", "stops")
# What a cure's sign can be: memory, and what becomes of the gradient if there is one.
BOTH = ("shares-flows", "shares-stops", "copies-flows", "copies-stops")
DRAWN = {name: name.split("-") for name in (*BOTH, *LEGEND)}


def drawn(template: str, **facts: Any) -> nodes.raw:
    """Return what a template draws."""
    markup = TEMPLATES.get_template(f"errors/{template}.html").render(**facts)
    return nodes.raw("", markup, format="html")


class Box(SphinxDirective):
    """The box that finds entries (``{error-box}``).

    The page says what stands in it: ``label``, ``hint`` where nothing is found, and
    ``index``, the anchor of the list of all entries and the words of the link there.
    """

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return the box: without its scripts it is not seen."""
        page, report = self.env.docname, self.config.site_repository
        return [
            drawn(
                "box",
                search=self.env.app.builder.get_relative_uri(page, "search"),
                report=f"{report}/issues/new" if report and page == DESK else "",
                **json.loads("\n".join(self.content)),
            )
        ]


class Legend(SphinxDirective):
    """The signs that a cure may have, each once with its words (``{sign-legend}``)."""

    def run(self) -> list[nodes.Node]:
        """Return them, with the drawings that the cures of the page use."""
        legend = {sign: SIGNS[sign] for sign in LEGEND}
        return [drawn("legend", sheet=sheet(DRAWN), legend=legend)]


class Wordings(SphinxDirective):
    """Messages that no cell of an entry can raise here (``{wordings}``), one a line.

    With ``:met:`` it is the message as readers with a GPU meet it, which stands first,
    and an address for each line, where it can be read; else what older releases, or
    other calls, say in its place. ``:by:`` names a package that raises it instead.
    """

    has_content: ClassVar[bool] = True
    option_spec: ClassVar[dict[str, Any]] = {
        "met": directives.unchanged,
        "by": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        """Return them folded, or as the entry's message."""
        met, texts = "met" in self.options, [line for line in self.content if line]
        sources = self.options.get("met", "").split()
        if met and len(sources) != len(texts):
            raise self.error(
                f"{len(texts)} messages are not raised here, and {len(sources)} "
                "addresses say where they can be read: write `:met: https://...`, one "
                "for each"
            )
        named = []
        for address in sources:
            *_, repository, kind, number = address.split("/")
            what = "issue" if kind == "issues" else "PR"
            named.append((address, f"{repository} {what} {number}"))
        by = self.options.get("by", "a GPU")
        wordings = drawn("wordings", met=met, texts=texts, sources=named, by=by)
        wordings.attributes |= {"texts": texts, "met": met, "by": by}
        return [wordings]


class Cures(SphinxDirective):
    """What to write, what not, and what each costs (``{cures}``)."""

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return a row for each, with its sign and the link to its chain."""
        data = json.loads("\n".join(self.content))
        rows = data.pop("rows")
        rows = [self._row(**data, **row) for row in rows]
        costs = any(row["link"] or row["sign"] or row["raises"] for row in rows)
        cures = drawn("cures", rows=rows, costs=costs, **data)
        # What the search reads of a drawing: code, and words about it.
        cures["cures"] = [(row["code"], row["words"].replace("`", "")) for row in rows]
        return [cures]

    def _row(
        self, subject: str, code: str, away: bool, state: str = "", **seen: Any
    ) -> dict[str, Any]:
        chain, link, signs = "", "", () if away else seen.get("signs", ())
        named = re.match(rf"{re.escape(subject)}\b", code) if subject else None
        if named and state:
            chain, app = f"x{code[named.end() :]}", self.env.app
            link = address_of(app, self.env.docname, chain, state, away=away) or ""
        said = ", ".join(SIGNS[sign] for sign in signs)
        return {
            **{"raises": "", "shown": "", **seen, "code": code},
            **{
                "sign": "-".join(signs),
                "said": said.replace("is x", f"is `{subject}`"),
            },
            **{"link": link, "chain": chain},
        }


def arrange(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the message of each entry of a page, then put the entry's parts in order."""
    for section, cell in entries_in(doctree):
        keep_message(app.env, doctree, section, cell)
        _order(section, cell)


def _order(section: nodes.section, cell: nodes.container) -> None:
    """Fold the code of an entry away, below its cures.

    Where the message cannot be raised here as readers meet it, what this page raised in
    its place is folded too.
    """
    section["classes"].append("entry")
    code = next(one for one in cell.children if "cell_input" in one["classes"])
    cell.remove(code)
    cells = [one for one in section.children if "cell" in one.get("classes", ())]
    rest = section[section.index(cells[-1]) + 1 :]
    for met in section.children:
        if isinstance(met, nodes.raw) and met.get("met"):
            section.remove(met)
            words = f"What this page raised, without {met['by']}"
            section.replace(cell, [met, fold(words, cell, kind="raised-here")])
            break
    for node in rest:
        section.remove(node)
    folded = fold("The code that raises it", code, kind="raises")
    section += nodes.container("", folded, *rest, classes=["foot"])
