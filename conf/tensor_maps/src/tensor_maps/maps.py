"""Show tensors as they are now: a drawing in a notebook, a table in a terminal."""

import copy
import os
import sys
from itertools import islice
from pathlib import Path
from xml.sax.saxutils import escape

from tensor_maps.find import MOST_NAMES, argument_texts, find, name_values
from tensor_maps.graph import draw_graph
from tensor_maps.observe import observe
from tensor_maps.pen import ALONE_FONT, DARK, EDGE, LIGHT, PAPER, printable, rect
from tensor_maps.reading import forget_copy
from tensor_maps.scene import WIDTH, Drawing, draw_scene
from tensor_maps.story import table_of

# A dark page of JupyterLab, Colab or VS Code.
DARK_PAGE = ":is([data-jp-theme-light=false],[theme=dark],.vscode-dark)"
ALONE, MARGIN = "tensor-map-alone", 4 * EDGE  # of a drawing that needs no page


class TensorMap:
    """A picture of tensors as they were when it was made, which a notebook shows.

    It doesn't keep the tensors. ``print`` shows a table of them.
    """

    def __init__(self, observed: dict, width: float = WIDTH) -> None:
        self.observed, self.width = observed, width

    def __repr__(self) -> str:
        return table_of(self.observed)

    def to_dict(self) -> dict:
        """Return what ``tensor_maps.observe.observe`` told, as data for JSON."""
        return copy.deepcopy(self.observed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, which follows the scheme, light or dark.

        Parameters
        ----------
        path
            A name that ends in ``.svg``. An existing file is overwritten.

        Raises
        ------
        ValueError
            If the name has another ending.
        """
        if Path(path).suffix.lower() != ".svg":
            raise ValueError(f"save() writes a file .svg, not {Path(path).name!r}")
        made = self._drawing(self.width - 2 * MARGIN)
        made.width, made.height = made.width + 2 * MARGIN, made.height + 2 * MARGIN
        dark = f"@media (prefers-color-scheme:dark){{.{ALONE}{{{DARK}}}}}"
        style = f"<style>.{ALONE}{{{LIGHT}}}{dark}</style>"
        paper = rect(0, made.top, made.width, made.height, f'fill="{PAPER}"')
        inner = f'<g transform="translate({MARGIN:g} {MARGIN:g})">'
        made.marks = [style, paper, inner, *made.marks, "</g>"]
        text = made.svg(f'class="{ALONE}" font-family="{ALONE_FONT}" ')
        Path(path).write_text(text, encoding="utf-8")

    def _drawing(self, width: float) -> Drawing:
        draw = draw_graph if "graph" in self.observed else draw_scene
        return draw(self.observed, width=width)

    def _repr_html_(self) -> str:
        made = self._drawing(self.width)
        drawn = made.svg('style="max-width:100%;height:auto" ')
        return (
            f'<figure class="tensor-map" style="--own:{made.width:.0f}">{drawn}'
            f"<figcaption>{escape(printable(made.caption))}</figcaption>"
            f"<style>{DARK_PAGE} .tensor-map{{{DARK}}}</style></figure>"
        )


def tensor_map(
    *values: object,
    width: int = int(WIDTH),
    max_names: int = MOST_NAMES,
    graph: bool = False,
    **named: object,
) -> TensorMap:
    """Return a picture of tensors and NumPy arrays as they are now.

    It doesn't keep or modify the tensors, so later writes don't change it.

    Parameters
    ----------
    *values
        Tensors and arrays of any shape, named after the source of the call:
        ``tensor_map(w, y)`` names them ``w`` and ``y``. Without a source, as in
        ``python -c``, they are ``tensor 1``, ``tensor 2``. A module gives its
        parameters and buffers, a dict, a list or a tuple its items, an optimizer its
        state. Without any, ``tensor_map()`` shows all tensors that the caller's
        variables lead to.
    width
        The most pixels that the drawing is wide. It is not wider than it needs.
    max_names
        The most tensors to show. If there are more, the first are shown, with a note.
    graph
        Whether the graph of operations is drawn too: the 40 nearest to the tensors.
    **named
        The same as ``values``, by name. A tensor with the name of an option is given
        in a dict: ``tensor_map({"width": width})``.

    Raises
    ------
    TypeError
        If ``width`` or ``max_names`` isn't a whole number.
    ValueError
        If ``width`` or ``max_names`` is less than one.
    """
    for option, given in (("width", width), ("max_names", max_names)):
        said = f"tensor_map() takes a whole number from 1 as {option}, not"
        if type(given) is not int:  # a tensor may have such a name
            name = type(given).__name__
            raise TypeError(f"{said} {name}; a tensor of this name is given in a dict")
        if given < 1:
            raise ValueError(f"{said} {given}")
    frame = sys._getframe(1)
    if values or named:
        texts = argument_texts(frame, len(values))
        found, notes = name_values(texts, values, named)
    else:
        found, notes = find(dict(frame.f_locals)).values, []
        forget_copy(frame)
    shown = dict(islice(found.items(), max_names))
    if len(shown) < len(found):
        notes.append(f"{len(shown)} of {len(found)} names are shown")
    observed = observe(shown, graph=graph)
    observed["notes"] += notes
    return TensorMap(observed, width)
