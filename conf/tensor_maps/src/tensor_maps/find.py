"""Find the tensors that names lead to; name what a caller gives after its source."""

import ast
import itertools
import linecache
import re
import sys
import types
from collections import deque
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache, partial
from types import FrameType
from typing import Any, NamedTuple

import torch

from tensor_maps.reading import is_drawn, tried
from tensor_maps.words import count_of, few

MOST_NAMES = 40
# Of a list, a dict or an object: how many items are looked into, the first half of
# them from its beginning and the others from its end. A namespace is looked at after
# each statement, what a call is given once.
MOST_ITEMS, MOST_GIVEN_ITEMS = 100, 10_000
MOST_DEPTH, MOST_VISITED = 6, 20  # how deep; how many containers, times the above
# Of IPython: results such as _, __, _1 and _i2; of pytest: @py.
NOT_LOOKED_AT = re.compile(r"@|__|_\d*$|_i+\d*$|_[iod]h$|_exit_code$")
PLAIN = (int, float, complex, bool, str, bytes, type(None))
NOT_ENTERED = (type, types.ModuleType, types.FunctionType, types.MethodType)
NOT_ENTERED_OF = frozenset({
    *("IPython", "ipykernel", "matplotlib", "numpy", "pandas", "PIL", "scipy"),
    *("sklearn", "tensor_maps"),
})  # fmt: skip
# Of torch's own objects these hold tensors that a program works with.
ENTERED_OF_TORCH = ("torch.utils.data", "torch.optim", "torch.distributions")
_IN_EACH_MODULE = frozenset(torch.nn.Module().__dict__)
# A name, perhaps with attributes and items: its parts can be named after it.
_PLACE = re.compile(r"[^\W\d]\w*(\.\w+|\[[^\[\]]*\])*")


class Found(NamedTuple):
    """Tensors and arrays by name, in the order of what led to them.

    ``ranks`` has for each name 1 for a plain one, 2 for a container's item, 3 for what
    a module and 4 for what another object holds. ``asked`` is what the statement
    names. ``more`` counts the items that were not looked into.
    """

    values: dict[str, Any]
    ranks: dict[str, int]
    asked: set[str]
    more: int


def find(namespace: Any, asked: Container[str] = ()) -> Found:
    """Return the tensors and arrays of a namespace; no code of theirs is run.

    A module has its parameters, buffers (``net.0.weight``) and attributes, a dict, a
    list and a tuple their items (``batch['x']``, ``pair[0]``), a named tuple its fields
    (``out.values``), an object its attributes, an optimizer the state of each of its
    parameters (``optimizer.state[net.weight]['exp_avg']``, or its number if nothing
    else names it).
    """
    return _Walk(_roots_of(namespace)).found(asked)


def parts_of(name: str, value: Any) -> dict[str, Any]:
    """Return the tensors and arrays in one value by name: see :func:`find`.

    Of a container with more than 10,000 items it has the first and the last 5,000.
    """
    return _Walk([(name, value)], MOST_GIVEN_ITEMS).found().values


def _roots_of(namespace: Any) -> list[tuple[str, Any]]:
    """Return the names of a namespace that can lead to tensors, with what they hold."""
    return [
        (str(name), value)
        for name, value in list(namespace.items())
        if type(value) not in PLAIN
        and not NOT_LOOKED_AT.match(str(name))
        and (name not in ("In", "Out") or is_drawn(value))  # the history of IPython
    ]


