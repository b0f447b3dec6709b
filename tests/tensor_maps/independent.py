"""What tensors and arrays are, told without the package: for tests that doubt it.

Bytes are read by ctypes at the addresses that strides give; memory is told by storages
and by the arrays that others are made on; leaves are found over ``next_functions``.
"""

from __future__ import annotations

import ast
import ctypes
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch


class Truth(NamedTuple):
    """What one tensor or array is at one moment; a field that differs is a change."""

    value: Any
    place: tuple
    form: tuple
    content: bytes
    version: int | None
    requires_grad: bool
    retains_grad: bool
    made_by: str | None
    gradient: bytes | None


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
    if value.layout != torch.strided or value.is_nested or value.is_meta:
        return False
    storage = value.untyped_storage()
    try:
        return storage.nbytes() == 0 or storage.data_ptr() != 0
    except RuntimeError:
        return False


def window_of(value: Any) -> tuple[int, tuple[int, ...], list[int], int]:
    """Return the first address, the shape, the strides and the size of an element."""
    if isinstance(value, np.ndarray):
        first = value.__array_interface__["data"][0]
        return first, value.shape, [*value.strides], value.itemsize
    size = value.element_size()
    first = value.untyped_storage().data_ptr() + value.storage_offset() * size
    return first, tuple(value.shape), [one * size for one in value.stride()], size


def content_of(value: Any) -> bytes:
    """Return the bytes of all elements, in the order of the elements."""
    if not is_readable(value):
        return b""
    first, shape, strides, size = window_of(value)
    if 0 in shape:
        return b""
    # Rows without a gap are read at once: the inner dimensions that lie side by side.
    inner = len(shape)
    while inner and (shape[inner - 1] == 1 or strides[inner - 1] == size):
        size *= shape[inner - 1]
        inner -= 1
    parts = [
        ctypes.string_at(first + sum(map(int.__mul__, at, strides)), size)
        for at in np.ndindex(*shape[:inner])
    ]
    return b"".join(parts)


def bytes_at(value: Any) -> frozenset[int]:
    """Return the addresses of all bytes of all elements."""
    first, shape, strides, size = window_of(value)
    found = np.array([first])
    for length, stride in zip((*shape, size), (*strides, 1), strict=True):
        found = np.add.outer(found, np.arange(length) * stride).ravel()
    return frozenset(found.tolist())


def function_of(value: Any) -> Any:
    """Return what a tensor comes from, or None: also of a view that is invalid."""
    try:
        return getattr(value, "grad_fn", None)
    except RuntimeError:
        return None


def truth_of(value: Any) -> Truth:
    """Return what a tensor or an array is now."""
    if isinstance(value, np.ndarray):
        form = (value.shape, value.strides, str(value.dtype))
        place = window_of(value)[:1]
        return Truth(
            value, place, form, content_of(value), None, False, False, None, None
        )
    if not is_readable(value):
        form = ((), (), str(value.dtype))
        return Truth(value, (), form, b"", None, False, False, None, None)
    storage = value.untyped_storage()
    function = function_of(value)
    retains = function is not None and value.retains_grad
    gradient = value.grad if function is None or retains else None
    marks = (value.is_conj(), value.is_neg())
    return Truth(
        value,
        (storage.data_ptr(), storage._cdata, value.storage_offset()),
        (tuple(value.shape), value.stride(), str(value.dtype), *marks),
        content_of(value),
        value._version,
        value.requires_grad,
        retains,
        None if function is None else type(function).__name__,
        None if gradient is None else content_of(gradient),
    )


def differing(was: Truth, now: Truth) -> set[str]:
    """Return the fields that differ; another object is "value"."""
    pairs = zip(Truth._fields[1:], was[1:], now[1:], strict=True)
    found = {field for field, old, new in pairs if old != new}
    return found | ({"value"} if was.value is not now.value else set())


