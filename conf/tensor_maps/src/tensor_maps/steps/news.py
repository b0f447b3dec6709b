"""See new names beside what there was: the same, a view, a copy, or of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable
from itertools import takewhile
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from tensor_maps.steps.course import Step
from tensor_maps.steps.syntax import PATHS, names_in, nodes_of, root_of

if TYPE_CHECKING:
    from tensor_maps.steps.look import Fact

MOST_NAME = 24  # letters of a name that is told before others
# Calls and attributes whose result has the values of what they are taken of: as they
# were, in another form, or in another dtype.
AS_IT_WAS = {"clone", "contiguous", "copy", "data", "deepcopy", "detach", "Parameter"}
AS_IT_WAS |= {"requires_grad_", "share_memory_"}
RESHAPING = {
    *("flatten", "movedim", "mT", "permute", "ravel", "reshape", "squeeze", "t", "T"),
    *("transpose", "unsqueeze", "view"),
}
CONVERTING = {
    *("array", "as_tensor", "asarray", "astype", "bfloat16", "bool", "copy_", "cpu"),
    *("cuda", "double", "float", "half", "int", "load_state_dict", "long", "numpy"),
    *("short", "tensor", "to", "tolist", "type", "type_as"),
}
COPYING = {"clone", "contiguous", "copy", "deepcopy"} | CONVERTING
CUTTING = {"detach", "detach_", "data", "numpy", "inference_mode"}

# What a name is that was not there, or that something else had.
NEW = frozenset({"new", "other"})


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
    return [_new(step, name, entry, fresh) for name in fresh]


def read_in(step: Step) -> set[str]:
    """Return the names that a statement reads."""
    return _loaded(nodes_of(step.unit))


def dtype_of(fact: Fact) -> str:
    """Return the dtype of a tensor or an array in one word."""
    return str(fact.form[2]).removeprefix("torch.")


def _new(step: Step, name: str, entry: dict[str, dict], fresh: list[str]) -> New:
    known = [other for other in entry if other not in fresh[fresh.index(name) :]]
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
    if share:
        required = any(entry[other]["requires_grad"] for other in share)
    else:
        read = read_in(step) if _words_in(nodes_of(step.unit)) & CUTTING else ()
        sources = [f.requires_grad for o, f in before.items() if root_of(o) in read]
        required = bool(sources) and all(sources)
    is_cut = required and not seen["requires_grad"] and not any(leaves)
    how, others = ("shares", share) if share else _copied(step, name, entry, fresh)
    return New(name, how, others, *leaves, is_cut)


def _copied(
    step: Step, name: str, entry: dict[str, dict], fresh: list[str]
) -> tuple[str, list[str]]:
    """Return how a name was made from another one, and from which, if that is known.

    Equal values prove no copy: many tensors begin as zeros or ones. So the source is
    what the statement copies directly, or what has these values and the same key.
    """
    before, after = step.before.facts, step.after.facts
    here, made = after[name], _assigned(step.unit.node).get(name)
    nodes = [*(nodes_of(step.unit) if made is None else ast.walk(made))]
    read, known = _loaded(nodes), dict.fromkeys([*entry, *step.differ])
    if made is None and "other" in step.differ[name]:
        read.discard(root_of(name))  # what is beside it is not what it was made of
    there = {n: before[n] for n in known if n in before and root_of(n) in read}
    alike = [n for n, fact in there.items() if fact.form[0] == here.form[0]]
    casts = [n for n in alike if dtype_of(there[n]) != dtype_of(here)]
    may_be = [n for n in alike if here.values and n not in casts]
    may_be = [n for n in may_be if there[n].values in (here.values, None)]
    equal = [n for n in may_be if there[n].values]
    taken = {_taken_of(one, equal) for one in nodes if made is None}
    taken |= {_taken_of(made, there)} if made is not None else set()
    taken = {source: words for source, words in taken if words & COPYING}
    how = source = ""
    if len(taken) == 1:
        ((source, words),) = taken.items()
        fact = there[source]
        # In another order, and of what is expanded, values are not compared.
        is_hidden = words & RESHAPING or 0 in (fact.form[1] or ())
        is_hidden = is_hidden or not here.values
        is_whole = prod(fact.form[0] or ()) == prod(here.form[0] or ())
        is_direct = made is not None and is_whole
        if dtype_of(fact) != dtype_of(here):
            how = "cast" if is_direct else ""
        elif source in equal or (is_direct and is_hidden and not words & CONVERTING):
            how = "copy" if fact.memory[0] else ""
    elif not taken and _words_in(nodes) & COPYING:
        how, source = "copy", _with_key_of(name, equal)
        if not equal and "other" not in step.differ[name]:
            how, source = "cast", _with_key_of(name, casts)
        is_one = equal and len({there[n].memory for n in may_be}) == 1
        source = equal[0] if is_one and not here.is_uniform() else source
    is_left = source in entry and after[source].object == before[source].object
    return (how, [source]) if how and is_left else ("alone", [])


def _assigned(node: ast.AST) -> dict[str, ast.expr]:
    """Return what is assigned to each target, and is each item of a literal."""
    found = {}

    def add(target: str, value: ast.expr) -> None:
        found[target], items = value, ()
        match value:
            case ast.Call(func=ast.Name(id="dict"), keywords=given):
                items = [(repr(one.arg), one.value) for one in given]
            case ast.Dict(keys=keys, values=values) if None not in keys:
                items = zip(map(ast.unparse, keys), values, strict=True)
            case ast.List(elts=values) | ast.Tuple(elts=values):
                items = enumerate(values)
        for key, item in items:
            add(f"{target}[{key}]", item)

    for target in node.targets if isinstance(node, ast.Assign) else ():
        add(ast.unparse(target), node.value)
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for one, value in zip(target.elts, node.value.elts, strict=False):
                add(ast.unparse(one), value)
    return found


def _with_key_of(name: str, others: list[str]) -> str:
    """Return the one whose path ends as that of a name does, for longest; or ""."""

    def common(other: str) -> int:  # of `best['0.weight']` best, 0 and weight
        parts = [re.findall(r"[^.\[\]'\"]+", path)[::-1] for path in (name, other)]
        both = zip(*parts, strict=False)
        return len([*takewhile(lambda pair: pair[0] == pair[1], both)])

    most = max(map(common, others), default=0)
    found = [other for other in others if common(other) == most]
    return found[0] if most and len(found) == 1 else ""


def _taken_of(node: ast.AST, known: Collection[str]) -> tuple[str, frozenset[str]]:
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


def _loaded(nodes: Iterable[ast.AST]) -> set[str]:
    names = [node for node in nodes if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, ast.Load)}


def _words_in(nodes: Iterable[ast.AST]) -> set[str]:
    return {getattr(node, "attr", getattr(node, "id", "")) for node in nodes}


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
