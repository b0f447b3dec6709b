"""Charts, figures and samples of other machines beside those of this build.

A chart is drawn once for each machine, all on one scale, and the samples of each are
offered as CSV. A map or a picture is shown in the place of the live one (shown.py).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes

from tensor_copies.figures import charts
from tensor_copies.figures.maps import framed_map
from tensor_copies.figures.plots import framed_figure
from tensor_copies.figures.samples import as_csv, link_text
from tensor_copies.machine.fingerprint import Fingerprint, fingerprint

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from tensor_copies.recordings.shown import Seen

CHART = re.compile(r'<figure class="lesson-figure">\s*<svg [^>]*?\bid="([\w-]+)"')


def slug(machine: Fingerprint) -> str:
    """Return the name of a machine as a part of an id or a class."""
    return machine.name.replace(".", "-")


def drawn_or_picture(seen: Seen, file: str) -> nodes.Node:
    """Draw a recorded map from its data, or show a picture as it is."""
    data = seen.figures[file]
    if data is None:
        uri = f"/recordings/{seen.machine.name}/{file}"
        alt = f"Picture that the lesson drew on {seen.machine}"
        return nodes.image(uri=uri, alt=alt, candidates={"*": uri[1:]})
    if not data:
        return nodes.paragraph(text="This machine's figure cannot be shown.")
    from standalone.tensor_maps import draw

    prefix = f"{slug(seen.machine)}-{Path(file).stem.replace('.', '-')}"
    return nodes.raw("", framed_map(draw(data["map"], prefix)), format="html")


def put_beside(app: Sphinx, node: nodes.Element, others: list[Seen]) -> bool:
    """Draw other machines' charts beside a live one, if it is one, on one scale."""
    found = CHART.search(node.astext()) if isinstance(node, nodes.raw) else None
    if found is None:
        return False
    path = _images(app) / f"{found[1]}.json"
    if not path.exists():
        return False
    live = json.loads(path.read_text(encoding="utf-8"))
    panels = [("this build, " + fingerprint().label, found[1], live)]
    for seen in others:
        for data in seen.figures.values():
            if data and data.get("title") == live["title"]:
                prefix = f"{slug(seen.machine)}-{found[1]}"
                panels.append((seen.machine.label, prefix, data))
    scale = charts.limits(data for _, _, data in panels)
    drawn = [
        charts.draw_chart(data, prefix, name, scale) for name, prefix, data in panels
    ]
    node.children = [nodes.Text(framed_figure("\n".join(drawn)))]
    node.rawsource = ""
    return True


def offer_samples(app: Sphinx, links: nodes.container, seen: list[Seen]) -> None:
    """Add a link to the samples of each other machine, written as CSV."""
    lesson = app.env.docname.rpartition("/")[2]
    for s in seen:
        for data in s.figures.values():
            table = (data or {}).get("samples")
            if table is not None:
                name = f"sphx_glr_{lesson}_{slug(s.machine)}.csv"
                text = as_csv(table, s.machine, s.day)
                (_images(app) / name).write_text(text, encoding="utf-8")
                target = f"{_images(app).name}/{name}"
                link = addnodes.download_reference("", "", reftarget=target)
                link["refdoc"] = app.env.docname
                link += nodes.inline(text=link_text(table, s.machine))
                links += nodes.paragraph("", "", link)


def _images(app: Sphinx) -> Path:
    """Return where the gallery keeps the pictures of the page that is read."""
    return Path(app.srcdir, app.env.docname).parent / "images"
