"""Say in words what was observed."""

from __future__ import annotations

import math
from collections import Counter


def describe(observed: dict) -> str:
    """Say in a few sentences, not escaped, what the picture shows.

    ``observed`` is what :func:`observe` or :func:`changed` returned.
    """
    sentences = [
        _describe_tensor(observed, seen)
        for seen in observed["tensors"]
        if seen["kind"] == "tensor" and seen["node"] is not None
    ]
    if observed["hidden_nodes"]:
        sentences.append(f"The graph continues with {more_of(observed)}, not drawn.")
    sentences += [
        _describe_storage(observed, storage) for storage in observed["storages"]
    ]
    sentences += [f"{line}." for line in _asides_of(observed)]
    both = " ".join(sentences).strip()
    return both or "Nothing to draw: there is no tensor and no array."


def _describe_tensor(observed: dict, seen: dict) -> str:
    node = observed["nodes"][seen["node"]]
    changed = seen.get("changed", ())
    mark = f", changed: {listing(changed)}" if changed else ""
    if node["kind"] == "operation":
        flow = flow_of(observed, seen["node"])
        kept = f", its gradient is kept: {seen['gradient']}"
        end = kept if seen["retains_grad"] else ""
        return f"{_value(seen)} comes from {node['label']}; {flow}{end}{mark}."
    if node["kind"] == "leaf":
        requires = "" if seen["requires_grad"] else " (requires_grad is now False)"
        gradient = f", its grad is {seen['gradient']}" if seen["gradient"] else ""
        return f"{_value(seen)} is a leaf{requires}{gradient}{mark}."
    gradient = f"; its grad is {seen['gradient']}" if seen["gradient"] else ""
    frozen = "is frozen: it " if seen["parameter"] and seen["is_leaf"] else ""
    return f"{_value(seen)} {frozen}{constant_of(seen)}{gradient}{mark}."


def constant_of(seen: dict) -> str:
    """Say why no gradient flows to a tensor."""
    if seen["inference"]:
        return "is an inference tensor, without a gradient"
    if seen["is_leaf"]:
        return "does not require grad"
    return "has a grad_fn that cannot be read"


def flow_of(observed: dict, start: int) -> str:
    """Say which leaves a gradient reaches from a node on which a tensor hangs."""
    tensors = observed["tensors"]
    seen = tensors[observed["nodes"][start]["tensors"][0]]
    found = [tensors[leaf] for leaf in seen["reaches"]]
    leaves = [names_of(leaf) for leaf in found if leaf["names"]]
    unnamed = len(found) - len(leaves) + seen["reaches_unnamed"]
    if unnamed:
        leaves.append(f"{unnamed} unnamed " + ("leaf" if unnamed == 1 else "leaves"))
    if seen["reaches_more"]:
        beyond = "beyond the 2,000 operations that were looked at"
        known = f"to {listing(leaves)} and" if leaves else "further,"
        return f"gradients flow {known} {beyond}"
    if not leaves:
        return "no gradient flows back"
    return f"gradients flow to {listing(leaves)}"


def _describe_storage(observed: dict, storage: dict) -> str:
    windows = storage["windows"]
    names = [names_of(observed["tensors"][window["tensor"]]) for window in windows]
    is_part = len(names) == 1 and not windows[0]["covers_all"]
    said = "share memory" if len(names) > 1 else "has its own memory"
    said = "uses part of its storage" if is_part else said
    address = "" if storage["addressed"] else ", no memory address"
    if storage["mapped"] > 1:
        address += f", mapped {count_of(storage['mapped'], 'time')}"
    changed = ", changed" if storage.get("changed") else ""
    facts = [
        f"; {name}: {', '.join(told)}"
        for name, window in zip(names, windows, strict=True)
        if (told := facts_of(observed, storage, window))
    ]
    return (
        f"{listing(names)} {said}: {size_of(storage['bytes'])} on "
        f"{storage['device']}, {storage['dtype']}{address}{changed}{''.join(facts)}."
    )


def facts_of(observed: dict, storage: dict, window: dict) -> list[str]:
    """Say of a window what a reader would not take for granted."""
    seen, shape = observed["tensors"][window["tensor"]], window["shape"]
    others = [other["shape"] for other in storage["windows"] if other["covers_all"]]
    dense = [math.prod(shape[at + 1 :]) for at in range(len(shape))]
    strides = window["strides"]
    in_order = window["covers_all"] and all(
        length == 1 or stride == wanted
        for length, stride, wanted in zip(shape, strides or dense, dense, strict=True)
    )
    # The first of those that are seen most often.
    ((usual, _),) = Counter(s["dtype"] for s in observed["tensors"]).most_common(1)
    version = seen["version"]
    # The values that a new parameter begins with were written into it.
    usual_version = version == 1 and seen["parameter"]
    found = [
        ("empty", not window["runs"]),
        (seen["dtype"], seen["dtype"] != usual),
        (_offset(window), window["offset_bytes"] or not window["covers_all"]),
        (f"shape {as_tuple(shape)}", not in_order or any(o != shape for o in others)),
        (_stride(window), not in_order),
        ("values changed", "values" in seen.get("changed", ())),
        (f"version {version}", version and not usual_version),
        (seen["memory"], storage["addressed"] and seen["memory"]),
    ]
    return [fact for fact, is_unusual in found if is_unusual]


def _offset(window: dict) -> str:
    """Say where a window begins: in elements, or in bytes if these do not divide."""
    if window["offset"] is None:
        return f"offset {count_of(window['offset_bytes'], 'byte')}"
    return f"offset {window['offset']}"


def _stride(window: dict) -> str:
    if window["strides"] is not None:
        return f"stride {as_tuple(window['strides'])}"
    numbers = window["stride_bytes"]
    if len(numbers) == 1:
        return f"stride {count_of(numbers[0], 'byte')}"
    return f"strides {as_tuple(numbers)} in bytes"


def size_of(number: int) -> str:
    """Return a number of bytes as a person says it."""
    if number < 1024:
        return count_of(number, "byte")
    power = min(4, (number.bit_length() - 1) // 10)
    return f"{number / 1024**power:.4g} {'KMGT'[power - 1]}iB"


def _asides_of(observed: dict) -> list[str]:
    """Return the lines on what has no storage, then the notes."""
    nowhere = [
        f"{names_of(seen)}: {seen['memory']}"
        for seen in observed["tensors"]
        if seen["memory"] and seen["storage"] is None
    ]
    return [*nowhere, *observed["notes"]]


def more_of(observed: dict) -> str:
    """Say how many nodes are not shown."""
    more = count_of(observed["hidden_nodes"], "more node")
    return f"at least {more}" if observed["walk_ended"] else more


def names_of(seen: dict) -> str:
    """Return the names of a tensor or an array."""
    names = ", ".join(seen["names"]) or "a tensor without a name"
    return f"{names} (array)" if seen["kind"] == "array" else names


def _value(seen: dict) -> str:
    names = names_of(seen)
    if seen["values"] is not None:
        return f"{names} = {seen['values']}"
    return f"{names} of shape {as_tuple(seen['shape'])}"


def as_tuple(numbers: list[int] | None) -> str:
    """Return a shape as Python writes it."""
    return "unknown" if numbers is None else str(tuple(numbers))


def count_of(number: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{number} {what}" + "s" * (number != 1)


def listing(words: list[str]) -> str:
    """Return words as a list in a sentence."""
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]
