"""Look at live tensors and arrays, and return plain data of what there is to draw."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tensor_maps.bridge import see_graph as see_bridge
from tensor_maps.graph import see_graph
from tensor_maps.memory import see_storages
from tensor_maps.reading import is_drawn, see_array, see_tensor, unseen
from tensor_maps.ways import see_ways

# Of the data; it changes when what is there already changes its meaning.
FORMAT = 2
MOST_NODES = 40
MOST_COMPARED_BYTES = 2**20


def observe(
    named: dict[str, object],
    graph: bool = False,
    compared: int = MOST_COMPARED_BYTES,
    limit: int = MOST_NODES,
) -> dict:
    """Look at tensors and NumPy arrays, and return what there is to draw.

    Nothing is kept of the tensors themselves, and nothing in the result is an
    address: two runs of the same program observe the same.

    Parameters
    ----------
    named
        Tensors and arrays by name. Anything else becomes a note.
    graph
        Whether the operations are looked at too: ``graph``, see
        :func:`tensor_maps.graph.see_graph`.
    limit
        How many operations of the graph are kept, breadth-first from the named tensors.
        The nodes of named tensors are always kept; of leaves without a name, at most
        ``limit``.
    compared
        Of what has more bytes, no ``digest`` is made.

    Returns
    -------
    dict
        Data that JSON can hold, in a stable order:

        ``format``
            2.
        ``tensors``
            One entry per object: first the named ones in the order given, then the
            leaves without a name that the graph holds. Each has ``names`` (several
            when bound to one object), ``kind`` ("tensor" or "array"), ``shape``
            (null if there is none to read), ``dtype``, ``device``, ``values`` (text,
            of at most 6 elements), ``digest`` (of all bytes, to compare),
            ``parameter`` (whether it is a ``Parameter``), ``requires_grad``,
            ``is_leaf``, ``retains_grad``, ``inference``,
            ``gradient`` (text; null where ``.grad`` is not for reading, or None and no
            gradient is required), ``version`` (null if not counted), ``storage`` (an
            index or null) and ``memory`` (why there is none, or of what without a
            memory of its own it is a part, else ""). A tensor has, too, what the graph
            says: ``operation`` (the name of its grad_fn or ""), ``flows`` (indices of
            the next named tensors that a gradient flows back to), ``made_of`` (pairs
            of an index, of what it is a view, and whether it is a copy),
            ``reaches`` (indices of the leaves that a gradient reaches from it),
            ``reaches_unnamed`` (how many more, which are not in ``tensors``),
            ``reaches_more`` (true where the walk ended before it knew), and ``node``
            and ``output`` (the node it hangs on and which output of it).
        ``nodes``
            ``kind`` ("operation", "leaf" or "constant"), ``label``, ``tensors`` (all
            that hang on it), ``inputs_without_gradient`` (edges that lead nowhere)
            and ``hidden_inputs`` (edges to nodes that are not kept).
        ``edges``
            ``result`` and ``input`` are nodes, ``output`` says which output of
            the input's node. An edge taken twice is there twice.
        ``hidden_nodes``, ``hidden_to``
            How many nodes are not kept, and the kept leaves that these lead to.
        ``walk_ended``
            True where the walk of the graph stopped after 2,000 operations: there are
            more hidden nodes than said, and perhaps more leaves.
        ``storages``
            ``bytes``, ``device``, ``dtype`` (of the cells), ``addressed`` (true),
            ``mapped`` (1), ``cells`` (the values of at most 12 elements, or null), ``windows``:
            ``tensor``, ``offset_bytes``, ``stride_bytes``, ``offset`` and ``strides``
            (in elements, null where they do not divide), ``shape``, ``runs`` (bytes
            from the start of the storage that it touches; for a large window from
            first to last) and ``covers_all``.
        ``notes``
            What else there is to say.
    """
    # Reading never needs to warn, but a backend of someone else might.
    with _quiet(), unseen():
        objects, names, notes = _sort_out(named)
        tensors = [
            see_tensor(value, names[id(value)], compared)
            if isinstance(value, torch.Tensor)
            else see_array(value, names[id(value)], compared)
            for value in objects
        ]
        # The storages first: the walk adds leaves that nobody named.
        storages = see_storages(objects, tensors)
        see_ways(objects, tensors)
        seen_graph = {"graph": see_graph(objects)} if graph else {}
        bridge = see_bridge(objects, tensors, limit, compared)
    both = {**bridge, "storages": storages, "notes": notes, **seen_graph}
    return {"format": FORMAT, "tensors": tensors, **both}


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


def _sort_out(named: dict[str, object]) -> tuple[list, dict[int, list[str]], list[str]]:
    """Return the objects to draw, the names of each by its id, and notes."""
    objects, names, notes = [], {}, []
    for name, value in named.items():
        if not is_drawn(value):
            kind = type(value).__name__
            notes.append(f"{name} is not drawn: {kind} is neither tensor nor array")
        elif id(value) in names:
            names[id(value)].append(str(name))
        else:
            objects.append(value)
            names[id(value)] = [str(name)]
    return objects, names, notes
