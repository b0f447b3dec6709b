"""Look at live tensors and arrays, and return plain data of what there is to draw."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from tensor_maps.memory import see_storages
from tensor_maps.reading import is_array, is_drawn, see_array, see_tensor, unseen
from tensor_maps.ways import see_ways

# Of the data; it changes when what is there already changes its meaning.
FORMAT = 3
MOST_COMPARED_BYTES = 2**20


def observe(
    named: dict[str, object], graph: bool = False, compared: int = MOST_COMPARED_BYTES
) -> dict:
    """Look at tensors and NumPy arrays, and return what there is to draw.

    Nothing is kept of the tensors themselves, and nothing in the result is an
    address: two runs of the same program observe the same.

    Parameters
    ----------
    named
        Tensors and arrays by name. Anything else becomes a note.
    graph
        Whether the operations of the graph are looked at too.
    compared
        Of what has more bytes, no ``digest`` is made.

    Returns
    -------
    dict
        Data that JSON can hold, in a stable order:

        ``format``
            3.
        ``tensors``
            One entry per object, in the order given: ``names`` (several when bound to
            one object), ``kind`` ("tensor" or "array"), ``shape`` (null if there is
            none to read), ``dtype``, ``device``, ``values`` (text, of at most 6
            elements), ``digest`` (of all bytes, in the order of the elements),
            ``parameter`` (whether it is a ``Parameter``), ``requires_grad``,
            ``is_leaf``, ``retains_grad``, ``inference``, ``gradient`` (text; null
            where ``.grad`` is not for reading, or None and no gradient is required),
            ``version`` (null if not counted), ``storage`` (an index or null) and
            ``memory`` (why there is none, or of what it is a part that has no memory
            of its own, else ""). What the graph says: ``operation`` (the name of its
            grad_fn or ""), ``flows`` (indices of the next tensors that a gradient
            flows back to), ``made_of`` (pairs: the index of what it is a view of, and
            whether it is a copy), ``reaches`` (indices of the leaves that a gradient
            reaches), ``reaches_unnamed`` (how many more leaves) and ``reaches_more``
            (true where the walk of the graph ended, after 2,000 operations, before it
            knew).
        ``storages``
            ``bytes``, ``device``, ``dtype`` (of the cells), ``cells`` (the values of
            at most 12 elements, or null) and ``windows``: ``tensor``,
            ``offset_bytes``, ``stride_bytes``, ``offset`` and ``strides`` (in
            elements, null where they do not divide), ``shape``, ``runs`` (bytes from
            the start of the storage that it touches; for a large window from first to
            last) and ``covers_all``.
        ``notes``
            What else there is to say.
        ``graph``
            If asked for: see :func:`tensor_maps.graph.see_graph`.
    """
    # Reading never needs to warn, but a backend of someone else might.
    with _quiet(), unseen():
        objects, names, notes = _sort_out(named)
        tensors = [
            (see_array if is_array(value) else see_tensor)(value, given, compared)
            for value, given in zip(objects, names, strict=True)
        ]
        storages = see_storages(objects, tensors)
        see_ways(objects, tensors)
        observed = {"format": FORMAT, "tensors": tensors, "storages": storages}
        if graph:
            from tensor_maps.graph import see_graph  # which draws, and is seldom needed

            observed["graph"] = see_graph(objects)
    return observed | {"notes": notes}


@contextmanager
def _quiet() -> Iterator[None]:
    """Show no warning, and leave Python's memory of those that were shown.

    :func:`warnings.catch_warnings` forgets it: a warning would be shown a second time.
    """
    silence = ("ignore", None, Warning, None, 0)
    warnings.filters.insert(0, silence)
    try:
        yield
    finally:
        warnings.filters.remove(silence)


def _sort_out(named: dict[str, object]) -> tuple[list, list[list[str]], list[str]]:
    """Return the objects to draw, the names of each, and notes."""
    found: dict[int, tuple[object, list[str]]] = {}
    notes = []
    for name, value in named.items():
        if is_drawn(value):
            found.setdefault(id(value), (value, []))[1].append(str(name))
        else:
            kind = type(value).__name__
            notes.append(f"{name} is not drawn: {kind} is neither tensor nor array")
    return [one for one, _ in found.values()], [n for _, n in found.values()], notes
