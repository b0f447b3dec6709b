"""Say in a few words what a step did."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from tensor_maps.steps.events import New, entries_of, is_written, news_of
from tensor_maps.steps.fact import is_on_other_storage
from tensor_maps.steps.step import Step
from tensor_maps.steps.syntax import DEFINITIONS, names_in, root_of
from tensor_maps.words import count_of, listing, size_of

# Sentences that a step has, and names that a sentence has; letters of all sentences.
MOST_SAID, MOST_TEXT = 3, 150
# Of values that are different, so many letters are said.
MOST_LETTERS = 60


def step_words(step: Step, about: Iterable[str] = ()) -> tuple[str, list[str]]:
    """Say what a step did, and what else there is to note.

    If it did something to the names ``about``, only these are named.
    """
    said = _said_of_names(step, set(about))
    if step.raised:
        said.insert(0, f"It raises {step.raised.partition(':')[0]}.")
    elif not said:
        said = [_said_of_statement(step)]
    lengths = accumulate(map(len, said))
    most = max(1, min(MOST_SAID, sum(length <= MOST_TEXT for length in lengths)))
    if (more := len(said) - most) > 0:
        are = _are(said[most:])
        said[most:] = [f"There {are} {count_of(more, 'more change')}."]
    text = " ".join(said)
    if not step.collapsed:
        return text, []
    loop, last = step.turns[-1]
    first = loop.shown + 1
    if first == last:
        return f"Iteration {first}: {text}", []
    both = f"terations {first}–{last}"
    return f"I{both}: {text}", [f"i{both} in one step"]


# Where nothing changes ---------------------------------------------------------------


def _said_of_statement(step: Step) -> str:
    node = step.unit.node
    if not step.printed:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.asname or alias.name for alias in node.names]
            return f"{listing(names)} {_are(names)} imported."
        if isinstance(node, DEFINITIONS):
            return f"{node.name} is defined."
        if isinstance(node, ast.Assert):
            return "The assertion passes."
    text = _nothing(step)
    if step.printed:
        lines = count_of(len(step.printed.splitlines()), "line")
        text = f"It prints {lines}. {text}"
    return text


def _nothing(step: Step) -> str:
    """Say that nothing changes, and of what it is not known."""
    look = step.after
    said = ["No named tensor changes."]
    if look.left:
        looked = look.names - len(look.left)
        said = [f"No tensor among the {looked} of {look.names} names that were looked "
                "at changes."]  # fmt: skip
    if look.more:
        said.append(f"{count_of(look.more, 'more item')} of long lists, dicts or "
                    "objects were not looked at.")  # fmt: skip
    if look.unread:
        sizes = f"({size_of(sum(look.unread.values()))})"
        names = list(look.unread)
        said.append(f"{_few(names)} {sizes} {_were(names)} checked by version only, "
                    "not read.")  # fmt: skip
    if look.sampled:
        sizes = f"({size_of(sum(look.sampled.values()))})"
        names = list(look.sampled)
        said.append(f"{_few(names)} {sizes} {_were(names)} read in samples only.")
    return " ".join(said)


# Where something changes -------------------------------------------------------------


def _said_of_names(step: Step, about: set[str]) -> list[str]:
    """Say what changed: gradients, what was written, what is new, and the rest."""
    entry = entries_of(step)
    first = frozenset(about)
    if about:
        about |= {n for n in step.differ if root_of(n) in names_in(step.unit)}
    differ = {name: step.differ[name] for name in step.differ if name in about}
    differ = _in_order(differ or step.differ, step, first)
    if resized := _said_of_resized(step, differ):
        return [resized]
    same = {n: k for n, k in differ.items() if not k & {"new", "other", "gone"}}
    said = _said_of_gradients(same, entry)
    written = {name: kinds for name, kinds in same.items() if is_written(kinds)}
    if "late" in set().union(*written.values()):
        said += _said_of_late(step, written)
    elif written:
        said += _said_of_written(list(written), entry)
    said += _said_of_new(step, entry, differ)
    rest = {name: kinds for name, kinds in same.items() if name not in written}
    if moved := [name for name, kinds in rest.items() if "moved" in kinds]:
        said += _said_of_moved(step, moved)
    told: set[str] = set(moved)
    for kind in ORDER_OF_KINDS:
        if kind == "version" and said:
            continue
        names = [name for name, kinds in rest.items() if kind in kinds - told]
        names = [name for name in names if name not in told]
        told.update(names)
        if names:
            said.append(_said_of_kind(kind, names, step))
    if gone := [name for name, kinds in differ.items() if "gone" in kinds]:
        said.append(f"{_few(gone)} no longer exist{_s(gone)}.")
    return said


def _in_order(
    differ: dict[str, frozenset[str]], step: Step, first: frozenset[str]
) -> dict[str, frozenset[str]]:
    """Set some names first, and then what the statement names.

    Of many names, or after these, those of a tensor that was there before are left out
    but for one.
    """
    asked, kept, entry = names_in(step.unit), {}, entries_of(step)
    is_long = first or len(differ) > MOST_SAID
    there = {"new", "other", "gone", "moved"} if is_long else set()

    def rank(name: str) -> tuple[bool, ...]:
        return name not in first, root_of(name) not in asked, root_of(name) != name

    order = sorted(differ, key=rank)
    for name in order:
        is_one = there and name in entry and not differ[name] & there
        kept.setdefault(id(entry[name]) if is_one else name, name)
    return {name: differ[name] for name in kept.values()}


def _said_of_resized(step: Step, differ: dict[str, frozenset[str]]) -> str:
    """Say which part of their storage tensors keep, where a new one has resized it."""
    was, now = step.before.facts, step.after.facts
    names = [
        name
        for name, kinds in differ.items()
        if "storage" in kinds
        and not kinds & {"new", "other", "form"}
        and not is_on_other_storage(was[name], now[name])
        and now[name].bytes
    ]
    news = [new.name for new in news_of(step) if set(new.others) & set(names)]
    if not names or not news:
        return ""
    start, stop = now[names[0]].reach
    item = now[names[0]].form[2].itemsize
    part = f"{now[names[0]].bytes // item} of the {(stop - start) // item} cells"
    resizes = f"{listing(news)} resize{_s(news)} the memory"
    return f"{resizes}: {listing(names)} keep{_s(names)} {part}."


def _said_of_gradients(
    same: dict[str, frozenset[str]], entry: dict[str, dict]
) -> list[str]:
    said = []
    names = [name for name, kinds in same.items() if "gradient" in kinds]
    text = {name: entry.get(name, {}).get("gradient") for name in names}
    small = [n for n in names if text[n] and not text[n].startswith("of shape")]
    if sum(map(len, map(str, text.values()))) > MOST_LETTERS:
        small = []
    if names and len(names) <= MOST_SAID and len(small) == len(names):
        return [listing([f"{n}.grad is now {text[n]}" for n in names]) + "."]
    empty = [name for name in names if name in entry and text[name] in (None, "None")]
    arrived = [n for n in names if "arrived" in same[n] and n not in empty]
    if len(arrived) > MOST_SAID:
        count = len(arrived)
        said.append(f"{count} tensors now have a gradient, {arrived[0]} among them.")
    elif arrived:
        said.append(f"{listing(arrived)} now {_have(arrived)} a gradient.")
    if others := [n for n in names if n not in arrived and n not in empty]:
        grads = [f"{name}.grad" for name in others]
        said.append(f"{_few(grads)} now hold{_s(others)} different values.")
    if empty:
        grads = [f"{name}.grad" for name in empty]
        said.append(f"{_few(grads)} {_are(empty)} now None.")
    return said


def _said_of_late(step: Step, written: dict[str, frozenset[str]]) -> list[str]:
    """Say what may have been written to earlier, when it was not read."""
    late = [name for name, kinds in written.items() if "late" in kinds]
    ago = max(step.before.late.get(name, 1) for name in late) + 1
    now = [name for name in written if name not in late]
    said = _said_of_written(now, entries_of(step)) if now else []
    return [
        *said,
        f"{_few(late)} hold{_s(late)} different values; {_it(late)} {_were(late)} last "
        f"read {ago} statements before.",
    ]


def _said_of_written(names: list[str], entry: dict[str, dict]) -> list[str]:
    seen = [entry[name] for name in names if name in entry]
    storages = {one["storage"] for one in seen if one["storage"] is not None}
    shared = len(names) > 1 and len(storages) == 1 and len(seen) == len(names)
    end = " They share memory." if shared else ""
    if len({id(one) for one in seen}) == 1 and len(seen) == len(names) > 1:
        end = " They are the same tensor."
    values = [one["values"] for one in seen]
    known = len(values) == len(names) and None not in values
    if known and len(set(values)) == 1 and len(names) <= MOST_SAID:
        return [f"{listing(names)} now hold{_s(names)} {values[0]}.{end}"]
    is_short = known and sum(map(len, values)) <= MOST_LETTERS
    if is_short and len(names) <= MOST_SAID:
        both = zip(names, values, strict=True)
        each = [f"{name} now holds {value}" for name, value in both]
        return [f"{listing(each)}.{end}"]
    if len(names) <= MOST_SAID:
        return [f"{listing(names)} now hold{_s(names)} different values.{end}"]
    if shared:
        others = names[1:]
        few = listing(others) if len(others) <= MOST_SAID else f"{len(others)} others"
        return [f"{names[0]} is written to; {few} share its memory."]
    return [f"{len(names)} tensors are written to, {names[0]} among them."]


def _said_of_new(
    step: Step, entry: dict[str, dict], differ: dict[str, frozenset[str]]
) -> list[str]:
    groups: dict[tuple, list[New]] = {}
    for new in (one for one in news_of(step) if one.name in differ):
        is_other = "other" in differ[new.name]
        many = root_of(new.name) if new.how in ("same", "shares") else ""
        of_one = () if many and many != new.name else tuple(new.others[:MOST_SAID])
        flow = (tuple(new.leaves), new.unnamed, new.at_least, new.is_cut)
        seen = entry[new.name]
        nowhere = seen["memory"] if seen["storage"] is None else ""
        device = seen["device"]
        key = (is_other, new.how, many, of_one, flow, nowhere, device)
        groups.setdefault(key, []).append(new)
    devices = {one["device"] for one in entry.values() if one["storage"] is not None}
    said = [
        _said_of_group(step, group, nowhere, f" on {device}" if devices[1:] else "",
                       is_other)
        for devices in [sorted(devices)]
        for (is_other, *_, nowhere, device), group in groups.items()
    ]  # fmt: skip
    hidden = [n for n, k in differ.items()
              if n not in entry and k & {"new", "other"}]  # fmt: skip
    if hidden:
        said.append(f"{_few(hidden)} {_are(hidden)} new.")
    return said


def _said_of_group(
    step: Step, group: list[New], nowhere: str, device: str, is_other: bool
) -> str:
    """Say of names, to which the same happened, what they are now."""
    names, first = [new.name for new in group], group[0]
    few, are = _few(names), _are(names)
    others = dict.fromkeys(other for new in group for other in new.others)
    others = [other for other in others if other not in names] or first.others
    flow = _flow(step, first)
    cut = f" No gradient flows back through {_it(names, few)}." if first.is_cut else ""
    if first.how == "same":
        what = "array" if entries_of(step)[names[0]]["kind"] == "array" else "tensor"
        if len(names) > 1:
            return f"{few} are the same {what}s as {_few(others)}."
        return f"{few} is the same {what} as {others[0]}."
    if first.how == "was":
        what = "tensor" if len(names) == 1 else "tensors"
        return f"{few} {are} the {what} that {_were(names)} {_few(others)}."
    if first.how == "shares":
        if len(names) == len(others) == 1:
            text = f"{few} shares {others[0]}'s memory"
        else:
            text = f"{few} share{_s(names)} memory with {_few(others)}"
        return f"{text}, and {flow}." if flow else f"{text}.{cut}"
    if nowhere:
        return f"{few} {are} new: {nowhere}."
    if first.how == "copy":
        text = f"{few} is a copy of {others[0]}{device}, with its own memory"
        if len(names) > 1:
            text = f"{few} are copies of {others[0]}{device}, with their own memory"
        return f"{text}; {flow}." if flow else f"{text}.{cut}"
    if flow:
        leaves = _leaves(step, first)
        return f"{few} {are} computed from {leaves}{device}. {_flow_to(first, leaves)}."
    what = "array" if entries_of(step)[names[0]]["kind"] == "array" else "tensor"
    kind = f"a different {what}" if len(names) == 1 else f"different {what}s"
    what = f"now {kind}" if is_other else "new"
    own = "its own memory" if len(names) == 1 else "their own memory"
    own = "" if device == " on meta" else f", with {own}"
    return f"{few} {are} {what}{device}{own}.{cut}"


def _leaves(step: Step, new: New) -> str:
    """Return the leaves behind a tensor as words."""
    drawn = sum(len(one["names"]) for one in step.after.observed["tensors"])
    leaves, unnamed = list(new.leaves), new.unnamed
    if len(leaves) + bool(unnamed) <= MOST_SAID:
        if unnamed:
            # There may be names for them beyond those that were observed.
            more = f"{unnamed} more" if unnamed > 1 else "one more"
            if drawn >= step.after.names or not leaves:
                more = "a leaf" if unnamed == 1 else f"{unnamed} leaves"
                more += " without a name"
            leaves.append(more)
        text = listing(leaves)
    else:
        more = len(leaves) + unnamed - 2
        text = f"{', '.join(leaves[:2])} and {more} more"
    if new.at_least:
        return f"at least {text}" if text else "a graph too deep to follow"
    return text


def _flow(step: Step, new: New) -> str:
    """Say where a gradient flows back to, or nothing."""
    leaves = _leaves(step, new)
    return f"a gradient flows back to {leaves}" if leaves else ""


def _flow_to(new: New, leaves: str) -> str:
    count = len(new.leaves) + new.unnamed
    if count == 0:
        return "No leaf was reached"
    if count == 1:
        return f"A gradient flows back to {leaves if new.leaves else 'it'}"
    return f"Gradients flow back to {'both' if count == 2 else 'all of them'}"


def _said_of_moved(step: Step, moved: list[str]) -> list[str]:
    """Say which items of a list or a dict are in another place of it."""
    before = {fact.other.number(): name for name, fact in step.before.facts.items()}
    said = []
    for root in dict.fromkeys(map(root_of, moved)):
        names = [name for name in moved if root_of(name) == root]
        was = [before.get(step.after.facts[name].other.number(), "") for name in names]
        places = [(_place(old), _place(name)) for old, name in zip(was, names,
                  strict=True)]  # fmt: skip
        up = all(old is not None and new is not None and old > new
                 for old, new in places)  # fmt: skip
        how = "up" if up else "within it"
        if len(names) == 1:
            said.append(f"{names[0]} is the tensor that was {was[0]}.")
        else:
            said.append(f"{len(names)} items of {root} moved {how}: {names[0]} was "
                        f"{was[0]}.")  # fmt: skip
    return said


def _place(name: str) -> int | None:
    """Return the first index in a path."""
    found = re.search(r"\[(\d+)\]", name)
    return int(found[1]) if found else None


# What is said first of names that there were before; what is said once is enough.
ORDER_OF_KINDS = (
    *("storage", "form", "requires_grad", "retains_grad", "graph", "version"),
)


def _said_of_kind(kind: str, names: list[str], step: Step) -> str:
    """Say what of names, of which the same kind of thing has changed, is now."""
    few, s, entry = _few(names), _s(names), entries_of(step)
    seen = [entry[name] for name in names if name in entry]
    if kind == "storage":
        form = _form(names, step)
        return f"{few} now use{s} different memory{', with ' if form else ''}{form}."
    if kind == "form":
        form = _form(names, step) or "a different form"
        return f"{few} now {_have(names)} {form}."
    if kind == "requires_grad":
        requires = _common(one["requires_grad"] for one in seen)
        if requires is None:
            return f"requires_grad changed for {few}."
        if requires:
            return f"{few} now require{s} grad."
        return f"{few} no longer require{s} grad."
    if kind == "retains_grad":
        return f"{few} will keep {'its' if len(names) == 1 else 'their'} gradient."
    if kind == "graph":
        return f"{few} now come{s} from another operation."
    version = _common(one["version"] for one in seen)
    if version is None:
        return f"The version counter of {few} has changed."
    if len(names) == 1:
        return f"{few}'s version counter is now {version}."
    return f"The version counter of {few} is now {version}."


def _form(names: list[str], step: Step) -> str:
    """Say which shape, strides, dtype or device names have now and had not."""
    said = []
    for at, what in enumerate(("shape", "strides", "dtype", "device")):
        was = [step.before.facts[name].form[at] for name in names]
        now = [step.after.facts[name].form[at] for name in names]
        if was == now or (what == "strides" and said):
            continue
        one = _common(now)
        text = str(tuple(one) if what == "shape" and one else one)
        text = text.removeprefix("torch.")
        said.append(f"a different {what}" if one is None else f"{what} {text}")
    return listing(said)


def _common(values: Iterable[Any]) -> Any:
    """Return the value that all are, or None if they differ."""
    found = set(values)
    return found.pop() if len(found) == 1 else None


def _are(names: list[str]) -> str:
    return "are" if len(names) > 1 else "is"


def _were(names: list[str]) -> str:
    return "were" if len(names) > 1 else "was"


def _have(names: list[str]) -> str:
    return "have" if len(names) > 1 else "has"


def _s(names: list[str]) -> str:
    """Return the ending of a verb."""
    return "" if len(names) > 1 else "s"


def _it(names: list[str], one: str = "it") -> str:
    return "them" if one != "it" and names[1:] else "they" if names[1:] else one


def _few(names: list[str]) -> str:
    if len(names) <= MOST_SAID:
        return listing(names)
    return f"{', '.join(names[:2])} and {len(names) - 2} more"
