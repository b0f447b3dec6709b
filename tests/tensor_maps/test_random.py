"""Random programs: steps and maps say what an independent look at all memory finds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from textwrap import dedent
from typing import Any, NamedTuple

import pytest
import tensor_maps
import torch
from independent import (
    Moment,
    Truth,
    bytes_at,
    differing,
    function_of,
    is_readable,
    leaves_of,
    memories_of,
    moments_of,
    named_in,
    numbers_of,
    truths_of,
    window_of,
)
from programs import quiet, random_program
from running import problems_of_data
from tensor_maps import Steps, tensor_map

PROGRAMS, BATCH = 240, 40
# So deep in containers, and of so many tensors, all that is true is said.
DEEPEST, LOOKED_AT = 4, 40
# Between these, what changed is not a matter of course: another object of one memory.
PLACES = {"value", "place"}
# "a" is a name in these programs, and an article.
NO_NAME = " (?:different|copy|leaf|graph|gradient|tensor|name)"
SAME = re.compile(r"\b(another name|same tensor|same array|the tensor that was)\b")
SHARES = re.compile(r"\bshares? (?:memory with|the memory of)?(.*?)(?:, and a |;|$)")
OPT = "opt"  # gives names to parameters that have lost theirs
SENTENCES = re.compile(r"(?<=\.) ")
LEFT_OUT = re.compile(r"There (is|are) \d+ more change|\band \d+ more\b|\d+ tensors")
COPY = re.compile(r"^(.*) (?:is a copy|are copies) of (.*?)(?: on [\w:]+)?, with ")
COPIES = {"CloneBackward0", "ToCopyBackward0"}
TAKEN = re.compile(
    r"(\w+) = (\w+)\.(t\(\)\.|detach\(\)\.)?(clone|contiguous|half|int|double)\(\)"
)
OVERLAPS = re.compile(r"(\w+)\S* [-+*]= (\1\[.*\])")


class Ran(NamedTuple):
    """What a program printed, what it raised, and what is there at its end."""

    printed: str
    raised: str
    end: dict[str, tuple]


def ran(program: str, seen: Steps | None = None) -> tuple[Ran, dict[str, Any]]:
    """Run a program, perhaps watched as a module is run."""
    names: dict[str, Any] = {"__name__": "program"}
    with quiet() as text:
        try:
            exec(program, names) if seen is None else seen.run(program, names)
            raised = ""
        except Exception as error:
            raised = type(error).__name__
    truths = truths_of(names).items()
    # Less addresses and objects.
    end = {name: (*one[2:], torch.is_tensor(one.value)) for name, one in truths}
    return Ran(text.getvalue(), raised, end), names


# What a step has to say ---------------------------------------------------------------


class Stage(NamedTuple):
    """One step as told, and the moments before and after it as they were."""

    told: dict
    text: str
    was: dict[str, Truth]
    now: dict[str, Truth]
    changes: dict[str, set[str]]
    is_many: bool
    after: Moment

    @property
    def words(self) -> str:
        """What is said, with the note."""
        return f"{self.told['said']} {self.told.get('note', '')}"

    def odd(self, names: Iterable[str]) -> list[str]:
        """Return those of which no memory can be read."""
        return [n for n in {*names} & {*self.now} if not is_readable(self.now[n].value)]

    def found_in(self, text: str) -> list[str]:
        """Return the names that a text has, in its order."""
        found = {}
        for name in self.now:
            whole = rf"(?<![\w.\]\['\"]){re.escape(name)}(?!\w|\[|\.\w|{NO_NAME})"
            if place := re.search(whole, text):
                found[name] = place.start()
        return sorted(found, key=found.get)


def stages_of(program: str, data: dict, moments: list[Moment]) -> Iterator[Stage]:
    """Pair steps with statements; what has run without a step has changed nothing."""
    lines, at = program.split("\n"), 0
    nodes = [one for one in ast.walk(ast.parse(program)) if isinstance(one, ast.For)]
    loops = {node.lineno: node.end_lineno for node in nodes}

    def without_a_step(number: int) -> None:
        before, after = moments[number : number + 2]
        lost = changes(before.truths, after.truths)
        assert not lost, f"line {before.line} has no step: {lost}"
        assert before.printed == after.printed, f"line {before.line}: printed"

    for told in data["steps"]:
        first, begin = told["first"], at
        if is_many := first in loops:  # all later turns in one
            while first <= moments[at].line <= loops[first]:
                at += 1
            assert at > begin, f"a step of a loop that had ended: {told}"
        else:
            while moments[at].line != first:
                assert at + 2 < len(moments), f"no such statement ran: {told}"
                without_a_step(at)
                at += 1
            begin, at = at, at + 1
        was, now = moments[begin].truths, moments[at].truths
        text = dedent("\n".join(lines[first - 1 : told["last"]]))
        yield Stage(told, text, was, now, changes(was, now), is_many, moments[at])
    for number in range(at, len(moments) - 1):
        without_a_step(number)


def changes(was: dict[str, Truth], now: dict[str, Truth]) -> dict[str, set[str]]:
    """Return what differs of each name that is there."""
    found = {n: differing(was[n], now[n]) if n in was else {"new"} for n in now}
    return {name: kinds for name, kinds in found.items() if kinds}


def root_of(name: str) -> str:
    return re.split(r"[.\[]", name)[0]


def problems_of(stage: Stage) -> Iterator[str]:
    """Yield what a step says falsely, or does not say."""
    said, changed = stage.told["said"], set(stage.told["changed"])
    is_all = len(stage.now) < 1000
    for name in sorted(stage.changes.keys() - changed):
        is_known = stage.is_many and stage.changes[name] <= PLACES
        if is_all and not is_known and name.count("[") <= DEEPEST:
            yield f"{name} changes, and is not told: {stage.changes[name]}"
    for name in sorted(changed - stage.changes.keys()):
        if name not in stage.now and not name.startswith("opt."):
            yield f"{name} is told to change, and there is no such name"
        elif name in stage.now and not (stage.is_many or stage.odd([name])):
            yield f"{name} is told to change, and does not"
    if "No named tensor changes" in said and changed:
        yield f"it says that nothing changes, and has {sorted(changed)}"
    for sentence in SENTENCES.split(said):
        # Of what something is made may have no memory.
        what = re.sub(r" of [^,]*| \([^)]*\)| flows back .*", "", sentence)
        odd = stage.odd(stage.found_in(what))
        holds_none = any(stage.now[name].value.is_meta for name in odd)
        if odd and re.search("own memory|hold" if holds_none else "own memory", what):
            yield f"of {odd} the memory is not known: {sentence}"
    yield from problems_of_the_event(stage)
    if not stage.is_many:
        yield from problems_of_relations(stage)
        yield from problems_of_sources(stage)
        yield from problems_of_plain_copies(stage)
        yield from problems_of_dtypes(stage)
        yield from problems_of_overlap(stage)


def problems_of_the_event(stage: Stage) -> Iterator[str]:
    """Hold the event of a step against what changed."""
    event, told = stage.told["event"], stage.told["changed"]
    truly = {n: k for n, k in stage.changes.items() if n in told}
    if (event == "raises") != bool(stage.told.get("raised")):
        yield f"event {event}, raised {stage.told.get('raised')}"
    may_be = told or stage.is_many or stage.was.keys() - stage.now.keys()
    if (
        truly
        if event is None
        else not (may_be or event == "raises" or OPT in stage.text)
    ):
        yield f"event {event}, though {truly} changes"
    if (
        event == "raises"
        or stage.is_many
        or stage.odd(stage.told["names"])
        or not truly
    ):
        return
    known = {n: k for n, k in truly.items() if not k & {"new", "value"}}
    arrived = {n for n in known if "gradient" in known[n] and not stage.was[n].gradient}
    arrived = {n for n in arrived if stage.now[n].gradient}
    same = {n for n, kinds in known.items() if not kinds & {"place", "form"}}
    written = {n for n in same if "content" in known[n]}
    needs = {"gradient": {"gradient"}, "written": {"content", "version"}}
    needs |= {one: {"new", *PLACES} for one in ("shares", "cut", "appears")}
    wanted = "gradient" if arrived else "written" if written else event
    is_so = set().union(*truly.values()) & needs.get(event, {*Truth._fields})
    if event != wanted or not (is_so or event == "changes"):
        yield f"an event {event}, though {truly}"


def problems_of_relations(stage: Stage) -> Iterator[str]:
    """Where one name is new, look whom it shares with and where its gradient goes."""
    said, (name, *others) = stage.told["said"], [*stage.changes] or [""]
    is_new = name and stage.changes[name] & {"new", "value"} and stage.now[name].content
    if others or not is_new or ".grad" in stage.text or name.count("[") > DEEPEST:
        return  # a gradient has a memory without a name
    (group,) = [one for one in stage.after.memories if name in one]
    told = SHARES.search(said)
    named = {*stage.found_in(told[1] if told else "")}
    if wrong := {other for other in named - group if stage.now[other].content}:
        yield f"{name} shares no memory with {wrong}: {said}"
    if bool(told or SAME.search(said)) != (len(group) > 1) and not named:
        yield f"{name} shares memory with {group - {name}}: {said}"
    leaves = {*stage.after.leaves.get(name, ())}
    is_told = SAME.search(said) or leaves & {*stage.found_in(said)}
    if leaves and not is_told and len(stage.now) <= LOOKED_AT:
        yield f"a gradient reaches {leaves} from {name}: {said}"


def problems_of_sources(stage: Stage) -> Iterator[str]:
    """Yield where a copy is said to be of what was not read, or of one of several."""
    for sentence in SENTENCES.split(stage.told["said"]):
        found = COPY.search(sentence)
        copies, sources = map(stage.found_in, found.groups() if found else ("", ""))
        if len(sources) not in (1, len(copies)) or LEFT_OUT.search(sentence):
            continue
        for copy, source in zip(copies, sources * len(copies), strict=False):
            now, loaded = stage.now[copy], read_for(copy, stage.text)
            if now.made_by in COPIES:
                continue  # the graph tells it
            there = {n: one for n, one in stage.was.items() if root_of(n) in loaded}
            if source not in there or not is_copy(now, stage.now.get(source, now)):
                yield f"{source} was not read: {sentence}"
            elif not (is_copy(now, there[source]) or stage.odd([source])):
                yield f"{copy} has not the values of {source}: {sentence}"
            elif not is_at_one_path(copy, source):
                apart = {
                    n: o for n, o in there.items() if o.place != there[source].place
                }
                twins = [n for n, one in apart.items() if is_copy(now, one)]
                if twins or (apart and is_usual(now)):
                    yield f"{copy} may be of {twins or 'none'} as well: {sentence}"


def read_for(name: str, text: str) -> set[str]:
    """Return the names that a statement reads for what it gives a name, if it tells."""
    try:
        node: Any = ast.parse(text).body[0]
    except SyntaxError:  # the head of a compound statement
        return {*re.findall(r"\w+", text)}
    if isinstance(node, ast.Assign):
        target, node = node.targets[0], node.value
        if isinstance(target, ast.Tuple) and isinstance(node, ast.Tuple):
            known = zip(map(ast.unparse, target.elts), node.elts, strict=True)
        else:
            known = [(f"{root_of(name)}['{one.arg}']", one.value)
                     for one in getattr(node, "keywords", ())]  # fmt: skip
        node = dict(known).get(name, node)
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    return {one.id for one in names if isinstance(one.ctx, ast.Load)}


def problems_of_plain_copies(stage: Stage) -> Iterator[str]:
    """Yield a copy of one tensor that is not told to be one."""
    taken, said = TAKEN.fullmatch(stage.text), stage.told["said"]
    if not taken or taken[1] == taken[2] or taken[4] not in ("clone", "contiguous"):
        return
    (name, source), now = taken.groups()[:2], stage.now.get(taken[1])
    if {*stage.changes} != {name} or not now.content or is_usual(now):
        return
    twins = [one for other, one in stage.was.items() if is_copy(now, one)]
    is_alone = frozenset({name}) in stage.after.memories
    is_known = {one.place for one in twins} <= {stage.was[source].place}
    if is_alone and is_known and "copy of" not in said:
        yield f"{name} is a copy of {source}: {said}"


def is_copy(copy: Truth, source: Truth) -> bool:
    """Whether it has the elements of the other, perhaps in another order."""
    mine, theirs = numbers_of(copy), numbers_of(source, copy.form[2])
    if mine is None or theirs is None or mine.shape != theirs.shape:
        return mine is theirs and copy.content == source.content
    return sorted(map(str, mine.tolist())) == sorted(map(str, theirs.tolist()))


def is_at_one_path(one: str, other: str) -> bool:
    """Whether keys and attributes are the same, as of kept['weight'] and net.weight."""
    paths = [re.findall(r"\w+", name[len(root_of(name)) :]) for name in (one, other)]
    return paths[0] == paths[1] != [] or root_of(one) == root_of(other)


def is_usual(one: Truth) -> bool:
    """Whether all elements are zero or one, as of much that is new."""
    numbers = numbers_of(one)
    return numbers is not None and {*numbers.tolist()} in ({0}, {1})


def problems_of_dtypes(stage: Stage) -> Iterator[str]:
    """Yield a tensor, a buffer or a copy of which another dtype is not said."""
    cast = [
        name
        for name in stage.changes.keys() & stage.was.keys()
        if "value" not in stage.changes[name] or "." in name
        if stage.was[name].form[2] != stage.now[name].form[2]
        and "= nn" not in stage.text
    ]
    taken = TAKEN.fullmatch(stage.text)
    if taken and taken[2] in stage.was and taken[1] in stage.changes:
        now = stage.now[taken[1]].form[2]
        cast += [taken[1]] if stage.was[taken[2]].form[2] != now else []
    for name in cast:
        dtype = stage.now[name].form[2].removeprefix("torch.")
        is_said = dtype in stage.words or LEFT_OUT.search(stage.words)
        if stage.now[name].content and not is_said:
            yield f"{name} is now {dtype}: {stage.words}"


def problems_of_overlap(stage: Stage) -> Iterator[str]:
    """Yield where a statement reads what it writes, and it is not said."""
    found = OVERLAPS.fullmatch(stage.text)
    if not found or "content" not in stage.changes.get(found[1], ()):
        return
    if stage.odd([found[1]]) or stage.told.get("raised"):
        return
    whole = {found[1]: stage.now[found[1]].value.detach()}
    both = [eval(part, whole) for part in (stage.text.partition(" ")[0], found[2])]
    is_said = bool(re.search(r"reads and writes", stage.words))
    if not is_said and LEFT_OUT.search(stage.words):
        return
    if is_said != bool(bytes_at(both[0]) & bytes_at(both[1])):
        yield f"reads what it writes, or not, and it is {is_said}: {stage.words}"


# What a map has to say ----------------------------------------------------------------


def problems_of_maps(names: dict[str, Any]) -> Iterator[str]:
    """Hold the map of what is there at the end against storages and the graph."""
    every = {n: v for n, v in named_in(names).items() if re.fullmatch(r"\w+", n)}
    named = {n: v for n, v in every.items() if is_readable(v) and v.nbytes}
    odd = {n: v for n, v in every.items() if not is_readable(v)}
    yield from problems_of_pairs(dict([*named.items()][-8:]), odd)
    if not named:
        return
    observed = tensor_map(**named, **odd, max_names=100).to_dict()
    tensors, told = observed["tensors"], set()
    for storage in observed["storages"]:
        there: set[str] = set()
        for window in storage["windows"]:
            for name in named.keys() & tensors[window["tensor"]]["names"]:
                there.add(name)
                strides = window_of(named[name])[2]
                if window["stride_bytes"] != strides:
                    yield f"{name}: strides {window['stride_bytes']}, truly {strides}"
        told |= {frozenset(there)} if there else set()
    if told != (truth := memories_of(named)):
        yield f"memories {told ^ truth}"
    for seen in tensors:
        (name, *_), value = seen["names"] or [""], every.get((seen["names"] or [""])[0])
        if name in odd and (seen["storage"] is not None or not seen["memory"]):
            yield f"{name} is told to have memory: {seen}"
        if function_of(value) is None:
            continue
        leaves = {id(leaf) for leaf in leaves_of(value)}
        wanted = {n for n, one in every.items() if id(one) in leaves}
        reached = {n for at in seen["reaches"] for n in tensors[at]["names"]}
        count = len(seen["reaches"]) + seen["reaches_unnamed"]
        if reached != wanted or count != len(leaves):
            yield f"a gradient reaches {wanted} from {name}, not {reached}"
        for other, leaf in named.items():
            if torch.is_tensor(leaf) and leaf.requires_grad and leaf.is_leaf:
                truth = {other: id(leaf) in leaves}
                if tensor_maps.flows(value, **{other: leaf}) != truth:
                    yield f"flows({name}, {other}) is not {truth}"


def problems_of_pairs(named: dict[str, Any], odd: dict[str, Any]) -> Iterator[str]:
    """Hold what is said of pairs against the addresses of all bytes."""
    there = {name: bytes_at(value) for name, value in named.items()}
    for first, a in named.items():
        for second, b in named.items():
            told, truth = tensor_maps.sharing(a, b), bool(there[first] & there[second])
            if (bool(told), told.known) != (truth, True):
                yield f"sharing({first}, {second}) is not {truth}: {told}"
        for second, b in odd.items():
            told = tensor_maps.sharing(a, b)
            if told or (told.known and not b.is_meta) or "own memory" in str(told):
                yield f"sharing({first}, {second}) is not known: {told}"


# The tests ----------------------------------------------------------------------------


def fail_with(found: dict[str, list[str]]) -> None:
    """Show the first programs of which something false is said, and how many are."""
    shown = [
        "\n".join(f"{at:3} {line}" for at, line in enumerate(program.splitlines(), 1))
        + "\n"
        + "\n".join(wrong[:6])
        for program, wrong in [*found.items()][:2]
    ]
    if found:
        text = f"{len(found)} programs\n" + "\n\n".join(shown)
        pytest.fail(text, pytrace=False)


@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_steps_and_maps_say_what_is_so(first: int) -> None:
    found: dict[str, list[str]] = {}
    for seed in range(first, first + BATCH):
        program, seen = random_program(seed), Steps()
        if wrong := list(problems_of_program(program, seen)):
            found[program] = wrong
    fail_with(found)


def problems_of_program(program: str, seen: Steps) -> Iterator[str]:
    """Run a program alone, asked and watched, and yield what is not so."""
    (alone, names), (watched, _) = ran(program), ran(program, seen)
    if seen.failed or alone != watched:
        yield f"watched, it is another: {seen.failed}\n{alone}\n{watched}"
    data = seen.data()
    yield from problems_of_data(data)
    if (printed := "".join(one["printed"] for one in data["steps"])) != alone.printed:
        yield f"printed {alone.printed!r}, not {printed!r}"
    with quiet() as text:
        moments, _ = moments_of(program, {"__name__": "program"}, text)
    try:
        for stage in stages_of(program, data, moments):
            where = f"line {stage.told['first']}, {stage.text!r}: "
            yield from (where + one for one in problems_of(stage))
    except AssertionError as error:
        yield f"steps: {error}"
    yield from problems_of_maps(names)
