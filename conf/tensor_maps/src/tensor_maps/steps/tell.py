"""Tell what a statement did: its event, and its sentences.

What is new is first seen beside what there was (:func:`news_of`). Then all names to
which the same happened are told in one sentence of ``SENTENCES``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

from tensor_maps.steps.step import Step
from tensor_maps.steps.syntax import (
    DEFINITIONS,
    PATHS,
    names_in,
    nodes_of,
    paths_in,
    root_of,
)
from tensor_maps.words import count_of, listing, size_of

# Sentences that a step has, and names that a sentence has; letters of all sentences, of
# values that differ from name to name, and of a name that is told before others.
MOST_SAID, MOST_TEXT, MOST_LETTERS, MOST_NAME = 3, 150, 60, 24
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
_NEW = frozenset({"new", "other"})
# Of [one|many] the first is said of one name, the second of several.
SENTENCES = {
    # of names that are new, or now another object
    "same": "{names} [is|are] the same {what}[|s] as {others}.",
    "was": "{names} [is|are] the tensor[|s] that [was|were] {others}.",
    "shares": "{names} share[s|] memory with {others}{and_flow}.{cut}",
    "shares one": "{names} shares {others}'s memory{and_flow}.{cut}",
    "meta": "{names} [is|are] {new}{instead} on meta: [it has|they have] no data.",
    "nowhere": "{names} [is|are] {new}{instead}: {nowhere}.",
    "copy": "{names} [is a copy|are copies] of {others}{device}, with [its|their] own "
    "memory{then_flow}.{cut}",
    "cast": "{names} [is|are] {new} in {dtype}{device} ({others} {are} {other_dtype}), "
    "with [its|their] own memory{then_flow}.{cut}",
    "computed": "{names} [is|are] computed from {leaves}{device}. {flow}.",
    "alone": "{names} [is|are] {new}{instead}{device}, with [its|their] own memory."
    "{cut}",
    "not observed": "{names} [is|are] new.",
    # of gradients
    "arrived": "{names} now [has|have] a gradient.",
    "many arrived": "{count} tensors now have a gradient, {first} among them.",
    "no gradient": "{names} [is|are] now None.",
    # of what is written
    "holds": "{names} now hold[s|] {values}.{end}",
    "different": "{names} now hold[s|] different values.{end}",
    "written beside": "{first} is written to; {others} share its memory.",
    "many written": "{count} tensors are written to, {first} among them.",
    "overlap": "The statement reads and writes the same memory.",
    "resized": "{names} resize[s|] the memory: {others} {keep} {part}.",
    # of names that there were
    "storage": "{names} now use[s|] different memory{with_form}.",
    "form": "{names} now [has|have] {form}.",
    "requires": "{names} now require[s|] grad.",
    "requires not": "{names} no longer require[s|] grad.",
    "requires changed": "requires_grad changed for {names}.",
    "retains_grad": "{names} will keep [its|their] gradient.",
    "graph": "{names} now come[s|] from another operation.",
    "version": "[{names}'s version counter|The version counter of {names}] is now "
    "{version}.",
    "versions": "The version counter of {names} has changed.",
    "gone": "{names} no longer exist[s|].",
    # of statements that change nothing
    "imported": "{names} [is|are] imported.",
    "defined": "{names} is defined.",
    "asserts": "The assertion passes.",
    "prints": "It prints {lines}.",
    "nothing": "No named tensor changes.",
    "more": "{more} of long lists, dicts or objects were not looked at.",
    "unread": "{names} ({size}) [was|were] not read in full.",
    "raises": "It raises {error}.",
    "and more": "There [is|are] {more}.",
}


def say(sentence: str, names: Sequence[str] = (), **more: Any) -> str:
    """Fill in a sentence of one name or of several."""
    text = re.sub(
        r"\[([^|\]]*)\|([^\]]*)\]",
        lambda found: found[1 + (len(names) > 1)],
        SENTENCES[sentence],
    )
    return text.format(names=few(names), **more)


def few(names: Sequence[str]) -> str:
    """Return some names, and how many more there are."""
    if len(names) <= MOST_SAID:
        return listing(list(names))
    return f"{', '.join(names[:2])} and {len(names) - 2} more"


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


def step_words(step: Step, about: Iterable[str] = ()) -> tuple[str, list[str]]:
    """Say what a step did, and what else there is to note.

    If it did something to the names ``about``, only these are named.
    """
    said = list(_said_of_names(step, set(about)))
    if step.raised:
        said.insert(0, say("raises", error=step.raised.partition(":")[0]))
    elif not said:
        said = [*_said_of_statement(step)]
    lengths = accumulate(map(len, said))
    most = max(1, min(MOST_SAID, sum(length <= MOST_TEXT for length in lengths)))
    if left := said[most:]:
        said[most:] = [say("and more", left, more=count_of(len(left), "more change"))]
    text = " ".join(said)
    if not step.collapsed:
        return text, []
    loop, last = step.turns[-1]
    first = loop.shown + 1
    if first == last:
        return f"Iteration {first}: {text}", []
    both = f"terations {first}–{last}"
    return f"I{both}: {text}", [f"i{both} in one step"]


def event_of(step: Step) -> tuple[str | None, list[str]]:
    """Return the event of a step, and the names that it concerns.

    The event is "raises", "gradient", "written", "cut", "shares", "appears" or
    "changes", the first of them that holds; None where nothing changed.
    """
    differ, before = step.differ, step.before.facts
    if step.raised:
        asked, entry = names_in(step.unit), entries_of(step)
        written = [name for name in entry if name in paths_in(step.unit)]
        return "raises", written or [name for name in entry if root_of(name) in asked]
    changed = [
        name
        for name, kinds in differ.items()
        if "gradient" in kinds and not kinds & {"new", "other", "gone"}
        and step.after.facts[name].gradient is not None
    ]  # fmt: skip
    news = news_of(step)
    cut = [new for new in news if new.is_cut]
    shared = [new for new in news if new.how in ("same", "shares")]
    moved = {
        new.name
        for new in news
        if new.how == "was" and root_of(new.name) == root_of(new.others[0]) != new.name
    }
    found = [
        ("gradient", [name for name in changed if before[name].gradient is None]),
        ("written", [name for name, kinds in differ.items() if is_written(kinds)]),
        ("gradient", changed),
        ("cut", [name for new in cut for name in (new.name, *new.others)]),
        ("shares", [name for new in shared for name in (new.name, *new.others)]),
        (
            "appears",
            [
                name
                for name, kinds in differ.items()
                if kinds & {"new", "other"} and name not in moved
            ],
        ),
        ("changes", list(differ)),
    ]
    for event, names in found:
        if names:
            return event, list(dict.fromkeys(names))
    return None, []


def is_written(kinds: frozenset[str]) -> bool:
    """Whether a tensor that was there holds other values now."""
    return "values" in kinds and not kinds & {"other", "storage", "form"}


def entries_of(step: Step) -> dict[str, dict]:
    """Return what was observed, by name."""
    tensors = step.after.observed["tensors"]
    return {name: seen for seen in tensors for name in seen["names"]}


# What is new --------------------------------------------------------------------------


def news_of(step: Step) -> list[New]:
    """Return what there is to say of each name that is new, in order."""
    entry = entries_of(step)
    fresh = [n for n, k in step.differ.items() if n in entry and k & {"new", "other"}]
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
    asked, storage, leaves = names_in(step.unit), seen["storage"], leaves_of(step, seen)
    share = [o for o in known if storage is not None and entry[o]["storage"] == storage]
    # What the statement names is what a reader looks for, and a long name comes last.
    share.sort(key=lambda o: (len(o) > MOST_NAME, root_of(o) not in asked,
                              root_of(o) != o))  # fmt: skip
    share = list({id(entry[other]): other for other in share[::-1]}.values())[::-1]
    if share:
        required = any(entry[other]["requires_grad"] for other in share)
    else:
        read = read_in(step)
        sources = [f.requires_grad for o, f in before.items() if root_of(o) in read]
        required = bool(_words_in(step) & CUTTING) and bool(sources) and all(sources)
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
    facts, here, kinds = step.after.facts, step.after.facts[name], step.differ[name]
    asked, seen = names_in(step.unit), entry[name]
    named = [o for o in known if root_of(o) in asked and root_of(o) != name]
    alike = [other for other in named if entry[other]["shape"] == seen["shape"]]
    equal = [
        other
        for other in alike
        if facts[other].values == here.values is not None and here.values[0] != "~"
        and entry[other]["dtype"] == seen["dtype"]
    ]  # fmt: skip
    is_cast = "new" in kinds or not _instead(step, name)
    source, words = _assigned(step, name, named)
    if source and _count(entry[source]) == _count(seen):
        if source in equal or (words & AS_IT_WAS and words <= AS_IT_WAS | RESHAPING):
            return "copy", [source]
        if entry[source]["dtype"] != seen["dtype"] and is_cast:
            return "cast", [source]
    if not _words_in(step) & COPYING:
        return "alone", []
    if "other" in kinds:  # what is beside it in a module is not what it was made of
        equal = [other for other in equal if root_of(other) != root_of(name)]
    # What is new too was rather made of the same.
    equal = [
        one for one in equal if not step.differ.get(one, frozenset()) & _NEW
    ] or equal
    taken = {_taken_of(node, equal) for node in nodes_of(step.unit)}
    taken = {one for one, how in taken if how & COPYING}
    one = _with_key_of(name, equal) or (taken.pop() if len(taken) == 1 else "")
    is_one = len({facts[other].memory for other in equal}) == 1
    if one or (is_one and not here.is_uniform()):
        return "copy", [one or equal[0]]
    one = "" if equal or not is_cast else _with_key_of(name, alike)
    if one and entry[one]["dtype"] != seen["dtype"]:
        return "cast", [one]
    return "alone", []


def _count(seen: dict) -> int:
    return prod(seen["shape"] or ())


def _with_key_of(name: str, others: list[str]) -> str:
    """Return the one with the same path in its object, or with the same key; or ""."""
    parts = _parts(name)
    same = [other for other in others if _parts(other)[1:] == parts[1:] != []]
    same = same or [other for other in others if _parts(other)[-1:] == parts[-1:]]
    return same[0] if len(same) == 1 else ""


def _parts(name: str) -> list[str]:
    """Return the parts of a path: of ``best['0.weight']`` best, 0 and weight."""
    return re.findall(r"[^.\[\]'\"]+", name)


def _assigned(step: Step, name: str, known: list[str]) -> tuple[str, frozenset[str]]:
    """Return what a statement assigns to a name a copy of: see :func:`_taken_of`."""
    for node in nodes_of(step.unit):
        if not isinstance(node, ast.Assign):
            continue
        for one in node.targets:
            pairs, both = [(one, node.value)], ast.Tuple | ast.List
            if isinstance(one, both) and isinstance(node.value, both):
                pairs = zip(one.elts, node.value.elts, strict=False)
            for target, value in pairs:
                if ast.unparse(target) == name:
                    return _taken_of(value, known)
    return "", frozenset()


def _taken_of(node: ast.AST, known: list[str]) -> tuple[str, frozenset[str]]:
    """Return the name that calls and attributes are taken of, and their words."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=word), args=given):
            inside = [inner, *given[:1]]
        case ast.Call(func=ast.Name(id=word), args=[given, *_]):
            inside = [given]
        case ast.Attribute(value=inner, attr=word):
            inside = [inner]
        case _:
            inside, word = [], ""
    if isinstance(node, PATHS) and (text := ast.unparse(node)) in known:
        return text, frozenset()
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
    found = set()
    for node in nodes_of(step.unit):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(node.func.id)
    return found


