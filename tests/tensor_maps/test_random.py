"""Random programs: steps and maps say what an independent look at all memory finds."""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from textwrap import dedent
from typing import Any, NamedTuple

import independent
import pytest
import tensor_maps
import torch
from independent import Moment, Truth, differing
from programs import quiet, random_program
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
SENTENCES = re.compile(r"(?<=\.) ")


def ran(program: str, seen: Steps | None = None) -> tuple[tuple, dict[str, Any]]:
    """Run a program, perhaps watched as a module is run.

    Return what it printed and raised and what is there at its end, and the names.
    """
    names: dict[str, Any] = {"__name__": "program"}
    raised = ""
    with quiet() as text:
        try:
            exec(program, names) if seen is None else seen.run(program, names)
        except Exception as error:
            raised = type(error).__name__
    end = {}
    for name, value in independent.named_in(names).items():  # less addresses
        end[name] = (independent.truth_of(value)[2:], torch.is_tensor(value))
    return (text.getvalue(), raised, end), names


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

    def odd(self, names: Iterable[str]) -> list[str]:
        """Return those of which no memory can be read."""
        return [n for n in {*names} & {*self.now} if not self.now[n].place]

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

    def pass_over(number: int) -> None:
        before, after = moments[number : number + 2]
        lost = changes(before.truths, after.truths)
        assert not lost, f"line {before.line} has no step: {lost}"
        assert before.printed == after.printed, f"line {before.line}: printed"

    for told in data["steps"]:
        first = told["first"]
        is_many = first in loops  # all later turns in one
        there = range(first, loops.get(first, first) + 1)
        while moments[at].line not in there:
            assert at + 2 < len(moments), f"no such statement ran: {told}"
            pass_over(at)
            at += 1
        was, at = moments[at].truths, at + 1
        while is_many and moments[at].line in there:
            at += 1
        now = moments[at].truths
        text = dedent("\n".join(lines[first - 1 : told["last"]]))
        yield Stage(told, text, was, now, changes(was, now), is_many, moments[at])
    for number in range(at, len(moments) - 1):
        pass_over(number)


def changes(was: dict[str, Truth], now: dict[str, Truth]) -> dict[str, set[str]]:
    """Return what differs of each name that is there."""
    found = {n: differing(was[n], now[n]) if n in was else {"new"} for n in now}
    return {name: kinds for name, kinds in found.items() if kinds}


def problems_of(stage: Stage) -> Iterator[str]:
    """Yield what a step says falsely, or does not say."""
    said, changed = stage.told["said"], set(stage.told["changed"])
    for name in sorted(stage.changes.keys() - changed):
        is_known = stage.is_many and stage.changes[name] <= PLACES
        if len(stage.now) < 1000 and not is_known and name.count("[") <= DEEPEST:
            yield f"{name} changes, and is not told: {stage.changes[name]}"
    for name in sorted(changed - stage.changes.keys()):
        if name not in stage.now and not name.startswith("opt."):
            yield f"{name} is told to change, and there is no such name"
        elif name in stage.now and not (stage.is_many or stage.odd([name])):
            yield f"{name} is told to change, and does not"
    if "No named tensor changes" in said and changed:
        yield f"nothing changes, and {sorted(changed)} do"
    for sentence in SENTENCES.split(said):
        # Of what something is made may have no memory.
        what = re.sub(r" of [^,]*| \([^)]*\)| flows back .*", "", sentence)
        odd = stage.odd(stage.found_in(what))
        holds_none = any(stage.now[name].value.is_meta for name in odd)
        if odd and re.search("own memory|hold" if holds_none else "own memory", what):
            yield f"of {odd} the memory is not known: {sentence}"
    if not stage.is_many:
        yield from problems_of_relations(stage)


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


# What a map has to say ----------------------------------------------------------------


