"""See new names beside what there was: the same, a view, a copy, or of their own."""

from __future__ import annotations

import ast
import re
from math import prod
from typing import NamedTuple

from tensor_maps.steps.step import Step
from tensor_maps.steps.syntax import PATHS, names_in, nodes_of, root_of

MOST_NAME = 24  # letters of a name that is told before others
# Calls and attributes whose result has the values of what they are taken of: as they
# were, in another form, or in another dtype.
AS_IT_WAS = frozenset({
    *("clone", "contiguous", "copy", "data", "deepcopy", "detach", "Parameter"),
})  # fmt: skip
RESHAPING = frozenset({
    *("flatten", "movedim", "mT", "permute", "ravel", "reshape", "squeeze", "t", "T"),
    *("transpose", "unsqueeze", "view"),
})  # fmt: skip
CONVERTING = frozenset({
    *("array", "as_tensor", "asarray", "astype", "bfloat16", "bool", "copy_", "cpu"),
    *("cuda", "double", "float", "half", "int", "load_state_dict", "long", "numpy"),
    *("short", "tensor", "to", "tolist", "type", "type_as"),
})  # fmt: skip
COPYING = AS_IT_WAS - {"data", "detach", "Parameter"} | CONVERTING
CUTTING = frozenset({"detach", "detach_", "data", "numpy", "inference_mode"})

# What a name is that was not there, or that something else had.
NEW = frozenset({"new", "other"})
CHANGED_HANDS = NEW | {"gone"}


class New(NamedTuple):
    """What a new name has to do with those that there were.

    ``how`` is "same" (as the first of the ``others``), "was" (the tensor that had that
    name before), "shares" (their memory), "copy" (of the first of them), "cast" (from
    it, to another dtype) or "alone". ``leaves`` are those that a gradient flows back
    to, ``unnamed`` how many more there are without a name, ``at_least`` says that there
    may be others. ``is_cut``: it was made from what requires grad, and no gradient
    flows back through it.
    """

    name: str
    how: str
    others: list[str]
    leaves: tuple[str, ...] = ()
    unnamed: int = 0
    at_least: bool = False
    is_cut: bool = False


def entries_of(step: Step) -> dict[str, dict]:
    """Return what was observed, by name."""
    tensors = step.after.observed["tensors"]
    return {name: seen for seen in tensors for name in seen["names"]}


def news_of(step: Step) -> list[New]:
    """Return what there is to say of each name that is new, in order."""
    entry = entries_of(step)
    fresh = [n for n, kinds in step.differ.items() if n in entry and kinds & NEW]
    known = [name for name in entry if name not in set(fresh)] if fresh else []
    found = []
    for name in fresh:
        found.append(_new(step, name, entry, known))
        known.append(name)
    return found


def _new(step: Step, name: str, entry: dict[str, dict], known: list[str]) -> New:
    seen, here, before = entry[name], step.after.facts[name], step.before.facts
    if same := [other for other in known if entry[other] is seen]:
        return New(name, "same", same[:1])
    if was := [n for n, fact in before.items() if fact.object == here.object]:
        return New(name, "was", was[:1])
    asked, storage, leaves = names_in(step.unit), seen["storage"], _leaves(step, seen)
    share = [o for o in known if storage is not None and entry[o]["storage"] == storage]
    # What the statement names is what a reader looks for, and a long name comes last.
    share.sort(key=lambda o: (len(o) > MOST_NAME, root_of(o) not in asked,
                              root_of(o) != o))  # fmt: skip
    share = list({id(entry[other]): other for other in share[::-1]}.values())[::-1]
    sources = [entry[other]["requires_grad"] for other in share]
    if not share and _words_in(step) & CUTTING:
        read = read_in(step)
        sources = [f.requires_grad for o, f in before.items() if root_of(o) in read]
    required = any(sources) if share else bool(sources) and all(sources)
    is_cut = required and not seen["requires_grad"] and not any(leaves)
    how, others = ("shares", share) if share else _copied(step, name, entry, known)
    return New(name, how, others, *leaves, is_cut)


