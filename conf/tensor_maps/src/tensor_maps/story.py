"""Decide what a drawing shows: memories, names on them, ways of gradients and copies.

A ``Story`` is what is drawn; its caption, its words for who cannot see it and the table
that ``print`` shows are made here too.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, prod

from tensor_maps.pen import COLOURS, FAINT, TROUBLE
from tensor_maps.words import as_tuple, count_of, listing, size_of

WHOLE, TINY = [(0.0, 1.0)], 1e-6
MOST_IN_GRID, MOST_ROWS = 12, 4
SIGNS = {"leaf", "frozen"}
MOST_LEAVES = 2  # are named in a table
MOST_LISTED = 6  # with fewer names, a caption lists all
KINDS = {"tensor", "array"}  # of other things only the kind is said, as "a number"


@dataclass(eq=False)
class Tag:
    """The names of an object on a memory, or on none.

    ``parts`` are the stretches of the memory that it holds, from 0 to 1; there are
    none for what holds all of it. ``raises`` is the class of an error. ``sign`` is
    "leaf" for a leaf that requires grad, and "frozen" for a parameter that does not.
    ``is_new`` says that a ring is drawn around it, as an event concerns it, new or not.
    ``grid`` has, row by row, the cells that it reads, if their order is not that of the
    memory.
    """

    names: list[str]
    tensor: int | None = None
    raises: str = ""
    sign: str = ""
    is_new: bool = False
    parts: list[tuple[float, float]] = field(default_factory=list)
    grid: list[list[int]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """All names."""
        return ", ".join(self.names)


@dataclass(eq=False)
class Memory:
    """A row of cells and the names on it; without memory there are no cells.

    ``columns`` is how many cells a row of a matrix has, if a name shows one.
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
        return set(range(len(self.cells))).difference(*map(self.held, self.tags))

    def held(self, tag: Tag) -> list[int]:
        """Return the cells that a name holds a part of."""
        count, held = len(self.cells), set()
        for start, stop in tag.parts or WHOLE:
            held.update(range(int(start * count + TINY), ceil(stop * count - TINY)))
        return sorted(held)


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
        """The devices in order of appearance."""
        return list(dict.fromkeys(one.device for one in self.memories if one.device))


def story_of(
    observed: dict,
    names: Iterable[str] | None = None,
    raises: Mapping[str, str] | None = None,
    copies: Iterable[tuple[str, str]] = (),
    ringed: Iterable[str] = (),
) -> Story:
    """Return what there is to draw; the parameters are those of ``draw_scene``."""
    raises, ringed = dict(raises or {}), set(ringed)
    wanted = None if names is None else set(names)
    tags: dict[int, Tag] = {}
    for number, seen in enumerate(observed["tensors"]):
        own, state = set(seen["names"]), state_of(seen)
        if own and (wanted is None or wanted & own):
            tag = tags[number] = Tag(seen["names"], number, is_new=bool(ringed & own))
            tag.sign = state if state in SIGNS else ""
            tag.raises = next((raises.pop(n) for n in tag.names if n in raises), "")
    memories = _memories(observed, tags)
    for name, error in raises.items():  # what never came to be
        memories.append(Memory(None, TROUBLE, tags=[Tag([name], raises=error)]))
    on = {tag: memory for memory in memories for tag in memory.tags}
    by_name = {name: tag for tag in tags.values() for name in tag.names}
    made = [(a, b) for b, a in _ways(observed, tags, "made_of") if on[a] is not on[b]]
    made += [(by_name[a], by_name[b]) for a, b in copies if {a, b} <= by_name.keys()]
    made = list(dict.fromkeys(made))
    flows = _ways(observed, tags, "flows")
    stops = _stops(observed["tensors"], memories, made, flows)
    memories = _in_order(memories, [(on[a], on[b]) for a, b in made])
    return Story(memories, flows, stops, made)


