"""Look at live tensors and arrays, and return plain data of what there is to draw."""

from typing import Any

from tensor_maps.memory import see_storages
from tensor_maps.reading import see, unseen
from tensor_maps.ways import see_ways


def observe(named: dict[str, Any], graph: bool = False) -> dict:
    """Look at tensors and NumPy arrays by name, and return what there is to draw.

    Nothing is kept of the tensors, and no address: two runs of a program observe the
    same. With ``graph``, the operations of the graph are looked at too.

    Returns
    -------
    dict
        Data that JSON can hold, in a stable order:

        ``format``
            3; it changes when what is there already changes its meaning.
        ``tensors``
            One entry per object, in the order given: ``names`` (several when bound to
            one object), ``kind`` ("tensor" or "array"), ``shape`` (null if there is
            none to read), ``dtype``, ``device``, ``values`` (text, of at most 6
            elements), ``parameter`` (whether it is a ``Parameter``),
            ``requires_grad``, ``is_leaf``, ``retains_grad``, ``inference``,
            ``gradient`` (text; null where ``.grad`` is not for reading, or None and no
            gradient is required), ``version`` (null if not counted), ``storage`` (an
            index or null), ``memory`` (why there is none, or of what it is a part that
            has no memory of its own, else "") and what
            :func:`tensor_maps.ways.see_ways` notes of the graph: ``operation``,
            ``flows``, ``made_of``, ``reaches``, ``reaches_unnamed``, ``reaches_more``.
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
    names: dict[int, list[str]] = {}
    for name, value in named.items():
        names.setdefault(id(value), []).append(name)
    objects = list({id(value): value for value in named.values()}.values())
    with unseen():
        tensors = [{"names": names[id(one)]} | see(one) for one in objects]
        storages = see_storages(objects, tensors)
        see_ways(objects, tensors)
        observed = {"format": 3, "tensors": tensors, "storages": storages, "notes": []}
        if graph:
            from tensor_maps.graph import see_graph  # which draws, and is seldom needed

            observed["graph"] = see_graph(objects)
    return observed