def leaves_of(step: Step, seen: dict) -> tuple[tuple[str, ...], int, bool]:
    """Return the leaves that a gradient flows back to.

    These are their names, how many have none, and whether there may be more.
    """
    if not seen.get("operation"):
        return (), 0, False
    tensors = step.after.observed["tensors"]
    leaves = [tensors[at]["names"] for at in seen["reaches"]]
    names = [
        min(names, key=lambda name: root_of(name) != name) for names in leaves if names
    ]
    unnamed = len(leaves) - len(names) + seen["reaches_unnamed"]
    return tuple(names), unnamed, seen["reaches_more"]


# What changed -------------------------------------------------------------------------


def _said_of_names(step: Step, about: set[str]) -> Iterator[str]:
    """Yield sentences of gradients, what was written, what is new, and the rest."""
    entry, first = entries_of(step), frozenset(about)
    if about:
        about |= {n for n in step.differ if root_of(n) in names_in(step.unit)}
    differ = {name: step.differ[name] for name in step.differ if name in about}
    differ = _in_order(differ or step.differ, step, first)
    if resized := _said_of_resized(step, differ):
        yield resized
        return
    same = {n: k for n, k in differ.items() if not k & {"new", "other", "gone"}}
    written = [name for name, kinds in same.items() if is_written(kinds)]
    said = [
        *_said_of_gradients(same, entry),
        *_said_of_written(step, written, entry),
        *_said_of_new(step, entry, differ),
    ]
    yield from said
    told = {*written}
    for kind in KINDS[: -1 if said else None]:
        names = [n for n, kinds in same.items() if kind in kinds and n not in told]
        told.update(names)
        if names:
            said.append(_said_of_kind(kind, names, step, entry))
            yield said[-1]
    if gone := [name for name, kinds in differ.items() if "gone" in kinds]:
        yield say("gone", gone)