def _copied(
    step: Step, name: str, entry: dict[str, dict], known: list[str]
) -> tuple[str, list[str]]:
    """Return how a name was made from another one, and from which, if that is known.

    Equal values prove no copy: many tensors begin as zeros or ones. So the source is
    what the statement copies directly, or has the same path or key, or it alone has
    these values.
    """
    facts, seen, kinds = step.after.facts, entry[name], step.differ[name]
    here, asked, node = facts[name], names_in(step.unit), step.unit.node
    named = [o for o in known if root_of(o) in asked and root_of(o) != name]
    if not (step.collapsed or step.unit.also):  # what is new too was not read yet
        named = [o for o in named if not step.differ.get(o, frozenset()) & NEW]
    alike = [other for other in named if entry[other]["shape"] == seen["shape"]]
    is_read = here.values and here.values[0] != "~"
    equal = [o for o in alike if is_read and facts[o].values == here.values]
    equal = [other for other in equal if entry[other]["dtype"] == seen["dtype"]]
    values = _assigned(node) if isinstance(node, ast.Assign) else {}
    if name in values:
        source, words = _taken_of(values[name], named)
        if source and _count(entry[source]) == _count(seen):
            # In another order, and of what is expanded, values are not compared.
            is_other = words & RESHAPING or 0 in (facts[source].form[1] or ())
            is_same = words & AS_IT_WAS and words <= AS_IT_WAS | RESHAPING
            if source in equal or (is_same and (is_other or not is_read)):
                return "copy", [source]
            if entry[source]["dtype"] != seen["dtype"]:
                return "cast", [source]
        named = [source] if source else named
        equal = [other for other in equal if other in named]
        alike = [other for other in alike if other in named]
    if not _words_in(step) & COPYING:
        return "alone", []
    if "other" in kinds:  # what is beside it in a module is not what it was made of
        equal = [other for other in equal if root_of(other) != root_of(name)]
    taken = {_taken_of(node, equal) for node in nodes_of(step.unit)}
    taken = {source for source, words in taken if words & COPYING}
    one = _with_key_of(name, equal) or (taken.pop() if len(taken) == 1 else "")
    is_one = len({facts[other].memory for other in equal}) == 1
    if one or (is_one and not here.is_uniform()):
        return "copy", [one or equal[0]]
    one = "" if equal or "other" in kinds else _with_key_of(name, alike)
    is_cast = one and entry[one]["dtype"] != seen["dtype"]
    return ("cast", [one]) if is_cast else ("alone", [])


def _assigned(node: ast.Assign) -> dict[str, ast.expr]:
    """Return what is assigned to each target, one by one of those in a tuple."""
    found = {ast.unparse(target): node.value for target in node.targets}
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            both = zip(target.elts, node.value.elts, strict=False)
            found |= {ast.unparse(one): value for one, value in both}
    return found


def _count(seen: dict) -> int:
    return prod(seen["shape"] or ())


def _with_key_of(name: str, others: list[str]) -> str:
    """Return the one with the same path in its object, or with the same key; or ""."""

    def parts(path: str) -> list[str]:  # of `best['0.weight']` best, 0 and weight
        return re.findall(r"[^.\[\]'\"]+", path)

    same = [o for o in others if parts(o)[1:] == parts(name)[1:] != []]
    same = same or [o for o in others if parts(o)[-1:] == parts(name)[-1:]]
    return same[0] if len(same) == 1 else ""


def _taken_of(node: ast.AST, known: list[str]) -> tuple[str, frozenset[str]]:
    """Return the name that calls and attributes are taken of, and their words."""
    if isinstance(node, PATHS) and (text := ast.unparse(node)) in known:
        return text, frozenset()
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=word), args=given):
            inside = [inner, *given[:1]]
        case ast.Call(func=ast.Name(id=word), args=[given, *_]):
            inside = [given]
        case ast.Attribute(value=inner, attr=word):
            inside = [inner]
        case _:
            return "", frozenset()
    for one in inside if word in AS_IT_WAS | RESHAPING | CONVERTING else ():
        source, words = _taken_of(one, known)
        if source:
            return source, words | {word}
    return "", frozenset()


def read_in(step: Step) -> set[str]:
    """Return the names that a statement reads."""
    names = [node for node in nodes_of(step.unit) if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, ast.Load)}


def _words_in(step: Step) -> set[str]:
    """Return the attributes of a statement, and the functions that it calls."""
    nodes = [*nodes_of(step.unit)]
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    found = {node.id for node in called if isinstance(node, ast.Name)}
    return found | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _leaves(step: Step, seen: dict) -> tuple[tuple[str, ...], int, bool]:
    """Return the leaves that a gradient flows back to.

    These are their names, how many have none, and whether there may be more.
    """
    if not seen.get("operation"):
        return (), 0, False
    leaves = [step.after.observed["tensors"][at]["names"] for at in seen["reaches"]]
    names = [min(own, key=lambda one: root_of(one) != one) for own in leaves if own]
    unnamed = len(leaves) - len(names) + seen["reaches_unnamed"]
    return tuple(names), unnamed, seen["reaches_more"]
