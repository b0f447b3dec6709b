"""Random programs: steps and maps say what an independent look at all memory finds."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import tensor_maps
import torch
from independent import (
    Moment,
    Truth,
    bytes_at,
    differing,
    leaves_of,
    memories_of,
    moments_of,
    named_in,
    truths_of,
)
from programs import random_program
from running import problems_of_data
from tensor_maps import Steps, tensor_map

PROGRAMS, BATCH = 240, 40
LOOKED_AT, ITEMS = 40, 4
# Between these, what changed is not a matter of course: another object of one memory.
PLACES = {"value", "place"}
NOTHING = re.compile(r"\b(no tensor\b.*\bchanges|nothing\b.*\bchanges)", re.IGNORECASE)
FLATLY = re.compile(r"^(turns? [\d to]+: )?no tensor changes\b", re.IGNORECASE)
SAME = r"\b(another name|same tensor|same array)\b"
LEFT_OUT = re.compile(r"\d.*\b(not looked|not read|left out|looked at)|\d+ of \d+")


class Ran(NamedTuple):
    """What a program printed, what it raised, and what is there at its end."""

    printed: str
    raised: str
    names: dict[str, Any]


@contextlib.contextmanager
def heard() -> Iterator[io.StringIO]:
    """Hear what is printed; what PyTorch warns of is not at issue."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as text:
        warnings.simplefilter("ignore")
        yield text


def ran_alone(program: str) -> Ran:
    names: dict[str, Any] = {}
    with heard() as text:
        try:
            exec(program, names)
            raised = ""
        except Exception as error:
            raised = type(error).__name__
    return Ran(text.getvalue(), raised, names)


def ran_watched(program: str) -> tuple[Ran, dict]:
    """Run a program as a module is run."""
    seen, names = Steps(), {}
    with heard() as text:
        try:
            seen.run(program, names)
            raised = ""
        except Exception as error:
            raised = type(error).__name__
    assert not seen.failed, seen.failed
    return Ran(text.getvalue(), raised, names), seen.data()


def final(names: dict[str, Any]) -> dict[str, tuple]:
    """Return what is there at the end, less addresses and objects."""
    return {
        name: (*truth[2:], torch.is_tensor(truth.value))
        for name, truth in truths_of(names).items()
    }


# What a step has to say ---------------------------------------------------------------


class Stage(NamedTuple):
    """One step as told, and the moments before and after it as they were."""

    told: dict
    text: str
    was: dict[str, Truth]
    now: dict[str, Truth]
    is_many: bool
    after: Moment


def stages_of(program: str, data: dict, moments: list[Moment]) -> Iterator[Stage]:
    """Pair steps with statements; what has run without a step has changed nothing."""
    lines, at = program.split("\n"), 0
    loops = {
        node.lineno: node.end_lineno
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.For)
    }
    for told in data["steps"]:
        first, last = told["first"], told["last"]
        if first in loops:  # all later turns in one
            begin = at
            while first <= moments[at].line <= loops[first]:
                at += 1
            assert at > begin, f"a step of a loop that had ended: {told}"
            is_many = True
        else:
            while moments[at].line != first:
                assert at + 2 < len(moments), f"no such statement ran: {told}"
                before, after = moments[at : at + 2]
                lost = changes(before.truths, after.truths)
                assert not lost, f"line {before.line} has no step: {lost}"
                assert before.printed == after.printed, f"line {before.line}: printed"
                at += 1
            begin, at, is_many = at, at + 1, False
        was, now = moments[begin].truths, moments[at].truths
        text = "\n".join(lines[first - 1 : last])
        yield Stage(told, text, was, now, is_many, moments[at])
    while at + 1 < len(moments):
        lost = changes(moments[at].truths, moments[at + 1].truths)
        assert not lost, f"line {moments[at].line} has no step: {lost}"
        at += 1


def changes(was: dict[str, Truth], now: dict[str, Truth]) -> dict[str, set[str]]:
    """Return what differs of each name that is there."""
    found = {
        name: differing(was[name], truth) if name in was else {"new"}
        for name, truth in now.items()
    }
    return {name: kinds for name, kinds in found.items() if kinds}


def is_hard_to_find(name: str) -> bool:
    """Whether it is an attribute, in a container in another, or behind the fourth."""
    items = re.findall(r"\[(\d+)\]", name)
    return (
        name.startswith("box.")
        or name.count("[") > 1
        or any(int(item) >= ITEMS for item in items)
    )


def must_be_looked_at(name: str, stage: Stage) -> bool:
    """Whether a statement names it, or it is among the newest."""
    root = re.split(r"[.\[]", name)[0]
    if len(stage.now) <= LOOKED_AT or re.search(rf"\b{root}\b", stage.text):
        return True
    order = list(stage.now)
    return "x44" in order and order.index(name) > order.index("x44")


