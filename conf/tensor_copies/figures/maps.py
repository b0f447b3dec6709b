"""Tensor maps in lessons: a picture of the tensors that a comment in a block names.

    # sphinx_gallery_tensor_map = "x, net.weight, x copied to y, z raises RuntimeError"
    # sphinx_gallery_tensor_map_graph = True      it shows the operations too

A name is a variable, or an attribute or an item of one, as it is at the block's end.
``A copied to B`` draws the arrow of a copy, ``A raises ERROR`` a cross on A, which need
not be defined. The script itself holds none of our code.
"""

import re
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config

WIDTH = 300.0  # pixels, which a phone shows; on a wide page it grows (lessons.css)
BETWEEN = re.compile(r",\s*(?![^\[]*\])")  # not within an item's brackets


def requested_maps(block: Any, block_vars: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is drawn of the map that a block asks for, if it asks for one."""
    marks = extract_file_config(block.content)
    if "tensor_map" not in marks:
        return []
    from tensor_maps.observe import observe
    from tensor_maps.reading import is_drawn

    from tensor_copies.figures.steps import coloured

    names, raises, copies = names_in(marks["tensor_map"])
    found = {}
    for name in names:
        with suppress(Exception):  # of what raises there may be nothing
            found[name] = eval(name, block_vars["example_globals"])
    found = {name: value for name, value in found.items() if is_drawn(value)}
    if missing := set(names) - {*found, *raises}:
        place = f"{Path(block_vars['src_file']).name}, line {block.lineno}"
        said = f"sphinx_gallery_tensor_map names {missing}, which is no tensor there"
        raise ExtensionError(f"{place}: {said}")
    graph = marks.get("tensor_map_graph", False)
    seen = coloured(observe(found, graph=graph), block_vars["src_file"])
    return [{"map": seen, "raises": raises, "copies": copies, "graph": graph}]


def names_in(marker: str) -> tuple[list[str], dict[str, str], list[tuple[str, ...]]]:
    """Return the names of a comment, what raises which error, and what is copied."""
    names, raises, copies = [], {}, []
    for part in BETWEEN.split(marker):
        what, *error = part.split(" raises ")
        copied = tuple(what.split(" copied to "))
        names += copied
        raises |= dict.fromkeys(copied, *error) if error else {}
        copies += [copied] if copied[1:] else []
    return list(dict.fromkeys(names)), raises, copies


def map_html(data: dict[str, Any], prefix: str) -> str:
    """Return a map as an HTML figure; ``prefix`` begins its ids."""
    from tensor_maps.graph import draw_graph
    from tensor_maps.scene import draw_scene

    seen, raises = data["map"], data["raises"]
    draw = draw_graph if data["graph"] else draw_scene
    made = draw(seen, width=WIDTH, raises=raises, copies=map(tuple, data["copies"]))
    return (
        f'<figure class="tensor-map" style="--own:{made.width:.0f}">\n'
        f'{made.svg(f"""id="{prefix}" """)}\n'
        f"<figcaption>{escape(made.caption)}</figcaption>\n</figure>"
    )
