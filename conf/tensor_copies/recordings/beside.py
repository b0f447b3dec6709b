"""Charts, tables, figures and samples of other machines beside those of this build.

A chart is drawn once for each machine, all on one scale. A chart or a table that all
machines have the same is shown once; tables that differ are folded. The samples
of each are offered as CSV. A map or a picture is shown in the place of the live one
(shown.py).

The gallery's scrapers leave the data of charts and tables as files, and on the page a
directive that names the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from tensor_copies.figures import charts
from tensor_copies.figures.maps import draw_map, framed_map
from tensor_copies.figures.samples import as_csv, link_text
from tensor_copies.figures.tables import CLASS, table_node, without_table
from tensor_copies.machine.fingerprint import fingerprint
from tensor_copies.machine.folds import fold
from tensor_copies.machine.freshness import in_words
from tensor_copies.machine.lesson_list import lesson_scripts
from tensor_copies.recordings.folded import KIND
from tensor_copies.recordings.format import keys
from tensor_copies.recordings.live import live_blocks, set_text
from tensor_copies.recordings.provenance import slug

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from tensor_copies.recordings.shown import Seen

# What the data of a chart have one of.
CHARTS = {"panels", "bars"}
# Whose data are shown beside the live ones, whatever a reader chooses.
BESIDE = CHARTS | {"table", "samples"}


class LessonChart(SphinxDirective):
    """The chart that a block drew: the name of its file, and its place in the block."""

    required_arguments = 1
    option_spec: ClassVar = {"place": directives.nonnegative_int}

    def run(self) -> list[nodes.Node]:
        """Draw the chart of this build; those of others come later."""
        name = self.arguments[0]
        data = _kept(self.env.app, name)
        markup = charts.draw([charts.Panel("", name, data)])
        chart = nodes.raw("", markup, format="html")
        chart["chart"], chart["place"] = name, self.options.get("place", 0)
        return [chart]


class LessonMap(SphinxDirective):
    """The map of a block's tensors: the name of the file that has its data."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Draw the map of this build."""
        name = self.arguments[0]
        kept = _kept(self.env.app, name)
        drawn = framed_map(draw_map(kept["map"], name, kept["graph"]))
        return [nodes.raw("", drawn, format="html", map=name)]


class LessonTable(SphinxDirective):
    """The table that a block handed out: the name of its file."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Show the table of this build."""
        name = self.arguments[0]
        table = table_node(_kept(self.env.app, name)["table"])
        return [nodes.container("", table, classes=[CLASS], table=name)]


def say_tables_once(app: Sphinx, doctree: nodes.document) -> None:
    """Take a table out of the text that its block printed."""
    script = lesson_scripts(app).get(app.env.docname)
    if script is None:
        return
    for block in live_blocks(doctree, set(keys(script))):
        handed_out = filter(_is_table, block.outputs)
        tables = [_kept(app, node["table"]) for node in handed_out]
        for node in block.outputs:
            if isinstance(node, nodes.literal_block) and tables:
                text = node.astext().strip("\n")
                for kept in tables:
                    text = without_table(text, kept["table"])
                if text:
                    set_text(node, text)
                else:
                    node.parent.remove(node)


def drawn_or_picture(seen: Seen, file: str) -> nodes.Node:
    """Draw a recorded map from its data, or show a picture as it is."""
    data = seen.figures[file]
    if "picture" in data:
        uri = f"/recordings/{seen.machine.name}/{file}"
        alt = f"Picture that the lesson drew on {seen.machine}"
        return nodes.image(uri=uri, alt=alt, candidates={"*": uri[1:]})
    if not data:
        return nodes.paragraph(text="This machine's figure cannot be shown.")
    prefix = f"{slug(seen.machine)}-{Path(file).stem.replace('.', '-')}"
    return nodes.raw("", framed_map(draw_map(data["map"], prefix)), format="html")


def put_beside(
    app: Sphinx, node: nodes.Element, others: list[Seen]
) -> list[nodes.Element]:
    """Put other machines' charts or tables beside a live one.

    Return the node and what stands after it; nothing if it is neither chart nor table.
    """
    if "chart" in node:
        _add_charts(app, node, others)
        return [node]
    if _is_table(node):
        _add_tables(app, node, others)
        return [node]
    return []


def _add_charts(app: Sphinx, node: nodes.Element, others: list[Seen]) -> None:
    """Draw the charts of all machines in the place of the live one, on one scale.

    A chart that is the live one counts, and measures nothing: it is not drawn twice.
    """
    name = node["chart"]
    live = _kept(app, name)
    panels = [charts.Panel(f"{fingerprint().label} (this build)", name, live)]
    for seen in others:
        found = [data for data in seen.figures.values() if CHARTS & set(data)]
        data = found[node["place"]] if len(found) > node["place"] else {}
        if data != live and CHARTS & set(live) & set(data):
            panels.append(
                charts.Panel(_label(seen), f"{slug(seen.machine)}-{name}", data)
            )
    if len(panels) > 1:
        node.children = [nodes.Text(charts.draw(panels))]
        node.rawsource = ""


def _label(seen: Seen) -> str:
    return f"{seen.machine.label} (recorded {in_words(seen.day)})"


def _add_tables(app: Sphinx, node: nodes.Element, others: list[Seen]) -> None:
    """Put the tables of other machines after the live one: folded, if they differ."""
    live = _kept(app, node["table"])["table"]
    for seen in others:
        for table in _data(seen, "table"):
            if table != live:
                node += fold("", table_node(table), kind=KIND, words=_label(seen))


def _data(seen: Seen, kind: str) -> list[Any]:
    """Return the data of those figures of a machine that are of one kind."""
    return [data[kind] for data in seen.figures.values() if kind in data]


def _is_table(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "table" in node


def offer_samples(app: Sphinx, links: nodes.container, seen: list[Seen]) -> None:
    """Add a link to the samples of each other machine, written as CSV."""
    lesson = app.env.docname.rpartition("/")[2]
    for s in seen:
        for table in _data(s, "samples"):
            name = f"sphx_glr_{lesson}_{slug(s.machine)}.csv"
            text = as_csv(table, s.machine, s.day)
            (_images(app) / name).write_text(text, encoding="utf-8")
            target = f"{_images(app).name}/{name}"
            link = addnodes.download_reference("", "", reftarget=target)
            link["refdoc"] = app.env.docname
            link += nodes.inline(text=link_text(table, s.machine))
            links += nodes.paragraph("", "", link)


def _kept(app: Sphinx, name: str) -> dict[str, Any]:
    """Return the data that a scraper kept."""
    return json.loads((_images(app) / f"{name}.json").read_text(encoding="utf-8"))


def _images(app: Sphinx) -> Path:
    """Return where the gallery keeps the pictures of the page that is read."""
    return Path(app.srcdir, app.env.docname).parent / "images"