def _memories(observed: dict, tags: dict[int, Tag]) -> list[Memory]:
    memories, colours = [], colours_of(observed, tags)
    dtypes = Counter(observed["tensors"][number]["dtype"] for number in tags)
    usual = max(dtypes, key=lambda one: (dtypes[one], one == "float32"), default="")
    for place, (number, colour) in enumerate(colours.items(), 1):
        storage, facts = observed["storages"][number], {}
        whole, cells = storage["bytes"], storage["cells"]
        made = Memory(number, colour, storage["device"], cells or [size_of(whole)])
        made.dashed = "dashed" in storage  # no tensor's memory
        made.changed = set(storage.get("changed_cells", ()))
        if storage.get("changed") and not cells:
            made.changed = {0}
        for window in storage["windows"]:
            if window["tensor"] not in tags:
                continue
            tag, seen = tags[window["tensor"]], observed["tensors"][window["tensor"]]
            if not window["covers_all"]:
                tag.parts = [(a / whole, b / whole) for a, b in window["runs"]]
            # z.real steps through parts of the cells of a complex z.
            if cells and seen["dtype"] == storage["dtype"]:
                tag.grid = _grid(window)
                if len(window["shape"]) > 1 and _is_in_order(window):
                    made.columns = made.columns or window["shape"][-1]
            facts[tag.name] = _facts(seen, storage, window, usual)
            made.tags.append(tag)
        made.lines = _lines(facts)
        if colour == FAINT and place > len(COLOURS):
            made.lines.insert(0, f"memory {place}")
        memories.append(made)
    for number, tag in tags.items():
        seen = observed["tensors"][number]
        if seen["storage"] is None:
            why, device = [seen["memory"]], seen["device"]
            memories.append(Memory(None, FAINT, device, tags=[tag], lines=why))
    return memories


def colours_of(observed: dict, tensors: Collection[int]) -> dict[int, str]:
    """Return the colour of each memory that some tensors are on, by its number.

    One that was given a ``colour`` has it; the others take what these leave.
    """
    given = [storage.get("colour") for storage in observed["storages"]]
    left = (colour for at, colour in enumerate(COLOURS) if at not in given)
    found: dict[int, str] = {}
    for number, storage in enumerate(observed["storages"]):
        if any(window["tensor"] in tensors for window in storage["windows"]):
            own = None if given[number] is None else COLOURS[given[number]]
            if own is None or own in found.values():
                own = FAINT if "dashed" in storage else next(left, FAINT)
            found[number] = own
    return found


def _dense(shape: list[int]) -> list[int]:
    return [prod(shape[at + 1 :]) for at in range(len(shape))]


def _grid(window: dict) -> list[list[int]]:
    """Return the cells that a small window reads, in its own shape.

    There are none if it reads all cells in order, or a row of them that bars show, or
    where pictures have to be low (``is_low``).
    """
    shape, strides, first = window["shape"], window["strides"], window["offset"]
    if _is_in_order(window) or window.get("is_low") or None in (strides, first):
        return []
    axes = [axis for axis in zip(shape, strides, strict=True) if axis[0] != 1]
    if len(axes) == 1 and axes[0][1] <= 0:
        axes.insert(0, (1, 0))
    if len(axes) != 2 or axes[0][0] > MOST_ROWS or prod(shape) > MOST_IN_GRID:
        return []
    (rows, down), (columns, right) = axes
    steps = [[row * down + at * right for at in range(columns)] for row in range(rows)]
    return [[first + step for step in row] for row in steps if row]


# Facts --------------------------------------------------------------------------------


def _lines(facts: dict[str, list[str]]) -> list[str]:
    """Return what is said under a memory, first what is true of all names on it."""
    first, *others = facts.values()
    common = [fact for fact in first if all(fact in other for other in others)]
    lines = [", ".join(common)]
    for name, said in facts.items():
        rest = ", ".join(fact for fact in said if fact not in common)
        lines.append(f"{name}: {rest}" if rest else "")
    return [line for line in lines if line]


def _facts(seen: dict, storage: dict, window: dict, usual_dtype: str) -> list[str]:
    """Say under a row what a reader would not take for granted."""
    if seen["kind"] not in KINDS:
        return [seen["kind"]]
    said = ["array"] if seen["kind"] == "array" and seen["names"] != ["array"] else []
    shape, is_shown = window["shape"], window["runs"] and storage["cells"]
    whole = [one["shape"] for one in storage["windows"] if one["covers_all"]]
    if sum(length != 1 for length in shape) > 1:
        said.append(" \N{MULTIPLICATION SIGN} ".join(map(str, shape)))
    elif not is_shown and not (_is_in_order(window) and all(s == shape for s in whole)):
        said.append(f"shape {as_tuple(shape)}")
    known = {"offset 0", f"stride {as_tuple(_dense(shape))}"}
    said += [one for one in facts_of(seen, window, usual_dtype) if one not in known]
    new = ", new" if seen.get("arrived") else ", changed"
    new *= "gradient" in seen.get("changed", ())
    return said + [gradient + new for gradient in gradient_of(seen)]