def problems_of_maps(names: dict[str, Any]) -> Iterator[str]:
    """Hold the map of what is there at the end against storages and the graph."""
    every = {n: v for n, v in independent.named_in(names).items() if n.isidentifier()}
    named = {n: v for n, v in every.items() if independent.is_readable(v) and v.nbytes}
    odd = {n: v for n, v in every.items() if not independent.is_readable(v)}
    yield from problems_of_pairs(dict([*named.items()][-8:]), odd)
    if not named:
        return
    observed = tensor_map(**named, **odd, max_names=100).to_dict()
    tensors, told = observed["tensors"], set()
    for storage in observed["storages"]:
        windows = {
            name: window
            for window in storage["windows"]
            for name in named.keys() & tensors[window["tensor"]]["names"]
        }
        told |= {frozenset(windows)} - {frozenset()}
        for name, window in windows.items():
            first, _, strides, _ = independent.window_of(named[name])
            runs = {at for one in window["runs"] for at in range(*one)}
            truly = {
                at - first + window["offset_bytes"]
                for at in independent.bytes_at(named[name])
            }
            is_whole = window["covers_all"] == (len(runs) == storage["bytes"])
            if runs != truly or window["stride_bytes"] != strides or not is_whole:
                yield f"{name}: {window}, truly strides {strides}, bytes {truly}"
    if told != (truth := independent.memories_of(named)):
        yield f"memories {told ^ truth}"
    for seen in (one for one in tensors if one["names"]):
        name = seen["names"][0]
        value = every[name]
        if name in odd and (seen["storage"] is not None or not seen["memory"]):
            yield f"{name} is told to have memory: {seen}"
        if independent.function_of(value) is None:
            continue
        leaves = {id(leaf) for leaf in independent.leaves_of(value)}
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
    there = {name: independent.bytes_at(value) for name, value in named.items()}
    for first, a in named.items():
        for second, b in (named | odd).items():
            told = tensor_maps.sharing(a, b)
            if second in odd:
                is_so = not told and (b.is_meta or not told.known)
                is_so = is_so and "own memory" not in str(told)
            else:
                is_so = told.known and bool(told) == bool(there[first] & there[second])
            if not is_so:
                yield f"sharing({first}, {second}) is not {told}"


# The tests ----------------------------------------------------------------------------


def problems_of_data(data: dict) -> Iterator[str]:
    """Yield what the viewer relies on and is not so."""
    json.dumps(data)
    used = {step["drawing"] for step in data["steps"]} - {None}
    if used != set(range(len(data["drawings"]))) or len(data["captions"]) != len(used):
        yield f"drawings {used}"
    for step in data["steps"]:
        is_there = 1 <= step["first"] <= step["last"] <= len(data["code"])
        is_there = is_there and data["code"][step["first"] - 1].strip()
        is_line = step["said"].endswith(".") and "\n" not in step["said"]
        if not (is_there and is_line and all(1 <= i <= n for i, n in step["turn"])):
            yield f"lines, sentence or turns of {step}"


def problems_of_program(program: str, seen: Steps) -> Iterator[str]:
    """Run a program alone, asked and watched, and yield what is not so."""
    (alone, names), (watched, _) = ran(program), ran(program, seen)
    if seen.failed or alone != watched:
        yield f"watched, it is another: {seen.failed}\n{alone}\n{watched}"
    data = seen.data()
    yield from problems_of_data(data)
    if (printed := "".join(one["printed"] for one in data["steps"])) != alone[0]:
        yield f"printed {alone[0]!r}, not {printed!r}"
    found = []
    with quiet() as text:
        moments = independent.moments_of(program, text)
        try:
            for stage in stages_of(program, data, moments):
                where = f"line {stage.told['first']}, {stage.text!r}: "
                found += [where + one for one in problems_of(stage)]
        except AssertionError as error:
            found.append(f"steps: {error}")
    yield from found
    yield from problems_of_maps(names)


@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_steps_and_maps_say_what_is_so(first: int) -> None:
    found = []
    for program in map(random_program, range(first, first + BATCH)):
        if wrong := [*problems_of_program(program, Steps())][:6]:
            found.append("\n".join([program, *wrong]))
    assert not found, "\n\n".join([f"{len(found)} programs", *found[:2]])