class _Walk:
    """What is found on the way through what some names hold: the roots.

    ``root_of`` has for each name the root that led to it.
    """

    def __init__(
        self, roots: list[tuple[str, Any]], most: int = MOST_ITEMS, buffers: bool = True
    ) -> None:
        self.roots, self.most, self.buffers = roots, most, buffers
        self.ids = {id(value) for _, value in roots}
        self.values: dict[str, Any] = {}
        self.root_of: dict[str, int] = {}
        self.is_empty = [True] * len(roots)
        self.more = self.visited = 0
        self.optimizers: dict[int, tuple[int, str, Any]] = {}
        for at, (name, value) in enumerate(roots):
            self.at = at
            tried(partial(self.enter, name, value))
        # Last, as by then their parameters have better names.
        for at, name, optimizer in self.optimizers.values():
            self.at = at
            tried(partial(self.enter_optimizer, name, optimizer))

    def found(self, asked: Container[str] = ()) -> Found:
        """Return what was found; ``asked`` are names of roots."""
        ranks = [_rank_of(value) for _, value in self.roots]
        in_order = sorted(self.root_of.items(), key=lambda one: one[1])
        return Found(
            {name: self.values[name] for name, _ in in_order},
            {name: ranks[at] for name, at in in_order},
            {name for name, at in in_order if self.roots[at][0] in asked},
            self.more,
        )

    def add(self, name: str, value: Any) -> None:
        """Note a tensor, under a name that no other has."""
        if self.values.get(name, value) is not value:
            numbered = (f"{name} ({number})" for number in itertools.count(2))
            name = next(n for n in numbered if self.values.get(n, value) is value)
        self.values[name] = value
        self.root_of.setdefault(name, self.at)
        self.is_empty[self.at] = False

    def enter(self, name: str, value: Any, above: tuple = ()) -> None:
        """Add a tensor, or all that something holds."""
        if is_drawn(value):
            self.add(name, value)
            return
        kind = type(value)
        if kind in PLAIN or len(above) >= MOST_DEPTH or id(value) in above:
            return
        self.visited += 1
        if self.visited > MOST_VISITED * self.most:
            self.more += 1
        elif issubclass(kind, torch.nn.Module):
            self.enter_module(name, value, (*above, id(value)))
        elif issubclass(kind, torch.optim.Optimizer):
            self.optimizers.setdefault(id(value), (self.at, name, value))
        else:
            for path, item in self.inside(value, kind):
                self.enter(name + path, item, (*above, id(value)))

    def enter_module(self, name: str, net: Any, above: tuple) -> None:
        """Add what a module holds, and the modules in it, however deep they are."""
        own = net.__dict__
        for kind in ("_parameters", "_buffers")[: 1 + self.buffers]:
            for key, tensor in own.get(kind, {}).items():
                if tensor is not None:
                    self.add(f"{name}.{key}", tensor)
        for key, inner in own.get("_modules", {}).items():
            if inner is not None and id(inner) not in above:
                self.enter_module(f"{name}.{key}", inner, (*above, id(inner)))
        for key, item in own.items() if self.buffers else ():
            usual = key in _IN_EACH_MODULE or type(item) in PLAIN
            if not (usual or self.is_named(item)):
                self.enter(f"{name}.{key}", item, above)

    def enter_optimizer(self, name: str, optimizer: Any) -> None:
        """Add the state of each parameter, and the parameters that have no name."""
        # Of several names of a tensor the first.
        name_of: dict[int, Any] = {id(v): n for n, v in reversed(self.values.items())}
        number = 0
        for at, group in enumerate(optimizer.param_groups):
            for place, tensor in enumerate(group["params"]):
                if name_of.setdefault(id(tensor), number) is number:
                    self.add(f"{name}.param_groups[{at}]['params'][{place}]", tensor)
                number += 1
        for tensor, state in optimizer.state.items():
            self.enter(f"{name}.state[{name_of.get(id(tensor))}]", state)

    def is_named(self, item: Any) -> bool:
        """Whether what an object refers to is a root: its parts are named after it."""
        return id(item) in self.ids and not is_drawn(item)

    def inside(self, value: Any, kind: type) -> Iterator[tuple[str, Any]]:
        """Yield what a container or an object holds, with the path that leads there."""
        are_attributes, labels, items = _inside(value, kind)
        if len(items) > self.most:
            if {*map(type, items[:20_000])} <= {*PLAIN}:
                return  # a long list of numbers
            self.more += len(items) - self.most
            half = self.most // 2
            labels, items = ([*one[:half], *one[-half:]] for one in (labels, items))
        for label, item in zip(labels, items, strict=True):
            if type(item) in PLAIN or (are_attributes and self.is_named(item)):
                continue
            yield f".{label}" if are_attributes else f"[{self.text_of(label)}]", item

    def text_of(self, key: Any) -> str:
        """Return a key as code; no code of its own is run."""
        if all(type(one) in PLAIN for one in (key if type(key) is tuple else [key])):
            return repr(key)
        names = (name for name, value in self.values.items() if value is key)
        return next(names, f"a {type(key).__name__}")


