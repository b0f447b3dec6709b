"""How messages look: a box, a list of what readers did, a card for each entry.

The error index has the box and lists the entries of all pages; a page of entries and
the page of silent mistakes list their own.

A page's kernel hands over data (:mod:`tensor_copies.errors.page`); the directives
here draw it. When the page has been read, the parts of each entry are put in the order
in which a reader with an error needs them: the message, why, the cures, and folded at
the end the code that raises it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tensor_copies.errors.messages import DESK, entries, families
from tensor_copies.errors.search import DATA, is_family, known_messages
from tensor_copies.calls.explorer import address_of
from tensor_copies.calls.pictures import STYLE, sheet
from tensor_copies.calls.words import SIGNS
from tensor_copies.machines.others import ABOUT_DEVICE
from tensor_copies.markup import TEMPLATES, fold

MACHINES = "machines"
RAISED = "What this page raised, without {}"
GPU = "a GPU"
FACT, BOX, LIST = "has_cards", "has_box", "has_list"
ABOUT = "Messages about "  # how the title of a page of entries begins
ENTRIES = {"entry", "mistake"}  # classes of the sections that an index lists
LEGEND = ("shares", "copies", "itself", "flows", "stops")
# What a cure's sign can be: memory, and what becomes of the gradient if there is one.
BOTH = ("shares-flows", "shares-stops", "copies-flows", "copies-stops")
DRAWN = {name: name.split("-") for name in (*BOTH, *LEGEND)}


class error_index(nodes.General, nodes.Element):
    """The place of the index, until the page has been read."""


class _Drawn(SphinxDirective):
    """A directive that draws the JSON of its content with a template."""

    has_content: ClassVar[bool] = True
    template: ClassVar[str]

    def run(self) -> list[nodes.Node]:
        """Return what the template makes of the data."""
        app, page = self.env.app, self.env.docname
        data = json.loads("\n".join(self.content) or "{}")
        markup = TEMPLATES.get_template(self.template).render(
            about_device=address_of_device(app), **self.facts(data)
        )
        self.env.metadata[page][FACT] = True
        # What the search reads of a drawing: code, and words about it.
        cures = [
            (row["code"], row["words"].replace("`", "")) for row in data.get("rows", ())
        ]
        return [nodes.raw("", markup, format="html", cures=cures)]

    def facts(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return what the template is told."""
        return data


def address_of_device(app: Sphinx) -> str:
    """Return the address of what the site says of the simulated device."""
    uri = app.builder.get_relative_uri(app.env.docname, MACHINES)
    return f"{uri}#{ABOUT_DEVICE}"