def numbers_of(truth: Truth, dtype: str = "") -> torch.Tensor | None:
    """Return the elements of long ago, in order and perhaps as another dtype."""
    kinds = [getattr(torch, (one or "?").rpartition(".")[2], None)
             for one in (truth.form[2], dtype or truth.form[2])]  # fmt: skip
    if None in kinds or not truth.content:
        return None
    found = torch.frombuffer(bytearray(truth.content), dtype=kinds[0])
    found = found.conj().resolve_conj() if truth.form[3:4] == (True,) else found
    return (-found if truth.form[4:] == (True,) else found).to(kinds[1])


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
    items: Iterable[tuple[str, Any]] = ()
    if isinstance(value, torch.Tensor | np.ndarray):
        yield name, value
    elif isinstance(value, torch.nn.Module):
        both = (*value.named_parameters(), *value.named_buffers())
        items = ((f"{name}.{part}", tensor) for part, tensor in both)
    elif isinstance(value, list | tuple):
        items = ((f"{name}[{at}]", item) for at, item in enumerate(value))
    elif isinstance(value, dict):
        items = ((f"{name}[{key!r}]", item) for key, item in value.items())
    elif type(value).__name__ == "Box":
        items = ((f"{name}.{key}", item) for key, item in vars(value).items())
    for path, item in items:
        yield from _parts(path, item)


def truths_of(namespace: dict[str, Any]) -> dict[str, Truth]:
    """Return what each is now."""
    return {name: truth_of(value) for name, value in named_in(namespace).items()}


def memories_of(named: dict[str, Any]) -> set[frozenset[str]]:
    """Return the names, in groups of those that are on one memory."""
    groups: list[tuple[set[str], int, int]] = []
    for name, value in named.items():
        low, high = _whole(value)
        joined, rest = {name}, []
        for names, first, last in groups:
            if max(first, low) < min(last, high):
                joined |= names
                low, high = min(first, low), max(last, high)
            else:
                rest.append((names, first, last))
        groups = [*rest, (joined, low, high)]
    return {frozenset(names) for names, _, _ in groups}


def _whole(value: Any) -> tuple[int, int]:
    """Return where the memory begins and ends that a tensor or array is made on."""
    while isinstance(getattr(value, "base", None), np.ndarray | torch.Tensor):
        value = value.base
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    first, shape, strides, size = window_of(value)
    ends = [(length - 1) * one for length, one in zip(shape, strides, strict=True)]
    low = first + sum(end for end in ends if end < 0)
    return low, first + sum(end for end in ends if end > 0) + size


def leaves_of(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Return the leaves that a gradient reaches from a tensor."""
    waiting, met, found = [function_of(tensor)], set(), []
    while waiting:
        function = waiting.pop()
        if function is None or function in met:
            continue
        met.add(function)
        if hasattr(function, "variable"):
            found.append(function.variable)
        waiting += [following for following, _ in function.next_functions]
    return found


def names_of_leaves(named: dict[str, Any]) -> dict[str, list[str]]:
    """Return for each result which leaves with a name a gradient reaches from it."""
    found = {}
    for name, value in named.items():
        if function_of(value) is not None:
            leaves = {id(leaf) for leaf in leaves_of(value)}
            found[name] = [other for other, one in named.items() if id(one) in leaves]
    return found


# Programs, statement by statement -----------------------------------------------------


class _Asking(ast.NodeTransformer):
    """Put a call before each statement that has no others in it."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit the bodies of a statement, not those of functions and classes."""
        for field in ("body", "orelse", "finalbody", "handlers"):
            inside = getattr(node, field, None)
            if isinstance(inside, list):
                setattr(node, field, [*self._asked(inside)])
        return node

    def _asked(self, body: Iterable[ast.AST]) -> Iterator[ast.AST]:
        for node in body:
            whole = isinstance(node, ast.FunctionDef | ast.ClassDef)
            if whole or not hasattr(node, "body"):
                call = ast.parse(f"_moment({node.lineno})").body[0]
                yield ast.copy_location(call, node)
                yield node
            else:
                yield self.generic_visit(node)


def moments_of(
    program: str, namespace: dict[str, Any], printed: Any
) -> tuple[list[Moment], str]:
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

    tree = ast.fix_missing_locations(_Asking().visit(ast.parse(program)))
    raised = ""
    try:
        namespace["_moment"] = moment
        exec(compile(tree, "<asked>", "exec"), namespace)
    except Exception as error:
        raised = type(error).__name__
    moment(0)
    return moments, raised