def _in_order(
    differ: dict[str, frozenset[str]], step: Step, first: frozenset[str]
) -> dict[str, frozenset[str]]:
    """Set some names first, and then what the statement names.

    Of many names, or after these, those of a tensor that was there before are left out
    but for one.
    """
    asked, kept, entry = names_in(step.unit), {}, entries_of(step)
    is_long = first or len(differ) > MOST_SAID

    def rank(name: str) -> tuple[bool, ...]:
        return name not in first, root_of(name) not in asked, root_of(name) != name

    for name in sorted(differ, key=rank):
        is_there = name in entry and not differ[name] & {"new", "other", "gone"}
        kept.setdefault(id(entry[name]) if is_long and is_there else name, name)
    return {name: differ[name] for name in kept.values()}


def _said_of_resized(step: Step, differ: dict[str, frozenset[str]]) -> str:
    """Say which part of their storage tensors keep, where a new one has resized it."""
    was, now = step.before.facts, step.after.facts
    names = [
        name
        for name, kinds in differ.items()
        if "storage" in kinds and not kinds & {"new", "other", "form"}
        and was[name].is_on(now[name]) and now[name].bytes
    ]  # fmt: skip
    news = [new.name for new in news_of(step) if set(new.others) & set(names)]
    if not names or not news:
        return ""
    start, stop = now[names[0]].memory
    item = now[names[0]].form[2].itemsize
    part = f"{now[names[0]].bytes // item} of the {(stop - start) // item} cells"
    keep = "keep" if names[1:] else "keeps"
    return say("resized", news, others=listing(names), keep=keep, part=part)


