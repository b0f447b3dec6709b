"""Tell who keeps the memory of a tensor alive."""

import functools
import gc
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from types import FrameType, ModuleType
from typing import Any

import torch

from tensor_maps.find import PLAIN, argument_texts
from tensor_maps.memory import Memory, lanes, placed
from tensor_maps.reading import forget_copy, is_array, is_drawn, tried, unseen
from tensor_maps.words import count_of, size_of

# Objects between a name and the tensor, ways followed at a time, and lines told.
MOST_DEPTH, MOST_WAYS, MOST_TOLD = 12, 400, 40
_CACHED = type(functools.lru_cache(len))
_ATTRIBUTES = ("__dict__", "__closure__", "cell_contents", "__self__")
# How a way through Python's own parts of an object is written.
_PLAINER = [
    (re.compile(r"\.__dict__\['(.*?)'\]"), r".\1"),
    (re.compile(r"\._(?:parameters|buffers|modules)\['(.*?)'\]"), r".\1"),
    (re.compile("…+"), "…"),
]


@dataclass(frozen=True, repr=False)
class Holders:
    """Who keeps a memory alive, the nearest first: texts, which keep nothing alive."""

    of: str
    texts: list[str]

    def __repr__(self) -> str:
        lines = self.texts[:MOST_TOLD] or ["nothing that can be seen"]
        if (rest := len(self.texts) - MOST_TOLD) > 0:
            lines.append(f"and {count_of(rest, 'more holder')}")
        text = "\n  ".join([f"The memory of {self.of} is kept alive by", *lines])
        return f"{text}\nWhat only C++ holds, as a graph does, is not seen."


def holders(x: object, /) -> Holders:
    """Return who keeps the memory of a tensor or an array alive.

    ``x`` is a tensor or a NumPy array, of any shape, layout and device. It finds names
    in running functions and in modules, and items, attributes, closures and caches of
    ``functools`` that lead from there to the memory (``cache['a'][3]``,
    ``net.0.weight``). In ``names…[0]`` the dots stand for a part without a name.

    Raises
    ------
    TypeError
        If ``x`` is neither.

    Notes
    -----
    It asks Python's garbage collector, which takes about a second in a large program.
    It doesn't see what only C++ holds, such as a tensor that a graph saved (see
    :func:`tensor_maps.saved`), or an array inside another object.
    """
    __tracebackhide__ = True
    if not is_drawn(x):
        raise TypeError(f"holders() takes a tensor or an array, not {type(x).__name__}")
    frame = sys._getframe(1)
    (text,) = argument_texts(frame, 1)
    with unseen():
        memory, texts = _look(frame, x)
    of = text or "the tensor"
    if memory is not None:
        of += f" ({size_of(memory.stop - memory.start)} on {memory.device})"
    return Holders(of, texts)


def _look(frame: FrameType, x: Any) -> tuple[Memory | None, list[str]]:
    modules = {
        id(vars(one)): (f"in module {name}", vars(one))
        for name, one in reversed([*sys.modules.items()])  # some have two names
        if isinstance(one, ModuleType)
    }
    names: dict[int, list[tuple[str, str]]] = {}
    drawn = [x]
    for where, scope in [*_functions(frame), *modules.values()]:
        for name, value in list(scope.items()):
            # Tools keep values under names that no program can have.
            if str(name).isidentifier() and not str(name).startswith("__"):
                names.setdefault(id(value), []).append((str(name), where))
                drawn += [value] if is_array(value) else []
    # It keeps all, so that no id is used twice, also the copies that frames have of
    # their names: these are gone by now.
    everything = gc.get_objects()
    known = {id(one) for one in everything} - {id(drawn), *modules}
    drawn += [one for one in everything if issubclass(type(one), torch.Tensor)]
    # Of gradients the collector doesn't know. To ask any other tensor warns.
    grads = [tried(lambda t=t: (t.is_leaf or t.retains_grad) and t.grad) for t in drawn]
    owners = {id(grad): t for grad, t in zip(grads, drawn, strict=True)}
    objects = [*drawn, *(one for one in grads if isinstance(one, torch.Tensor))]
    memories, _ = placed(objects)
    on_it = lanes(memories)[0] if 0 in memories else [0]
    ways = []
    for target in {id(objects[at]): objects[at] for at in on_it}.values():
        other = "" if target is x else ": a tensor that shares its memory"
        ways.append((target, "", (), other))
        if id(target) in owners:
            ways.append((owners[id(target)], ".grad", (id(target),), other))
    told: dict[str, None] = {}
    for text in _climb(ways, names, known):
        for pattern, plainer in _PLAINER:
            text = pattern.sub(plainer, text)
        told[text] = None
    return memories.get(0), [*told]


def _functions(frame: FrameType | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names of the functions that run, with where they are."""
    here = frame
    while frame is not None:
        if frame.f_code.co_name != "<module>":
            where = "here" if frame is here else f"in {frame.f_code.co_name}"
            yield where, dict(frame.f_locals)
            forget_copy(frame)
        frame = frame.f_back


def _climb(ways: list[tuple], names: dict, known: set[int]) -> Iterator[str]:
    """Follow ways up to what has a name, and say each.

    A way is an object, how the memory is reached from there, the ids of the objects
    between, and words if it leads to another tensor than was asked for.
    """
    for _ in range(MOST_DEPTH):
        here: dict[int, list[tuple]] = {}
        for way in ways[:MOST_WAYS]:
            thing, text, _, other = way
            for name, where in names.get(id(thing), ()):
                yield f"{name}{text} ({where}){other}"
            # What has a name needs no other way to it, unless it is the tensor.
            if not text or id(thing) not in names:
                here.setdefault(id(thing), []).append(way)
        if not here:
            return
        ways = []
        for holder in gc.get_referrers(*(each[0][0] for each in here.values())):
            for held, label in _held(holder, known).items():
                for _, text, below, other in here.get(held, ()):
                    if type(holder) is _CACHED:
                        yield f"the cache of {holder.__qualname__} (lru_cache){other}"
                    elif id(holder) not in below:
                        ways.append((holder, label + text, (*below, held), other))


def _held(holder: Any, known: set[int]) -> dict[int, str]:
    """Return what an object holds, by id, with how it is reached from there."""
    if id(holder) not in known:
        return {}
    kind = type(holder)
    labels = dict.fromkeys(map(id, gc.get_referents(holder)), "…")
    if issubclass(kind, dict):
        items = dict.items(holder)
        return labels | {id(v): f"[{k!r}]" for k, v in items if type(k) in PLAIN}
    for base in (list, tuple):
        if issubclass(kind, base):
            items = enumerate(base.__iter__(holder))
            return labels | {id(one): f"[{at}]" for at, one in items}
    read = partial(object.__getattribute__, holder)
    named = {name: tried(partial(read, name)) for name in _ATTRIBUTES}
    if type(own := named["__dict__"]) is dict:
        known.add(id(own))  # Python may have made it just now
        named |= own
    return labels | {id(one): f".{name}" for name, one in named.items()}
