"""Read what tensors and arrays are without the package, for tests that doubt it.

Bytes are read by ctypes at the addresses that strides give; memory is told by storages
and by the arrays that others are made on; leaves are found over ``next_functions``.
"""

import ast
import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch


class Truth(NamedTuple):
    """What one tensor or array is at one moment; a field that differs is a change."""

    value: Any
    place: tuple  # empty where there is no memory to read
    dtype: str
    form: tuple  # shape, strides, whether conjugate, whether negative
    content: bytes
    version: int | None = None
    requires_grad: bool = False
    retains_grad: bool = False
    made_by: str | None = None
    gradient: bytes | None = None


class Moment(NamedTuple):
    """All that has a name, before the statement on a line."""

    line: int
    truths: dict[str, Truth]
    memories: set[frozenset[str]]
    leaves: dict[str, list[str]]
    printed: int


# One tensor or array ------------------------------------------------------------------


def is_readable(value: Any) -> bool:
    """Whether there are elements to read: not of what wraps tensors, or is on meta."""
    if not isinstance(value, torch.Tensor):
        return isinstance(value, np.ndarray)
    try:
        storage = value.untyped_storage()
        there = storage.nbytes() == 0 or storage.data_ptr() != 0
    except RuntimeError:
        return False
    return there and not value.is_nested and not value.is_meta


def window_of(value: Any) -> tuple[int, tuple[int, ...], list[int], int]:
    """Return the first address, the shape, the strides and the size of an element."""
    if isinstance(value, np.ndarray):
        first = value.__array_interface__["data"][0]
        return first, value.shape, [*value.strides], value.itemsize
    size = value.element_size()
    first = value.untyped_storage().data_ptr() + value.storage_offset() * size
    return first, tuple(value.shape), [one * size for one in value.stride()], size


def _elements_at(value: Any) -> np.ndarray:
    first, shape, strides, _ = window_of(value)
    found = np.array([first])
    for length, stride in zip(shape, strides, strict=True):
        found = np.add.outer(found, np.arange(length) * stride).ravel()
    return found


def content_of(value: Any) -> bytes:
    """Return the bytes of all elements, in the order of the elements."""
    if not is_readable(value):
        return b""
    size = window_of(value)[3]
    return b"".join(ctypes.string_at(at, size) for at in _elements_at(value).tolist())


def bytes_at(value: Any) -> frozenset[int]:
    """Return the addresses of all bytes of all elements."""
    every = np.add.outer(_elements_at(value), np.arange(window_of(value)[3]))
    return frozenset(every.ravel().tolist())


def function_of(value: Any) -> Any:
    """Return what a tensor comes from, or None: also of a view that is invalid."""
    try:
        return getattr(value, "grad_fn", None)
    except RuntimeError:
        return None


def truth_of(value: Any) -> Truth:
    """Return what a tensor or an array is now."""
    dtype = str(value.dtype).removeprefix("torch.")
    if not is_readable(value):
        return Truth(value, (), dtype, (), b"")
    content = content_of(value)
    if isinstance(value, np.ndarray):
        form = (value.shape, value.strides, False, False)
        return Truth(value, window_of(value)[:1], dtype, form, content)
    storage, function = value.untyped_storage(), function_of(value)
    place = (storage.data_ptr(), storage._cdata, value.storage_offset())
    form = (tuple(value.shape), value.stride(), value.is_conj(), value.is_neg())
    retains = function is not None and value.retains_grad
    gradient = value.grad if function is None or retains else None
    made_by = None if function is None else type(function).__name__
    grad = None if gradient is None else content_of(gradient)
    marks = (value._version, value.requires_grad, retains, made_by, grad)
    return Truth(value, place, dtype, form, content, *marks)


def differing(was: Truth, now: Truth) -> set[str]:
    """Return the fields that differ; another object is "value"."""
    pairs = zip(Truth._fields[1:], was[1:], now[1:], strict=True)
    found = {field for field, old, new in pairs if old != new}
    return found | ({"value"} if was.value is not now.value else set())


# All that has a name ------------------------------------------------------------------


