"""The picture that opens a lesson: the two or three tensors of its answer.

A block names them, as they are at its end, in parts between commas::

    # sphinx_gallery_tensor_map_lead = "w, z, w copied to z, y raises RuntimeError"

``NAME`` is a variable, or an attribute or an item of one (``net.weight``,
``kept["w"]``). ``NAME raises ERROR`` puts a red cross with the class of the error on a
tensor; what the script has not defined gets a tag of its own. ``A copied to B`` draws
the dashed arrow that the graph cannot tell of.

What was observed is kept, and drawn when the page is read: once, in a width that a
phone shows, from which it grows on a wide page.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import extract_file_config

from tensor_copies.gallery.lessons import markers_of

if TYPE_CHECKING:
    from tensor_maps.scene import Drawing

LEAD, MAP_LEAD = "lead", "tensor_map_lead"  # markers
WIDTH = 300.0  # pixels
BETWEEN = re.compile(r",(?![^\[]*\])")  # not within an item's brackets


def lead_line(script: Path) -> int | None:
    """Return the line of the block whose first figure opens the page, if one does.

    Where a file of conf/figures opens it, none does.
    """
    opening = set() if file_of(script) else {LEAD, MAP_LEAD}
    marked = (line for line, asked in markers_of(script) if opening & set(asked))
    return next(marked, None)


def file_of(script: Path) -> tuple[int, str] | None:
    """Return the line and the name of the file that opens the page, if one does."""
    asked = ((line, asked.get(LEAD)) for line, asked in markers_of(script))
    return next(((line, name) for line, name in asked if isinstance(name, str)), None)


@dataclass
class Lead:
    """What a marker asks for: names, and what is drawn beside what they show."""

    names: list[str] = field(default_factory=list)
    raises: dict[str, str] = field(default_factory=dict)
    copies: list[tuple[str, str]] = field(default_factory=list)


def read_lead(marker: Any) -> Lead:
    """Return what a marker asks for; raise ``ValueError`` with what is wrong."""
    if not isinstance(marker, str):
        raise ValueError(f"{marker!r} is no text")
    lead = Lead()
    for part in map(str.strip, BETWEEN.split(marker)):
        name, raises, error = map(str.strip, part.partition(" raises "))
        source, copied, copy = map(str.strip, part.partition(" copied to "))
        if raises:
            if not error.replace(".", "_").isidentifier():
                raise ValueError(f"{error!r} is no class of an error")
            _parsed(name)
            lead.raises[name] = error
        elif copied:
            lead.copies.append((_path(source), _path(copy)))
        else:
            _path(name)
        lead.names += [source, copy] if copied else [name]
    lead.names = list(dict.fromkeys(lead.names))
    return lead


def _parsed(name: str) -> ast.expr:
    try:
        return ast.parse(name, mode="eval").body
    except SyntaxError:
        raise ValueError(f"{name!r} is no name") from None


def _path(name: str) -> str:
    """Return a name if it is a variable, or an attribute or an item of one."""
    if not _is_path(_parsed(name)):
        raise ValueError(f"{name!r} is no name")
    return name


def _is_path(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript):
            try:
                ast.literal_eval(node.slice)
            except ValueError:
                return False
        node = node.value
    return isinstance(node, ast.Name)


def observed_lead(block: Any, block_vars: dict[str, Any]) -> dict[str, Any] | None:
    """Return what is kept of the tensors that open the page, if a block names them.

    Raises
    ------
    ExtensionError
        If the marker cannot be read, or names what is no tensor.
    """
    from tensor_maps.observe import observe
    from tensor_maps.reading import is_drawn

    asked = extract_file_config(block.content)
    if MAP_LEAD not in asked:
        return None
    place = f"{Path(block_vars['src_file']).name}: the block on line {block.lineno}"
    try:
        lead = read_lead(asked[MAP_LEAD])
    except ValueError as wrong:
        raise ExtensionError(
            f"{place} has a sphinx_gallery_{MAP_LEAD} in which {wrong}: write names "
            'between commas, as "w, z, w copied to z, y raises RuntimeError"'
        ) from None
    found = {}
    for name in lead.names:
        kind = "not defined there"
        try:
            if _is_path(_parsed(name)):
                found[name] = eval(name, block_vars["example_globals"])
                kind = f"of type {type(found[name]).__name__}"
        except Exception:  # it is not there
            pass
        if name in found and is_drawn(found[name]):
            continue
        found.pop(name, None)
        if name not in lead.raises:
            raise ExtensionError(
                f"{place} opens the page with {name!r}, which is {kind}: name tensors "
                "or arrays that exist at the block's end"
            )
    return {"map": observe(found), "raises": lead.raises, "copies": lead.copies}


def lead_scene(kept: dict[str, Any], width: float = WIDTH) -> Drawing:
    """Draw what is kept of the tensors that open a page."""
    from tensor_maps.draw import scene

    return scene(
        kept["map"],
        width=width,
        raises=kept["raises"],
        copies=map(tuple, kept["copies"]),
        graph=False,
    )


def draw_lead(kept: dict[str, Any], prefix: str) -> str:
    """Return the picture that opens a page, with its caption."""
    made = lead_scene(kept)
    own = f"--own:{made.width:.0f};--own-high:{made.height:.0f}"
    return (
        f'<figure class="tensor-map lead" style="{own}">\n'
        f'{made.svg(f"""id="{prefix}-scene" """)}\n'
        f"<figcaption>{escape(made.caption)}</figcaption>\n</figure>"
    )
