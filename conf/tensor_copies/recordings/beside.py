"""Charts, tables and samples of other machines beside those of this build.

A chart is drawn once for each machine that says something else, all on one scale. A
table that all machines have the same is shown once; tables that differ are folded. The
samples of each are offered as CSV.

The gallery's scrapers leave the data of charts, maps and tables as files, and on the
page a directive that names the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tensor_copies.figures import charts
from tensor_copies.figures.lead import draw_lead
from tensor_copies.figures.maps import draw_map, framed_map
from tensor_copies.figures.samples import as_csv, link_text
from tensor_copies.figures.tables import CLASS, as_text, table_node, without_table
from tensor_copies.recordings.comparing import is_measured
from tensor_copies.recordings.format import CHARTS, Seen
from tensor_copies.recordings.live import LiveBlock, set_text
from tensor_copies.recordings.provenance import slug
from tensor_copies.run.fingerprint import Fingerprint, fingerprint
from tensor_copies.run.folds import fold
from tensor_copies.run.freshness import in_words

FOLDED = "folded"  # the kind of a fold, and the marker that asks for one


class Kept(SphinxDirective):
    """The place of what a block drew or handed out: the name of the file with its data.

    Of a chart ``place`` says which it is of its block.
    """

    required_arguments = 1
    option_spec: ClassVar = {"place": directives.nonnegative_int}

    def run(self) -> list[nodes.Node]:
        """Show what this build has; what other machines have comes later."""
        name = self.arguments[0]
        data = kept(self.env.app, name)
        if "map" in data:
            return [map_node(data, name)]
        if "table" in data:
            table = table_node(data["table"])
            return [nodes.container("", table, classes=[CLASS], table=name)]
        markup = charts.draw([charts.Panel("", name, data)])
        place = self.options.get("place", 0)
        return [nodes.raw("", markup, format="html", chart=name, place=place)]


def kept(app: Sphinx, name: str) -> dict[str, Any]:
    """Return the data that a scraper kept."""
    return json.loads((_images(app) / f"{name}.json").read_text(encoding="utf-8"))


def _images(app: Sphinx) -> Path:
    """Return where the gallery keeps the pictures of the page that is read."""
    return Path(app.srcdir, app.env.docname).parent / "images"


def map_node(data: dict[str, Any], name: str) -> nodes.raw:
    """Return a drawn map; ``name`` begins its ids, and is the file of a live one."""
    if "raises" in data:
        markup = draw_lead(data, name)
    else:
        markup = framed_map(draw_map(data["map"], name, data.get("graph")))
    return nodes.raw("", markup, format="html", map=name)


def say_tables_once(app: Sphinx, blocks: Sequence[LiveBlock]) -> None:
    """Take tables out of the texts that their blocks printed."""
    for block in blocks:
        names = [node["table"] for node in block.outputs if "table" in node]
        for node in block.texts if names else ():
            text = node.astext().strip("\n")
            for name in names:
                text = without_table(text, kept(app, name)["table"])
            set_text(node, text)
            if not text:
                block.outputs.remove(node)


def put_beside(app: Sphinx, node: nodes.Element, others: list[Seen]) -> bool:
    """Put other machines' charts or tables beside a live one; return if it is one."""
    if "chart" in node:
        _add_charts(app, node, others)
    elif "table" in node:
        _add_tables(app, node, others)
    else:
        return False
    return True


def _add_charts(app: Sphinx, node: nodes.Element, others: list[Seen]) -> None:
    """Draw the charts of machines that say something else with the live one.

    They are on one scale. Machines that say the same are named in a fold; one whose
    chart is the live one counts, and measures nothing: it is not named.
    """
    name = node["chart"]
    live = kept(app, name)
    panels = [charts.Panel(f"{fingerprint().label} (this build)", name, live)]
    same = []
    for seen in others:
        found = [data for data in seen.figures.values() if CHARTS & set(data)]
        data = found[node["place"]] if len(found) > node["place"] else {}
        if data == live or not CHARTS & set(live) & set(data):
            continue
        if charts.said_by(data) == charts.said_by(live):
            same.append((_label(seen), data["title"]))
        else:
            prefix = f"{slug(seen.machine)}-{name}"
            panels.append(charts.Panel(_label(seen), prefix, data))
    if len(panels) > 1 or same:
        node.children = [nodes.Text(charts.draw(panels, same))]


def _add_tables(app: Sphinx, node: nodes.Element, others: list[Seen]) -> None:
    """Put the tables of other machines after the live one: folded, if they differ."""
    live = kept(app, node["table"])["table"]
    for seen in others:
        for table in seen.data("table"):
            if table != live:
                node += fold("", table_node(table), kind=FOLDED, words=_label(seen))


def same_tables(
    app: Sphinx, made: Sequence[nodes.Element], others: list[Seen]
) -> Iterator[set[Fingerprint]]:
    """Return for each table which machines have the same; a table of times has none."""
    for name in [node["table"] for node in made if "table" in node]:
        live = kept(app, name)["table"]
        if not is_measured("", as_text(live)):
            differ = {
                one.machine for one in others for t in one.data("table") if t != live
            }
            yield {one.machine for one in others} - differ


def _label(seen: Seen) -> str:
    return f"{seen.machine.label} (recorded {in_words(seen.day)})"


def offer_samples(app: Sphinx, links: nodes.Element, others: list[Seen]) -> None:
    """Add a link to the samples of each other machine, written as CSV."""
    lesson = app.env.docname.rpartition("/")[2]
    for seen in others:
        for table in seen.data("samples"):
            name = f"sphx_glr_{lesson}_{slug(seen.machine)}.csv"
            text = as_csv(table, seen.machine, seen.day)
            (_images(app) / name).write_text(text, encoding="utf-8")
            link = addnodes.download_reference(
                "", "", reftarget=f"{_images(app).name}/{name}", refdoc=app.env.docname
            )
            link += nodes.inline(text=link_text(table, seen.machine))
            links += nodes.paragraph("", "", link)
