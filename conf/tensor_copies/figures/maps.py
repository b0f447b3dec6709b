"""Tensor maps in lessons: a picture of the tensors that a marker comment names.

A code block asks for a map with a comment that neither page nor notebook shows::

    # sphinx_gallery_tensor_map = "x, w, b, y"

and for one that says what the block changed, against the state before it, with
``sphinx_gallery_tensor_map_change``. What ``sphinx_gallery_tensor_map_lead`` names is
drawn first, for the top of the page (lead.py). With
``sphinx_gallery_tensor_map_graph = True`` beside it the map also shows the operations
of the autograd graph. The script itself holds none of our code.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config

from tensor_copies.figures.lead import lead_scene, observed_lead
from tensor_copies.figures.pictures import (
    NO_DRAWING,
    keep_for_card,
    on_card,
)
from tensor_copies.gallery.lessons import blocks_of

if TYPE_CHECKING:
    from tensor_maps.scene import Drawing

MAP, CHANGE, GRAPH = "tensor_map", "tensor_map_change", "tensor_map_graph"
# Pixels: the room on a phone, beside the text of a wide page, and on a card.
NARROW, WIDE, CARD = 288.0, 640.0, 216.0
MOST_ON_CARD = 4  # names
# What the next block of a script is to be compared with, by the script's path.
_before: dict[str, dict[str, Any]] = {}


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the reST of the map that a block asks for (an image scraper)."""
    found = requested_maps(block, block_vars)
    return "\n".join(_kept(kept, block, block_vars) for kept in found)


def _kept(kept: dict[str, Any], block: Any, block_vars: dict[str, Any]) -> str:
    """Keep a map as data, from which it is drawn when its page is read."""
    path = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
    path.write_text(NO_DRAWING, encoding="utf-8")  # the gallery looks for a file
    path.with_suffix(".json").write_text(json.dumps(kept), encoding="utf-8")
    keep_for_card(kept, path, Path(block_vars["src_file"]), block.lineno)
    return f".. lesson-map:: {path.stem}\n"


def draw_map(observed: dict[str, Any], prefix: str, graph: bool | None = None) -> str:
    """Return a map for a wide page, and for a phone where that is another drawing."""
    # Imported late, as in requested_map(): with it comes what a build that runs no
    # lesson need not wait for.
    from tensor_maps.draw import draw

    wide = draw(observed, prefix, WIDE, graph)
    narrow = draw(observed, prefix, NARROW, graph)
    if wide == narrow:
        return wide
    narrow = draw(observed, f"{prefix}-narrow", NARROW, graph)
    both = {"map-wide": wide, "map-narrow": narrow}
    return "\n".join(
        markup.replace("<div>", f'<div class="{name}">', 1)
        for name, markup in both.items()
    )


def drawn_card(kept: Path) -> str:
    """Return the drawing for the card of a lesson from what was kept for it."""
    data = json.loads(kept.read_text(encoding="utf-8"))
    if "map" not in data:
        return data["drawing"]
    made = lead_scene(data, CARD) if "raises" in data else _small(data["map"])
    marks = "".join(made.marks)
    # A drawing on a card begins at its upper edge.
    moved = f'<g transform="translate(0 {-made.top:g})">{marks}</g>'
    return on_card(made.width, made.height, moved)


def _small(observed: dict[str, Any]) -> Drawing:
    """Return the small form of a map: what shares comes first, if not all fit."""
    from tensor_maps.draw import scene

    tensors = observed["tensors"]
    names = [seen["names"][0] for seen in tensors if seen["names"]]
    on = [
        [tensors[window["tensor"]]["names"] for window in storage["windows"]]
        for storage in observed["storages"]
    ]
    if len(names) > MOST_ON_CARD:
        sharing = [
            name for found in on if len(found) > 1 for (name, *_) in found if name
        ]
        names = [*sharing, *(name for name in names if name not in sharing)]
    return scene(observed, names=names[:MOST_ON_CARD], width=CARD, graph=False)


def framed_map(markup: str) -> str:
    """Return a map as a figure of a page."""
    return f'<figure class="tensor-map">\n{markup}\n</figure>'


def requested_maps(block: Any, block_vars: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is kept of the maps of a block: the one that opens the page first."""
    found = [observed_lead(block, block_vars)]
    if (observed := requested_map(block, block_vars)) is not None:
        graph = extract_file_config(block.content).get(GRAPH)
        found.append({"map": observed, "graph": graph})
    return [kept for kept in found if kept is not None]


def requested_map(block: Any, block_vars: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the map that a block asks for shows, or None if it asks for none.

    Raises
    ------
    ExtensionError
        If the marker names something that the script has not defined, or asks in the
        first block for what changed.
    """
    script = block_vars["src_file"]
    upcoming = _changes(script).get(block.lineno)
    asked = extract_file_config(block.content)
    if upcoming is None and not {MAP, CHANGE} & set(asked):
        return None
    from tensor_maps.compare import changed
    from tensor_maps.observe import observe

    observed = None
    if MAP in asked:
        observed = observe(_named(asked[MAP], block, block_vars))
    elif CHANGE in asked:
        if script not in _before:
            raise ExtensionError(
                f"{Path(script).name}: the block on line {block.lineno} asks for a map "
                "of what it changed, and no block of code comes before it. Write "
                f"sphinx_gallery_{MAP}"
            )
        before = _before.pop(script)
        observed = changed(before, observe(_named(asked[CHANGE], block, block_vars)))
    if upcoming is not None:
        _before[script] = observe(_named(upcoming, block, block_vars, missing_ok=True))
    return observed


def _named(
    names: str, block: Any, block_vars: dict[str, Any], missing_ok: bool = False
) -> dict[str, Any]:
    found = {}
    variables, script = block_vars["example_globals"], Path(block_vars["src_file"])
    for name in (part.strip() for part in names.split(",")):
        if name in variables:
            found[name] = variables[name]
        elif not missing_ok:
            raise ExtensionError(
                f"{script.name}: the block on line {block.lineno} asks for a map of "
                f"{name!r}, which the script has not defined"
            )
    return found


@cache
def _changes(script: str) -> dict[int, str]:
    """Return the names that a block's successor compares, by the block's line."""
    code = [block for block in blocks_of(script) if block.type == "code"]
    asked = [extract_file_config(block.content).get(CHANGE) for block in code[1:]]
    pairs = zip(code, asked, strict=False)
    return {block.lineno: names for block, names in pairs if names is not None}
