"""Arrange messages: a card for each entry with its cures, and the box that finds them.

When a page has been read, the parts of each entry are put in the order in which a
reader with an error needs them: message, cause, cures, and folded at the end the code.
"""

import json
import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tensor_copies.calls.explorer import address_of
from tensor_copies.calls.facts import DEVICE, facts
from tensor_copies.calls.pictures import sheet
from tensor_copies.calls.words import SIGNS, signs
from tensor_copies.errors.messages import keep_message
from tensor_copies.markup import TEMPLATES, fold

RAISING = {"tag_raises-exception", "tag_warning"}  # of the first cell of an entry
LEGEND = ("shares", "copies", "itself", "flows", "stops")
# What a cure's sign can be: memory, and what becomes of the gradient if there is one.
BOTH = ("shares-flows", "shares-stops", "copies-flows", "copies-stops")


def _drawn(name: str, **data: Any) -> nodes.raw:
    markup = TEMPLATES.get_template(f"errors/{name}.html").render(**data)
    return nodes.raw("", markup, format="html")


class Box(SphinxDirective):
    """The box that finds entries (``{error-box}``), unseen without its script.

    The page says what stands in it: ``label``, ``hint`` where nothing is found, and
    ``index``, the anchor of the list of all entries and the words of the link there.
    """

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return the box, with the page that searches the whole site."""
        search = self.env.app.builder.get_relative_uri(self.env.docname, "search")
        repository, data = self.config.site_repository, "\n".join(self.content)
        return [_drawn("box", search=search, repository=repository, **json.loads(data))]


class Legend(SphinxDirective):
    """The signs that a cure may have, each once with its words (``{sign-legend}``)."""

    def run(self) -> list[nodes.Node]:
        """Return them, with the drawings that the cures of the page use."""
        drawings = sheet({name: name.split("-") for name in (*BOTH, *LEGEND)})
        return [_drawn("legend", sheet=drawings, legend=LEGEND, words=SIGNS)]


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
        sources, by = self.options.get("met"), self.options.get("by", "a GPU")
        texts = [line for line in self.content if line]
        told = {"met": sources is not None, "texts": texts, "by": by}
        wordings = _drawn("wordings", sources=(sources or "").split(), **told)
        wordings.attributes |= told
        return [wordings]


class Cures(SphinxDirective):
    """What to write, what not, and what each costs (``{cures}``)."""

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Return a row for each, with its sign and the link to its lane."""
        data = json.loads("\n".join(self.content))
        rows = [self._row(data["subject"], data["away"], **row) for row in data["rows"]]
        cures = _drawn(
            "cures",
            rows=rows,
            subject=data["subject"],
            away=data["away"] and facts().devices.get(DEVICE),
            costs=any(row["link"] or row["sign"] or row["raises"] for row in rows),
        )
        # What the search reads of a drawing: code, and words about it.
        cures["cures"] = [(row["code"], row["words"].replace("`", "")) for row in rows]
        return [cures]

    def _row(
        self, subject: str, away: bool, code: str, state: str = "", **seen: Any
    ) -> dict[str, Any]:
        lane, link, sign = "", "", seen.get("signs", ())
        named = re.match(rf"{re.escape(subject)}\b", code) if subject else None
        if named and state and sign:
            lane, app = f"x{code[named.end() :]}", self.env.app
            link = address_of(app, self.env.docname, lane, state, away=away)
        if away:  # the page's kernel has seen a subject on the CPU
            record = facts().record(lane, state, away=True)
            sign = signs(record) if record else ()
        said = ", ".join(SIGNS[one] for one in sign).replace("is x", f"is `{subject}`")
        drawn = {"sign": "-".join(sign), "said": said, "lane": lane, "link": link}
        return {"raises": "", "shown": "", **seen, "code": code, **drawn}


def arrange(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the message of each entry of a page, then put the entry's parts in order.

    An entry's label, which is stable, becomes the only address of its section.
    """
    cells = [*doctree.findall(nodes.container)]
    for cell in (one for one in cells if RAISING & {*one["classes"]}):
        section = cell.parent
        label = next(one for one in section["ids"] if doctree.nametypes.get(one))
        for link in doctree.findall(nodes.reference):
            if link.get("refid") in section["ids"]:  # of the list of contents
                link["refid"] = label
        section["ids"] = [label]
        keep_message(app.env, section, cell)
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
    end = section.index(cells[-1]) + 1
    rest, section[end:] = section[end:], []
    for met in [one for one in section.findall(nodes.raw) if one.get("met")]:
        section.remove(met)
        words = f"What this page raised, without {met['by']}"
        section.replace(cell, [met, fold(words, cell, kind="raised-here")])
    folded = fold("The code that raises it", code, kind="raises")
    section += nodes.container("", folded, *rest, classes=["foot"])
