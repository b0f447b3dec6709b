"""The picture that a notebook shows and a terminal prints."""

from __future__ import annotations

import copy
import itertools
import json
import os
import sys
from pathlib import Path

from tensor_maps.draw import draw, draw_svg
from tensor_maps.find import MOST_NAMES, argument_texts, name_values
from tensor_maps.observe import observe
from tensor_maps.reading import short_hash
from tensor_maps.words import describe


class TensorMap:
    """A picture of what was observed, which a notebook shows and ``print`` tells.

    It doesn't keep the tensors, so it always shows the state when it was made.
    """

    def __init__(
        self, observed: dict, width: int = 280, graph: bool | None = None
    ) -> None:
        self.observed = observed
        self.width = width
        self.graph = graph

    def __repr__(self) -> str:
        return describe(self.observed)

    def to_dict(self) -> dict:
        """Return what was observed, as data that JSON can hold.

        ``tensor_maps.observe.observe`` documents its keys. ``format`` is 2. It changes
        when the meaning of a key changes.
        """
        return copy.deepcopy(self.observed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, which needs nothing else to be shown.

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
        Path(path).write_bytes(self._repr_svg_().encode("utf-8", "replace"))

    def _repr_html_(self) -> str:
        # Several maps stand in one notebook: their ids have to differ.
        prefix = "map-" + short_hash(json.dumps(self.observed).encode())
        drawn = draw(self.observed, prefix, self.width, self.graph)
        return (
            '<figure class="tensor-map" style="display:flex;flex-wrap:wrap;'
            f'gap:1rem 3rem">\n{drawn}\n</figure>'
        )

    def _repr_svg_(self) -> str:
        return draw_svg(self.observed, self.width, self.graph)


def tensor_map(
    *values: object,
    width: int = 280,
    max_names: int = MOST_NAMES,
    graph: bool | None = None,
    **named: object,
) -> TensorMap:
    """Return a picture of tensors and NumPy arrays as they are now.

    The picture doesn't keep the tensors, so later writes don't change it. The call
    doesn't copy or modify a tensor. It shows the values of tensors with at most 6
    elements.

    Parameters
    ----------
    *values
        Tensors and arrays of any shape, named after the source of the call:
        ``tensor_map(w, y)`` names them ``w`` and ``y``. Without a source, as in
        ``python -c``, they are ``tensor 1``, ``tensor 2``. A module gives its
        parameters and buffers, a dict, a list or a tuple its items, to four levels,
        an optimizer its state. ``tensor_map(locals())`` shows every tensor with a name.
    width
        The width of the drawing, in pixels.
    max_names
        The most tensors to show. If there are more, the first are shown, with a note.
    graph
        Whether to draw the graph of operations. None draws it if there are more than
        five tensors. It has at most 40 operations, nearest to the named tensors first.
        To find the leaves that get a gradient, the call follows 2,000 operations.
    **named
        The same as ``values``, by name. A tensor with the name of an option is given
        in a dict: ``tensor_map({"width": width})``.

    Raises
    ------
    TypeError
        If an option isn't a number, or ``graph`` is neither a bool nor None.
    ValueError
        If an option is less than one.

    Notes
    -----
    If a file or a shared memory block is mapped twice, only Linux lets the map see that
    it's the same memory. Since 2.13, PyTorch recursively frees operations that Python
    has looked at. If you make many maps along a growing graph, with 2,000 operations
    each, this can overflow the stack.
    """
    for option, number in (("width", width), ("max_names", max_names)):
        # A tensor may have such a name.
        if type(number) is not int:
            raise TypeError(
                f"tensor_map() takes a whole number as {option}, not "
                f"{type(number).__name__}; a tensor of this name is given in a dict"
            )
        if number < 1:
            raise ValueError(
                f"tensor_map() takes a number from 1 as {option}, not {number}"
            )
    if graph is not None and type(graph) is not bool:
        raise TypeError(
            f"tensor_map() takes True, False or None as graph, not "
            f"{type(graph).__name__}; a tensor of this name is given in a dict"
        )
    texts = argument_texts(sys._getframe(1), len(values))
    found, notes = name_values(texts, values, named)
    shown = dict(itertools.islice(found.items(), max_names))
    if len(shown) < len(found):
        notes.append(f"{len(shown)} of {len(found)} names are shown")
    observed = observe(shown)
    observed["notes"] += notes
    return TensorMap(observed, width, graph)
