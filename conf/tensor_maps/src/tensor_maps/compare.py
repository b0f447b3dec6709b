"""Compare two observations, and take a part of one; plain data in and out."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable


def changed(before: dict, after: dict) -> dict:
    """Mark what differs in two observations, tensor by tensor by name.

    Returns
    -------
    dict
        As ``after``. Each tensor has a list ``changed`` with some of "values",
        "version", "gradient", "storage", and ``arrived`` where it had no gradient;
        each storage has ``changed`` (a bool) and ``changed_cells`` (indices). A name
        that was not there before is not marked.
    """
    result = {**after}
    for part in ("tensors", "storages"):
        result[part] = [{**seen} for seen in after[part]]
    old = {name: seen for seen in before["tensors"] for name in seen["names"]}
    partner = _partners(before, after, old)
    for seen in result["tensors"]:
        was = next((old[name] for name in seen["names"] if name in old), None)
        seen["changed"] = [] if was is None else _differences(was, seen, partner)
        seen["arrived"] = was is not None and was["gradient"] in (None, "None")
    for number, storage in enumerate(result["storages"]):
        was = before["storages"][partner[number]] if number in partner else {}
        storage["changed_cells"] = _changed_cells(was.get("cells"), storage["cells"])
        storage["changed"] = bool(storage["changed_cells"]) or any(
            {"values", "version"} & set(result["tensors"][window["tensor"]]["changed"])
            for window in storage["windows"]
        )
    return result


def _partners(before: dict, after: dict, old: dict[str, dict]) -> dict[int, int]:
    """Match storages through the names on them; each old one is used once."""
    partner: dict[int, int] = {}
    for seen in after["tensors"]:
        for name in seen["names"]:
            was, now = old.get(name, {}).get("storage"), seen["storage"]
            if None in (was, now) or now in partner or was in partner.values():
                continue
            if before["storages"][was]["bytes"] == after["storages"][now]["bytes"]:
                partner[now] = was
    return partner


def _differences(was: dict, now: dict, partner: dict[int, int]) -> list[str]:
    differs = {
        "values": any(was[key] != now[key] for key in ("digest", "values")),
        "version": was["version"] != now["version"],
        "gradient": was["gradient"] != now["gradient"],
        "storage": was["storage"] != partner.get(now["storage"]),
    }
    return [kind for kind, is_other in differs.items() if is_other]


def _changed_cells(was: list[str] | None, now: list[str] | None) -> list[int]:
    if was is None or now is None or len(was) != len(now):
        return []
    pairs = enumerate(zip(was, now, strict=True))
    return [at for at, (old, new) in pairs if old != new]


def _nodes_reached(observed: dict, starts: Iterable[int]) -> list[int]:
    """Return the nodes that a gradient reaches, breadth-first from these on."""
    onward: dict[int, list[int]] = {}
    for edge in observed["edges"]:
        onward.setdefault(edge["result"], []).append(edge["input"])
    reached = dict.fromkeys(starts)
    waiting = deque(reached)
    while waiting:
        for target in onward.get(waiting.popleft(), ()):
            if target not in reached:
                reached[target] = None
                waiting.append(target)
    return list(reached)


# Of a graph, as many nodes: a picture that changes has to be small.
MOST_STEP_NODES = 16


def only(observed: dict, names: Iterable[str], most: int = MOST_STEP_NODES) -> dict:
    """Return the part of an observation that has to do with some of its names.

    With them go the operations that a gradient passes on from them, breadth-first and
    at most ``most``, and all leaves that it reaches.
    """
    wanted, tensors, nodes = set(names), observed["tensors"], observed["nodes"]
    named = [at for at, seen in enumerate(tensors) if wanted & set(seen["names"])]
    hang_on = [tensors[at]["node"] for at in named]
    starts = dict.fromkeys(node for node in hang_on if node is not None)
    reached = _nodes_reached(observed, starts)
    # A leaf is small, and where a gradient goes is what a reader looks for.
    leaves = {at for at in reached if nodes[at]["kind"] != "operation"}
    leaves |= {tensors[leaf]["node"] for at in named for leaf in tensors[at]["reaches"]}
    operations = [at for at in reached if nodes[at]["kind"] == "operation"]
    kept_nodes = {*starts, *operations[:most], *leaves}
    kept = {*named, *(one for at in leaves for one in nodes[at]["tensors"])}
    tensor_of = {old: new for new, old in enumerate(sorted(kept))}
    node_of = {old: new for new, old in enumerate(sorted(kept_nodes))}
    edges, beyond = [], set()
    cut: Counter[int] = Counter()
    for edge in observed["edges"]:
        result, target = edge["result"], edge["input"]
        if result in node_of and target in node_of:
            ends = {"result": node_of[result], "input": node_of[target]}
            edges.append(edge | ends)
        elif result in node_of:
            cut[result] += 1
        elif result in reached and target in leaves:
            beyond.add(target)
    hidden = len({*reached, *leaves}) - len(kept_nodes)
    if any(nodes[at]["hidden_inputs"] for at in reached):
        hidden += observed["hidden_nodes"]
        beyond |= kept_nodes & set(observed["hidden_to"])
    storages: list[dict] = []
    storage_of: dict[int, int] = {}
    for number, storage in enumerate(observed["storages"]):
        windows = [
            window | {"tensor": tensor_of[window["tensor"]]}
            for window in storage["windows"]
            if window["tensor"] in kept
        ]
        if windows:
            storage_of[number] = len(storages)
            storages.append(storage | {"windows": windows})
    return observed | {
        "tensors": [
            tensors[at]
            | {
                "node": node_of.get(tensors[at]["node"]),
                "reaches": [tensor_of[leaf] for leaf in tensors[at]["reaches"]],
                "storage": storage_of.get(tensors[at]["storage"]),
            }
            for at in tensor_of
        ],
        "nodes": [
            nodes[at]
            | {
                "tensors": [tensor_of[n] for n in nodes[at]["tensors"] if n in kept],
                "hidden_inputs": nodes[at]["hidden_inputs"] + cut[at],
            }
            for at in node_of
        ],
        "edges": edges,
        "hidden_nodes": hidden,
        "hidden_to": sorted(node_of[at] for at in beyond),
        "storages": storages,
    }
