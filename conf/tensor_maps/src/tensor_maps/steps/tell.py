"""Tell what a statement did: its event, and its sentences.

All names to which the same happened are told in one sentence: ``SENTENCES`` has them,
``say`` fills them in. What else a statement did is said in ``_of_statement``.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from tensor_maps.memory import NO_DATA
from tensor_maps.steps.course import Step
from tensor_maps.steps.news import NEW, New, dtype_of, entries_of, news_of
from tensor_maps.steps.syntax import DEFINITIONS, names_in, paths_in, root_of
from tensor_maps.words import as_tuple, count_of, few, listing, size_of

# Sentences that a step has, and names that a sentence has; letters of all sentences,
# and of values that differ from name to name.
MOST_SAID, MOST_TEXT, MOST_LETTERS = 3, 150, 60
CHANGED_HANDS = NEW | {"gone"}
FORM = "shape", "strides", "dtype", "device"
# What is said first of names that there were before; what is said once is enough.
KINDS = ("storage", "form", "requires_grad", "retains_grad", "graph", "version")
# Of [one|many] the first is said of one name, the second of several.
SENTENCES = {
    # of names that are new, or now another object
    "same": "{names} [is|are] the same {what}[|s] as {others}.",
    "was": "{names} [is|are] the tensor[|s] that [was|were] {others}.",
    "shares": "{names} share[s|] memory with {others}{and_flow}.{cut}",
    "copy": "{names} [is a copy|are copies] of {others}{on}{memory}{then_flow}.{cut}",
    "cast": "{names} [is|are] {new} in {dtype}{on} ({others} {are} {was}){memory}"
    "{then_flow}.{cut}",
    "computed": "{names} [is|are] computed from {leaves}{instead}{on}. {flow}.",
    "alone": "{names} [is|are] {new}{instead}{on}{memory}.{cut}",
    "not observed": "{names} [is|are] new.",
    # of gradients
    "arrived": "{names} now [has|have] a gradient.",
    "no gradient": "{names} [is|are] now None.",
    # of what is written
    "holds": "{names} now hold[s|] {text}.{end}",
    "different": "{names} now hold[s|] different values.{end}",
    "written": "{names} [is|are] written to.{end}",
    # of names that there were
    "storage": "{names} now use[s|] different memory{text}.",
    "form": "{names} now [has|have] {text}.",
    "requires": "{names} now require[s|] grad.",
    "requires not": "{names} no longer require[s|] grad.",
    "retains_grad": "{names} will keep [its|their] gradient.",
    "graph": "{names} now come[s|] from another operation.",
    "version": "[{names}'s version counter|The version counter of {names}] is now "
    "{text}.",
    "gone": "{names} no longer exist[s|].",
}


def say(sentence: str, names: Sequence[str] = (), **more: Any) -> str:
    """Fill in a sentence of one name or of several."""
    return _filled(SENTENCES[sentence].format(names="{names}", **more), names)


def _filled(sentence: str, names: Sequence[str]) -> str:
    at = 1 + (len(names) > 1)
    text = re.sub(r"\[([^|\]]*)\|([^\]]*)\]", lambda found: found[at], sentence)
    return text.replace("{names}", few(names))


def step_words(step: Step, about: Iterable[str] = ()) -> tuple[str, list[str]]:
    """Say what a step did, and what else there is to note.

    If it did something to the names ``about``, only these are named.
    """
    said = list(_Words(step).of_names(set(about)))
    if step.raised:
        said.insert(0, f"It raises {step.raised.partition(':')[0]}.")
    elif not said:
        said = [*_of_statement(step)]
    lengths = accumulate(map(len, said))
    most = max(1, min(MOST_SAID, sum(length <= MOST_TEXT for length in lengths)))
    if left := said[most:]:
        are, more = "are" if left[1:] else "is", count_of(len(left), "more change")
        said[most:] = [f"There {are} {more}."]
    text = " ".join(said)
    if not step.collapsed:
        return text, []
    loop, last = step.turns[-1]
    if (first := loop.shown + 1) == last:
        return f"Iteration {first}: {text}", []
    both = f"terations {first}–{last}"
    return f"I{both}: {text}", [f"i{both} in one step"]


def event_of(step: Step) -> tuple[str | None, list[str]]:
    """Return the event of a step, and the names that it concerns.

    The event is "raises", "gradient" (it arrived), "written", "gradient" (it changed),
    "cut", "shares", "appears" or "changes": the first of them that holds. It is None
    where nothing changed.
    """
    differ, news = step.differ, news_of(step)
    if step.raised:
        asked, entry = names_in(step.unit), entries_of(step)
        written = [name for name in entry if name in paths_in(step.unit)]
        return "raises", written or [name for name in entry if root_of(name) in asked]
    there = {name: kinds for name, kinds in differ.items() if not kinds & CHANGED_HANDS}
    gradient = [name for name, kinds in there.items() if "gradient" in kinds]
    gradient = [name for name in gradient if step.after.facts[name].gradient]
    items = {new.name for new in news if new.how == "was" and "[" in new.name
             and root_of(new.name) == root_of(new.others[0])}  # fmt: skip
    fresh = [name for name, kinds in differ.items() if kinds & NEW]
    found = [
        ("gradient", [n for n in gradient if "arrived" in differ[n]]),
        ("written", [name for name in there if is_written(step, name)]),
        ("gradient", gradient),
        ("cut", [n for new in news if new.is_cut for n in (new.name, *new.others)]),
        ("shares", [n for new in news if new.how in ("same", "shares")
                    for n in (new.name, *new.others)]),
        ("appears", [name for name in fresh if name not in items]),
        ("changes", list(differ)),
    ]  # fmt: skip
    for event, names in found:
        if names:
            return event, list(dict.fromkeys(names))
    return None, []


# What changed -------------------------------------------------------------------------


def is_written(step: Step, name: str) -> bool:
    """Whether a tensor that was there holds other values now, or may hold them.

    Of what could not be read its version tells; but to change the form of another one
    on the same memory counts too.
    """
    kinds, was, now = step.differ[name], step.before.facts[name], step.after.facts[name]
    if kinds & {"other", "storage", "form"}:
        return False
    is_known = was.values and now.values
    if "values" in kinds and is_known:
        return True
    has_data = entries_of(step).get(name, {}).get("memory") != NO_DATA
    is_formed = any("form" in one for one in step.differ.values())
    return "version" in kinds and not is_known and has_data and not is_formed


def _each(names: list[str], texts: list[str | None], what: str) -> str:
    """Say what each of a few names is now, where the texts are known and short."""
    is_known = 0 < len(names) <= MOST_SAID and None not in texts
    if not is_known or sum(map(len, texts)) > MOST_LETTERS:
        return ""
    return listing([what.format(*both) for both in zip(names, texts, strict=True)])


class _Words:
    """The sentences of one step."""

    def __init__(self, step: Step) -> None:
        self.step, self.entry = step, entries_of(step)
        self.was, self.now = step.before.facts, step.after.facts
        self.differ = step.differ

    def of_names(self, about: set[str]) -> Iterator[str]:
        """Yield sentences of gradients, what was written, what is new, and the rest."""
        self._order(about)
        same = {n: k for n, k in self.differ.items() if not k & CHANGED_HANDS}
        written = [name for name in same if is_written(self.step, name)]
        said = [*self._gradients(same), *self._written(written), *self._new()]
        yield from said
        left = {name: kinds for name, kinds in same.items() if name not in written}
        for kind in KINDS:
            groups: dict[tuple, list[str]] = {}
            for name in [name for name, kinds in left.items() if kind in kinds]:
                groups.setdefault(self._kind(kind, name), []).append(name)
                del left[name]
            for (sentence, text), names in groups.items():
                if not (said and kind == "version"):
                    said.append(say(sentence, names, text=text))
                    yield said[-1]
        if gone := [name for name, kinds in self.differ.items() if "gone" in kinds]:
            yield say("gone", gone)

    def _order(self, about: set[str]) -> None:
        """Set the names ``about`` first, and then what the statement names.

        Of many names, or after these, those of a tensor that was there before are left
        out but for one.
        """
        asked, kept = names_in(self.step.unit), {}
        near = {n for n in self.differ if n in about or root_of(n) in asked}
        differ = {n: k for n, k in self.differ.items() if about and n in near}
        differ = differ or self.differ
        is_long = about or len(differ) > MOST_SAID

        def rank(name: str) -> tuple[bool, ...]:
            return name not in about, root_of(name) not in asked, root_of(name) != name

        for name in sorted(differ, key=rank):
            is_there = name in self.entry and not differ[name] & CHANGED_HANDS
            one = id(self.entry[name]) if is_long and is_there else name
            kept.setdefault(one, name)
        self.differ = {name: differ[name] for name in kept.values()}

    def _gradients(self, same: dict[str, frozenset[str]]) -> Iterator[str]:
        names = [name for name, kinds in same.items() if "gradient" in kinds]
        texts = [self.entry.get(name, {}).get("gradient") for name in names]
        is_small = not any(text and text.startswith("of shape") for text in texts)
        if is_small and (each := _each(names, texts, "{}.grad is now {}")):
            yield f"{each}."
            return
        empty = [name for name in names if self.now[name].gradient is None]
        arrived = [n for n in names if "arrived" in same[n]]
        others = [f"{n}.grad" for n in names if n not in {*arrived, *empty}]
        if arrived:
            yield say("arrived", arrived)
        if others:
            yield say("different", others, end="")
        if empty:
            yield say("no gradient", [f"{name}.grad" for name in empty])

    def _written(self, names: list[str]) -> Iterator[str]:
        if not names:
            return
        seen, end = [self.entry.get(name) for name in names], ""
        if names[1:] and None not in seen:
            if len({*map(id, seen)}) == 1:
                end = " They are the same tensor."
            elif {one["storage"] for one in seen} == {seen[0]["storage"] or 0}:
                end = " They share memory."
        values = [one and one["values"] for one in seen]
        if len({*values}) == 1 and values[0] is not None and len(names) <= MOST_SAID:
            yield say("holds", names, text=values[0], end=end)
        elif each := _each(names, values, "{} now holds {}"):
            yield f"{each}.{end}"
        else:
            is_known = all(self.now[name].values for name in names)
            yield say("different" if is_known else "written", names, end=end)

    def _new(self) -> Iterator[str]:
        groups: dict[tuple, list[New]] = {}
        for new in (one for one in news_of(self.step) if one.name in self.differ):
            root = root_of(new.name) if new.how in ("same", "was", "shares") else ""
            is_item = new.how == "cast" or (root and root != new.name)
            others = () if is_item else tuple(new.others[:MOST_SAID])
            groups.setdefault((self._of_new(new), root, others), []).append(new)
        for (sentence, *_), group in groups.items():
            names, how = [new.name for new in group], group[0].how
            others = [*dict.fromkeys(other for new in group for other in new.others)]
            if how != "was":
                others = [o for o in others if o not in names] or group[0].others
            if len(names) == len(others) == 1:
                sentence = sentence.replace("memory with {others}", "{others}'s memory")
            others = others[:1] if how == "copy" else others
            sentence = sentence.replace("{are}", "are" if others[1:] else "is")
            yield _filled(sentence, names).replace("{others}", few(others))
        hidden = [n for n, k in self.differ.items() if n not in self.entry and k & NEW]
        if hidden:
            yield say("not observed", hidden)

    def _of_new(self, new: New) -> str:
        """Return what there is to say of a new name, as a sentence for all like it."""
        name, how, seen = new.name, new.how, self.entry[new.name]
        leaves = _leaves(new, len(self.entry) >= len(self.now))
        nowhere, is_meta = seen["memory"], seen["device"] == "meta"
        nowhere = nowhere.replace("it has", "[it has|they have]")
        if how == "copy" and nowhere:
            how = "alone"
        if how == "alone" and leaves and (is_meta or not nowhere):
            how = "computed"
        devices = {s["device"] for s in self.entry.values() if s["storage"] is not None}
        is_said = is_meta or len(devices - {"meta"}) > 1
        what = "array" if seen["kind"] == "array" else "tensor"
        other = f"now [a different {what}|different {what}s]"
        flow = f"a gradient flows back to {leaves}"
        facts = [self.now[name], self.was.get(name, self.now[name])]
        dtypes = [*dict.fromkeys(map(dtype_of, facts))]
        is_cut = new.is_cut and not leaves
        return SENTENCES[how].format(
            names="{names}",
            others="{others}",
            are="{are}",
            what=what,
            new=other if "other" in self.differ[name] else "new",
            instead=f" in {' instead of '.join(dtypes)}" if dtypes[1:] else "",
            on=f" on {seen['device']}" if is_said else "",
            memory=f": {nowhere}" if nowhere else ", with [its|their] own memory",
            dtype=seen["dtype"],
            was=self.entry[new.others[0]]["dtype"] if how == "cast" else "",
            leaves=leaves,
            flow=_flow_to(new, leaves),
            and_flow=leaves and f", and {flow}",
            then_flow=leaves and f"; {flow}",
            cut=" No gradient flows back through [{names}|them]." if is_cut else "",
        )

    def _kind(self, kind: str, name: str) -> tuple[str, str]:
        """Return the sentence of what changed of a name, and what it is now."""
        now = self.now[name]
        if kind == "requires_grad":
            return "requires" if now.requires_grad else "requires not", ""
        if kind == "version":
            return kind, str(now.version)
        form = self._form(name) if kind in ("form", "storage") else ""
        return kind, f", with {form}" if form and kind == "storage" else form

    def _form(self, name: str) -> str:
        """Say which shape, strides, dtype or device a name has now and had not."""
        said = []
        both = zip(self.was[name].form, self.now[name].form, strict=True)
        for what, (was, now) in zip(FORM, both, strict=True):
            if was != now and not (what == "strides" and said):
                text = as_tuple(now) if what == "shape" else str(now)
                said.append(f"{what} {text.removeprefix('torch.')}")
        return listing(said)


def _leaves(new: New, is_all: bool) -> str:
    """Return the leaves behind a tensor as words; not all names may be known."""
    leaves, unnamed = [*new.leaves], new.unnamed
    if len(leaves) + bool(unnamed) > MOST_SAID:
        text = f"{', '.join(leaves[:2])} and {len(leaves) + unnamed - 2} more"
    else:
        more = "a leaf" if unnamed == 1 else f"{unnamed} leaves"
        more = f"{more} without a name" if is_all or not leaves else f"{unnamed} more"
        text = listing([*leaves, *[more] * bool(unnamed)])
    if new.at_least:
        return f"at least {text}" if text else "a graph too deep to follow"
    return text


def _flow_to(new: New, leaves: str) -> str:
    count = len(new.leaves) + new.unnamed
    if count < 2:
        to = leaves if new.leaves else "it"
        return f"A gradient flows back to {to}" if count else "No leaf was reached"
    return f"Gradients flow back to {'both' if count == 2 else 'all of them'}"


def _of_statement(step: Step) -> Iterator[str]:
    """Say what a statement did that changed nothing, and of what it is not known."""
    node, look = step.unit.node, step.after
    if step.printed:
        yield f"It prints {count_of(len(step.printed.splitlines()), 'line')}."
    elif isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.asname or alias.name for alias in node.names]
        yield f"{few(names)} {'are' if names[1:] else 'is'} imported."
        return
    elif isinstance(node, ast.Assert | DEFINITIONS):
        is_assert = isinstance(node, ast.Assert)
        yield "The assertion passes." if is_assert else f"{node.name} is defined."
        return
    yield "No change was seen." if look.unread else "No named tensor changes."
    if look.more:
        more = count_of(look.more, "more item")
        yield f"{more} of long lists, dicts or objects were not looked at."
    if look.unread:
        size = size_of(sum(look.unread.values()))
        were = "were" if len(look.unread) > 1 else "was"
        yield f"{few([*look.unread])} ({size}) {were} not read in full."
