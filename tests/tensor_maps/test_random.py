"""Random programs: steps and maps say what an independent look at all memory finds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
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
)
from programs import quiet, random_program
from running import problems_of_data
from tensor_maps import Steps, tensor_map

PROGRAMS, BATCH = 240, 40
# A newcomer's names: what is said of others is perhaps not said of all.
ITEMS, MOST_SAID = 4, 3
# Between these, what changed is not a matter of course: another object of one memory.
PLACES = {"value", "place"}
NOTHING = re.compile(r"\b(no tensor\b.*\bchanges|nothing\b.*\bchanges)", re.IGNORECASE)
FLATLY = re.compile(r"^(turns? [\d to]+: )?no tensor changes\b", re.IGNORECASE)
SAME = re.compile(r"\b(another name|same tensor|same array)\b")
LEFT_OUT = re.compile(r"There (is|are) \d+ more change|\band \d+ more\b|\d+ tensors")
COPY = re.compile(r"^(.*) (?:is a copy|are copies) of (.*?)(?: on [\w:]+)?, with ")
# "a" is a name in these programs, and an article.
NO_NAME = " (?:different|copy|leaf|graph|gradient|tensor|name)"
CAST = {"half": "float16", "int": "int32", "double": "float64"}
TAKEN = re.compile(r"(\w+) = (\w+)\.(t\(\)\.|detach\(\)\.)?(\w+)\(\)")
OVERLAPS = re.compile(r"(\w+)\S* [-+*]= (\1\[.*\])")


class Ran(NamedTuple):
    """What a program printed, what it raised, and what is there at its end."""

    printed: str
    raised: str
    end: dict[str, tuple]


def ran(program: str, seen: Steps | None = None) -> tuple[Ran, dict[str, Any]]:
    """Run a program, perhaps watched as a module is run."""
    names: dict[str, Any] = {}
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

    def without_a_step(number: int) -> None:
        before, after = moments[number : number + 2]
        lost = changes(before.truths, after.truths)
        assert not lost, f"line {before.line} has no step: {lost}"
        assert before.printed == after.printed, f"line {before.line}: printed"

    for told in data["steps"]:
        first, last = told["first"], told["last"]
        begin = at
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
        text = dedent("\n".join(lines[first - 1 : last]))
        yield Stage(told, text, was, now, is_many, moments[at])
    for number in range(at, len(moments) - 1):
        without_a_step(number)


def changes(was: dict[str, Truth], now: dict[str, Truth]) -> dict[str, set[str]]:
    """Return what differs of each name that is there."""
    found = {
        name: differing(was[name], truth) if name in was else {"new"}
        for name, truth in now.items()
    }
    return {name: kinds for name, kinds in found.items() if kinds}


def is_hard_to_find(name: str) -> bool:
    """Whether it is an attribute, in a container in another, or behind the fourth."""
    items = [int(item) for item in re.findall(r"\[(\d+)\]", name)]
    return "box." in name or name.count("[") > 1 or max(items, default=0) >= ITEMS


def root_of(name: str) -> str:
    return re.split(r"[.\[]", name)[0]


def named_by(text: str, names: dict[str, Any]) -> list[str]:
    """Return which of the names a text has, in its order."""
    found = {}
    for name in names:
        whole = rf"(?<![\w.\]\['\"]){re.escape(name)}(?!\w|\[|\.\w|{NO_NAME})"
        if place := re.search(whole, text):
            found[name] = place.start()
    return sorted(found, key=found.get)


def problems_of(stage: Stage) -> Iterator[str]:
    """Yield what a step says falsely, or does not say."""
    told, said = stage.told, stage.told["said"]
    changed, truly = set(told["changed"]), changes(stage.was, stage.now)
    for name in sorted(truly.keys() - changed):
        if stage.is_many and truly[name] <= PLACES:
            continue
        if not is_hard_to_find(name):
            yield f"{name} changes, and is not told: {truly[name]}"
        elif FLATLY.search(said):
            yield f"{name} changes ({truly[name]}), and it says: {said}"
    for name in sorted(changed - truly.keys()):
        if name not in stage.now:
            if not name.startswith("opt."):
                yield f"{name} is told to change, and there is no such name"
        elif not stage.is_many and is_readable(stage.now[name].value):
            yield f"{name} is told to change, and does not"
    if NOTHING.search(said) and changed:
        yield f"it says that nothing changes, and has {sorted(changed)}"
    yield from problems_of_relations(stage, truly)
    yield from problems_of_the_event(stage, truly)
    if not stage.is_many:
        yield from problems_of_sources(stage, truly)
        yield from problems_of_dtypes(stage, truly)
        yield from problems_of_overlap(stage, truly)


def problems_of_relations(stage: Stage, truly: dict[str, set[str]]) -> Iterator[str]:
    """Where one name is new, look whom it shares with and where its gradient goes."""
    new = [name for name, kinds in truly.items() if kinds & {"new", "value"}]
    said = stage.told["said"]
    for sentence in sentences_of(said):
        named = named_by(sentence, stage.now)
        odd = [name for name in named if not is_readable(stage.now[name].value)]
        holds_none = any(stage.now[name].value.is_meta for name in odd)
        if odd and re.search(
            "own memory|hold" if holds_none else "own memory", sentence
        ):
            yield f"of {odd} the memory is not known: {sentence}"
    if len(new) != 1 or len(truly) > 1 or stage.is_many or ".grad" in stage.text:
        return  # a gradient has a memory without a name
    (name,) = new
    if is_hard_to_find(name) or not stage.now[name].content:
        return
    (group,) = [one for one in stage.after.memories if name in one]
    in_memory = {other: one for other, one in stage.now.items() if one.content}
    told = re.search(r"shares? (?:memory with|the memory of) ([^;]*)", said)
    if told and (wrong := {*named_by(told[1], in_memory)} - group):
        yield f"{name} shares no memory with {wrong}: {said}"
    group = {other for other in group if not is_hard_to_find(other)}
    if len(group) > 1 and not re.search(r"\bshare", said) and not SAME.search(said):
        if "is the tensor that was" not in said:
            yield f"{name} shares memory with {group - {name}}: {said}"
    if len(group) == 1 and re.search(r"\bshares?\b", said):
        yield f"{name} shares no memory: {said}"
    leaves = [o for o in stage.after.leaves.get(name, ()) if not is_hard_to_find(o)]
    if leaves and not SAME.search(said) and not named_by(said, dict.fromkeys(leaves)):
        yield f"a gradient reaches {leaves} from {name}: {said}"


def sentences_of(said: str) -> list[str]:
    return re.split(r"(?<=\.) ", said)


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
    may_be_gone = gone or "opt" in stage.text
    if event and not (stage.told["changed"] or may_be_gone or stage.is_many):
        yield f"an event {event}, though nothing changes"
    if event and truly and not names:
        yield f"an event {event} without names"
    odd = [n for n in names & {*stage.now} if not is_readable(stage.now[n].value)]
    if stage.is_many or odd:
        return
    known = {n for n, k in truly.items() if not k & {"new", "value"}}
    arrived = [
        n
        for n in known
        if stage.was[n].gradient is None and stage.now[n].gradient is not None
    ]
    if (
        arrived
        and event != "gradient"
        or event == "gradient"
        and "gradient" not in kinds
    ):
        yield f"the gradient of {arrived} arrives, and the event is {event}"
    written = [
        n for n in known if "content" in truly[n] and not truly[n] & {"place", "form"}
    ]
    if written and not arrived and event != "written":
        yield f"{written} are written, and the event is {event}"
    if event == "written" and not kinds & {"content", "version"} and truly:
        yield f"an event written, though {truly}"
    if event in ("shares", "cut", "appears") and not kinds & {"new", *PLACES} and truly:
        yield f"an event {event}, though {truly}"


def problems_of_sources(stage: Stage, truly: dict[str, set[str]]) -> Iterator[str]:
    """What is said to be a copy has one source, which was read; a plain copy is told."""
    try:
        nodes = [*ast.walk(ast.parse(stage.text))]
    except SyntaxError:  # the head of a compound statement
        return
    names = [node for node in nodes if isinstance(node, ast.Name)]
    loaded = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    there = {name: one for name, one in stage.was.items() if root_of(name) in loaded}
    for sentence in sentences_of(stage.told["said"]):
        if not (found := COPY.search(sentence)):
            continue
        copies, sources = (named_by(part, stage.now) for part in found.groups())
        for at, copy in enumerate(copies):
            source = (sources * len(copies))[at] if sources else ""
            if len(sources) not in (1, len(copies)) or LEFT_OUT.search(found[2]):
                continue
            if stage.now[copy].made_by in ("CloneBackward0", "ToCopyBackward0"):
                continue  # the graph tells it
            if source not in there:
                yield f"{source} was not read: {sentence}"
                continue
            if not is_copy(stage.now[copy], there[source]):
                yield f"{copy} has not the values of {source}: {sentence}"
            if is_at_one_path(copy, source):
                continue
            others = [
                name
                for name, one in there.items()
                if one.place != there[source].place
                and is_copy(stage.now[copy], one)
                and one.form[0] == there[source].form[0]
            ]
            if others:
                yield f"{copy} may be a copy of {others} as well: {sentence}"
            if (
                is_usual(stage.now[copy])
                and len({one.place for one in there.values()}) > 1
            ):
                yield f"all zeros or ones are no proof of a source: {sentence}"
    taken = TAKEN.fullmatch(stage.text)
    if taken is None or taken[4] not in ("clone", "contiguous", "copy"):
        return
    copy, source = taken[1], stage.was.get(taken[2])
    if copy == taken[2] or source is None or not {*truly} == {copy}:
        return
    now, others = stage.now[copy], [one for n, one in stage.was.items() if n != copy]
    (group,) = [one for one in stage.after.memories if copy in one] or [{copy}]
    twins = [o for o in others if o.place != source.place and is_copy(now, o)]
    if len(group) == 1 and now.content and not (twins or is_usual(now)):
        if "copy of" not in stage.told["said"]:
            yield f"{copy} is a copy of {taken[2]}: {stage.told['said']}"


def is_copy(copy: Truth, source: Truth) -> bool:
    """Whether it has the elements of the other, perhaps in another order."""
    mine, theirs = numbers_of(copy), numbers_of(source, copy.form[2])
    if mine is None or theirs is None or mine.shape != theirs.shape:
        return mine is theirs and copy.content == source.content
    both = (sorted(map(str, one.tolist())) for one in (mine, theirs))
    return next(both) == next(both)


def is_at_one_path(one: str, other: str) -> bool:
    """Whether keys and attributes are the same: m.weight, d['m.weight'] of net.weight."""
    paths = [
        "".join(re.findall(r"\w+", name.removeprefix(root_of(name))))
        for name in (one, other)
    ]
    return paths[0] == paths[1] != "" or root_of(one) == root_of(other)


def is_usual(one: Truth) -> bool:
    """Whether all elements are zero or one, as of much that is new."""
    numbers = numbers_of(one)
    return numbers is not None and {*numbers.tolist()} in ({0}, {1})


def problems_of_dtypes(stage: Stage, truly: dict[str, set[str]]) -> Iterator[str]:
    """A tensor, a buffer or a copy that has another dtype is said to have it."""
    words = f"{stage.told['said']} {stage.told.get('note', '')}"
    cast = []
    for name in truly.keys() & stage.was.keys():
        dtypes = [one[name].form[2] for one in (stage.was, stage.now)]
        is_its_own = "value" not in truly[name] or name.startswith(("net.", "twin."))
        if dtypes[0] != dtypes[1] and is_its_own and "net =" not in stage.text:
            cast.append((name, dtypes[1]))
    if (found := TAKEN.fullmatch(stage.text)) and found[4] in CAST:
        name, source = found[1], stage.was.get(found[2])
        new = truly.get(name, set()) & {"new", "value"}
        if new and source and source.form[2] != stage.now[name].form[2]:
            cast.append((name, stage.now[name].form[2]))
    for name, dtype in cast:
        is_said = dtype.removeprefix("torch.") in words or LEFT_OUT.search(words)
        if not is_said and is_readable(stage.now[name].value):
            yield f"{name} is now {dtype}: {words}"


def problems_of_overlap(stage: Stage, truly: dict[str, set[str]]) -> Iterator[str]:
    """What a statement reads and writes at once is said."""
    found = OVERLAPS.fullmatch(stage.text)
    if found is None or stage.told.get("raised") or found[1] not in stage.was:
        return
    words = f"{stage.told['said']} {stage.told.get('note', '')}"
    whole = stage.now[found[1]].value
    if "content" not in truly.get(found[1], ()) or not is_readable(whole):
        return
    is_said = bool(re.search(r"reads? and writ|both read", words))
    read = eval(found[2], {found[1]: whole.detach()})
    written = eval(stage.text.partition(" ")[0], {found[1]: whole.detach()})
    if is_said != bool(bytes_at(read) & bytes_at(written)):
        yield f"that it reads what it writes is {'' if is_said else 'not '}said: {words}"


# What a map has to say ----------------------------------------------------------------


def problems_of_maps(names: dict[str, Any]) -> Iterator[str]:
    """Hold the map of what is there at the end against storages and the graph."""
    named = {n: v for n, v in named_in(names).items() if re.fullmatch(r"\w+", n)}
    odd = {n: v for n, v in named.items() if not is_readable(v)}
    named = {n: v for n, v in named.items() if n not in odd and v.nbytes}
    yield from problems_of_pairs(dict([*named.items()][-8:]), odd)
    if not named:
        return
    observed = tensor_map(**named, **odd, max_names=100).to_dict()
    tensors, truth = observed["tensors"], memories_of(named)
    told = {
        frozenset(
            name
            for window in storage["windows"]
            for name in tensors[window["tensor"]]["names"]
            if name in named
        )
        for storage in observed["storages"]
    }
    if told - {frozenset()} != truth:
        yield f"memories {told ^ truth}"
    for storage in observed["storages"]:
        for window in storage["windows"]:
            value = named.get(next(iter(tensors[window["tensor"]]["names"]), ""))
            is_tensor = isinstance(value, torch.Tensor)
            size = value.element_size() if is_tensor else 1
            strides = (
                () if value is None else value.stride() if is_tensor else value.strides
            )
            if value is not None and window["stride_bytes"] != [
                s * size for s in strides
            ]:
                yield f"strides {window}, truly {strides}"
    for seen in tensors:
        value = named.get(next(iter(seen["names"]), ""))
        if set(seen["names"]) & odd.keys() and (
            seen["storage"] is not None or not seen["memory"]
        ):
            yield f"{seen['names']} is told to have memory: {seen}"
        if function_of(value) is None:
            continue
        leaves = {id(leaf) for leaf in leaves_of(value)}
        wanted = {n for n, one in {**named, **odd}.items() if id(one) in leaves}
        reached = {n for at in seen["reaches"] for n in tensors[at]["names"]}
        count = len(seen["reaches"]) + seen["reaches_unnamed"]
        if reached != wanted or count != len(leaves):
            yield f"a gradient reaches {wanted} from {seen['names']}, not {reached}"
        for name, leaf in named.items():
            if torch.is_tensor(leaf) and leaf.requires_grad and leaf.is_leaf:
                is_reached = id(leaf) in leaves
                if tensor_maps.flows(value, **{name: leaf}) != {name: is_reached}:
                    yield f"flows({seen['names']}, {name}) is not {is_reached}"


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
        moments, _ = moments_of(program, {}, text)
    try:
        for stage in stages_of(program, data, moments):
            where = f"line {stage.told['first']}, {stage.text!r}: "
            yield from (where + one for one in problems_of(stage))
    except AssertionError as error:
        yield f"steps: {error}"
    yield from problems_of_maps(names)