def _said_of_gradients(
    same: dict[str, frozenset[str]], entry: dict[str, dict]
) -> Iterator[str]:
    names = [name for name, kinds in same.items() if "gradient" in kinds]
    text = {name: entry.get(name, {}).get("gradient") for name in names}
    is_small = all(one and not one.startswith("of shape") for one in text.values())
    is_small = is_small and sum(map(len, text.values())) <= MOST_LETTERS
    if 0 < len(names) <= MOST_SAID and is_small:
        yield listing([f"{name}.grad is now {text[name]}" for name in names]) + "."
        return
    empty = [name for name in names if name in entry and text[name] in (None, "None")]
    arrived = [n for n in names if "arrived" in same[n] and n not in empty]
    if len(arrived) > MOST_SAID:
        yield say("many arrived", count=len(arrived), first=arrived[0])
    elif arrived:
        yield say("arrived", arrived)
    others = [f"{n}.grad" for n in names if n not in arrived and n not in empty]
    if others:
        yield say("different", others, end="")
    if empty:
        yield say("no gradient", [f"{name}.grad" for name in empty])


def _said_of_written(
    step: Step, names: list[str], entry: dict[str, dict]
) -> Iterator[str]:
    if not names:
        return
    seen = [entry[name] for name in names if name in entry]
    storages = {one["storage"] for one in seen if one["storage"] is not None}
    is_whole = len(seen) == len(names) > 1
    shared = is_whole and len(storages) == 1
    end = " They share memory." if shared else ""
    if is_whole and len({id(one) for one in seen}) == 1:
        end = " They are the same tensor."
    values = [one["values"] for one in seen]
    known = len(values) == len(names) <= MOST_SAID and None not in values
    if known and len(set(values)) == 1:
        yield say("holds", names, values=values[0], end=end)
    elif known and sum(map(len, values)) <= MOST_LETTERS:
        both = zip(names, values, strict=True)
        yield f"{listing([f'{name} now holds {value}' for name, value in both])}.{end}"
    elif len(names) <= MOST_SAID:
        yield say("different", names, end=end)
    elif shared:
        others = names[1:]
        few = listing(others) if len(others) <= MOST_SAID else f"{len(others)} others"
        yield say("written beside", first=names[0], others=few)
    else:
        yield say("many written", count=len(names), first=names[0])
    if reads_what_it_writes(step):
        yield say("overlap")