def _rank_of(value: Any) -> int:
    kind = type(value)
    if is_drawn(value):
        return 1
    if issubclass(kind, list | tuple | dict | deque):
        return 2
    return 3 if issubclass(kind, torch.nn.Module) else 4


def _inside(value: Any, kind: type) -> tuple[bool, Sequence, Sequence]:
    """Return whether something holds attributes, their names or keys, and the items.

    The methods of a subclass may be the program's own code, and are not called.
    """
    fields = getattr(kind, "__match_args__", ()) if issubclass(kind, tuple) else ()
    if fields:  # of a named tuple, as torch.max() returns
        return True, fields, [*tuple.__iter__(value)][: len(fields)]
    for base in (list, tuple, deque):
        if issubclass(kind, base):
            items = [*base.__iter__(value)]
            return False, range(len(items)), items
    if issubclass(kind, dict):
        return False, [*dict.keys(value)], [*dict.values(value)]
    if issubclass(kind, NOT_ENTERED) or not _is_entered(kind):
        return True, (), ()
    own = tried(lambda: object.__getattribute__(value, "__dict__"))
    if type(own) is not dict or not own:  # perhaps a data class with slots
        fields = getattr(kind, "__dataclass_fields__", ())
        own = {name: tried(partial(getattr, value, name)) for name in fields}
    return True, [*own], [*own.values()]


@lru_cache(maxsize=512)
def _is_entered(kind: type) -> bool:
    """Whether the attributes of a class's objects are looked at.

    Those of some libraries hold no tensors of a program, and there are many.
    """
    module = str(getattr(kind, "__module__", ""))
    root = module.partition(".")[0]
    if root == "torch":
        return module.startswith(ENTERED_OF_TORCH)
    is_mine = kind is types.SimpleNamespace or module == "__main__"
    return is_mine or root not in sys.stdlib_module_names | NOT_ENTERED_OF


def argument_texts(frame: FrameType, count: int) -> list[str | None]:
    """Return the source of each positional argument of the call that a frame makes.

    A text is None where the source cannot be had: typed into ``python -c``, changed
    since it was read, or given with a star.
    """
    texts = tried(lambda: _texts_in(frame), [])
    return texts if len(texts) == count else [None] * count


def _texts_in(frame: FrameType) -> list[str | None]:
    code = frame.f_code
    at = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None))
    first, last, begin, end = at
    lines = linecache.getlines(code.co_filename, frame.f_globals)[first - 1 : last]
    # Columns are counted in bytes.
    encoded = [line.encode() for line in lines]
    encoded[-1] = encoded[-1][:end]
    encoded[0] = encoded[0][begin:]
    text = f"({b''.join(encoded).decode()})"
    arguments = ast.parse(text, mode="eval").body.args
    if any(isinstance(one, ast.Starred) for one in arguments):
        return []
    return [" ".join(ast.get_source_segment(text, one).split()) for one in arguments]


def name_values(
    texts: list[str | None], values: tuple, named: dict[str, Any], buffers: bool = True
) -> tuple[dict[str, Any], list[str]]:
    """Return the tensors and arrays in what a call is given, and notes of the rest.

    ``texts`` has the source of each of the ``values``, after which they are named, or
    None; ``named`` has more by name. Without ``buffers``, only the parameters of a
    module are found.
    """
    given = []  # names, with the roots that each gives
    for number, (text, value) in enumerate(zip(texts, values, strict=True), 1):
        kind = "tensor" if is_drawn(value) else type(value).__name__
        name = text or f"{kind} {number}"
        roots = [(name, value)]
        if not (is_drawn(value) or (text and _PLACE.fullmatch(text))):
            # Written out, or what a call returned, as locals().
            roots = _roots_of(value) if isinstance(value, dict) else [(kind, value)]
        given.append((name, roots))
    given += [(name, [(name, value)]) for name, value in named.items()]
    every = [root for _, roots in given for root in roots]
    walk = _Walk(every, MOST_GIVEN_ITEMS, buffers)
    are_empty = iter(walk.is_empty)
    empty = [name for name, of in given if all([next(are_empty) for _ in of])]
    notes = [f"there is no tensor in {few(empty)}"] if empty else []
    if walk.more:
        items = count_of(walk.more, "more item")
        notes.append(f"{items} of long lists, dicts or objects: not looked into")
    return walk.found().values, notes
