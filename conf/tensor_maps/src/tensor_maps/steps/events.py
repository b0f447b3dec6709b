"""Tell what happened in a step: which event it is, and of which names."""

from __future__ import annotations

import ast
from collections.abc import Container
from dataclasses import replace
from typing import NamedTuple

from tensor_maps.steps.step import Step
from tensor_maps.steps.syntax import names_in, nodes_of, paths_in, root_of

# Calls and attributes whose result has the values of what they are taken of.
COPYING = frozenset({
    *("clone", "copy", "deepcopy", "contiguous", "to", "cpu", "cuda", "type", "float"),
    *("double", "half", "tensor", "array", "as_tensor", "asarray", "numpy", "copy_"),
})  # fmt: skip
CUTTING = frozenset({"detach", "detach_", "data", "numpy", "inference_mode"})
MOST_NAME = 24  # letters of a name that a story tells of


class New(NamedTuple):
    """What a new name has to do with those that there were.

    ``how`` is "same" (as the first of the ``others``), "was" (the tensor that had that
    name before), "shares" (their memory), "copy" (of the first of them) or "alone".
    ``leaves`` are those that a gradient flows back to, ``unnamed`` how many more there
    are without a name, ``at_least`` says that there may be others. ``is_cut``: it was
    made from what requires grad, and no gradient flows back through it.
    """

    name: str
    how: str
    others: list[str]
    leaves: list[str]
    unnamed: int = 0
    at_least: bool = False
    is_cut: bool = False


def event_of(step: Step) -> tuple[str | None, list[str]]:
    """Return the event of a step, and the names that it concerns.

    The event is "raises", "gradient", "written", "cut", "shares", "appears" or
    "changes", the first of them that holds; None where nothing changed.
    """
    differ = step.differ
    if step.raised:
        asked, entry = names_in(step.unit), entries_of(step)
        written = [name for name in entry if name in paths_in(step.unit)]
        return "raises", written or [name for name in entry if root_of(name) in asked]
    changed = [name for name in differ if _has_other_gradient(step, name)]
    before = step.before.facts
    if named := [name for name in changed if before[name].gradient is None]:
        return "gradient", named
    if named := [name for name, kinds in differ.items() if is_written(kinds)]:
        return "written", named
    if changed:
        return "gradient", changed
    news = news_of(step)
    if named := [new for new in news if new.is_cut]:
        return "cut", _with_others(named)
    if named := [new for new in news if new.how in ("same", "shares")]:
        return "shares", _with_others(named)
    if named := [name for name, kinds in differ.items() if kinds & {"new", "other"}]:
        return "appears", named
    if differ:
        return "changes", list(differ)
    return None, []


def without_aliases(step: Step, names: Container[str]) -> Step:
    """Return a step without changes that say nothing, but for those of some ``names``.

    These are changes of long names, and of items that are only another name, or the
    gradient, of something that has a name.
    """
    entry, facts = entries_of(step), step.after.facts
    grads = [id(one.gradient.storage) for one in facts.values() if one.gradient]

    def says(name: str) -> bool:
        if name not in entry:  # of what is gone the place may be taken
            return root_of(name) not in map(root_of, entry)
        if name in names or len(name) > MOST_NAME or "[" not in name:
            return name in names or len(name) <= MOST_NAME
        others = [one for one in entry[name]["names"] if one != name]
        is_known = any("[" not in one or one not in step.differ for one in others)
        return not is_known and id(facts[name].other.storage) not in grads

    differ = {name: kinds for name, kinds in step.differ.items() if says(name)}
    return replace(step, differ=differ)


def _has_other_gradient(step: Step, name: str) -> bool:
    """Whether a tensor that was there has a gradient now, and had not this one."""
    kinds = step.differ[name]
    is_same = "gradient" in kinds and not kinds & {"new", "other", "gone"}
    return is_same and step.after.facts[name].gradient is not None


def _with_others(news: list[New]) -> list[str]:
    names = [name for new in news for name in (new.name, *new.others)]
    return list(dict.fromkeys(names))


