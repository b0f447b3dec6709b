"""Find the tensors that names lead to; name what a caller gives after its source."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import linecache
import re
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType
from typing import Any, NamedTuple

import torch

from tensor_maps.reading import is_drawn, tried

MOST_NAMES = 40
MOST_NOTES = 3  # on what is not drawn: of more there is one
# Containers inside of containers, and items of each, that are looked into.
MOST_ARGUMENT_DEPTH, MOST_ARGUMENT_ITEMS = 4, 1000
# A name, perhaps with attributes and items: its parts can be named after it.
_PLACE = re.compile(r"[^\W\d]\w*(\.\w+|\[[^\[\]]*\])*")


def argument_texts(frame: FrameType, count: int) -> list[str | None]:
    """Return the source of each positional argument of the call that a frame makes.

    A text is None where the source cannot be had: typed into ``python -c``, changed
    since it was read, or given with a star.
    """
    found = tried(lambda: _call_in(frame))
    if not isinstance(found, tuple):
        return [None] * count
    text, call = found
    if len(call.args) != count or any(isinstance(a, ast.Starred) for a in call.args):
        return [None] * count
    texts = [ast.get_source_segment(text, argument) for argument in call.args]
    return [one and " ".join(one.split()) for one in texts]


def _call_in(frame: FrameType) -> tuple[str, ast.Call] | None:
    """Return the source of the call that a frame is in, and its syntax."""
    code = frame.f_code
    at = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None))
    first, last, begin, end = at
    lines = linecache.getlines(code.co_filename, frame.f_globals)[first - 1 : last]
    # Columns are counted in bytes.
    encoded = [line.encode() for line in lines]
    encoded[-1] = encoded[-1][:end]
    encoded[0] = encoded[0][begin:]
    text = f"({b''.join(encoded).decode()})"
    call = ast.parse(text, mode="eval").body
    return (text, call) if isinstance(call, ast.Call) else None


def name_values(
    texts: list[str | None], values: tuple, named: dict[str, Any], buffers: bool = True
) -> tuple[dict[str, Any], list[str]]:
    """Return tensors and arrays by name, and notes on what has none.

    Parameters
    ----------
    texts
        The source of each of the ``values``, after which they are named, or None.
    values
        Tensors, arrays, modules, optimizers, and dicts, lists and tuples of those.
    named
        The same by name.
    buffers
        Whether the buffers of modules are among them.
    """
    found: dict[str, Any] = {}
    empty: list[tuple[str, Any]] = []
    given = []
    for number, (text, value) in enumerate(zip(texts, values, strict=True), 1):
        noun = "tensor" if is_drawn(value) else type(value).__name__
        given.append((text, f"{noun} {number}" if text is None else text, value))
    for text, name, value in [*given, *((n, n, value) for n, value in named.items())]:
        if is_drawn(value):
            parts = {name: value}
        elif isinstance(value, dict) and not (text and _PLACE.fullmatch(text)):
            # A dict that is written out, or that a call returned, as `locals()`.
            parts = {
                part: tensor
                for key, item in list(value.items())
                if not str(key).startswith("_")
                for part, tensor in parts_of(str(key), item, buffers=buffers)
            }
        else:
            named_after_place = text and _PLACE.fullmatch(text)
            begin = name if named_after_place else type(value).__name__
            parts = dict(parts_of(begin, value, buffers=buffers))
        if not parts:
            empty.append((name, value))
        for part, tensor in parts.items():
            found[_other(part, tensor, found)] = tensor
    return found, _why_not_all(empty)


def _why_not_all(empty: list[tuple[str, Any]]) -> list[str]:
    """Say why things are not drawn: of each, or of many together."""
    if len(empty) <= MOST_NOTES:
        return [_why_not(name, value) for name, value in empty]
    (first, _), (second, _), *others = empty
    more = f"{first}, {second} and {len(others)} more"
    return [f"{more} are not drawn: there is no tensor in them"]


def _why_not(name: str, value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, _CONTAINERS):
        return f"{name} is not drawn: there is no tensor in this {kind}"
    return f"{name} is not drawn: {kind} is neither tensor nor array"


_CONTAINERS = (torch.nn.Module, torch.optim.Optimizer, dict, list, tuple, deque)


def _other(name: str, value: Any, found: dict[str, Any]) -> str:
    """Return a name that nothing else has."""
    if found.get(name, value) is value:
        return name
    number = next(n for n in itertools.count(2) if f"{name} ({n})" not in found)
    return f"{name} ({number})"


def parts_of(
    name: str, value: Any, depth: int = MOST_ARGUMENT_DEPTH, buffers: bool = True
) -> Iterator[tuple[str, Any]]:
    """Yield the tensors and arrays in a value, each with its name.

    A module has its parameters and buffers (``net.0.weight``), a dict, a list and a
    tuple their items (``batch['x']``, ``pair[0]``), a named tuple its fields
    (``out.values``), an optimizer the state of each of its parameters
    (``optimizer.state[0]['exp_avg']``). No code of the value is run.
    """
    if is_drawn(value):
        yield name, value
    elif depth:
        for part, item in itertools.islice(
            _items(name, value, buffers), MOST_ARGUMENT_ITEMS
        ):
            yield from parts_of(part, item, depth - 1, buffers)


def _items(name: str, value: Any, buffers: bool) -> Iterator[tuple[str, Any]]:
    kind = type(value)
    if issubclass(kind, torch.nn.Module):
        both = (torch.nn.Module.named_parameters, torch.nn.Module.named_buffers)
        for named in both[: 1 + buffers]:
            for part, tensor in named(value, remove_duplicate=False):
                yield f"{name}.{part}", tensor
    elif issubclass(kind, torch.optim.Optimizer):
        groups = value.param_groups
        of_groups = [one for group in groups for one in group["params"]]
        for number, parameter in enumerate(of_groups):
            yield f"{name}.state[{number}]", dict(value.state.get(parameter, {}))
    elif kind in (dict, OrderedDict, defaultdict):
        for key, item in list(value.items()):
            if type(key) in (str, int, tuple):
                yield f"{name}[{key!r}]", item
    elif issubclass(kind, tuple) and kind is not tuple:
        fields = getattr(kind, "_fields", None) or getattr(kind, "__match_args__", ())
        for field, item in zip(fields, tuple.__iter__(value), strict=False):
            yield f"{name}.{field}", item
    elif kind in (list, tuple, deque):
        for number, item in enumerate(list(value)):
            yield f"{name}[{number}]", item


# Of a list, a dict or an object: how many items are looked into, the first half of
# them from its beginning and the others from its end; and how deep.
MOST_ITEMS, MOST_DEPTH = 100, 6
# How many containers one look goes into at most, and of a long one, how many items are
# asked for their type.
MOST_VISITED, MOST_TYPES = 2_000, 20_000
# Names of IPython: its history, and results such as _, __, _1 and _i2.
HISTORY = ("In", "Out")
NOT_LOOKED_AT = re.compile(r"__|_\d*$|_i+\d*$|_[iod]h$|_exit_code$")
PLAIN = (int, float, complex, bool, str, bytes, type(None))
NOT_ENTERED = (type, types.ModuleType, types.FunctionType, types.MethodType)
NOT_ENTERED_OF = frozenset({
    *("IPython", "ipykernel", "matplotlib", "numpy", "pandas", "PIL", "scipy"),
    *("sklearn", "tensor_maps"),
})  # fmt: skip
# Of torch's own objects these hold tensors that a program works with.
ENTERED_OF_TORCH = ("torch.utils.data", "torch.optim", "torch.distributions")


class Found(NamedTuple):
    """What is there, in the order of the namespace.

    ``asked`` is what the statement names, or what is reached from there. ``ranks``
    has for each name 1 for a plain one, 2 for a container's item, 3 for a parameter
    or a buffer and 4 for what an object or an optimizer holds. ``more`` counts the
    items that were not looked into.
    """

    values: dict[str, Any]
    ranks: dict[str, int]
    asked: set[str]
    more: int


def find(
    namespace: Any,
    asked: Container[str] = (),
    names: Iterable[str] | None = None,
) -> Found:
    """Return the tensors and arrays of a namespace; no code of theirs is run.

    Of ``names``, if they are given, only those are looked at.
    """
    wanted = None if names is None else set(names)
    roots = {
        name: value
        for name, value in list(namespace.items())
        if isinstance(name, str)
        and not (NOT_LOOKED_AT.match(name) or type(value) in PLAIN)
        and not (name in HISTORY and not is_drawn(value))
        and (wanted is None or name in wanted)
    }
    walk = _Walk({id(value) for value in roots.values()})
    of_root: dict[str, list[str]] = {}
    optimizers = []
    for name, value in roots.items():
        if issubclass(type(value), torch.optim.Optimizer):
            optimizers.append((name, value))
            continue
        with walk.of(name, of_root, name in asked):
            tried(lambda n=name, v=value: walk.enter(n, v, _rank_of(v)))
    for name, value in optimizers:  # whose parameters have better names by now
        with walk.of(name, of_root, name in asked):
            tried(lambda n=name, v=value: walk.enter_optimizer(n, v, 4))
    # In order of the namespace: what an object refers to is asked for with it.
    order = [part for name in roots for part in of_root[name]]
    values = {name: walk.values[name] for name in order} if optimizers else walk.values
    wanted_parts = {
        part
        for name, value in roots.items()
        if name in asked or id(value) in walk.referred
        for part in of_root[name]
    }
    if walk.referred:
        wanted_parts |= {n for n, v in values.items() if id(v) in walk.referred}
    return Found(values, walk.ranks, wanted_parts, walk.more)


def _rank_of(value: Any) -> int:
    kind = type(value)
    if is_drawn(value):
        return 1
    if issubclass(kind, list | tuple | dict | deque):
        return 2
    return 3 if issubclass(kind, torch.nn.Module) else 4


class _Walk:
    """What was found on the way through what the names of a namespace hold."""

    def __init__(self, roots: set[int]) -> None:
        self.values: dict[str, Any] = {}
        self.ranks: dict[str, int] = {}
        self.roots = roots
        self.referred: set[int] = set()
        self.is_asked = False
        self.more = self.visited = 0

    @contextmanager
    def of(
        self, name: str, of_root: dict[str, list[str]], is_asked: bool
    ) -> Iterator[None]:
        """Note which names are found on the way from one name of the namespace."""
        self.is_asked, before = is_asked, len(self.values)
        yield
        of_root[name] = list(itertools.islice(self.values, before, None))

    def is_known(self, item: Any) -> bool:
        """Whether what an object refers to has a name of its own here."""
        if id(item) not in self.roots or is_drawn(item):
            return False
        if self.is_asked:
            self.referred.add(id(item))
        return True

    def add(self, name: str, value: Any, rank: int) -> None:
        self.values[name] = value
        self.ranks[name] = rank

    def enter(self, name: str, value: Any, rank: int, above: tuple = ()) -> None:
        """Add a tensor, or all that a container or an object holds."""
        if is_drawn(value):
            self.add(name, value, rank)
            return
        kind = type(value)
        if kind in PLAIN or len(above) >= MOST_DEPTH or id(value) in above:
            return
        self.visited += 1
        if self.visited > MOST_VISITED:
            self.more += 1
            return
        above = (*above, id(value))
        if issubclass(kind, torch.nn.Module):
            self.enter_module(name, value, rank, above)
            return
        in_object = False
        if issubclass(kind, tuple) and (fields := _fields_of(kind)):
            items = [(f".{field}", tuple.__getitem__(value, at))
                     for at, field in fields]  # fmt: skip
        elif issubclass(kind, list | tuple | deque):
            items = self.items_of(value)
        elif issubclass(kind, dict):
            items = self.pairs_of(value)
        else:
            items = self.attributes_of(value)
            in_object = True
        for path, item in items:
            if not (in_object and self.is_known(item)):
                self.enter(f"{name}{path}", item, rank, above)

    def enter_module(self, name: str, net: Any, rank: int, above: tuple) -> None:
        own = net.__dict__
        for part in ("_parameters", "_buffers"):
            for key, tensor in own.get(part, {}).items():
                if tensor is not None:
                    self.add(f"{name}.{key}", tensor, rank)
        for key, inner in own.get("_modules", {}).items():
            if inner is not None and id(inner) not in above:
                self.enter_module(f"{name}.{key}", inner, rank, (*above, id(inner)))
        if len(own) > len(_USUAL):
            for key, item in own.items():
                if key in _USUAL or type(item) in PLAIN or self.is_known(item):
                    continue
                self.enter(f"{name}.{key}", item, rank, above)

    def enter_optimizer(self, name: str, optimizer: Any, rank: int) -> None:
        name_of: dict[int, str] = {}
        for known, value in self.values.items():
            name_of.setdefault(id(value), known)
        for at, group in enumerate(optimizer.param_groups):
            for number, tensor in enumerate(group["params"]):
                if self.is_asked:
                    self.referred.add(id(tensor))
                if id(tensor) not in name_of:
                    path = f"{name}.param_groups[{at}]['params'][{number}]"
                    name_of[id(tensor)] = path
                    self.add(path, tensor, rank)
        for tensor, state in optimizer.state.items():
            if id(tensor) in name_of and issubclass(type(state), dict):
                self.enter(f"{name}.state[{name_of[id(tensor)]}]", state, rank)

    def items_of(self, value: Any) -> Iterator[tuple[str, Any]]:
        # Those of a subclass may be the program's own code.
        base = next(one for one in (list, tuple, deque) if isinstance(value, one))
        length, half = base.__len__(value), MOST_ITEMS // 2
        items = enumerate(base.__iter__(value))
        if length > MOST_ITEMS:
            some = itertools.islice(base.__iter__(value), MOST_TYPES)
            if {*map(type, some)} <= {*PLAIN}:
                return
            first, last = range(half), range(length - half, length)
            items = ((at, base.__getitem__(value, at)) for at in (*first, *last))
            self.more += length - MOST_ITEMS
        for at, item in items:
            if type(item) not in PLAIN:
                yield f"[{at}]", item

    def pairs_of(self, value: dict) -> Iterator[tuple[str, Any]]:
        pairs = dict.items(value)
        if len(value) > MOST_ITEMS:
            if {type(item) for _, item in pairs} <= {*PLAIN}:
                return
            self.more += len(value) - MOST_ITEMS
            half = MOST_ITEMS // 2
            last = list(itertools.islice(reversed(pairs), half))[::-1]
            pairs = [*itertools.islice(pairs, half), *last]
        for key, item in list(pairs):
            if type(item) in PLAIN:
                continue
            yield f"[{self.name_of_key(key)}]", item

    def name_of_key(self, key: Any) -> str:
        """Return a key as code; no code of its own is run."""
        if type(key) in PLAIN:
            return repr(key)
        if type(key) is tuple and all(type(part) in PLAIN for part in key):
            return repr(key)
        if is_drawn(key):  # as in the state of an optimizer
            for name, value in self.values.items():
                if value is key:
                    return name
        return f"a {type(key).__name__}"

    def attributes_of(self, value: Any) -> list[tuple[str, Any]]:
        kind = type(value)
        if issubclass(kind, NOT_ENTERED) or not _is_entered(kind):
            return []
        own = tried(lambda: object.__getattribute__(value, "__dict__"))
        items = list(own.items()) if type(own) is dict else []
        if dataclasses.is_dataclass(kind) and not items:  # one with slots
            fields = [field.name for field in dataclasses.fields(kind)]
            items = [(field, tried(lambda f=field: getattr(value, f)))
                     for field in fields]  # fmt: skip
        if len(items) > MOST_ITEMS:
            self.more += len(items) - MOST_ITEMS
        return [
            (f".{key}", item)
            for key, item in items[:MOST_ITEMS]
            if type(item) not in PLAIN and not str(key).startswith("__")
        ]


_USUAL = frozenset(torch.nn.Module().__dict__)


@lru_cache(maxsize=512)
def _fields_of(kind: type) -> list[tuple[int, str]]:
    """Return the names of a named tuple's items, or none if it is a plain tuple."""
    named = getattr(kind, "_fields", None)
    if named is None and kind.__module__ == "torch.return_types":
        named = kind.__match_args__
    return list(enumerate(named)) if named is not None else []


@lru_cache(maxsize=512)
def _is_entered(kind: type) -> bool:
    """Whether the attributes of a class's objects are looked at.

    Those of these libraries hold no tensors of a program, and there are many.
    """
    module = str(getattr(kind, "__module__", ""))
    root = module.partition(".")[0]
    if kind is types.SimpleNamespace or module == "__main__":
        return True
    if root == "torch":
        return module.startswith(ENTERED_OF_TORCH)
    return root not in sys.stdlib_module_names and root not in NOT_ENTERED_OF