def named_in(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return tensors and arrays by the name that a reader would give them."""
    plain = {n: v for n, v in namespace.items() if not n.startswith("_")}
    found = {path: one for n, v in plain.items() for path, one in _parts(n, v)}
    names = {id(one): path for path, one in reversed(found.items())}
    for name, value in plain.items():
        if isinstance(value, torch.optim.Optimizer):
            for tensor, state in value.state.items():
                if id(tensor) in names:
                    found |= _parts(f"{name}.state[{names[id(tensor)]}]", {**state})
    return found


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    items: dict[str, Any] = {}
    if isinstance(value, torch.Tensor | np.ndarray):
        yield name, value
    elif isinstance(value, torch.nn.Module):
        items = {**dict(value.named_parameters()), **dict(value.named_buffers())}
        items = {f"{name}.{part}": tensor for part, tensor in items.items()}
    elif isinstance(value, list | tuple):
        items = {f"{name}[{at}]": item for at, item in enumerate(value)}
    elif isinstance(value, dict):
        items = {f"{name}[{key!r}]": item for key, item in value.items()}
    elif type(value).__name__ == "Box":
        items = {f"{name}.{key}": item for key, item in vars(value).items()}
    for path, item in items.items():
        yield from _parts(path, item)


def memories_of(named: dict[str, Any]) -> set[frozenset[str]]:
    """Return the names, in groups of those that are on one memory."""
    groups, end = [], 0
    for low, high, name in sorted((*_whole(v), name) for name, v in named.items()):
        if low >= end:
            groups.append(set())
        groups[-1].add(name)
        end = max(end, high)
    return {frozenset(names) for names in groups}


def _whole(value: Any) -> tuple[int, int]:
    """Return where the memory begins and ends that a tensor or array is made on."""
    while isinstance(getattr(value, "base", None), np.ndarray | torch.Tensor):
        value = value.base
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    there = bytes_at(value)
    return min(there), max(there) + 1


def functions_behind(*results: Any) -> set[Any]:
    """Return all nodes of the graph that results come from."""
    waiting, met = [*map(function_of, results)], {None}
    while waiting:
        function = waiting.pop()
        if function not in met:
            met.add(function)
            waiting += [following for following, _ in function.next_functions]
    return met - {None}


def leaves_of(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Return the leaves that a gradient reaches from a tensor."""
    nodes = functions_behind(tensor)
    return [one.variable for one in nodes if hasattr(one, "variable")]


def names_of_leaves(named: dict[str, Any]) -> dict[str, list[str]]:
    """Return for each result which leaves with a name a gradient reaches from it."""
    found = {}
    for name, value in named.items():
        if function_of(value) is not None:
            leaves = {id(leaf) for leaf in leaves_of(value)}
            found[name] = [other for other, one in named.items() if id(one) in leaves]
    return found


# Programs, statement by statement -----------------------------------------------------


def _asking(body: list) -> Iterator[ast.AST]:
    """Yield statements, after a call each that has no others in it."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) or not hasattr(
            node, "body"
        ):
            yield ast.parse(f"_moment({node.lineno})").body[0]
        else:
            for field in {"body", "handlers"} & {*node._fields}:
                setattr(node, field, [*_asking(getattr(node, field))])
        yield node


def moments_of(program: str, printed: Any) -> list[Moment]:
    """Run a program; return what held before each statement and at its end.

    ``printed`` is what has a ``tell``: how much was printed so far.
    """
    moments: list[Moment] = []

    def moment(line: int) -> None:
        named = named_in(namespace)
        truths = {name: truth_of(value) for name, value in named.items()}
        there = {name: named[name] for name, one in truths.items() if one.content}
        memories, leaves = memories_of(there), names_of_leaves(named)
        moments.append(Moment(line, truths, memories, leaves, printed.tell()))

    namespace = {"__name__": "program", "_moment": moment}
    tree = ast.parse(program)
    tree.body = [*_asking(tree.body)]
    with contextlib.suppress(Exception):
        exec(compile(ast.fix_missing_locations(tree), "<asked>", "exec"), namespace)
    moment(0)
    return moments