def is_written(kinds: frozenset[str]) -> bool:
    """Whether a tensor that was there holds other values now."""
    return "values" in kinds and not kinds & {"other", "storage", "form"}


def entries_of(step: Step) -> dict[str, dict]:
    """Return what was observed, by name."""
    tensors = step.after.observed["tensors"]
    return {name: seen for seen in tensors for name in seen["names"]}


def news_of(step: Step) -> list[New]:
    """Return what there is to say of each name that is new, in order."""
    entry = entries_of(step)
    fresh = [n for n, k in step.differ.items() if n in entry and k & {"new", "other"}]
    new = set(fresh)
    known = [name for name in entry if name not in new]
    words = _words_in(step)
    found = []
    for name in fresh:
        found.append(_new(step, name, entry, known, words))
        known.append(name)
    return found


def _new(
    step: Step, name: str, entry: dict[str, dict], known: list[str], words: set[str]
) -> New:
    seen, observed = entry[name], step.after.observed
    if same := [other for other in known if entry[other] is seen]:
        return New(name, "same", same[:1], [])
    here = step.after.facts[name].other
    before = step.before.facts.items()
    if was := [other for other, fact in before if fact.other == here]:
        return New(name, "was", was[:1], [])
    asked = names_in(step.unit)
    leaves, unnamed, at_least = leaves_of(observed, seen)
    flows = bool(leaves or unnamed or at_least)
    storage = seen["storage"]
    share = [o for o in known if storage is not None and entry[o]["storage"] == storage]
    # What the statement names is what a reader looks for.
    share.sort(key=lambda other: (root_of(other) not in asked, root_of(other) != other))
    share.sort(key=lambda other: len(other) > MOST_NAME)  # these last
    share = list({id(entry[other]): other for other in share[::-1]}.values())[::-1]
    made_from = [o for o in known if root_of(o) in asked and root_of(o) != name]
    # Of two with the same values, the one at the same place: copy.bias is of norm.bias.
    made_from.sort(key=lambda other: _within(other) != _within(name))
    if share:
        required = any(entry[other]["requires_grad"] for other in share)
    else:
        read = read_in(step)
        sources = [f for o, f in step.before.facts.items() if root_of(o) in read]
        is_of_them = bool(sources) and all(fact.requires_grad for fact in sources)
        required = bool(words & CUTTING) and is_of_them
    is_cut = required and not seen["requires_grad"]
    how, others = ("shares", share) if share else ("alone", [])
    if not share and words & COPYING:
        fact = step.after.facts[name]
        for other in made_from:
            one = step.after.facts[other]
            if (
                fact.values == one.values is not None
                and not one.values.startswith("~")
                and (entry[other]["shape"], entry[other]["dtype"])
                == (seen["shape"], seen["dtype"])
            ):
                how, others = "copy", [other]
                break
    return New(
        name,
        how,
        others,
        leaves if flows else [],
        unnamed,
        at_least,
        is_cut and not flows,
    )


def _within(name: str) -> str:
    """Return a path without its first name."""
    return name[len(root_of(name)) :]


def read_in(step: Step) -> set[str]:
    """Return the names that a statement reads."""
    return {
        node.id
        for node in nodes_of(step.unit)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _words_in(step: Step) -> set[str]:
    """Return the attributes of a statement, and the functions that it calls."""
    found = set()
    for node in nodes_of(step.unit):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(node.func.id)
    return found


def leaves_of(observed: dict, seen: dict) -> tuple[list[str], int, bool]:
    """Return the leaves that a gradient flows back to.

    These are their names, how many have none, and whether there may be more.
    """
    node = seen["node"]
    if node is None or observed["nodes"][node]["kind"] != "operation":
        return [], 0, False
    leaves = [observed["tensors"][at] for at in seen["reaches"]]
    names = [
        min(one["names"], key=lambda name: root_of(name) != name)
        for one in leaves
        if one["names"]
    ]
    unnamed = len(leaves) - len(names) + seen["reaches_unnamed"]
    return names, unnamed, seen["reaches_more"]