def problems_of(stage: Stage) -> Iterator[str]:
    """Yield what a step says falsely, or does not say."""
    told, said = stage.told, stage.told["said"]
    words = f"{said} {told.get('note', '')}"
    changed, truly = set(told["changed"]), changes(stage.was, stage.now)
    for name in sorted(truly.keys() - changed):
        size = len(stage.now[name].content)
        not_read = re.search(
            rf"\b{re.escape(name)}\b[^.;]*\(\S+ \w+\).*not read", words
        )
        if stage.is_many and truly[name] <= PLACES:
            continue
        if is_hard_to_find(name):
            if FLATLY.search(said):
                yield f"{name} changes ({truly[name]}), and it says: {said}"
        elif must_be_looked_at(name, stage):
            if not (not_read and truly[name] == {"content"} and size > 4096):
                yield f"{name} changes, and is not told: {truly[name]}"
        elif not LEFT_OUT.search(words):
            yield f"{name} changes, is left out, and it is not said that any is"
    for name in sorted(changed - truly.keys()):
        if name not in stage.now:
            yield f"{name} is told to change, and there is no such name"
        elif not (stage.is_many or len(stage.now[name].content) > 4096):
            yield f"{name} is told to change, and does not"
    if NOTHING.search(said) and changed:
        yield f"it says that nothing changes, and has {sorted(changed)}"
    if re.search(r"\bnot drawn\b", said):
        yield f"it says where a gradient goes by what is drawn: {said}"
    yield from problems_of_relations(stage, truly)
    yield from problems_of_the_event(stage, truly)


def problems_of_relations(stage: Stage, truly: dict[str, set[str]]) -> Iterator[str]:
    """Where one name is new, look whom it shares with and where its gradient goes."""
    new = [name for name, kinds in truly.items() if kinds & {"new", "value"}]
    said = stage.told["said"]
    if len(new) != 1 or stage.is_many or not stage.now[new[0]].content:
        return
    (name,) = new
    if is_hard_to_find(name) or len(stage.now) > LOOKED_AT or len(truly) > 1:
        return
    if ".grad" in stage.text:
        return  # that is a memory without a name
    group, plain = group_of(name, stage), {*filter(is_found, stage.now)}
    told = re.search(r"shares the memory of ([^;]*)", said)
    said_names = set(re.findall(r"[\w.]+(?:\[[^]]*\])*", told[1])) if told else set()
    if wrong := (said_names & plain) - group:
        yield f"{name} shares no memory with {wrong}: {said}"
    if len(group) > 1 and not re.search(r"\bshare|" + SAME, said):
        yield f"{name} shares memory with {set(group) - {name}}: {said}"
    if len(group) == 1 and re.search(r"\bshares?\b", said):
        yield f"{name} shares no memory: {said}"
    if re.search(SAME, said):
        return
    for leaf in [*filter(is_found, stage.after.leaves.get(name, ()))][:1]:
        if not re.search(rf"(?<![\w.]){re.escape(leaf)}(?!\w)", said):
            yield f"a gradient reaches {leaf} from {name}: {said}"


def is_found(name: str) -> bool:
    """Whether steps are bound to find it."""
    return not is_hard_to_find(name)


def group_of(name: str, stage: Stage) -> set[str]:
    """Return what is on the memory of a name, as it was then."""
    (group,) = [one for one in stage.after.memories if name in one]
    return {*filter(is_found, group)}


def problems_of_the_event(stage: Stage, truly: dict[str, set[str]]) -> Iterator[str]:
    """Hold the event of a step against what changed."""
    event, names = stage.told["event"], set(stage.told["names"])
    truly = {n: k for n, k in truly.items() if n in stage.told["changed"]}
    gone = stage.was.keys() - stage.now.keys()
    kinds = set().union(*truly.values())
    if (event == "raises") != bool(stage.told.get("raised")):
        yield f"event {event}, raised {stage.told.get('raised')}"
    if event == "raises":
        return
    if event is None and truly:
        yield f"no event, though {truly}"
    if event is not None and not (truly or gone) and not stage.is_many:
        yield f"an event {event}, though nothing changes"
    if event is not None and truly and not names:
        yield f"an event {event} without names"
    known = {n for n, k in truly.items() if not k & {"new", "value"}}
    if event == "gradient" and "gradient" not in kinds:
        yield f"an event gradient, though {truly}"
    arrived = [
        n
        for n in known
        if "gradient" in truly[n]
        and stage.was[n].gradient is None
        and stage.now[n].gradient is not None
    ]
    if arrived and event != "gradient" and not stage.is_many:
        yield f"the gradient of {arrived} changes, and the event is {event}"
    written = [n for n in known if "content" in truly[n] and "place" not in truly[n]]
    if written and not arrived and event != "written" and not stage.is_many:
        yield f"{written} are written, and the event is {event}"
    if event == "written" and not kinds & {"content", "version"}:
        yield f"an event written, though {truly}"
    if event in ("shares", "cut", "appears") and not kinds & {"new", *PLACES}:
        yield f"an event {event}, though {truly}"


# What a map has to say ----------------------------------------------------------------


