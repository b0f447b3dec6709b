"""What a scene tells of an observation: memories, names on them, ways of gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tensor_maps.pen import COLOURS, FAINT, TROUBLE
from tensor_maps.words import as_tuple, facts_of, size_of

COPIES = {"CloneBackward0", "ToCopyBackward0", "CopyBackwards"}
# Between a copy and what it was made from these change how it is read, not its memory.
VIEWS = {
    "AliasBackward0", "AsStridedBackward0", "ExpandBackward0", "PermuteBackward0",
    "SelectBackward0", "SliceBackward0", "SqueezeBackward0", "SqueezeBackward1",
    "TBackward0", "TransposeBackward0", "UnsqueezeBackward0", "ViewBackward0",
}  # fmt: skip
MOST_IN_GRID, MOST_ROWS = 12, 4
NUMBERS = ("no", "one", "two", "three", "four", "five")


KINDS = {"tensor", "array"}  # of other things only the kind is said, as "a number"


@dataclass(eq=False)
class Tag:
    """A name on a memory, or on none.

    ``parts`` are the stretches of the memory that it holds, from 0 to 1; there are
    none for a name that holds all of it. ``raises`` is the class of an error. ``sign``
    is "leaf" for a leaf that requires grad, and "frozen" for a parameter that does
    not. ``is_new`` says that a ring is drawn around it. ``grid`` has, row by row, the
    cells that it reads, if their order is not that of the memory.
    """

    name: str
    tensor: int | None = None
    parts: list[tuple[float, float]] = field(default_factory=list)
    raises: str = ""
    sign: str = ""
    is_new: bool = False
    grid: list[list[int]] = field(default_factory=list)


@dataclass(eq=False)
class Memory:
    """A row of cells and the names on it.

    ``columns`` is how many cells a row of a matrix has, if a name shows one; ``cells``
    is empty where there is no memory.
    """

    number: int | None
    colour: str
    device: str = ""
    cells: list[str] = field(default_factory=list)
    changed: set[int] = field(default_factory=set)
    columns: int = 0
    dashed: bool = False
    tags: list[Tag] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def is_ghost(self) -> bool:
        """Whether it stands for what never came to be."""
        return self.number is None and any(tag.raises for tag in self.tags)

    @property
    def unheld(self) -> set[int]:
        """The cells that no name on this memory holds."""
        if any(not tag.parts for tag in self.tags):
            return set()
        held = {at for tag in self.tags for at in self.held(tag)}
        return set(range(len(self.cells))) - held

    def held(self, tag: Tag) -> list[int]:
        """Return the cells that a name holds a part of."""
        count = len(self.cells)
        return [
            at
            for at in range(count)
            if any(
                start * count < at + 1 - 1e-6 and stop * count > at + 1e-6
                for start, stop in tag.parts
            )
        ]


Pairs = list[tuple[Tag, Tag]]


@dataclass
class Story:
    """What is drawn: memories with their names, and what leads from name to name."""

    memories: list[Memory]
    flows: Pairs
    stops: Pairs
    copies: Pairs

    @property
    def devices(self) -> list[str]:
        """Return the devices in order of appearance."""
        return list(dict.fromkeys(one.device for one in self.memories if one.device))


def story_of(
    observed: dict,
    names: Iterable[str] | None = None,
    raises: Mapping[str, str] | None = None,
    copies: Iterable[tuple[str, str]] = (),
    ringed: Iterable[str] = (),
) -> Story:
    """Return what there is to draw; the parameters are those of ``scene``."""
    raises, ringed = dict(raises or {}), set(ringed)
    wanted = None if names is None else set(names)
    tags: dict[int, Tag] = {}
    for number, seen in enumerate(observed["tensors"]):
        if seen["names"] and (wanted is None or wanted & set(seen["names"])):
            error = next((raises.pop(n) for n in seen["names"] if n in raises), "")
            tags[number] = Tag(", ".join(seen["names"]), number, raises=error)
            tags[number].sign = sign_of(seen)
            tags[number].is_new = not ringed.isdisjoint(seen["names"])
    memories = _memories(observed, tags)
    told = [
        pair
        for pair in _copies(observed, tags)
        if _memory_of(memories, pair[0]) is not _memory_of(memories, pair[1])
    ]
    by_name = {n: tag for tag in tags.values() for n in tag.name.split(", ")}
    told += [(by_name[a], by_name[b]) for a, b in copies if {a, b} <= set(by_name)]
    told = list(dict.fromkeys(told))
    flows = _flows(observed, tags)
    stops = _stops(observed, memories, told, flows)
    for name, error in raises.items():  # what never came to be
        ghost = Tag(name, raises=error)
        memories.append(Memory(None, TROUBLE, tags=[ghost]))
    return Story(_in_order(memories, told), flows, stops, told)


def _memories(observed: dict, tags: dict[int, Tag]) -> list[Memory]:
    memories, colours = [], colours_of(observed, tags)
    for number, storage in enumerate(observed["storages"]):
        windows = [one for one in storage["windows"] if one["tensor"] in tags]
        if not windows:
            continue
        colour = colours[number]
        made = Memory(number, colour, storage["device"])
        made.cells = list(storage["cells"] or [size_of(storage["bytes"])])
        made.dashed = not storage["addressed"]
        made.changed = set(storage.get("changed_cells", ()))
        if storage.get("changed") and not storage["cells"]:
            made.changed = {0}
        for window in windows:
            tag = tags[window["tensor"]]
            if not window["covers_all"]:
                tag.parts = [
                    (start / storage["bytes"], stop / storage["bytes"])
                    for start, stop in window["runs"]
                ]
            # z.real steps through parts of the cells of a complex z.
            if observed["tensors"][window["tensor"]]["dtype"] == storage["dtype"]:
                tag.grid = _grid(storage, window)
            made.tags.append(tag)
        made.columns = _columns(storage, windows)
        made.lines = _lines(observed, storage, windows, tags)
        if colour == FAINT and list(colours).index(number) >= len(COLOURS):
            made.lines.insert(0, f"memory {list(colours).index(number) + 1}")
        memories.append(made)
    for number, tag in tags.items():
        seen = observed["tensors"][number]
        if seen["storage"] is None:
            lines = [seen["memory"]] if seen["memory"] else []
            device = seen.get("device") or ""
            memories.append(Memory(None, FAINT, device, tags=[tag], lines=lines))
    return memories


def colours_of(observed: dict, tensors: Iterable[int]) -> dict[int, str]:
    """Return the colour of each memory that some tensors are on, by its number.

    One that was given a ``colour`` has it; the others take what these leave.
    """
    found: dict[int, str] = {}
    given: dict[int, int] = {}
    for number, storage in enumerate(observed["storages"]):
        if "colour" in storage:
            given.setdefault(storage["colour"], number)
    left = [colour for at, colour in enumerate(COLOURS) if at not in given]
    for number, storage in enumerate(observed["storages"]):
        on_it = [window["tensor"] for window in storage["windows"]]
        on_it = [tensor for tensor in on_it if tensor in tensors]
        if on_it and given.get(storage.get("colour")) == number:
            found[number] = COLOURS[storage["colour"]]
        elif on_it:
            kind = observed["tensors"][on_it[0]]["kind"]
            has_colour = left and (storage["addressed"] or kind in KINDS)
            found[number] = left.pop(0) if has_colour else FAINT
    return found


def sign_of(seen: dict) -> str:
    """Return what the tag of a tensor says of it: "leaf", "frozen" or nothing."""
    if seen["requires_grad"] and seen["is_leaf"]:
        return "leaf"
    return "frozen" if seen.get("parameter") and not seen["requires_grad"] else ""


def _grid(storage: dict, window: dict) -> list[list[int]]:
    """Return the cells that a small window reads, in its own shape.

    There are none if it reads all cells in order, or a row of them that bars show, or
    where pictures have to be low (``is_low``).
    """
    shape, strides, first = window["shape"], window["strides"], window["offset"]
    if not storage["cells"] or None in (strides, first) or window.get("is_low"):
        return []
    axes = [axis for axis in zip(shape, strides, strict=True) if axis[0] != 1]
    if len(axes) == 1 and axes[0][1] <= 0:
        axes.insert(0, (1, 0))
    is_plain = strides == _dense(shape) and window["covers_all"]
    if is_plain or len(axes) != 2 or not 0 < math.prod(shape) <= MOST_IN_GRID:
        return []
    (rows, down), (columns, right) = axes
    grid = [[first + row * down + at * right for at in range(columns)]
            for row in range(rows)]  # fmt: skip
    return grid if rows <= MOST_ROWS else []


def _columns(storage: dict, windows: list[dict]) -> int:
    """Return how many cells a row of the matrix has that lies in order on a memory."""
    if not storage["cells"]:
        return 0
    for window in windows:
        shape, strides = window["shape"], window["strides"]
        if not window["covers_all"] or strides is None or len(shape or ()) < 2:
            continue
        if strides == _dense(shape) and math.prod(shape) == len(storage["cells"]):
            return shape[-1]
    return 0


def _dense(shape: list[int]) -> list[int]:
    """Return the strides of what lies in order, without a gap."""
    return [math.prod(shape[at + 1 :]) for at in range(len(shape))]


def _lines(
    observed: dict, storage: dict, windows: list[dict], tags: dict[int, Tag]
) -> list[str]:
    """Return what is said under a memory: what a reader would not take for granted."""
    facts = {
        tags[window["tensor"]].name: _facts(observed, storage, window)
        for window in windows
    }
    common = [
        fact
        for fact in next(iter(facts.values()))
        if all(fact in others for others in facts.values())
    ]
    is_told = storage["addressed"] or not KINDS.intersection(
        observed["tensors"][window["tensor"]]["kind"] for window in windows
    )
    said = [] if is_told else ["no memory address"]
    lines = [", ".join([*common, *said])]
    for name, own in facts.items():
        if rest := [fact for fact in own if fact not in common]:
            lines.append(f"{name}: {', '.join(rest)}")
    return [line for line in lines if line]


def _facts(observed: dict, storage: dict, window: dict) -> list[str]:
    seen, shape = observed["tensors"][window["tensor"]], window["shape"]
    if seen["kind"] not in KINDS:
        return [seen["kind"]]
    facts = facts_of(observed, storage, window)
    is_shape = [fact.startswith("shape ") for fact in facts]
    said = ["array"] if seen["kind"] == "array" and seen["names"] != ["array"] else []
    if sum(length != 1 for length in shape or ()) > 1:
        said.append(" \N{MULTIPLICATION SIGN} ".join(map(str, shape)))
    elif any(is_shape) and not (window["runs"] and storage["cells"]):
        said.append(f"shape {as_tuple(shape)}")
    strides = window["strides"]
    known = {"values changed", "offset 0"}
    if strides is not None and strides == _dense(shape or ()):
        known.add(f"stride {as_tuple(strides)}")
    said += [
        fact
        for fact, skip in zip(facts, is_shape, strict=True)
        if not skip and fact not in known
    ]
    if seen["gradient"] not in (None, "None"):
        new = ", new" if seen.get("arrived") else ", changed"
        new = new if "gradient" in seen.get("changed", ()) else ""
        said.append(f"grad {seen['gradient']}{new}")
    return said


# Ways of gradients and copies ---------------------------------------------------------


def _onward(observed: dict) -> dict[int, list[tuple[int, int]]]:
    onward: dict[int, list[tuple[int, int]]] = {}
    for edge in observed["edges"]:
        onward.setdefault(edge["result"], []).append((edge["input"], edge["output"]))
    return onward


def _ends(observed: dict, node: int, output: int, tags: Iterable[int]) -> list[int]:
    """Return the tensors with a tag that are this output of a node."""
    return [
        tensor
        for tensor in observed["nodes"][node]["tensors"]
        if tensor in tags
        and (
            observed["nodes"][node]["kind"] != "operation"
            or observed["tensors"][tensor]["output"] == output
        )
    ]


def _flows(observed: dict, tags: dict[int, Tag]) -> Pairs:
    """Return from which name to which next one a gradient flows."""
    onward, next_of = _onward(observed), {}
    for start in tags:
        first = observed["tensors"][start]["node"]
        met, waiting = {first}, [first]
        found: dict[int, None] = {}
        while waiting:
            for node, output in onward.get(waiting.pop(), ()):
                ends = _ends(observed, node, output, tags)
                found.update(dict.fromkeys(one for one in ends if one != start))
                if not ends and node not in met:
                    met.add(node)
                    waiting.append(node)
        next_of[start] = found
    for start in tags:  # a walk that ended early knows less than what was counted
        reached, waiting = {start}, [start]
        while waiting:
            for one in next_of[waiting.pop()]:
                if one not in reached:
                    reached.add(one)
                    waiting.append(one)
        for leaf in observed["tensors"][start].get("reaches") or ():
            if leaf in tags and leaf not in reached:
                next_of[start][leaf] = None
    pairs = [(tags[a], tags[b]) for a, ends in next_of.items() for b in sorted(ends)]
    return list(dict.fromkeys(pairs))


def _copies(observed: dict, tags: dict[int, Tag]) -> Pairs:
    """Return each name that the graph says was copied, with that of its copy."""
    onward, nodes, found = _onward(observed), observed["nodes"], []
    for copy in tags:
        first = observed["tensors"][copy]["node"]
        waiting = [(first, False)] if first is not None else []
        met = set(waiting)
        while waiting:
            here, copied = waiting.pop()
            label = nodes[here]["label"]
            if label not in COPIES | VIEWS:
                continue
            copied = copied or label in COPIES
            for node, output in onward.get(here, ()):
                ends = _ends(observed, node, output, tags)
                if copied:
                    found += [(tags[one], tags[copy]) for one in ends if one != copy]
                if not ends and (node, copied) not in met:
                    met.add((node, copied))
                    waiting.append((node, copied))
    return found


def _stops(observed: dict, memories: list[Memory], copies: Pairs, ways: Pairs) -> Pairs:
    """Return what shares with, or was copied from, what requires grad, but is cut."""

    def needs(tag: Tag) -> bool:
        return bool(observed["tensors"][tag.tensor]["requires_grad"])

    def is_cut(tag: Tag, other: Tag) -> bool:
        """Whether a name begins anew what the other one is part of."""
        if tag is other or not needs(other) or (other, tag) in ways:
            return False
        # Of two that begin anew the later one is the cut, as far as names tell.
        is_leaf = observed["tensors"][other.tensor]["is_leaf"]
        later = other.tensor < tag.tensor
        if needs(tag):
            return later and bool(observed["tensors"][tag.tensor]["is_leaf"])
        return later or not is_leaf

    found = []
    source_of = {copy: source for source, copy in copies}
    for memory in memories:
        for tag in memory.tags:
            others = memory.tags + ([source_of[tag]] if tag in source_of else [])
            cuts = [
                one
                for one in others
                if not tag.raises and is_cut(tag, one) and _overlap(tag, one)
            ]
            found += [(tag, one) for one in cuts[:1]]
    return found


def _overlap(tag: Tag, other: Tag) -> bool:
    """Whether two tags hold a part of a memory in common, or what was copied."""
    whole = [(0.0, 1.0)]
    return any(
        start < end and begin < stop
        for start, stop in tag.parts or whole
        for begin, end in other.parts or whole
    )


def _memory_of(memories: list[Memory], tag: Tag) -> Memory | None:
    return next((one for one in memories if tag in one.tags), None)


def _in_order(memories: list[Memory], copies: Pairs) -> list[Memory]:
    """Set what is on one device side by side, and a copy after what it was made of.

    Copies of copies stand in the order in which they were made, wherever they are.
    """
    way = [_memory_of(memories, tag) for tag in dict.fromkeys(sum(copies, ()))]
    if len(copies) > 1 and way == memories:
        return memories
    devices = list(dict.fromkeys(memory.device for memory in memories))
    ordered = sorted(memories, key=lambda memory: devices.index(memory.device))
    for source, copy in copies:
        first, second = _memory_of(ordered, source), _memory_of(ordered, copy)
        if first and second and first.device == second.device:
            ordered.remove(second)
            ordered.insert(ordered.index(first) + 1, second)
    return ordered