def reads_what_it_writes(step: Step) -> bool:
    """Whether a statement writes to a tensor while it reads a part of it.

    In ``a -= a[:, :1]`` the first column is another one as soon as it is written.
    """
    entry = entries_of(step)
    for node in nodes_of(step.unit):
        match node:
            case ast.AugAssign(target=target, value=value):
                read = [value]
            case ast.Call(func=ast.Attribute(value=target, attr=word), args=read):
                if not word.endswith("_") or word.endswith("__"):
                    continue
            case _:
                continue
        seen = entry.get(name := ast.unparse(target))
        if seen is None or seen["kind"] == "array":  # NumPy reads first
            continue
        for part in read:
            if isinstance(part, ast.Subscript) and _is_constant(part.slice):
                if ast.unparse(part.value) == name:
                    return True
            elif _overlap(step, seen, entry.get(ast.unparse(part))):
                return True
    return False


def _overlap(step: Step, one: dict, other: dict | None) -> bool:
    """Whether a tensor is another part of the memory of one, and has bytes of it."""
    if other is None or other is one or one["storage"] is None:
        return False
    observed = step.after.observed
    windows = {
        id(observed["tensors"][window["tensor"]]): window
        for window in observed["storages"][one["storage"]]["windows"]
    }
    if id(other) not in windows:
        return False
    a, b = windows[id(one)], windows[id(other)]
    if all(a[key] == b[key] for key in ("shape", "offset_bytes", "stride_bytes")):
        return False  # each element is read before it is written
    return any(
        start < end and begin < stop
        for start, stop in a["runs"]
        for begin, end in b["runs"]
    )


def _is_constant(index: ast.expr) -> bool:
    """Whether an index is written out, as numbers and slices: it makes a view."""
    plain = ast.Constant | ast.Slice | ast.Tuple | ast.UnaryOp | ast.USub | ast.Load
    return all(isinstance(node, plain) for node in ast.walk(index))


def _said_of_new(
    step: Step, entry: dict[str, dict], differ: dict[str, frozenset[str]]
) -> Iterator[str]:
    groups: dict[tuple, list[New]] = {}
    there = [one for one in entry.values() if one["storage"] is not None]
    devices = {one["device"] for one in there} - {"meta"}
    for new in (one for one in news_of(step) if one.name in differ):
        seen, others = entry[new.name], new.others
        many = root_of(new.name) if new.how in ("same", "was", "shares") else ""
        if new.how == "cast":
            others = [seen["dtype"], entry[others[0]]["dtype"]]
        elif many and many != new.name:
            others = []
        nowhere = seen["memory"] if seen["storage"] is None else ""
        is_meta = seen["device"] == "meta"
        device = f" on {seen['device']}" if is_meta or len(devices) > 1 else ""
        key = (
            *("other" in differ[new.name], new.how, many, tuple(others[:MOST_SAID])),
            *(new.leaves, new.unnamed, new.at_least, new.is_cut),
            *(nowhere, device, is_meta, _instead(step, new.name)),
        )
        groups.setdefault(key, []).append(new)
    for (is_other, *_, nowhere, device, is_meta, instead), group in groups.items():
        more = {"nowhere": nowhere, "device": device, "instead": instead}
        yield _said_of_group(step, group, is_other, is_meta, entry, more)
    hidden = [n for n, k in differ.items() if n not in entry and k & {"new", "other"}]
    if hidden:
        yield say("not observed", hidden)


def _instead(step: Step, name: str) -> str:
    """Say which dtype a name has now, if what had that name had another one."""
    was, now = step.before.facts.get(name), step.after.facts[name]
    if was is None or was.form[2] == now.form[2]:
        return ""
    return f" in {_text(now.form[2])} instead of {_text(was.form[2])}"


