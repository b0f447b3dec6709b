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


def content_of(value: Any) -> bytes:
    """Return the bytes of all elements, in the order of the elements."""
    if isinstance(value, np.ndarray):
        first, strides, size = _address(value), value.strides, value.itemsize
        shape = value.shape
    else:
        value = value.detach()
        size, shape = value.element_size(), tuple(value.shape)
        strides = [stride * size for stride in value.stride()]
        first = value.untyped_storage().data_ptr() + value.storage_offset() * size
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


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def truth_of(value: Any) -> Truth:
    """Return what a tensor or an array is now."""
    if isinstance(value, np.ndarray):
        form = (value.shape, value.strides, str(value.dtype))
        place, content = (_address(value),), content_of(value)
        return Truth(value, place, form, content, None, False, False, None, None)
    storage = value.untyped_storage()
    readable = value.is_leaf or value.retains_grad
    gradient = value.grad if readable else None
    return Truth(
        value,
        (storage.data_ptr(), storage._cdata, value.storage_offset()),
        (tuple(value.shape), value.stride(), str(value.dtype)),
        content_of(value),
        value._version,
        value.requires_grad,
        not value.is_leaf and value.retains_grad,
        None if value.grad_fn is None else type(value.grad_fn).__name__,
        None if gradient is None else content_of(gradient),
    )


def differing(was: Truth, now: Truth) -> set[str]:
    """Return the fields that differ; another object is "value"."""
    pairs = zip(Truth._fields[1:], was[1:], now[1:], strict=True)
    found = {field for field, old, new in pairs if old != new}
    return found | ({"value"} if was.value is not now.value else set())


# All that has a name ------------------------------------------------------------------


def named_in(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return tensors and arrays by the name that a reader would give them."""
    found = {}
    for name, value in namespace.items():
        if not name.startswith("_"):
            found.update(_parts(name, value))
    return found


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, torch.Tensor | np.ndarray):
        yield name, value
    elif isinstance(value, torch.nn.Module):
        both = (*value.named_parameters(), *value.named_buffers())
        yield from ((f"{name}.{part}", tensor) for part, tensor in both)
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value):
            yield from _parts(f"{name}[{at}]", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _parts(f"{name}[{key!r}]", item)
    elif type(value).__name__ == "Box":
        for key, item in vars(value).items():
            yield from _parts(f"{name}.{key}", item)


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
    while isinstance(value, np.ndarray):
        if value.base is None or not isinstance(value.base, np.ndarray | torch.Tensor):
            first = _address(value)
            ends = [
                (n - 1) * s for n, s in zip(value.shape, value.strides, strict=True)
            ]
            low = first + sum(end for end in ends if end < 0)
            return low, first + sum(end for end in ends if end > 0) + value.itemsize
        value = value.base
    storage = value.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def bytes_at(value: Any) -> frozenset[int]:
    """Return the addresses of all bytes of all elements."""
    if isinstance(value, np.ndarray):
        first, strides, size = _address(value), value.strides, value.itemsize
    else:
        size = value.element_size()
        strides = [stride * size for stride in value.stride()]
        first = value.untyped_storage().data_ptr() + value.storage_offset() * size
    found = np.array([first])
    for length, stride in zip((*value.shape, size), (*strides, 1), strict=True):
        found = np.add.outer(found, np.arange(length) * stride).ravel()
    return frozenset(found.tolist())


def leaves_of(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Return the leaves that a gradient reaches from a tensor."""
    waiting, met, found = [tensor.grad_fn], set(), []
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
    return {
        name: [
            other
            for other, known in named.items()
            if any(known is leaf for leaf in leaves_of(value))
        ]
        for name, value in named.items()
        if torch.is_tensor(value) and value.grad_fn is not None
    }


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
                yield ast.copy_location(
                    ast.parse(f"_moment({node.lineno})").body[0], node
                )
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
        with_bytes = {name: value for name, value in named.items() if value.nbytes}
        memories, leaves = memories_of(with_bytes), names_of_leaves(named)
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