class Box(_Drawn):
    """The box that finds entries (``{error-box}``).

    The page says what stands in it: ``label``, ``hint`` where nothing is found, and
    ``index``, the anchor of the list of all entries and the words of the link there.
    """

    template = "errors/box.html"

    def facts(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the page's words, and where the whole site is searched."""
        builder, page = self.env.app.builder, self.env.docname
        self.env.metadata[page][BOX] = True
        search = builder.get_relative_uri(page, "search")
        repository = self.config.site_repository
        report = f"{repository}/issues/new" if repository and page == DESK else ""
        return {**data, "search": search, "report": report}


class Legend(_Drawn):
    """The signs, each once with its words (``{sign-legend}``)."""

    template = "errors/legend.html"

    def facts(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the signs that a cure may have."""
        legend = {sign: SIGNS[sign] for sign in LEGEND}
        return {"sheet": sheet(DRAWN), "legend": legend}


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
        template = TEMPLATES.get_template("errors/wordings.html")
        named = [(address, _named(address)) for address in sources]
        by = self.options.get("by", GPU)
        markup = template.render(met=met, texts=texts, sources=named, by=by)
        return [nodes.raw("", markup, format="html", texts=texts, met=met, by=by)]


def _named(address: str) -> str:
    """Return how a public thread on GitHub is called."""
    *_, repository, kind, number = address.split("/")
    return f"{repository} {'issue' if kind == 'issues' else 'PR'} {number}"


class Cures(_Drawn):
    """What to write, what not, and what each costs (``{cures}``)."""

    template = "errors/cures.html"

    def facts(self, data: dict[str, Any]) -> dict[str, Any]:
        """Give each row its sign, its words and the link to its chain."""
        for row in data["rows"]:
            words = [SIGNS[sign] for sign in row["signs"]]
            row["sign"] = "-".join(row["signs"])
            row["said"] = ", ".join(words).replace("is x", f"is `{data['subject']}`")
            row["link"], row["chain"] = self.chain(row, data["subject"], data["away"])
        return data

    def chain(self, row: dict[str, Any], subject: str, away: str) -> tuple[str, str]:
        """Return the link to a row's chain in the explorer, and its code there."""
        named = re.match(rf"{re.escape(subject)}\b", row["code"]) if subject else None
        if named is None or not row["state"]:
            return "", ""
        asked = f"x{row['code'][named.end() :]}"
        app, page = self.env.app, self.env.docname
        return address_of(app, page, asked, row["state"], away=bool(away)) or "", asked


class ErrorIndex(SphinxDirective):
    """All entries by what the reader did (``{error-index}``)."""

    def run(self) -> list[nodes.Node]:
        """Return the place that is filled when the page, or all pages, are read."""
        page = self.env.docname
        self.env.metadata[page][LIST] = True
        if page == DESK:
            for family in families(Path(self.env.srcdir)):
                self.env.note_dependency(str(family))
        return [error_index()]


def arrange(app: Sphinx, doctree: nodes.document) -> None:
    """Put the parts of each entry in order."""
    page = app.env.docname
    if not is_family(page):
        return
    known = entries(Path(app.env.doc2path(page)))
    for section in doctree.findall(nodes.section):
        if section["ids"][0] in known:
            _fold_code(section)


def fill_index(app: Sphinx, doctree: nodes.document) -> None:
    """List the entries of a page where it wants them listed, by their groups."""
    places = list(doctree.findall(error_index))
    if not places or app.env.docname == DESK:
        return
    groups: dict[nodes.section, list[nodes.section]] = {}
    for section in doctree.findall(nodes.section):
        if ENTRIES & {*section["classes"]}:
            groups.setdefault(section.parent, []).append(section)
    listing = nodes.container(classes=["error-index"])
    for group, members in groups.items():
        links = [nodes.list_item("", _line_to(one)) for one in members]
        head = [_line_to(group)] if len(groups) > 1 else []
        listing += nodes.container("", *head, nodes.bullet_list("", *links))
    _put(listing, places)


def fill_desk(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """List the entries of all pages on the error index, when all pages are read.

    An item has the anchor of its entry: the entries once stood on this page.
    """
    if page != DESK:
        return
    families: dict[str, list[nodes.list_item]] = {}
    for known in known_messages(app.env):
        family, anchor = known["page"], known["anchor"]
        uri = f"{app.builder.get_relative_uri(page, family)}#{anchor}"
        titles = app.env.tocs[family].findall(nodes.reference)
        title = next(one for one in titles if one["anchorname"] == f"#{anchor}")
        item = nodes.list_item("", _line(title.children, uri), ids=[anchor])
        families.setdefault(family, []).append(item)
    listing = nodes.container(classes=["error-index"])
    for family, items in families.items():
        uri = app.builder.get_relative_uri(page, family)
        head = _line(app.env.titles[family].children, uri, ABOUT)
        listing += nodes.container("", head, nodes.bullet_list("", *items))
    _put(listing, list(doctree.findall(error_index)))


def _put(listing: nodes.container, places: list[error_index]) -> None:
    for place in places:
        place.parent["classes"].append("index")
        place.replace_self(listing.deepcopy())


def _fold_code(section: nodes.section) -> None:
    """Fold the code of an entry away: it goes to what stands below the cures.

    Where the message cannot be raised here as readers meet it, what this page raised in
    its place is folded too.
    """
    section["classes"].append("entry")
    cells = [one for one in section.children if "cell" in one.get("classes", ())]
    code = next(one for one in cells[0].children if "cell_input" in one["classes"])
    cells[0].remove(code)
    drawn = [one for one in section.children if isinstance(one, nodes.raw)]
    if met := next((one for one in drawn if one.get("met")), None):
        section.remove(met)
        place = section.index(cells[0])
        section.remove(cells[0])
        section.insert(
            place,
            [
                met,
                fold(RAISED.format(met["by"]), cells[0], kind="raised-here"),
            ],
        )
        cells.pop(0)
    rest = section[section.index(cells[-1]) + 1 :]
    for node in rest:
        section.remove(node)
    folded = fold("The code that raises it", code, kind="raises")
    section += nodes.container("", folded, *rest, classes=["foot"])


def _line_to(section: nodes.section) -> nodes.paragraph:
    """Return a link to a section of this page in the words of its title."""
    return _line(section.next_node(nodes.title).children, f"#{section['ids'][0]}", "")


def _line(
    title: list[nodes.Node], address: str, without: str = "You "
) -> nodes.paragraph:
    """Return a link in the words of a title, without how it begins."""
    words = [node.deepcopy() for node in title]
    if isinstance(words[0], nodes.Text):
        words[0] = nodes.Text(words[0].removeprefix(without))
        if without == ABOUT:
            words[0] = nodes.Text(words[0][:1].upper() + words[0][1:])
    link = nodes.reference("", "", *words, refuri=address, internal=True)
    return nodes.paragraph("", "", link)


def load_card_styles(
    app: Sphinx, page: str, template: str, context: dict[str, Any], *_: object
) -> None:
    """Load the styles and scripts of cards, box and list on the pages that have them.

    Pages of entries do without the styles of MyST-NB: their cells are cards.
    """
    facts = app.env.metadata.get(page, {})
    if FACT in facts:
        app.add_css_file(STYLE)
    if {FACT, LIST} & {*facts}:
        app.add_css_file("errors.css")
    scripts = ["find_message.js", "error_desk.js"] if BOX in facts else []
    if page == DESK:
        scripts.insert(0, DATA)
    elif LIST in facts:
        scripts.append("entries.js")
    for script in scripts:
        app.add_js_file(script, loading_method="defer")
    if is_family(page):
        styles = context["css_files"]
        context["css_files"] = [s for s in styles if "mystnb." not in str(s.filename)]
