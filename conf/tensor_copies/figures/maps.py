"""Tensor maps in lessons: a picture of the tensors that a comment in a block names.

    # sphinx_gallery_tensor_map = "x, net.weight, x copied to y, z raises RuntimeError"
    # sphinx_gallery_tensor_map_graph = True      it shows the operations too

A name is a variable, or an attribute or an item of one, as it is at the block's end.
``A copied to B`` draws the arrow of a copy, ``A raises ERROR`` a cross on A, which need
not be defined. The script itself holds none of our code.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from textwrap import indent
from typing import Any

from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config

WIDTH = 300.0  # pixels, which a phone shows; on a wide page it grows (lessons.css)
BETWEEN = re.compile(r",\s*(?![^\[]*\])")  # not within an item's brackets


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the reST of the map that a block asks for (an image scraper)."""
    prefix = f"{Path(block_vars['src_file']).stem}-{block.lineno}"
    return as_rest([map_html(one, prefix) for one in requested_maps(block, block_vars)])


def as_rest(figures: list[str]) -> str:
    """Return the reST of figures that are HTML."""
    head = ".. raw:: html\n    :class: figure\n\n"
    return "\n".join(f"{head}{indent(one, '    ')}\n" for one in figures)


def requested_maps(block: Any, block_vars: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is drawn of the map that a block asks for, if it asks for one.

    Raises
    ------
    ExtensionError
        If the comment names what is no tensor and no array there.
    """
    marks = extract_file_config(block.content)
    if "tensor_map" not in marks:
        return []
    from tensor_maps.observe import observe
    from tensor_maps.reading import is_drawn

    from tensor_copies.figures.steps import coloured

    names, raises, copies = names_in(marks["tensor_map"])
    found = {}
    for name in names:
        try:
            value = eval(name, block_vars["example_globals"])
        except Exception:
            value = None
        if is_drawn(value):
            found[name] = value
        elif name not in raises:
            place = f"{Path(block_vars['src_file']).name}, line {block.lineno}"
            said = f"sphinx_gallery_tensor_map names {name!r}, which is no tensor there"
            raise ExtensionError(f"{place}: {said}")
    graph = marks.get("tensor_map_graph", False)
    seen = coloured(observe(found), block_vars["src_file"])
    return [{"map": seen, "raises": raises, "copies": copies, "graph": graph}]


def names_in(marker: str) -> tuple[list[str], dict[str, str], list[tuple[str, ...]]]:
    """Return the names of a comment, what raises which error, and what is copied."""
    names: list[str] = []
    raises: dict[str, str] = {}
    copies: list[tuple[str, ...]] = []
    for part in BETWEEN.split(marker):
        if " raises " in part:
            name, raises[name] = part.split(" raises ")
            names.append(name)
        elif " copied to " in part:
            copies.append(tuple(part.split(" copied to ")))
            names += copies[-1]
        else:
            names.append(part)
    return list(dict.fromkeys(names)), raises, copies


def map_html(data: dict[str, Any], prefix: str) -> str:
    """Return a map as an HTML figure; ``prefix`` begins its ids."""
    from tensor_maps.draw import draw, scene

    if data["graph"]:
        markup = draw(data["map"], prefix, WIDTH, True)
        return f'<figure class="tensor-map">\n{markup}\n</figure>'
    copies = map(tuple, data["copies"])
    made = scene(
        data["map"], width=WIDTH, raises=data["raises"], copies=copies, graph=False
    )
    size = f"--own:{made.width:.0f};--own-high:{made.height:.0f}"
    return (
        f'<figure class="tensor-map" style="{size}">\n'
        f'{made.svg(f"""id="{prefix}" """)}\n'
        f"<figcaption>{escape(made.caption)}</figcaption>\n</figure>"
    )
