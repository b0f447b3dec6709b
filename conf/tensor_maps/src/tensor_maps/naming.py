"""Name what a caller gives: after its source, and what is in modules and containers."""

from __future__ import annotations

import ast
import itertools
import linecache
import re
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from tensor_maps.reading import is_drawn, tried

MOST_NAMES = 40
MOST_NOTES = 3  # on what is not drawn: of more there is one
# Containers inside of containers, and items of each, that are looked into.
MOST_DEPTH, MOST_ITEMS = 4, 1000
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
    name: str, value: Any, depth: int = MOST_DEPTH, buffers: bool = True
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
        for part, item in itertools.islice(_items(name, value, buffers), MOST_ITEMS):
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