def problems_of_maps(names: dict[str, Any]) -> Iterator[str]:
    """Hold the map of what is there at the end against storages and the graph."""
    named = {n: v for n, v in named_in(names).items() if re.fullmatch(r"\w+", n)}
    named = {n: v for n, v in named.items() if v.nbytes}
    if not named:
        return
    observed = tensor_map(**named, max_names=100).to_dict()
    tensors, truth = observed["tensors"], memories_of(named)
    told = {
        frozenset(
            name for w in storage["windows"] for name in tensors[w["tensor"]]["names"]
        )
        for storage in observed["storages"]
    }
    if told - {frozenset()} != truth:
        yield f"memories {told ^ truth}"
    yield from problems_of_windows(observed, named)
    for seen in tensors:
        value = named.get(next(iter(seen["names"]), ""))
        if not torch.is_tensor(value) or value.grad_fn is None:
            continue
        leaves = leaves_of(value)
        wanted = sorted(
            next((n for n, v in named.items() if v is leaf), "") for leaf in leaves
        )
        reached = [""] * seen["reaches_unnamed"]
        reached += sorted(tensors[k]["names"][0] for k in seen["reaches"])
        if reached != wanted or seen.get("reaches_more"):
            yield f"a gradient reaches {wanted} from {seen['names']}, not {reached}"
        for name, leaf in named.items():
            is_reached = any(leaf is one for one in leaves)
            if not (torch.is_tensor(leaf) and leaf.requires_grad and leaf.is_leaf):
                continue
            if tensor_maps.flows(value, **{name: leaf}) != {name: is_reached}:
                yield f"flows({seen['names']}, {name}) is not {is_reached}"
    yield from problems_of_pairs(named)


def problems_of_windows(observed: dict, named: dict[str, Any]) -> Iterator[str]:
    for storage in observed["storages"]:
        for window in storage["windows"]:
            names = observed["tensors"][window["tensor"]]["names"]
            if not names:
                continue
            value = named[names[0]]
            if torch.is_tensor(value):
                size = value.element_size()
                strides = [stride * size for stride in value.stride()]
            else:
                strides = list(value.strides)
            if window["stride_bytes"] != strides:
                yield f"{names}: strides {window['stride_bytes']}, truly {strides}"


def problems_of_pairs(named: dict[str, Any]) -> Iterator[str]:
    """Hold what is said of pairs against the addresses of all bytes."""
    chosen = {name: named[name] for name in list(named)[-8:]}
    there = {name: bytes_at(value) for name, value in chosen.items()}
    for first, a in chosen.items():
        for second, b in chosen.items():
            shared = bool(there[first] & there[second])
            told = tensor_maps.sharing(a, b)
            if bool(told) != shared:
                yield f"sharing({first}, {second}) is not {shared}: {told}"


# The tests ----------------------------------------------------------------------------


def numbered(program: str) -> str:
    lines = program.splitlines()
    return "\n".join(f"{at:3} {line}" for at, line in enumerate(lines, 1))


def fail_with(found: dict[str, list[str]]) -> None:
    """Show the first programs of which something false is said, and how many are."""
    if found:
        shown = list(found.items())[:2]
        parts = [f"{numbered(p)}\n" + "\n".join(w[:6]) for p, w in shown]
        pytest.fail(f"{len(found)} programs\n" + "\n\n".join(parts), pytrace=False)


BATCHES = [range(at, at + BATCH) for at in range(0, PROGRAMS, BATCH)]
in_batches = pytest.mark.parametrize("seeds", BATCHES, ids=lambda one: str(one.start))


@in_batches
def test_steps_say_what_changed(seeds: range) -> None:
    found: dict[str, list[str]] = {}
    for seed in seeds:
        program = random_program(seed)
        alone = ran_alone(program)
        watched, data = ran_watched(program)
        with heard() as text:
            moments, _ = moments_of(program, {}, text)
        wrong = []
        if alone[:2] != watched[:2]:
            wrong.append(f"alone it printed and raised {alone[:2]}, not {watched[:2]}")
        if final(alone.names) != final(watched.names):
            wrong.append("watched, it ends with other values")
        wrong += problems_of_data(data)
        printed = "".join(told["printed"] for told in data["steps"])
        if printed != alone.printed:
            wrong.append(f"printed {alone.printed!r}, not {printed!r}")
        try:
            for stage in stages_of(program, data, moments):
                where = f"line {stage.told['first']}, {stage.text!r}: "
                wrong += [where + one for one in problems_of(stage)]
        except (AssertionError, KeyError) as error:
            wrong.append(f"{type(error).__name__}: {error}")
        if wrong:
            found[program] = wrong
    fail_with(found)


@in_batches
def test_maps_say_who_shares_and_where_gradients_go(seeds: range) -> None:
    found = {}
    for seed in seeds:
        program = random_program(seed)
        names = ran_alone(program).names
        with heard():
            if wrong := list(problems_of_maps(names)):
                found[program] = wrong
    fail_with(found)