def _text(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _said_of_group(
    step: Step,
    group: list[New],
    is_other: bool,
    is_meta: bool,
    entry: dict[str, dict],
    more: dict[str, str],
) -> str:
    """Say of names, to which the same happened, what they are now."""
    names, first, how = [new.name for new in group], group[0], group[0].how
    others = [*dict.fromkeys(other for new in group for other in new.others)]
    if how != "was":
        others = [other for other in others if other not in names] or first.others
    leaves = _leaves(step, first)
    flow = f"a gradient flows back to {leaves}" if leaves else ""
    them = names[0] if len(names) == 1 else "them"
    cut = f" No gradient flows back through {them}." if first.is_cut else ""
    if how == "shares" and len(names) == len(others) == 1:
        how = "shares one"
    if how in ("alone", "copy", "cast"):
        if is_meta or more["nowhere"]:
            how = how if is_meta and flow else "meta" if is_meta else "nowhere"
        how = "computed" if how == "alone" and flow else how
    seen, source = entry[names[0]], entry.get(others[0] if others else "")
    what = "array" if seen["kind"] == "array" else "tensor"
    return say(
        how,
        names,
        others=few(others[:1] if how == "copy" else others),
        are="are" if others[1:] else "is",
        what=what,
        new=f"now {'' if names[1:] else 'a '}different {what}{'s' * bool(names[1:])}"
        if is_other
        else "new",
        dtype=seen["dtype"],
        other_dtype=source and source["dtype"],
        leaves=leaves,
        flow=_flow_to(first, leaves),
        and_flow=flow and f", and {flow}",
        then_flow=flow and f"; {flow}",
        cut="" if flow else cut,
        **more,
    )


def _leaves(step: Step, new: New) -> str:
    """Return the leaves behind a tensor as words."""
    leaves, unnamed = list(new.leaves), new.unnamed
    if len(leaves) + bool(unnamed) > MOST_SAID:
        text = f"{', '.join(leaves[:2])} and {len(leaves) + unnamed - 2} more"
    else:
        if unnamed:
            # There may be names for them beyond those that were observed.
            drawn = sum(len(one["names"]) for one in step.after.observed["tensors"])
            more = f"{unnamed} more" if unnamed > 1 else "one more"
            if drawn >= step.after.names or not leaves:
                more = "a leaf" if unnamed == 1 else f"{unnamed} leaves"
                more += " without a name"
            leaves.append(more)
        text = listing(leaves)
    if new.at_least:
        return f"at least {text}" if text else "a graph too deep to follow"
    return text


def _flow_to(new: New, leaves: str) -> str:
    count = len(new.leaves) + new.unnamed
    if count == 0:
        return "No leaf was reached"
    if count == 1:
        return f"A gradient flows back to {leaves if new.leaves else 'it'}"
    return f"Gradients flow back to {'both' if count == 2 else 'all of them'}"


# What is said first of names that there were before; what is said once is enough.
KINDS = ("storage", "form", "requires_grad", "retains_grad", "graph", "version")


def _said_of_kind(
    kind: str, names: list[str], step: Step, entry: dict[str, dict]
) -> str:
    """Say what of names, of which the same kind of thing has changed, is now."""
    found = {str(entry[name].get(kind)) for name in names if name in entry}
    only = found.pop() if len(found) == 1 else None
    if kind == "requires_grad":
        ending = {"True": "", "False": " not", None: " changed"}[only]
        return say(f"requires{ending}", names)
    if kind == "version":
        return say("versions" if only is None else kind, names, version=only)
    form = _form(names, step) if kind in ("storage", "form") else ""
    with_form = form and f", with {form}"
    return say(kind, names, form=form or "a different form", with_form=with_form)


def _form(names: list[str], step: Step) -> str:
    """Say which shape, strides, dtype or device names have now and had not."""
    said = []
    for at, what in enumerate(("shape", "strides", "dtype", "device")):
        was = [step.before.facts[name].form[at] for name in names]
        now = [step.after.facts[name].form[at] for name in names]
        if was == now or (what == "strides" and said):
            continue
        text = str(tuple(now[0]) if what == "shape" and now[0] else now[0])
        text = f"{what} {text.removeprefix('torch.')}"
        said.append(text if len(set(now)) == 1 else f"a different {what}")
    return listing(said)


# Where nothing changes ----------------------------------------------------------------


def _said_of_statement(step: Step) -> Iterator[str]:
    """Say what a statement did that changed nothing, and of what it is not known."""
    node, look = step.unit.node, step.after
    if step.printed:
        lines = count_of(len(step.printed.splitlines()), "line")
        yield say("prints", lines=lines)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield say("imported", [alias.asname or alias.name for alias in node.names])
        return
    elif isinstance(node, DEFINITIONS):
        yield say("defined", [node.name])
        return
    elif isinstance(node, ast.Assert):
        yield say("asserts")
        return
    yield say("nothing")
    if look.more:
        yield say("more", more=count_of(look.more, "more item"))
    if look.unread:
        size = size_of(sum(look.unread.values()))
        yield say("unread", list(look.unread), size=size)