def facts_of(seen: dict, window: dict, usual_dtype: str) -> list[str]:
    """Say of a tensor on a storage what is unusual, but for its shape."""
    offset, stride = window["offset"], f"stride {as_tuple(window['strides'])}"
    if offset is None:  # in bytes, if these do not divide
        offset = count_of(window["offset_bytes"], "byte")
    if window["strides"] is None:
        first, *others = window["stride_bytes"]
        stride = f"strides {(first, *others)} in bytes"
        stride = stride if others else f"stride {count_of(first, 'byte')}"
    found = {
        "empty": not window["runs"],
        seen["dtype"]: seen["dtype"] != usual_dtype,
        f"offset {offset}": window["offset_bytes"] or not window["covers_all"],
        stride: not _is_in_order(window),
        # The values that a new parameter begins with were written into it.
        f"version {seen['version']}": (seen["version"] or 0) > seen["parameter"],
        seen["memory"]: seen["memory"],
    }
    return [fact for fact, is_unusual in found.items() if is_unusual]


def _is_in_order(window: dict) -> bool:
    """Whether a tensor is all of its storage, one element after the other."""
    dense = _dense(window["shape"])
    steps = zip(window["shape"], window["strides"] or dense, dense, strict=True)
    return window["covers_all"] and all(n == 1 or a == b for n, a, b in steps)


def gradient_of(seen: dict) -> list[str]:
    """Say which gradient a tensor has, if it has one."""
    return [] if seen["gradient"] in (None, "None") else [f"grad {seen['gradient']}"]


# Ways of gradients and copies ---------------------------------------------------------


def _ways(observed: dict, tags: dict[int, Tag], key: str) -> Pairs:
    """Return each tag with the next ones behind it, or that it is a copy of."""
    ways = []
    for start in tags:
        found, waiting = set(), [(start, key == "flows")]
        for at, copied in waiting:  # which grows on the way
            for one in observed["tensors"][at][key]:
                end, is_copy = (one, True) if key == "flows" else one
                way = end, is_copy or copied
                if end in tags:
                    found |= {end} if way[1] and end != start else set()
                elif way not in waiting:
                    waiting.append(way)
        ways += [(tags[start], tags[end]) for end in sorted(found)]
    return ways


def _stops(
    tensors: list[dict], memories: list[Memory], copies: Pairs, flows: Pairs
) -> Pairs:
    """Return what shares with, or was copied from, what requires grad, but is cut."""
    found, source_of = {}, {copy: source for source, copy in copies}
    tags = [(tag, one) for one in memories for tag in one.tags if not tag.raises]
    for tag, memory in tags:
        for other in [*memory.tags, source_of.get(tag, tag)]:
            if other is tag or (other, tag) in flows:
                continue
            one, two = tensors[tag.tensor], tensors[other.tensor]
            needs, is_later = one["requires_grad"], other.tensor < tag.tensor
            # Of two that begin anew the later one is the cut, as far as names tell.
            is_anew = is_later and (one["is_leaf"] or not needs)
            is_cut = is_anew or not (needs or two["is_leaf"])
            if two["requires_grad"] and is_cut and _overlap(tag, other):
                found.setdefault(tag, other)
    return list(found.items())


def _overlap(tag: Tag, other: Tag) -> bool:
    """Whether two hold a part of a memory in common, or of what was copied."""
    return any(
        start < end and begin < stop
        for start, stop in tag.parts or WHOLE
        for begin, end in other.parts or WHOLE
    )


def _in_order(
    memories: list[Memory], copies: list[tuple[Memory, Memory]]
) -> list[Memory]:
    """Set what is on one device side by side, and a copy after what it was made of.

    Copies of copies stand in the order in which they were made, wherever they are.
    """
    if len(copies) > 1 and list(dict.fromkeys(sum(copies, ()))) == memories:
        return memories
    devices = list(dict.fromkeys(memory.device for memory in memories))
    ordered = sorted(memories, key=lambda memory: devices.index(memory.device))
    for source, copy in copies:
        if source is not copy and source.device == copy.device:
            ordered.remove(copy)
            ordered.insert(ordered.index(source) + 1, copy)
    return ordered


# Words --------------------------------------------------------------------------------


def caption_of(story: Story) -> str:
    """Say in a few words what shares, what was copied, and where gradients stop."""
    said = []
    for memory in story.memories:
        names = [name for tag in memory.tags for name in tag.names]
        if len(names) > 1:
            what = "are the same object" if len(memory.tags) == 1 else "share memory"
            said.append(f"{listing(names)} {what}.")
    made: dict[str, list[str]] = {}  # of each copy, what it was copied from
    for source, copy in story.copies:
        # One name of an object: what its others are has been said.
        made.setdefault(copy.names[0], []).append(source.names[0])
    for sources in dict.fromkeys(map(tuple, made.values())):
        copies = [copy for copy, those in made.items() if tuple(those) == sources]
        what = "are copies" if copies[1:] else "is a copy"
        if sources[1:]:
            what = "hold copies" if copies[1:] else "holds copies"
        said.append(f"{listing(copies)} {what} of {listing(sources)}.")
    names = [tag.name for one in story.memories if one.cells for tag in one.tags]
    if not said and len(names) == 1:
        said.append(f"{names[0]} has its own memory.")
    elif not said and names:
        all_names = listing(names) if len(names) < MOST_LISTED else "These tensors"
        said.append(f"{all_names} don't share memory.")
    tags = [tag for one in story.memories for tag in one.tags]
    if frozen := [tag.name for tag in tags if tag.sign == "frozen"]:
        said.append(f"{listing(frozen)} {'are' if frozen[1:] else 'is'} frozen.")
    if stops := [tag.name for tag, _ in story.stops]:
        said.append(f"No gradient flows back through {listing(stops)}.")
    if len(story.devices) == 1 and story.devices != ["cpu"]:
        said.append(f"The memory is on {story.devices[0]}.")
    return " ".join(said)


def words_of(story: Story) -> str:
    """Say all that is drawn, for who cannot see it."""
    said = [caption_of(story)]
    for memory in story.memories:
        names = listing([tag.name for tag in memory.tags])
        lines = filter(None, [" ".join(memory.cells), *memory.lines])
        said.append(f"{names}: {'; '.join(lines)}.")
        raising = [tag for tag in memory.tags if tag.raises]
        said += [f"{tag.name} raises {tag.raises}." for tag in raising]
    for start in dict.fromkeys(start for start, _ in story.flows):
        ends = listing([end.name for tag, end in story.flows if tag is start])
        said.append(f"A gradient flows from {start.name} back to {ends}.")
    return " ".join(filter(None, said))


def table_of(observed: dict) -> str:
    """Return aligned lines, one a tensor, with its values, gradient and memory."""
    rows = []
    for place, seen in enumerate(observed["tensors"]):
        memory, number = seen["memory"], seen["storage"]
        if number is not None:
            storage, memory = observed["storages"][number], f"memory {number + 1}"
            windows = {window["tensor"]: window for window in storage["windows"]}
            dtype, device = storage["dtype"], storage["device"]
            if place == min(windows):  # the first on it
                memory += f": {size_of(storage['bytes'])}, {dtype}, {device}"
            facts = facts_of(seen, windows[place], dtype)
            memory += f"; {', '.join(facts)}" if facts else ""
        values = seen["values"] or f"shape {as_tuple(seen['shape'])}"
        ways = [state_of(seen) or _leaves_of(observed, seen), *gradient_of(seen)]
        rows.append((", ".join(seen["names"]), values, ", ".join(ways), memory))
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, wide)).rstrip() for row in rows]
    return "\n".join([*lines, *observed["notes"]]) or "Nothing to draw."


def state_of(seen: dict) -> str:
    """Say what autograd knows of a tensor; nothing of the result of an operation."""
    found = {
        "array": seen["kind"] == "array",
        "": seen["operation"],
        "leaf": seen["requires_grad"] and seen["is_leaf"],
        "requires grad": seen["requires_grad"],  # and its operation cannot be read
        "frozen": seen["parameter"],
        "inference": seen["inference"],
    }
    return next((state for state, is_so in found.items() if is_so), "no grad")


def _leaves_of(observed: dict, seen: dict) -> str:
    """Say to which leaves a gradient flows from the result of an operation."""
    names = [observed["tensors"][at]["names"][0] for at in seen["reaches"]]
    said, others = names[:MOST_LEAVES], len(names[MOST_LEAVES:])
    if others := others + seen["reaches_unnamed"]:
        said.append(f"{others} more" if names else f"{others} without a name")
    if seen["reaches_more"]:
        said.append("what lies behind 2,000 operations")
    return f"{seen['operation']} -> {listing(said) or 'no leaf'}"
